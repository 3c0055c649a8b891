/* Folded and sample by sample: the same queries over the same samples, from a store on disk, which folds, and from one in memory, which
 * does not. Results must be equal to the last bit. */
#include "base/mem.h"
#include "base/number.h"
#include "promql/promql.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { TARGETS = 5, METRICS = 12, STEPS = 3000, STEP_MS = 5000 };
#define START_MS INT64_C(1768435200000)
#define END_MS (START_MS + INT64_C(1) * STEPS * STEP_MS)

struct fixture {
	char folder[64], path[96];
	struct store *disk, *memory;
	struct backend *folding, *plain;
	uint64_t random;
	size_t compared, points;
};

static uint64_t next_random(struct fixture *f)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return f->random;
}

static struct labels *labels_of(int target, int metric)
{
	char name[32], instance[32], le[16];

	snprintf(name, sizeof name, metric < 6 ? "t_bucket" : metric < 9 ? "c%d_total" : "g%d", metric);
	snprintf(instance, sizeof instance, "10.0.0.%d:8000", target);
	snprintf(le, sizeof le, "%d", metric);
	struct label pairs[] = { { LABEL_NAME, str_from(name) }, { STR("instance"), str_from(instance) },
		{ STR("le"), metric < 6 ? str_from(le) : STR("") } };
	return labels_new(pairs, 3);
}

/* Counters with resets, steady ones, fractions, gauges; stale rows, series that are missing at times. */
static void target_step(struct fixture *f, double *last, double *values, uint64_t r)
{
	bool restart = r % 700 == 0, stale = r % 500 == 1;

	for (int m = 0; m < METRICS; m++) {
		uint64_t change = next_random(f);
		if (m >= 9)
			last[m] = (double)(change % 200) / 7 - 10;
		else if (restart)
			last[m] = 0;
		else if (m < 6)
			last[m] = (m ? last[m - 1] - (m > 3) : last[m]) + (double)(change % (m ? 2 : 3)) * (m ? 0 : 1) + (m ? m : 0);
		else if (m > 6)
			last[m] += m == 8 ? (double)(change % 1000) / 997 : (double)(change % 4);
		values[m] = stale ? number_stale() : last[m];
	}
}

static void fill(struct fixture *f)
{
	static double last[TARGETS][METRICS];
	struct sink *sinks[2] = { store_sink(f->disk), store_sink(f->memory) };
	struct series *series[2][TARGETS][METRICS];
	struct error e = { 0 };

	for (int t = 0; t < TARGETS; t++)
		for (int m = 0; m < METRICS; m++) {
			struct labels *labels = labels_of(t, m);
			for (int k = 0; k < 2; k++)
				series[k][t][m] = sinks[k]->ops->series(sinks[k], labels, METRIC_UNKNOWN);
			labels_unref(labels);
		}
	for (int step = 0; step < STEPS; step++) {
		for (int t = 0; t < TARGETS; t++) {
			double values[METRICS];
			uint64_t r = next_random(f);
			int count = t == 1 && step / 500 % 2 ? METRICS - 2 : METRICS; /* one changes its shape */
			target_step(f, last[t], values, r);
			if (t == 2 && step > 1000 && step < 1200)
				continue;
			for (int k = 0; k < 2; k++)
				sinks[k]->ops->append_row(sinks[k], series[k][t], values, (size_t)count,
					START_MS + (int64_t)step * STEP_MS + t * 700 + (r % 50 == 3 ? 11 : 0));
		}
		if (!store_commit(f->disk, &e))
			error_print(&e, stderr);
		assert_false(e.set);
	}
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	const struct store_options options = { .chunk_rows = 100 };
	struct error e = { 0 };

	snprintf(f->folder, sizeof f->folder, "/tmp/goodput-fold-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof f->path, "%s/s.db", f->folder);
	f->random = 0x9e3779b97f4a7c15ULL;
	f->memory = store_new();
	f->disk = store_open(f->path, &options, &e);
	assert_non_null(f->disk);
	fill(f);
	f->folding = backend_embedded_new(f->disk);
	f->plain = backend_embedded_new(f->memory);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char path[128];

	backend_free(f->folding);
	backend_free(f->plain);
	store_free(f->disk);
	store_free(f->memory);
	for (const char *const *suffix = (const char *const[]){ "", "-wal", "-shm", NULL }; *suffix; suffix++) {
		snprintf(path, sizeof path, "%s%s", f->path, *suffix);
		unlink(path);
	}
	rmdir(f->folder);
	free(f);
	return 0;
}

/* ---- comparing ---- */

static int compare_elements(const void *a, const void *b)
{
	return labels_cmp(((const struct promql_element *)a)->labels, ((const struct promql_element *)b)->labels);
}

static int compare_series(const void *a, const void *b)
{
	return labels_cmp(((const struct series_view *)a)->labels, ((const struct series_view *)b)->labels);
}

static bool near(double a, double b)
{
	/* Groups of targets are added up in the order of their sets: the rest of a compensated sum. */
	double scale = __builtin_fabs(a) > __builtin_fabs(b) ? __builtin_fabs(a) : __builtin_fabs(b);

	return number_bits(a) == number_bits(b) || __builtin_fabs(a - b) <= scale * 1e-15;
}

static void compare_values(struct fixture *f, const char *query, struct promql_value *a, struct promql_value *b)
{
	if (a->count != b->count)
		fail_msg("%s: %zu and %zu series", query, a->count, b->count);
	if (!a->count)
		return;
	if (a->type == PROMQL_VECTOR) {
		qsort(a->elements, a->count, sizeof *a->elements, compare_elements);
		qsort(b->elements, b->count, sizeof *b->elements, compare_elements);
		for (size_t i = 0; i < a->count; i++)
			if (!labels_eq(a->elements[i].labels, b->elements[i].labels) || !near(a->elements[i].value, b->elements[i].value))
				fail_msg("%s: %.17g and %.17g", query, a->elements[i].value, b->elements[i].value);
		f->points += a->count;
		return;
	}
	qsort(a->series, a->count, sizeof *a->series, compare_series);
	qsort(b->series, b->count, sizeof *b->series, compare_series);
	for (size_t i = 0; i < a->count; i++) {
		const struct series_view *x = &a->series[i], *y = &b->series[i];
		if (!labels_eq(x->labels, y->labels) || x->count != y->count)
			fail_msg("%s: other series", query);
		for (size_t k = 0; k < x->count; k++)
			if (x->t[k] != y->t[k] || !near(x->v[k], y->v[k]))
				fail_msg("%s: at %lld: %.17g and %.17g", query, (long long)x->t[k], x->v[k], y->v[k]);
		f->points += x->count;
	}
}

static void compare(struct fixture *f, const char *query, int64_t start_ms, int64_t end_ms, int64_t step_ms)
{
	struct arena arena;
	struct promql_value values[2];
	struct error errors[2] = { 0 };
	bool ok[2];

	arena_init(&arena);
	for (int k = 0; k < 2; k++) {
		struct backend *b = k ? f->plain : f->folding;
		ok[k] = step_ms ? b->ops->query_range(b, &arena, str_from(query), start_ms, end_ms, step_ms, &values[k], &errors[k])
				: b->ops->query(b, &arena, str_from(query), end_ms, &values[k], &errors[k]);
	}
	if (ok[0] != ok[1])
		fail_msg("%s: %s", query, errors[ok[0]].message);
	if (!ok[0])
		assert_string_equal(errors[0].message, errors[1].message);
	else
		compare_values(f, query, &values[0], &values[1]);
	assert_int_equal(ok[0] ? values[0].info_count : 0, ok[1] ? values[1].info_count : 0);
	f->compared++;
	arena_fini(&arena);
}

static const char *const functions[] = { "rate", "increase", "delta", "count_over_time", "present_over_time", "first_over_time",
	"last_over_time", "irate", "max_over_time", "avg_over_time" };
static const char *const selectors[] = { "t_bucket", "t_bucket{le=\"3\"}", "c6_total", "c7_total", "c8_total", "g9", "g11",
	"{__name__=~\"c.*\"}", "{instance=\"10.0.0.2:8000\"}", "none" };
static const char *const shapes[] = { "%s", "sum(%s)", "sum by (le) (%s)", "min by (instance) (%s)", "max without (le) (%s)", "count(%s)",
	"group by (le, instance) (%s)", "avg by (le) (%s)", "sum by (__name__) (%s)", "sum((%s)) / count(%s)" };

static void test_queries(void **state)
{
	struct fixture *f = *state;
	static const char *const ranges[] = { "5m", "30s", "1h", "4h", "7m3s", "1s" };
	static const char *const shifts[] = { "", "", "", " offset 11m", " @ 1768440000", " @ end()", " offset -3m" };

	for (int round = 0; round < 900; round++) {
		char call[200], query[480];
		uint64_t r = next_random(f);
		snprintf(call, sizeof call, "%s(%s[%s]%s)", functions[r % ARRAY_LEN(functions)], selectors[r / 16 % ARRAY_LEN(selectors)],
			ranges[r / 256 % ARRAY_LEN(ranges)], shifts[r / 4096 % ARRAY_LEN(shifts)]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(query, sizeof query, shapes[r / 65536 % ARRAY_LEN(shapes)], call, call);
#pragma GCC diagnostic pop
		int64_t steps[] = { 0, 60000, 7000, 3600000, 299000, 600000 }, step = steps[r / (1 << 20) % ARRAY_LEN(steps)];
		int64_t start = START_MS - 400000 + (int64_t)(r / (1 << 24) % 3000) * (r % 3 ? 1000 : 997);
		compare(f, query, start, start + (step == 7000 ? 900000 : END_MS - START_MS), step);
	}
	assert_int_equal(f->compared, 900);
	assert_true(f->points > 50000);
}

static void test_others(void **state)
{
	struct fixture *f = *state;

	compare(f, "max_over_time(rate(c8_total[5m])[30m:1m])", START_MS, END_MS, 60000);
	compare(f, "sum_over_time(sum(increase(t_bucket[2m]))[1h:])", START_MS, END_MS, 600000);
	compare(f, "histogram_quantile(0.9, sum by (le) (rate(t_bucket[5m])))", START_MS, END_MS, 60000);
	compare(f, "rate(c8_total[5m]) > 0.1", START_MS, END_MS, 60000);
	compare(f, "rate({instance=~\".+\"}[5m])", START_MS, END_MS, 600000);
	compare(f, "topk(2, rate(c8_total[5m]))", START_MS, END_MS, 600000);
	compare(f, "quantile(0.5, rate(c8_total[5m]))", START_MS, END_MS, 600000);
	compare(f, "rate(c8_total[5m])", START_MS - 9000000, START_MS - 8000000, 60000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_queries), cmocka_unit_test(test_others) };

	return cmocka_run_group_tests(tests, setup, teardown);
}
