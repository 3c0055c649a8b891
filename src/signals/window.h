/* window: what happens to series between the two ends of a window. Private to src/signals. */
#ifndef GOODPUT_SIGNALS_WINDOW_H
#define GOODPUT_SIGNALS_WINDOW_H

#include "catalog/expression.h"
#include "signals/evaluate.h"

struct restart_times {
	const int64_t *t; /* first sample of the new process, or after the fall */
	size_t count;
};

/* The ends of a window as one target saw them. */
struct window_ends {
	int64_t from_ms, to_ms;
	int64_t patience_ms;   /* an end older than this is no end: 1.5 scrape intervals */
	bool scraped_at_start; /* the target answered a scrape near the start */
	int64_t start_scrape_ms;
	int64_t born_ms; /* process start, 0 unknown */
	const struct restart_times *restarts;
};

struct increase {
	bool known;
	enum unknown_reason reason;
	double value, elapsed_s;
	bool reset; /* what happened between the last sample and the reset is lost: at least `value` */
};

int64_t target_patience_ms(const struct target_evidence *t);
struct increase view_increase(const struct series_view *v, const struct window_ends *w);
/* Adds the times at which the counter fell. */
void restart_times_of_falls(struct arena *arena, const struct series_view *v, struct restart_times *times);
/* Index of the newest sample before index i, over stale markers (a scrape that failed is no sample); -1. */
ptrdiff_t view_before(const struct series_view *v, ptrdiff_t i);
/* When the series last changed at or before t: time of the first sample with the new value. Never: its oldest sample's time, *moved false.
 * No sample: INT64_MIN. */
int64_t view_last_move_ms(const struct series_view *v, int64_t t_ms, bool *moved);

/* Members of a metric at a scheduler that pass label conditions, one of duplicates; grouped for summing. */
struct picked {
	const struct member *member;
	double scale;
};
bool member_passes(const struct name_spec *name, const struct member *m, const struct label_condition *conditions, size_t count);
/* The label's value, also where a target label pushed it to exported_NAME. */
struct str member_label(const struct labels *l, struct str name);

/* ---- levels ---- */
struct level_query {
	const struct metric_spec *metric;
	const struct label_condition *conditions;
	size_t condition_count;
	int64_t t_ms;
};
/* Level of a metric at one scheduler; unknown with a reason. */
struct reading scheduler_level(struct evaluation *ev, size_t scheduler, const struct level_query *q);

/* ---- counts and histograms ---- */
struct histogram {
	double *bounds; /* rising; the last may be +Inf */
	double *counts; /* per cell, not cumulative */
	size_t count;
	double sum, total; /* _sum and _count increases; NAN when not exported */
	double elapsed_s;
	bool over_reset;
	enum unknown_reason reason; /* not NONE: nothing usable */
	struct str why;
	enum unknown_reason bucket_reason; /* buckets are missing or contradict themselves; sum and total may still be good */
	struct str bucket_why;
	enum unknown_reason sum_reason;
	struct str sum_why;
	struct str exposed, note;
	uint32_t targets_in, targets_all;
	uint32_t layouts;  /* different bucket layouts merged */
	uint32_t left_out; /* schedulers whose histogram contradicts itself, while others' do not */
};
/* Increase over the evaluation's window of one counter at one scheduler (all members summed). */
struct increase scheduler_count(struct evaluation *ev, size_t scheduler, const struct metric_spec *m,
	const struct label_condition *conditions, size_t condition_count);
/* The histogram of one scheduler, and of a whole scope (merged on equal, else common bounds). False when the metric is bound nowhere. */
bool scheduler_histogram(struct evaluation *ev, size_t scheduler, const struct metric_spec *m, struct histogram *h);
bool scope_histogram(struct evaluation *ev, const struct scope *s, const struct metric_spec *m, struct histogram *h);
struct reading histogram_quantile(const struct histogram *h, double q);
struct reading histogram_mean(const struct histogram *h);
/* Share of events above x, with Wilson's interval; a bound when x lies inside a cell. */
struct reading histogram_share_above(const struct histogram *h, double x);
struct reading histogram_count_above(const struct histogram *h, double x);
struct reading histogram_share_top(const struct histogram *h);
struct reading histogram_cells(struct arena *arena, const struct histogram *h);
/* Wilson's 95 % interval of k of n. */
void wilson_interval(double k, double n, double *low, double *high);

struct window_ends window_ends_of(struct evaluation *ev, size_t target, struct restart_times *restarts);
struct reading evaluate_primitive(struct evaluation *ev, const struct scope *s, const struct expression *x);
/* Is any metric of the primitive bound somewhere in the scope? */
bool primitive_is_bound(struct evaluation *ev, const struct scope *s, const struct expression *x);
/* Why a metric has no reading at a target: its coverage in words. */
struct reading unbound_reading(struct evaluation *ev, const struct scope *s, const struct metric_spec *m);
/* How a scope's targets stand at t: how many gave a whole page, how many there are. */
void scope_targets_up(struct evaluation *ev, const struct scope *s, int64_t t_ms, uint32_t *up, uint32_t *all);
/* A target that did not answer at t, or whose page broke off, and may export the metric (its last binding has it, or there is none). */
bool target_missing(struct evaluation *ev, size_t target, const struct metric_spec *m, int64_t t_ms);
/* How many of the scope's targets are missing so. */
uint32_t scope_targets_missing(struct evaluation *ev, const struct scope *s, const struct metric_spec *m, int64_t t_ms);

#endif
