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

enum fold_status { FOLD_NOT_HERE, FOLD_DONE, FOLD_FAILED };
/* The value of a node (a function of one stored range, or an aggregation of such a one), if the backend can fold. All such nodes of a query
 * that have the same windows are evaluated together, in one pass over the store, when the first is asked for. */
enum fold_status fold_evaluate(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out);
/* It is a function of one stored range. */
bool fold_suits(const struct promql_node *call);

/* Who takes the values: one series after the other, with a value for each step. False ends the evaluation, which then fails with the error
 * of `ev`. */
struct fold_taker {
	bool (*take)(struct fold_taker *taker, const struct labels *labels, const double *values, size_t points);
	/* The frame of what was taken; frees the taker. With `out` NULL it only does that. */
	enum fold_status (*end)(struct fold_taker *taker, struct frame *out);
};
/* stream.c: adds up to groups, without a column for each series. Suits: this aggregation does not need them. */
bool stream_suits(const struct promql_node *n);
struct fold_taker *stream_begin(struct evaluation *ev, const struct promql_node *n, const struct grid *grid);
/* window.c: a column for each series. */
struct fold_taker *columns_begin(struct evaluation *ev, const struct promql_node *call, const struct grid *grid);
void window_note_counter(struct evaluation *ev, const struct promql_node *call, const struct labels *labels);

#endif
