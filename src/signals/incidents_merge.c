/* The end of the story: incidents of one kind in one pool become one finding, causes take their symptoms, and the list gets its order. */
#include "signals/incidents.h"

#include <stdlib.h>

struct group {
	VEC(struct incident *) incidents; /* the worst first */
	struct scope *parent;             /* where they are merged: a pool, the fleet */
	struct finding finding;
	uint64_t *members;
	struct group *cause; /* the one that it is shown under */
};

struct groups {
	struct incidents *in;
	struct evaluation *shown;
	VEC(struct group) all;
};

/* A pool of one target is that target. */
static struct scope *or_its_target(const struct evaluation *shown, struct scope *wide)
{
	for (size_t k = 0; wide->target_count == 1 && k < shown->scope_count; k++)
		if (shown->scopes[k].kind == SCOPE_TARGET && shown->scopes[k].target == wide->targets[0])
			return &shown->scopes[k];
	return wide;
}

/* The scope in which like findings are one: a pool for itself, its targets and engines; the fleet for what is in no pool. */
static struct scope *parent_of(const struct evaluation *shown, const struct incident *i)
{
	const struct scope *s = evaluation_scope(shown, i->kind, i->scope);
	struct scope *fleet = NULL;
	for (size_t k = 0; k < shown->scope_count; k++) {
		struct scope *other = &shown->scopes[k];
		if (other->kind == SCOPE_FLEET)
			fleet = other;
		if (!s || other->kind != SCOPE_POOL || s->kind == SCOPE_GPU)
			continue;
		if (other == s)
			return or_its_target(shown, other);
		for (size_t t = 0; s->kind != SCOPE_FLEET && s->kind != SCOPE_POOL && t < other->target_count; t++)
			if (other->targets[t] == s->target)
				return or_its_target(shown, other);
	}
	return fleet ? or_its_target(shown, fleet) : NULL;
}

/* What goes on is as bad as it is now; what is over, as bad as it was. */
static enum severity incident_severity(const struct incident *i)
{
	return i->open ? i->severity : i->worst;
}

static int worse_first(const void *a, const void *b)
{
	const struct incident *x = *(struct incident *const *)a, *y = *(struct incident *const *)b;
	if (incident_severity(x) != incident_severity(y))
		return incident_severity(x) > incident_severity(y) ? -1 : 1;
	if (x->last_ms != y->last_ms)
		return x->last_ms > y->last_ms ? -1 : 1;
	return str_cmp(x->scope, y->scope);
}

static bool belongs(const struct group *g, const struct incident *i, const struct scope *parent)
{
	const struct incident *other = g->incidents.items[0];
	return other->spec == i->spec && g->parent == parent && other->open == i->open && other->undecided == i->undecided;
}

static void collect(struct groups *gs)
{
	VEC_EACH (&gs->in->all, i) {
		struct scope *parent = parent_of(gs->shown, *i);
		struct group *home = NULL;
		VEC_EACH (&gs->all, g)
			if (belongs(g, *i, parent))
				home = g;
		if (!home) {
			VEC_PUSH(&gs->all, (struct group){ .parent = parent });
			home = &gs->all.items[gs->all.count - 1];
		}
		VEC_PUSH(&home->incidents, *i);
	}
}

/* How many scopes of this kind the parent has: the 32 of "3 of 32". */
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

/* Distinct details, each with its place. */
static struct str join_details(struct arena *arena, const struct group *g)
{
	struct buf out;
	buf_init(&out, 2048);
	for (size_t i = 0; i < g->incidents.count; i++) {
		struct str detail = g->incidents.items[i]->told.detail;
		bool said = !detail.len;
		for (size_t k = 0; k < i && !said; k++)
			said = str_eq(g->incidents.items[k]->told.detail, detail);
		if (!said)
			buf_printf(&out, "%s" STR_FMT ": " STR_FMT, out.len ? "; " : "", STR_ARG(g->incidents.items[i]->scope),
				STR_ARG(detail));
	}
	struct str joined = arena_str(arena, buf_str(&out));
	buf_fini(&out);
	return joined;
}

static const struct incident *parents_own(const struct groups *gs, const struct group *g)
{
	VEC_EACH (&g->incidents, i)
		if (evaluation_scope(gs->shown, (*i)->kind, (*i)->scope) == g->parent)
			return *i;
	return NULL;
}

/* Several places: told at the parent with the names of all, and with the figures of the worst; with the parent's own when it crosses the
 * line as a whole. */
static void merge_places(struct groups *gs, struct group *g, struct finding *f)
{
	const struct incident *wide = parents_own(gs, g);
	if (wide) {
		*f = wide->told;
		return;
	}
	struct arena *arena = gs->in->arena;
	f->where_count = g->incidents.count;
	f->where_all = scopes_like(gs->shown, g->parent, g->incidents.items[0]->kind);
	f->where_all = f->where_all < f->where_count ? f->where_count : f->where_all;
	f->where = ARENA_ARRAY(arena, struct str, f->where_count);
	for (size_t i = 0; i < f->where_count; i++)
		f->where[i] = g->incidents.items[i]->scope;
	f->detail = join_details(arena, g);
	struct evaluation *ev = gs->in->newest ? gs->in->newest : gs->shown;
	struct scope *there = evaluation_scope(ev, g->parent->kind, g->parent->name);
	if (g->incidents.items[0]->open && there && finding_judge(ev, there, f->spec) == TRUTH_TRUE) {
		f->scope = there;
		finding_complete(ev, arena, f);
	}
}

static void sum_up(struct groups *gs, struct group *g, struct finding *f)
{
	f->onset_ms = 0;
	VEC_EACH (&g->incidents, p) {
		const struct incident *i = *p;
		if (i->onset_ms && (!f->onset_ms || i->onset_ms < f->onset_ms)) {
			f->onset_ms = i->onset_ms;
			f->changed = i->changed;
			f->changed_count = i->changed_count;
		}
		f->last_ms = i->last_ms > f->last_ms ? i->last_ms : f->last_ms;
		f->severity = incident_severity(i) > f->severity ? incident_severity(i) : f->severity;
		for (size_t w = 0; w < gs->in->words; w++)
			g->members[w] |= i->members[w];
	}
}

static void merge_group(struct groups *gs, struct group *g)
{
	qsort(g->incidents.items, g->incidents.count, sizeof *g->incidents.items, worse_first);
	const struct incident *first = g->incidents.items[0];
	struct finding *f = &g->finding;
	*f = first->told;
	if (g->incidents.count > 1)
		merge_places(gs, g, f);
	struct scope *own = evaluation_scope(gs->shown, first->kind, first->scope);
	f->scope = g->incidents.count > 1 || !own ? g->parent : own;
	f->now = first->open;
	f->undecided = first->undecided;
	f->severity = SEVERITY_INFO;
	g->members = ARENA_ARRAY(gs->in->arena, uint64_t, gs->in->words);
	sum_up(gs, g, f);
}

/* ---- suppression ---- */

static bool names(const struct finding_spec *cause, const struct finding_spec *symptom)
{
	for (size_t i = 0; i < cause->suppresses_count; i++)
		if (str_eq(cause->suppresses[i], symptom->id))
			return true;
	return false;
}

static bool overlaps(const struct finding *cause, const struct finding *symptom)
{
	if (symptom->now && !cause->now)
		return false;
	return (!cause->onset_ms || cause->onset_ms <= symptom->last_ms) && (!symptom->onset_ms || symptom->onset_ms <= cause->last_ms);
}

static bool explains(const struct groups *gs, const struct group *cause, const struct group *symptom)
{
	if (!symptom->finding.spec->symptom || symptom->finding.spec->about_data || cause->finding.undecided ||
		!names(cause->finding.spec, symptom->finding.spec) || !overlaps(&cause->finding, &symptom->finding))
		return false;
	for (size_t w = 0; w < gs->in->words; w++)
		if (symptom->members[w] & ~cause->members[w])
			return false;
	return true;
}

/* The cause at the end of the chain. */
static struct group *root_cause(struct group *g)
{
	while (g->cause)
		g = g->cause;
	return g;
}

/* One incident, one severity: a cause weighs as much as the worst of what it explains. */
static void suppress(struct groups *gs)
{
	VEC_EACH (&gs->all, symptom)
		VEC_EACH (&gs->all, cause) {
			if (root_cause(cause) == symptom || !explains(gs, cause, symptom)) /* in a circle the first found stays the cause */
				continue;
			if (!symptom->cause || cause->finding.severity > symptom->cause->finding.severity)
				symptom->cause = cause;
		}
	VEC_EACH (&gs->all, g) {
		if (!g->cause)
			continue;
		struct group *root = root_cause(g);
		g->finding.suppressed_by = root->finding.spec;
		if (!g->finding.undecided && g->finding.severity > root->finding.severity && g->finding.now == root->finding.now)
			root->finding.severity = g->finding.severity;
	}
}

/* ---- order ---- */

/* Undecided last, then by severity, what goes on before what is over, causes before bare red lines, wide before narrow. */
static int by_weight(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
	const struct finding *f = &x->finding, *g = &y->finding;
	if (f->undecided != g->undecided)
		return f->undecided ? 1 : -1;
	if (f->severity != g->severity)
		return f->severity > g->severity ? -1 : 1;
	if (f->now != g->now)
		return f->now ? -1 : 1;
	if (f->spec->symptom != g->spec->symptom)
		return f->spec->symptom ? 1 : -1;
	if (f->spec->about_data != g->spec->about_data)
		return f->spec->about_data ? 1 : -1;
	if (f->spec != g->spec) /* the catalogue's order: the heaviest first */
		return f->spec->index < g->spec->index ? -1 : 1;
	if (f->scope->kind != g->scope->kind)
		return f->scope->kind < g->scope->kind ? -1 : 1;
	return str_cmp(f->scope->name, g->scope->name);
}

/* Each cause, and under it what it explains. */
static struct finding *lay_out(struct groups *gs, struct arena *arena)
{
	size_t count = gs->all.count, n = 0;
	struct finding *out = ARENA_ARRAY(arena, struct finding, count + 1);
	struct group **order = ARENA_ARRAY(arena, struct group *, count + 1);
	for (size_t i = 0; i < count; i++)
		order[i] = &gs->all.items[i];
	qsort(order, count, sizeof *order, by_weight);
	for (size_t i = 0; i < count; i++) {
		if (order[i]->cause)
			continue;
		out[n++] = order[i]->finding;
		for (size_t k = 0; k < count; k++)
			if (order[k]->cause && root_cause(order[k]) == order[i])
				out[n++] = order[k]->finding;
	}
	return out;
}

struct finding *incidents_finish(struct incidents *in, struct evaluation *shown, size_t *count)
{
	VEC_EACH (&in->all, i)
		if ((*i)->raw) {
			incident_tell(in, *i, in->newest);
			(*i)->raw = NULL;
		}
	struct groups gs = { .in = in, .shown = shown };
	collect(&gs);
	VEC_EACH (&gs.all, g)
		merge_group(&gs, g);
	suppress(&gs);
	struct finding *out = lay_out(&gs, in->arena);
	*count = gs.all.count;
	VEC_EACH (&gs.all, g)
		VEC_FREE(&g->incidents);
	VEC_FREE(&gs.all);
	return out;
}
