#include "serve/generation.h"

#include "base/clock.h"

/* The names that people gave are read as `check` reads them. */
static bool named_read(struct generation *g, const struct serve_options *o, struct error *e)
{
	struct watch_options options = o->watch;
	struct watch w;

	if (!options.target_count && !options.targets_file)
		return true;
	options.config_file = NULL;
	options.only_live = true;
	if (!watch_open(&w, &options, e))
		return false;
	VEC_EACH (&w.data.fleet.targets, t)
		VEC_PUSH(&g->named, (struct named_target){ arena_str(&g->arena, (*t)->name), arena_str(&g->arena, (*t)->url) });
	watch_close(&w);
	return true;
}

static bool rules_read(struct generation *g, const struct serve_options *o, const char *own_url, bool first, struct error *e)
{
	struct finding_options findings = finding_defaults;
	struct rules_options rules = rules_defaults;

	if (g->config) {
		rules.interval_ms = g->config->evaluation_interval_ms;
		rules.query_offset_ms = g->config->rule_query_offset_ms;
		rules.external = g->config->external_labels;
		rules.external_count = g->config->external_label_count;
		rules.relabel = &g->config->alert_relabel;
	}
	rules.restore = first;
	rules.external_url = arena_str(&g->arena, str_from(own_url));
	g->rules_options = rules;
	findings.rules = rules;
	findings.rules.interval_ms = o->evaluation_interval_ms;
	findings.command = arena_printf(&g->arena, "goodput check --prometheus %s", own_url);
	g->findings = finding_rules_new(&g->catalog, &findings);
	if (!g->config || !g->config->rule_files.count)
		return true;
	g->rules = rules_load(g->config->rule_files.items, g->config->rule_files.count, &rules, e);
	return g->rules != NULL;
}

struct generation *generation_read(const struct serve_options *o, const char *own_url, bool first, struct error *e)
{
	struct generation *g = NEW(struct generation);

	g->t_ms = clock_now_ms();
	arena_init(&g->arena);
	g->has_catalog = watch_catalog(&g->catalog, &g->arena, &o->watch, e);
	bool ok = g->has_catalog && named_read(g, o, e);

	if (ok && o->watch.config_file)
		ok = (g->config = config_read(o->watch.config_file, e)) != NULL;
	if (ok && rules_read(g, o, own_url, first, e))
		return g;
	generation_free(g);
	return NULL;
}

void generation_start(struct generation *g, bool scrapes, void (*changed)(void *context), void *context)
{
	/* Targets that were named are meant alone. */
	if (g->config && !g->named.count && scrapes)
		g->discovery = discovery_new((const struct job *const *)g->config->jobs.items, g->config->jobs.count, changed, context);
	if (g->config && g->config->alertmanagers.count)
		g->alertmanagers = discovery_new(
			(const struct job *const *)g->config->alertmanagers.items, g->config->alertmanagers.count, changed, context);
}

void generation_take_over(struct generation *g, struct generation *old)
{
	finding_rules_take_over(g->findings, old->findings);
	if (!old->rules)
		return;
	/* What the removed rules wrote must still be ended. */
	if (!g->rules)
		g->rules = rules_load(NULL, 0, &old->rules->options, NULL);
	rules_take_over(g->rules, old->rules);
}

static void catalog_forget(struct generation *g)
{
	finding_rules_free(g->findings);
	g->findings = NULL;
	if (g->has_catalog)
		catalog_fini(&g->catalog);
	g->has_catalog = false;
}

void generation_retire(struct generation *g, bool catalog_is_used)
{
	generation_stop(g);
	if (!catalog_is_used)
		catalog_forget(g);
}

void generation_stop(struct generation *g)
{
	if (g->discovery)
		discovery_free(g->discovery);
	if (g->alertmanagers)
		discovery_free(g->alertmanagers);
	g->discovery = g->alertmanagers = NULL;
}

void generation_free(struct generation *g)
{
	while (g) {
		struct generation *older = g->older;

		generation_stop(g);
		catalog_forget(g);
		rules_free(g->rules);
		config_free(g->config);
		VEC_FREE(&g->named);
		arena_fini(&g->arena);
		mem_free(g);
		g = older;
	}
}

static bool is_referred_to(const struct generation *g, const struct fleet *f)
{
	for (size_t i = 0; g->config && i < g->config->jobs.count; i++)
		VEC_EACH (&f->targets, t)
			if ((*t)->job == g->config->jobs.items[i])
				return true;
	return false;
}

void generation_forget(struct generation *g, const struct fleet *f, int64_t before_ms)
{
	for (struct generation **at = &g->older; *at;) {
		struct generation *old = *at;

		if (old->t_ms > before_ms || is_referred_to(old, f)) {
			at = &old->older;
			continue;
		}
		*at = old->older;
		old->older = NULL;
		generation_free(old);
	}
}
