/* Samples out of the backend: instant selectors, range selectors, subqueries. */
#include "promql/evaluate.h"
#include "store/store.h"

/* Resolves offset and @ to: all steps at one time, or moved by an offset. */
struct moved {
	bool fixed;
	int64_t fixed_ms, offset_ms;
};

static bool shift_resolve(struct evaluation *ev, const struct promql_node *n, const struct shift *shift, struct moved *m)
{
	*m = (struct moved){ 0 };
	if (shift->has_offset && !evaluate_duration(ev, n, &shift->offset, true, &m->offset_ms))
		return false;
	m->fixed = shift->at != AT_NONE;
	int64_t at_ms = shift->at == AT_START ? ev->start_ms : shift->at == AT_END ? ev->end_ms : shift->at_ms;
	m->fixed_ms = at_ms - m->offset_ms;
	return true;
}

static int64_t moved_time(const struct moved *m, const struct grid *grid, size_t step)
{
	return m->fixed ? m->fixed_ms : grid_time(grid, step) - m->offset_ms;
}

/* The matchers of a selector, made for the query; to be ended by matchers_fini also after a failure. */
static struct matcher *matchers_init(struct evaluation *ev, const struct promql_node *n, size_t *made, bool *ok)
{
	size_t count = n->selector.matcher_count;
	struct matcher *matchers = ARENA_ARRAY(ev->arena, struct matcher, count);
	*ok = true;
	for (*made = 0; *ok && *made < count; *made += *ok) {
		const struct selector_matcher *m = &n->selector.matchers[*made];
		*ok = matcher_init(&matchers[*made], m->name, m->op, m->value, ev->error);
	}
	return matchers;
}

static void matchers_fini(struct matcher *matchers, size_t made)
{
	while (made)
		matcher_fini(&matchers[--made]);
}

static bool fetch(
	struct evaluation *ev, const struct promql_node *n, int64_t from_ms, int64_t to_ms, struct series_view **series, size_t *count)
{
	size_t made;
	bool ok;
	struct matcher *matchers = matchers_init(ev, n, &made, &ok);
	ok = ok && ev->backend->ops->select(ev->backend, ev->arena, matchers, made, from_ms, to_ms, series, count, ev->error);
	matchers_fini(matchers, made);
	return ok;
}

static bool selects_one_name(const struct promql_node *n)
{
	for (size_t i = 0; i < n->selector.matcher_count; i++)
		if (n->selector.matchers[i].op == MATCH_EQ && str_eq(n->selector.matchers[i].name, LABEL_NAME))
			return true;
	return false;
}

/* ---- instant selectors ---- */

/* For each step the newest sample in (time - lookback, time], unless that is a stale marker. */
static size_t column_fill(const struct evaluation *ev, const struct series_view *s, const struct moved *moved, const struct grid *grid,
	bool timestamps, double *values)
{
	size_t next = 0, points = 0; /* next: first sample after the step's time */
	for (size_t i = 0; i < grid->steps; i++) {
		int64_t at = moved_time(moved, grid, i);
		while (next < s->count && s->t[next] <= at)
			next++;
		if (!next || s->t[next - 1] <= at - ev->options->lookback_ms || number_is_stale(s->v[next - 1]))
			continue;
		values[i] = timestamps ? (double)s->t[next - 1] / 1000 : s->v[next - 1];
		points++;
	}
	return points;
}

bool select_vector(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, bool timestamps, struct frame *out)
{
	struct moved moved;
	struct series_view *series;
	size_t count = 0;
	frame_init_vector(ev, out, 0);
	if (!grid->steps)
		return true;
	if (!shift_resolve(ev, n, &n->selector.shift, &moved))
		return false;
	int64_t from_ms = moved_time(&moved, grid, 0) - ev->options->lookback_ms + 1, to_ms = moved_time(&moved, grid, grid->steps - 1);
	if (!fetch(ev, n, from_ms, to_ms, &series, &count))
		return false;
	frame_init_vector(ev, out, count);
	out->one_name = selects_one_name(n);
	double *values = NULL; /* of a series without points is used again */
	for (size_t i = 0; i < count; i++) {
		if (!values && !(values = values_new(ev, grid->steps)))
			return false;
		size_t points = column_fill(ev, &series[i], &moved, grid, timestamps, values);
		if (!points)
			continue;
		out->columns[out->count++] = (struct column){ series[i].labels, false, values };
		values = NULL;
		if (!evaluation_hold(ev, points) || (i % 256 == 0 && !evaluation_in_time(ev)))
			return false;
	}
	return true;
}

/* ---- range selectors ---- */

static bool has_stale(const struct series_view *s)
{
	size_t stale = 0;
	for (size_t i = 0; i < s->count; i++)
		stale += number_is_stale(s->v[i]);
	return stale > 0;
}

/* A copy without stale markers; they do not end a range. */
static void strip_stale(struct evaluation *ev, struct series_view *s)
{
	int64_t *t = arena_alloc(ev->arena, s->count * sizeof *t);
	double *v = arena_alloc(ev->arena, s->count * sizeof *v);
	size_t kept = 0;
	for (size_t i = 0; i < s->count; i++) {
		if (number_is_stale(s->v[i]))
			continue;
		t[kept] = s->t[i];
		v[kept++] = s->v[i];
	}
	*s = (struct series_view){ s->labels, t, v, kept };
}

/* Where the windows are. */
static bool range_resolve(struct evaluation *ev, const struct promql_node *n, struct range_source *out)
{
	struct moved moved;
	const struct promql_node *selector = n->range.selector;
	if (!evaluate_duration(ev, n, &n->range.range, false, &out->range_ms) || !shift_resolve(ev, n, &selector->selector.shift, &moved))
		return false;
	out->fixed = moved.fixed;
	out->end_ms = moved.fixed_ms;
	out->offset_ms = moved.offset_ms;
	out->one_name = selects_one_name(selector);
	return true;
}

bool range_has_one_name(const struct promql_node *range)
{
	return selects_one_name(range->range.selector);
}

bool range_windows(struct evaluation *ev, const struct promql_node *range, const struct grid *grid, struct series_windows *w)
{
	struct range_source source = { 0 };
	if (!range_resolve(ev, range, &source))
		return false;
	*w = (struct series_windows){ range_end(&source, grid, 0), source.fixed ? 0 : grid->step_ms, source.range_ms,
		source.fixed ? 1 : grid->steps };
	return true;
}

bool select_fold(struct evaluation *ev, const struct promql_node *const *ranges, void *const *contexts, size_t count,
	const struct series_windows *windows, bool falls, series_fold_visit *visit, bool *done)
{
	struct store_selection *selections = ARENA_ARRAY(ev->arena, struct store_selection, count);
	struct matcher **made = ARENA_ARRAY(ev->arena, struct matcher *, count);
	bool ok = true;
	for (size_t i = 0; ok && i < count; i++) {
		made[i] = matchers_init(ev, ranges[i]->range.selector, &selections[i].matcher_count, &ok);
		selections[i].matchers = made[i];
		selections[i].context = contexts[i];
	}
	if (ok)
		*done = ev->backend->ops->fold(ev->backend, ev->arena, selections, count, windows, falls, visit);
	for (size_t i = 0; i < count; i++)
		matchers_fini(made[i], selections[i].matcher_count);
	return ok;
}

static bool select_stored(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct range_source *out)
{
	const struct promql_node *selector = n->range.selector;
	if (!range_resolve(ev, n, out))
		return false;
	int64_t from_ms = range_end(out, grid, 0) - out->range_ms + 1, to_ms = range_end(out, grid, grid->steps - 1);
	size_t count = 0, kept = 0;
	if (!fetch(ev, selector, from_ms, to_ms, &out->series, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		struct series_view s = out->series[i];
		if (has_stale(&s))
			strip_stale(ev, &s);
		if (s.count)
			out->series[kept++] = s;
	}
	out->count = kept;
	out->nameless = ARENA_ARRAY(ev->arena, bool, kept + 1);
	return true;
}

/* ---- subqueries ---- */

/* Multiples of the step in the windows of all outer steps: after the first window's start, up to the last one's end. */
static struct grid subquery_grid(int64_t first_end_ms, int64_t last_end_ms, int64_t range_ms, int64_t step_ms)
{
	int64_t before = first_end_ms - range_ms, start = step_ms * (before / step_ms);
	if (start <= before)
		start += step_ms;
	return (struct grid){ start, step_ms, last_end_ms < start ? 0 : (size_t)((last_end_ms - start) / step_ms) + 1 };
}

static bool select_computed(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct range_source *out)
{
	struct moved moved;
	struct frame inner;
	int64_t step_ms = ev->options->subquery_step_ms;
	if (!evaluate_duration(ev, n, &n->subquery.range, false, &out->range_ms) || !shift_resolve(ev, n, &n->subquery.shift, &moved) ||
		(n->subquery.has_step && !evaluate_duration(ev, n, &n->subquery.step, false, &step_ms)))
		return false;
	out->fixed = moved.fixed;
	out->end_ms = moved.fixed_ms;
	out->offset_ms = moved.offset_ms;
	struct grid g = subquery_grid(moved_time(&moved, grid, 0), moved_time(&moved, grid, grid->steps - 1), out->range_ms, step_ms);
	if (g.steps > ev->options->max_samples)
		return evaluation_fail(ev, n, "query processing would load too many samples into memory in query execution");
	if (!evaluate(ev, n->subquery.expression, &g, &inner))
		return false;
	int64_t *times = arena_alloc(ev->arena, (g.steps + 1) * sizeof *times);
	for (size_t i = 0; i < g.steps; i++)
		times[i] = grid_time(&g, i);
	out->one_name = inner.one_name;
	out->series = arena_alloc(ev->arena, (inner.count + 1) * sizeof *out->series);
	out->nameless = arena_alloc(ev->arena, inner.count + 1);
	for (size_t i = 0; i < inner.count; i++) {
		const struct labels *labels = inner.columns[i].labels ? inner.columns[i].labels : ev->no_labels;
		struct series_view s = column_points(ev, &inner.columns[i], labels, times, g.steps);
		if (!s.count)
			continue;
		out->nameless[out->count] = inner.columns[i].nameless;
		out->series[out->count++] = s;
	}
	return true;
}

bool select_range(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct range_source *out)
{
	*out = (struct range_source){ 0 };
	if (!grid->steps) {
		out->range_ms = 1;
		return true;
	}
	return n->kind == NODE_RANGE ? select_stored(ev, n, grid, out) : select_computed(ev, n, grid, out);
}

int64_t range_end(const struct range_source *s, const struct grid *grid, size_t step)
{
	return s->fixed ? s->end_ms : grid_time(grid, step) - s->offset_ms;
}
