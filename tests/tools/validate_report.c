/* Tables of errors and the checks. */
#include "validate.h"

#include <math.h>
#include <stdlib.h>

static const char *const figure_names[] = { "TPOT", "mean TTFT", "TTFT percentiles", "throughput", "E2E", "trace percentiles", "KV blocks",
	"step", "kernel", "KV transfer" };

struct errors {
	VEC(double) values;
	double bias;
	uint32_t covered;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void errors_add(struct errors *errors, const struct score *s)
{
	VEC_PUSH(&errors->values, fabs(s->predicted / s->measured - 1));
	errors->bias += log(s->predicted / s->measured);
	errors->covered += s->measured >= s->low && s->measured <= s->high;
}

static double errors_quantile(struct errors *errors, double q)
{
	qsort(errors->values.items, errors->values.count, sizeof(double), by_value);
	return quantile_of(errors->values.items, errors->values.count, q);
}

static void print_line(const char *name, struct errors *errors, bool ranges)
{
	double count = (double)errors->values.count;

	if (errors->values.count == 0)
		return;
	printf("  %-44s %5.0f %8.1f %% %8.1f %% %+8.1f %%", name, count, 100 * errors_quantile(errors, 0.5),
		100 * errors_quantile(errors, 0.9), 100 * (exp(errors->bias / count) - 1));
	if (ranges)
		printf(" %8.0f %%", 100 * errors->covered / count);
	printf("\n");
}

static void print_figure(const struct runner *run, enum figure figure)
{
	struct errors all = { 0 };
	size_t count = run->scores.count;
	char *done = mem_zalloc(count + 1, 1);

	for (size_t i = 0; i < count; i++) {
		struct errors family = { 0 };
		const struct score *first = &run->scores.items[i];
		if (first->figure != figure || done[i])
			continue;
		if (all.values.count == 0)
			printf("%-46s %5s %10s %10s %10s %10s\n", figure_names[figure], "n", "median", "P90", "bias", "in range");
		for (size_t j = i; j < count; j++) {
			const struct score *s = &run->scores.items[j];
			if (s->figure == figure && strcmp(s->family, first->family) == 0) {
				errors_add(&family, s);
				errors_add(&all, s);
				done[j] = 1;
			}
		}
		print_line(first->family, &family, figure != FIGURE_KERNEL && figure != FIGURE_STEP);
		VEC_FREE(&family.values);
	}
	print_line("all", &all, figure != FIGURE_KERNEL && figure != FIGURE_STEP);
	VEC_FREE(&all.values);
	mem_free(done);
}

struct check {
	const char *name;
	enum figure figure;
	int experts; /* -1: both */
	double most;
};

/* Passed 1, failed 0, no row -1. */
static int check_one(const struct runner *run, const struct check *check, bool held_out)
{
	struct errors errors = { 0 };
	double median;
	bool good;

	VEC_EACH (&run->scores, s)
		if (s->figure == check->figure && s->counted && (check->experts < 0 || s->experts == (check->experts == 1)) &&
			!(held_out && s->calibration))
			errors_add(&errors, s);
	if (errors.values.count == 0) {
		VEC_FREE(&errors.values);
		printf("skip  %s%s: no rows\n", check->name, held_out ? ", held out" : "");
		return -1;
	}
	median = errors_quantile(&errors, 0.5);
	good = median <= check->most;
	printf("%s  %s%s: median %.1f %% of %zu (at most %.0f %%)\n", good ? "ok  " : "FAIL", check->name, held_out ? ", held out" : "",
		100 * median, errors.values.count, 100 * check->most);
	VEC_FREE(&errors.values);
	return good;
}

static int check_coverage(const struct runner *run)
{
	uint32_t covered = 0, all = 0;

	VEC_EACH (&run->scores, s) {
		if (s->figure > FIGURE_BLOCKS || !s->counted || run->quick)
			continue;
		all++;
		covered += s->measured >= s->low && s->measured <= s->high;
	}
	if (all == 0)
		return -1;
	printf("%s  stated ranges: %.0f %% of %u measurements lie inside (80 %% are meant to)\n", covered >= 0.75 * all ? "ok  " : "FAIL",
		100.0 * covered / all, all);
	return covered >= 0.75 * all;
}

/* Most throughput figures follow from TTFT and TPOT; those that were published as such come from few sources and are told apart. */
static void print_published_throughput(const struct runner *run)
{
	struct errors errors = { 0 };

	VEC_EACH (&run->scores, s)
		if (s->figure == FIGURE_THROUGHPUT && s->counted && str_starts(str_from(s->name), STR("throughput_out")))
			errors_add(&errors, s);
	if (errors.values.count)
		printf("note  throughput published as such: median %.1f %% of %zu (no target of its own: two experimental fixed-length "
		       "series are most of it)\n",
			100 * errors_quantile(&errors, 0.5), errors.values.count);
	VEC_FREE(&errors.values);
}

int validate_report(const struct runner *run)
{
	static const struct check checks[] = { { "TPOT, dense", FIGURE_TPOT, 0, 0.08 },
		{ "TPOT, mixture of experts", FIGURE_TPOT, 1, 0.15 }, { "mean TTFT", FIGURE_TTFT, -1, 0.15 },
		{ "throughput", FIGURE_THROUGHPUT, -1, 0.08 }, { "trace percentiles", FIGURE_TRACE, -1, 0.12 },
		{ "KV blocks", FIGURE_BLOCKS, -1, 0.02 } };
	int count[3] = { 0 }; /* failed, passed, skipped */

	for (enum figure figure = 0; figure < FIGURE_COUNT; figure++)
		print_figure(run, figure);
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		for (int held_out = 0; held_out < 2; held_out++) {
			int result = checks[i].figure == FIGURE_TRACE && held_out ? -2 : check_one(run, &checks[i], held_out);
			if (result != -2)
				count[result < 0 ? 2 : result]++;
		}
	}
	{
		int result = check_coverage(run);
		count[result < 0 ? 2 : result]++;
	}
	print_published_throughput(run);
	printf("%u rows could not be replayed (disaggregated, another engine, load not stated, model or GPU unknown)\n", run->skipped);
	printf("%d passed, %d failed, %d skipped\n", count[1], count[0], count[2]);
	return count[0];
}
