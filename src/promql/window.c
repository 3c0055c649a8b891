/* Functions of a range vector: a window is moved over each series, once for all steps. */
#include "promql/window.h"
#include "base/vec.h"
#include "promql/fold.h"

enum { LOOKED_MOST = 1 << 20 }; /* samples between two looks at the clock */

struct walker { /* the window's place in a series; both ends only move forward */
	const struct series_view *s;
	size_t first, next, first_stride, next_stride;
};

/* First sample after t_ms, from `at` on. Steps are even, so the distance of the last move is tried first. */
static size_t walk(const struct series_view *s, size_t at, size_t *stride, int64_t t_ms)
{
	size_t from = at, guess = at + *stride;
	if (guess > at && guess < s->count && s->t[guess - 1] <= t_ms)
		at = guess;
	while (at < s->count && s->t[at] <= t_ms)
		at++;
	*stride = at - from;
	return at;
}

static void walker_move(struct walker *w, int64_t start_ms, int64_t end_ms)
{
	w->first = walk(w->s, w->first, &w->first_stride, start_ms);
	w->next = walk(w->s, w->next < w->first ? w->first : w->next, &w->next_stride, end_ms);
}

static bool ever_falls(const struct series_view *s)
{
	size_t falls = 0;
	for (size_t i = 1; i < s->count; i++)
		falls += s->v[i] < s->v[i - 1];
	return falls > 0;
}

struct window_call {
	struct evaluation *ev;
	const struct promql_node *n;
	const struct grid *grid;
	struct range_source source;
	struct frame args[2];
	size_t arg_count;
	double *scratch;
};

static bool evaluate_arguments(struct window_call *call)
{
	const struct promql_node *n = call->n;
	for (size_t i = 0; i < n->call.arg_count; i++) {
		const struct promql_node *arg = node_unwrap(n->call.args[i]);
		bool ok = arg->type == PROMQL_MATRIX ? select_range(call->ev, arg, call->grid, &call->source)
						     : evaluate(call->ev, arg, call->grid, &call->args[call->arg_count++]);
		if (!ok)
			return false;
	}
	return true;
}

/* One series through all steps; false when over a limit. `points` counts the results. */
static bool series_evaluate(struct window_call *call, size_t series, double *values, size_t *points)
{
	const struct series_view *s = &call->source.series[series];
	window_function *f = call->n->call.function->window;
	struct walker walker = { .s = s };
	struct window w = { .range_ms = call->source.range_ms, .scratch = call->scratch };
	w.may_fall = (f == window_rate || f == window_increase) && ever_falls(s);
	size_t largest = 0, looked = 0;
	for (size_t i = 0; i < call->grid->steps; i++) {
		w.end_ms = range_end(&call->source, call->grid, i);
		w.start_ms = w.end_ms - w.range_ms;
		w.eval_ms = grid_time(call->grid, i);
		walker_move(&walker, w.start_ms, w.end_ms);
		w.t = s->t + walker.first;
		w.v = s->v + walker.first;
		w.count = walker.next - walker.first;
		if (!w.count)
			continue;
		looked += w.count;
		if (looked > LOOKED_MOST) { /* one series can be all of a long query */
			looked = 0;
			if (!evaluation_in_time(call->ev))
				return false;
		}
		for (size_t a = 0; a < call->arg_count; a++)
			w.args[a] = scalar_at(&call->args[a], i);
		if (f(&w, &values[i]))
			++*points;
		largest = w.count > largest ? w.count : largest;
	}
	bool ok = evaluation_hold(call->ev, largest + *points);
	call->ev->samples -= largest;
	return ok;
}

/* Names that do not look like a counter's, once per name. */
static void note_no_counter(struct evaluation *ev, const struct promql_node *n, const struct labels *labels)
{
	static const char *const endings[] = { "_total", "_sum", "_count", "_bucket" };
	struct str name = labels_name(labels);
	for (size_t i = 0; i < 4; i++)
		if (str_ends(name, str_from(endings[i])))
			return;
	if (name.len)
		annotate(ev, n, NOTE_INFO,
			"metric might not be a counter, name does not end in _total/_sum/_count/_bucket: \"" STR_FMT "\"", STR_ARG(name));
}

void window_note_counter(struct evaluation *ev, const struct promql_node *call, const struct labels *labels)
{
	window_function *f = call->call.function->window;
	if (f == window_rate || f == window_increase)
		note_no_counter(ev, call->call.args[0], labels);
}

static void window_notes(struct window_call *call, struct frame *out)
{
	struct str name = str_from(call->n->call.function->name);
	const struct promql_node *n = call->n;
	for (size_t i = 0; i < (out->one_name && out->count ? 1 : out->count); i++)
		window_note_counter(call->ev, n, out->columns[i].labels);
	if (str_is(name, "quantile_over_time") && call->source.count)
		for (size_t i = 0; i < call->grid->steps; i++)
			annotate_quantile(call->ev, n->call.args[0], scalar_at(&call->args[0], i));
}

static bool arguments_valid(struct window_call *call)
{
	if (!str_is(str_from(call->n->call.function->name), "double_exponential_smoothing") || !call->source.count)
		return true;
	for (size_t i = 0; i < call->grid->steps; i++)
		for (size_t a = 0; a < 2; a++) {
			double x = scalar_at(&call->args[a], i);
			if (!(x > 0 && x < 1))
				return evaluation_fail(call->ev, call->n, "invalid %s factor. Expected: 0 < %s < 1, got: %f",
					a ? "trend" : "smoothing", a ? "tf" : "sf", x);
		}
	return true;
}

/* ---- folded: without the samples ---- */

struct columns_taking {
	struct fold_taker taker;
	struct evaluation *ev;
	const struct promql_node *call;
	size_t steps;
	VEC(struct column) columns;
};

static bool column_take(struct fold_taker *taker, const struct labels *labels, const double *values, size_t points)
{
	struct columns_taking *c = (struct columns_taking *)taker;
	double *kept = values_new(c->ev, c->steps);
	if (!kept || !evaluation_hold(c->ev, points))
		return false;
	memcpy(kept, values, c->steps * sizeof *kept);
	VEC_PUSH(&c->columns, (struct column){ labels, false, kept });
	return true;
}

static enum fold_status columns_end(struct fold_taker *taker, struct frame *out)
{
	struct columns_taking *c = (struct columns_taking *)taker;
	if (out) {
		frame_init_vector(c->ev, out, c->columns.count);
		if (c->columns.count)
			memcpy(out->columns, c->columns.items, c->columns.count * sizeof *out->columns);
		out->count = c->columns.count;
		out->one_name = range_has_one_name(node_unwrap(c->call->call.args[0]));
	}
	VEC_FREE(&c->columns);
	return FOLD_DONE;
}

struct fold_taker *columns_begin(struct evaluation *ev, const struct promql_node *call, const struct grid *grid)
{
	struct columns_taking *c = ARENA_NEW(ev->arena, struct columns_taking);
	*c = (struct columns_taking){ .taker = { column_take, columns_end }, .ev = ev, .call = call, .steps = grid->steps };
	return &c->taker;
}

bool evaluate_window_call(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out)
{
	struct window_call call = { .ev = ev, .n = n, .grid = grid };
	enum fold_status folded = fold_evaluate(ev, n, grid, out);
	if (folded == FOLD_FAILED)
		return false;
	if (folded == FOLD_DONE) {
		window_notes(&call, out);
		return n->call.function->keeps_name || frame_drop_names(ev, n, out, grid->steps);
	}
	if (!evaluate_arguments(&call) || !arguments_valid(&call))
		return false;
	size_t longest = 0, count = call.source.count;
	for (size_t i = 0; i < count; i++)
		longest = call.source.series[i].count > longest ? call.source.series[i].count : longest;
	call.scratch = arena_alloc(ev->arena, (longest + 1) * sizeof *call.scratch);
	frame_init_vector(ev, out, count);
	out->one_name = call.source.one_name;
	double *values = NULL;
	for (size_t i = 0; i < count; i++) {
		size_t points = 0;
		if (!values && !(values = values_new(ev, grid->steps)))
			return false;
		if (!series_evaluate(&call, i, values, &points) || (i % 256 == 0 && !evaluation_in_time(ev)))
			return false;
		if (!points)
			continue;
		out->columns[out->count++] = (struct column){ call.source.series[i].labels, call.source.nameless[i], values };
		values = NULL;
	}
	window_notes(&call, out);
	return n->call.function->keeps_name || frame_drop_names(ev, n, out, grid->steps);
}
