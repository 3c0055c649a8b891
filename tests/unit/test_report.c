/* Pages, summaries and JUnit: escaping, axes, whole documents of odd data, vLLM's keys. */
#include "report/internal.h"
#include "report/junit.h"
#include "report/run_report.h"
#include "report/summary.h"
#include "unit.h"

#include <jansson.h>
#include <math.h>

static struct arena arena;

static int set_up(void **state)
{
	arena_init(&arena);
	return 0;
}

static int tear_down(void **state)
{
	arena_fini(&arena);
	return 0;
}

static bool has(const struct buf *b, const char *words)
{
	return str_search(buf_str(b), str_from(words)) >= 0;
}

/* Elements nest, attributes are quoted, nothing is left open; void elements and the doctype aside. */
static void check_nesting(struct str text)
{
	VEC(struct str) open = { 0 };

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] != '<') {
			assert_true(text.ptr[i] != '>' || open.count == 0 || str_is(open.items[open.count - 1], "style"));
			continue;
		}
		ptrdiff_t end = str_find(str_skip(text, i), '>');

		assert_true(end > 0);
		struct str tag = str_of(text.ptr + i + 1, (size_t)end - 1), name = tag;
		size_t quotes = 0, letters = 0;

		for (size_t k = 0; k < tag.len; k++)
			quotes += tag.ptr[k] == '"';
		assert_int_equal(quotes % 2, 0);
		i += (size_t)end;
		if (tag.ptr[0] == '!' || tag.ptr[0] == '?' || tag.ptr[tag.len - 1] == '/' || str_starts(tag, STR("meta")))
			continue;
		bool closing = tag.ptr[0] == '/';

		name = closing ? str_skip(tag, 1) : tag;
		while (letters < name.len && name.ptr[letters] != ' ' && name.ptr[letters] != '\n')
			letters++;
		name = str_head(name, letters);
		if (!closing) {
			VEC_PUSH(&open, name);
			continue;
		}
		assert_true(open.count > 0);
		if (!str_eq(open.items[open.count - 1], name))
			fail_msg("</" STR_FMT "> closes <" STR_FMT ">", STR_ARG(name), STR_ARG(open.items[open.count - 1]));
		open.count--;
	}
	assert_int_equal(open.count, 0);
	VEC_FREE(&open);
}

static void test_escaping(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *html;
	} rows[] = {
		{ "<script>alert('x')</script>", 27, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" },
		{ "a&b \"c\"", 7, "a&amp;b &quot;c&quot;" },
		{ "\0\x1b[31m\x7f", 7, "\xef\xbf\xbd\xef\xbf\xbd[31m\xef\xbf\xbd" },
		{ "\xff\xc3\xa9\xc2\x85", 5, "\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd" },
		{ "\xef\xbf\xbe", 3, "\xef\xbf\xbd" },
		{ "two\nlines", 9, "two\nlines" },
	};
	struct buf out;

	buf_init(&out, 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_reset(&out);
		html_text(&out, str_of(rows[i].text, rows[i].len));
		assert_str(buf_str(&out), rows[i].html);
	}
	buf_fini(&out);
}

static void test_scales(void **state)
{
	static const struct {
		double from, to;
		bool log;
		size_t count;
		double first, last;
	} rows[] = { { 0, 97, false, 6, 0, 100 }, { 0, 0, false, 6, 0, 1 }, { -3, 4, false, 5, -4, 4 },
		{ 1e-9, 3e-9, false, 5, 1e-9, 3e-9 }, { 6, 22, true, 5, 6, 20 }, { 1, 1000, true, 4, 1, 1000 },
		{ 1e-3, 1e9, true, 5, 1e-3, 1e9 }, { 5, 5, true, 4, 5, 10 } };
	double ticks[TICKS_MAX];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct scale s = { .from = rows[i].from, .to = rows[i].to, .log = rows[i].log, .length = 100 };
		size_t count = scale_ticks(&s, 5, ticks);

		assert_true(count >= 2 && count <= TICKS_MAX);
		assert_true(fabs(ticks[0] - rows[i].first) <= 1e-9 * fabs(rows[i].first) + 1e-18);
		assert_true(ticks[count - 1] <= rows[i].last * (1 + 1e-9));
		for (size_t k = 1; k < count; k++)
			assert_true(ticks[k] > ticks[k - 1]);
		assert_true(scale_place(&s, s.from) == 0);
		assert_true(fabs(scale_place(&s, s.to) - 100) < 1e-9);
	}
	char text[32];
	static const struct {
		double value;
		const char *text;
	} labels[] = { { 0, "0" }, { 0.25, "0.25" }, { 5000, "5000" }, { 10000, "10k" }, { 2.5e6, "2.5M" }, { -20000, "-20k" } };

	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		scale_label(labels[i].value, text);
		assert_string_equal(text, labels[i].text);
	}
}

static void test_charts_of_odd_data(void **state)
{
	static const double x[] = { 0, 1, 2, 3 }, y[] = { NAN, 1, INFINITY, -2 }, zero[] = { 0, 0, 0, 0 };
	const struct html_series series[] = { { .name = STR("<a>"), .x = x, .y = y, .low = zero, .high = y, .count = 4 },
		{ .name = STR("b"), .x = x, .y = zero, .count = 4, .steps = true }, { .name = STR("none"), .x = x, .y = y, .count = 0 } };
	const struct html_mark marks[] = { { STR("limit & more"), 2, true }, { STR("unknown"), NAN, false }, { STR("line"), 0.5, false } };
	struct buf out;

	buf_init(&out, 1 << 24);
	for (int variant = 0; variant < 4; variant++) {
		buf_reset(&out);
		html_chart(&out, &(struct html_chart){ .title = STR("\"t\""),
					 .note = STR("n"),
					 .x = { STR("x"), variant & 1, NAN, NAN },
					 .y = { STR("y"), variant & 2, NAN, NAN },
					 .series = series,
					 .series_count = 3,
					 .marks = marks,
					 .mark_count = 3 });
		check_nesting(buf_str(&out));
		assert_false(has(&out, "nan") || has(&out, "inf"));
		assert_true(has(&out, "limit &amp; more") && has(&out, "&lt;a&gt;"));
		assert_false(has(&out, "unknown"));
	}
	buf_reset(&out);
	html_chart(&out, &(struct html_chart){ .title = STR("empty"), .x = { .from = NAN, .to = NAN }, .y = { .from = NAN, .to = NAN } });
	check_nesting(buf_str(&out));
	buf_reset(&out);
	const struct html_change changes[] = { { STR("a"), STR("1"), STR("2"), 1, 0.5, NAN, HTML_BAD, STR("worse") },
		{ STR("b"), STR_EMPTY, STR_EMPTY, NAN, NAN, NAN, HTML_UNKNOWN, STR("not known") },
		{ STR("c"), STR("1"), STR("1"), 0, -900, 900, HTML_PLAIN, STR_EMPTY } };

	html_changes(&out, STR("t"), STR_EMPTY, changes, 3);
	check_nesting(buf_str(&out));
	assert_false(has(&out, "nan"));
	assert_true(has(&out, "+100.0 %") && has(&out, "worse"));
	buf_fini(&out);
}

/* ---- a run ---- */

#define MS INT64_C(1000000)

static void request_add(struct records *r, uint64_t id, int64_t due_ms, int64_t ttft_ms, uint32_t tokens, int64_t pace_ms)
{
	struct timeline t;

	timeline_init(&t);
	t.id = id;
	t.request_id = STR("req<1>");
	t.intended_ns = due_ms * MS;
	t.submitted_ns = (due_ms + 1) * MS;
	t.first_output_ns = (due_ms + 1 + ttft_ms) * MS;
	t.notes = TIMELINE_DELIVERY_TOKENS;
	t.outcome = TIMELINE_OK;
	t.output_tokens = tokens;
	t.prompt_tokens = 10;
	t.basis = TOKENS_USAGE;
	deliveries_reset(&t.deliveries, t.submitted_ns);
	for (uint32_t i = 0; i < tokens; i++)
		deliveries_add(&t.deliveries, t.first_output_ns + i * pace_ms * MS, 1);
	t.last_output_ns = t.first_output_ns + (tokens - 1) * pace_ms * MS;
	t.completed_ns = t.closed_ns = t.last_output_ns + MS;
	timeline_set_finish(&t, STR("length"));
	VEC_PUSH(&r->requests, t);
}

static void failure_add(struct records *r, uint64_t id, int64_t due_ms)
{
	struct timeline t;

	timeline_init(&t);
	t.id = id;
	t.intended_ns = t.submitted_ns = due_ms * MS;
	t.closed_ns = (due_ms + 5) * MS;
	t.outcome = TIMELINE_ERROR;
	t.error = TIMELINE_HTTP_5XX;
	t.http_status = 503;
	timeline_set_message(&t, STR("<b>busy</b>"));
	VEC_PUSH(&r->requests, t);
}

/* Requests at 0, 1, 2 s with TTFT 100, 200, 900 ms; one fails. */
static void run_make(struct records *r, struct tally *t, struct slo_set *slo)
{
	struct tally_options o = { .slo = slo, .window_s = NAN };
	struct error e;

	records_init(r);
	r->run.window_start_ns = 0;
	r->run.window_end_ns = 5000 * MS;
	r->run.start_unix = 1790000000;
	r->run.workload = STR("abc");
	slo_set_init(slo);
	assert_true(slo_set_parse(slo, STR("ttft:500 tpot:50"), &e));
	request_add(r, 0, 0, 100, 11, 10);
	request_add(r, 1, 1000, 200, 21, 10);
	request_add(r, 2, 2000, 900, 11, 20);
	failure_add(r, 3, 3000);
	tally_init(t);
	tally_records(t, r, &o);
}

static void run_free(struct records *r, struct tally *t)
{
	tally_fini(t);
	records_fini(r);
}

static void test_rates(void **state)
{
	struct run_rates rates;
	struct slo_set slo;
	struct records r;
	struct tally t;

	run_make(&r, &t, &slo);
	run_rates_make(&arena, &r, &slo, &rates);
	assert_true(rates.step_s == 0.1 && rates.buckets == 50);
	double sums[4] = { 0 };

	for (size_t i = 0; i < rates.buckets; i++) {
		sums[0] += rates.due[i] * rates.step_s;
		sums[1] += rates.complete[i] * rates.step_s;
		sums[2] += rates.good[i] * rates.step_s;
		sums[3] += rates.tokens[i] * rates.step_s;
	}
	assert_true(fabs(sums[0] - 4) < 1e-9 && fabs(sums[1] - 3) < 1e-9 && fabs(sums[2] - 2) < 1e-9 && fabs(sums[3] - 43) < 1e-9);
	assert_true(rates.due[10] == 10 && rates.due[11] == 0);
	run_free(&r, &t);
}

static void test_page(void **state)
{
	static const size_t worst[] = { 3, 2 };
	struct slo_set slo;
	struct records r;
	struct tally t;
	struct buf out;

	run_make(&r, &t, &slo);
	buf_init(&out, 1 << 24);
	r.run.client_bound = true;
	r.run.client_reason = STR("late");
	run_report_html(&out, &(struct run_report){ .title = STR("</title><script>"),
				      .subtitle = STR("s"),
				      .records = &r,
				      .tally = &t,
				      .slo = &slo,
				      .groups = &t,
				      .group_count = 1,
				      .worst = worst,
				      .worst_count = 2 });
	check_nesting(buf_str(&out));
	assert_false(has(&out, "<script") || has(&out, "http:") || has(&out, "https:") || has(&out, "src=") || has(&out, "url("));
	assert_true(has(&out, "default-src &#39;none&#39;") || has(&out, "default-src 'none'"));
	assert_true(has(&out, "&lt;b&gt;busy&lt;/b&gt;") && has(&out, "req&lt;1&gt;") && has(&out, "limit 500 ms") && has(&out, "50.00 %"));
	assert_true(has(&out, "The client was the bottleneck") && !has(&out, "nan"));
	run_free(&r, &t);
	/* nothing at all */
	struct records none;
	struct tally empty;

	records_init(&none);
	tally_init(&empty);
	tally_finish(&empty, NAN);
	buf_reset(&out);
	run_report_html(&out, &(struct run_report){ .title = STR("t"), .records = &none, .tally = &empty });
	check_nesting(buf_str(&out));
	run_free(&none, &empty);
	buf_fini(&out);
}

static double number(json_t *root, const char *key)
{
	json_t *value = json_object_get(root, key);

	if (!json_is_number(value))
		fail_msg("no number %s", key);
	return json_number_value(value);
}

static void test_summary(void **state)
{
	static const double percentiles[] = { 50, 99.9 };
	const struct summary_options o = { .backend = STR("openai-chat"),
		.endpoint_type = STR("openai-chat"),
		.model = STR("m"),
		.rate = NAN,
		.burstiness = 1,
		.percentiles = percentiles,
		.percentile_count = 2,
		.metrics = STR("ttft,tpot,e2el"),
		.detailed = true };
	struct slo_set slo;
	struct records r;
	struct tally t;
	struct buf out;
	json_error_t e;

	run_make(&r, &t, &slo);
	buf_init(&out, 1 << 24);
	summary_write(&out, &r, &t, &slo, &o);
	json_t *root = json_loadb(out.ptr, out.len, 0, &e);

	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "request_rate")), "inf");
	assert_true(json_is_null(json_object_get(root, "max_concurrency")) && json_is_null(json_object_get(root, "label")));
	assert_true(number(root, "completed") == 3 && number(root, "failed") == 1 && number(root, "num_prompts") == 4);
	assert_true(number(root, "total_input_tokens") == 30 && number(root, "total_output_tokens") == 43);
	/* from the first submission, 1 ms, to the last end: 2001 + 900 + 200 + 1 ms; but the failure ends at 3005 */
	assert_true(fabs(number(root, "duration") - 3.101) < 1e-9);
	assert_true(fabs(number(root, "request_goodput") - 2 / 3.101) < 1e-9);
	assert_true(fabs(number(root, "mean_ttft_ms") - 400) < 1e-9 && number(root, "p50_ttft_ms") == 200);
	assert_true(fabs(number(root, "std_ttft_ms") - sqrt((300.0 * 300 + 200.0 * 200 + 500.0 * 500) / 3)) < 1e-9);
	assert_true(fabs(number(root, "p99.9_ttft_ms") - (200 + 0.998 * 700)) < 1e-6);
	assert_true(fabs(number(root, "mean_e2el_ms") - (200 + 400 + 1100) / 3.0) < 1e-9); /* to the last output */
	assert_null(json_object_get(root, "mean_itl_ms"));
	assert_int_equal(json_array_size(json_object_get(root, "input_lens")), 4);
	assert_true(json_number_value(json_array_get(json_object_get(root, "ttfts"), 1)) == 0.2);
	assert_int_equal(json_array_size(json_array_get(json_object_get(root, "itls"), 0)), 10);
	assert_string_equal(json_string_value(json_array_get(json_object_get(root, "errors"), 3)), "<b>busy</b>");
	assert_true(number(json_object_get(root, "goodput"), "good") == 2);
	json_decref(root);
	buf_fini(&out);
	run_free(&r, &t);
}

static void test_junit(void **state)
{
	const struct junit_case cases[] = { { STR("a<b"), STR("c"), 1.5, JUNIT_PASSED, STR_EMPTY, STR_EMPTY },
		{ STR("f"), STR("c"), NAN, JUNIT_FAILED, STR("12 > 10"), STR("many\nlines \x01") },
		{ STR("s"), STR("c"), NAN, JUNIT_SKIPPED, STR("n = 3"), STR_EMPTY },
		{ STR("e"), STR("c"), 0, JUNIT_ERROR, STR("no answer"), STR_EMPTY } };
	struct buf out;

	buf_init(&out, 1 << 20);
	junit_write(&out, STR("goodput bench"), 1790000000, 12, cases, 4);
	check_nesting(buf_str(&out));
	assert_true(has(&out, "tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""));
	assert_true(has(&out, "name=\"a&lt;b\" classname=\"c\" time=\"1.500\"/>"));
	assert_true(has(&out, "<failure message=\"12 &gt; 10\">many\nlines \xef\xbf\xbd</failure>"));
	assert_true(has(&out, "timestamp=\"2026-09-21T14:13:20\""));
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escaping),
		cmocka_unit_test(test_scales),
		cmocka_unit_test(test_charts_of_odd_data),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_junit),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
