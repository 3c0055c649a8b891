#include "promql/fold.h"

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

/* ---- evaluation ---- */

struct folding {
	struct evaluation *ev;
	const struct function *function;
	const struct grid *grid;
	fold_consumer *consumer;
	void *context;
	struct fold_shape shape;
	double *values;
	size_t series;
	bool failed;
};

static bool largest_fits(struct folding *f, const struct series_fold *s, size_t points)
{
	uint32_t largest = 0;
	for (size_t i = 0; i < f->shape.windows.count; i++)
		largest = s->count[i] > largest ? s->count[i] : largest;
	bool ok = evaluation_hold(f->ev, largest + points);
	f->ev->samples -= largest + points;
	return ok;
}

static bool series_visit(void *context, const struct series_fold *s)
{
	struct folding *f = context;
	size_t points = f->function->fold(&f->shape, s, f->values);
	if (f->shape.windows.count < f->grid->steps && points) { /* one window for all steps */
		for (size_t i = 1; i < f->grid->steps; i++)
			f->values[i] = f->values[0];
		points = f->grid->steps;
	}
	f->failed = !largest_fits(f, s, points) || (f->series++ % SERIES_BETWEEN_LOOKS == 0 && !evaluation_in_time(f->ev)) ||
		    (points && !f->consumer(f->context, s->labels, f->values, points));
	return !f->failed;
}

bool fold_suits(const struct promql_node *call)
{
	return call->kind == NODE_CALL && call->call.function->fold && call->call.arg_count == 1 &&
	       node_unwrap(call->call.args[0])->kind == NODE_RANGE;
}

static double *shape_room(struct evaluation *ev, size_t count)
{
	return arena_alloc(ev->arena, (count + 1) * sizeof(double));
}

enum fold_status fold_evaluate(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, fold_consumer *consumer,
	void *context, bool *one_name)
{
	struct folding f = { .ev = ev, .function = call->call.function, .grid = grid, .consumer = consumer, .context = context };
	const struct promql_node *range = node_unwrap(call->call.args[0]);
	struct range_source source;
	bool done;
	if (!(f.values = values_new(ev, grid->steps)))
		return FOLD_FAILED;
	f.shape.sampled = shape_room(ev, grid->steps);
	f.shape.to_start = shape_room(ev, grid->steps);
	f.shape.to_end = shape_room(ev, grid->steps);
	f.shape.factor = shape_room(ev, grid->steps);
	if (!select_fold(ev, range, grid, call->call.function->needs_falls, &source, &f.shape.windows, series_visit, &f, &done) || f.failed)
		return FOLD_FAILED;
	*one_name = source.one_name;
	return done ? FOLD_DONE : FOLD_NOT_HERE;
}
