/* instant: functions of instant vectors and scalars that are more than one value in, one out. Internal to promql. */
#ifndef GOODPUT_PROMQL_INSTANT_H
#define GOODPUT_PROMQL_INSTANT_H

#include "promql/evaluate.h"

/* instant.c */
frame_function frame_time, frame_timestamp, frame_vector, frame_scalar, frame_pi, frame_round, frame_clamp, frame_clamp_min,
	frame_clamp_max, frame_absent, frame_absent_over_time, frame_query_time, frame_extreme_of;
/* sort.c */
frame_function frame_sort, frame_sort_desc, frame_sort_by_label, frame_sort_by_label_desc;
/* relabel.c */
frame_function frame_label_replace, frame_label_join;
/* dates.c */
frame_function frame_date;
/* histogram.c */
frame_function frame_histogram_quantile, frame_histogram_quantiles, frame_histogram_fraction, frame_histogram_native;

#endif
