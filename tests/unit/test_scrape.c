#include "base/number.h"
#include "scrape/scrape.h"
#include "store/store.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct world {
	struct store *store;
	struct fleet fleet;
	struct arena arena;
	struct target *target;
};

static int setup(void **state)
{
	struct world *w = NEW(struct world);
	w->store = store_new();
	arena_init(&w->arena);
	fleet_init(&w->fleet, store_sink(w->store));
	w->target = fleet_target(&w->fleet, STR("pod-a"), STR(""), STR("vllm"));
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	fleet_fini(&w->fleet);
	arena_fini(&w->arena);
	store_free(w->store);
	mem_free(w);
	return 0;
}

static const struct scrape_record *ingest(struct world *w, int64_t t_ms, const struct http_answer *answer)
{
	return fleet_ingest(&w->fleet, w->target, t_ms, STR_EMPTY, answer);
}

static const struct scrape_record *ingest_body(struct world *w, int64_t t_ms, const char *body)
{
	struct http_answer answer = { .status = 200, .body = str_from(body), .duration_s = 0.25 };
	return ingest(w, t_ms, &answer);
}

/* The samples of one series, as text: "1@1000 stale@2000". Labels are given as pairs; the target's are added unless given. */
static const char *samples(struct world *w, const char *const *pairs)
{
	struct matcher m[8];
	size_t count = 0, found;
	bool job = false;
	for (; pairs[0]; pairs += 2) {
		job |= strcmp(pairs[0], "job") == 0;
		matcher_init(&m[count++], str_from(pairs[0]), MATCH_EQ, str_from(pairs[1]), NULL);
	}
	if (!job)
		matcher_init(&m[count++], STR("job"), MATCH_EQ, STR("vllm"), NULL);
	struct series_view *views = store_select(w->store, &w->arena, m, count, INT64_MIN, INT64_MAX, &found);
	if (found != 1)
		return found ? "several series" : "none";
	struct buf text;
	buf_init(&text, 10000);
	for (size_t i = 0; i < views->count; i++) {
		buf_add_cstr(&text, i ? " " : "");
		if (number_is_stale(views->v[i]))
			buf_add_cstr(&text, "stale");
		else
			buf_add_double(&text, views->v[i]);
		buf_printf(&text, "@%lld", (long long)views->t[i]);
	}
	const char *kept = arena_cstr(&w->arena, buf_str(&text));
	buf_fini(&text);
	return kept;
}
#define SAMPLES(w, ...) samples((w), (const char *const[]){ __VA_ARGS__, NULL })
#define NAMED(name) "__name__", name

static void test_target_labels_and_report(void **state)
{
	struct world *w = *state;
	const struct scrape_record *r = ingest_body(w, 1000, "# TYPE a counter\na 1\nb{x=\"y\"} 2\n");
	assert_int_equal(r->outcome, SCRAPE_OK);
	assert_int_equal(r->samples, 2);
	assert_int_equal(r->detail.len, 0);
	assert_string_equal(SAMPLES(w, NAMED("a"), "instance", "pod-a"), "1@1000");
	assert_string_equal(SAMPLES(w, NAMED("b"), "x", "y"), "2@1000");
	assert_string_equal(SAMPLES(w, NAMED("up")), "1@1000");
	assert_string_equal(SAMPLES(w, NAMED("scrape_duration_seconds")), "0.25@1000");
	assert_string_equal(SAMPLES(w, NAMED("scrape_samples_scraped")), "2@1000");
	assert_string_equal(SAMPLES(w, NAMED("scrape_samples_post_metric_relabeling")), "2@1000");
	assert_string_equal(SAMPLES(w, NAMED("scrape_series_added")), "2@1000");
	ingest_body(w, 2000, "# TYPE a counter\na 3\nb{x=\"y\"} 4\n");
	assert_string_equal(SAMPLES(w, NAMED("a")), "1@1000 3@2000");
	assert_string_equal(SAMPLES(w, NAMED("scrape_series_added")), "2@1000 0@2000");
}

static void test_exported_labels(void **state)
{
	struct world *w = *state;
	ingest_body(w, 1000, "a{job=\"x\"} 1\nb{job=\"x\",exported_job=\"y\"} 2\nc{instance=\"i\",job=\"\"} 3\nd{exported_job=\"z\"} 4\n");
	assert_string_equal(SAMPLES(w, NAMED("a"), "exported_job", "x"), "1@1000");
	assert_string_equal(SAMPLES(w, NAMED("b"), "exported_job", "y", "exported_exported_job", "x"), "2@1000");
	assert_string_equal(SAMPLES(w, NAMED("c"), "exported_instance", "i", "exported_job", ""), "3@1000");
	assert_string_equal(SAMPLES(w, NAMED("d"), "exported_job", "z"), "4@1000");
}

/* Two exposed series can become one with the target's labels. */
static void test_series_that_collide(void **state)
{
	struct world *w = *state;
	const char *page = "a{job=\"x\"} 1\na{exported_job=\"x\"} 2\nb 3\n";
	for (int i = 1; i <= 2; i++) {
		const struct scrape_record *r = ingest_body(w, i * 1000, page);
		assert_int_equal(r->samples, 2);
		assert_int_equal(r->duplicates, 1);
	}
	assert_string_equal(SAMPLES(w, NAMED("a"), "exported_job", "x"), "1@1000 1@2000");
	assert_string_equal(SAMPLES(w, NAMED("b")), "3@1000 3@2000");
}

static void test_page_cannot_write_up(void **state)
{
	struct world *w = *state;
	const struct scrape_record *r = ingest_body(w, 1000, "up 0\na 1\n");
	assert_int_equal(r->outcome, SCRAPE_OK);
	assert_int_equal(r->duplicates, 1);
	assert_string_equal(SAMPLES(w, NAMED("up")), "1@1000");
}

static void test_duplicates_are_counted(void **state)
{
	struct world *w = *state;
	const struct scrape_record *r = ingest_body(w, 1000, "a 1\na 2\nb 3\n");
	assert_int_equal(r->outcome, SCRAPE_OK);
	assert_int_equal(r->duplicates, 1);
	assert_true(str_search(r->detail, STR("duplicate")) >= 0);
	assert_string_equal(SAMPLES(w, NAMED("a")), "1@1000");
}

static void test_vanished_series_become_stale(void **state)
{
	struct world *w = *state;
	ingest_body(w, 1000, "a 1\nb 2\n");
	ingest_body(w, 2000, "a 1\n");
	ingest_body(w, 3000, "a 1\n");
	ingest_body(w, 4000, "a 1\nb 3\n");
	assert_string_equal(SAMPLES(w, NAMED("a")), "1@1000 1@2000 1@3000 1@4000");
	assert_string_equal(SAMPLES(w, NAMED("b")), "2@1000 stale@2000 3@4000");
	assert_string_equal(SAMPLES(w, NAMED("scrape_series_added")), "2@1000 0@2000 0@3000 1@4000");
}

static void test_failed_scrape_ends_all(void **state)
{
	struct world *w = *state;
	struct http_answer refused = { .failure = HTTP_REFUSED, .detail = "connection refused by pod-a:8000", .duration_s = 0.001 };
	ingest_body(w, 1000, "a 1\nb 2\n");
	const struct scrape_record *r = ingest(w, 2000, &refused);
	assert_int_equal(r->outcome, SCRAPE_REFUSED);
	assert_true(str_is(r->detail, "connection refused by pod-a:8000"));
	ingest(w, 3000, &refused);
	/* The page has the shape of the last one: the short way must make the series live again. */
	ingest_body(w, 4000, "a 5\nb 6\n");
	ingest_body(w, 5000, "a 7\n");
	assert_string_equal(SAMPLES(w, NAMED("a")), "1@1000 stale@2000 5@4000 7@5000");
	assert_string_equal(SAMPLES(w, NAMED("b")), "2@1000 stale@2000 6@4000 stale@5000");
	assert_string_equal(SAMPLES(w, NAMED("up")), "1@1000 0@2000 0@3000 1@4000 1@5000");
	assert_string_equal(SAMPLES(w, NAMED("scrape_series_added")), "2@1000 0@2000 0@3000 2@4000 0@5000");
}

static void test_partial_page(void **state)
{
	struct world *w = *state;
	ingest_body(w, 1000, "a 1\nb 2\nc 3\n");
	const struct scrape_record *r = ingest_body(w, 2000, "a 4\nnew 9\nb oops\nc 3\n");
	assert_int_equal(r->outcome, SCRAPE_PARTIAL);
	assert_int_equal(r->samples, 2);
	assert_int_equal(r->dropped_lines, 2);
	assert_true(str_search(r->detail, STR("pod-a:3")) >= 0);
	assert_string_equal(SAMPLES(w, NAMED("up")), "1@1000 0@2000");
	assert_string_equal(SAMPLES(w, NAMED("a")), "1@1000 4@2000");
	assert_string_equal(SAMPLES(w, NAMED("b")), "2@1000"); /* neither ended nor continued */
	ingest_body(w, 3000, "a 5\nc 6\n");
	assert_string_equal(SAMPLES(w, NAMED("b")), "2@1000 stale@3000");
	assert_string_equal(SAMPLES(w, NAMED("new")), "9@2000 stale@3000");
	assert_string_equal(SAMPLES(w, NAMED("c")), "3@1000 6@3000");
}

static void test_failure_after_partial_page_ends_both(void **state)
{
	struct world *w = *state;
	struct http_answer timeout = { .failure = HTTP_TIMEOUT, .duration_s = 10 };
	ingest_body(w, 1000, "a 1\nb 2\n");
	ingest_body(w, 2000, "a 4\nb oops\n");
	ingest(w, 3000, &timeout);
	assert_string_equal(SAMPLES(w, NAMED("a")), "1@1000 4@2000 stale@3000");
	assert_string_equal(SAMPLES(w, NAMED("b")), "2@1000 stale@3000");
}

static void test_cut_page_keeps_whole_lines(void **state)
{
	struct world *w = *state;
	struct http_answer cut = { .failure = HTTP_CUT, .status = 200, .body = STR("a 1\nb 123"), .body_is_partial = true };
	const struct scrape_record *r = ingest(w, 1000, &cut);
	assert_int_equal(r->outcome, SCRAPE_CUT);
	assert_int_equal(r->samples, 1);
	assert_string_equal(SAMPLES(w, NAMED("a")), "1@1000");
	assert_string_equal(SAMPLES(w, NAMED("b")), "none"); /* 123 may be the head of 12345 */
	assert_string_equal(SAMPLES(w, NAMED("up")), "0@1000");
}

static void test_own_timestamps(void **state)
{
	struct world *w = *state;
	ingest_body(w, 100000, "a 1 90000\nb 2\n");
	ingest_body(w, 101000, "a 1 90000\nb 2\n"); /* repeated: no new sample, no fault */
	const struct scrape_record *r = ingest_body(w, 102000, "a 5 80000\nb 2\n");
	assert_int_equal(r->samples, 1);
	assert_true(str_search(r->detail, STR("1 samples refused")) >= 0);
	r = ingest_body(w, 103000, "a 6 99999999999\nb 2\n");
	assert_int_equal(r->samples, 1);
	ingest_body(w, 104000, "b 2\n");
	assert_string_equal(SAMPLES(w, NAMED("a")), "1@90000"); /* and no stale marker */
	assert_string_equal(SAMPLES(w, NAMED("b")), "2@100000 2@101000 2@102000 2@103000 2@104000");
}

static void test_odd_values(void **state)
{
	struct world *w = *state;
	assert_int_equal(ingest_body(w, 1000, "a NaN\nb +Inf\nc -Inf\nd -3\ne 1e308\n")->outcome, SCRAPE_OK);
	assert_string_equal(SAMPLES(w, NAMED("a")), "NaN@1000");
	assert_string_equal(SAMPLES(w, NAMED("c")), "-Inf@1000");
	assert_string_equal(SAMPLES(w, NAMED("d")), "-3@1000");
}

static void test_clock_going_back(void **state)
{
	struct world *w = *state;
	ingest_body(w, 5000, "a 1\n");
	const struct scrape_record *r = ingest_body(w, 4000, "a 2\n");
	assert_int_equal(r->outcome, SCRAPE_FAILED);
	assert_int_equal(r->t_ms, 5000);
	assert_true(str_search(r->detail, STR("the clock went back")) >= 0);
	r = ingest_body(w, 5000, "a 3\n");
	assert_int_equal(r->outcome, SCRAPE_FAILED);
	assert_true(str_search(r->detail, STR("second scrape")) >= 0);
	ingest_body(w, 6000, "a 4\n");
	assert_string_equal(SAMPLES(w, NAMED("a")), "1@5000 4@6000");
	assert_int_equal(target_interval_ms(w->target), 1000);
}

static void test_too_many_labels(void **state)
{
	struct world *w = *state;
	struct buf page;
	buf_init(&page, 10000);
	buf_add_cstr(&page, "ok 1\nwide{");
	for (int i = 0; i < 63; i++)
		buf_printf(&page, "l%d=\"v\",", i);
	buf_add_cstr(&page, "} 1\n");
	const struct scrape_record *r = ingest_body(w, 1000, buf_cstr(&page));
	assert_int_equal(r->samples, 1);
	assert_true(str_search(r->detail, STR("64 labels")) >= 0 || r->outcome == SCRAPE_PARTIAL);
	buf_fini(&page);
}

static void test_unknown_duration_is_not_zero(void **state)
{
	struct world *w = *state;
	struct http_answer answer = { .status = 200, .body = STR("a 1\n"), .duration_s = NAN };
	ingest(w, 1000, &answer);
	assert_string_equal(SAMPLES(w, NAMED("scrape_duration_seconds")), "none");
}

static void test_classification(void **state)
{
	struct world *w = *state;
	static const struct {
		struct http_answer answer;
		enum scrape_outcome outcome;
		const char *detail; /* must be in it */
	} rows[] = {
		{ { .failure = HTTP_NO_HOST, .detail = "x" }, SCRAPE_NO_HOST, "x" },
		{ { .failure = HTTP_REFUSED }, SCRAPE_REFUSED, "" },
		{ { .failure = HTTP_UNREACHABLE }, SCRAPE_UNREACHABLE, "" },
		{ { .failure = HTTP_TIMEOUT, .status = 200, .body = { "a 1\n", 4 } }, SCRAPE_NO_ANSWER, "" },
		{ { .failure = HTTP_TLS }, SCRAPE_TLS, "" },
		{ { .failure = HTTP_RESET, .detail = "closed\r\nbadly" }, SCRAPE_FAILED, "closed  badly" },
		{ { .failure = HTTP_CUT, .status = 500, .detail = "cut" }, SCRAPE_CUT, "cut" },
		{ { .failure = HTTP_TOO_LARGE, .status = 200 }, SCRAPE_TOO_LARGE, "" },
		{ { .failure = HTTP_BAD_ENCODING, .status = 200 }, SCRAPE_BAD_ENCODING, "" },
		{ { .failure = HTTP_NOT_HTTP }, SCRAPE_NOT_HTTP, "" },
		{ { .failure = HTTP_BAD_URL }, SCRAPE_FAILED, "" },
		{ { .failure = HTTP_OTHER }, SCRAPE_FAILED, "" },
		{ { .status = 401, .body = { "<html>", 6 } }, SCRAPE_UNAUTHORIZED, "HTTP 401" },
		{ { .status = 403, .server = { "envoy", 5 } }, SCRAPE_UNAUTHORIZED, "HTTP 403 from envoy" },
		{ { .status = 302, .location = { "https://login/", 14 } }, SCRAPE_REDIRECT, "HTTP 302 to https://login/" },
		{ { .status = 404 }, SCRAPE_NOT_FOUND, "HTTP 404" },
		{ { .status = 405 }, SCRAPE_NOT_FOUND, "HTTP 405" },
		{ { .status = 500, .body = { "a 1\n", 4 } }, SCRAPE_HTTP_STATUS, "HTTP 500" },
		{ { .status = 204 }, SCRAPE_HTTP_STATUS, "HTTP 204" },
		{ { .status = 200 }, SCRAPE_EMPTY, "empty" },
		{ { .status = 200, .body = { " \n\n", 3 } }, SCRAPE_EMPTY, "empty" },
		{ { .status = 200, .body = { "# HELP a b\n", 11 } }, SCRAPE_EMPTY, "only comments" },
		{ { .status = 200, .body = { "\n<!DOCTYPE html><title>Sign in</title>", 38 } }, SCRAPE_HTML, "Sign in" },
		{ { .status = 200, .body = { "[{\"gpu\": 1}]", 12 } }, SCRAPE_JSON, "gpu" },
		{ { .status = 200, .body = { "{ \"a\" : 1}", 10 } }, SCRAPE_JSON, "" },
		{ { .status = 200, .body = { "{}", 2 } }, SCRAPE_JSON, "" },
		{ { .status = 200, .body = { "{\"my.metric\"} 1\n", 16 } }, SCRAPE_OK, "" },
		{ { .status = 200, .body = { "{\"my.metric\",a=\"b\"} 1\n", 22 } }, SCRAPE_OK, "" },
		{ { .status = 200, .body = { "a 1\nb{x=\"\xff\"} 1\n", 16 } }, SCRAPE_BAD_ENCODING, "" },
		{ { .status = 200, .body = { "OK", 2 } }, SCRAPE_PARTIAL, "" },
		{ { .status = 200, .content_type = { "application/openmetrics-text; version=1.0.0", 43 }, .body = { "a 1\n", 4 } },
			SCRAPE_PARTIAL, "EOF" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct scrape_record *r = ingest(w, (int64_t)(i + 1) * 1000, &rows[i].answer);
		if (r->outcome != rows[i].outcome || str_search(r->detail, str_from(rows[i].detail)) < 0)
			fail_msg("row %zu: %s, \"" STR_FMT "\"", i, scrape_outcome_name(r->outcome), STR_ARG(r->detail));
		assert_true(strlen(scrape_outcome_name(r->outcome)) > 0 && strlen(scrape_outcome_advice(r->outcome)) > 20);
	}
}

static void test_interval_is_the_median(void **state)
{
	struct world *w = *state;
	assert_int_equal(target_interval_ms(w->target), 0);
	static const int64_t times[] = { 0, 15000, 30000, 90000, 105000 };
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		ingest_body(w, times[i], "a 1\n");
	assert_int_equal(target_interval_ms(w->target), 15000);
}

static void test_targets(void **state)
{
	struct world *w = *state;
	assert_ptr_equal(fleet_target(&w->fleet, STR("pod-a"), STR_EMPTY, STR_EMPTY), w->target);
	struct target *b = fleet_target(&w->fleet, STR("pod-b"), STR("http://b/metrics"), STR_EMPTY);
	assert_ptr_equal(fleet_find(&w->fleet, STR("pod-b")), b);
	assert_null(fleet_find(&w->fleet, STR("pod-c")));
	assert_int_equal(b->labels->count, 1); /* no job */
	assert_true(isnan(b->memory_limit_bytes));
}

static void test_urls(void **state)
{
	struct world *w = *state;
	static const char *const good[][3] = {
		{ "localhost:8000", "http://localhost:8000/metrics", "localhost:8000" },
		{ ":8000", "http://localhost:8000/metrics", "localhost:8000" },
		{ "h", "http://h/metrics", "h" },
		{ " http://h:8000/ ", "http://h:8000/metrics", "h:8000" },
		{ "https://h", "https://h/metrics", "h" },
		{ "HTTP://h/custom/metrics", "http://h/custom/metrics", "h/custom/metrics" },
		{ "http://h:8000/metrics?x=1", "http://h:8000/metrics?x=1", "h:8000/metrics?x=1" },
		{ "[::1]:8000", "http://[::1]:8000/metrics", "[::1]:8000" },
		{ "http://user:secret@h:1/metrics", "http://user:secret@h:1/metrics", "h:1" },
	};
	static const char *const bad[] = { "", "ftp://h", "h:99999", "h:abc", "http://", "a b", "::1", "[::1", "h:0", "http://h:8000/a b",
		":x", "a\"b" };
	struct str url, name;
	struct error e;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		if (!scrape_url(&w->arena, str_from(good[i][0]), &url, &name, &e) || !str_is(url, good[i][1]) || !str_is(name, good[i][2]))
			fail_msg("%s: " STR_FMT " " STR_FMT, good[i][0], STR_ARG(url), STR_ARG(name));
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		error_clear(&e);
		if (scrape_url(&w->arena, str_from(bad[i]), &url, &name, &e))
			fail_msg("%s is taken for " STR_FMT, bad[i], STR_ARG(url));
		assert_int_equal(e.status, EXIT_USAGE);
		assert_true(e.hint[0]);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_target_labels_and_report),
		TEST(test_exported_labels),
		TEST(test_series_that_collide),
		TEST(test_page_cannot_write_up),
		TEST(test_duplicates_are_counted),
		TEST(test_vanished_series_become_stale),
		TEST(test_failed_scrape_ends_all),
		TEST(test_partial_page),
		TEST(test_failure_after_partial_page_ends_both),
		TEST(test_cut_page_keeps_whole_lines),
		TEST(test_own_timestamps),
		TEST(test_odd_values),
		TEST(test_clock_going_back),
		TEST(test_too_many_labels),
		TEST(test_unknown_duration_is_not_zero),
		TEST(test_classification),
		TEST(test_interval_is_the_median),
		TEST(test_targets),
		TEST(test_urls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
