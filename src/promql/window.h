/* window: the functions of one window of samples. Internal to promql. */
#ifndef GOODPUT_PROMQL_WINDOW_H
#define GOODPUT_PROMQL_WINDOW_H

#include "promql/evaluate.h"

/* rate.c */
window_function window_rate, window_increase, window_delta, window_irate, window_idelta, window_resets, window_changes;
/* over_time.c */
window_function window_sum, window_avg, window_min, window_max, window_count, window_stddev, window_stdvar, window_last, window_first,
	window_present, window_quantile, window_mad, window_time_of_first, window_time_of_last, window_time_of_max, window_time_of_min;
/* trend.c */
window_function window_deriv, window_predict_linear, window_smoothing;

#endif
