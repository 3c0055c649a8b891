/* Findings: drafts only; red lines and references are looked up by load_resolve. */
#include "catalog/load.h"

static const char *const finding_keys[] = { "id", "title", "severity", "when", "detector", "critical", "at", "fresh", "data", "symptom",
	"class", "roles", "evidence", "counter", "suppresses", "explain", "requirement", "now", "shift", "later", "disabled", NULL };
static const char *const action_keys[] = { "do", "risk", "run", NULL };
static const char *const severity_names[] = { "info", "warning", "critical", NULL };
static const char *const role_names[] = { "mixed", "prefill", "decode", "pooling", NULL };
static const char *const scope_names[] = { "engine", "target", "pool", "fleet", "gpu", NULL };
static const unsigned scope_bits[] = { AT_ENGINE, AT_TARGET, AT_POOL, AT_FLEET, AT_GPU };

static struct finding_draft *finding_draft(struct loader *l, struct str id, const struct yaml *node)
{
	bool made;
	struct map_entry *entry = map_put(&l->finding_drafts, id, &made);

	if (made) {
		struct finding_draft *draft = ARENA_NEW(l->arena, struct finding_draft);

		draft->spec = (struct finding_spec){ .id = id,
			.title = id,
			.severity = SEVERITY_WARNING,
			.source_file = l->source,
			.line = node->line,
			.column = node->column };
		draft->node = node;
		entry->value = draft;
		VEC_PUSH(&l->findings, draft);
	}
	return entry->value;
}

/* Every item of the list must be one of `names`; an error names the item. */
static bool check_choices(
	const struct yaml *list, const char *key, const char *const *names, bool (*take)(void *to, int choice), void *to, struct error *e)
{
	YAML_EACH (list, item) {
		struct nearest near = nearest_start(item->text);
		int i = 0;

		for (; names[i] && !str_is(item->text, names[i]); i++)
			nearest_offer(&near, str_from(names[i]));
		if (!names[i] || !take(to, i)) {
			yaml_error(item, e, "%s: \"" STR_FMT "\" is not known here", key, STR_ARG(item->text));
			nearest_hint(&near, e);
			return false;
		}
	}
	return true;
}

static bool take_scope(void *to, int choice)
{
	*(unsigned *)to |= scope_bits[choice];
	return true;
}

static bool take_nothing(void *to, int choice)
{
	return true;
}

static bool load_scopes(struct loader *l, const struct yaml *map, struct finding_spec *spec, struct error *e)
{
	struct str *items = NULL;
	size_t count = 0;

	if (!load_strings(l, map, "at", &items, &count, e))
		return false;
	if (!yaml_get(map, "at"))
		return true;
	spec->scopes = 0;
	return check_choices(yaml_get(map, "at"), "at", scope_names, take_scope, &spec->scopes, e);
}

static bool load_roles(struct loader *l, const struct yaml *map, struct finding_spec *spec, struct error *e)
{
	if (!load_strings(l, map, "roles", &spec->roles, &spec->role_count, e))
		return false;
	return !yaml_get(map, "roles") || check_choices(yaml_get(map, "roles"), "roles", role_names, take_nothing, NULL, e);
}

/* ---- actions ---- */

static bool load_action(const struct yaml *node, struct action *action, struct error *e)
{
	if (node->kind == YAML_SCALAR) {
		action->text = node->text;
	} else if (!load_is_map(node, "action", e) || !yaml_only(node, action_keys, e) || !yaml_get_str(node, "do", &action->text, e) ||
		   !yaml_get_str(node, "risk", &action->risk, e) || !yaml_get_str(node, "run", &action->command, e)) {
		return false;
	}
	return action->text.len || yaml_error(node, e, "an action needs a text, or a map with the key \"do\"");
}

/* An override of one grade leaves the others: the kept ones are copied before the new ones are added. */
static bool load_grade(struct loader *l, const struct yaml *list, enum action_grade grade, struct finding_spec *spec, struct error *e)
{
	struct action *old = spec->actions;
	size_t old_count = spec->action_count;

	if (!load_is_list(list, "actions", e))
		return false;
	spec->actions = ARENA_ARRAY(l->arena, struct action, old_count + list->count);
	spec->action_count = 0;
	for (size_t i = 0; i < old_count; i++) {
		if (old[i].grade != grade)
			spec->actions[spec->action_count++] = old[i];
	}
	YAML_EACH (list, node) {
		struct action *action = &spec->actions[spec->action_count++];

		action->grade = grade;
		if (!load_action(node, action, e))
			return false;
	}
	return true;
}

static bool load_actions(struct loader *l, const struct yaml *map, struct finding_spec *spec, struct error *e)
{
	for (enum action_grade grade = ACTION_NOW; grade <= ACTION_LATER; grade++) {
		const struct yaml *list = yaml_get(map, action_grade_name(grade));

		if (list && !load_grade(l, list, grade, spec, e))
			return false;
	}
	return true;
}

/* ---- the finding ---- */

static bool load_reference_list(struct loader *l, const struct yaml *map, const char *key, struct str **items, size_t *count,
	struct draft_text *draft, struct error *e)
{
	if (!yaml_get(map, key))
		return true;
	*draft = (struct draft_text){ .node = yaml_get(map, key), .source = l->source };
	return load_strings(l, map, key, items, count, e);
}

static bool load_references(struct loader *l, const struct yaml *map, struct finding_draft *draft, struct error *e)
{
	struct finding_spec *spec = &draft->spec;

	return load_reference_list(l, map, "evidence", &spec->evidence, &spec->evidence_count, &draft->evidence, e) &&
	       load_reference_list(l, map, "counter", &spec->counter, &spec->counter_count, &draft->counter, e) &&
	       load_reference_list(l, map, "suppresses", &spec->suppresses, &spec->suppresses_count, &draft->suppresses, e);
}

/* A red line replaces a detector and the other way round. */
static bool load_cause(struct loader *l, const struct yaml *map, struct finding_draft *draft, struct error *e)
{
	const struct yaml *when = yaml_get(map, "when"), *detector = yaml_get(map, "detector");

	if (when && detector)
		return yaml_error(detector, e, "when and detector exclude each other");
	if (when)
		draft->spec.detector = STR_EMPTY;
	if (detector) {
		draft->when = (struct draft_text){ 0 };
		if (!load_id(map, "detector", &draft->spec.detector, e))
			return false;
	}
	if (!load_draft_text(l, map, "when", &draft->when, e) || !load_draft_text(l, map, "critical", &draft->critical, e))
		return false;
	return draft->when.node || draft->spec.detector.len || draft->disabled ||
	       yaml_error(map, e, "finding \"" STR_FMT "\" needs when (a red line) or detector", STR_ARG(draft->spec.id));
}

static bool load_finding_fields(struct loader *l, const struct yaml *map, struct finding_draft *draft, struct error *e)
{
	struct finding_spec *spec = &draft->spec;
	int severity = (int)spec->severity;

	if (!load_choice(map, "severity", severity_names, &severity, e) || !yaml_get_str(map, "title", &spec->title, e) ||
		!yaml_get_str(map, "explain", &spec->explain, e) || !yaml_get_str(map, "requirement", &spec->requirement, e) ||
		!load_class(map, &spec->class_only, e) || !yaml_get_bool(map, "fresh", &spec->fresh, e) ||
		!yaml_get_bool(map, "data", &spec->about_data, e) || !yaml_get_bool(map, "symptom", &spec->symptom, e))
		return false;
	spec->severity = (enum severity)severity;
	if (!load_scopes(l, map, spec, e) || !load_roles(l, map, spec, e) || !load_references(l, map, draft, e) ||
		!load_actions(l, map, spec, e) || !load_cause(l, map, draft, e))
		return false;
	return spec->scopes || draft->disabled ||
	       yaml_error(map, e, "finding \"" STR_FMT "\" needs at: where it is looked for", STR_ARG(spec->id));
}

static bool load_finding(struct loader *l, const struct yaml *map, struct error *e)
{
	struct str id;

	if (!load_is_map(map, "findings", e) || !load_id(map, "id", &id, e) || !yaml_only(map, finding_keys, e) ||
		!load_first_in_file(l, map, "finding", id, e))
		return false;
	struct finding_draft *draft = finding_draft(l, id, map);

	draft->disabled = false;
	return yaml_get_bool(map, "disabled", &draft->disabled, e) && load_finding_fields(l, map, draft, e);
}

bool load_findings(struct loader *l, const struct yaml *list, struct error *e)
{
	if (!load_is_list(list, "findings", e))
		return false;
	YAML_EACH (list, map) {
		if (!load_finding(l, map, e))
			return false;
	}
	return true;
}
