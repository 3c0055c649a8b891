#include "base/file.h"
#include "base/number.h"
#include "scrape/recording.h"
#include "store/store.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define HEADER "when\ttarget\ttime_unix\tfile\thttp_status\tcontent_type\tduration_s\n"

struct world {
	struct store *store;
	struct fleet fleet;
	struct arena arena;
	struct recording recording;
	struct error error;
	char folder[64];
};

static int setup(void **state)
{
	struct world *w = NEW(struct world);
	w->store = store_new();
	arena_init(&w->arena);
	fleet_init(&w->fleet, store_sink(w->store));
	snprintf(w->folder, sizeof w->folder, "/tmp/goodput-test-XXXXXX");
	*state = w;
	return mkdtemp(w->folder) ? 0 : -1;
}

static void folder_remove(struct world *w, const char *folder)
{
	size_t count = 0;
	struct str *names = folder_list(&w->arena, folder, &count, NULL);
	for (size_t i = 0; names && i < count; i++)
		unlink(path_join(&w->arena, folder, names[i]));
	rmdir(folder);
}

static int teardown(void **state)
{
	struct world *w = *state;
	folder_remove(w, path_join(&w->arena, w->folder, STR("out")));
	folder_remove(w, w->folder);
	fleet_fini(&w->fleet);
	arena_fini(&w->arena);
	store_free(w->store);
	mem_free(w);
	return 0;
}

static void put(struct world *w, const char *name, const char *text)
{
	assert_true(file_write(path_join(&w->arena, w->folder, str_from(name)), str_from(text), &w->error));
}

static bool load(struct world *w)
{
	error_clear(&w->error);
	return recording_read(&w->fleet, &w->arena, w->folder, &w->recording, &w->error);
}

static struct str read_file(struct world *w, const char *folder, const char *name)
{
	struct str text;
	struct error e;
	if (!file_read(&w->arena, path_join(&w->arena, folder, str_from(name)), 1 << 20, &text, &e))
		fail_msg("%s: %s", name, e.message);
	return text;
}

static double last_value(struct world *w, const char *name, const char *instance)
{
	struct matcher m[2];
	size_t count;
	matcher_init(&m[0], LABEL_NAME, MATCH_EQ, str_from(name), NULL);
	matcher_init(&m[1], STR("instance"), MATCH_EQ, str_from(instance), NULL);
	struct series_view *v = store_select(w->store, &w->arena, m, 2, INT64_MIN, INT64_MAX, &count);
	return count == 1 ? v->v[v->count - 1] : NAN;
}

static void test_newest_rows_first(void **state)
{
	struct world *w = *state;
	put(w, "scrapes.tsv",
		HEADER "t1\ta\t1000.500\ta1\t200\ttext/plain\t0.5\r\n"
		       "t0\ta\t985\ta0\t200\t-\t-\n\n"
		       "t0\tb\t984\t-\t0\t-\t10\n");
	put(w, "a0", "x 1\n");
	put(w, "a1", "x 2\n");
	assert_true(recording_is(w->folder));
	if (!load(w))
		fail_msg("%s", w->error.message);
	assert_int_equal(w->fleet.targets.count, 2);
	const struct target *a = fleet_find(&w->fleet, STR("a")), *b = fleet_find(&w->fleet, STR("b"));
	assert_int_equal(a->scrapes.count, 2);
	assert_int_equal(a->scrapes.items[0].t_ms, 985000);
	assert_true(isnan(a->scrapes.items[0].duration_s));
	assert_int_equal(a->scrapes.items[1].t_ms, 1000500);
	assert_true(str_is(a->scrapes.items[1].when, "t1"));
	assert_int_equal(b->scrapes.items[0].outcome, SCRAPE_NO_ANSWER);
	assert_int_equal(b->scrapes.items[0].status, 0);
	assert_true(last_value(w, "x", "a") == 2);
	assert_int_equal(w->recording.moment_count, 2);
	assert_true(str_is(w->recording.moments[0].when, "t0"));
	assert_int_equal(w->recording.moments[0].t_ms, 985000); /* of its newest scrape */
}

static void test_clock_back(void **state)
{
	struct world *w = *state;
	put(w, "scrapes.tsv",
		HEADER "t0\ta\t1000\ta0\t200\t-\t-\n"
		       "t1\ta\t985\ta1\t200\t-\t-\n"
		       "t2\ta\t1060\ta1\t200\t-\t-\n");
	put(w, "a0", "x 1\n");
	put(w, "a1", "x 2\n");
	if (!load(w))
		fail_msg("%s", w->error.message);
	const struct target *a = fleet_find(&w->fleet, STR("a"));
	assert_int_equal(a->scrapes.count, 3);
	assert_int_equal(a->scrapes.items[0].outcome, SCRAPE_OK);
	assert_int_equal(a->scrapes.items[1].outcome, SCRAPE_FAILED);
	assert_int_equal(a->scrapes.items[1].t_ms, 1000000); /* of the one before */
	assert_int_equal(a->scrapes.items[2].outcome, SCRAPE_OK);
	assert_true(str_is(w->recording.moments[0].when, "t1"));
}

static void test_failures_by_name(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *word;
		enum scrape_outcome outcome;
	} rows[] = {
		{ "refused", SCRAPE_REFUSED },
		{ "timeout", SCRAPE_NO_ANSWER },
		{ "cut", SCRAPE_CUT },
		{ "too-large", SCRAPE_TOO_LARGE },
		{ "bad-encoding", SCRAPE_BAD_ENCODING },
		{ "no-host", SCRAPE_NO_HOST },
		{ "tls", SCRAPE_TLS },
		{ "not-http", SCRAPE_NOT_HTTP },
		{ "ok", SCRAPE_OK },
		{ "-", SCRAPE_OK },
	};
	struct buf text;
	buf_init(&text, 10000);
	buf_add_cstr(&text, "target\ttime_unix\tfile\thttp_status\terror\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		buf_printf(&text, "a\t%zu\tpage\t200\t%s\n", i + 1, rows[i].word);
	put(w, "scrapes.tsv", buf_cstr(&text));
	buf_fini(&text);
	put(w, "page", "x 1\n");
	assert_true(load(w));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(fleet_find(&w->fleet, STR("a"))->scrapes.items[i].outcome, rows[i].outcome);
	assert_int_equal(w->recording.moment_count, ARRAY_LEN(rows));
}

static void test_errors_have_positions(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *table;
		int line, column;
		const char *message;
	} rows[] = {
		{ "", 0, 0, "empty" },
		{ HEADER, 0, 0, "no scrape" },
		{ "when\ttarget\tfile\thttp_status\nx\ta\t-\t0\n", 1, 1, "no column \"time_unix\"" },
		{ "target\ttime_unix\tfile\thttp_satus\na\t1\t-\t0\n", 1, 23, "did you mean \"http_status\"" },
		{ "target\ttime_unix\tfile\thttp_status\ttarget\na\t1\t-\t0\ta\n", 1, 35, "twice" },
		{ HEADER "t0\ta\t1\t-\t0\t-\n", 2, 1, "6 columns" },
		{ HEADER "t0\ta\t1\t-\t0\t-\t-\t-\n", 2, 1, "8 columns" },
		{ HEADER "t0\ta\tsoon\t-\t0\t-\t-\n", 2, 6, "no time" },
		{ HEADER "t0\ta\tNaN\t-\t0\t-\t-\n", 2, 6, "no time" },
		{ HEADER "t0\ta\t1790000000000000\t-\t0\t-\t-\n", 2, 6, "milliseconds" },
		{ HEADER "t0\ta\t-5\t-\t0\t-\t-\n", 2, 6, "no time" },
		{ HEADER "t0\t\t1\t-\t0\t-\t-\n", 2, 4, "\"target\" is empty" },
		{ HEADER "t0\ta\t1\t-\t2OO\t-\t-\n", 2, 10, "no HTTP status" },
		{ HEADER "t0\ta\t1\t-\t1000\t-\t-\n", 2, 10, "no HTTP status" },
		{ HEADER "t0\ta\t1\t-\t0\t-\tfast\n", 2, 14, "no number" },
		{ HEADER "t0\ta\t1\t-\t0\t-\t-1\n", 2, 14, "no number" },
		{ HEADER "t0\ta\t1\tmissing\t200\t-\t-\n", 2, 8, "missing is missing" },
		{ HEADER "t0\ta\t1\t../x\t200\t-\t-\n", 2, 8, "outside" },
		{ HEADER "t0\ta\t1\tx/../../y\t200\t-\t-\n", 2, 8, "outside" },
		{ HEADER "t0\ta\t1\t/etc/passwd\t200\t-\t-\n", 2, 8, "outside" },
		{ HEADER "t0\ta\t1\tlink\t200\t-\t-\n", 2, 8, "outside" },
		{ HEADER "t0\ta\t1\t-\t0\t-\t-\nt0\ta\t2\t-\t0\t-\t-\n", 3, 1, "the first is in line 2" },
		{ HEADER "t0\ta\t1\t-\t0\t-\t-\nt1\ta\t1.0\t-\t0\t-\t-\n", 3, 6, "the first is in line 2" },
		{ "target\ttime_unix\tfile\thttp_status\terror\na\t1\t-\t0\tboom\n", 2, 9, "no failure" },
		{ "target\ttime_unix\tfile\thttp_status\terror\na\t1\t-\t0\tok\n", 2, 9, "no answer" },
		{ HEADER "t0\ta\t1\t-\t0\t-\t\xff\n", 0, 0, "UTF-8" },
	};
	char link[128];
	snprintf(link, sizeof link, "%s/link", w->folder);
	assert_int_equal(symlink("/etc/hostname", link), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put(w, "scrapes.tsv", rows[i].table);
		if (load(w))
			fail_msg("row %zu is accepted", i);
		if (w->error.line != rows[i].line || w->error.column != rows[i].column || !strstr(w->error.message, rows[i].message))
			fail_msg("row %zu: %d:%d %s", i, w->error.line, w->error.column, w->error.message);
		assert_non_null(strstr(w->error.source, "scrapes.tsv"));
		assert_int_equal(w->error.status, EXIT_BAD_INPUT);
	}
}

static void test_zero_byte(void **state)
{
	struct world *w = *state;
	assert_true(file_write(path_join(&w->arena, w->folder, STR("scrapes.tsv")), STR(HEADER "t\0\ta\t1\t-\t0\t-\t-\n"), NULL));
	assert_false(load(w));
	assert_int_equal(w->error.line, 2);
	assert_int_equal(w->error.column, 2);
}

static void test_no_recording(void **state)
{
	struct world *w = *state;
	assert_false(recording_is(w->folder));
	assert_false(recording_is("/nonexistent"));
	assert_false(load(w));
	assert_non_null(strstr(w->error.source, "scrapes.tsv"));
}

static void test_limits_and_health(void **state)
{
	struct world *w = *state;
	put(w, "scrapes.tsv", HEADER "t0\ta\t1\t-\t0\t-\t-\n");
	put(w, "limits.tsv", "target\tmemory_limit_bytes\na\t68719476736\n");
	put(w, "health.tsv", "time_unix\tpath\thttp_status\n9\t/health\t503\n2\t/health\t200\n");
	if (!load(w))
		fail_msg("%s", w->error.message);
	const struct target *a = fleet_find(&w->fleet, STR("a"));
	assert_true(a->memory_limit_bytes == 68719476736.0);
	assert_int_equal(a->health.count, 2);
	assert_int_equal(a->health.items[0].t_ms, 2000); /* in time order */
	assert_int_equal(a->health.items[1].status, 503);
}

static void test_limits_and_health_errors(void **state)
{
	struct world *w = *state;
	put(w, "scrapes.tsv", HEADER "t0\tpod-a\t1\t-\t0\t-\t-\nt0\tpod-b\t1\t-\t0\t-\t-\n");
	put(w, "limits.tsv", "target\tmemory_limit_bytes\npod-x\t5\n");
	assert_false(load(w));
	assert_int_equal(w->error.line, 2);
	assert_non_null(strstr(w->error.hint, "pod-"));
	put(w, "limits.tsv", "target\tmemory_limit_bytes\npod-a\tmuch\n");
	assert_false(load(w));
	assert_int_equal(w->error.column, 7);
	put(w, "limits.tsv", "target\tmemory_limit_bytes\npod-a\t-\n");
	put(w, "health.tsv", "time_unix\tpath\thttp_status\n9\t/health\t503\n");
	assert_false(load(w));
	assert_non_null(strstr(w->error.message, "whose health"));
}

static void test_find(void **state)
{
	struct world *w = *state;
	put(w, "scrapes.tsv", HEADER "before\ta\t100\t-\t0\t-\t-\nafter\ta\t200\t-\t0\t-\t-\n");
	assert_true(load(w));
	const struct recording *r = &w->recording;
	assert_int_equal(recording_find(r, STR("before"), &w->error), 0);
	assert_int_equal(recording_find(r, STR("after"), &w->error), 1);
	assert_int_equal(recording_find(r, STR("first"), &w->error), 0);
	assert_int_equal(recording_find(r, STR("last"), &w->error), 1);
	assert_int_equal(recording_find(r, STR("150"), &w->error), 0);
	assert_int_equal(recording_find(r, STR("1970-01-01T00:03:20Z"), &w->error), 1);
	assert_int_equal(recording_find(r, STR("befor"), &w->error), -1);
	assert_non_null(strstr(w->error.hint, "before"));
	assert_int_equal(recording_find(r, STR("50"), &w->error), -1);
}

static void test_single_page(void **state)
{
	struct world *w = *state;
	put(w, "pod-a.prom", "x 7\n");
	assert_true(recording_read_page(
		&w->fleet, &w->arena, path_join(&w->arena, w->folder, STR("pod-a.prom")), 5000, &w->recording, &w->error));
	assert_true(last_value(w, "x", "pod-a") == 7);
	assert_int_equal(w->recording.moment_count, 1);
	assert_int_equal(w->recording.moments[0].t_ms, 5000);
	assert_false(recording_read_page(&w->fleet, &w->arena, "/nonexistent/page", 5000, &w->recording, &w->error));
}

static const char secret_page[] =
	"# HELP vllm:num_requests_running Running.\n"
	"# TYPE vllm:num_requests_running gauge\n"
	"vllm:num_requests_running{engine=\"0\",model_name=\"acme/secret-8b\"} 3.0\n"
	"vllm:lora_requests_info{running_lora_adapters=\"tom,acme/secret-8b\",waiting_lora_adapters=\"\"} 1.79e+09\n"
	"python_info{implementation=\"CPython\",version=\"3.12.3\"} 1.0\n"
	"x{instance=\"10.1.2.3:8000\",cache=\"/data/models/secret\",any=\"10.1.2.3\",url=\"s3://secret/x\",handler=\"/v1/chat/"
	"completions\"} 1\n"
	"h_bucket{le=\"1\\\"\",UUID=\"GPU-secret\"} 1 # {trace_id=\"secret\"} 0.5 1.5\n"
	"# a secret remark\n"
	"secret broken line {\n";

static struct recorder *record(struct world *w, const char *folder, bool redact)
{
	struct recorder_options options = { .redact = redact };
	struct recorder *r = recorder_new(folder, &options, &w->error);
	assert_non_null(r);
	struct http_answer answer = { .status = 200,
		.start_ms = 1790000000123,
		.duration_s = 0.012,
		.content_type = STR("text/plain"),
		.body = str_from(secret_page) };
	struct http_answer refused = { .failure = HTTP_REFUSED, .start_ms = 1790000000124, .duration_s = NAN };
	struct http_answer html = { .status = 200, .start_ms = 1790000000125, .body = STR("<html>secret</html>") };
	struct http_answer denied = { .status = 401, .start_ms = 1790000000126, .body = STR("secret") };
	assert_true(recorder_add(r, STR("t0"), STR("gpu-secret.example:8000"), &answer, &w->error));
	assert_true(recorder_add(r, STR("t0"), STR("localhost:8001"), &refused, &w->error));
	assert_true(recorder_add(r, STR("t0"), STR("localhost/8001"), &html, &w->error));
	assert_true(recorder_add(r, STR("t0"), STR("secret\thost"), &denied, &w->error));
	return r;
}

static void test_recorded_pages_replay(void **state)
{
	struct world *w = *state;
	char *out = path_join(&w->arena, w->folder, STR("out"));
	assert_true(recorder_close(record(w, out, false), &w->error));
	struct recorder_options options = { .redact = false };
	assert_null(recorder_new(out, &options, &w->error)); /* never over another recording */
	assert_non_null(strstr(w->error.message, "already"));
	if (!recording_read(&w->fleet, &w->arena, out, &w->recording, &w->error))
		fail_msg("%s", w->error.message);
	const struct target *t = fleet_find(&w->fleet, STR("gpu-secret.example:8000"));
	assert_int_equal(t->scrapes.items[0].outcome, SCRAPE_PARTIAL);
	assert_int_equal(t->scrapes.items[0].t_ms, 1790000000123);
	assert_int_equal(t->scrapes.items[0].bytes, sizeof secret_page - 1);
	assert_int_equal(fleet_find(&w->fleet, STR("localhost:8001"))->scrapes.items[0].outcome, SCRAPE_REFUSED);
	assert_true(isnan(fleet_find(&w->fleet, STR("localhost:8001"))->scrapes.items[0].duration_s));
}

static void test_redaction(void **state)
{
	struct world *w = *state;
	char *out = path_join(&w->arena, w->folder, STR("out"));
	struct recorder *r = record(w, out, true);
	struct buf summary;
	buf_init(&summary, 4096);
	recorder_summary(r, &summary);
	assert_non_null(strstr(buf_cstr(&summary), "2 model names"));
	assert_non_null(strstr(buf_cstr(&summary), "engine"));
	buf_fini(&summary);
	assert_true(recorder_close(r, &w->error));

	size_t count;
	struct str *names = folder_list(&w->arena, out, &count, &w->error);
	for (size_t i = 0; i < count; i++) {
		assert_true(str_search(names[i], STR("secret")) < 0);
		struct str text = read_file(w, out, names[i].ptr);
		if (str_search(text, STR("secret")) >= 0 || str_search(text, STR("10.1.2.3")) >= 0)
			fail_msg(STR_FMT " has a secret: " STR_FMT, STR_ARG(names[i]), STR_ARG(text));
	}
	struct str page = read_file(w, out, "host-1_8000.t0.prom");
	assert_true(str_search(page, STR("vllm:num_requests_running{engine=\"0\",model_name=\"model-1\"} 3.0\n")) >= 0);
	assert_true(str_search(page, STR("running_lora_adapters=\"model-2,model-1\",waiting_lora_adapters=\"\"")) >= 0);
	assert_true(str_search(page, STR("python_info{implementation=\"CPython\",version=\"3.12.3\"} 1.0\n")) >= 0);
	assert_true(str_search(page, STR("instance=\"host-2:8000\"")) >= 0);
	assert_true(str_search(page, STR("any=\"host-2\"")) >= 0); /* the same host, the same pseudonym */
	assert_true(str_search(page, STR("handler=\"/v1/chat/completions\"")) >= 0);
	assert_true(str_search(page, STR("h_bucket{le=\"1\\\"\",UUID=\"id-1\"} 1 # {trace_id=\"id-2\"} 0.5 1.5\n")) >= 0);

	if (!recording_read(&w->fleet, &w->arena, out, &w->recording, &w->error))
		fail_msg("%s", w->error.message);
	assert_int_equal(fleet_find(&w->fleet, STR("host-1:8000"))->scrapes.items[0].outcome, SCRAPE_PARTIAL);
	assert_int_equal(w->fleet.targets.count, 4);
	static const enum scrape_outcome outcomes[] = { SCRAPE_PARTIAL, SCRAPE_REFUSED, SCRAPE_HTML, SCRAPE_UNAUTHORIZED };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(w->fleet.targets.items[i]->scrapes.items[0].outcome, outcomes[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_newest_rows_first),
		TEST(test_clock_back),
		TEST(test_failures_by_name),
		TEST(test_errors_have_positions),
		TEST(test_zero_byte),
		TEST(test_no_recording),
		TEST(test_limits_and_health),
		TEST(test_limits_and_health_errors),
		TEST(test_find),
		TEST(test_single_page),
		TEST(test_recorded_pages_replay),
		TEST(test_redaction),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
