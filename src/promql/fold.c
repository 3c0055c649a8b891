#include "promql/fold.h"
#include "store/store.h"

enum { SERIES_BETWEEN_LOOKS = 64 }; /* at the clock */

/* ---- functions ---- */

static double window_end(const struct series_windows *w, size_t i, int64_t t_ms)
{
	return (double)(w->first_end_ms + (int64_t)i * w->step_ms - t_ms) / 1000;
}

/* As far as it does not depend on values, what rate.c computes for each window: see `extrapolated` there. */
static void shape_learn(struct fold_shape *shape, const struct series_fold *s)
{
	const struct series_windows *w = &shape->windows;
	if (shape->times == s->times)
		return;
	shape->times = s->times;
	for (size_t i = 0; i < w->count; i++) {
		shape->factor[i] = 0;
		if (s->count[i] < 2)
			continue;
		double sampled = (double)(s->t_last[i] - s->t_first[i]) / 1000, interval = sampled / (double)(s->count[i] - 1);
		double to_start = (double)(s->t_first[i] - (w->first_end_ms + (int64_t)i * w->step_ms - w->range_ms)) / 1000;
		double to_end = window_end(w, i, s->t_last[i]);
		shape->sampled[i] = sampled;
		shape->to_start[i] = to_start >= interval * 1.1 ? interval / 2 : to_start;
		shape->to_end[i] = to_end >= interval * 1.1 ? interval / 2 : to_end;
		shape->factor[i] = (sampled + shape->to_start[i] + shape->to_end[i]) / sampled;
		if (shape->per_second)
			shape->factor[i] /= (double)w->range_ms / 1000;
	}
}

/* A counter is not taken to reach below zero: then the window's own factor. Where zero is clearly farther than what is taken anyway, no
 * division is needed to know. */
static double counter_factor(const struct fold_shape *shape, size_t i, double first, double gain)
{
	double sampled = shape->sampled[i];
	if (!(gain > 0 && first >= 0) || sampled * first > shape->to_start[i] * gain * 1.001)
		return shape->factor[i];
	double to_zero = sampled * (first / gain);
	if (!(to_zero < shape->to_start[i]))
		return shape->factor[i];
	double factor = (sampled + to_zero + shape->to_end[i]) / sampled;
	return shape->per_second ? factor / ((double)shape->windows.range_ms / 1000) : factor;
}

/* What falls inside of the window add to a gain; both only move forward. */
static double falls_add(const struct series_fold *s, size_t i, size_t *from, double gain)
{
	while (*from < s->fall_count && s->falls[*from].t_ms <= s->t_first[i])
		++*from;
	for (size_t k = *from; k < s->fall_count && s->falls[k].t_ms <= s->t_last[i]; k++)
		gain += s->falls[k].before;
	return gain;
}

static size_t extrapolate(struct fold_shape *shape, const struct series_fold *s, bool counter, double *values)
{
	size_t points = 0, falls_from = 0;
	shape_learn(shape, s);
	for (size_t i = 0; i < shape->windows.count; i++) {
		if (shape->factor[i] == 0) {
			values[i] = absent();
			continue;
		}
		double gain = s->last[i] - s->first[i];
		if (counter && s->fall_count)
			gain = falls_add(s, i, &falls_from, gain);
		values[i] = gain * (counter ? counter_factor(shape, i, s->first[i], gain) : shape->factor[i]);
		points++;
	}
	return points;
}

size_t fold_rate(struct fold_shape *shape, const struct series_fold *s, double *values)
{
	shape->per_second = true;
	return extrapolate(shape, s, true, values);
}

size_t fold_increase(struct fold_shape *shape, const struct series_fold *s, double *values)
{
	return extrapolate(shape, s, true, values);
}

size_t fold_delta(struct fold_shape *shape, const struct series_fold *s, double *values)
{
	return extrapolate(shape, s, false, values);
}

#define FOLD_EACH(name, value)                                                                                                             \
	size_t name(struct fold_shape *shape, const struct series_fold *s, double *values)                                                 \
	{                                                                                                                                  \
		size_t points = 0;                                                                                                         \
		for (size_t i = 0; i < shape->windows.count; i++) {                                                                        \
			values[i] = s->count[i] ? (value) : absent();                                                                      \
			points += s->count[i] != 0;                                                                                        \
		}                                                                                                                          \
		return points;                                                                                                             \
	}

FOLD_EACH(fold_count, (double)s->count[i])
FOLD_EACH(fold_present, 1)
FOLD_EACH(fold_first, s->first[i])
FOLD_EACH(fold_last, s->last[i])
FOLD_EACH(fold_time_of_first, (double)s->t_first[i] / 1000)
FOLD_EACH(fold_time_of_last, (double)s->t_last[i] / 1000)

/* ---- tasks ---- */

struct fold_task {
	struct fold_task *next;
	const struct promql_node *node, *call;
	struct evaluation *ev;
	const struct grid *grid;
	struct fold_taker *taker;
	struct fold_shape shape;
	double *values;
	size_t series;
	bool ready, failed;
	enum fold_status status;
	struct frame result;
};

bool fold_suits(const struct promql_node *call)
{
	return call->kind == NODE_CALL && call->call.function->fold && call->call.arg_count == 1 &&
	       node_unwrap(call->call.args[0])->kind == NODE_RANGE;
}

static bool largest_fits(struct fold_task *task, const struct series_fold *s, size_t points)
{
	uint32_t largest = 0;
	for (size_t i = 0; i < task->shape.windows.count; i++)
		largest = s->count[i] > largest ? s->count[i] : largest;
	bool ok = evaluation_hold(task->ev, largest + points);
	task->ev->samples -= largest + points;
	return ok;
}

static bool series_visit(void *context, const struct series_fold *s)
{
	struct fold_task *task = context;
	size_t points = task->call->call.function->fold(&task->shape, s, task->values), steps = task->grid->steps;
	if (task->shape.windows.count < steps && points) { /* one window for all steps */
		for (size_t i = 1; i < steps; i++)
			task->values[i] = task->values[0];
		points = steps;
	}
	task->failed = !largest_fits(task, s, points) || (task->series++ % SERIES_BETWEEN_LOOKS == 0 && !evaluation_in_time(task->ev)) ||
		       (points && !task->taker->take(task->taker, s->labels, task->values, points));
	return !task->failed;
}

static struct fold_task *task_new(struct evaluation *ev, const struct promql_node *n)
{
	bool aggregates = n->kind == NODE_AGGREGATE;
	const struct promql_node *call = aggregates ? node_unwrap(n->aggregate.expression) : n;
	if (!fold_suits(call) || (aggregates && !stream_suits(n)))
		return NULL;
	struct fold_task *task = ARENA_NEW(ev->arena, struct fold_task);
	*task = (struct fold_task){ .node = n, .call = call, .ev = ev };
	return task;
}

/* All below a node that is evaluated at the same steps as it. */
static struct fold_task **tasks_find(struct evaluation *ev, const struct promql_node *n, struct fold_task **link)
{
	struct fold_task *task = task_new(ev, n);
	if (task) {
		*link = task;
		return &task->next;
	}
	switch (n->kind) {
	case NODE_PAREN: return tasks_find(ev, n->inner, link);
	case NODE_UNARY: return tasks_find(ev, n->unary.expression, link);
	case NODE_BINARY: return tasks_find(ev, n->binary.right, tasks_find(ev, n->binary.left, link));
	case NODE_AGGREGATE: return tasks_find(ev, n->aggregate.expression, link);
	case NODE_CALL:
		for (size_t i = 0; i < n->call.arg_count; i++)
			link = tasks_find(ev, n->call.args[i], link);
		return link;
	default: return link; /* selectors; a subquery has steps of its own */
	}
}

static bool task_begin(struct fold_task *task, const struct grid *grid, const struct series_windows *windows)
{
	struct evaluation *ev = task->ev;
	size_t count = windows->count + 1;
	task->grid = grid;
	task->shape.windows = *windows;
	task->shape.sampled = arena_alloc(ev->arena, count * sizeof(double));
	task->shape.to_start = arena_alloc(ev->arena, count * sizeof(double));
	task->shape.to_end = arena_alloc(ev->arena, count * sizeof(double));
	task->shape.factor = arena_alloc(ev->arena, count * sizeof(double));
	task->taker = task->node->kind == NODE_AGGREGATE ? stream_begin(ev, task->node, grid) : columns_begin(ev, task->call, grid);
	return (task->values = values_new(ev, grid->steps)) != NULL;
}

static bool windows_equal(const struct series_windows *a, const struct series_windows *b)
{
	return a->first_end_ms == b->first_end_ms && a->step_ms == b->step_ms && a->range_ms == b->range_ms && a->count == b->count;
}

/* Those that can be evaluated with it: of the same windows. False: an error in one of them. */
static bool tasks_together(
	struct evaluation *ev, struct fold_task *first, const struct grid *grid, struct fold_task **together, size_t *count)
{
	struct series_windows windows, other;
	*count = 1;
	together[0] = first;
	if (!range_windows(ev, node_unwrap(first->call->call.args[0]), grid, &windows) || !task_begin(first, grid, &windows))
		return false;
	for (struct fold_task *task = ev->tasks; task && *count < STORE_SELECTIONS_MAX; task = task->next) {
		if (task == first || task->ready)
			continue;
		if (!range_windows(ev, node_unwrap(task->call->call.args[0]), grid, &other))
			return false;
		if (!windows_equal(&windows, &other))
			continue;
		together[(*count)++] = task;
		if (!task_begin(task, grid, &windows))
			return false;
	}
	return true;
}

static void task_end(struct fold_task *task, bool ok, bool done)
{
	enum fold_status status = task->taker ? task->taker->end(task->taker, ok && done ? &task->result : NULL) : FOLD_FAILED;
	task->taker = NULL;
	task->ready = true;
	task->status = !ok ? FOLD_FAILED : !done ? FOLD_NOT_HERE : status;
}

static void task_run(struct evaluation *ev, struct fold_task *first, const struct grid *grid)
{
	struct fold_task *together[STORE_SELECTIONS_MAX];
	const struct promql_node *ranges[STORE_SELECTIONS_MAX];
	size_t count;
	bool falls = false, done = false, ok = tasks_together(ev, first, grid, together, &count);
	for (size_t i = 0; i < count; i++) {
		ranges[i] = node_unwrap(together[i]->call->call.args[0]);
		falls |= together[i]->call->call.function->needs_falls;
	}
	ok = ok && select_fold(ev, ranges, (void *const *)together, count, &first->shape.windows, falls, series_visit, &done);
	for (size_t i = 0; i < count; i++)
		ok = ok && !together[i]->failed;
	for (size_t i = 0; i < count; i++)
		task_end(together[i], ok, done);
}

enum fold_status fold_evaluate(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out)
{
	struct fold_task *task;
	if (!grid->steps || !ev->backend->ops->fold || !(task = task_new(ev, n)))
		return FOLD_NOT_HERE;
	if (!ev->tasks)
		tasks_find(ev, ev->root, &ev->tasks);
	for (struct fold_task *known = ev->tasks; known; known = known->next)
		task = known->node == n ? known : task;
	if (!task->ready)
		task_run(ev, task, grid);
	if (task->status == FOLD_DONE)
		*out = task->result;
	return task->status;
}
