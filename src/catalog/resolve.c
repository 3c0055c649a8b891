/* resolve: pass 2 of loading. All ids are known now: references are looked up, expressions parsed, kinds derived, cycles refused. */
#include "catalog/expression.h"
#include "catalog/load.h"

/* ---- from drafts to the catalogue ---- */

static void publish_signals(struct loader *l)
{
	VEC_EACH (&l->signals, draft) {
		if ((*draft)->disabled)
			continue;
		(*draft)->spec.index = l->catalog->signals.count;
		VEC_PUSH(&l->catalog->signals, &(*draft)->spec);
		map_set(&l->catalog->signal_by_id, (*draft)->spec.id, &(*draft)->spec);
	}
}

static void publish_findings(struct loader *l)
{
	VEC_EACH (&l->findings, draft) {
		if ((*draft)->disabled)
			continue;
		(*draft)->spec.index = l->catalog->findings.count;
		VEC_PUSH(&l->catalog->findings, &(*draft)->spec);
		map_set(&l->catalog->finding_by_id, (*draft)->spec.id, &(*draft)->spec);
	}
}

/* ---- expressions ---- */

static struct expression *parse_draft(struct loader *l, const struct draft_text *text, bool condition, struct error *e)
{
	const struct yaml *node = text->node;
	struct expression *x =
		expression_parse(l->arena, l->catalog, text->source, node->line, node->column + (node->quoted ? 1 : 0), node->text, e);

	if (!x)
		return NULL;
	if (expression_is_condition(x) != condition) {
		yaml_error(node, e,
			condition ? "expected a condition, such as a comparison; this is a number"
				  : "expected a number; this is a condition");
		return NULL;
	}
	return x;
}

static bool resolve_definition(struct loader *l, struct signal_draft *draft, size_t at, struct error *e)
{
	const struct definition_draft *own = &draft->alternatives[at], *shared = &draft->shared;
	const struct draft_text *guard = own->guard.node ? &own->guard : &shared->guard;
	__typeof__(draft->spec.definitions) out = &draft->spec.definitions[at];

	out->expression = parse_draft(l, &own->expression, false, e);
	if (!out->expression)
		return false;
	if (guard->node) {
		out->guard = parse_draft(l, guard, true, e);
		if (!out->guard)
			return false;
	}
	out->guard_reason = own->guard_reason.len ? own->guard_reason : shared->guard_reason;
	out->note = own->note.len ? own->note : shared->note;
	return true;
}

static bool resolve_signal(struct loader *l, struct signal_draft *draft, struct error *e)
{
	if (draft->detected) {
		draft->spec.kind = SIGNAL_DETECTED;
		return true;
	}
	draft->spec.definitions = arena_zalloc(l->arena, draft->alternative_count, sizeof *draft->spec.definitions);
	draft->spec.definition_count = draft->alternative_count;
	for (size_t i = 0; i < draft->alternative_count; i++) {
		if (!resolve_definition(l, draft, i, e))
			return false;
	}
	return true;
}

/* ---- cycles and kinds: signals in the order of their dependencies ---- */

enum { CHAIN_LIMIT = 64 }; /* signals that refer to signals that refer ...: far above any real one, far below the stack */

struct walk {
	enum { UNSEEN, OPEN, DONE } * state; /* by signal index */
	bool *counted;                       /* by signal index: an increase, so that a quotient of two is a ratio */
	struct signal_draft **drafts;        /* by signal index */
	const struct signal_spec *path[CHAIN_LIMIT];
	size_t depth;
	struct error *e;
};

static bool walk_signal(struct walk *w, const struct signal_spec *signal);

static bool walk_expression(struct walk *w, const struct expression *x)
{
	if (!x)
		return true;
	if (x->signal && !walk_signal(w, x->signal))
		return false;
	return walk_expression(w, x->left) && walk_expression(w, x->right);
}

static bool cycle_error(struct walk *w, const struct signal_spec *signal)
{
	struct buf chain;
	size_t from = 0;

	buf_init(&chain, 200);
	while (w->path[from] != signal)
		from++;
	for (size_t i = from; i < w->depth; i++)
		buf_printf(&chain, STR_FMT " -> ", STR_ARG(w->path[i]->id));
	buf_add(&chain, signal->id);
	yaml_error(w->drafts[signal->index]->node, w->e, "signal \"" STR_FMT "\" is defined by itself: " STR_FMT, STR_ARG(signal->id),
		STR_ARG(buf_str(&chain)));
	buf_fini(&chain);
	return false;
}

static bool counted(const struct walk *w, const struct expression *x)
{
	switch (x->kind) {
	case EXPRESSION_PRIMITIVE:
		return x->primitive == PRIMITIVE_COUNT || x->primitive == PRIMITIVE_SUM || x->primitive == PRIMITIVE_COUNT_ABOVE;
	case EXPRESSION_SIGNAL: return w->counted[x->signal->index];
	case EXPRESSION_ADD:
	case EXPRESSION_SUBTRACT:
	case EXPRESSION_FIRST: return counted(w, x->left) && counted(w, x->right);
	case EXPRESSION_AT_LEAST:
	case EXPRESSION_AT_MOST: return counted(w, x->left);
	default: return false;
	}
}

static bool has_before(const struct expression *x)
{
	return x && (x->kind == EXPRESSION_BEFORE || has_before(x->left) || has_before(x->right));
}

static enum signal_kind primitive_kind(enum primitive p)
{
	switch (p) {
	case PRIMITIVE_DELTA:
	case PRIMITIVE_TREND: return SIGNAL_DELTA;
	case PRIMITIVE_AGE: return SIGNAL_AGE;
	case PRIMITIVE_COUNT:
	case PRIMITIVE_SUM:
	case PRIMITIVE_COUNT_ABOVE: return SIGNAL_COUNT;
	case PRIMITIVE_RATE:
	case PRIMITIVE_RATE_SUM: return SIGNAL_RATE;
	case PRIMITIVE_MEAN: return SIGNAL_MEAN;
	case PRIMITIVE_QUANTILE: return SIGNAL_QUANTILE;
	case PRIMITIVE_SHARE_ABOVE:
	case PRIMITIVE_SHARE_TOP: return SIGNAL_SHARE;
	case PRIMITIVE_CELLS: return SIGNAL_CELLS;
	default: return SIGNAL_LEVEL;
	}
}

static enum signal_kind derive_kind(const struct walk *w, const struct expression *x)
{
	if (has_before(x))
		return SIGNAL_CHANGE;
	if (x->kind == EXPRESSION_PRIMITIVE)
		return primitive_kind(x->primitive);
	if (x->kind == EXPRESSION_DIVIDE && counted(w, x->left) && counted(w, x->right))
		return SIGNAL_RATIO;
	return SIGNAL_FORMULA;
}

static bool walk_signal(struct walk *w, const struct signal_spec *signal)
{
	struct signal_spec *spec = &w->drafts[signal->index]->spec;

	if (w->state[signal->index] == DONE)
		return true;
	if (w->state[signal->index] == OPEN)
		return cycle_error(w, signal);
	if (w->depth == CHAIN_LIMIT)
		return yaml_error(w->drafts[signal->index]->node, w->e, "more than %d signals refer to each other in a chain", CHAIN_LIMIT);
	w->state[signal->index] = OPEN;
	w->path[w->depth++] = signal;
	for (size_t i = 0; i < spec->definition_count; i++) {
		if (!walk_expression(w, spec->definitions[i].expression) || !walk_expression(w, spec->definitions[i].guard))
			return false;
	}
	w->depth--;
	w->state[signal->index] = DONE;
	if (spec->definition_count) {
		spec->kind = derive_kind(w, spec->definitions[0].expression);
		w->counted[spec->index] = counted(w, spec->definitions[0].expression);
	}
	return true;
}

static bool resolve_order(struct loader *l, struct error *e)
{
	const struct catalog *c = l->catalog;
	struct walk w = { .e = e };

	w.state = arena_zalloc(l->arena, c->signals.count, sizeof *w.state);
	w.counted = ARENA_ARRAY(l->arena, bool, c->signals.count);
	w.drafts = ARENA_ARRAY(l->arena, struct signal_draft *, c->signals.count);
	VEC_EACH (&l->signals, draft) {
		if (!(*draft)->disabled)
			w.drafts[(*draft)->spec.index] = *draft;
	}
	VEC_EACH (&c->signals, signal) {
		if (!walk_signal(&w, *signal))
			return false;
	}
	return true;
}

/* ---- findings ---- */

static bool reference_error(const struct yaml *item, const char *kind, const struct map *known, struct error *e)
{
	struct nearest near = nearest_start(item->text);

	MAP_EACH (known, entry)
		nearest_offer(&near, entry->key);
	yaml_error(item, e, "no %s is called \"" STR_FMT "\"", kind, STR_ARG(item->text));
	nearest_hint(&near, e);
	return false;
}

/* References to entries that somebody disabled are dropped: whoever disables a signal need not rewrite every finding that shows it. */
static bool resolve_references(const struct draft_text *list, const char *kind, const struct map *drafts, const struct map *published,
	struct str *items, size_t *count, struct error *e)
{
	size_t kept = 0;

	if (!list->node)
		return true;
	YAML_EACH (list->node, item) {
		if (!map_has(drafts, item->text))
			return reference_error(item, kind, published, e);
		if (map_has(published, item->text))
			items[kept++] = item->text;
	}
	*count = kept;
	return true;
}

static bool resolve_finding(struct loader *l, struct finding_draft *draft, struct error *e)
{
	struct finding_spec *spec = &draft->spec;
	const struct catalog *c = l->catalog;

	if (draft->when.node && !(spec->when = parse_draft(l, &draft->when, true, e)))
		return false;
	if (draft->critical.node && !(spec->critical = parse_draft(l, &draft->critical, true, e)))
		return false;
	return resolve_references(
		       &draft->evidence, "signal", &l->signal_drafts, &c->signal_by_id, spec->evidence, &spec->evidence_count, e) &&
	       resolve_references(&draft->counter, "signal", &l->signal_drafts, &c->signal_by_id, spec->counter, &spec->counter_count, e) &&
	       resolve_references(
		       &draft->suppresses, "finding", &l->finding_drafts, &c->finding_by_id, spec->suppresses, &spec->suppresses_count, e);
}

bool load_resolve(struct loader *l, struct error *e)
{
	publish_signals(l);
	publish_findings(l);
	VEC_EACH (&l->signals, draft) {
		if (!(*draft)->disabled && !resolve_signal(l, *draft, e))
			return false;
	}
	if (!resolve_order(l, e))
		return false;
	VEC_EACH (&l->findings, draft) {
		if (!(*draft)->disabled && !resolve_finding(l, *draft, e))
			return false;
	}
	return true;
}
