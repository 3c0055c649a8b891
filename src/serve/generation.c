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

struct generation *generation_read(const struct serve_options *o, struct error *e)
{
	struct generation *g = NEW(struct generation);

	g->t_ms = clock_now_ms();
	arena_init(&g->arena);
	g->has_catalog = watch_catalog(&g->catalog, &g->arena, &o->watch, e);
	bool ok = g->has_catalog && named_read(g, o, e);

	if (ok && o->watch.config_file)
		ok = (g->config = config_read(o->watch.config_file, e)) != NULL;
	if (ok)
		return g;
	generation_free(g);
	return NULL;
}

void generation_start(struct generation *g, void (*changed)(void *context), void *context)
{
	/* Targets that were named are meant alone. */
	if (g->config && !g->named.count)
		g->discovery = discovery_new((const struct job *const *)g->config->jobs.items, g->config->jobs.count, changed, context);
}

void generation_free(struct generation *g)
{
	while (g) {
		struct generation *older = g->older;

		if (g->discovery)
			discovery_free(g->discovery);
		config_free(g->config);
		if (g->has_catalog)
			catalog_fini(&g->catalog);
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
