/* Findings over time: one incident for each finding and scope, from its onset to its last moment. */
#include "signals/incidents.h"

void incidents_init(struct incidents *in, struct arena *arena, struct evidence *evidence)
{
	*in = (struct incidents){ .arena = arena, .evidence = evidence };
	in->words = (evidence->schedulers.count + evidence->targets.count) / 64 + 1;
	map_init(&in->by_key);
}

void incidents_fini(struct incidents *in)
{
	VEC_FREE(&in->all);
	map_fini(&in->by_key);
}

static struct incident *incident_of(struct incidents *in, const struct finding *f, bool *made)
{
	char key[512];
	size_t id = f->spec->id.len < 200 ? f->spec->id.len : 200, name = f->scope->name.len < 300 ? f->scope->name.len : 300;
	memcpy(key, f->spec->id.ptr, id);
	key[id] = '\0';
	memcpy(key + id + 1, f->scope->name.ptr, name);
	struct map_entry *entry = map_put(&in->by_key, str_of(key, id + 1 + name), made);
	if (*made) {
		struct incident *i = ARENA_NEW(in->arena, struct incident);
		i->scope = arena_str(in->arena, f->scope->name);
		i->kind = f->scope->kind;
		i->members = ARENA_ARRAY(in->arena, uint64_t, in->words);
		entry->value = i;
		VEC_PUSH(&in->all, i);
	}
	return entry->value;
}

static void set_bit(uint64_t *bits, size_t i) { bits[i / 64] |= UINT64_C(1) << (i % 64); }

static void mark_scope(struct incidents *in, struct incident *i, const struct scope *s)
{
	for (size_t k = 0; k < s->member_count; k++)
		set_bit(i->members, s->members[k]);
	for (size_t k = 0; k < s->target_count && s->kind != SCOPE_ENGINE && s->kind != SCOPE_GPU; k++)
		set_bit(i->members, in->evidence->schedulers.count + s->targets[k]);
}

/* A pool's finding concerns the targets it names; any other its whole scope. */
static void mark_members(struct incidents *in, struct incident *i, const struct evaluation *ev, const struct finding *f)
{
	bool named = false;
	for (size_t k = 0; k < f->where_count && (f->scope->kind == SCOPE_FLEET || f->scope->kind == SCOPE_POOL); k++) {
		const struct scope *s = evaluation_scope(ev, f->where[k]);
		if (s && s != f->scope) {
			mark_scope(in, i, s);
			named = true;
		}
	}
	if (!named)
		mark_scope(in, i, f->scope);
}

static void fill(struct incidents *in, struct incident *i, struct evaluation *ev)
{
	/* Something that comes and goes all day is filled anew a few times, then only at the end. */
	if (i->filled && i->fills >= 8 && !i->open)
		return;
	finding_complete(ev, in->arena, &i->finding);
	i->filled = true;
	i->fills++;
}

static void take(struct incident *i, const struct finding *f)
{
	struct finding kept = i->finding;
	i->finding = *f;
	i->finding.onset_ms = kept.onset_ms;
	i->finding.changed = kept.changed;
	i->finding.changed_count = kept.changed_count;
	i->worst = f->severity > i->worst ? f->severity : i->worst;
	i->open = true;
	i->filled = false;
}

void incidents_add_moment(struct incidents *in, struct evaluation *ev)
{
	struct evaluation *before = in->newest_is_moment ? in->newest : NULL;
	VEC(struct incident *) were_open = { 0 };
	VEC_EACH(&in->all, i)
		if ((*i)->open) {
			VEC_PUSH(&were_open, *i);
			(*i)->open = false;
		}
	VEC(struct incident *) ended = { 0 };
	VEC(const struct finding *) raised = { 0 };
	VEC_EACH(&ev->findings, f)
		if (!f->undecided)
			VEC_PUSH(&raised, f);
	/* First see what goes on, so that what ended is filled from the evaluation that still had it. */
	VEC_EACH(&raised, f) {
		bool made;
		incident_of(in, *f, &made)->open = true;
	}
	VEC_EACH(&were_open, i)
		if (!(*i)->open && before)
			VEC_PUSH(&ended, *i);
	VEC_EACH(&ended, i)
		fill(in, *i, before);
	VEC_EACH(&raised, f) {
		bool made;
		struct incident *i = incident_of(in, *f, &made);
		if (!i->finding.onset_ms) {
			i->finding.onset_ms = ev->window.to_ms;
			if (before)
				i->finding.changed = finding_changes(before, ev, (*f)->scope, in->arena, &i->finding.changed_count);
		}
		take(i, *f);
		mark_members(in, i, ev, *f);
	}
	VEC_FREE(&raised);
	VEC_FREE(&were_open);
	VEC_FREE(&ended);
	in->newest = ev;
	in->newest_is_moment = true;
}

/* Does the last moment's own window say that it is over? A finding that it cannot judge (too few events, no gauge) goes on. */
static bool is_over(struct incidents *in, const struct finding *f)
{
	if (!in->newest_is_moment)
		return false;
	const struct scope *s = evaluation_scope(in->newest, f->scope->name);
	if (!s || !f->spec->when || in->newest->window.from_ms == in->newest->window.to_ms)
		return false;
	return evaluate_condition(in->newest, s, f->spec->when, true) == TRUTH_FALSE;
}

void incidents_add_window(struct incidents *in, struct evaluation *ev)
{
	VEC_EACH(&ev->findings, f) {
		bool made;
		struct incident *i = incident_of(in, f, &made);
		if (i->open && i->filled) /* another window had it */
			continue;
		if (i->open || (!made && f->undecided))
			continue; /* the last moment's figures are newer; and what was crossed once is not undecided */
		bool over = is_over(in, f);
		if (!made && over)
			continue; /* it was seen at its own time, and ended */
		take(i, f);
		mark_members(in, i, ev, f);
		i->open = !over;
		finding_complete(ev, in->arena, &i->finding);
		i->filled = true;
	}
}

/* ---- grouping ---- */

/* One finding of the report, made of incidents of one kind. */
struct group {
	struct incident *first;      /* the worst */
	VEC(struct incident *) incidents;
	const struct scope *parent;  /* where they are merged; NULL: alone */
};

/* The scope in which like findings are one: a pool for its targets and engines, the fleet for what is in no pool. */
static const struct scope *parent_of(const struct evaluation *shown, const struct incident *i)
{
	const struct scope *s = evaluation_scope(shown, i->scope), *fleet = NULL;
	if (!s || s->kind == SCOPE_FLEET || s->kind == SCOPE_POOL)
		return NULL;
	for (size_t k = 0; k < shown->scope_count; k++) {
		const struct scope *other = &shown->scopes[k];
		if (other->kind == SCOPE_FLEET)
			fleet = other;
		for (size_t t = 0; other->kind == SCOPE_POOL && s->kind != SCOPE_GPU && t < other->target_count; t++)
			if (other->targets[t] == s->target)
				return other;
	}
	return fleet;
}

static bool is_worse(const struct incident *a, const struct incident *b)
{
	if (a->finding.severity != b->finding.severity)
		return a->finding.severity > b->finding.severity;
	return a->finding.last_ms > b->finding.last_ms;
}

static size_t scopes_like(const struct evaluation *shown, const struct scope *parent, enum scope_kind kind)
{
	size_t n = 0;
	for (size_t k = 0; k < shown->scope_count; k++) {
		const struct scope *s = &shown->scopes[k];
		bool inside = parent->kind == SCOPE_FLEET;
		for (size_t t = 0; !inside && t < parent->target_count; t++)
			inside = parent->targets[t] == s->target;
		n += s->kind == kind && inside;
	}
	return n;
}

/* Distinct details, in order. */
static struct str join_details(struct incidents *in, const struct group *g)
{
	struct buf out;
	buf_init(&out, 2048);
	for (size_t i = 0; i < g->incidents.count; i++) {
		struct str detail = g->incidents.items[i]->finding.detail;
		bool said = !detail.len;
		for (size_t k = 0; k < i && !said; k++)
			said = str_eq(g->incidents.items[k]->finding.detail, detail);
		if (said)
			continue;
		if (out.len)
			buf_add_cstr(&out, "; ");
		if (g->incidents.count > 1)
			buf_printf(&out, STR_FMT ": ", STR_ARG(g->incidents.items[i]->scope));
		buf_add(&out, detail);
	}
	struct str joined = arena_str(in->arena, buf_str(&out));
	buf_fini(&out);
	return joined;
}

static void name_members(struct incidents *in, struct evaluation *shown, const struct group *g, struct finding *f)
{
	f->where = ARENA_ARRAY(in->arena, struct str, g->incidents.count + 1);
	f->where_count = 0;
	VEC_EACH(&g->incidents, i)
		f->where[f->where_count++] = (*i)->scope;
	f->where_all = scopes_like(shown, g->parent, g->first->kind);
	if (f->where_all < f->where_count)
		f->where_all = f->where_count;
}

static void merge_group(struct incidents *in, struct evaluation *shown, struct group *g)
{
	struct finding *f = &g->first->finding;
	struct scope *parent = evaluation_scope(shown, g->parent->name);
	struct finding whole = *f;
	whole.scope = parent;
	name_members(in, shown, g, &whole);
	if (whole.where_count == whole.where_all && f->spec->when && f->open_everywhere)
		finding_complete(shown, in->arena, &whole);
	VEC_EACH(&g->incidents, i) {
		const struct finding *one = &(*i)->finding;
		if (one->onset_ms && (!whole.onset_ms || one->onset_ms < whole.onset_ms)) {
			whole.onset_ms = one->onset_ms;
			whole.changed = one->changed;
			whole.changed_count = one->changed_count;
		}
		whole.last_ms = one->last_ms > whole.last_ms ? one->last_ms : whole.last_ms;
		for (size_t w = 0; w < in->words; w++)
			g->first->members[w] |= (*i)->members[w];
	}
	whole.detail = join_details(in, g);
	*f = whole;
}
