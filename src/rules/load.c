/* Rule files: YAML to groups. What is wrong is told at its place in the file, inside a query too. */
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/number.h"
#include "base/yaml.h"
#include "base/yaml_document.h"
#include "promql/promql.h"
#include "rules/rules.h"
#include "rules/template.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>

enum { FILE_MAX = 64 << 20, QUERY_MAX = 1 << 20 };

const struct rules_options rules_defaults = {
	.interval_ms = 60000, .resend_ms = 60000, .outage_tolerance_ms = 3600000, .grace_ms = 600000
};

static const char *const file_keys[] = { "groups", NULL };
static const char *const group_keys[] = { "name", "interval", "query_offset", "limit", "labels", "rules", NULL };
static const char *const rule_keys[] = { "record", "alert", "expr", "for", "keep_firing_for", "labels", "annotations", NULL };

/* ---- values ---- */

static bool need_kind(const struct yaml *node, enum yaml_kind kind, const char *what, struct error *e)
{
	static const char *const names[] = { [YAML_SCALAR] = "text", [YAML_LIST] = "a list", [YAML_MAP] = "a map" };

	return node->kind == kind || yaml_error(node, e, "%s must be %s, not %s", what, names[kind], names[node->kind]);
}

/* As Prometheus reads it: a number needs a unit, but for 0. */
static bool get_duration(const struct yaml *map, const char *key, int64_t *ms, struct error *e)
{
	const struct yaml *node = yaml_get(map, key);
	double bare;

	if (!node || yaml_is_null(node))
		return true;
	if (!need_kind(node, YAML_SCALAR, key, e))
		return false;
	bool is_bare = number_parse(node->text, &bare);

	if ((!is_bare || str_is(node->text, "0")) && duration_parse(node->text, ms) && *ms >= 0)
		return true;
	yaml_error(node, e, "%s: not a valid duration string: \"" STR_FMT "\"", key, STR_ARG(str_head(node->text, 60)));
	if (is_bare)
		error_hint(e, "add the unit: " STR_FMT "s", STR_ARG(str_head(node->text, 60)));
	else
		error_hint(e, "write it as 30s, 5m, 1h30m, 1d; negative ones are not allowed");
	return false;
}

static int by_name(const void *a, const void *b)
{
	return str_cmp(((const struct rule_text *)a)->name, ((const struct rule_text *)b)->name);
}

static bool check_name(const struct yaml *node, const char *what, struct error *e)
{
	struct yaml key = { .document = node->document, .line = node->key_line, .column = node->key_column };

	if (label_name_is_classic(node->key, false) && !str_eq(node->key, LABEL_NAME))
		return true;
	yaml_error(&key, e, "invalid %s name: \"" STR_FMT "\"", what, STR_ARG(str_head(node->key, 80)));
	error_hint(e, "use letters, digits and \"_\", not a digit first%s",
		str_eq(node->key, LABEL_NAME) ? "; __name__ is set by record" : "");
	return false;
}

static bool read_text(struct rules *r, const struct yaml *node, const char *what, bool templated, struct rule_text *text, struct error *e)
{
	struct error why = { 0 };

	if (!need_kind(node, YAML_SCALAR, what, e) || !check_name(node, what, e))
		return false;
	*text = (struct rule_text){ .name = arena_str(&r->arena, node->key), .text = arena_str(&r->arena, node->text) };
	if (yaml_is_null(node))
		text->text = STR_EMPTY;
	if (!str_is_utf8(text->text))
		return yaml_error(node, e, "%s \"" STR_FMT "\" is not valid UTF-8", what, STR_ARG(node->key));
	if (!templated || !template_is_needed(text->text))
		return true;
	text->template = template_parse(&r->arena, text->text, &why);
	return text->template || yaml_error(node, e, "%s \"" STR_FMT "\": %s", what, STR_ARG(node->key), why.message);
}

/* The member `key`, a map of texts, added to what is there already (of the group), sorted by name. */
static bool read_texts(
	struct rules *r, const struct yaml *map, const char *key, bool templated, struct rule_text **texts, size_t *count, struct error *e)
{
	const struct yaml *node = yaml_get(map, key);
	const char *what = str_is(str_from(key), "labels") ? "label" : "annotation";

	if (!node || yaml_is_null(node))
		return true;
	if (!need_kind(node, YAML_MAP, key, e))
		return false;
	struct rule_text *all = ARENA_ARRAY(&r->arena, struct rule_text, node->count + *count);
	size_t used = 0;

	YAML_EACH (node, member)
		if (!read_text(r, member, what, templated, &all[used++], e))
			return false;
	for (size_t i = 0, own = used; i < *count; i++) {
		bool overridden = false;

		for (size_t k = 0; k < own; k++)
			overridden |= str_eq(all[k].name, (*texts)[i].name);
		if (!overridden)
			all[used++] = (*texts)[i];
	}
	if (used > 1)
		qsort(all, used, sizeof *all, by_name);
	*texts = all;
	*count = used;
	return true;
}

/* ---- queries ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Where in the document is byte `offset` of a scalar? Walks both at once, since YAML folds lines and takes off indentation. False when they
 * do not go together (escapes). */
static bool scalar_origin(const struct yaml *node, size_t offset, size_t *origin)
{
	struct str text = node->document->text;
	size_t at = yaml_offset(text, (size_t)node->line - 1, (size_t)node->column - 1), i = 0;
	char first = at < text.len ? text.ptr[at] : '\0', quote = '\0';

	if (!node->quoted || (first == '"' || first == '\''))
		quote = node->quoted ? first : '\0';
	if (quote)
		at++;
	else if (first == '|' || first == '>')
		while (at < text.len && text.ptr[at] != '\n')
			at++;
	for (; i < offset; i++, at++) {
		if (is_blank(node->text.ptr[i])) {
			while (i + 1 < offset && is_blank(node->text.ptr[i + 1]))
				i++;
			while (at + 1 < text.len && is_blank(text.ptr[at]) && is_blank(text.ptr[at + 1]))
				at++;
			if (at >= text.len || !is_blank(text.ptr[at]))
				return false;
			continue;
		}
		while (at < text.len && is_blank(text.ptr[at]))
			at++;
		if (at + 1 < text.len && quote && text.ptr[at] == (quote == '"' ? '\\' : '\'') && text.ptr[at + 1] == node->text.ptr[i])
			at++;
		if (at >= text.len || text.ptr[at] != node->text.ptr[i])
			return false;
	}
	while (at < text.len && i < node->text.len && !is_blank(node->text.ptr[i]) && is_blank(text.ptr[at]))
		at++;
	*origin = at;
	return at <= text.len;
}

static bool query_error(const struct yaml *node, const struct error *why, struct error *e)
{
	size_t offset = 0, origin;

	if (why->line > 0 && node->text.len) {
		/* Columns of queries count bytes. */
		for (int line = 1; line < why->line; line++) {
			ptrdiff_t end = str_find(str_skip(node->text, offset), '\n');

			offset += end < 0 ? 0 : (size_t)end + 1;
		}
		offset += why->column > 0 ? (size_t)why->column - 1 : 0;
		if (offset <= node->text.len && scalar_origin(node, offset, &origin)) {
			error_at(e, node->document->source, node->document->text, origin, "%s", why->message);
			error_hint(e, "%s", why->hint);
			return false;
		}
	}
	yaml_error(node, e, "%s (%d:%d of the query)", why->message, why->line, why->column);
	error_hint(e, "%s", why->hint);
	return false;
}

static bool read_query(struct rules *r, const struct yaml *map, struct rule *rule, struct error *e)
{
	const struct yaml *node = yaml_get(map, "expr");
	struct error why = { 0 };
	struct buf text;

	if (!node || (node->kind == YAML_SCALAR && !node->text.len)) {
		yaml_error(node ? node : map, e, "field 'expr' must be set in rule");
		error_hint(e, "add expr: with the query");
		return false;
	}
	if (!need_kind(node, YAML_SCALAR, "expr", e))
		return false;
	struct promql_node *tree = promql_parse(&r->arena, arena_str(&r->arena, node->text), &promql_defaults, &why);

	if (!tree)
		return query_error(node, &why, e);
	enum promql_type type = promql_node_type(tree);

	if (type != PROMQL_VECTOR && type != PROMQL_SCALAR) {
		yaml_error(node, e, "a rule's query must give a vector or a scalar, not a %s",
			type == PROMQL_STRING ? "string" : "range vector");
		error_hint(e, type == PROMQL_STRING ? "use vector(1) with a label"
						    : "put a function around it, such as rate() or last_over_time()");
		return false;
	}
	buf_init(&text, QUERY_MAX);
	promql_print(tree, &text);
	rule->query = text.overflowed ? arena_str(&r->arena, node->text) : arena_str(&r->arena, buf_str(&text));
	buf_fini(&text);
	return true;
}

/* ---- rules and groups ---- */

static bool not_for_recording(const struct yaml *map, const char *key, struct error *e)
{
	const struct yaml *node = yaml_get(map, key);

	if (!node || yaml_is_null(node) || (node->kind != YAML_SCALAR && !node->count))
		return true;
	struct yaml place = { .document = node->document, .line = node->key_line, .column = node->key_column };

	yaml_error(&place, e, "invalid field '%s' in recording rule", key);
	error_hint(e, "remove it, or make the rule an alert: instead of record:");
	return false;
}

/* "record" or "alert": which, and the name. */
static bool read_name(struct rules *r, const struct yaml *map, struct rule *rule, struct error *e)
{
	struct str record = STR_EMPTY, alert = STR_EMPTY;

	if (!yaml_get_str(map, "record", &record, e) || !yaml_get_str(map, "alert", &alert, e))
		return false;
	if (record.len && alert.len) {
		yaml_error(yaml_get(map, "alert"), e, "only one of 'record' and 'alert' must be set");
		error_hint(e, "make two rules of it");
		return false;
	}
	if (!record.len && !alert.len) {
		yaml_error(map, e, "one of 'record' or 'alert' must be set");
		error_hint(e, "name the rule with record: (a metric) or alert: (an alert)");
		return false;
	}
	rule->is_alert = alert.len > 0;
	rule->name = arena_str(&r->arena, alert.len ? alert : record);
	if (!str_is_utf8(rule->name))
		return yaml_error(map, e, "the rule's name is not valid UTF-8");
	if (rule->is_alert || label_name_is_classic(rule->name, true))
		return true;
	yaml_error(yaml_get(map, "record"), e, "invalid recording rule name: " STR_FMT, STR_ARG(str_head(rule->name, 80)));
	error_hint(e, "a metric's name has letters, digits, \"_\" and \":\", not a digit first; alerts are named with alert:");
	return false;
}

static bool read_rule(struct rules *r, const struct yaml *map, struct rule *rule, struct error *e)
{
	if (!need_kind(map, YAML_MAP, "a rule", e) || !yaml_only(map, rule_keys, e) || !read_name(r, map, rule, e) ||
		!read_query(r, map, rule, e))
		return false;
	rule->line = map->line;
	rule->column = map->column;
	rule->restored = !r->options.restore;
	if (!rule->is_alert && (!not_for_recording(map, "for", e) || !not_for_recording(map, "keep_firing_for", e) ||
				       !not_for_recording(map, "annotations", e)))
		return false;
	return get_duration(map, "for", &rule->for_ms, e) && get_duration(map, "keep_firing_for", &rule->keep_firing_ms, e) &&
	       read_texts(r, map, "labels", rule->is_alert, &rule->labels, &rule->label_count, e) &&
	       read_texts(r, map, "annotations", rule->is_alert, &rule->annotations, &rule->annotation_count, e);
}

static bool read_rules(
	struct rules *r, const struct yaml *map, struct rule_group *g, struct rule_text *labels, size_t label_count, struct error *e)
{
	const struct yaml *list = yaml_get(map, "rules");

	if (!list || yaml_is_null(list))
		return true;
	if (!need_kind(list, YAML_LIST, "rules", e))
		return false;
	g->rules = ARENA_ARRAY(&r->arena, struct rule, list->count);
	YAML_EACH (list, node) {
		struct rule *rule = &g->rules[g->rule_count++];

		rule->labels = labels;
		rule->label_count = label_count;
		if (!read_rule(r, node, rule, e))
			return false;
	}
	return true;
}

static bool read_limit(const struct yaml *map, struct rule_group *g, struct error *e)
{
	double limit = 0;

	if (!yaml_get_double(map, "limit", &limit, e))
		return false;
	if (!(limit >= -1e9 && limit <= 1e9) || limit != (double)(long)limit)
		return yaml_error(yaml_get(map, "limit"), e, "limit must be a whole number");
	g->limit = limit > 0 ? (size_t)limit : 0;
	return true;
}

static bool read_group(struct rules *r, const struct yaml *map, struct rule_group *g, struct error *e)
{
	struct rule_text *labels = NULL;
	size_t label_count = 0;

	g->interval_ms = r->options.interval_ms;
	g->query_offset_ms = r->options.query_offset_ms;
	g->must_restore = r->options.restore;
	if (!need_kind(map, YAML_MAP, "a group", e) || !yaml_only(map, group_keys, e) || !yaml_get_str(map, "name", &g->name, e))
		return false;
	if (!g->name.len) {
		yaml_error(map, e, "Groupname must not be empty");
		error_hint(e, "add name:");
		return false;
	}
	int64_t interval = 0;

	if (!get_duration(map, "interval", &interval, e) || !get_duration(map, "query_offset", &g->query_offset_ms, e) ||
		!read_limit(map, g, e) || !read_texts(r, map, "labels", true, &labels, &label_count, e))
		return false;
	g->interval_ms = interval ? interval : g->interval_ms;
	g->name = arena_str(&r->arena, g->name);
	uint64_t hash = hash_seeded(g->name.ptr, g->name.len, hash_bytes(g->file.ptr, g->file.len));

	g->offset_ms = (int64_t)(hash % (uint64_t)g->interval_ms);
	return read_rules(r, map, g, labels, label_count, e);
}

static bool group_is_new(const struct rules *r, const struct rule_group *g, const struct yaml *node, struct error *e)
{
	for (size_t i = 0; i + 1 < r->groups.count; i++) {
		const struct rule_group *other = r->groups.items[i];

		if (str_eq(other->file, g->file) && str_eq(other->name, g->name)) {
			yaml_error(node, e, "groupname: \"" STR_FMT "\" is repeated in the same file", STR_ARG(g->name));
			error_hint(e, "give it another name, or put its rules into the first group of that name");
			return false;
		}
	}
	return true;
}

static bool read_file(struct rules *r, struct str file, struct str text, struct error *e)
{
	struct arena scratch;
	bool ok = false;

	arena_init(&scratch);
	const struct yaml *root = yaml_parse(&scratch, file, text, e), *groups = root ? yaml_get(root, "groups") : NULL;

	if (!root)
		goto out;
	file = arena_str(&r->arena, file);
	if (!need_kind(root, YAML_MAP, "a rule file", e))
		goto out;
	if (!yaml_only(root, file_keys, e)) {
		if (yaml_get(root, "kind") && yaml_get(root, "spec"))
			error_hint(e, "this is a Kubernetes resource (PrometheusRule): the rule file is what its spec holds");
		goto out;
	}
	ok = !groups || yaml_is_null(groups) || need_kind(groups, YAML_LIST, "groups", e);
	for (const struct yaml *node = ok && groups && groups->kind == YAML_LIST ? groups->first : NULL; node && ok; node = node->next) {
		struct rule_group *g = ARENA_NEW(&r->arena, struct rule_group);

		g->file = file;
		VEC_PUSH(&r->groups, g);
		ok = read_group(r, node, g, e) && group_is_new(r, g, node, e);
	}
out:
	arena_fini(&scratch);
	return ok;
}

/* ---- files ---- */

static bool has_wildcard(const char *path)
{
	return strpbrk(path, "*?[") != NULL;
}

static bool read_path(struct rules *r, struct map *seen, const char *path, struct error *e)
{
	struct arena scratch;
	struct str text;

	if (map_has(seen, str_from(path)))
		return true;
	map_set(seen, str_from(path), r);
	arena_init(&scratch);
	bool ok = file_read(&scratch, path, FILE_MAX, &text, e) && read_file(r, str_from(path), text, e);

	arena_fini(&scratch);
	return ok;
}

static bool read_pattern(struct rules *r, struct map *seen, const char *pattern, struct error *e)
{
	glob_t found;
	int code;
	bool ok = true;

	if (!has_wildcard(pattern))
		return read_path(r, seen, pattern, e);
	code = glob(pattern, 0, NULL, &found);
	if (code == GLOB_NOMATCH)
		return true;
	if (code)
		return error_set(e, EXIT_BAD_INPUT, "cannot look for rule files matching %s", pattern);
	for (size_t i = 0; i < found.gl_pathc && ok; i++)
		ok = read_path(r, seen, found.gl_pathv[i], e);
	globfree(&found);
	return ok;
}

static void options_copy(struct rules *r, const struct rules_options *options)
{
	struct label *external;

	r->options = *options;
	r->options.external_url = arena_str(&r->arena, options->external_url);
	external = ARENA_ARRAY(&r->arena, struct label, options->external_count);
	for (size_t i = 0; i < options->external_count; i++)
		external[i] =
			(struct label){ arena_str(&r->arena, options->external[i].name), arena_str(&r->arena, options->external[i].value) };
	r->options.external = external;
}

static struct rules *rules_new(const struct rules_options *options)
{
	struct rules *r = NEW(struct rules);

	arena_init(&r->arena);
	options_copy(r, options ? options : &rules_defaults);
	return r;
}

struct rules *rules_load(const char *const *paths, size_t path_count, const struct rules_options *options, struct error *e)
{
	struct rules *r = rules_new(options);
	struct map seen;
	bool ok = true;

	map_init(&seen);
	for (size_t i = 0; i < path_count && ok; i++)
		ok = read_pattern(r, &seen, paths[i], e);
	map_fini(&seen);
	if (ok)
		return r;
	rules_free(r);
	return NULL;
}

struct rules *rules_load_text(struct str file, struct str text, const struct rules_options *options, struct error *e)
{
	struct rules *r = rules_new(options);

	if (read_file(r, file, text, e))
		return r;
	rules_free(r);
	return NULL;
}

static void sets_free(label_sets *sets)
{
	VEC_EACH (sets, l)
		labels_unref(*l);
	VEC_FREE(sets);
}

void rules_free(struct rules *r)
{
	if (!r)
		return;
	VEC_EACH (&r->groups, g) {
		for (size_t i = 0; i < (*g)->rule_count; i++) {
			alerts_clear(&(*g)->rules[i].alerts);
			sets_free(&(*g)->rules[i].written);
		}
	}
	sets_free(&r->orphans);
	VEC_FREE(&r->groups);
	arena_fini(&r->arena);
	mem_free(r);
}

size_t rules_count(const struct rules *r)
{
	size_t count = 0;

	for (size_t i = 0; i < r->groups.count; i++)
		count += r->groups.items[i]->rule_count;
	return count;
}

const char *rule_health_name(enum rule_health health)
{
	static const char *const names[] = { [RULE_UNKNOWN] = "unknown", [RULE_OK] = "ok", [RULE_ERROR] = "err" };

	return names[health];
}
