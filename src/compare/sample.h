/* sample: one figure of all requests of a side, with the block of time that each belongs to; not for other folders. */
#ifndef GOODPUT_COMPARE_SAMPLE_H
#define GOODPUT_COMPARE_SAMPLE_H

#include "compare/compare.h"

/* Blocks of all runs, one behind the other. */
struct blocks {
	int64_t length_ns;
	int64_t start_ns[COMPARE_RUNS_MAX];
	int64_t end_ns[COMPARE_RUNS_MAX];
	size_t first[COMPARE_RUNS_MAX]; /* index of the run's first block */
	size_t count;
	double seconds; /* of all windows */
};

struct sample_value {
	double value;
	uint32_t block;
};

struct sample {
	VEC(struct sample_value) v; /* by value */
	size_t blocks;
	double *sums;  /* of each block: what its requests add above the expected, see sample_estimate */
	double *share; /* of each block: its part of the time; the last one of a run may be longer or shorter than the others */
	double seconds;
};

/* Windows of the side, cut into blocks of this length. */
void blocks_make(struct blocks *b, const struct compare_side *side, int64_t length_ns);
/* A length that gives 12 blocks of the shorter side where blocks are matched, else 6: few and long, since what requests have in common (a
 * queue, a batch) lasts for as long as they do. */
int64_t blocks_length(const struct compare_side *a, const struct compare_side *b, bool matched);

bool side_takes(const struct compare_side *side, const struct timeline *t);
void sample_init(struct sample *s);
void sample_fini(struct sample *s);
/* Takes compare value `value` of every request that has it. */
void sample_take(struct sample *s, const struct compare_side *side, const struct blocks *b, int value, const struct slo_set *slo);

/* A figure with its interval at `confidence` (two-sided) and the effective size; leaves the block sums behind. */
struct estimate sample_estimate(struct sample *s, const struct compare_spec *spec, double confidence, double *effective);
/* Correlation of two samples' block sums where blocks are matched; never below 0. */
double sample_correlation(const struct sample *a, const struct sample *b);

/* Overwrites the block sums. Standard error of log(quantile of b / quantile of a), by drawing whole blocks again and again (the same ones
 * on both sides where they are matched), widened for their small number. NaN when the tail is next to empty. */
double sample_quantile_error(struct sample *a, struct sample *b, double q, bool matched, double confidence);

/* Standard error of log(b / a) of two means or rates, from the block sums that sample_estimate left: of matched blocks their differences,
 * so that what both sides have in common cancels. `total_a`, `total_b`: what the sums are shares of. */
double sample_ratio_error(const struct sample *a, const struct sample *b, double total_a, double total_b, bool matched, double confidence);

/* What panels.c takes of a request. */
double compare_value(int value, const struct timeline *t, const struct slo_set *slo);

#endif
