/* The entry of one canonical metric in an engine: its exposed names. */
#include "catalog/load.h"

#include <math.h>

static const char *const entry_keys[] = { "names", "optional", "hint", "gone", "not_in", NULL };
static const char *const name_keys[] = { "name", "since", "until", "scale", "where", "labels", "valid", "invalid", "value_labels", "note",
	"deprecated", NULL };

/* ---- one exposed name ---- */

/* valid: [low, high]; either may be left out with ".inf" or "-.inf" as YAML writes them. */
bool load_valid(const struct yaml *map, double *low, double *high, struct error *e)
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

bool load_entry(struct loader *l, const struct yaml *node, const struct engine_spec *engine, const struct engine_defaults *defaults,
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
