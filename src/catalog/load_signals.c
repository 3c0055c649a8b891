/* Signals: drafts only; expressions are parsed by load_resolve. */
#include "catalog/load.h"

static const char *const signal_keys[] = { "id", "title", "group", "unit", "help", "requirement", "expr", "any", "guard", "guard_reason",
	"note", "detected", "min_events", "headline", "fraction", "disabled", NULL };
static const char *const alternative_keys[] = { "expr", "guard", "guard_reason", "note", NULL };
static const char *const group_names[] = { "outcome", "latency", "throughput", "cache", "queue", "speculation", "transfer", "process",
	"gpu", "fleet", NULL };

static struct signal_draft *signal_draft(struct loader *l, struct str id, const struct yaml *node)
{
	bool made;
	struct map_entry *entry = map_put(&l->signal_drafts, id, &made);

	if (made) {
		struct signal_draft *draft = ARENA_NEW(l->arena, struct signal_draft);

		draft->spec =
			(struct signal_spec){ .id = id, .title = id, .source_file = l->source, .line = node->line, .column = node->column };
		draft->node = node;
		entry->value = draft;
		VEC_PUSH(&l->signals, draft);
	}
	return entry->value;
}

static bool load_definition(struct loader *l, const struct yaml *map, struct definition_draft *definition, struct error *e)
{
	return load_draft_text(l, map, "expr", &definition->expression, e) && load_draft_text(l, map, "guard", &definition->guard, e) &&
	       yaml_get_str(map, "guard_reason", &definition->guard_reason, e) && yaml_get_str(map, "note", &definition->note, e);
}

static bool load_alternatives(struct loader *l, const struct yaml *list, struct signal_draft *draft, struct error *e)
{
	if (!load_is_list(list, "any", e))
		return false;
	if (!list->count)
		return yaml_error(list, e, "any: the list is empty");
	draft->alternatives = ARENA_ARRAY(l->arena, struct definition_draft, list->count);
	draft->alternative_count = 0;
	YAML_EACH (list, map) {
		struct definition_draft *definition = &draft->alternatives[draft->alternative_count++];

		if (!load_is_map(map, "any", e) || !yaml_only(map, alternative_keys, e) || !load_definition(l, map, definition, e))
			return false;
		if (!definition->expression.node)
			return yaml_error(map, e, "the key \"expr\" is missing");
	}
	return true;
}

static bool load_signal_definitions(struct loader *l, const struct yaml *map, struct signal_draft *draft, struct error *e)
{
	const struct yaml *any = yaml_get(map, "any"), *expression = yaml_get(map, "expr");

	if (any && expression)
		return yaml_error(expression, e, "expr and any exclude each other");
	if (any && !load_alternatives(l, any, draft, e))
		return false;
	if (!load_definition(l, map, &draft->shared, e))
		return false;
	if (expression) {
		draft->alternatives = ARENA_ARRAY(l->arena, struct definition_draft, 1);
		draft->alternatives[0].expression = draft->shared.expression;
		draft->alternative_count = 1;
	}
	if (draft->detected && draft->alternative_count)
		return yaml_error(map, e, "a detected signal is published by a detector and has no expr or any");
	return draft->detected || draft->alternative_count || draft->disabled ||
	       yaml_error(map, e, "signal \"" STR_FMT "\" needs expr, any, or detected: true", STR_ARG(draft->spec.id));
}

static bool load_signal(struct loader *l, const struct yaml *map, struct error *e)
{
	struct str id;
	int group = -1;

	if (!load_is_map(map, "signals", e) || !load_id(map, "id", &id, e) || !yaml_only(map, signal_keys, e) ||
		!load_first_in_file(l, map, "signal", id, e) || !load_choice(map, "group", group_names, &group, e))
		return false;
	struct signal_draft *draft = signal_draft(l, id, map);
	struct signal_spec *spec = &draft->spec;

	draft->disabled = false;
	if (!yaml_get_bool(map, "disabled", &draft->disabled, e) || !yaml_get_bool(map, "detected", &draft->detected, e) ||
		!yaml_get_str(map, "title", &spec->title, e) || !yaml_get_str(map, "unit", &spec->unit, e) ||
		!yaml_get_str(map, "help", &spec->help, e) || !yaml_get_str(map, "requirement", &spec->requirement, e) ||
		!yaml_get_double(map, "min_events", &spec->min_events, e) || !yaml_get_bool(map, "headline", &spec->headline, e) ||
		!yaml_get_bool(map, "fraction", &spec->is_fraction, e))
		return false;
	if (group >= 0)
		spec->group = str_from(group_names[group]);
	return load_signal_definitions(l, map, draft, e);
}

bool load_signals(struct loader *l, const struct yaml *list, struct error *e)
{
	if (!load_is_list(list, "signals", e))
		return false;
	YAML_EACH (list, map) {
		if (!load_signal(l, map, e))
			return false;
	}
	return true;
}
