/* Target groups, as static_configs write them and as files and HTTP servers tell them. */
#include "base/file.h"
#include "scrape/job.h"

#include <jansson.h>

static const struct label *read_labels(const struct yaml *map, struct arena *arena, size_t *count, struct error *e)
{
	*count = 0;
	if (!map || yaml_is_null(map))
		return arena_zalloc(arena, 1, sizeof(struct label));
	if (map->kind != YAML_MAP) {
		yaml_error(map, e, "labels: expected a map of name: value");
		return NULL;
	}
	/* A sample has room for 64 labels; job, instance, the name and the sample's own want some too. */
	enum { STATIC_LABELS_MAX = 48 };
	if (map->count > STATIC_LABELS_MAX) {
		yaml_error(map, e, "labels: at most %d", STATIC_LABELS_MAX);
		return NULL;
	}
	struct label *labels = ARENA_ARRAY(arena, struct label, map->count + 1);
	YAML_EACH (map, label) {
		if (label->kind != YAML_SCALAR || !label->key.len || !str_is_utf8(label->key) || !str_is_utf8(label->text)) {
			yaml_error(label, e, "labels: a value must be text");
			return NULL;
		}
		labels[(*count)++] = (struct label){ arena_str(arena, label->key), arena_str(arena, label->text) };
	}
	return labels;
}

static struct group_target address_target(struct arena *arena, struct str address)
{
	struct label *label = ARENA_NEW(arena, struct label);
	*label = (struct label){ STR("__address__"), arena_str(arena, address) };
	return (struct group_target){ label, 1 };
}

static bool group_read(struct target_group *g, const struct yaml *map, struct arena *arena, struct error *e)
{
	static const char *const keys[] = { "targets", "labels", NULL };
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "expected a group with targets: [host:port, ...]");
	const struct yaml *targets = yaml_get(map, "targets");
	if (!yaml_only(map, keys, e))
		return false;
	if (targets && !yaml_is_null(targets) && targets->kind != YAML_LIST)
		return yaml_error(targets, e, "targets: expected a list of host:port");
	struct group_target *list = ARENA_ARRAY(arena, struct group_target, targets ? targets->count + 1 : 1);
	YAML_EACH (targets, target) {
		if (target->kind != YAML_SCALAR || !target->text.len)
			return yaml_error(target, e, "a target must be host:port");
		if (str_find(target->text, '/') >= 0) {
			yaml_error(target, e, "\"" STR_FMT "\" is no valid target: it has a \"/\"", STR_ARG(str_head(target->text, 100)));
			error_hint(e, "a target is host:port; the scheme goes to scheme:, the path to metrics_path:");
			return false;
		}
		list[g->target_count++] = address_target(arena, target->text);
	}
	g->targets = list;
	g->labels = read_labels(yaml_get(map, "labels"), arena, &g->label_count, e);
	return g->labels != NULL;
}

bool groups_read_yaml(struct groups *g, const struct yaml *list, struct arena *arena, struct error *e)
{
	*g = (struct groups){ 0 };
	if (!list || yaml_is_null(list) || (list->kind == YAML_MAP && !list->count))
		return true;
	if (list->kind != YAML_LIST)
		return yaml_error(list, e, "expected a list of groups with targets: [host:port, ...]");
	g->items = ARENA_ARRAY(arena, struct target_group, list->count + 1);
	YAML_EACH (list, map)
		if (!group_read(&g->items[g->count++], map, arena, e))
			return false;
	return true;
}

static bool json_labels(struct target_group *g, const json_t *map, struct arena *arena, struct error *e)
{
	const char *key;
	json_t *value;
	struct label *labels = ARENA_ARRAY(arena, struct label, json_object_size(map) + 1);
	json_object_foreach((json_t *)map, key, value)
	{
		if (!json_is_string(value) || !*key)
			return error_set(e, EXIT_BAD_INPUT, "the label \"%.80s\" of a group is no text", key);
		labels[g->label_count++] = (struct label){ arena_str(arena, str_from(key)),
			arena_str(arena, str_of(json_string_value(value), json_string_length(value))) };
	}
	g->labels = labels;
	return true;
}

static bool json_group(struct target_group *g, const json_t *map, struct arena *arena, struct error *e)
{
	const json_t *targets = json_object_get(map, "targets"), *labels = json_object_get(map, "labels");
	bool labels_fit = !labels || json_is_null(labels) || json_is_object(labels);
	if (!json_is_object(map) || !labels_fit || (targets && !json_is_array(targets) && !json_is_null(targets)))
		return error_set(e, EXIT_BAD_INPUT, "a group must be {\"targets\": [\"host:port\", ...], \"labels\": {...}}");
	struct group_target *list = ARENA_ARRAY(arena, struct group_target, json_array_size(targets) + 1);
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *target = json_array_get(targets, i);
		if (!json_is_string(target) || !json_string_length(target))
			return error_set(e, EXIT_BAD_INPUT, "a target of a group is no text");
		list[g->target_count++] = address_target(arena, str_of(json_string_value(target), json_string_length(target)));
	}
	g->targets = list;
	return json_labels(g, labels, arena, e);
}

bool groups_read_json(struct groups *g, struct str text, struct arena *arena, struct error *e)
{
	json_error_t why;
	json_t *root = json_loadb(text.ptr ? text.ptr : "", text.len, 0, &why);
	*g = (struct groups){ 0 };
	if (!root)
		return error_set(e, EXIT_BAD_INPUT, "no valid JSON: line %d, column %d: %s", why.line, why.column, why.text);
	bool ok = json_is_array(root) || error_set(e, EXIT_BAD_INPUT, "expected a JSON list of groups");
	if (ok)
		g->items = ARENA_ARRAY(arena, struct target_group, json_array_size(root) + 1);
	for (size_t i = 0; ok && i < json_array_size(root); i++)
		ok = json_group(&g->items[g->count++], json_array_get(root, i), arena, e);
	json_decref(root);
	return ok;
}
