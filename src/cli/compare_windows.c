/* Two windows of a recording, a store or a Prometheus, or two of its pools or targets in one window. */
#include "cli/compare.h"

#include "base/vec.h"

#include <math.h>

enum { CELLS_MAX = 128 };

/* Where a panel's figure comes from. */
static const struct {
	const char *panel, *signal;
	double scale;
} sources[] = {
	{ "ttft_p50", "ttft_p50", 1000 },
	{ "ttft_p90", "ttft_p90", 1000 },
	{ "ttft_p99", "ttft_p99", 1000 },
	{ "ttft_mean", "ttft_mean", 1000 },
	{ "tpot_p50", "tpot_p50", 1000 },
	{ "tpot_p99", "tpot_p99", 1000 },
	{ "tpot_mean", "tpot_mean", 1000 },
	{ "e2e_p50", "e2e_p50", 1000 },
	{ "e2e_p99", "e2e_p99", 1000 },
	{ "queue_mean", "queue_mean", 1000 },
	{ "throughput_rps", "requests_per_s", 1 },
	{ "output_tokens_per_s", "generation_tps", 1 },
	{ "offered_rps", "arrivals_per_s", 1 },
	{ "error_share", "error_rate", 1 },
	{ "length_share", "truncated_rate", 1 },
	{ "preemptions", "preemptions_per_finished", 1000 },
	{ "prompt_tokens_mean", "prompt_len_mean", 1 },
	{ "output_tokens_mean", "output_len_mean", 1 },
	{ "cached_share", "prefix_hit_rate", 1 },
	{ "kv_usage_mean", "kv_usage_mean", 1 },
	{ "running", "running", 1 },
};

struct view {
	struct watch watch;
	bool open;
	const struct scope *scope;
};

static void view_close(struct view *v)
{
	if (v->open)
		watch_close(&v->watch);
}

static bool view_open(struct view *v, const struct watch_options *common, const char *window, const char *scope, struct error *e)
{
	struct watch_options options = *common;

	options.window = window;
	if (scope && scope[0] == '{') { /* a label set */
		if (!options.remote.url)
			return error_set(e, EXIT_USAGE,
				"a side as labels, %s, is for --prometheus; of a recording name a pool, target or engine", scope);
		options.remote.match = scope;
		scope = NULL;
	}
	if (!watch_open(&v->watch, &options, e))
		return false;
	v->open = true;
	if (v->watch.kind == WATCH_LIVE || v->watch.kind == WATCH_PAGE) {
		error_set(e, EXIT_USAGE, "windows are of the past: a recording, a store or --prometheus is wanted");
		error_hint(e, "goodput record keeps one; goodput bench --records compares single requests");
		return false;
	}
	if (!watch_gather(&v->watch, e) || !watch_report(&v->watch, e))
		return false;
	v->scope = report_scope(v->watch.report, str_from(scope ? scope : "fleet"));
	return v->scope || error_set(e, EXIT_USAGE, "no pool, target or engine is called \"%s\" in this window", scope ? scope : "fleet");
}

/* Bounds stay bounds: the value is then NaN. */
static struct estimate estimate_of(const struct reading *r, double scale)
{
	struct estimate e = { NAN, NAN, NAN, isnan(r->events) ? 0 : (size_t)r->events };

	switch (r->kind) {
	case READING_VALUE: e.value = r->low * scale; break;
	case READING_AT_LEAST: e.low = r->low * scale; return e;
	case READING_AT_MOST: e.high = r->high * scale; return e;
	case READING_BETWEEN:
		e.value = (r->low + r->high) / 2 * scale;
		e.low = r->low * scale;
		e.high = r->high * scale;
		return e;
	default: return e;
	}
	if (r->has_interval) {
		e.low = r->interval_low * scale;
		e.high = r->interval_high * scale;
	}
	return e;
}

static bool is_known(const struct reading *r)
{
	return r && r->kind != READING_UNKNOWN && r->kind != READING_TEXT && r->kind != READING_CELLS && !r->stale;
}

static const struct compare_spec *spec_of(const char *panel)
{
	for (const struct compare_spec *s = given_specs; s->id; s++)
		if (strcmp(s->id, panel) == 0)
			return s;
	return NULL;
}

static size_t take_figures(const struct view *a, const struct view *b, struct given_figure *figures)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		const struct reading *x = report_reading(a->watch.report, a->scope, sources[i].signal);
		const struct reading *y = report_reading(b->watch.report, b->scope, sources[i].signal);

		if (is_known(x) && is_known(y))
			figures[count++] = (struct given_figure){ spec_of(sources[i].panel), estimate_of(x, sources[i].scale),
				estimate_of(y, sources[i].scale) };
	}
	return count;
}

static void add_cells(const struct view *v, bool is_b, struct given_cell *cells, size_t *count)
{
	const struct reading *r = report_reading(v->watch.report, v->scope, "prompt_len_cells");

	for (size_t i = 0; r && r->kind == READING_CELLS && i < r->cell_count; i++) {
		size_t k = 0;

		while (k < *count && (cells[k].low != r->cells[i].low || cells[k].high != r->cells[i].high))
			k++;
		if (k == CELLS_MAX)
			return;
		if (k == *count)
			cells[(*count)++] = (struct given_cell){ r->cells[i].low, r->cells[i].high, 0, 0 };
		*(is_b ? &cells[k].b : &cells[k].a) += r->cells[i].count;
	}
}

static double reading_number(const struct view *v, const char *signal)
{
	const struct reading *r = report_reading(v->watch.report, v->scope, signal);

	return r && r->kind == READING_VALUE ? r->low : NAN;
}

static struct str view_name(struct arena *arena, const struct view *v, const char *window, const char *scope)
{
	return arena_printf(arena, "%s%s%s", scope ? scope : "", scope && window ? ", " : "", window ? window : "");
}

static double window_seconds(const struct view *v)
{
	return (double)(v->watch.report->window.to_ms - v->watch.report->window.from_ms) / 1000;
}

static void take_fact(struct comparison *c, const char *name, struct str a, struct str b)
{
	if (a.len || b.len)
		c->result.facts[c->result.fact_count++] =
			(struct compare_fact){ str_from(name), arena_str(&c->arena, a), arena_str(&c->arena, b), !str_eq(a, b) };
}

static struct str engine_of(const struct view *v)
{
	return v->watch.report->target_count ? v->watch.report->targets[0].engine : STR_EMPTY;
}

static void compare_views(struct comparison *c, const struct view *a, const struct view *b)
{
	const struct compare_arguments *args = c->arguments;
	struct given_figure *figures = ARENA_ARRAY(&c->arena, struct given_figure, ARRAY_LEN(sources));
	struct given_cell *cells = ARENA_ARRAY(&c->arena, struct given_cell, CELLS_MAX);
	struct given *g = ARENA_NEW(&c->arena, struct given);

	*g = (struct given){ .figures = figures,
		.figure_count = take_figures(a, b, figures),
		.cells = cells,
		.seconds_a = window_seconds(a),
		.seconds_b = window_seconds(b),
		.hit_rate_a = reading_number(a, "prefix_hit_rate"),
		.hit_rate_b = reading_number(b, "prefix_hit_rate"),
		.shares_one_load = args->a || args->b };
	add_cells(a, false, cells, &g->cell_count);
	add_cells(b, true, cells, &g->cell_count);
	compare_given(g, &c->policy, args->anyway, &c->result);
	take_fact(c, "engine", engine_of(a), engine_of(b));
	take_fact(c, "model", a->scope->model, b->scope->model);
	c->given = g;
}

bool compare_windows(struct comparison *c, const struct option_strings *operands, struct error *e)
{
	const struct compare_arguments *args = c->arguments;
	const char *before = args->before ? args->before : args->after, *after = args->after ? args->after : args->before;
	struct watch_options options;
	struct view a = { 0 }, b = { 0 };
	bool ok = source_to_options(&args->source, &c->arena, operands, &options, e) && view_open(&a, &options, before, args->a, e) &&
		  view_open(&b, &options, after, args->b, e);

	if (ok) {
		c->name_a = view_name(&c->arena, &a, before, args->a);
		c->name_b = view_name(&c->arena, &b, after, args->b);
		compare_views(c, &a, &b);
	}
	view_close(&a);
	view_close(&b);
	return ok;
}
