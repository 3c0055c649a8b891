/* The remote backend against real servers (Prometheus, VictoriaMetrics) and against faulty.py. Usage: test_remote
 * prometheus|victoria-metrics|faulty [faulty.py]. Exit 77 (skipped) when the server is not installed. */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "child.h"
#include "net/http.h"
#include "promql/remote.h"

#include <arpa/inet.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>

#include <cmocka.h>

enum { STEP_MS = 15000, SAMPLES = 200 };

static struct {
	struct child child;
	char address[32]; /* host:port */
	char url[48];
	char folder[64];
	int64_t base_ms; /* of sample 0 */
	struct arena arena;
} server;
static const char *script;

static int free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(fd, (struct sockaddr *)&a, size) != 0 || getsockname(fd, (struct sockaddr *)&a, &size) != 0)
		return -1;
	close(fd);
	return ntohs(a.sin_port);
}

static void family(struct buf *out, const char *name, const char *labels, int from, int to, int add)
{
	for (int i = from; i < to; i++)
		buf_printf(out, "%s{%s} %d %.3f\n", name, labels, i + add, (double)(server.base_ms + (int64_t)i * STEP_MS) / 1000);
}

/* What is in both servers: OpenMetrics with times. */
static void data_make(struct buf *out)
{
	server.base_ms = (clock_now_ms() / 60000 - 120) * 60000;
	buf_init(out, 16 << 20);
	buf_add_cstr(out, "# TYPE x gauge\n");
	family(out, "x", "job=\"vllm\",pod=\"a\"", 0, SAMPLES, 0);
	family(out, "x", "job=\"other\",pod=\"a\"", 0, SAMPLES, 1000);
	for (int i = 0; i < 5; i++) {
		char name[8], labels[64];
		snprintf(name, sizeof name, "y%d", i);
		buf_printf(out, "# TYPE %s gauge\n", name);
		for (int pod = 0; pod < 8; pod++) {
			snprintf(labels, sizeof labels, "job=\"many\",pod=\"%d\"", pod);
			family(out, name, labels, 0, SAMPLES, i);
		}
	}
	buf_add_cstr(out, "# TYPE up gauge\n");
	family(out, "up", "job=\"ha\",replica=\"0\"", 0, SAMPLES, 0);
	family(out, "up", "job=\"ha\",replica=\"1\"", 0, SAMPLES, 0);
	family(out, "up", "job=\"ray\"", 0, SAMPLES, 0);
	buf_add_cstr(out, "# TYPE z gauge\n");
	family(out, "z", "job=\"ha\",replica=\"0\"", 0, 50, 0);
	family(out, "z", "job=\"ha\",replica=\"1\"", 0, 60, 100);
	family(out, "same", "job=\"ha\",replica=\"0\"", 0, 50, 0);
	family(out, "same", "job=\"ha\",replica=\"1\"", 0, 50, 100);
	family(out, "z", "job=\"ray\",replica=\"0\"", 0, 50, 0);
	family(out, "z", "job=\"ray\",replica=\"1\"", 0, 60, 100);
	family(out, "z", "job=\"sure\",prometheus_replica=\"a\"", 0, 60, 0);
	family(out, "z", "job=\"sure\",prometheus_replica=\"b\"", 10, 60, 100);
	buf_add_cstr(out, "# EOF\n");
}

static int64_t at(int sample)
{
	return server.base_ms + (int64_t)sample * STEP_MS;
}

static bool wait_until_open(const char *path)
{
	struct http_client *client = http_client_new();
	struct http_answer answer = { 0 };
	char url[128];
	snprintf(url, sizeof url, "%s%s", server.url, path);
	for (int i = 0; i < 200 && answer.status != 200; i++) {
		usleep(100000);
		http_fetch(client, &server.arena, &(struct http_request){ .url = url }, &answer);
	}
	http_client_free(client);
	return answer.status == 200;
}

static int folder_make_new(void)
{
	arena_init(&server.arena);
	snprintf(server.folder, sizeof server.folder, "/tmp/goodput-test-XXXXXX");
	snprintf(server.address, sizeof server.address, "127.0.0.1:%d", free_port());
	snprintf(server.url, sizeof server.url, "http://%s", server.address);
	return mkdtemp(server.folder) ? 0 : -1;
}

static int prometheus_start(void **state)
{
	(void)state;
	struct buf data;
	if (folder_make_new() != 0)
		return -1;
	data_make(&data);
	char command[400], storage[100], config[100], listen[64];
	snprintf(config, sizeof config, "%s/data.om", server.folder);
	file_write(config, buf_str(&data), NULL);
	buf_fini(&data);
	snprintf(command, sizeof command, "promtool tsdb create-blocks-from openmetrics %s %s/data >/dev/null 2>&1", config, server.folder);
	if (system(command) != 0)
		return -1;
	snprintf(config, sizeof config, "%s/prometheus.yml", server.folder);
	file_write(config, STR("global: {}\n"), NULL);
	snprintf(config, sizeof config, "--config.file=%s/prometheus.yml", server.folder);
	snprintf(storage, sizeof storage, "--storage.tsdb.path=%s/data", server.folder);
	snprintf(listen, sizeof listen, "--web.listen-address=%s", server.address);
	const char *run[] = { "prometheus", config, storage, listen, "--query.max-samples=2000", NULL };
	return child_start(&server.child, run, true) && wait_until_open("/-/ready") ? 0 : -1;
}

static int victoria_start(void **state)
{
	(void)state;
	struct buf data, plain;
	struct http_answer answer;
	if (folder_make_new() != 0)
		return -1;
	char storage[100], listen[64], url[128];
	snprintf(storage, sizeof storage, "-storageDataPath=%s/data", server.folder);
	snprintf(listen, sizeof listen, "-httpListenAddr=%s", server.address);
	const char *run[] = { "victoria-metrics", storage, listen, NULL };
	if (!child_start(&server.child, run, true) || !wait_until_open("/health"))
		return -1;
	data_make(&data);
	buf_init(&plain, data.max); /* times in ms here */
	struct str rest = buf_str(&data), line;
	while (str_split(&rest, '\n', &line)) {
		ptrdiff_t dot = str_search(line, STR(".000"));
		if (dot > 0)
			buf_printf(&plain, STR_FMT "000\n", STR_ARG(str_head(line, (size_t)dot)));
	}
	snprintf(url, sizeof url, "%s/api/v1/import/prometheus", server.url);
	struct http_client *client = http_client_new();
	http_fetch(client, &server.arena, &(struct http_request){ .url = url, .post = buf_cstr(&plain) }, &answer);
	snprintf(url, sizeof url, "%s/internal/force_flush", server.url);
	http_fetch(client, &server.arena, &(struct http_request){ .url = url }, &answer);
	http_client_free(client);
	buf_fini(&data);
	buf_fini(&plain);
	return answer.status == 200 ? 0 : -1;
}

static int faulty_start(void **state)
{
	(void)state;
	const char *run[] = { "python3", script, NULL };
	char name[32], value[200];
	arena_init(&server.arena);
	if (!child_start(&server.child, run, false))
		return -1;
	while (fscanf(server.child.from, "%31s %199s", name, value) == 2 && strcmp(name, "ready") != 0)
		if (strcmp(name, "plain") == 0)
			snprintf(server.address, sizeof server.address, "127.0.0.1:%.10s", value);
	snprintf(server.url, sizeof server.url, "http://%s", server.address);
	return 0;
}

static int server_end(void **state)
{
	(void)state;
	char command[128];
	child_end(&server.child);
	arena_fini(&server.arena);
	snprintf(command, sizeof command, "rm -rf %s", server.folder);
	return server.folder[0] ? system(command) : 0;
}

struct world {
	struct arena arena;
	struct error error;
	struct backend *backend;
};

static int setup(void **state)
{
	struct world *w = NEW(struct world);
	arena_init(&w->arena);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	backend_free(w->backend);
	arena_fini(&w->arena);
	mem_free(w);
	return 0;
}

static void connect_with(struct world *w, struct remote_options o)
{
	o.url = server.url;
	w->backend = backend_remote_new(&o, &w->error);
	if (!w->backend)
		fail_msg("%s", w->error.message);
}

static struct series_view *pick(
	struct world *w, const char *name, enum match_op op, const char *job, int64_t from_ms, int64_t to_ms, size_t *count)
{
	struct matcher m[2];
	struct series_view *series;
	assert_true(matcher_init(&m[0], LABEL_NAME, op, str_from(name), NULL));
	assert_true(matcher_init(&m[1], STR("job"), MATCH_EQ, str_from(job ? job : ""), NULL));
	if (!w->backend->ops->select(w->backend, &w->arena, m, job ? 2 : 1, from_ms, to_ms, &series, count, &w->error))
		fail_msg("%s", w->error.message);
	matcher_fini(&m[0]);
	return series;
}

static void test_server_name(void **state)
{
	connect_with(*state, (struct remote_options){ 0 });
	struct str name = backend_remote_stats(((struct world *)*state)->backend)->server;
	assert_true(str_starts(name, STR("Prometheus ")) || str_is(name, "VictoriaMetrics"));
	assert_true(backend_remote_probe(&(struct remote_options){ .url = server.url }));
}

static void test_select_is_closed_at_both_ends(void **state)
{
	struct world *w = *state;
	size_t count;
	connect_with(w, (struct remote_options){ 0 });
	struct series_view *s = pick(w, "x", MATCH_EQ, "vllm", at(10), at(13), &count);
	assert_int_equal(count, 1);
	assert_int_equal(s->count, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(s->t[i], at(10 + i));
		assert_true(s->v[i] == 10 + i);
	}
	s = pick(w, "x", MATCH_EQ, "vllm", at(10) + 1, at(13) - 1, &count);
	assert_int_equal(s->count, 2);
	s = pick(w, "x", MATCH_EQ, "vllm", at(10), at(10), &count);
	assert_int_equal(s->count, 1);
	pick(w, "x", MATCH_EQ, "vllm", at(10) + 1, at(11) - 1, &count);
	assert_int_equal(count, 0);
	pick(w, "x", MATCH_EQ, "vllm", at(10), at(9), &count);
	assert_int_equal(count, 0);
	assert_true(str_is(labels_get(pick(w, "x", MATCH_EQ, "vllm", at(1), at(2), &count)->labels, STR("pod")), "a"));
}

static void test_match_is_added(void **state)
{
	struct world *w = *state;
	size_t count;
	connect_with(w, (struct remote_options){ .match = "{job=~\"v.*\",pod!=\"b\"}" });
	struct series_view *s = pick(w, "x", MATCH_EQ, NULL, at(0), at(5), &count);
	assert_int_equal(count, 1);
	assert_true(str_is(labels_get(s->labels, STR("job")), "vllm"));
	struct str *values;
	struct matcher m;
	matcher_init(&m, LABEL_NAME, MATCH_EQ, STR("x"), NULL);
	assert_true(w->backend->ops->label_values(w->backend, &w->arena, STR("job"), &m, 1, at(0), at(5), &values, &count, &w->error));
	assert_int_equal(count, 1);
	assert_true(str_is(values[0], "vllm"));
}

static void test_bad_match(void **state)
{
	struct world *w = *state;
	static const char *const bad[] = { "{job=}", "{job=~\"(\"}", "rate(x[5m])", "{a=\"b\"} offset 5m", "{" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_null(backend_remote_new(&(struct remote_options){ .url = server.url, .match = bad[i] }, &w->error));
		assert_string_equal(w->error.source, "match");
		assert_int_equal(w->error.status, EXIT_BAD_INPUT);
	}
}

/* 5 names x 8 pods x 200 samples, and a server that loads far fewer at once: names are split, then time. */
static void test_more_than_the_server_allows(void **state)
{
	struct world *w = *state;
	size_t count;
	connect_with(w, (struct remote_options){ 0 });
	struct series_view *s = pick(w, "y0|y1|y2|y3|y4", MATCH_RE, "many", at(0), at(SAMPLES - 1), &count);
	assert_int_equal(count, 40);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(s[i].count, SAMPLES);
		for (int k = 1; k < SAMPLES; k++)
			assert_int_equal(s[i].t[k] - s[i].t[k - 1], STEP_MS);
	}
	const struct remote_stats *stats = backend_remote_stats(w->backend);
	if (!str_is(stats->server, "VictoriaMetrics")) /* has no limit on this way */
		assert_true(stats->requests > 5);
	assert_int_equal(stats->samples, 40 * SAMPLES);
	assert_int_equal(stats->replicas_dropped, 0);
}

static void test_high_availability_pairs(void **state)
{
	struct world *w = *state;
	size_t count;
	connect_with(w, (struct remote_options){ .match = "{job=\"ha\"}" });
	struct series_view *s = pick(w, "z", MATCH_EQ, NULL, at(0), at(100), &count);
	assert_int_equal(count, 1); /* `up` has the label too: it is of the servers */
	assert_int_equal(s->count, 60);
	assert_true(s->v[0] == 100);
	assert_int_equal(labels_get(s->labels, STR("replica")).len, 0);
	pick(w, "z", MATCH_EQ, NULL, at(0), at(100), &count);
	assert_int_equal(backend_remote_stats(w->backend)->replicas_dropped, 1);
	s = pick(w, "same", MATCH_EQ, NULL, at(0), at(100), &count); /* equal twins: always the first, whatever the order */
	assert_int_equal(count, 1);
	assert_true(s->v[0] == 0);
	assert_true(str_is(backend_remote_stats(w->backend)->replica_label, "replica"));
}

static void test_replicas_of_an_application_stay(void **state)
{
	struct world *w = *state;
	size_t count;
	connect_with(w, (struct remote_options){ .match = "{job=\"ray\"}" });
	pick(w, "z", MATCH_EQ, NULL, at(0), at(100), &count);
	assert_int_equal(count, 2);
	assert_int_equal(backend_remote_stats(w->backend)->replica_label.len, 0);
}

static void test_replica_label_by_name(void **state)
{
	struct world *w = *state;
	size_t count;
	connect_with(w, (struct remote_options){ 0 });
	struct series_view *s = pick(w, "z", MATCH_EQ, "sure", at(0), at(100), &count);
	assert_int_equal(count, 1);
	assert_int_equal(s->count, 60);
	backend_free(w->backend);
	static const char *const labels[] = { "replica", NULL };
	connect_with(w, (struct remote_options){ .replica_labels = labels });
	pick(w, "z", MATCH_EQ, "sure", at(0), at(100), &count);
	assert_int_equal(count, 2);
	pick(w, "z", MATCH_EQ, "ray", at(0), at(100), &count);
	assert_int_equal(count, 1);
}

static void test_queries(void **state)
{
	struct world *w = *state;
	struct promql_value v;
	connect_with(w, (struct remote_options){ 0 });
	const struct backend_ops *ops = w->backend->ops;
	assert_true(ops->query(w->backend, &w->arena, STR("sum(x)"), at(50), &v, &w->error));
	assert_int_equal(v.type, PROMQL_VECTOR);
	assert_int_equal(v.count, 1);
	assert_true(v.elements[0].value == 1100);
	assert_int_equal(v.elements[0].t_ms, at(50));
	assert_true(ops->query_range(w->backend, &w->arena, STR("x{job=\"vllm\"} + 0"), at(10), at(20), STEP_MS, &v, &w->error));
	assert_int_equal(v.type, PROMQL_MATRIX);
	assert_int_equal(v.series[0].count, 11);
	assert_true(v.series[0].v[10] == 20);
	assert_true(ops->query(w->backend, &w->arena, STR("nothing_here"), at(50), &v, &w->error));
	assert_int_equal(v.count, 0);
}

static void test_query_error_has_a_position(void **state)
{
	struct world *w = *state;
	struct promql_value v;
	connect_with(w, (struct remote_options){ 0 });
	assert_false(w->backend->ops->query(w->backend, &w->arena, STR("sum(\nx)) by"), at(50), &v, &w->error));
	assert_int_equal(w->error.status, EXIT_BAD_INPUT);
	if (str_is(backend_remote_stats(w->backend)->server, "VictoriaMetrics"))
		return; /* gives none */
	assert_string_equal(w->error.source, "query");
	assert_int_equal(w->error.line, 2);
	if (w->error.column != 3)
		fail_msg("%d: %s", w->error.column, w->error.message);
}

static void test_wrong_base_path(void **state)
{
	struct world *w = *state;
	char url[128];
	snprintf(url, sizeof url, "%s/nowhere", server.url);
	assert_null(backend_remote_new(&(struct remote_options){ .url = url }, &w->error));
	assert_int_equal(w->error.status, EXIT_UNREACHABLE);
	assert_false(backend_remote_probe(&(struct remote_options){ .url = url }));
	snprintf(url, sizeof url, "%s/api/v1/", server.address);
	w->backend = backend_remote_new(&(struct remote_options){ .url = url }, &w->error);
	assert_non_null(w->backend);
}

static void test_budget(void **state)
{
	struct world *w = *state;
	struct series_view *series;
	struct matcher m;
	size_t count;
	connect_with(w, (struct remote_options){ .budget_ms = 5000 });
	matcher_init(&m, LABEL_NAME, MATCH_EQ, STR("x"), NULL);
	((struct remote_stats *)backend_remote_stats(w->backend))->elapsed_ms = 5000;
	assert_false(w->backend->ops->select(w->backend, &w->arena, &m, 1, at(0), at(5), &series, &count, &w->error));
	assert_non_null(strstr(w->error.message, "used up"));
}

static void test_faults(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *path, *message;
	} rows[] = {
		{ "/401", "credentials" },
		{ "/404", "no Prometheus API" },
		{ "/html", "web page" },
		{ "/json", "no answer of a Prometheus API" },
		{ "/metrics", "no answer of a Prometheus API" },
		{ "/429", "rate" },
		{ "/loop", "redirects to" },
		{ "/close", "closed the connection" },
		{ "/overloaded", "query timed out" },
		{ "/gzip-short", "gzip" },
		{ "/hang", "did not answer within" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char url[128];
		snprintf(url, sizeof url, "%s%s", server.url, rows[i].path);
		struct remote_options o = { .url = url, .timeout_ms = 1000 };
		assert_null(backend_remote_new(&o, &w->error));
		if (!strstr(w->error.message, rows[i].message))
			fail_msg("%s: %s", rows[i].path, w->error.message);
		assert_int_equal(w->error.status, EXIT_UNREACHABLE);
		assert_string_equal(w->error.source, url);
		assert_false(backend_remote_probe(&o));
	}
	assert_null(backend_remote_new(&(struct remote_options){ .url = server.url, .tenant = "a\nb" }, &w->error));
	char url[128];
	snprintf(url, sizeof url, "http://user:secret@%s/404", server.address);
	assert_null(backend_remote_new(&(struct remote_options){ .url = url }, &w->error));
	assert_null(strstr(w->error.source, "secret"));
}

static void test_get_where_post_is_refused(void **state)
{
	struct world *w = *state;
	struct promql_value v;
	char url[128];
	snprintf(url, sizeof url, "%s/only-get", server.url);
	w->backend = backend_remote_new(&(struct remote_options){ .url = url }, &w->error);
	assert_non_null(w->backend);
	assert_true(w->backend->ops->query(w->backend, &w->arena, STR("x"), 5000, &v, &w->error));
	assert_int_equal(v.warning_count, 1);
	const struct remote_stats *stats = backend_remote_stats(w->backend);
	assert_int_equal(stats->warning_count, 1); /* once, however often it comes */
	assert_true(str_is(stats->warnings[0], "partial: a store is down"));
	assert_int_equal(stats->requests, 4); /* POST, GET, build, query */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run_faults(void)
{
	const struct CMUnitTest tests[] = { TEST(test_faults), TEST(test_get_where_post_is_refused) };
	if (!program_exists("python3") || !program_exists("openssl"))
		return 77;
	return cmocka_run_group_tests(tests, faulty_start, server_end);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		TEST(test_server_name),
		TEST(test_select_is_closed_at_both_ends),
		TEST(test_match_is_added),
		TEST(test_bad_match),
		TEST(test_more_than_the_server_allows),
		TEST(test_high_availability_pairs),
		TEST(test_replicas_of_an_application_stay),
		TEST(test_replica_label_by_name),
		TEST(test_queries),
		TEST(test_query_error_has_a_position),
		TEST(test_wrong_base_path),
		TEST(test_budget),
	};
	if (count < 2)
		return 64;
	if (strcmp(arguments[1], "faulty") == 0 && count == 3) {
		script = arguments[2];
		return run_faults();
	}
	if (!program_exists(arguments[1]))
		return 77;
	bool prometheus = strcmp(arguments[1], "prometheus") == 0;
	return cmocka_run_group_tests(tests, prometheus ? prometheus_start : victoria_start, server_end);
}
