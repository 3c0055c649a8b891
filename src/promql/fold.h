/* fold: functions of a range vector from what a store keeps of windows, without their samples. Internal to promql.
 *
 * A backend that can fold (backend.h) hands out the number of samples, the first and the last one for each series and window. That is all
 * that rate and its kin ask for, and a store has it of long ranges without reading them. */
#ifndef GOODPUT_PROMQL_FOLD_H
#define GOODPUT_PROMQL_FOLD_H

#include "promql/evaluate.h"

/* What the times of the windows alone give: learnt once for all series that have the same. */
struct fold_shape {
	struct series_windows windows;
	uint64_t times; /* of which series_fold.times; 0: none yet */
	bool per_second;
	double *sampled, *to_start, *to_end, *factor; /* by window; factor 0: too few samples */
};

fold_function fold_rate, fold_increase, fold_delta, fold_count, fold_present, fold_first, fold_last, fold_time_of_first, fold_time_of_last;

/* One series after the other, with a value for each step. False ends the evaluation, which then fails with the error of `ev`. */
typedef bool fold_consumer(void *context, const struct labels *labels, const double *values, size_t points);

/* The call can be evaluated so, if the backend can: a function of one stored range. */
bool fold_suits(const struct promql_node *call);
enum fold_status { FOLD_NOT_HERE, FOLD_DONE, FOLD_FAILED };
/* `one_name`: of the selector. */
enum fold_status fold_evaluate(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, fold_consumer *consumer,
	void *context, bool *one_name);

/* stream.c: an aggregation over such a call, without a column for each series. */
enum fold_status stream_aggregate(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out);
/* window.c */
void window_note_counter(struct evaluation *ev, const struct promql_node *call, const struct labels *labels);

#endif
