/* The timed streaming client against a server that answers in every way it should not. */
#include "odd_server.h"

#include "../unit/unit.h"
#include "base/buf.h"
#include "base/clock.h"
#include "net/stream.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct fixture {
	struct odd_server *server;
	char certificate[64];
};

struct asking {
	uv_loop_t loop;
	struct endpoint *endpoint;
	struct stream_client *client;
	struct buf body;
	int status, pieces, heads;
	bool event_stream, cancels_at_head;
	char retry_after[16], request_id[16];
	int64_t first_stamp, last_stamp, begun;
	struct stream_end end;
	int ends;
};

static void on_head(void *context, struct stream *s, const struct stream_head *head, int64_t stamp)
{
	struct asking *a = context;

	a->heads++;
	a->status = head->status;
	a->event_stream = head->event_stream;
	snprintf(a->retry_after, sizeof a->retry_after, STR_FMT, STR_ARG(head->retry_after));
	snprintf(a->request_id, sizeof a->request_id, STR_FMT, STR_ARG(head->request_id));
	if (a->cancels_at_head)
		stream_cancel(s);
}

static void on_bytes(void *context, struct stream *s, struct str bytes, int64_t stamp)
{
	struct asking *a = context;

	a->pieces++;
	if (!a->first_stamp)
		a->first_stamp = stamp;
	assert_true(stamp >= a->last_stamp);
	a->last_stamp = stamp;
	buf_add(&a->body, bytes);
}

static void on_end(void *context, struct stream *s, const struct stream_end *end)
{
	struct asking *a = context;

	a->end = *end;
	a->ends++;
	uv_stop(&a->loop);
}

static const struct stream_handler handler = { on_head, on_bytes, on_end };

static void asking_open(struct asking *a, const struct endpoint_options *options)
{
	struct error e = { 0 };

	*a = (struct asking){ 0 };
	uv_loop_init(&a->loop);
	buf_init(&a->body, 1 << 22);
	a->endpoint = endpoint_new(options, &e);
	assert_non_null(a->endpoint);
	a->client = stream_client_new(&a->loop, a->endpoint);
}

static void asking_close(struct asking *a)
{
	stream_client_close(a->client);
	while (uv_run(&a->loop, UV_RUN_DEFAULT)) /* on_end stops it */
		;
	assert_int_equal(uv_loop_close(&a->loop), 0);
	endpoint_free(a->endpoint);
	buf_fini(&a->body);
}

static void ask_with(struct asking *a, const char *path, struct str body)
{
	struct stream_request request = { .path = str_from(path), .headers = STR("X-Test: 1\r\n"), .body = body };

	buf_reset(&a->body);
	a->pieces = a->heads = a->ends = a->status = 0;
	a->first_stamp = a->last_stamp = 0;
	a->begun = clock_monotonic_ns();
	stream_start(a->client, &request, &handler, a);
	assert_int_equal(a->ends, 0);
	uv_run(&a->loop, UV_RUN_DEFAULT);
	assert_int_equal(a->ends, 1);
}

static void ask(struct asking *a, const char *path)
{
	ask_with(a, path, STR("{}"));
}

static const char *url_of(const struct odd_server *s, const char *form)
{
	static char text[128];

	snprintf(text, sizeof text, form, odd_server_port(s));
	return text;
}

static void open_plain(struct asking *a, void **state)
{
	struct fixture *f = *state;

	asking_open(a, &(struct endpoint_options){ .url = url_of(f->server, "http://127.0.0.1:%d") });
}

/* ---- answers ---- */

static void test_chunked(void **state)
{
	struct asking a;

	open_plain(&a, state);
	ask(&a, "/chunked");
	assert_int_equal(a.end.failure, STREAM_OK);
	assert_int_equal(a.status, 200);
	assert_true(a.event_stream);
	assert_string_equal(a.request_id, "r1");
	assert_string_equal(buf_cstr(&a.body), "data: a\n\ndata: b\n\n");
	/* Two pauses lie between, unless the machine was so late that the kernel had put the pieces together. */
	assert_true(stream_client_health(a.client)->reads < 4 || a.last_stamp - a.first_stamp >= 20000000);
	assert_true(a.end.times.submitted >= a.begun && a.end.times.connected >= a.end.times.submitted);
	assert_true(a.end.times.head > a.end.times.submitted && a.end.times.sent >= a.end.times.connected); /* sent: when send() returned */
	assert_true(a.first_stamp >= a.end.times.head && a.end.times.end >= a.last_stamp);
	assert_true(stream_client_health(a.client)->unstamped <= 1); /* the machine's first stamped socket */
	assert_true(stream_client_health(a.client)->reads >= 1);
	asking_close(&a);
}

static void test_prefix_of_url(void **state)
{
	struct fixture *f = *state;
	struct asking a;

	asking_open(&a, &(struct endpoint_options){ .url = url_of(f->server, "127.0.0.1:%d/base/") });
	ask(&a, "/chunked");
	assert_int_equal(a.end.failure, STREAM_OK);
	assert_string_equal(buf_cstr(&a.body), "data: a\n\ndata: b\n\n");
	asking_close(&a);
}

static void test_kept_connections(void **state)
{
	struct fixture *f = *state;
	struct asking a;
	int before = odd_server_connections(f->server);

	open_plain(&a, state);
	ask(&a, "/echo");
	assert_false(a.end.reused);
	ask(&a, "/interim");
	assert_true(a.end.reused);
	assert_int_equal(a.heads, 1);
	assert_string_equal(buf_cstr(&a.body), "ok");
	ask(&a, "/busy");
	assert_int_equal(a.end.failure, STREAM_OK);
	assert_int_equal(a.status, 429);
	assert_string_equal(a.retry_after, "7");
	assert_int_equal(odd_server_connections(f->server), before + 1);
	asking_close(&a);
}

static void test_fresh_connections(void **state)
{
	struct fixture *f = *state;
	struct asking a;
	int before = odd_server_connections(f->server);

	asking_open(&a, &(struct endpoint_options){ .url = url_of(f->server, "http://127.0.0.1:%d"), .fresh = true });
	ask(&a, "/echo");
	ask(&a, "/echo");
	assert_false(a.end.reused);
	assert_int_equal(odd_server_connections(f->server), before + 2);
	asking_close(&a);
}

/* What follows an answer on the wire belongs to nobody: the connection is not used again. */
static void test_bytes_after_the_answer(void **state)
{
	struct asking a;

	open_plain(&a, state);
	ask(&a, "/twice");
	assert_int_equal(a.end.failure, STREAM_OK);
	assert_string_equal(buf_cstr(&a.body), "ok");
	ask(&a, "/echo");
	assert_false(a.end.reused);
	asking_close(&a);
}

/* The server closes an idle connection just as the next request goes out: sent again, and counted. */
static void test_kept_connection_lost(void **state)
{
	struct asking a;

	open_plain(&a, state);
	for (int i = 0; i < 20; i++) {
		ask(&a, "/once");
		assert_int_equal(a.end.failure, STREAM_OK);
		assert_string_equal(buf_cstr(&a.body), "ok");
	}
	assert_true(stream_client_health(a.client)->opened >= 20);
	asking_close(&a);
}

/* The same, each time: the request's times are those of the connection that carried it. */
static void test_kept_connection_crossed(void **state)
{
	struct asking a;

	open_plain(&a, state);
	ask(&a, "/first-only");
	ask(&a, "/first-only");
	assert_int_equal(a.end.failure, STREAM_OK);
	assert_int_equal(a.end.reconnects, 1);
	assert_true(a.end.times.sent >= a.end.times.connected);
	assert_false(a.end.reused);
	asking_close(&a);
}

/* What stood behind one answer's body is not part of the next one's head. */
static void test_trailers(void **state)
{
	struct asking a;

	open_plain(&a, state);
	ask(&a, "/trailers");
	assert_string_equal(buf_cstr(&a.body), "ok");
	ask(&a, "/echo");
	assert_true(a.end.reused);
	assert_string_equal(a.retry_after, "");
	assert_string_equal(a.request_id, "");
	asking_close(&a);
}

static void test_long_body(void **state)
{
	struct asking a;
	struct buf body;

	buf_init(&body, 1 << 20);
	buf_add_repeat(&body, 'x', 100000);
	open_plain(&a, state);
	ask_with(&a, "/echo", buf_str(&body));
	assert_int_equal(a.end.failure, STREAM_OK);
	assert_int_equal(a.body.len, 100000);
	buf_fini(&body);
	asking_close(&a);
}

static void test_body_until_close(void **state)
{
	struct asking a;

	open_plain(&a, state);
	ask(&a, "/close");
	assert_int_equal(a.end.failure, STREAM_OK);
	assert_true(a.end.by_close);
	assert_string_equal(buf_cstr(&a.body), "until the end");
	asking_close(&a);
}

/* ---- failures ---- */

static void expect(void **state, const char *path, enum stream_failure failure, const char *words)
{
	struct asking a;

	open_plain(&a, state);
	ask(&a, path);
	assert_string_equal(stream_failure_name(a.end.failure), stream_failure_name(failure));
	assert_non_null(strstr(a.end.detail, words));
	asking_close(&a);
}

static void test_failures(void **state)
{
	expect(state, "/cut", STREAM_CUT, "inside its answer");
	expect(state, "/short", STREAM_CUT, "inside its answer");
	expect(state, "/reset", STREAM_RESET, "reset");
	expect(state, "/nothing", STREAM_CLOSED, "without an answer");
	expect(state, "/gzip", STREAM_ENCODING, "compresses");
	expect(state, "/alert", STREAM_TLS_MISMATCH, "use https://");
	expect(state, "/garbage", STREAM_NOT_HTTP, "no HTTP answer");
}

static void test_timeouts(void **state)
{
	struct fixture *f = *state;
	struct asking a;

	asking_open(&a, &(struct endpoint_options){ .url = url_of(f->server, "http://127.0.0.1:%d"), .head_timeout_ms = 200 });
	ask(&a, "/never");
	assert_int_equal(a.end.failure, STREAM_HEAD_TIMEOUT);
	asking_close(&a);
	asking_open(&a, &(struct endpoint_options){ .url = url_of(f->server, "http://127.0.0.1:%d"), .idle_timeout_ms = 200 });
	ask(&a, "/stall");
	assert_int_equal(a.end.failure, STREAM_IDLE_TIMEOUT);
	assert_string_equal(buf_cstr(&a.body), "four");
	asking_close(&a);
	asking_open(&a, &(struct endpoint_options){ .url = url_of(f->server, "http://127.0.0.1:%d"), .whole_timeout_ms = 300 });
	ask(&a, "/slow");
	assert_int_equal(a.end.failure, STREAM_WHOLE_TIMEOUT);
	asking_close(&a);
}

static void test_nobody_listens(void **state)
{
	struct asking a;

	asking_open(&a, &(struct endpoint_options){ .url = "http://127.0.0.1:1" });
	ask(&a, "/");
	assert_int_equal(a.end.failure, STREAM_REFUSED);
	assert_string_equal(a.end.detail, "connection refused by 127.0.0.1:1");
	asking_close(&a);
}

/* glibc's resolver has a list of servers for each thread, and a pool's thread that looked a name up is sometimes gone without giving it
 * back. */
#ifdef __SANITIZE_ADDRESS__
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:__res_context_send\n";
}
#endif

static void test_no_such_host(void **state)
{
	struct asking a;

	asking_open(&a, &(struct endpoint_options){ .url = "http://no-such-host.invalid:80", .connect_timeout_ms = 60000 });
	ask(&a, "/");
	assert_int_equal(a.end.failure, STREAM_NO_HOST);
	asking_close(&a);
}

static void test_bad_urls(void **state)
{
	static const char *const urls[] = { "", "ftp://x", "http://", "http://x:99999", "http://[::1", "http://me:secret@x",
		"http://x/v1?key=1", NULL };

	for (const char *const *url = urls; *url; url++) {
		struct error e = { 0 };

		assert_null(endpoint_new(&(struct endpoint_options){ .url = *url }, &e));
		assert_true(e.set && e.hint[0]);
	}
}

static void test_cancel(void **state)
{
	struct asking a;

	open_plain(&a, state);
	a.cancels_at_head = true;
	ask(&a, "/chunked");
	assert_int_equal(a.end.failure, STREAM_CANCELLED);
	assert_int_equal(a.pieces, 0);
	asking_close(&a);
}

static void test_close_with_open_streams(void **state)
{
	struct stream_request request = { .path = STR("/never") };
	struct asking a;

	open_plain(&a, state);
	for (int i = 0; i < 3; i++)
		stream_start(a.client, &request, &handler, &a);
	uv_run(&a.loop, UV_RUN_NOWAIT);
	asking_close(&a);
	assert_int_equal(a.ends, 3);
	assert_int_equal(a.end.failure, STREAM_CANCELLED);
}

/* ---- TLS ---- */

static void test_tls(void **state)
{
	struct fixture *f = *state;
	struct odd_server *server = odd_server_new(f->certificate);
	struct asking a;
	struct buf body;

	buf_init(&body, 1 << 20);
	buf_add_repeat(&body, 'x', 100000);
	asking_open(&a, &(struct endpoint_options){ .url = url_of(server, "https://127.0.0.1:%d"), .ca_file = f->certificate });
	ask(&a, "/chunked");
	assert_string_equal(a.end.detail, "");
	assert_string_equal(buf_cstr(&a.body), "data: a\n\ndata: b\n\n");
	ask_with(&a, "/echo", buf_str(&body));
	assert_int_equal(a.end.failure, STREAM_OK);
	assert_true(a.end.reused);
	assert_int_equal(a.body.len, 100000);
	ask(&a, "/cut");
	assert_int_equal(a.end.failure, STREAM_CUT);
	ask(&a, "/close");
	assert_int_equal(a.end.failure, STREAM_OK);
	asking_close(&a);

	asking_open(&a, &(struct endpoint_options){ .url = url_of(server, "https://127.0.0.1:%d") });
	ask(&a, "/chunked");
	assert_int_equal(a.end.failure, STREAM_TLS);
	assert_non_null(strstr(a.end.detail, "self"));
	asking_close(&a);

	asking_open(&a, &(struct endpoint_options){ .url = url_of(server, "https://127.0.0.1:%d"), .insecure = true });
	ask(&a, "/chunked");
	assert_int_equal(a.end.failure, STREAM_OK);
	asking_close(&a);
	odd_server_free(server);
	buf_fini(&body);
}

/* An idle connection can break as well: there is no request to blame for it. */
static void test_tls_breaks_between_requests(void **state)
{
	struct fixture *f = *state;
	struct odd_server *server = odd_server_new(f->certificate);
	int64_t until = clock_monotonic_ns() + 60 * INT64_C(1000000000);
	struct asking a;

	asking_open(&a, &(struct endpoint_options){ .url = url_of(server, "https://127.0.0.1:%d"), .insecure = true });
	ask(&a, "/spoilt");
	assert_int_equal(a.end.failure, STREAM_OK);
	while (stream_client_health(a.client)->open_now && clock_monotonic_ns() < until)
		uv_run(&a.loop, UV_RUN_ONCE);
	assert_int_equal(stream_client_health(a.client)->open_now, 0);
	ask(&a, "/echo");
	assert_int_equal(a.end.failure, STREAM_OK);
	assert_false(a.end.reused);
	asking_close(&a);
	odd_server_free(server);
}

static void test_tls_to_a_plain_port(void **state)
{
	struct fixture *f = *state;
	struct asking a;

	/* What the server takes for a request line never ends; it hangs up when the client does: only a time-out can tell. */
	asking_open(&a, &(struct endpoint_options){ .url = url_of(f->server, "https://127.0.0.1:%d"), .connect_timeout_ms = 300 });
	ask(&a, "/chunked");
	assert_int_equal(a.end.failure, STREAM_CONNECT_TIMEOUT);
	asking_close(&a);
}

static void test_lag_quantile(void **state)
{
	struct stream_health h = { .reads = 100, .lag_max = 5000000 };

	h.lag[0] = 50; /* below 1 µs */
	h.lag[2] = 49; /* below 2 µs */
	h.lag[25] = 1;
	assert_int_equal(stream_lag_quantile(&h, 0.5), 1000);
	assert_int_equal(stream_lag_quantile(&h, 0.99), 2000);
	assert_int_equal(stream_lag_quantile(&h, 1), 5000000);
	assert_int_equal(stream_lag_quantile(&(struct stream_health){ 0 }, 0.5), 0);
}

static int set_up(void **state)
{
	static struct fixture f;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	snprintf(f.certificate, sizeof f.certificate, "/tmp/goodput-test-XXXXXX");
	fd = mkstemp(f.certificate);
	close(fd);
	f.server = odd_server_new(NULL);
	*state = &f;
	return fd < 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	odd_server_free(f->server);
	unlink(f->certificate);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_chunked), cmocka_unit_test(test_prefix_of_url),
		cmocka_unit_test(test_kept_connections), cmocka_unit_test(test_fresh_connections),
		cmocka_unit_test(test_bytes_after_the_answer), cmocka_unit_test(test_kept_connection_lost),
		cmocka_unit_test(test_kept_connection_crossed), cmocka_unit_test(test_trailers), cmocka_unit_test(test_long_body),
		cmocka_unit_test(test_body_until_close), cmocka_unit_test(test_failures), cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_nobody_listens), cmocka_unit_test(test_no_such_host), cmocka_unit_test(test_bad_urls),
		cmocka_unit_test(test_cancel), cmocka_unit_test(test_close_with_open_streams), cmocka_unit_test(test_tls),
		cmocka_unit_test(test_tls_breaks_between_requests), cmocka_unit_test(test_tls_to_a_plain_port),
		cmocka_unit_test(test_lag_quantile) };

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
