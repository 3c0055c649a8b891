/* Engines: which exposed names carry which canonical metric. */
#include "catalog/load.h"

#include <math.h>

static const char *const engine_keys[] = { "engine", "title", "checked_up_to", "prefixes", "families", "labels", "no_labels", "exporter",
	"in_front", "complete", "variants", "scheduler_labels", "duplicate_labels", "writer_labels", "model_labels", "known", "valid",
	"metrics", "versions", "flavours", "companions", "disabled", NULL };

static struct engine_spec *engine_find(const struct catalog *c, struct str id)
{
	VEC_EACH (&c->engines, engine) {
		if (str_eq((*engine)->id, id))
			return *engine;
	}
	return NULL;
}

static struct engine_spec *engine_entry(struct loader *l, struct str id)
{
	struct engine_spec *engine = engine_find(l->catalog, id);

	if (!engine) {
		engine = ARENA_NEW(l->arena, struct engine_spec);
		engine->id = engine->title = id;
		VEC_PUSH(&l->catalog->engines, engine);
	}
	return engine;
}

static void engine_remove(struct catalog *c, const struct engine_spec *engine)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->engines.count; i++) {
		if (c->engines.items[i] != engine)
			c->engines.items[kept++] = c->engines.items[i];
	}
	c->engines.count = kept;
}

static struct engine_metric *engine_slot(struct engine_spec *engine, const struct metric_spec *metric)
{
	for (size_t i = 0; i < engine->metric_count; i++) {
		if (engine->metrics[i].metric == metric)
			return &engine->metrics[i];
	}
	return &engine->metrics[engine->metric_count++];
}

static bool load_engine_metrics(
	struct loader *l, const struct yaml *map, struct engine_spec *engine, const struct engine_defaults *defaults, struct error *e)
{
	const struct yaml *metrics = yaml_get(map, "metrics");

	if (!metrics)
		return true;
	if (!load_is_map(metrics, "metrics of an engine", e))
		return false;
	struct engine_metric *old = engine->metrics;

	engine->metrics = ARENA_ARRAY(l->arena, struct engine_metric, engine->metric_count + metrics->count);
	for (size_t i = 0; i < engine->metric_count; i++)
		engine->metrics[i] = old[i];
	YAML_EACH (metrics, node) {
		const struct metric_spec *metric = map_get(&l->catalog->metric_by_id, node->key);

		if (!metric) {
			yaml_error(node, e, "no canonical metric is called \"" STR_FMT "\"", STR_ARG(node->key));
			struct nearest near = { .best = nearest_metric(l->catalog, node->key) };

			nearest_hint(&near, e);
			return false;
		}
		struct engine_metric *entry = engine_slot(engine, metric);

		*entry = (struct engine_metric){ .metric = metric };
		if (!load_entry(l, node, engine, defaults, entry, e))
			return false;
	}
	return true;
}

/* ---- the engine ---- */

static bool load_engine_lists(struct loader *l, const struct yaml *map, struct engine_spec *engine, struct error *e)
{
	const struct {
		const char *key;
		struct str **items;
		size_t *count;
	} lists[] = {
		{ "prefixes", &engine->prefixes, &engine->prefix_count },
		{ "families", &engine->families, &engine->family_count },
		{ "labels", &engine->labels, &engine->label_count },
		{ "no_labels", &engine->no_labels, &engine->no_label_count },
		{ "complete", &engine->complete, &engine->complete_count },
		{ "variants", &engine->variants, &engine->variant_count },
		{ "scheduler_labels", &engine->scheduler_labels, &engine->scheduler_label_count },
		{ "duplicate_labels", &engine->duplicate_labels, &engine->duplicate_label_count },
		{ "writer_labels", &engine->writer_labels, &engine->writer_label_count },
		{ "model_labels", &engine->model_labels, &engine->model_label_count },
		{ "known", &engine->known, &engine->known_count },
	};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (!load_strings(l, map, lists[i].key, lists[i].items, lists[i].count, e))
			return false;
	}
	return true;
}

static bool load_engine_fields(struct loader *l, const struct yaml *map, struct engine_spec *engine, struct error *e)
{
	struct engine_defaults defaults = { .valid_low = -INFINITY, .valid_high = INFINITY };

	if (!yaml_get_str(map, "title", &engine->title, e) || !yaml_get_str(map, "checked_up_to", &engine->checked_up_to, e) ||
		!yaml_get_bool(map, "exporter", &engine->exporter, e) || !yaml_get_bool(map, "in_front", &engine->in_front, e) ||
		!load_valid(map, &defaults.valid_low, &defaults.valid_high, e) || !load_engine_lists(l, map, engine, e))
		return false;
	if (!engine->prefix_count && !engine->family_count)
		return yaml_error(map, e, "engine \"" STR_FMT "\" needs prefixes or families, else no page is ever recognised as its",
			STR_ARG(engine->id));
	return load_engine_metrics(l, map, engine, &defaults, e) && load_versions(l, map, engine, e) && load_flavours(l, map, engine, e) &&
	       load_companions(l, map, engine, e);
}

bool load_engine(struct loader *l, const struct yaml *map, struct error *e)
{
	struct str id;
	bool disabled = false;

	if (!load_is_map(map, "engines", e) || !load_id(map, "engine", &id, e) || !yaml_only(map, engine_keys, e) ||
		!load_first_in_file(l, map, "engine", id, e) || !yaml_get_bool(map, "disabled", &disabled, e))
		return false;
	struct engine_spec *engine = engine_entry(l, id);

	if (disabled) {
		engine_remove(l->catalog, engine);
		return true;
	}
	return load_engine_fields(l, map, engine, e);
}
