/* net/http against faulty.py: every way a request can fail is told apart. Usage: test_http path/to/faulty.py */
#include "base/clock.h"
#include "child.h"
#include "net/http.h"
#include "scrape/scrape.h"
#include "store/store.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>

#include <cmocka.h>

static struct {
	struct child child;
	int plain, other, tls, closed;
	char certificate[200];
} server;
static const char *script;

struct world {
	struct http_client *client;
	struct arena arena;
	struct http_answer answer;
};

static int server_start(void **state)
{
	(void)state;
	const char *command[] = { "python3", script, NULL };
	char name[32], value[200];
	if (!child_start(&server.child, command, false))
		return -1;
	while (fscanf(server.child.from, "%31s %199s", name, value) == 2) {
		int port = (int)strtol(value, NULL, 10);
		if (strcmp(name, "plain") == 0)
			server.plain = port;
		else if (strcmp(name, "other") == 0)
			server.other = port;
		else if (strcmp(name, "tls") == 0)
			server.tls = port;
		else if (strcmp(name, "closed") == 0)
			server.closed = port;
		else if (strcmp(name, "certificate") == 0)
			snprintf(server.certificate, sizeof server.certificate, "%s", value);
		else if (strcmp(name, "ready") == 0)
			return 0;
	}
	return -1;
}

static int server_end(void **state)
{
	(void)state;
	child_end(&server.child);
	return 0;
}

static int setup(void **state)
{
	struct world *w = NEW(struct world);
	w->client = http_client_new();
	arena_init(&w->arena);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	http_client_free(w->client);
	arena_fini(&w->arena);
	mem_free(w);
	return 0;
}

static const char *url(struct world *w, const char *path)
{
	return arena_printf(&w->arena, "http://127.0.0.1:%d%s", server.plain, path).ptr;
}

static const struct http_answer *fetch(struct world *w, struct http_request request)
{
	http_fetch(w->client, &w->arena, &request, &w->answer);
	return &w->answer;
}

static const struct http_answer *get(struct world *w, const char *path)
{
	return fetch(w, (struct http_request){ .url = url(w, path), .timeout_ms = 2000, .max_bytes = 4 << 20 });
}

static void test_every_failure(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *path;
		enum http_failure failure;
		int status;
		long body; /* bytes; -1 = not looked at */
	} rows[] = {
		{ "/metrics", HTTP_OK, 200, 27 }, { "/chunked", HTTP_OK, 200, 27 }, { "/until-close", HTTP_OK, 200, 27 },
		{ "/gzip", HTTP_OK, 200, 27000 }, { "/gzip-two", HTTP_OK, 200, 54 }, { "/gzip-empty", HTTP_OK, 200, 0 },
		{ "/empty", HTTP_OK, 200, 0 }, { "/no-content", HTTP_OK, 204, 0 }, { "/401", HTTP_OK, 401, -1 },
		{ "/404", HTTP_OK, 404, -1 }, { "/html", HTTP_OK, 200, -1 },
		{ "/to-metrics", HTTP_OK, 302, 5 }, /* not followed unless asked for */
		{ "/gzip-broken", HTTP_BAD_ENCODING, 200, -1 }, { "/gzip-short", HTTP_BAD_ENCODING, 200, -1 },
		{ "/brotli", HTTP_BAD_ENCODING, 200, 0 }, { "/bad-chunk", HTTP_BAD_ENCODING, 200, 0 }, { "/cut", HTTP_CUT, 200, 27 },
		{ "/cut-chunked", HTTP_CUT, 200, 20 }, { "/cut-gzip", HTTP_CUT, 200, -1 }, { "/cut-reset", HTTP_CUT, 200, 27 },
		{ "/close", HTTP_RESET, 0, 0 }, { "/reset", HTTP_RESET, 0, 0 }, { "/ssh", HTTP_NOT_HTTP, 0, 0 },
		{ "/bomb", HTTP_TOO_LARGE, 200, -1 }, { "/endless", HTTP_TOO_LARGE, 200, -1 },
		{ "/large", HTTP_TOO_LARGE, 200, 0 }, /* promised: not even begun */
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct http_answer *a = get(w, rows[i].path);
		if (a->failure != rows[i].failure || a->status != rows[i].status ||
			(rows[i].body >= 0 && a->body.len != (size_t)rows[i].body))
			fail_msg("%s: %s, HTTP %d, %zu bytes: %s", rows[i].path, http_failure_name(a->failure), a->status, a->body.len,
				a->detail);
		assert_true((a->failure == HTTP_OK) == (a->detail[0] == '\0'));
		assert_true(a->body_is_partial == (a->failure != HTTP_OK && a->body.len > 0));
		assert_true(a->body.len <= 4 << 20);
		assert_true(a->duration_s > 0 && a->duration_s < 3);
	}
}

static void test_head_that_ends_early(void **state)
{
	const struct http_answer *a = get(*state, "/cut-head");
	assert_int_equal(a->failure, HTTP_CUT);
	assert_non_null(strstr(a->detail, "head"));
}

static void test_answer_fields(void **state)
{
	const struct http_answer *a = get(*state, "/metrics");
	assert_true(str_is(a->content_type, "text/plain; version=0.0.4"));
	assert_true(str_is(a->server, "faulty/1"));
	assert_true(llabs(a->start_ms - clock_now_ms()) < 5000);
}

static void test_connection_failures(void **state)
{
	struct world *w = *state;
	struct http_request r = { .url = arena_printf(&w->arena, "http://127.0.0.1:%d/", server.closed).ptr };
	const struct http_answer *a = fetch(w, r);
	assert_int_equal(a->failure, HTTP_REFUSED);
	assert_non_null(strstr(a->detail, "refused"));
	a = fetch(w, (struct http_request){ .url = "http://no-such-host.invalid/" });
	assert_int_equal(a->failure, HTTP_NO_HOST);
	static const char *const bad[] = { "", "ftp://h/", "http://", "http://h:99999/", "http://a b/", "file:///etc/passwd" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		a = fetch(w, (struct http_request){ .url = bad[i] });
		if (a->failure != HTTP_BAD_URL)
			fail_msg("%s: %s", bad[i], http_failure_name(a->failure));
	}
}

static void test_timeouts(void **state)
{
	struct world *w = *state;
	const char *paths[] = { "/hang", "/drip" };
	for (size_t i = 0; i < 2; i++) {
		const struct http_answer *a = fetch(w, (struct http_request){ .url = url(w, paths[i]), .timeout_ms = 300 });
		assert_int_equal(a->failure, HTTP_TIMEOUT);
		assert_true(a->duration_s > 0.29 && a->duration_s < 1.5);
	}
	assert_int_equal(w->answer.status, 200);
	assert_true(w->answer.body_is_partial);
}

static void test_tls(void **state)
{
	struct world *w = *state;
	struct http_request r = { .url = arena_printf(&w->arena, "https://127.0.0.1:%d/metrics", server.tls).ptr };
	assert_int_equal(fetch(w, r)->failure, HTTP_TLS); /* self-signed */
	r.insecure = true;
	assert_int_equal(fetch(w, r)->failure, HTTP_OK);
	r.insecure = false;
	r.ca_file = server.certificate;
	assert_int_equal(fetch(w, r)->failure, HTTP_OK);
	r.url = arena_printf(&w->arena, "https://127.0.0.1:%d/metrics", server.plain).ptr;
	const struct http_answer *a = fetch(w, r);
	assert_int_equal(a->failure, HTTP_TLS);
	assert_non_null(strstr(a->detail, "use http://"));
	r.url = arena_printf(&w->arena, "http://127.0.0.1:%d/metrics", server.tls).ptr;
	assert_int_not_equal(fetch(w, r)->failure, HTTP_OK);
}

static void test_redirects(void **state)
{
	struct world *w = *state;
	struct http_request r = { .url = url(w, "/to-metrics"), .follow = true };
	const struct http_answer *a = fetch(w, r);
	assert_int_equal(a->status, 200);
	assert_int_equal(a->body.len, 27);
	r.url = url(w, "/loop");
	a = fetch(w, r);
	assert_int_equal(a->failure, HTTP_OK);
	assert_int_equal(a->status, 302);
	assert_non_null(strstr(a->detail, "more than 5"));
	r.url = url(w, "/to-file");
	a = fetch(w, r);
	assert_int_equal(a->status, 302);
	r.url = arena_printf(&w->arena, "https://127.0.0.1:%d/to-plain", server.tls).ptr;
	r.insecure = true;
	a = fetch(w, r);
	assert_int_equal(a->status, 302);
	assert_non_null(strstr(a->detail, "https to http"));
}

static void test_token_stays_at_its_host(void **state)
{
	struct world *w = *state;
	static const char *const headers[] = { "X-Scope-OrgID: team", "Cookie: crumb", NULL };
	struct http_request r = { .follow = true, .bearer_token = "secret", .headers = headers };
	static const char *const home[] = { "/echo", "/to-echo" };
	for (size_t i = 0; i < 2; i++) {
		r.url = url(w, home[i]);
		assert_true(str_search(fetch(w, r)->body, STR("Authorization: Bearer secret")) > 0);
	}
	r.url = url(w, "/to-other");
	const struct http_answer *a = fetch(w, r);
	assert_true(str_search(a->body, STR("X-Scope-OrgID: team")) > 0);
	assert_true(str_search(a->body, STR("secret")) < 0);
	assert_true(str_search(a->body, STR("crumb")) < 0);
	r.url = url(w, "/echo");
	r.bearer_token = "a\r\nEvil: b";
	assert_int_equal(fetch(w, r)->failure, HTTP_OTHER);
}

static void test_post(void **state)
{
	struct world *w = *state;
	struct http_request r = { .url = url(w, "/echo"), .post = "query=up&time=1" };
	const struct http_answer *a = fetch(w, r);
	assert_true(str_starts(a->body, STR("POST /echo")));
	assert_true(str_ends(a->body, STR("query=up&time=1")));
	assert_true(str_search(a->body, STR("Content-Type: application/x-www-form-urlencoded")) > 0);
	assert_true(str_search(a->body, STR("Accept-Encoding: gzip")) > 0);
	r.url = url(w, "/to-echo"); /* 307 keeps the method */
	r.follow = true;
	assert_true(str_starts(fetch(w, r)->body, STR("POST /echo")));
}

static void test_many_at_once(void **state)
{
	enum { COUNT = 100 };
	struct world *w = *state;
	struct http_request requests[COUNT];
	struct http_answer answers[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		requests[i] = (struct http_request){ .url = i == 7   ? url(w, "/hang")
							    : i == 8 ? "nonsense://"
								     : url(w, "/slow"),
			.timeout_ms = 1500 };
	int64_t start_ns = clock_monotonic_ns();
	http_fetch_all(w->client, &w->arena, requests, answers, COUNT, 0, NULL);
	double seconds = (double)(clock_monotonic_ns() - start_ns) / 1e9;
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(answers[i].failure, i == 7 ? HTTP_TIMEOUT : i == 8 ? HTTP_BAD_URL : HTTP_OK);
	assert_true(seconds < 6); /* 30 s one after the other */
}

static void test_connections_are_kept(void **state)
{
	struct world *w = *state;
	struct http_answer first, second;
	struct http_request r = { .url = url(w, "/count") };
	http_fetch(w->client, &w->arena, &r, &first);
	http_fetch(w->client, &w->arena, &r, &second);
	assert_true(str_eq(first.body, second.body));
}

static volatile bool stopped;
static void on_alarm(int signal)
{
	(void)signal;
	stopped = true;
}

static void test_stop(void **state)
{
	struct world *w = *state;
	struct http_request requests[3] = { { .url = url(w, "/hang") }, { .url = url(w, "/hang") }, { .url = url(w, "/metrics") } };
	struct http_answer answers[3];
	signal(SIGALRM, on_alarm);
	alarm(1);
	int64_t start_ns = clock_monotonic_ns();
	http_fetch_all(w->client, &w->arena, requests, answers, 3, 2, &stopped);
	assert_true(clock_monotonic_ns() - start_ns < 3000000000);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(answers[i].failure, HTTP_OTHER);
		assert_non_null(strstr(answers[i].detail, "interrupted"));
	}
	http_fetch_all(w->client, &w->arena, requests, answers, 3, 2, &stopped); /* already true: nothing is asked */
	assert_non_null(strstr(answers[0].detail, "interrupted"));
	http_fetch(w->client, &w->arena, &requests[2], &answers[2]);
	assert_int_equal(answers[2].failure, HTTP_OK); /* the client is still good */
}

/* A gigabyte of zeros in a megabyte of gzip must not be a gigabyte here. */
static void test_bomb_costs_no_memory(void **state)
{
	struct rusage before, after;
	getrusage(RUSAGE_SELF, &before);
	assert_int_equal(get(*state, "/bomb")->failure, HTTP_TOO_LARGE);
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10);
}

static void test_encode(void **state)
{
	(void)state;
	struct buf out;
	buf_init(&out, 1000);
	http_encode(STR("a b&c=d\"{}\xc3\xa4~-_."), &out);
	assert_string_equal(buf_cstr(&out), "a%20b%26c%3Dd%22%7B%7D%C3%A4~-_.");
	buf_fini(&out);
}

/* From URL to outcome: what the fleet's log says of each fault. */
static void test_scrape_outcomes(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *path;
		enum scrape_outcome outcome;
	} rows[] = {
		{ "/metrics", SCRAPE_OK },
		{ "/gzip-two", SCRAPE_OK }, /* with duplicates */
		{ "/to-metrics", SCRAPE_OK },
		{ "/loop", SCRAPE_REDIRECT },
		{ "/401", SCRAPE_UNAUTHORIZED },
		{ "/404", SCRAPE_NOT_FOUND },
		{ "/html", SCRAPE_HTML },
		{ "/json", SCRAPE_JSON },
		{ "/empty", SCRAPE_EMPTY },
		{ "/no-content", SCRAPE_HTTP_STATUS },
		{ "/cut", SCRAPE_CUT },
		{ "/bomb", SCRAPE_TOO_LARGE },
		{ "/gzip-short", SCRAPE_BAD_ENCODING },
		{ "/ssh", SCRAPE_NOT_HTTP },
		{ "/hang", SCRAPE_NO_ANSWER },
		{ "/close", SCRAPE_FAILED },
	};
	struct store *store = store_new();
	struct fleet fleet;
	fleet_init(&fleet, store_sink(store));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		fleet_target(&fleet, str_from(rows[i].path), str_from(url(w, rows[i].path)), STR_EMPTY);
	struct http_answer answers[ARRAY_LEN(rows)];
	scrape_all(w->client, &w->arena, &fleet, &(struct scrape_options){ .timeout_ms = 1500, .max_bytes = 1 << 20 }, answers, NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct scrape_record *r = fleet_ingest(&fleet, fleet.targets.items[i], answers[i].start_ms, STR_EMPTY, &answers[i]);
		if (r->outcome != rows[i].outcome)
			fail_msg("%s: %s " STR_FMT, rows[i].path, scrape_outcome_name(r->outcome), STR_ARG(r->detail));
	}
	fleet_fini(&fleet);
	store_free(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_failure),
		TEST(test_head_that_ends_early),
		TEST(test_answer_fields),
		TEST(test_connection_failures),
		TEST(test_timeouts),
		TEST(test_tls),
		TEST(test_redirects),
		TEST(test_token_stays_at_its_host),
		TEST(test_post),
		TEST(test_many_at_once),
		TEST(test_connections_are_kept),
		TEST(test_stop),
		TEST(test_bomb_costs_no_memory),
		TEST(test_encode),
		TEST(test_scrape_outcomes),
	};
	if (count != 2)
		return 64;
	script = arguments[1];
	if (!program_exists("python3") || !program_exists("openssl"))
		return 77; /* skipped */
	return cmocka_run_group_tests(tests, server_start, server_end);
}
