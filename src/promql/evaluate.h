/* evaluate: what the files of the evaluator share. Internal to promql.
 *
 * A node is evaluated for all steps of the query at once, into a frame: columns of values, one per series. Labels are looked at once per
 * series instead of once per series and step, and a selector's samples are fetched once and passed over once. An instant query is the case
 * of one step. A subquery evaluates its inside over a grid of its own. */
#ifndef GOODPUT_PROMQL_EVALUATE_H
#define GOODPUT_PROMQL_EVALUATE_H

#include "base/number.h"
#include "promql/functions.h"
#include "promql/syntax.h"

struct grid { /* the times of the steps */
	int64_t start_ms, step_ms;
	size_t steps; /* may be 0, inside subqueries */
};
static inline int64_t grid_time(const struct grid *g, size_t step)
{
	return g->start_ms + (int64_t)step * g->step_ms;
}

/* No point at this step. The bits of the stale marker: no computed value can have them, and stale samples are never values. */
static inline double absent(void)
{
	return number_stale();
}
static inline bool is_absent(double v)
{
	return number_is_stale(v);
}

struct column {
	const struct labels *labels; /* NULL = none at all */
	bool nameless;  /* without __name__ (and __type__, __unit__), whatever the labels say; with delayed removal: only at the end */
	double *values; /* one a step */
};
struct frame {
	enum promql_type type; /* scalar: one column; string: text */
	struct column *columns;
	size_t count;
	bool one_name; /* all columns have the same __name__, so that dropping it cannot make two equal */
	struct str text;
};

struct note; /* an annotation */
struct fold_task;
struct evaluation {
	struct backend *backend;
	struct arena *arena;
	const struct promql_options *options;
	struct error *error;
	struct str query;
	int64_t start_ms, end_ms, step_ms; /* of the query as asked; step 0 for an instant */
	bool instant, delayed;             /* delayed: __name__ is dropped at the very end */
	int64_t deadline_ns;               /* monotonic; 0 = none */
	size_t samples;                    /* values held now */
	size_t cells;                      /* room for values made in the arena */
	const struct promql_node *root;
	struct fold_task *tasks; /* what of it can be folded, found when the first one is evaluated */
	struct note *notes;
	const struct labels *no_labels;
};

/* ---- evaluate.c ---- */
bool evaluate(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out);
bool evaluate_duration(struct evaluation *ev, const struct promql_node *at, const struct duration *d, bool negative_allowed, int64_t *ms);
/* An error at a node; returns false. */
bool evaluation_fail(struct evaluation *ev, const struct promql_node *n, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Counts values that are held for now: when a node is done, only its result still counts. False when over the limit. */
bool evaluation_hold(struct evaluation *ev, size_t values);
bool evaluation_in_time(struct evaluation *ev);
double scalar_at(const struct frame *scalar, size_t step);

/* ---- frame.c ---- */
/* How many values may be made in one query. */
size_t evaluation_room(const struct evaluation *ev);
/* All absent; NULL with an error when the query asks for too much. */
double *values_new(struct evaluation *ev, size_t steps);
bool frame_init_scalar(struct evaluation *ev, struct frame *f, size_t steps);
/* Room for `capacity` columns; count is 0. */
void frame_init_vector(struct evaluation *ev, struct frame *f, size_t capacity);
size_t frame_points(const struct frame *f, size_t steps);
/* The label as an operator sees it: the name of a nameless column is absent, unless its removal is delayed. */
struct str column_label(const struct evaluation *ev, const struct column *c, struct str name);
/* __name__, __type__ or __unit__: what goes when a result is no longer that metric. */
bool label_names_metric(struct str name);
/* It has __type__ or __unit__, which go with the name. */
bool labels_have_type(const struct labels *labels);
bool column_has_value(const struct column *c, size_t steps);
/* The points of a column, without absent ones, as a series of these labels. Moves the column's values together: it is used up. */
struct series_view column_points(
	struct evaluation *ev, const struct column *c, const struct labels *labels, const int64_t *times, size_t steps);
/* The labels as an operator sees them; in the arena or borrowed. */
const struct labels *column_labels(struct evaluation *ev, const struct column *c);
/* Drops __name__ of all columns; where that makes two equal they are merged, or the query fails if both have a point at a step. */
bool frame_drop_names(struct evaluation *ev, const struct promql_node *n, struct frame *f, size_t steps);
/* Columns with equal labels become one; fails if they have a point at the same step. */
bool frame_merge_equal(struct evaluation *ev, const struct promql_node *n, struct frame *f, size_t steps);
/* An arena copy of labels built elsewhere, which are unreferenced. */
const struct labels *labels_keep(struct evaluation *ev, struct labels *built);
/* NULL with an error when there are too many labels. */
const struct labels *labels_build(struct evaluation *ev, const struct promql_node *n, const struct labels_builder *b);

/* ---- groups.c: label sets, or parts of them, to numbers 0, 1, 2 ... ---- */
struct groups {
	struct evaluation *ev;
	const struct str *labels; /* by/on these, or without/ignoring these */
	size_t label_count;
	bool only;                   /* by, on */
	bool without_name;           /* leave __name__ out too (without, ignoring) */
	const struct column **first; /* an example of each group */
	uint64_t *hashes;
	size_t count, cap;
	uint32_t *slots;
	size_t slot_count;
};
void groups_init(struct groups *g, struct evaluation *ev, const struct str *labels, size_t label_count, bool only, bool without_name);
/* The group's number, made when new. */
size_t groups_put(struct groups *g, const struct column *c);
/* The labels of a group: the part that was compared. */
const struct labels *groups_labels(struct groups *g, const struct promql_node *n, size_t group);

/* ---- select.c ---- */
struct range_source {               /* the samples under a range selector or subquery */
	struct series_view *series; /* without stale markers */
	bool *nameless;
	size_t count;
	bool one_name;
	int64_t range_ms, offset_ms;
	bool fixed; /* @ : the window ends at end_ms for all steps */
	int64_t end_ms;
};
bool select_vector(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, bool timestamps, struct frame *out);
bool select_range(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct range_source *out);
/* The windows of a stored range at the steps; one when they all are the same. */
bool range_windows(struct evaluation *ev, const struct promql_node *range, const struct grid *grid, struct series_windows *w);
/* Visits what the series of each range have in these windows, with its context. Not done: select_range has them. */
bool select_fold(struct evaluation *ev, const struct promql_node *const *ranges, void *const *contexts, size_t count,
	const struct series_windows *windows, bool falls, series_fold_visit *visit, bool *done);
/* All series that it selects have one __name__. */
bool range_has_one_name(const struct promql_node *range);
/* The end of the window for a step. */
int64_t range_end(const struct range_source *s, const struct grid *grid, size_t step);

/* ---- window.c: functions of a range vector ---- */
struct window {
	const int64_t *t;
	const double *v;
	size_t count; /* >= 1 */
	int64_t start_ms, end_ms, eval_ms, range_ms;
	bool may_fall;   /* some value of the series is below the one before */
	double args[2];  /* the scalar arguments, in order */
	double *scratch; /* room for `count` values */
};
bool evaluate_window_call(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out);

/* ---- math, in several files ---- */
struct kahan { /* Neumaier's compensated sum */
	double sum, rest;
};
static inline void kahan_add(struct kahan *k, double x)
{
	double t = k->sum + x;
	if (__builtin_isinf(t))
		k->rest = 0;
	else if (__builtin_fabs(k->sum) >= __builtin_fabs(x))
		k->rest += (k->sum - t) + x;
	else
		k->rest += (x - t) + k->sum;
	k->sum = t;
}
struct mean { /* the average, which survives overflow of the sum */
	struct kahan k;
	double count, mean;
	bool incremental;
};
void mean_add(struct mean *m, double x);
double mean_result(const struct mean *m);
/* Sorts `values`. */
double quantile_of(double q, double *values, size_t count);

bool evaluate_aggregate(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out);
bool evaluate_top(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out);
bool evaluate_count_values(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out);
bool evaluate_binary(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out);
bool evaluate_vectors(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *left, struct frame *right,
	struct frame *out);
bool evaluate_set(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *left, struct frame *right,
	struct frame *out);
/* False = a comparison that does not hold. */
bool operator_apply(enum token_kind op, double left, double right, double *result);

/* ---- annotate.c ---- */
enum note_kind { NOTE_WARNING, NOTE_INFO };
/* "PromQL warning: ... (line:column)", once each. */
void annotate(struct evaluation *ev, const struct promql_node *n, enum note_kind kind, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void annotate_quantile(struct evaluation *ev, const struct promql_node *n, double q);
void annotations_result(struct evaluation *ev, struct promql_value *value);

/* ---- result.c ---- */
bool result_instant(struct evaluation *ev, const struct promql_node *n, struct frame *f, struct promql_value *value);
void result_samples(struct evaluation *ev, const struct range_source *source, struct promql_value *value);
bool result_range(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *f, struct promql_value *value);

#endif
