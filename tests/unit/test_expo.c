/* What one page means: values, names, metadata, errors. Pages in a row: test_expo_pages.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "expo/expo.h"

struct fixture {
	struct expo_reader *reader;
	struct buf out;
};

static int setup(void **state)
{
	struct fixture *f = test_calloc(1, sizeof *f);

	f->reader = expo_reader_new();
	buf_init(&f->out, 1 << 20);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	expo_reader_free(f->reader);
	buf_fini(&f->out);
	test_free(f);
	return 0;
}

static const struct expo_page *read_page(void **state, enum expo_format format, const char *body)
{
	return expo_read(((struct fixture *)*state)->reader, STR("page"), str_from(body), format);
}

/* Series, value, "@" time, one line each. */
static const char *samples_of(void **state, const struct expo_page *page)
{
	struct buf *out = &((struct fixture *)*state)->out;

	buf_reset(out);
	for (size_t i = 0; i < page->sample_count; i++) {
		labels_print(page->samples[i].series->labels, out);
		buf_add_c(out, ' ');
		buf_add_double(out, page->samples[i].value);
		if (page->samples[i].t_ms != EXPO_NO_TIME)
			buf_printf(out, " @%lld", (long long)page->samples[i].t_ms);
		buf_add_c(out, '\n');
	}
	return buf_cstr(out);
}

static void expect(void **state, enum expo_format format, const char *body, const char *samples)
{
	const struct expo_page *page = read_page(state, format, body);

	assert_string_equal(page->error.message, "");
	assert_string_equal(samples_of(state, page), samples);
}

static void expect_error(void **state, enum expo_format format, const char *body, int line, int column, const char *part)
{
	const struct expo_page *page = read_page(state, format, body);

	assert_true(page->error.set);
	if (!strstr(page->error.message, part))
		fail_msg("\"%s\" is not in \"%s\"", part, page->error.message);
	assert_int_equal(page->error.line, line);
	assert_int_equal(page->error.column, column);
	assert_int_equal(page->error.status, EXIT_BAD_INPUT);
}

static void test_format_of(void **state)
{
	assert_int_equal(expo_format_of(STR("text/plain; version=0.0.4"), STR("# EOF\n")), EXPO_TEXT);
	assert_int_equal(expo_format_of(STR("Application/OpenMetrics-Text; version=1.0.0"), STR("")), EXPO_OPENMETRICS);
	assert_int_equal(expo_format_of(STR_EMPTY, STR("a 1\n# EOF\n")), EXPO_OPENMETRICS);
	assert_int_equal(expo_format_of(STR("application/octet-stream"), STR("# EOF")), EXPO_OPENMETRICS);
	assert_int_equal(expo_format_of(STR_EMPTY, STR("a 1\n")), EXPO_TEXT);
	assert_int_equal(expo_format_of(STR_EMPTY, STR("a 1\n# not the EOF\nb 1")), EXPO_TEXT);
	assert_int_equal(expo_format_of(STR_EMPTY, STR_EMPTY), EXPO_TEXT);
}

static void test_text(void **state)
{
	expect(state, EXPO_TEXT, "", "");
	expect(state, EXPO_TEXT, "a 1\n", "a 1\n");
	expect(state, EXPO_TEXT, "a 1", "a 1\n");
	expect(state, EXPO_TEXT, "\n  \n\t# a comment\n#HELP\na\t{ b = \"c\" , d=\"e\"f=\"\",}\t1\t1000 \n# EOF\nz 2\n",
		"a{b=\"c\",d=\"e\"} 1 @1000\nz 2\n");
	expect(state, EXPO_TEXT, "a{} 1\n:b:c_9 2\n", "a 1\n:b:c_9 2\n");
	expect(state, EXPO_TEXT, "a{b=\"\\\"\\\\\\n\\t}#\"} 1\n", "a{b=\"\\\"\\\\\\n\\\\t}#\"} 1\n");
	expect(state, EXPO_TEXT, "a{b=\"c\nd\"} 1\nz 2\n", "a{b=\"c\\nd\"} 1\nz 2\n");
	/* The lexer needs no blank where a name cannot go on. */
	expect(state, EXPO_TEXT, "a-1 5\n", "a -1 @5\n");
}

static void test_values(void **state)
{
	expect(state, EXPO_TEXT, "a 1e+010\na{b=\"1\"} 3.9024848896e+010\n", "a 10000000000\na{b=\"1\"} 39024848896\n");
	expect(state, EXPO_TEXT, "a +Inf\na{b=\"1\"} -inf\na{b=\"2\"} Infinity\n", "a +Inf\na{b=\"1\"} -Inf\na{b=\"2\"} +Inf\n");
	expect(state, EXPO_TEXT, "a .5\na{b=\"1\"} 5.\na{b=\"2\"} -0\n", "a 0.5\na{b=\"1\"} 5\na{b=\"2\"} -0\n");
	const struct expo_page *page = read_page(state, EXPO_TEXT, "a NaN\na{b=\"1\"} -nan\na{b=\"2\"} nan\n");

	assert_int_equal(page->sample_count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(number_bits(page->samples[i].value) == NUMBER_NAN_BITS);
	static const char *const bad[] = { "0x1", "1_0", "0x1p-3", "1e", "a", "1e999", "--1", "0b1" };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char body[40] = "b 1\na ";

		strncat(body, bad[i], 20);
		expect_error(state, EXPO_TEXT, body, 2, 3, "is not a number");
	}
}

static void test_openmetrics(void **state)
{
	expect(state, EXPO_OPENMETRICS, "# EOF", "");
	expect(state, EXPO_OPENMETRICS, "a 1 1.001\nb{c=\"d\",} 2 -1.5\nc 3 1520879607.789\n# EOF\n",
		"a 1 @1001\nb{c=\"d\"} 2 @-1500\nc 3 @1520879607789\n");
	expect_error(state, EXPO_OPENMETRICS, "a 1\n", 2, 1, "does not end with \"# EOF\"");
	expect_error(state, EXPO_OPENMETRICS, "a 1", 1, 4, "ends inside a line");
	expect_error(state, EXPO_OPENMETRICS, "a 1\n# EOF\nb", 3, 1, "after \"# EOF\"");
	expect_error(state, EXPO_OPENMETRICS, "a 1\n# EOFb", 2, 6, "after \"# EOF\"");
	expect_error(state, EXPO_OPENMETRICS, "a  1\n# EOF\n", 1, 3, "expected the sample's value");
	expect_error(state, EXPO_OPENMETRICS, "a 1 \n# EOF\n", 1, 5, "not a number of seconds");
	expect_error(state, EXPO_OPENMETRICS, "a 1 NaN\n# EOF\n", 1, 5, "not a number of seconds");
	expect(state, EXPO_OPENMETRICS, "a 1 -1e300\n# EOF\n", "a 1 @-9200000000000000000\n");
	expect_error(state, EXPO_OPENMETRICS, "\n# EOF\n", 1, 1, "no blank line");
	expect_error(state, EXPO_OPENMETRICS, " a 1\n# EOF\n", 1, 1, "no blank before a sample");
	expect_error(state, EXPO_OPENMETRICS, "# a comment\n# EOF\n", 1, 1, "no comments");
	expect_error(state, EXPO_OPENMETRICS, "a{b=\"1\"c=\"2\"} 1\n# EOF\n", 1, 8, "expected ',' or '}'");
	expect_error(state, EXPO_OPENMETRICS, "a{b=\"1\"}1\n# EOF\n", 1, 9, "expected one blank");
	expect_error(state, EXPO_OPENMETRICS, "a{b=\"1\n\"} 1\n# EOF\n", 1, 5, "no closing quote");
}

static void test_quoted_names(void **state)
{
	expect(state, EXPO_TEXT, "{\"my.metric\"} 1\n{a=\"b\",\"m\\\"n\"} 2\n{\"classic\",\"l m\"=\"x\"} 3\n",
		"{\"my.metric\"} 1\n{\"m\\\"n\",a=\"b\"} 2\nclassic{\"l m\"=\"x\"} 3\n");
	expect(state, EXPO_OPENMETRICS, "{\"my.metric\",a=\"b\"} 1\n# EOF\n", "{\"my.metric\",a=\"b\"} 1\n");
	expect_error(state, EXPO_TEXT, "{a=\"b\"} 1\n", 1, 1, "no metric name");
	expect_error(state, EXPO_TEXT, "a{\"b\"} 1\n", 1, 3, "has a name already");
	expect_error(state, EXPO_TEXT, "{\"\"} 1\n", 1, 2, "the metric's name is empty");
	expect_error(state, EXPO_TEXT, "a{\"\"=\"b\"} 1\n", 1, 3, "the label's name is empty");
	const struct expo_page *page = read_page(state, EXPO_TEXT, "# TYPE \"my.metric\" gauge\n{\"my.metric\"} 1\n");

	assert_int_equal(page->samples[0].series->type, METRIC_GAUGE);
}

static void test_label_errors(void **state)
{
	expect_error(state, EXPO_TEXT, "a{b} 1\n", 1, 4, "expected '='");
	expect_error(state, EXPO_TEXT, "a{b=c} 1\n", 1, 5, "in double quotes");
	expect_error(state, EXPO_TEXT, "a{1=\"b\"} 1\n", 1, 3, "expected a label's name");
	expect_error(state, EXPO_TEXT, "a{b=\"1\",,c=\"2\"} 1\n", 1, 9, "expected a label's name");
	expect_error(state, EXPO_TEXT, "a{b=\"1\",b=\"2\"} 1\n", 1, 9, "the label b is given twice");
	expect_error(state, EXPO_TEXT, "a{__name__=\"b\"} 1\n", 1, 3, "the label __name__ is given twice");
	expect(state, EXPO_TEXT, "a{b=\"1\",b=\"\",c=\"2\"} 1\n", "a{c=\"2\"} 1\n");
	expect_error(state, EXPO_TEXT, "a{b=\"c", 1, 5, "no closing quote");
	expect_error(state, EXPO_TEXT, "a{b=\"c\\\nd\"} 1\n", 1, 5, "no closing quote");
	expect_error(state, EXPO_TEXT, "z 1\na{b=\"\xc3\xa9\xff\"} 1\n", 2, 8, "not valid UTF-8");
	/* The quote that is missing, not the place two lines on where that shows. */
	expect_error(state, EXPO_TEXT, "a{b=\"1} 1\na{b=\"2\"} 1\n", 1, 3, "no closing quote on its line");
}

static void test_line_errors(void **state)
{
	expect_error(state, EXPO_TEXT, "a\n", 1, 2, "expected the sample's value");
	expect_error(state, EXPO_TEXT, "\n \ta 1\n", 2, 1, "blanks in front of a sample");
	expect_error(state, EXPO_TEXT, "0a 1\n", 1, 1, "expected a metric's name");
	expect_error(state, EXPO_TEXT, "a.b 1\n", 1, 2, "\".b\" is not a number");
	expect_error(state, EXPO_TEXT, "a 1 z\n", 1, 5, "not a whole number of milliseconds");
	expect_error(state, EXPO_TEXT, "a 1 -5\n", 1, 5, "not a whole number of milliseconds");
	expect_error(state, EXPO_TEXT, "a 1 99999999999999999999\n", 1, 5, "not a whole number of milliseconds");
	expect_error(state, EXPO_TEXT, "a 1 5 6\n", 1, 7, "expected the end of the line");
	expect_error(state, EXPO_TEXT, "a 1 # {} 1\n", 1, 5, "not a whole number of milliseconds");
}

static void test_wrong_pages(void **state)
{
	const struct expo_page *page = read_page(state, EXPO_TEXT, "# HELP a b\r\na 1\r\nb 2\r\n");

	assert_int_equal(page->error.line, 2);
	assert_non_null(strstr(page->error.hint, "CR LF"));
	page = read_page(state, EXPO_TEXT, "<!DOCTYPE html>\n<html></html>\n");
	assert_non_null(strstr(page->error.hint, "HTML"));
	page = read_page(state, EXPO_TEXT, "{\n \"status\": 1\n}\n");
	assert_non_null(strstr(page->error.hint, "JSON"));
	page = read_page(state, EXPO_TEXT, "\x1f\x8b\x08");
	assert_non_null(strstr(page->error.hint, "gzip"));
}

static void test_lines_before_an_error_stay(void **state)
{
	const struct expo_page *page = read_page(state, EXPO_TEXT, "a 1\nb 2\n# TYPE c gauge\nc x\n\n# d\nd 4\ne 5");

	assert_string_equal(samples_of(state, page), "a 1\nb 2\n");
	assert_int_equal(page->error.line, 4);
	assert_int_equal(page->dropped_lines, 3);
	assert_string_equal(page->error.excerpt, "c x");
	assert_int_equal(page->error.excerpt_column, 3);
	assert_int_equal(page->family_count, 1);
}

static void test_metadata(void **state)
{
	const struct expo_page *page = read_page(state, EXPO_TEXT,
		"# HELP a one \\\\ two \\n three \\\" four\n#\tTYPE\ta\tcounter\n# UNIT a s\n# HELP b\n# TYPE c untyped\na 1\nb 2\nd 3\n");

	assert_string_equal(page->error.message, "");
	assert_int_equal(page->family_count, 3);
	assert_true(str_is(page->families[0].help, "one \\ two \n three \\\" four"));
	assert_int_equal(page->families[0].type, METRIC_COUNTER);
	assert_null(page->families[0].unit.ptr);
	assert_non_null(page->families[1].help.ptr);
	assert_int_equal(page->families[1].help.len, 0);
	assert_null(page->families[2].help.ptr);
	assert_int_equal(page->samples[0].series->type, METRIC_COUNTER);
	assert_int_equal(page->samples[2].series->type, METRIC_UNKNOWN);
	assert_true(str_is(page->samples[2].series->family, "d"));
	page = read_page(state, EXPO_OPENMETRICS, "# HELP a_s x \\\" y\n# TYPE a_s info\n# UNIT a_s s\n# EOF\n");
	assert_true(str_is(page->families[0].help, "x \" y"));
	assert_true(str_is(page->families[0].unit, "s"));
	assert_int_equal(page->families[0].type, METRIC_INFO);
}

static void test_metadata_errors(void **state)
{
	expect_error(state, EXPO_TEXT, "# TYPE a meh\n", 1, 10, "\"meh\" is no metric type");
	expect_error(state, EXPO_TEXT, "# TYPE a info\n", 1, 10, "is no metric type");
	expect_error(state, EXPO_TEXT, "# TYPE a\n", 1, 9, "is no metric type");
	expect_error(state, EXPO_TEXT, "# TYPE \n", 1, 8, "expected a metric's name");
	expect_error(state, EXPO_TEXT,
		"# HELP a b\xff"
		"c\n",
		1, 11, "not valid UTF-8");
	expect_error(state, EXPO_OPENMETRICS, "# TYPE a untyped\n# EOF\n", 1, 10, "is no metric type");
	expect_error(state, EXPO_OPENMETRICS, "# HELP a\n# EOF\n", 1, 9, "expected one blank");
	expect_error(state, EXPO_OPENMETRICS, "# UNIT a_sx s\n# EOF\n", 1, 13, "is not the last part");
	expect_error(state, EXPO_OPENMETRICS, "# UNIT as s\n# EOF\n", 1, 11, "is not the last part");
}

static void expect_family(const struct expo_sample *sample, const char *family, enum metric_type type)
{
	assert_true(str_is(sample->series->family, family));
	assert_int_equal(sample->series->type, type);
}

static void test_families(void **state)
{
	const struct expo_page *page = read_page(state, EXPO_TEXT,
		"early_bucket 0\n"
		"# TYPE vllm:iteration_tokens_total histogram\n"
		"vllm:iteration_tokens_total_bucket{le=\"1\"} 1\n"
		"vllm:iteration_tokens_total_created 2\n"
		"vllm:iteration_tokens_total 3\n"
		"# TYPE h histogram\n# TYPE h_count gauge\n"
		"h_count 4\nh_sum 5\nh_total 6\n"
		"# TYPE early histogram\n"
		"# HELP only_help x\nonly_help_total 7\n");

	assert_string_equal(page->error.message, "");
	expect_family(&page->samples[0], "early_bucket", METRIC_UNKNOWN);
	expect_family(&page->samples[1], "vllm:iteration_tokens_total", METRIC_HISTOGRAM);
	expect_family(&page->samples[2], "vllm:iteration_tokens_total", METRIC_HISTOGRAM);
	expect_family(&page->samples[3], "vllm:iteration_tokens_total", METRIC_HISTOGRAM);
	expect_family(&page->samples[4], "h_count", METRIC_GAUGE);
	expect_family(&page->samples[5], "h", METRIC_HISTOGRAM);
	expect_family(&page->samples[6], "h_total", METRIC_UNKNOWN);
	expect_family(&page->samples[7], "only_help_total", METRIC_UNKNOWN);
	page = read_page(state, EXPO_OPENMETRICS,
		"# TYPE c counter\nc_total 1\nc_created 2\n# TYPE g gaugehistogram\ng_bucket{le=\"1\"} 3\ng_gsum 4\n"
		"# TYPE i info\ni_info 1\n# TYPE s summary\ns{quantile=\"1\"} 1\ns_count 1\n# EOF\n");
	assert_string_equal(page->error.message, "");
	expect_family(&page->samples[0], "c", METRIC_COUNTER);
	expect_family(&page->samples[1], "c", METRIC_COUNTER);
	expect_family(&page->samples[2], "g", METRIC_GAUGE_HISTOGRAM);
	expect_family(&page->samples[3], "g", METRIC_GAUGE_HISTOGRAM);
	expect_family(&page->samples[4], "i", METRIC_INFO);
	expect_family(&page->samples[5], "s", METRIC_SUMMARY);
	expect_family(&page->samples[6], "s", METRIC_SUMMARY);
}

static void test_bounds(void **state)
{
	static const struct {
		const char *exposed, *normal;
	} bounds[] = {
		{ "1", "1.0" },
		{ "1.0", "1.0" },
		{ "1e0", "1.0" },
		{ "0.25", "0.25" },
		{ "0", "0.0" },
		{ "-0", "0.0" },
		{ "-1", "-1.0" },
		{ "131072", "131072.0" },
		{ "1000000", "1e+06" },
		{ "1048576.0", "1.048576e+06" },
		{ "2.5e7", "2.5e+07" },
		{ "0.0001", "0.0001" },
		{ "0.00001", "1e-05" },
		{ "0.000025", "2.5e-05" },
		{ "1e-7", "1e-07" },
		{ "1e22", "1e+22" },
		{ "1.5e300", "1.5e+300" },
		{ "+INF", "+Inf" },
		{ "-inf", "-Inf" },
		{ "nan", "NaN" },
		{ "0x1", "0x1" },
		{ "many", "many" },
	};

	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
		char body[200];

		snprintf(body, sizeof body, "# TYPE a histogram\na_bucket{le=\"%s\",quantile=\"1\"} 1\n", bounds[i].exposed);
		const struct expo_page *page = read_page(state, EXPO_TEXT, body);

		assert_true(str_is(labels_get(page->samples[0].series->labels, STR("le")), bounds[i].normal));
		assert_true(str_is(labels_get(page->samples[0].series->labels, STR("quantile")), "1"));
		expo_reader_reset(((struct fixture *)*state)->reader);
	}
	expect(state, EXPO_TEXT, "# TYPE s summary\ns{quantile=\"1\",le=\"1\"} 1\nu_bucket{le=\"1\"} 1\n",
		"s{le=\"1\",quantile=\"1.0\"} 1\nu_bucket{le=\"1\"} 1\n");
	/* One bound in two spellings is one series. */
	const struct expo_page *page = read_page(state, EXPO_TEXT, "# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"1.0\"} 2\n");

	assert_int_equal(page->sample_count, 1);
	assert_int_equal(page->duplicates, 1);
	assert_true(str_is(page->first_duplicate, "a_bucket{le=\"1.0\"}"));
}

static void test_duplicates(void **state)
{
	const struct expo_page *page = read_page(
		state, EXPO_TEXT, "a{b=\"c\",d=\"e\"} 1\na{d=\"e\",b=\"c\"} 2\na{d=\"e\",b=\"c\"} 3 1000\na 4 1\na 5 2\na 6\na 7\n");

	assert_int_equal(page->duplicates, 2);
	assert_true(str_is(page->first_duplicate, "a{d=\"e\",b=\"c\"}"));
	assert_string_equal(samples_of(state, page), "a{b=\"c\",d=\"e\"} 1\na{b=\"c\",d=\"e\"} 3 @1000\na 4 @1\na 5 @2\na 6\n");
	page = read_page(state, EXPO_TEXT, "a 1\n");
	assert_int_equal(page->duplicates, 0);
	assert_null(page->first_duplicate.ptr);
}

static void test_exemplars(void **state)
{
	const struct expo_page *page = read_page(state, EXPO_OPENMETRICS,
		"# TYPE a counter\na_total 1 # {trace_id=\"x\\n\"} 0.5 1.5\na_total{b=\"c\"} 2 3 # {} 0.25\n# EOF\n");

	assert_string_equal(page->error.message, "");
	assert_int_equal(page->exemplar_count, 2);
	assert_int_equal(page->exemplars[0].sample, 0);
	assert_true(page->exemplars[0].value == 0.5);
	assert_int_equal(page->exemplars[0].t_ms, 1500);
	assert_true(str_is(labels_get(page->exemplars[0].labels, STR("trace_id")), "x\n"));
	assert_int_equal(page->exemplars[1].sample, 1);
	assert_true(page->exemplars[1].t_ms == EXPO_NO_TIME);
	assert_int_equal(page->samples[1].t_ms, 3000);
	expect_error(state, EXPO_OPENMETRICS, "a 1 # {a=\"b\"} 1\n# EOF\n", 1, 4, "..._total or ..._bucket");
	expect_error(state, EXPO_OPENMETRICS, "a_total 1 # {} 0x1\n# EOF\n", 1, 16, "the exemplar's value");
	expect_error(state, EXPO_OPENMETRICS, "a_total 1 # {\"a\"} 1\n# EOF\n", 1, 17, "expected '='");
	expect_error(state, EXPO_OPENMETRICS, "a_total 1 # {} 1 Inf\n# EOF\n", 1, 18, "not a number of seconds");
	expect_error(state, EXPO_OPENMETRICS, "a_total 1 # {} 1 \n# EOF\n", 1, 18, "not a number of seconds");
}

static void test_line_numbers(void **state)
{
	const struct expo_page *page = read_page(state, EXPO_TEXT, "# TYPE a gauge\n\na 1\na{b=\"c\nd\"} 2\nb 3\n#\nc 4");

	assert_int_equal(page->sample_count, 4);
	assert_int_equal(page->samples[0].line, 3);
	assert_int_equal(page->samples[1].line, 4);
	assert_int_equal(page->samples[2].line, 6);
	assert_int_equal(page->samples[3].line, 8);
}

static void test_many_labels(void **state)
{
	struct buf *body = &((struct fixture *)*state)->out;

	buf_reset(body);
	buf_add_cstr(body, "a{");
	for (int i = 0; i < 255; i++)
		buf_printf(body, "l%d=\"x\",", i);
	size_t most = body->len;

	buf_add_cstr(body, "} 1\n");
	const struct expo_page *page = expo_read(((struct fixture *)*state)->reader, STR("page"), buf_str(body), EXPO_TEXT);

	assert_false(page->error.set);
	assert_int_equal(page->samples[0].series->labels->count, 256);
	body->len = most;
	buf_add_cstr(body, "m=\"x\"} 1\n");
	page = expo_read(((struct fixture *)*state)->reader, STR("page"), buf_str(body), EXPO_TEXT);
	assert_string_equal(page->error.message, "more than 256 labels");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_format_of),
		TEST(test_text),
		TEST(test_values),
		TEST(test_openmetrics),
		TEST(test_quoted_names),
		TEST(test_label_errors),
		TEST(test_line_errors),
		TEST(test_wrong_pages),
		TEST(test_lines_before_an_error_stay),
		TEST(test_metadata),
		TEST(test_metadata_errors),
		TEST(test_families),
		TEST(test_bounds),
		TEST(test_duplicates),
		TEST(test_exemplars),
		TEST(test_line_numbers),
		TEST(test_many_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
