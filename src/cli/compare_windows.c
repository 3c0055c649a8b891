/* Two windows of a recording, a store or a Prometheus, or two of its pools or targets in one window. */
#include "cli/compare.h"

#include <math.h>

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

static struct str view_name(struct arena *arena, const struct view *v, const char *window, const char *scope)
{
	return arena_printf(arena, "%s%s%s", scope ? scope : "", scope && window ? ", " : "", window ? window : "");
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

static void read_view(struct side *s, struct comparison *c, struct view *v)
{
	const struct side_rates rates = { NAN, NAN };

	side_read(s, &c->arena, &v->watch.data.evidence, &v->watch.report->window, v->scope->name, &rates);
}

static void compare_views(struct comparison *c, struct view *a, struct view *b)
{
	const struct compare_arguments *args = c->arguments;
	struct given *g = ARENA_NEW(&c->arena, struct given);
	struct side *first = ARENA_NEW(&c->arena, struct side), *second = ARENA_NEW(&c->arena, struct side);

	read_view(first, c, a);
	read_view(second, c, b);
	side_pair(g, &c->arena, first, second);
	g->shares_one_load = args->a || args->b;
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
