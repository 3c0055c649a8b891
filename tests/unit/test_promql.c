/* PromQL: errors and their places, printing, evaluation with the default options, limits. What Prometheus's own files test is in
 * tests/run-promql. */
#include "base/buf.h"
#include "base/number.h"
#include "promql/promql.h"
#include "store/store.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct fixture {
	struct arena arena;
	struct store *store;
	struct backend *backend;
	struct promql_options options;
	struct promql_value value;
	struct error error;
};

static int setup(void **state)
{
	static struct fixture f;
	arena_init(&f.arena);
	f.store = store_new();
	f.backend = backend_embedded_new(f.store);
	f.options = promql_defaults;
	f.error = (struct error){ 0 };
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	backend_free(f->backend);
	store_free(f->store);
	arena_fini(&f->arena);
	return 0;
}

/* Samples every `step` ms from 0. */
static void load(
	struct fixture *f, const char *name, const char *label, const char *value, int64_t step, size_t count, const double *values)
{
	struct sink *sink = store_sink(f->store);
	struct label pairs[] = { { LABEL_NAME, str_from(name) }, { str_from(label), str_from(value) } };
	struct labels *labels = labels_new(pairs, 2);
	struct series *series = sink->ops->series(sink, labels, METRIC_UNKNOWN);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sink->ops->append(sink, series, (int64_t)i * step, values[i]), APPEND_OK);
	labels_unref(labels);
}

static bool instant(struct fixture *f, const char *query, int64_t t_ms)
{
	struct promql_node *node = promql_parse(&f->arena, str_from(query), &f->options, &f->error);
	return node && promql_instant(f->backend, &f->arena, node, &f->options, t_ms, &f->value, &f->error);
}

static bool range(struct fixture *f, const char *query, int64_t start_ms, int64_t end_ms, int64_t step_ms)
{
	struct promql_node *node = promql_parse(&f->arena, str_from(query), &f->options, &f->error);
	return node && promql_range(f->backend, &f->arena, node, &f->options, start_ms, end_ms, step_ms, &f->value, &f->error);
}

/* "{a="b"} 1, {} 2": what an instant query gave. */
static const char *instant_text(struct fixture *f, const char *query, int64_t t_ms)
{
	struct buf text;
	if (!instant(f, query, t_ms))
		return f->error.message;
	buf_init(&text, 1 << 16);
	if (f->value.type == PROMQL_SCALAR)
		buf_add_double(&text, f->value.scalar);
	for (size_t i = 0; f->value.type == PROMQL_VECTOR && i < f->value.count; i++) {
		buf_add_cstr(&text, i ? ", " : "");
		labels_print(f->value.elements[i].labels, &text);
		buf_add_c(&text, ' ');
		buf_add_double(&text, f->value.elements[i].value);
	}
	const char *copy = arena_cstr(&f->arena, buf_str(&text));
	buf_fini(&text);
	return copy;
}

/* ---- parsing ---- */

static void test_parse_errors(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *query;
		int line, column;
		const char *message;
	} cases[] = {
		{ "", 1, 1, "no expression found in input" },
		{ "# only this", 1, 1, "no expression found in input" },
		{ "sum(", 1, 5, "unclosed left parenthesis" },
		{ "(1))", 1, 5, "unexpected right parenthesis ')'" },
		{ "1+", 1, 3, "unexpected end of input" },
		{ "1 +\n *2", 2, 2, "unexpected <op:*>" },
		{ "*1", 1, 1, "unexpected <op:*>" },
		{ "2.5.", 1, 4, "unexpected character: '.'" },
		{ "100..4", 1, 5, "unexpected number \".4\"" },
		{ "0deadbeef", 1, 1, "bad number or duration syntax: \"0de\"" },
		{ "1 == 1", 1, 3, "comparisons between scalars must use BOOL modifier" },
		{ "1 and 1", 1, 1, "set operator \"and\" not allowed in binary scalar expression" },
		{ "1 !~ 1", 1, 3, "unexpected character after '!': '~'" },
		{ "-\"text\"", 1, 1, "unary expression only allowed on expressions of type scalar or instant vector, got \"string\"" },
		{ "foo + bool bar", 1, 5, "bool modifier can only be used on comparison operators" },
		{ "foo == on(bar) 10", 1, 1, "vector matching only allowed between instant vectors" },
		{ "a and on(b) group_left(c) d", 1, 1, "no grouping allowed for \"and\" operation" },
		{ "a + on(x) group_left(x) b", 1, 3, "label \"x\" must not occur in ON and GROUP clause at once" },
		{ "foo + group_left(baz) bar", 1, 7, "unexpected <group_left>" },
		{ "some{", 1, 6, "unexpected end of input inside braces" },
		{ "some}", 1, 5, "unexpected character: '}'" },
		{ "some{a=b}", 1, 8, "unexpected identifier \"b\" in label matching, expected string" },
		{ "some{a:b=\"b\"}", 1, 7, "unexpected character inside braces: ':'" },
		{ "some{a=\"b\" c=\"d\"}", 1, 12, "unexpected identifier \"c\" in label matching, expected \",\" or \"}\"" },
		{ "{}", 1, 1, "vector selector must contain at least one non-empty matcher" },
		{ "{x=~\".*\"}", 1, 1, "vector selector must contain at least one non-empty matcher" },
		{ "foo{__name__=\"bar\"}", 1, 1, "metric name must not be set twice: \"foo\" or \"bar\"" },
		{ "foo[5mm]", 1, 5, "bad number or duration syntax: \"5mm\"" },
		{ "foo[1.5h]", 1, 5, "not a valid duration string: \"1.5h\"" },
		{ "a or foo[1h30h]", 1, 10, "not a valid duration string: \"1h30h\"" },
		{ "foo[0m]", 1, 5, "duration must be greater than 0" },
		{ "foo[5m", 1, 7, "unclosed left bracket" },
		{ "(foo + bar)[5m]", 1, 12, "ranges only allowed for vector selectors" },
		{ "foo offset 5m [5m]", 1, 15, "no offset modifiers allowed before range" },
		{ "foo @ 5 [5m]", 1, 9, "no @ modifiers allowed before range" },
		{ "foo offset 1s offset 2s", 1, 1, "offset may not be set multiple times" },
		{ "1 offset 1d", 1, 1,
			"offset modifier must be preceded by an instant vector selector or range vector selector or a subquery" },
		{ "foo @ bar", 1, 7, "unexpected identifier \"bar\" in @, expected timestamp" },
		{ "rate(foo)", 1, 6, "expected type range vector in call to function \"rate\", got instant vector" },
		{ "floor()", 1, 1, "expected 1 argument(s) in call to \"floor\", got 0" },
		{ "round(a, 1, 2)", 1, 1, "expected at most 2 argument(s) in call to \"round\", got 3" },
		{ "abs(a,)", 1, 6, "trailing commas not allowed in function call args" },
		{ "nosuch(x)", 1, 1, "unknown function with name \"nosuch\"" },
		{ "sum()", 1, 1, "no arguments for aggregate expression provided" },
		{ "topk(x)", 1, 1, "wrong number of arguments for aggregate expression provided, expected 2, got 1" },
		{ "topk(x, y)", 1, 6, "expected type scalar in aggregation parameter, got instant vector" },
		{ "sum without(==)(x)", 1, 13, "unexpected <op:==> in grouping opts, expected label" },
		{ "sum x by (y)", 1, 5, "unexpected identifier \"x\" in aggregation" },
		{ "\"open", 1, 1, "unterminated quoted string" },
		{ "'\\q'", 1, 1, "unknown escape sequence U+0071 'q'" },
		{ "foo{a=~\"(\"}", 1, 5, NULL },
		{ "foo{a=~\"(?=x)\"}", 1, 5, NULL },
		{ "mad_over_time(x[5m])", 1, 1, "function \"mad_over_time\" is not enabled" },
		{ "a </ b", 1, 3, "the histogram trim operators </ and >/ work on native histograms only, which are not supported" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char message[400];
		struct error e = { 0 };
		assert_null(promql_parse(&f->arena, str_from(cases[i].query), &f->options, &e));
		snprintf(message, sizeof message, "parse error: %s", cases[i].message ? cases[i].message : "");
		bool same = cases[i].message ? strcmp(e.message, message) == 0 : strncmp(e.message, message, strlen(message)) == 0;
		if (!same || e.line != cases[i].line || e.column != cases[i].column)
			fail_msg("%s: got %d:%d %s", cases[i].query, e.line, e.column, e.message);
		assert_true(!cases[i].query[0] || e.excerpt_column > 0);
	}
}

static void test_suggestion(void **state)
{
	struct fixture *f = *state;
	assert_null(promql_parse(&f->arena, STR("histogram_quantil(0.9, x)"), &f->options, &f->error));
	assert_string_equal(f->error.hint, "did you mean histogram_quantile()?");
	assert_null(promql_parse(&f->arena, STR("info(x)"), &f->options, &f->error));
	assert_string_equal(f->error.message, "parse error: function \"info\" of Prometheus 3.x is not supported");
	assert_null(promql_parse(&f->arena, STR("rate(x[5m] smoothed)"), &f->options, &f->error));
	assert_non_null(strstr(f->error.hint, "smoothed"));
}

static void test_nesting_is_limited(void **state)
{
	struct fixture *f = *state;
	static const char *const pieces[] = { "(", "-", "abs(", "1+", "a[1m:] or ", "2^", "a+on()", "sum(sum" };
	for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
		struct buf text;
		buf_init(&text, 1 << 22);
		for (int i = 0; i < 20000; i++)
			buf_add_cstr(&text, pieces[p]);
		buf_add_c(&text, '1');
		assert_null(promql_parse(&f->arena, buf_str(&text), &f->options, &f->error));
		buf_fini(&text);
	}
	struct buf text;
	buf_init(&text, 1 << 22);
	buf_add_cstr(&text, "x[");
	for (int i = 0; i < 300000; i++)
		buf_add_cstr(&text, "1^");
	buf_add_cstr(&text, "1]");
	assert_null(promql_parse(&f->arena, buf_str(&text), &f->options, &f->error));
	assert_non_null(strstr(f->error.message, "nested too deeply"));
	buf_fini(&text);
}

static void test_print(void **state)
{
	struct fixture *f = *state;
	static const char *const cases[][2] = {
		{ "sum(rate(x[5m]))by(le)", "sum by (le) (rate(x[5m]))" },
		{ "SUM without () (x)", "sum without () (x)" },
		{ "sum by () (x)", "sum(x)" },
		{ "a+on(b)group_left(c)d*2^-1", "a + on (b) group_left (c) d * 2 ^ -1" },
		{ "a > BOOL ignoring(x) b", "a > bool ignoring (x) b" },
		{ "x{a='1',b!=\"2\"}offset 1h30m@10", "x{a=\"1\",b!=\"2\"} @ 10.000 offset 1h30m" },
		{ "{\"my.metric\",\"a b\"=`c`}", "{__name__=\"my.metric\",\"a b\"=\"c\"}" },
		{ "x[300] offset -60", "x[5m] offset -1m" },
		{ "max_over_time((a)[1h:] @ end())", "max_over_time((a)[1h:] @ end())" },
		{ "x[ step( ) * 2 + 1m ]", "x[step() * 2 + 60]" },
		{ "x offset ( 1m+2 )", "x offset (60 + 2)" },
		{ "-x", "-x" },
		{ "- 1", "-1" },
		{ "+inf ^ x", "+Inf ^ x" },
		{ "inf ^ x", "Inf ^ x" },
		{ "0x1F + 010 + 1_000 + 5m", "31 + 8 + 1000 + 300" },
		{ "'a\\n\\u00e9\"'", "\"a\\n\xc3\xa9\\\"\"" },
		{ "sum", "sum" },
		{ "count{a=\"b\"}", "count{a=\"b\"}" },
		{ "offset offset 5m", "offset offset 5m" },
		{ "job:rate:sum", "job:rate:sum" },
		{ "topk(5,x)", "topk(5, x)" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf text;
		struct promql_node *node = promql_parse(&f->arena, str_from(cases[i][0]), &f->options, &f->error);
		if (!node)
			fail_msg("%s: %s", cases[i][0], f->error.message);
		buf_init(&text, 4096);
		promql_print(node, &text);
		assert_string_equal(buf_cstr(&text), cases[i][1]);
		assert_non_null(promql_parse(&f->arena, buf_str(&text), &f->options, &f->error));
		buf_fini(&text);
	}
}

static void test_node_types(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *query;
		enum promql_type type;
	} cases[] = { { "1", PROMQL_SCALAR }, { "\"a\"", PROMQL_STRING }, { "(x)", PROMQL_VECTOR }, { "x[5m]", PROMQL_MATRIX },
		{ "x[5m:]", PROMQL_MATRIX }, { "1 + scalar(x)", PROMQL_SCALAR }, { "1 + x", PROMQL_VECTOR } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(
			promql_node_type(promql_parse(&f->arena, str_from(cases[i].query), &f->options, &f->error)), cases[i].type);
}

/* ---- evaluation ---- */

static void test_numbers(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *query;
		double value;
	} cases[] = { { "-2^2", -4 }, { "2^3^2", 512 }, { "010", 8 }, { "089", 89 }, { "0x_ff", 255 }, { "5m", 300 }, { "1h30m + 1", 5401 },
		{ "7 % 4", 3 }, { "-7 % 4", -3 }, { "1 < bool 2", 1 }, { "3 atan2 4", 0.6435011087932844 }, { "10 - 2 - 3", 5 },
		{ "2 * 3 + 4", 10 }, { "-1 * 2 ^ 2", -4 }, { "+Inf - 1", INFINITY } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_true(instant(f, cases[i].query, 0));
		if (f->value.scalar != cases[i].value)
			fail_msg("%s: %g", cases[i].query, f->value.scalar);
	}
}

static void test_window_bounds(void **state)
{
	struct fixture *f = *state;
	const double values[] = { 1, 2, 3, 4, 5, 6, 7 };
	load(f, "x", "a", "b", 60000, 7, values);
	assert_string_equal(instant_text(f, "count_over_time(x[5m])", 360000), "{a=\"b\"} 5"); /* left-open */
	assert_string_equal(instant_text(f, "x", 360000 + 299999), "x{a=\"b\"} 7");
	assert_string_equal(instant_text(f, "x", 360000 + 300000), "");
	assert_string_equal(instant_text(f, "x offset 1m", 120000), "x{a=\"b\"} 2");
	assert_string_equal(instant_text(f, "x @ 60 offset -1m", 0), "x{a=\"b\"} 3");
	assert_string_equal(instant_text(f, "count_over_time(x[1m:1m])", 120000), "{a=\"b\"} 1");
}

static void test_stale_marker(void **state)
{
	struct fixture *f = *state;
	const double values[] = { 1, 2, number_stale(), 4 };
	load(f, "x", "a", "b", 10000, 4, values);
	assert_string_equal(instant_text(f, "x", 25000), "");
	assert_string_equal(instant_text(f, "sum_over_time(x[1m])", 30000), "{a=\"b\"} 7");
	assert_true(instant(f, "x[1m]", 30000));
	assert_int_equal(f->value.type, PROMQL_MATRIX);
	assert_int_equal(f->value.series[0].count, 3);
}

static void test_names_are_dropped_at_once(void **state)
{
	struct fixture *f = *state;
	const double values[] = { 1, 2, 3 };
	load(f, "m1", "a", "b", 10000, 3, values);
	load(f, "m2", "a", "b", 10000, 3, values);
	assert_string_equal(instant_text(f, "abs(m1)", 20000), "{a=\"b\"} 3");
	assert_string_equal(instant_text(f, "abs({a=\"b\"})", 20000), "vector cannot contain metrics with the same labelset");
	assert_string_equal(instant_text(f, "sum by (__name__) (rate(m1[1m]))", 20000), "{} 0.041666666666666664");
	assert_string_equal(instant_text(f, "m1 > 1", 20000), "m1{a=\"b\"} 3");
	assert_string_equal(instant_text(f, "m1 > bool 1", 20000), "{a=\"b\"} 1");
	assert_string_equal(instant_text(f, "m1 + m2", 20000), "{a=\"b\"} 6");
	assert_string_equal(instant_text(f, "-m1 or -m2", 20000), "{a=\"b\"} -3");
	assert_string_equal(instant_text(f, "label_replace(abs(m1), \"n\", \"$1\", \"__name__\", \"(.*)\")", 20000), "{a=\"b\"} 3");
	f->options.delayed_name_removal = true;
	assert_string_equal(
		instant_text(f, "label_replace(abs(m1), \"n\", \"$1\", \"__name__\", \"(.*)\")", 20000), "{a=\"b\",n=\"m1\"} 3");
}

static void test_rate_extrapolates(void **state)
{
	struct fixture *f = *state;
	const double values[] = { 0, 10, 20, 5, 15, 25 };
	load(f, "c_total", "a", "b", 15000, 6, values);
	assert_true(instant(f, "increase(c_total[1m])", 75000));
	/* Samples at 30, 45, 60, 75 s: 20, 5, 15, 25; the gain 25 with the reset over 45 s reaches back the 15 s to the start. */
	assert_true(fabs(f->value.elements[0].value - 25.0 * 60 / 45) < 1e-12);
	assert_int_equal(f->value.info_count, 0);
	load(f, "gauge", "a", "b", 15000, 6, values);
	assert_true(instant(f, "rate(gauge[1m])", 75000));
	assert_int_equal(f->value.info_count, 1);
	assert_string_equal(arena_cstr(&f->arena, f->value.infos[0]),
		"PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: \"gauge\" (1:6)");
}

static void test_range_is_the_instants(void **state)
{
	struct fixture *f = *state;
	static const char *const queries[] = { "x", "rate(x[1m])", "sum(x) by (a)", "x > 5", "x * on(a) x", "max_over_time(x[1m:10s])",
		"topk(1, x)", "absent(x{a=\"z\"})", "x @ 50", "predict_linear(x[1m] @ 60, 10)", "time()", "x or vector(1)", "stddev(x)",
		"quantile_over_time(0.3, x[1m])", "timestamp(x)", "changes(x[30s])" };
	double one[30], two[30];
	for (int i = 0; i < 30; i++) {
		one[i] = (i * 7) % 11;
		two[i] = i == 12 ? number_stale() : i * 1.5;
	}
	load(f, "x", "a", "one", 10000, 30, one);
	load(f, "x", "a", "two", 7000, 30, two);
	for (size_t q = 0; q < sizeof queries / sizeof *queries; q++) {
		assert_true(range(f, queries[q], 0, 300000, 13000));
		struct promql_value whole = f->value;
		size_t points = 0, found = 0;
		for (size_t s = 0; s < whole.count; s++)
			points += whole.series[s].count;
		for (int64_t t = 0; t <= 300000; t += 13000) {
			assert_true(instant(f, queries[q], t));
			size_t count = f->value.type == PROMQL_SCALAR ? 1 : f->value.count;
			for (size_t i = 0; i < count; i++)
				for (size_t s = 0; s < whole.count; s++)
					for (size_t k = 0; k < whole.series[s].count; k++) {
						bool scalar = f->value.type == PROMQL_SCALAR;
						double value = scalar ? f->value.scalar : f->value.elements[i].value;
						if (whole.series[s].t[k] == t &&
							(scalar || labels_eq(whole.series[s].labels, f->value.elements[i].labels)))
							found += number_bits(whole.series[s].v[k]) == number_bits(value);
					}
		}
		if (found != points)
			fail_msg("%s: %zu of %zu points", queries[q], found, points);
	}
}

static void test_matching_errors(void **state)
{
	struct fixture *f = *state;
	const double values[] = { 1 };
	load(f, "l", "a", "1", 1000, 1, values);
	load(f, "l", "a", "2", 1000, 1, values);
	load(f, "r", "b", "1", 1000, 1, values);
	load(f, "r", "b", "2", 1000, 1, values);
	load(f, "s", "c", "1", 1000, 1, values);
	assert_string_equal(instant_text(f, "l * on() r", 0), "found duplicate series for the match group {} on the right hand-side of the "
							      "operation: [r{b=\"2\"}, r{b=\"1\"}];many-to-many "
							      "matching not allowed: matching labels must be unique on one side");
	assert_string_equal(instant_text(f, "l * on() s", 0),
		"multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)");
	assert_string_equal(instant_text(f, "l * on() group_left(c) s", 0), "{a=\"1\",c=\"1\"} 1, {a=\"2\",c=\"1\"} 1");
	assert_string_equal(instant_text(f, "s - on() group_right() l", 0), "{a=\"1\"} 0, {a=\"2\"} 0");
	assert_string_equal(instant_text(f, "l == on() group_left() s", 0), "l{a=\"1\"} 1, l{a=\"2\"} 1");
	assert_string_equal(instant_text(f, "count_values(\"a\\xc5z\", l)", 0), "invalid label name \"a\\xc5z\"");
	assert_string_equal(instant_text(f, "topk(NaN, l)", 0), "Parameter value is NaN");
	assert_string_equal(instant_text(f, "clamp_min(vector(Inf), NaN)", 0), "{} +Inf");
}

static void test_limits(void **state)
{
	struct fixture *f = *state;
	double values[1000] = { 0 };
	load(f, "x", "a", "1", 1000, 1000, values);
	f->options.max_samples = 500;
	assert_false(instant(f, "sum_over_time(x[1h])", 999000));
	assert_string_equal(f->error.message, "query processing would load too many samples into memory in query execution");
	assert_false(range(f, "x", 0, 999000, 1000));
	assert_false(instant(f, "x[1h]", 999000));
	assert_true(instant(f, "sum_over_time(x[1m])", 999000));
	assert_false(instant(f, "count_over_time(vector(1)[9999d:1ms])", 999000));
	assert_false(range(f, "vector(1)", 0, INT64_C(1000000000000), 1));
	f->options.max_samples = 50000000;
	f->options.timeout_ms = 1;
	assert_false(instant(f, "sum_over_time(sum_over_time(sum_over_time(x[10m])[10m:1s])[10m:100ms])", 999000));
	assert_string_equal(f->error.message, "query timed out in expression evaluation");
}

static void test_range_arguments(void **state)
{
	struct fixture *f = *state;
	assert_false(range(f, "x[5m]", 0, 1, 1));
	assert_string_equal(f->error.message, "invalid expression type \"range vector\" for range query, must be Scalar or instant Vector");
	assert_false(range(f, "x", 0, 1, 0));
	assert_false(range(f, "x", 1, 0, 1));
	assert_false(range(f, "x", 0, INT64_MAX, 1));
	assert_false(range(f, "sum(nothing)", 0, INT64_C(4000000000000000000), 1));
	assert_string_equal(f->error.message, "the query has more than 50000000 steps: ask for a longer step or a shorter time");
}

static void test_backend(void **state)
{
	struct fixture *f = *state;
	const double values[] = { 1, 2 };
	struct str *names;
	size_t count;
	load(f, "x", "a", "1", 1000, 2, values);
	assert_true(f->backend->ops->query(f->backend, &f->arena, STR("x"), 1000, &f->value, &f->error));
	assert_int_equal(f->value.count, 1);
	assert_true(f->backend->ops->query_range(f->backend, &f->arena, STR("x"), 0, 1000, 500, &f->value, &f->error));
	assert_int_equal(f->value.series[0].count, 3);
	assert_true(f->backend->ops->label_values(f->backend, &f->arena, STR("a"), NULL, 0, 0, 1000, &names, &count, &f->error));
	assert_int_equal(count, 1);
	load(f, "x", "a", "2", 1000, 1, values);
	load(f, "y", "a", "1", 1000, 2, values);
	assert_true(f->backend->ops->label_values(f->backend, &f->arena, STR("a"), NULL, 0, 500, 1000, &names, &count, &f->error));
	assert_int_equal(count, 1);
	assert_true(str_is(names[0], "1"));
	assert_true(f->backend->ops->label_values(f->backend, &f->arena, STR("a"), NULL, 0, 0, 500, &names, &count, &f->error));
	assert_int_equal(count, 2);
	assert_false(f->backend->ops->query(f->backend, &f->arena, STR("x{"), 0, &f->value, &f->error));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = { TEST(test_parse_errors), TEST(test_suggestion), TEST(test_nesting_is_limited), TEST(test_print),
		TEST(test_node_types), TEST(test_numbers), TEST(test_window_bounds), TEST(test_stale_marker),
		TEST(test_names_are_dropped_at_once), TEST(test_rate_extrapolates), TEST(test_range_is_the_instants),
		TEST(test_matching_errors), TEST(test_limits), TEST(test_range_arguments), TEST(test_backend) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
