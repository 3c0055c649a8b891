/* Reading relabel rules, with the checks that Prometheus makes when it loads them. */
#include "base/number.h"
#include "scrape/relabel.h"

static const char *const action_names[] = {
	[RELABEL_REPLACE] = "replace",
	[RELABEL_KEEP] = "keep",
	[RELABEL_DROP] = "drop",
	[RELABEL_KEEP_EQUAL] = "keepequal",
	[RELABEL_DROP_EQUAL] = "dropequal",
	[RELABEL_HASHMOD] = "hashmod",
	[RELABEL_LABELMAP] = "labelmap",
	[RELABEL_LABELDROP] = "labeldrop",
	[RELABEL_LABELKEEP] = "labelkeep",
	[RELABEL_LOWERCASE] = "lowercase",
	[RELABEL_UPPERCASE] = "uppercase",
};

const char *relabel_action_name(enum relabel_action a)
{
	return action_names[a];
}

static bool read_action(const struct yaml *map, enum relabel_action *action, struct error *e)
{
	struct str text = STR("replace");
	if (!yaml_get_str(map, "action", &text, e))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(action_names); i++) {
		if (str_eq_nocase(text, str_from(action_names[i]))) {
			*action = (enum relabel_action)i;
			return true;
		}
	}
	yaml_error(yaml_get(map, "action"), e, "unknown relabel action \"" STR_FMT "\"", STR_ARG(str_head(text, 60)));
	error_hint(e, "known: replace, keep, drop, keepequal, dropequal, hashmod, labelmap, labeldrop, labelkeep, lowercase, uppercase");
	return false;
}

static bool read_source(const struct yaml *map, struct relabel_rule *rule, struct arena *arena, struct error *e)
{
	const struct yaml *list = yaml_get(map, "source_labels");
	if (!list || yaml_is_null(list))
		return true;
	if (list->kind != YAML_LIST)
		return yaml_error(list, e, "\"source_labels\" must be a list of label names");
	struct str *names = ARENA_ARRAY(arena, struct str, list->count + 1);
	YAML_EACH (list, name) {
		if (name->kind != YAML_SCALAR || !name->text.len || !str_is_utf8(name->text))
			return yaml_error(name, e, "a source label must be a label name");
		names[rule->source_count++] = arena_str(arena, name->text);
	}
	rule->source = names;
	return true;
}

static bool read_modulus(const struct yaml *map, struct relabel_rule *rule, struct error *e)
{
	const struct yaml *node = yaml_get(map, "modulus");
	int64_t number;
	if (!node || yaml_is_null(node))
		return true;
	if (node->kind != YAML_SCALAR || !number_parse_i64(node->text, &number) || number < 0)
		return yaml_error(node, e, "\"modulus\" must be a whole number that is not negative");
	rule->modulus = (uint64_t)number;
	return true;
}

static bool given(const struct yaml *map, const char *key)
{
	const struct yaml *node = yaml_get(map, key);
	return node && !yaml_is_null(node);
}

/* A name, or one with $references: ^(?:(?:[a-zA-Z_]|\$(?:\{\w+\}|\w+))+\w*)+$ */
static bool is_name_template(struct str text)
{
	struct str rest = text;
	if (!text.len || (text.ptr[0] >= '0' && text.ptr[0] <= '9'))
		return false;
	while (rest.len) {
		bool dollar = rest.ptr[0] == '$', braces = dollar && rest.len > 1 && rest.ptr[1] == '{';
		size_t at = (size_t)dollar + braces, start = at;
		while (at < rest.len &&
			(label_name_is_classic(str_of(rest.ptr + at, 1), false) || (rest.ptr[at] >= '0' && rest.ptr[at] <= '9')))
			at++;
		if (at == start || (braces && (at == rest.len || rest.ptr[at] != '}')))
			return false;
		rest = str_skip(rest, at + braces);
	}
	return true;
}

static bool action_is(enum relabel_action a, unsigned set)
{
	return set >> a & 1;
}
#define SET(a) (1U << RELABEL_##a)

static bool check_target(const struct yaml *map, const struct relabel_rule *rule, struct error *e)
{
	unsigned wanted = SET(REPLACE) | SET(HASHMOD) | SET(LOWERCASE) | SET(UPPERCASE) | SET(KEEP_EQUAL) | SET(DROP_EQUAL);
	const char *action = action_names[rule->action];
	const struct yaml *node = given(map, "target_label") ? yaml_get(map, "target_label") : map;
	if (!action_is(rule->action, wanted))
		return true;
	if (!rule->target.len)
		return yaml_error(node, e, "relabel action %s needs a target_label", action);
	bool has_reference = str_find(rule->target, '$') >= 0;
	/* Without references any UTF-8 is a name, as in Prometheus 3. */
	if (!str_is_utf8(rule->target) || (has_reference && (rule->action != RELABEL_REPLACE || !is_name_template(rule->target))))
		return yaml_error(
			node, e, "\"" STR_FMT "\" is no valid target_label of action %s", STR_ARG(str_head(rule->target, 80)), action);
	return true;
}

/* Some actions refuse fields that they would ignore. */
static bool check_fields(const struct yaml *map, const struct relabel_rule *rule, struct error *e)
{
	static const char *const fields[] = { "source_labels", "separator", "target_label", "regex", "modulus", "replacement" };
	static const struct {
		unsigned actions;
		const char *refused[6], *hint;
	} table[] = {
		{ SET(LOWERCASE) | SET(UPPERCASE), { "replacement" }, "remove it" },
		{ SET(KEEP_EQUAL) | SET(DROP_EQUAL), { "regex", "modulus", "separator", "replacement" },
			"it takes source_labels and target_label only" },
		{ SET(LABELDROP) | SET(LABELKEEP), { "source_labels", "target_label", "modulus", "separator", "replacement" },
			"it takes regex only" },
	};
	for (size_t row = 0; row < ARRAY_LEN(table); row++)
		for (size_t i = 0; action_is(rule->action, table[row].actions) && i < ARRAY_LEN(fields) && table[row].refused[i]; i++)
			if (given(map, table[row].refused[i])) {
				yaml_error(yaml_get(map, table[row].refused[i]), e, "relabel action %s has no %s",
					action_names[rule->action], table[row].refused[i]);
				error_hint(e, "%s", table[row].hint);
				return false;
			}
	return true;
}

static bool rule_check(const struct yaml *map, const struct relabel_rule *rule, struct error *e)
{
	if (rule->action == RELABEL_HASHMOD && rule->modulus == 0)
		return yaml_error(
			given(map, "modulus") ? yaml_get(map, "modulus") : map, e, "relabel action hashmod needs a modulus above 0");
	if (rule->action == RELABEL_LABELMAP && !is_name_template(rule->replacement))
		return yaml_error(given(map, "replacement") ? yaml_get(map, "replacement") : map, e,
			"\"" STR_FMT "\" is no valid replacement of action labelmap: it must make a label name",
			STR_ARG(str_head(rule->replacement, 80)));
	return check_target(map, rule, e) && check_fields(map, rule, e);
}

static bool read_regex(const struct yaml *map, struct relabel_rule *rule, struct error *e)
{
	struct str pattern = STR("(.*)");
	struct error why = { 0 };
	if (!yaml_get_str(map, "regex", &pattern, e))
		return false;
	rule->re = regex_new(pattern, &why);
	return rule->re || yaml_error(yaml_get(map, "regex"), e, "no valid regular expression: %s", why.message);
}

static bool rule_read(const struct yaml *map, struct relabel_rule *rule, struct arena *arena, struct error *e)
{
	static const char *const keys[] = { "source_labels", "separator", "target_label", "regex", "modulus", "replacement", "action",
		NULL };
	*rule = (struct relabel_rule){ .separator = STR(";"), .replacement = STR("$1") };
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "a relabel rule is a map with action, source_labels, regex, target_label ...");
	if (!yaml_only(map, keys, e) || !read_action(map, &rule->action, e) || !read_source(map, rule, arena, e) ||
		!yaml_get_str(map, "separator", &rule->separator, e) || !yaml_get_str(map, "target_label", &rule->target, e) ||
		!yaml_get_str(map, "replacement", &rule->replacement, e) || !read_modulus(map, rule, e) || !rule_check(map, rule, e) ||
		!read_regex(map, rule, e))
		return false;
	rule->separator = arena_str(arena, rule->separator);
	rule->target = arena_str(arena, rule->target);
	rule->replacement = arena_str(arena, rule->replacement);
	return true;
}

bool relabel_read(struct relabel *r, const struct yaml *list, struct arena *arena, struct error *e)
{
	*r = (struct relabel){ 0 };
	if (!list || yaml_is_null(list))
		return true;
	if (list->kind != YAML_LIST)
		return yaml_error(list, e, "\"" STR_FMT "\" must be a list of relabel rules", STR_ARG(list->key));
	r->rules = ARENA_ARRAY(arena, struct relabel_rule, list->count + 1);
	YAML_EACH (list, map) {
		if (!rule_read(map, &r->rules[r->count], arena, e)) {
			relabel_fini(r);
			return false;
		}
		r->count++;
	}
	return true;
}

void relabel_fini(struct relabel *r)
{
	for (size_t i = 0; i < r->count; i++)
		regex_free(r->rules[i].re);
	r->count = 0;
}
