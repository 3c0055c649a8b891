/* series: how samples are shown to readers. */
#ifndef GOODPUT_MODEL_SERIES_H
#define GOODPUT_MODEL_SERIES_H

#include "base/number.h"
#include "model/labels.h"

#include <stdint.h>

/* What a TYPE line said. */
enum metric_type {
	METRIC_UNKNOWN,
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_HISTOGRAM,
	METRIC_GAUGE_HISTOGRAM,
	METRIC_SUMMARY,
	METRIC_INFO,
	METRIC_STATESET
};
const char *metric_type_name(enum metric_type type);

/* The samples of one series in a window, oldest first, stale markers included (number_is_stale). Borrowed from whoever
 * answered: valid until that query's arena is reset or the store is written. */
struct series_view {
	const struct labels *labels;
	const int64_t *t; /* ms, strictly rising */
	const double *v;
	size_t count;
};

/* Windows over a series: number i is (end - range_ms, end], where end = first_end_ms + i * step_ms. */
struct series_windows {
	int64_t first_end_ms, step_ms, range_ms;
	size_t count;
};

struct series_fall { /* a sample at t_ms is below the one before it */
	int64_t t_ms;
	double before;
};

/* What a series has in each window, for who needs no more of it: the number of samples, the first and the last one; stale markers are left
 * out. Where count[i] is 0 the rest is undefined. Valid while it is visited. */
struct series_fold {
	const struct labels *labels;
	const uint32_t *count;
	const int64_t *t_first, *t_last;
	uint64_t times; /* equal to that of the fold visited before: count, t_first and t_last are the same */
	const double *first, *last;
	const struct series_fall *falls; /* all that are inside of a window, and perhaps others, in order of time */
	size_t fall_count;
};
/* False: no more. */
typedef bool series_fold_visit(void *context, const struct series_fold *fold);

/* Index of the first of `count` rising times that is after t; `count` when none is. */
size_t times_after(const int64_t *times, size_t count, int64_t t_ms);

#endif
