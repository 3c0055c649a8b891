/* The store: appending, lookups by matcher, windows. */
#include "base/clock.h"
#include "base/number.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct fixture {
	struct store *store;
	struct arena arena;
};

static int setup(void **state)
{
	static struct fixture f;
	f.store = store_new();
	arena_init(&f.arena);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	store_free(f->store);
	arena_fini(&f->arena);
	return 0;
}

static struct series *series_of(struct fixture *f, const char *name, const char *key, const char *value)
{
	struct label pairs[] = { { LABEL_NAME, str_from(name) }, { str_from(key), str_from(value) } };
	struct labels *labels = labels_new(pairs, 2);
	struct sink *sink = store_sink(f->store);
	struct series *series = sink->ops->series(sink, labels, METRIC_COUNTER);
	labels_unref(labels);
	return series;
}

static enum append_status append(struct fixture *f, struct series *series, int64_t t_ms, double value)
{
	struct sink *sink = store_sink(f->store);
	return sink->ops->append(sink, series, t_ms, value);
}

static size_t selected(struct fixture *f, enum match_op op, const char *name, const char *value, int64_t from_ms, int64_t to_ms,
	struct series_view **views)
{
	struct matcher m;
	struct error e;
	assert_true(matcher_init(&m, str_from(name), op, str_from(value), &e));
	size_t count;
	*views = store_select(f->store, &f->arena, &m, 1, from_ms, to_ms, &count);
	matcher_fini(&m);
	return count;
}

static void test_append_rules(void **state)
{
	struct fixture *f = *state;
	struct series *a = series_of(f, "up", "instance", "a");
	assert_int_equal(append(f, a, 1000, 1), APPEND_OK);
	assert_int_equal(append(f, a, 1000, 1), APPEND_SAME);
	assert_int_equal(append(f, a, 1000, 2), APPEND_DUPLICATE);
	assert_int_equal(append(f, a, 999, 2), APPEND_OUT_OF_ORDER);
	assert_int_equal(append(f, a, 2000, number_stale()), APPEND_OK);
	assert_int_equal(append(f, a, 2000, number_nan()), APPEND_DUPLICATE);
	assert_int_equal(store_sample_count(f->store), 2);
	struct series_view *v;
	assert_int_equal(selected(f, MATCH_EQ, "instance", "a", 0, 5000, &v), 1);
	assert_int_equal(v[0].count, 2);
	assert_true(number_is_stale(v[0].v[1]));
}

static void test_negative_times(void **state)
{
	struct fixture *f = *state;
	struct series *a = series_of(f, "up", "instance", "a");
	assert_int_equal(append(f, a, INT64_MIN, 1), APPEND_OK);
	assert_int_equal(append(f, a, -5, 1), APPEND_OK);
	int64_t oldest, newest;
	assert_true(store_bounds(f->store, &oldest, &newest));
	assert_true(oldest == INT64_MIN && newest == -5);
}

static void test_same_labels_same_series(void **state)
{
	struct fixture *f = *state;
	char name[16];
	struct series *all[2000];
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "i%d", i);
		all[i] = series_of(f, "m", "instance", name);
	}
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "i%d", i);
		assert_ptr_equal(series_of(f, "m", "instance", name), all[i]);
	}
	assert_int_equal(store_series_count(f->store), 2000);
}

static void test_window_is_inclusive_and_cut(void **state)
{
	struct fixture *f = *state;
	struct series *a = series_of(f, "m", "instance", "a");
	for (int i = 0; i < 1000; i++)
		append(f, a, i * 10, i);
	struct series_view *v;
	assert_int_equal(selected(f, MATCH_EQ, "__name__", "m", 100, 200, &v), 1);
	assert_int_equal(v[0].count, 11);
	assert_int_equal(v[0].t[0], 100);
	assert_true(v[0].v[10] == 20);
	assert_int_equal(selected(f, MATCH_EQ, "__name__", "m", 101, 109, &v), 0);
	assert_int_equal(selected(f, MATCH_EQ, "__name__", "m", 9991, INT64_MAX, &v), 0);
	assert_int_equal(selected(f, MATCH_EQ, "__name__", "m", INT64_MIN, INT64_MAX, &v), 1);
	assert_int_equal(v[0].count, 1000);
}

/* Series with unlike times must not be cut by each other's window. */
static void test_window_of_unlike_series(void **state)
{
	struct fixture *f = *state;
	for (int k = 0; k < 7; k++) {
		char name[8];
		snprintf(name, sizeof name, "i%d", k);
		struct series *a = series_of(f, "m", "instance", name);
		for (int i = 0; i < 50 + 13 * k; i++)
			append(f, a, (int64_t)i * (7 + 3 * k) + k, 1);
	}
	for (int64_t from = -5; from < 900; from += 11) {
		struct series_view *v;
		size_t count = selected(f, MATCH_EQ, "__name__", "m", from, from + 60, &v);
		for (size_t s = 0; s < count; s++) {
			int k = labels_get(v[s].labels, STR("instance")).ptr[1] - '0', wanted = 0;
			for (int i = 0; i < 50 + 13 * k; i++) {
				int64_t t = (int64_t)i * (7 + 3 * k) + k;
				wanted += t >= from && t <= from + 60;
			}
			assert_int_equal(v[s].count, wanted);
		}
	}
}

static void test_matchers(void **state)
{
	struct fixture *f = *state;
	append(f, series_of(f, "m", "zone", "a"), 1, 1);
	append(f, series_of(f, "m", "zone", "b"), 1, 1);
	append(f, series_of(f, "m", "zone", "ab"), 1, 1);
	append(f, series_of(f, "other", "job", "x"), 1, 1);
	static const struct {
		enum match_op op;
		const char *name, *value;
		size_t count;
	} cases[] = {
		{ MATCH_EQ, "zone", "a", 1 },
		{ MATCH_EQ, "zone", "none", 0 },
		{ MATCH_EQ, "zone", "", 1 },
		{ MATCH_NE, "zone", "", 3 },
		{ MATCH_NE, "zone", "a", 3 },
		{ MATCH_RE, "zone", "a|b", 2 },
		{ MATCH_RE, "zone", "a.*", 2 },
		{ MATCH_RE, "zone", "a?", 2 },
		{ MATCH_RE, "zone", ".*", 4 },
		{ MATCH_RE, "zone", ".+", 3 },
		{ MATCH_NRE, "zone", "a|b", 2 },
		{ MATCH_NRE, "zone", ".*", 0 },
		{ MATCH_NRE, "zone", ".+", 1 },
		{ MATCH_RE, "zone", "|a", 2 },
		{ MATCH_NRE, "zone", "|a", 2 },
		{ MATCH_EQ, "nolabel", "", 4 },
		{ MATCH_NE, "nolabel", "", 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct series_view *v;
		size_t count = selected(f, cases[i].op, cases[i].name, cases[i].value, 0, 10, &v);
		if (count != cases[i].count)
			fail_msg("case %zu: %zu series", i, count);
	}
}

static void test_matchers_together(void **state)
{
	struct fixture *f = *state;
	char value[16];
	for (int i = 0; i < 500; i++) {
		snprintf(value, sizeof value, "v%d", i);
		append(f, series_of(f, i % 3 ? "m" : "n", "k", value), 1, i);
	}
	struct matcher m[3];
	struct error e;
	assert_true(matcher_init(&m[0], STR("__name__"), MATCH_EQ, STR("m"), &e));
	assert_true(matcher_init(&m[1], STR("k"), MATCH_RE, STR("v4.*"), &e));
	assert_true(matcher_init(&m[2], STR("k"), MATCH_NE, STR("v40"), &e));
	size_t count, wanted = 0;
	store_select(f->store, &f->arena, m, 3, 0, 10, &count);
	for (int i = 0; i < 500; i++) {
		snprintf(value, sizeof value, "v%d", i);
		wanted += i % 3 && value[1] == '4' && i != 40;
	}
	assert_int_equal(count, wanted);
	struct str *names = store_label_values(f->store, &f->arena, STR("__name__"), m + 1, 2, &count);
	assert_int_equal(count, 2);
	assert_true(str_is(names[0], "m") && str_is(names[1], "n"));
	store_label_values(f->store, &f->arena, STR("k"), NULL, 0, &count);
	assert_int_equal(count, 500);
	store_label_values(f->store, &f->arena, STR("absent"), NULL, 0, &count);
	assert_int_equal(count, 0);
	for (int i = 0; i < 3; i++)
		matcher_fini(&m[i]);
}

static void test_types(void **state)
{
	struct fixture *f = *state;
	struct label pair = { LABEL_NAME, STR("x") };
	struct labels *labels = labels_new(&pair, 1);
	struct sink *sink = store_sink(f->store);
	assert_int_equal(store_series_type(f->store, labels), METRIC_UNKNOWN);
	sink->ops->series(sink, labels, METRIC_UNKNOWN);
	sink->ops->series(sink, labels, METRIC_GAUGE);
	sink->ops->series(sink, labels, METRIC_UNKNOWN);
	assert_int_equal(store_series_type(f->store, labels), METRIC_GAUGE);
	labels_unref(labels);
}

/* 10,000 series by rows, as a scrape writes them: the samples and the refusals add up. The time is printed, not judged. */
static void test_rows(void **state)
{
	enum { SERIES = 10000, ROWS = 200 };
	struct fixture *f = *state;
	static struct series *series[SERIES];
	static double values[SERIES];
	char name[16];
	for (int i = 0; i < SERIES; i++) {
		snprintf(name, sizeof name, "i%d", i);
		series[i] = series_of(f, "m", "instance", name);
	}
	struct sink *sink = store_sink(f->store);
	int64_t begin = clock_cpu_ns();
	for (int r = 0; r < ROWS; r++)
		assert_int_equal(sink->ops->append_row(sink, series, values, SERIES, r * 5000), 0);
	print_message("append_row: %.1f ns a sample\n", (double)(clock_cpu_ns() - begin) / SERIES / ROWS);
	assert_int_equal(store_sample_count(f->store), SERIES * ROWS);
	values[7] = 1;
	assert_int_equal(sink->ops->append_row(sink, series, values, SERIES, (ROWS - 1) * 5000), 1);
	assert_int_equal(sink->ops->append_row(sink, series, values, SERIES, 0), SERIES);
	assert_int_equal(store_sample_count(f->store), SERIES * ROWS);
}

static size_t count_window(struct fixture *f, int64_t from_ms, int64_t to_ms)
{
	struct arena arena;
	size_t count, samples = 0;
	arena_init(&arena);
	struct series_view *views = store_select(f->store, &arena, NULL, 0, from_ms, to_ms, &count);
	for (size_t i = 0; i < count; i++)
		samples += views[i].count;
	arena_fini(&arena);
	return samples;
}

static void test_retention(void **state)
{
	enum { SERIES = 100, ROWS = 1000 };
	struct fixture *f = *state;
	struct series *series[SERIES];
	double values[SERIES] = { 0 };
	char name[16];
	int64_t oldest, newest;
	for (int i = 0; i < SERIES; i++) {
		snprintf(name, sizeof name, "i%d", i);
		series[i] = series_of(f, "m", "instance", name);
	}
	struct sink *sink = store_sink(f->store);
	sink->ops->append(sink, series_of(f, "gone", "instance", "x"), -5, 1);
	for (int r = 0; r < ROWS; r++)
		sink->ops->append_row(sink, series, values, SERIES, r * 1000);
	/* Nothing is asked for. */
	assert_true(store_retain(f->store, ROWS * 1000, NULL));
	assert_int_equal(store_sample_count(f->store), SERIES * ROWS + 1);
	/* By age: what is newer stays to the sample. */
	store_set_retention(f->store, 400 * 1000, 0);
	assert_true(store_retain(f->store, ROWS * 1000, NULL));
	assert_int_equal(store_sample_count(f->store), SERIES * 400);
	assert_int_equal(count_window(f, INT64_MIN, INT64_MAX), SERIES * 400);
	assert_int_equal(count_window(f, 600 * 1000, 601 * 1000), SERIES * 2);
	assert_true(store_bounds(f->store, &oldest, &newest));
	assert_int_equal(oldest, 600 * 1000);
	assert_int_equal(newest, (ROWS - 1) * 1000);
	/* By size: below it, but not by much. */
	store_set_retention(f->store, 0, SERIES * 200 * 16);
	assert_true(store_retain(f->store, ROWS * 1000, NULL));
	assert_in_range(store_sample_count(f->store), SERIES * 180, SERIES * 200);
	/* Goes on, and older samples are refused as before. */
	assert_int_equal(sink->ops->append_row(sink, series, values, SERIES, ROWS * 1000), 0);
	assert_int_equal(sink->ops->append_row(sink, series, values, SERIES, 0), SERIES);
	assert_int_equal(count_window(f, (ROWS - 1) * 1000, INT64_MAX), SERIES * 2);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = { TEST(test_append_rules), TEST(test_negative_times), TEST(test_same_labels_same_series),
		TEST(test_window_is_inclusive_and_cut), TEST(test_window_of_unlike_series), TEST(test_matchers),
		TEST(test_matchers_together), TEST(test_types), TEST(test_rows), TEST(test_retention) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
