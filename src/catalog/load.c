/* load: documents and the readers of nodes that all sections share. */
#include "catalog/load.h"

#include "base/clock.h"
#include "base/log.h"

#include <ctype.h>

static const char *const catalog_keys[] = { "metrics", "engines", "signals", "findings", "pools", "thresholds",
	/* The rest of a goodput.yaml, which has Prometheus's shape, is for others. */
	"global", "scrape_configs", "scrape_config_files", "rule_files", "alerting", "remote_write", "remote_read", "storage", "tracing",
	"otlp", "runtime", NULL };

void loader_init(struct loader *l, struct catalog *c)
{
	*l = (struct loader){ .catalog = c, .arena = &c->arena };
	arena_init(&l->trees);
	map_init(&l->in_file);
	map_init(&l->signal_drafts);
	map_init(&l->finding_drafts);
}

void loader_fini(struct loader *l)
{
	map_fini(&l->in_file);
	map_fini(&l->signal_drafts);
	map_fini(&l->finding_drafts);
	arena_fini(&l->trees);
	VEC_FREE(&l->signals);
	VEC_FREE(&l->findings);
}

static bool load_engines(struct loader *l, const struct yaml *list, struct error *e)
{
	if (!load_is_list(list, "engines", e))
		return false;
	YAML_EACH (list, engine) {
		if (!load_engine(l, engine, e))
			return false;
	}
	return true;
}

static bool load_sections(struct loader *l, const struct yaml *root, struct error *e)
{
	/* In the order in which they refer to each other, whatever the file's order is. */
	static const struct {
		const char *key;
		bool (*load)(struct loader *l, const struct yaml *node, struct error *e);
	} sections[] = { { "metrics", load_metrics }, { "engines", load_engines }, { "signals", load_signals },
		{ "findings", load_findings }, { "pools", load_pools } };

	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		const struct yaml *node = yaml_get(root, sections[i].key);

		if (node && !sections[i].load(l, node, e))
			return false;
	}
	return true;
}

/* A file of thresholds says with what they were measured and how long that holds. One that is out of date is left out, aloud. */
static bool load_thresholds(const struct yaml *map, struct str source, bool *expired, struct error *e)
{
	static const char *const known[] = { "workload", "rate", "recovery", "measured", "expires", NULL };
	struct str expires = STR_EMPTY;
	int64_t now = clock_now_ms(), until;

	if (!map)
		return true;
	if (!load_is_map(map, "thresholds", e) || !yaml_only(map, known, e) || !yaml_get_str(map, "expires", &expires, e))
		return false;
	if (!expires.ptr || !time_parse(expires, now, &until))
		return yaml_error(map, e, "thresholds: \"expires\" is a time, such as 2027-01-31T00:00:00Z");
	*expired = now >= until;
	if (*expired)
		log_warning(STR_FMT ": these thresholds expired on " STR_FMT " and are not used: measure again (goodput bench --sweep)",
			STR_ARG(source), STR_ARG(expires));
	return true;
}

bool load_text(struct loader *l, struct str source, struct str text, struct error *e)
{
	struct yaml *root = yaml_parse_apart(&l->trees, l->arena, source, text, e);
	bool expired = false;

	if (!root)
		return false;
	l->source = arena_str(l->arena, source);
	map_clear(&l->in_file);
	if (root->kind != YAML_MAP)
		return yaml_error(
			root, e, "a catalogue file is a map with the keys metrics, engines, signals, findings, pools, or one engine");
	if (yaml_get(root, "engine"))
		return load_engine(l, root, e);
	return yaml_only(root, catalog_keys, e) && load_thresholds(yaml_get(root, "thresholds"), source, &expired, e) &&
	       (expired || load_sections(l, root, e));
}

static const char *node_kind_name(const struct yaml *node)
{
	return node->kind == YAML_SCALAR ? "a text" : node->kind == YAML_LIST ? "a list" : "a map";
}

bool load_is_list(const struct yaml *node, const char *what, struct error *e)
{
	return node->kind == YAML_LIST || yaml_error(node, e, "%s: expected a list, found %s", what, node_kind_name(node));
}

bool load_is_map(const struct yaml *node, const char *what, struct error *e)
{
	return node->kind == YAML_MAP || yaml_error(node, e, "%s: expected a map of keys and values, found %s", what, node_kind_name(node));
}

static bool id_is_valid(struct str id)
{
	for (size_t i = 0; i < id.len; i++) {
		unsigned char c = (unsigned char)id.ptr[i];

		if (!isalnum(c) && c != '_' && c != '-' && c != '.')
			return false;
	}
	return id.len > 0;
}

bool load_id(const struct yaml *map, const char *key, struct str *id, struct error *e)
{
	const struct yaml *node = yaml_get(map, key);

	if (!node)
		return yaml_error(map, e, "the key \"%s\" is missing", key);
	if (node->kind != YAML_SCALAR)
		return yaml_error(node, e, "%s: expected a text, found %s", key, node_kind_name(node));
	if (!id_is_valid(node->text))
		return yaml_error(
			node, e, "%s: \"" STR_FMT "\" is no id: use letters, digits, \"_\", \"-\" and \".\"", key, STR_ARG(node->text));
	*id = node->text;
	return true;
}

bool load_strings(struct loader *l, const struct yaml *map, const char *key, struct str **items, size_t *count, struct error *e)
{
	const struct yaml *list = yaml_get(map, key);
	size_t i = 0;

	if (!list)
		return true;
	if (!load_is_list(list, key, e))
		return false;
	struct str *texts = ARENA_ARRAY(l->arena, struct str, list->count);

	YAML_EACH (list, item) {
		if (item->kind != YAML_SCALAR || !item->text.len)
			return yaml_error(item, e, "%s: expected a list of texts", key);
		texts[i++] = item->text;
	}
	*items = texts;
	*count = i;
	return true;
}

bool load_choice(const struct yaml *map, const char *key, const char *const *names, int *value, struct error *e)
{
	const struct yaml *node = yaml_get(map, key);

	if (!node)
		return true;
	if (node->kind != YAML_SCALAR)
		return yaml_error(node, e, "%s: expected a text, found %s", key, node_kind_name(node));
	struct nearest near = nearest_start(node->text);

	for (int i = 0; names[i]; i++) {
		if (str_is(node->text, names[i])) {
			*value = i;
			return true;
		}
		nearest_offer(&near, str_from(names[i]));
	}
	yaml_error(node, e, "%s: \"" STR_FMT "\" is not known here", key, STR_ARG(node->text));
	if (near.best.len)
		nearest_hint(&near, e);
	else
		error_hint(e, "the first of the allowed values is \"%s\"", names[0]);
	return false;
}

bool load_class(const struct yaml *map, struct str *name, struct error *e)
{
	static const char *const names[] = { "interactive", "batch", NULL };
	int choice = -1;

	if (!load_choice(map, "class", names, &choice, e))
		return false;
	if (choice >= 0)
		*name = str_from(names[choice]);
	return true;
}

bool load_first_in_file(struct loader *l, const struct yaml *node, const char *kind, struct str id, struct error *e)
{
	struct str key = arena_printf(l->arena, "%s " STR_FMT, kind, STR_ARG(id));
	bool made;
	struct map_entry *entry = map_put(&l->in_file, key, &made);

	if (!made) {
		const struct yaml *first = entry->value;

		return yaml_error(node, e, "%s \"" STR_FMT "\" was already given at line %d of this file", kind, STR_ARG(id), first->line);
	}
	entry->value = (void *)node;
	return true;
}

bool load_draft_text(struct loader *l, const struct yaml *map, const char *key, struct draft_text *text, struct error *e)
{
	const struct yaml *node = yaml_get(map, key);

	if (!node)
		return true;
	if (node->kind != YAML_SCALAR || !str_trim(node->text).len)
		return yaml_error(node, e, "%s: expected an expression", key);
	*text = (struct draft_text){ .node = node, .source = l->source };
	return true;
}

struct nearest nearest_start(struct str wanted)
{
	/* One slip in a short word, three in a long one; more is another word. */
	size_t limit = wanted.len <= 1 ? 0 : wanted.len <= 4 ? 1 : wanted.len <= 8 ? 2 : 3;

	return (struct nearest){ .wanted = wanted, .distance = limit + 1 };
}

void nearest_offer(struct nearest *n, struct str name)
{
	size_t distance = str_distance(n->wanted, name, n->distance);

	if (distance < n->distance) {
		n->distance = distance;
		n->best = name;
	}
}

void nearest_hint(const struct nearest *n, struct error *e)
{
	if (n->best.len)
		error_hint(e, "did you mean \"" STR_FMT "\"?", STR_ARG(n->best));
}

struct str nearest_metric(const struct catalog *c, struct str id)
{
	struct nearest near = nearest_start(id);

	VEC_EACH (&c->metrics, metric)
		nearest_offer(&near, (*metric)->id);
	return near.best;
}
