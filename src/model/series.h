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

/* Index of the first of `count` rising times that is after t; `count` when none is. */
size_t times_after(const int64_t *times, size_t count, int64_t t_ms);

#endif
