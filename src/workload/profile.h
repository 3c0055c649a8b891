/* profile: what a workload's requests look like, measured on the requests themselves; and how far two are apart. */
#ifndef GOODPUT_WORKLOAD_PROFILE_H
#define GOODPUT_WORKLOAD_PROFILE_H

#include "workload/content.h"

struct profile_lengths {
	uint32_t *sorted; /* one a request */
	double mean;
};
struct workload_profile {
	size_t starts, requests; /* looked at; requests = all turns of the starts */
	bool whole;              /* all there are, not only the first ones */
	struct profile_lengths prompt, output;
	double rank_correlation; /* Spearman's, of prompt and output length; NaN when one of them is constant */
	double shared;  /* share of prompt tokens that an earlier request had sent too, as a leading part: what an unbounded cache finds */
	double seconds; /* from the first start to the last */
	double rate;    /* starts a second; NaN in a closed loop */
	double interval_cv; /* of intervals between starts; NaN with fewer than three, or in a closed loop */
	double turns;       /* mean of a start */
};

/* Makes at most `most` starts of the workload's own plan (0: a default that takes a second). Arrays live in the arena. */
void profile_make(struct arena *arena, const struct workload *w, size_t most, struct workload_profile *p);
/* Linear interpolation between order statistics, as numpy does; q from 0 to 1. */
double profile_quantile(const struct workload_profile *p, const struct profile_lengths *l, double q);

enum profile_aspect {
	PROFILE_PROMPT, /* Kolmogorov-Smirnov distance: the largest difference between the shares of requests below any length */
	PROFILE_OUTPUT,
	PROFILE_PROMPT_MEAN, /* of means, relative */
	PROFILE_OUTPUT_MEAN,
	PROFILE_CORRELATION, /* difference */
	PROFILE_SHARED,      /* difference */
	PROFILE_RATE,        /* relative */
	PROFILE_CV,          /* difference */
	PROFILE_TURNS,       /* relative */
	PROFILE_ASPECTS
};
struct profile_distance {
	double a, b;  /* the figures; for PROMPT and OUTPUT the medians. NaN where there is none */
	double value; /* how far apart; NaN: not the same kind of thing */
	double limit; /* beyond it a comparison across them is not fair */
	bool fair;
};
struct profile_diff {
	bool same;                         /* equal hashes */
	double prompt_shift, output_shift; /* Wasserstein: tokens by which lengths must move on average to turn one into the other */
	struct profile_distance distance[PROFILE_ASPECTS];
	bool same_process, same_concurrency, same_sampling, same_format;
	bool fair;
};
extern const char *const profile_aspect_names[PROFILE_ASPECTS];
void profile_compare(const struct workload *a, const struct workload_profile *pa, const struct workload *b,
	const struct workload_profile *pb, struct profile_diff *d);

/* For tests: both arrays sorted. */
double profile_ks(const uint32_t *a, size_t na, const uint32_t *b, size_t nb);
double profile_wasserstein(const uint32_t *a, size_t na, const uint32_t *b, size_t nb);
double profile_rank_correlation(const uint32_t *x, const uint32_t *y, size_t n);

#endif
