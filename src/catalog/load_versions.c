/* Versions, flavours and companions of an engine. */
#include "catalog/load.h"

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

bool load_versions(struct loader *l, const struct yaml *map, struct engine_spec *engine, struct error *e)
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

bool load_flavours(struct loader *l, const struct yaml *map, struct engine_spec *engine, struct error *e)
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

bool load_companions(struct loader *l, const struct yaml *map, struct engine_spec *engine, struct error *e)
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
