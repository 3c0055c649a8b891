/* Engines: which exposed names carry which canonical metric. */
#include "catalog/load.h"

#include <math.h>

static const char *const engine_keys[] = { "engine", "title", "checked_up_to", "prefixes", "families", "labels", "no_labels", "exporter",
	"in_front", "complete", "variants", "scheduler_labels", "duplicate_labels", "writer_labels", "model_labels", "known", "valid",
	"metrics", "versions", "flavours", "companions", "disabled", NULL };
static const char *const entry_keys[] = { "names", "optional", "hint", "gone", "not_in", NULL };
static const char *const name_keys[] = { "name", "since", "until", "scale", "where", "labels", "valid", "invalid", "value_labels", "note",
	"deprecated", NULL };

/* What an engine's names share unless they say otherwise. */
struct engine_defaults {
	double valid_low, valid_high;
	struct str invalid_reason;
};

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

/* ---- one exposed name ---- */

/* valid: [low, high]; either may be left out with ".inf" or "-.inf" as YAML writes them. */
static bool load_valid(const struct yaml *map, double *low, double *high, struct error *e)
{
	const struct yaml *list = yaml_get(map, "valid");
	double *ends[2] = { low, high };
	size_t i = 0;

	if (!list)
		return true;
	if (list->kind != YAML_LIST || list->count != 2)
		return yaml_error(list, e, "valid: expected [lowest, highest]");
	YAML_EACH (list, item) {
		double *end = ends[i++];

		if (item->kind == YAML_SCALAR && str_is(item->text, ".inf"))
			*end = INFINITY;
		else if (item->kind == YAML_SCALAR && str_is(item->text, "-.inf"))
			*end = -INFINITY;
		else if (item->kind != YAML_SCALAR || !number_parse(item->text, end) || isnan(*end))
			return yaml_error(item, e, "valid: expected a number");
	}
	return *low <= *high || yaml_error(list, e, "valid: the lowest is above the highest");
}

static bool load_where(const struct yaml *map, struct name_spec *name, struct error *e)
{
	const struct yaml *where = yaml_get(map, "where");

	if (!where)
		return true;
	if (!load_is_map(where, "where", e))
		return false;
	YAML_EACH (where, item) {
		if (item->kind != YAML_SCALAR)
			return yaml_error(item, e, "where: expected label: \"value|value\"");
		if (name->where_count == ARRAY_LEN(name->where))
			return yaml_error(item, e, "where: at most %zu labels", ARRAY_LEN(name->where));
		name->where[name->where_count].label = item->key;
		name->where[name->where_count++].value = item->text;
	}
	return true;
}

static bool load_labels(const struct yaml *map, struct name_spec *name, struct error *e)
{
	const struct yaml *labels = yaml_get(map, "labels");

	if (!labels)
		return true;
	if (!load_is_map(labels, "labels", e))
		return false;
	YAML_EACH (labels, item) {
		if (item->kind != YAML_SCALAR || !item->text.len)
			return yaml_error(item, e, "labels: expected canonical: exposed");
		if (name->label_count == ARRAY_LEN(name->labels))
			return yaml_error(item, e, "labels: at most %zu labels", ARRAY_LEN(name->labels));
		name->labels[name->label_count].canonical = item->key;
		name->labels[name->label_count++].exposed = item->text;
	}
	return true;
}

static bool load_value_labels(const struct yaml *map, struct name_spec *name, struct error *e)
{
	const struct yaml *labels = yaml_get(map, "value_labels");
	size_t i = 0;

	if (!labels)
		return true;
	if (labels->kind != YAML_LIST || !labels->count || labels->count > ARRAY_LEN(name->value_labels))
		return yaml_error(labels, e, "value_labels: expected one or two label names");
	YAML_EACH (labels, item) {
		if (item->kind != YAML_SCALAR || !item->text.len)
			return yaml_error(item, e, "value_labels: expected a label name");
		name->value_labels[i++] = item->text;
	}
	return true;
}

static bool load_name_map(const struct yaml *map, struct name_spec *name, struct error *e)
{
	if (!load_is_map(map, "names", e) || !yaml_only(map, name_keys, e))
		return false;
	if (!yaml_get_str(map, "name", &name->name, e) || !yaml_get_str(map, "since", &name->since, e) ||
		!yaml_get_str(map, "until", &name->until, e) || !yaml_get_double(map, "scale", &name->scale, e) ||
		!yaml_get_str(map, "invalid", &name->invalid_reason, e) || !yaml_get_str(map, "note", &name->note, e) ||
		!yaml_get_bool(map, "deprecated", &name->deprecated, e))
		return false;
	if (!load_valid(map, &name->valid_low, &name->valid_high, e) || !load_where(map, name, e) || !load_labels(map, name, e) ||
		!load_value_labels(map, name, e))
		return false;
	if (!name->name.len)
		return yaml_error(map, e, "the key \"name\" is missing");
	return (isfinite(name->scale) && name->scale > 0) || yaml_error(map, e, "scale: expected a number above 0");
}

static bool load_name(const struct yaml *node, const struct engine_defaults *defaults, struct name_spec *name, struct error *e)
{
	*name = (struct name_spec){
		.scale = 1, .valid_low = defaults->valid_low, .valid_high = defaults->valid_high, .invalid_reason = defaults->invalid_reason
	};
	if (node->kind != YAML_SCALAR)
		return load_name_map(node, name, e);
	name->name = node->text;
	return name->name.len || yaml_error(node, e, "an exposed name is empty");
}

/* ---- the entry of one canonical metric ---- */

/* A name under the main prefix is listed in every spelling of the prefix, so that each has its own entry. */
static size_t name_spellings(struct loader *l, const struct engine_spec *engine, const struct name_spec *name, struct name_spec *out)
{
	size_t count = 0;

	out[count++] = *name;
	if (!engine->prefix_count || !str_starts(name->name, engine->prefixes[0]))
		return count;
	for (size_t i = 0; i < engine->variant_count; i++) {
		struct str rest = str_skip(name->name, engine->prefixes[0].len);

		out[count] = *name;
		out[count++].name = arena_printf(l->arena, STR_FMT STR_FMT, STR_ARG(engine->variants[i]), STR_ARG(rest));
	}
	return count;
}

static bool load_names(struct loader *l, const struct yaml *list, const struct engine_spec *engine, const struct engine_defaults *defaults,
	struct engine_metric *entry, struct error *e)
{
	if (!load_is_list(list, "names", e))
		return false;
	if (!list->count)
		return yaml_error(list, e, "names: the list is empty");
	entry->names = ARENA_ARRAY(l->arena, struct name_spec, list->count * (engine->variant_count + 1));
	entry->name_count = 0;
	YAML_EACH (list, node) {
		struct name_spec name;

		if (!load_name(node, defaults, &name, e))
			return false;
		entry->name_count += name_spellings(l, engine, &name, entry->names + entry->name_count);
	}
	return true;
}

static bool load_not_in(const struct yaml *map, struct engine_metric *entry, struct error *e)
{
	const struct yaml *not_in = yaml_get(map, "not_in");

	if (!not_in)
		return true;
	if (!load_is_map(not_in, "not_in", e))
		return false;
	YAML_EACH (not_in, item) {
		if (item->kind != YAML_SCALAR || !item->text.len)
			return yaml_error(item, e, "not_in: expected flavour: why");
		if (entry->not_in_count == ARRAY_LEN(entry->not_in))
			return yaml_error(item, e, "not_in: at most %zu flavours", ARRAY_LEN(entry->not_in));
		entry->not_in[entry->not_in_count].flavour = item->key;
		entry->not_in[entry->not_in_count++].why = item->text;
	}
	return true;
}

static bool load_entry(struct loader *l, const struct yaml *node, const struct engine_spec *engine, const struct engine_defaults *defaults,
	struct engine_metric *entry, struct error *e)
{
	if (node->kind == YAML_LIST)
		return load_names(l, node, engine, defaults, entry, e);
	if (!load_is_map(node, "metrics", e) || !yaml_only(node, entry_keys, e))
		return false;
	const struct yaml *names = yaml_get(node, "names");

	if (!names)
		return yaml_error(node, e, "the key \"names\" is missing");
	return load_names(l, names, engine, defaults, entry, e) && yaml_get_bool(node, "optional", &entry->optional, e) &&
	       yaml_get_str(node, "hint", &entry->optional_hint, e) && yaml_get_str(node, "gone", &entry->gone_reason, e) &&
	       load_not_in(node, entry, e);
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

/* ---- versions, flavours, companions ---- */

#define CONDITION_KEYS "seen", "label", "no_label", "missing", "foreign"
static const char *const mark_keys[] = { CONDITION_KEYS, "flavour", "from", "to", NULL };
static const char *const flavour_keys[] = { CONDITION_KEYS, "name", "versionless", NULL };
static const char *const companion_keys[] = { "exporter", "why", "not_in", NULL };

static bool load_condition(const struct yaml *map, struct page_condition *when, struct error *e)
{
	if (!yaml_get_str(map, "seen", &when->seen, e) || !yaml_get_str(map, "label", &when->label, e) ||
		!yaml_get_str(map, "no_label", &when->no_label, e) || !yaml_get_str(map, "missing", &when->missing, e) ||
		!yaml_get_bool(map, "foreign", &when->foreign, e))
		return false;
	if ((when->label.len || when->no_label.len) && !when->seen.len)
		return yaml_error(map, e, "label and no_label need \"seen\": the families that are looked at");
	return true;
}

static bool load_versions(struct loader *l, const struct yaml *map, struct engine_spec *engine, struct error *e)
{
	const struct yaml *list = yaml_get(map, "versions");

	if (!list)
		return true;
	if (!load_is_list(list, "versions", e))
		return false;
	engine->marks = ARENA_ARRAY(l->arena, struct version_mark, list->count);
	engine->mark_count = 0;
	YAML_EACH (list, node) {
		struct version_mark *mark = &engine->marks[engine->mark_count++];

		if (!load_is_map(node, "versions", e) || !yaml_only(node, mark_keys, e) || !load_condition(node, &mark->when, e) ||
			!yaml_get_str(node, "flavour", &mark->flavour, e) || !yaml_get_str(node, "from", &mark->from, e) ||
			!yaml_get_str(node, "to", &mark->to, e))
			return false;
		if (!mark->when.seen.len && !mark->when.missing.len && !mark->flavour.len)
			return yaml_error(node, e, "a version mark needs seen, missing or flavour");
		if (!mark->from.len && !mark->to.len)
			return yaml_error(node, e, "a version mark needs from or to");
	}
	return true;
}

static bool load_flavours(struct loader *l, const struct yaml *map, struct engine_spec *engine, struct error *e)
{
	const struct yaml *list = yaml_get(map, "flavours");

	if (!list)
		return true;
	if (!load_is_list(list, "flavours", e))
		return false;
	engine->flavours = ARENA_ARRAY(l->arena, struct flavour_spec, list->count);
	engine->flavour_count = 0;
	YAML_EACH (list, node) {
		struct flavour_spec *flavour = &engine->flavours[engine->flavour_count++];

		if (!load_is_map(node, "flavours", e) || !yaml_only(node, flavour_keys, e) || !load_condition(node, &flavour->when, e) ||
			!yaml_get_str(node, "name", &flavour->name, e) || !yaml_get_bool(node, "versionless", &flavour->versionless, e))
			return false;
		if (!flavour->name.len)
			return yaml_error(node, e, "the key \"name\" is missing");
		if (!flavour->when.seen.len && !flavour->when.missing.len && !flavour->when.foreign)
			return yaml_error(node, e, "a flavour needs seen, missing or foreign");
	}
	return true;
}

static bool load_companions(struct loader *l, const struct yaml *map, struct engine_spec *engine, struct error *e)
{
	const struct yaml *list = yaml_get(map, "companions");

	if (!list)
		return true;
	if (!load_is_list(list, "companions", e))
		return false;
	engine->companions = ARENA_ARRAY(l->arena, struct companion_spec, list->count);
	engine->companion_count = 0;
	YAML_EACH (list, node) {
		struct companion_spec *companion = &engine->companions[engine->companion_count++];
		struct str *not_in = NULL;

		if (!load_is_map(node, "companions", e) || !yaml_only(node, companion_keys, e) ||
			!load_id(node, "exporter", &companion->exporter, e) || !yaml_get_str(node, "why", &companion->why, e) ||
			!load_strings(l, node, "not_in", &not_in, &companion->not_in_count, e))
			return false;
		if (companion->not_in_count > ARRAY_LEN(companion->not_in))
			return yaml_error(node, e, "not_in: at most %zu flavours", ARRAY_LEN(companion->not_in));
		for (size_t i = 0; i < companion->not_in_count; i++)
			companion->not_in[i] = not_in[i];
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
