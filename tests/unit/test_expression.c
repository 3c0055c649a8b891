#include "catalog/expression.h"

#include "base/buf.h"
#include "catalog/catalog.h"

#include "unit.h"

#include <stdlib.h>

static const char catalogue[] = "metrics:\n"
				"- {id: running, type: gauge}\n"
				"- {id: kv_usage, type: gauge}\n"
				"- {id: finished, type: counter}\n"
				"- {id: ttft, type: histogram}\n"
				"- {id: cache_config, type: info}\n"
				"signals:\n"
				"- {id: waiting, expr: level(running)}\n"
				"- {id: done, expr: count(finished)}\n"
				"- {id: ttft_p99, expr: \"quantile(0.99, ttft)\"}\n";

static struct catalog catalog;
static struct arena arena;

static int setup(void **state)
{
	struct error e = { 0 };

	arena_init(&arena);
	if (catalog_init_text(&catalog, false, STR("test"), str_from(catalogue), &e))
		return 0;
	error_print(&e, stderr);
	return -1;
}

static int teardown(void **state)
{
	catalog_fini(&catalog);
	arena_fini(&arena);
	return 0;
}

static struct expression *parse(const char *text, struct error *e)
{
	*e = (struct error){ 0 };
	return expression_parse(&arena, &catalog, STR("signals.yaml"), 10, 5, str_from(text), e);
}

static void assert_prints(const char *text, const char *expected)
{
	struct error e;
	struct buf out;
	struct expression *x = parse(text, &e);

	if (!x)
		fail_msg("%s: %d: %s", text, e.column, e.message);
	buf_init(&out, 1000);
	expression_print(x, &out);
	assert_string_equal(buf_cstr(&out), expected);
	buf_fini(&out);
}

static void assert_refused(const char *text, int offset, const char *message, const char *hint)
{
	struct error e;

	assert_null(parse(text, &e));
	assert_true(e.set);
	assert_non_null(strstr(e.message, message) ? e.message : NULL);
	assert_int_equal(e.line, 10);
	assert_int_equal(e.column, 5 + offset);
	assert_int_equal(e.excerpt_column, offset + 1);
	assert_string_equal(e.hint, hint);
}

static void canonical_text(void **state)
{
	static const char *const texts[][2] = {
		{ "waiting", "waiting" },
		{ "1+2*3", "1 + 2 * 3" },
		{ "(1+2)*3", "(1 + 2) * 3" },
		{ "1-(2-3)-4", "1 - (2 - 3) - 4" },
		{ "8/(4/2)/2", "8 / (4 / 2) / 2" },
		{ "-(1 + 2)", "-(1 + 2)" },
		{ "--1", "--1" },
		{ "- waiting * 2", "-waiting * 2" },
		{ "waiting > 0 and (done<1 or not done==2)", "waiting > 0 and (done < 1 or not done == 2)" },
		{ "waiting > 0 and done<1 or done != 2", "waiting > 0 and done < 1 or done != 2" },
		{ "not not waiting>=1e3", "not not waiting >= 1000" },
		{ "quantile(.99,ttft)", "quantile(0.99, ttft)" },
		{ "share_above(ttft , -0.5)", "share_above(ttft, -0.5)" },
		{ "count(finished{finished_reason='stop|length', model=\"a'b\"})",
			"count(finished{finished_reason=\"stop|length\", model=\"a'b\"})" },
		{ "count(finished{a='x\"y'})", "count(finished{a='x\"y'})" },
		{ "info(cache_config, block_size)", "info(cache_config, block_size)" },
		{ "level_weighted(kv_usage, running)", "level_weighted(kv_usage, running)" },
		{ "series(ttft) + rate(ttft)", "series(ttft) + rate(ttft)" },
		{ "before(ttft_p99) / 2", "before(ttft_p99) / 2" },
		{ "min(1, 2, max(3, done))", "min(min(1, 2), max(3, done))" },
		{ "first(done, waiting, 0)", "first(first(done, waiting), 0)" },
		{ "known(done) and at_least(1) < alpha(2.5, 3)", "known(done) and at_least(1) < alpha(2.5, 3)" },
		{ "floor(at_most(done))", "floor(at_most(done))" },
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_prints(texts[i][0], texts[i][1]);
		assert_prints(texts[i][1], texts[i][1]);
	}
}

static void tree(void **state)
{
	struct error e;
	struct expression *x = parse("waiting + count(finished{r=\"stop\"}) > quantile(0.5, ttft)", &e);

	assert_non_null(x);
	assert_int_equal(x->kind, EXPRESSION_GREATER);
	assert_true(expression_is_condition(x));
	assert_int_equal(x->offset, 36);
	assert_int_equal(x->left->kind, EXPRESSION_ADD);
	assert_ptr_equal(x->left->left->signal, catalog_signal(&catalog, "waiting"));
	const struct expression *count = x->left->right;

	assert_int_equal(count->primitive, PRIMITIVE_COUNT);
	assert_ptr_equal(count->metric, catalog_metric(&catalog, "finished"));
	assert_int_equal(count->condition_count, 1);
	assert_str(count->conditions[0].label, "r");
	assert_str(count->conditions[0].values, "stop");
	assert_int_equal(x->right->primitive, PRIMITIVE_QUANTILE);
	assert_true(x->right->number == 0.5);
	assert_false(expression_is_condition(x->right));
}

static void syntax_errors(void **state)
{
	assert_refused("", 0, "ends where a signal", "");
	assert_refused("1 +", 3, "ends where", "");
	assert_refused("(1", 2, "ends where \")\"", "");
	assert_refused("1 2", 2, "expected an operator, found \"2\"", "");
	assert_refused("1 < 2 < 3", 6, "comparisons do not chain", "");
	assert_refused("done ? 1", 5, "means nothing here", "");
	assert_refused("1s", 0, "no number", "");
	assert_refused("count(finished{a=1})", 17, "expected a text in quotes", "");
	assert_refused("count(finished{a=\"b})", 17, "no closing quote", "");
	assert_refused("count(finished{=\"b\"})", 15, "expected a label name", "");
	assert_refused("count(finished{a=\"(\"})", 17, "is no regular expression", "");
	assert_refused("quantile(ttft, 0.9)", 9, "expected a number", "");
	assert_refused("quantile(99, ttft)", 9, "between 0 and 1", "");
	assert_refused("min(1)", 5, "expected \",\" and another argument", "");
	assert_refused("alpha(1, 2, 3)", 10, "expected \")\"", "");
	assert_refused("known(1, 2)", 7, "expected \")\"", "");
}

static void name_errors(void **state)
{
	assert_refused("1 + wating", 4, "no signal is called \"wating\"", "did you mean \"waiting\"?");
	assert_refused("1 + zzzzzz", 4, "no signal is called", "");
	assert_refused("level(runing)", 6, "no metric is called \"runing\"", "did you mean \"running\"?");
	assert_refused("quantil(0.5, ttft)", 0, "no function is called \"quantil\"", "did you mean \"quantile\"?");
	assert_refused("kv_usage > 1", 0, "is a metric, not a signal", "say what is asked of it, such as level(kv_usage)");
	assert_refused("level(waiting)", 6, "is a signal; level() takes a metric", "");
	assert_refused("before(1 + done)", 9, "takes the name of a signal", "");
}

static void type_errors(void **state)
{
	assert_refused("quantile(0.5, running)", 14, "quantile() takes a histogram; running is of type gauge", "");
	assert_refused("rate(running)", 5, "takes a counter or histogram", "");
	assert_refused("info(running, block_size)", 5, "takes an info metric", "");
	assert_refused("1 and done > 1", 0, "expected a condition", "");
	assert_refused("done > 1 and 1", 13, "expected a condition", "");
	assert_refused("1 + (done > 1)", 10, "expected a number; this is a condition", "");
	assert_refused("not done", 4, "expected a condition", "");
	assert_refused("-(done > 1)", 7, "expected a number", "");
	assert_refused("known(known(done))", 6, "expected a number", "");
	assert_refused("(done > 1) < 2", 6, "expected a number", "");
}

/* Texts that are too deep or too long are refused, however they nest. */
static void limits(void **state)
{
	static const char *const openings[] = { "(", "-", "not ", "min(1, ", "known(" };

	for (size_t i = 0; i < ARRAY_LEN(openings); i++) {
		struct buf text;
		struct error e;

		buf_init(&text, 1 << 20);
		for (int n = 0; n < 10000; n++)
			buf_add_cstr(&text, openings[i]);
		assert_null(parse(buf_cstr(&text), &e));
		assert_non_null(strstr(e.message, "nested more than"));
		buf_fini(&text);
	}
	struct buf text;
	struct error e;

	buf_init(&text, 1 << 20);
	buf_add_c(&text, '1');
	for (int n = 0; n < 10000; n++)
		buf_add_cstr(&text, "+1");
	assert_null(parse(buf_cstr(&text), &e));
	assert_non_null(strstr(e.message, "more than 200 parts"));
	buf_fini(&text);
}

/* A folded text: the line where it starts is all that is known of its place. */
static void text_of_several_lines(void **state)
{
	struct error e;

	assert_null(parse("1 +\n  nope", &e));
	assert_int_equal(e.line, 11);
	assert_int_equal(e.column, 0);
	assert_string_equal(e.excerpt, "  nope");
	assert_int_equal(e.excerpt_column, 3);
}

static void every_primitive_has_a_name(void **state)
{
	for (int p = PRIMITIVE_LEVEL; p <= PRIMITIVE_SERIES; p++)
		assert_string_not_equal(primitive_name((enum primitive)p), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(canonical_text),
		cmocka_unit_test(tree),
		cmocka_unit_test(syntax_errors),
		cmocka_unit_test(name_errors),
		cmocka_unit_test(type_errors),
		cmocka_unit_test(limits),
		cmocka_unit_test(text_of_several_lines),
		cmocka_unit_test(every_primitive_has_a_name),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
