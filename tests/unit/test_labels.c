#include "model/labels.h"

#include "base/mem.h"
#include "base/vec.h"
#include "model/matcher.h"
#include "model/series.h"

#include "unit.h"

#include <stdio.h>

static struct labels *made(const char *const *pairs, size_t count)
{
	VEC(struct label) list = { 0 };

	for (size_t i = 0; i < count; i += 2)
		VEC_PUSH(&list, (struct label){ str_from(pairs[i]), str_from(pairs[i + 1]) });
	struct labels *l = labels_new(list.items, list.count);

	VEC_FREE(&list);
	return l;
}
#define MADE(...) made((const char *const[]){ __VA_ARGS__ }, ARRAY_LEN(((const char *const[]){ __VA_ARGS__ })))

static void assert_prints(const struct labels *l, const char *expected)
{
	struct buf out;

	buf_init(&out, 1 << 20);
	labels_print(l, &out);
	assert_string_equal(buf_cstr(&out), expected);
	buf_fini(&out);
}

static void sorted_and_settled(void **state)
{
	struct labels *l = MADE("b", "2", "__name__", "up", "a", "1", "gone", "", "b", "3", "lost", "x", "lost", "");

	assert_int_equal(l->count, 3);
	assert_prints(l, "up{a=\"1\",b=\"3\"}");
	assert_str(labels_name(l), "up");
	assert_str(labels_get(l, STR("b")), "3");
	assert_null(labels_get(l, STR("gone")).ptr);
	assert_null(labels_get(l, STR("zzz")).ptr);
	for (uint32_t i = 0; i < l->count; i++) {
		assert_int_equal(l->items[i].name.ptr[l->items[i].name.len], '\0');
		assert_int_equal(l->items[i].value.ptr[l->items[i].value.len], '\0');
	}
	labels_unref(l);
}

static void many_labels(void **state)
{
	struct label pairs[300];
	char names[150][8], values[300][8];

	/* Every name twice, unsorted: the later one wins on the large path, too. */
	for (size_t i = 0; i < 150; i++)
		snprintf(names[i], sizeof names[i], "n%03d", (int)(i * 7 % 150));
	for (size_t i = 0; i < 300; i++) {
		snprintf(values[i], sizeof values[i], "v%d", (int)i);
		pairs[i] = (struct label){ str_from(names[i % 150]), str_from(values[i]) };
	}
	struct labels *l = labels_new(pairs, 300);

	assert_int_equal(l->count, 150);
	for (size_t i = 0; i < 150; i++)
		assert_str(labels_get(l, str_from(names[i])), values[i + 150]);
	for (uint32_t i = 1; i < l->count; i++)
		assert_true(str_cmp(l->items[i - 1].name, l->items[i].name) < 0);
	labels_unref(l);
}

static void equality_and_order(void **state)
{
	struct labels *a = MADE("x", "1", "y", "2"), *b = MADE("y", "2", "x", "1"), *c = MADE("x", "1", "y", "3"), *d = MADE("x", "1");
	struct labels *split = MADE("x", "1y", "z", "2"), *other = MADE("x", "1", "yz", "2");

	assert_true(labels_eq(a, b) && a->hash == b->hash);
	assert_int_equal(labels_cmp(a, b), 0);
	assert_false(labels_eq(a, c));
	assert_true(labels_cmp(a, c) < 0 && labels_cmp(c, a) > 0);
	assert_true(labels_cmp(d, a) < 0 && labels_cmp(a, d) > 0);
	assert_false(labels_eq(split, other));
	assert_true(split->hash != other->hash);
	assert_ptr_equal(labels_ref(a), a);
	labels_unref(a);
	assert_str(labels_get(a, STR("x")), "1");
	labels_unref(a);
	labels_unref(b);
	labels_unref(c);
	labels_unref(d);
	labels_unref(split);
	labels_unref(other);
	labels_unref(NULL);
}

static void printing(void **state)
{
	static const struct {
		const char *pairs[4];
		const char *text;
	} cases[] = {
		{ { "__name__", "up", "a", "" }, "up" },
		{ { "a", "x", "b", "y" }, "{a=\"x\",b=\"y\"}" },
		{ { "__name__", "vllm:x", "a", "q\"\\\n\t\x1b" }, "vllm:x{a=\"q\\\"\\\\\\n\\t\\x1b\"}" },
		{ { "__name__", "my.metric", "a b", "c" }, "{\"my.metric\",\"a b\"=\"c\"}" },
		{ { "__name__", "my.metric", "a", "" }, "{\"my.metric\"}" },
		{ { "a:b", "1", "0x", "2" }, "{\"0x\"=\"2\",\"a:b\"=\"1\"}" },
		{ { "__name__", "", "a", "" }, "{}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct labels *l = made(cases[i].pairs, 4);

		assert_prints(l, cases[i].text);
		labels_unref(l);
	}
	assert_true(label_name_is_classic(STR("a:b"), true));
	assert_false(label_name_is_classic(STR("a:b"), false));
	assert_false(label_name_is_classic(STR(""), true));
	assert_false(label_name_is_classic(STR("1a"), true));
}

static void building(void **state)
{
	struct labels *from = MADE("__name__", "up", "a", "1", "b", "2");
	struct labels_builder b;
	char names[70][8];

	labels_builder_init(&b, from);
	labels_builder_set(&b, STR("c"), STR("3"));
	labels_builder_set(&b, STR("a"), STR("9"));
	labels_builder_set(&b, STR("b"), STR(""));
	labels_builder_remove(&b, STR("absent"));
	assert_str(labels_builder_get(&b, STR("a")), "9");
	assert_null(labels_builder_get(&b, STR("b")).ptr);
	struct labels *l = labels_builder_build(&b);

	assert_prints(l, "up{a=\"9\",c=\"3\"}");
	labels_unref(l);
	labels_unref(from);
	labels_builder_init(&b, NULL);
	for (size_t i = 0; i < 65; i++) {
		assert_false(b.overflowed);
		snprintf(names[i], sizeof names[i], "l%d", (int)i);
		labels_builder_set(&b, str_from(names[i]), STR("x"));
	}
	assert_true(b.overflowed);
}

static void matching(void **state)
{
	struct labels *l = MADE("__name__", "up", "job", "vllm");
	struct error e = { 0 };
	struct matcher m[4];

	assert_true(matcher_init(&m[0], LABEL_NAME, MATCH_EQ, STR("up"), &e));
	assert_true(matcher_init(&m[1], STR("job"), MATCH_RE, STR("v.*|x"), &e));
	assert_true(matcher_init(&m[2], STR("absent"), MATCH_EQ, STR(""), &e));
	assert_true(matcher_init(&m[3], STR("absent"), MATCH_NRE, STR(".+"), &e));
	for (size_t i = 0; i < 4; i++)
		assert_true(matcher_matches(&m[i], labels_get(l, m[i].name)));
	assert_false(matcher_matches(&m[0], STR("down")));
	assert_false(matcher_matches(&m[3], STR("here")));
	struct matcher ne;

	assert_true(matcher_init(&ne, STR("absent"), MATCH_NE, STR(""), &e));
	assert_false(matcher_matches(&ne, labels_get(l, ne.name))); /* absent is empty */
	assert_string_equal(match_op_text(m[0].op), "=");
	assert_string_equal(match_op_text(m[1].op), "=~");
	assert_string_equal(match_op_text(m[3].op), "!~");
	assert_string_equal(match_op_text(ne.op), "!=");
	for (size_t i = 0; i < 4; i++)
		matcher_fini(&m[i]);
	assert_false(matcher_init(&m[0], STR("a"), MATCH_RE, STR("("), &e));
	assert_true(e.set);
	matcher_fini(&m[0]);
	labels_unref(l);
}

static void type_names(void **state)
{
	assert_string_equal(metric_type_name(METRIC_GAUGE_HISTOGRAM), "gaugehistogram");
	assert_string_equal(metric_type_name(METRIC_UNKNOWN), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorted_and_settled),
		cmocka_unit_test(many_labels),
		cmocka_unit_test(equality_and_order),
		cmocka_unit_test(printing),
		cmocka_unit_test(building),
		cmocka_unit_test(matching),
		cmocka_unit_test(type_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
