/* Which red lines are crossed where, in one window. */
#include "signals/findings.h"

#include "catalog/expression.h"

#include <math.h>

/* ---- raising ---- */

static bool pool_fits(const struct finding_spec *spec, const struct scope *s)
{
	if (spec->class_only.len && (!s->pool || !str_eq(s->pool->class_name, spec->class_only)))
		return false;
	if (!spec->role_count)
		return true;
	for (size_t i = 0; s->pool && i < spec->role_count; i++)
		if (str_is(spec->roles[i], pool_role_name(s->pool->role)))
			return true;
	return false;
}

/* The narrowest scope that holds the same: a pool of one target is that target, a fleet of one pool that pool. */
static struct scope *narrowest(struct evaluation *ev, struct scope *s)
{
	if (s->kind != SCOPE_FLEET && s->kind != SCOPE_POOL)
		return s;
	for (size_t i = 0; i < ev->scope_count; i++) {
		struct scope *other = &ev->scopes[i];
		if (other->kind == SCOPE_TARGET && s->target_count == 1 && other->target == s->targets[0])
			return other;
		if (other->kind == SCOPE_POOL && s->kind == SCOPE_FLEET && s->target_count > 1 && other->target_count == s->target_count)
			return other;
	}
	return s;
}

static bool already_raised(const struct evaluation *ev, const struct finding_spec *spec, const struct scope *s)
{
	for (size_t i = ev->findings.count; i-- > 0;) /* findings of one spec follow each other */
		if (ev->findings.items[i].spec == spec && ev->findings.items[i].scope == s)
			return true;
		else if (!spec->detector.len && ev->findings.items[i].spec != spec)
			return false;
	return false;
}

static struct finding *add_finding(struct evaluation *ev, const struct finding_spec *spec, struct scope *scope)
{
	scope = narrowest(ev, scope);
	if (already_raised(ev, spec, scope))
		return NULL;
	struct finding f = { .spec = spec, .severity = spec->severity, .scope = scope, .last_ms = ev->window.to_ms };
	f.blast = reading_unknown(UNKNOWN_NOT_APPLICABLE, STR_EMPTY);
	if (spec->critical && evaluate_condition(ev, scope, spec->critical, true) == TRUTH_TRUE)
		f.severity = SEVERITY_CRITICAL;
	VEC_PUSH(&ev->findings, f);
	return &ev->findings.items[ev->findings.count - 1];
}

static void set_where(struct evaluation *ev, struct finding *f, const struct str *where, size_t count, size_t all)
{
	f->where_count = count ? count : 1;
	f->where_all = all > f->where_count ? all : f->where_count;
	f->where = ARENA_ARRAY(ev->arena, struct str, f->where_count);
	for (size_t i = 0; i < count; i++)
		f->where[i] = arena_str(ev->arena, where[i]);
	if (!count)
		f->where[0] = f->scope->name;
}

struct finding *evaluation_raise(struct evaluation *ev, const char *id, struct scope *scope, const struct str *where, size_t where_count,
	size_t where_all, struct str detail)
{
	const struct finding_spec *spec = catalog_finding(ev->catalog, id);
	if (!spec || !pool_fits(spec, scope))
		return NULL;
	struct finding *f = add_finding(ev, spec, scope);
	if (!f)
		return NULL;
	set_where(ev, f, where, where_count, where_all);
	f->detail = detail.len ? arena_str(ev->arena, detail) : STR_EMPTY;
	return f;
}

/* ---- what a red line rests on ---- */

struct leaves {
	bool unknown, stale, trust_unknown;
};

/* "At least 0" for want of a target that did not answer: that it is missing is told already, and nothing else is known. */
static bool says_nothing(const struct reading *r)
{
	return r->kind == READING_AT_LEAST && r->low <= 0 && r->targets_in < r->targets_all;
}

static void see_leaf(struct leaves *l, const struct reading *r)
{
	l->unknown |= !reading_known(r) || says_nothing(r);
	l->stale |= r->stale;
	l->trust_unknown |= r->trust_unknown;
}

static void see_leaves(struct evaluation *ev, const struct scope *s, const struct expression *x, struct leaves *l)
{
	struct reading r;
	if (!x)
		return;
	switch (x->kind) {
	case EXPRESSION_NUMBER:
	case EXPRESSION_KNOWN: return; /* known(x) asks whether there is one: its answer is always known */
	case EXPRESSION_SIGNAL: see_leaf(l, evaluation_reading(ev, s, x->signal)); return;
	case EXPRESSION_OR: /* one side that holds is enough: an unknown other side does not speak against it */
		for (size_t i = 0; i < 2; i++)
			if (evaluate_condition(ev, s, i ? x->right : x->left, true) == TRUTH_TRUE) {
				see_leaves(ev, s, i ? x->right : x->left, l);
				return;
			}
		break;
	case EXPRESSION_PRIMITIVE:
	case EXPRESSION_BEFORE:
	case EXPRESSION_FIRST:
		r = evaluate_expression(ev, s, x);
		see_leaf(l, &r);
		return;
	default: break;
	}
	see_leaves(ev, s, x->left, l);
	see_leaves(ev, s, x->right, l);
}

enum truth finding_judge(struct evaluation *ev, const struct scope *s, const struct finding_spec *spec)
{
	if (!spec->when || !pool_fits(spec, s))
		return TRUTH_FALSE;
	enum truth truth = evaluate_condition(ev, s, spec->when, true);
	if (truth == TRUTH_FALSE)
		return TRUTH_FALSE;
	struct leaves leaves = { 0 };
	see_leaves(ev, s, spec->when, &leaves);
	if (leaves.stale || (spec->fresh && leaves.trust_unknown) || (truth == TRUTH_UNDECIDED && leaves.unknown))
		return TRUTH_FALSE;
	return truth;
}

/* ---- red lines over scopes ---- */

static unsigned scope_bit(enum scope_kind kind)
{
	static const unsigned bits[] = { [SCOPE_FLEET] = AT_FLEET,
		[SCOPE_POOL] = AT_POOL,
		[SCOPE_TARGET] = AT_TARGET,
		[SCOPE_ENGINE] = AT_ENGINE,
		[SCOPE_GPU] = AT_GPU };
	return bits[kind];
}

/* What one pass over the scopes needs to know about targets. */
struct judging {
	bool *has_engines;    /* by target: judged engine by engine where a finding allows it */
	bool *in_raised_pool; /* by target: its pool raised the finding already */
};

static bool holds_target(const struct scope *s, size_t target)
{
	for (size_t i = 0; i < s->target_count; i++)
		if (s->targets[i] == target)
			return true;
	return false;
}

/* Names the targets of a pool or fleet that cross the line themselves; when none does alone, all are concerned. */
static void name_targets(struct evaluation *ev, struct finding *f, const struct finding_spec *spec, const struct scope *wide)
{
	struct str *names = ARENA_ARRAY(ev->arena, struct str, wide->target_count + 1);
	struct str *all = ARENA_ARRAY(ev->arena, struct str, wide->target_count + 1);
	size_t count = 0, total = 0;
	for (size_t i = 0; i < ev->scope_count; i++) {
		const struct scope *t = &ev->scopes[i];
		if (t->kind != SCOPE_TARGET || !holds_target(wide, t->target))
			continue;
		all[total++] = t->name;
		if (finding_judge(ev, t, spec) == TRUTH_TRUE)
			names[count++] = t->name;
	}
	set_where(ev, f, count ? names : all, count ? count : total, total);
}

static bool is_judged_at(const struct judging *j, const struct finding_spec *spec, const struct scope *s)
{
	if (!(spec->scopes & scope_bit(s->kind)))
		return false;
	bool below_pool = s->kind == SCOPE_TARGET || s->kind == SCOPE_ENGINE;
	if (below_pool && j->in_raised_pool[s->target])
		return false;
	return s->kind != SCOPE_TARGET || !(spec->scopes & AT_ENGINE) || !j->has_engines[s->target];
}

static void judge_at(struct evaluation *ev, struct judging *j, const struct finding_spec *spec, struct scope *s)
{
	enum truth truth = finding_judge(ev, s, spec);
	if (truth == TRUTH_FALSE || (truth == TRUTH_UNDECIDED && spec->severity == SEVERITY_INFO))
		return;
	struct finding *f = add_finding(ev, spec, s);
	if (!f)
		return;
	f->undecided = truth == TRUTH_UNDECIDED;
	if (f->undecided)
		f->severity = SEVERITY_INFO;
	if (f->scope->kind != SCOPE_FLEET && f->scope->kind != SCOPE_POOL)
		set_where(ev, f, NULL, 0, 1);
	else
		name_targets(ev, f, spec, f->scope);
	for (size_t i = 0; truth == TRUTH_TRUE && s->kind == SCOPE_POOL && i < s->target_count; i++)
		j->in_raised_pool[s->targets[i]] = true;
}

static void find_red_line(struct evaluation *ev, struct judging *j, const struct finding_spec *spec)
{
	memset(j->in_raised_pool, 0, ev->evidence->targets.count * sizeof *j->in_raised_pool);
	for (enum scope_kind kind = SCOPE_FLEET; kind <= SCOPE_GPU; kind++) { /* the wide ones first: they take their targets with them */
		if (!(spec->scopes & scope_bit(kind)))
			continue;
		for (size_t i = 0; i < ev->scope_count; i++)
			if (ev->scopes[i].kind == kind && is_judged_at(j, spec, &ev->scopes[i]))
				judge_at(ev, j, spec, &ev->scopes[i]);
	}
}

void findings_find(struct evaluation *ev)
{
	size_t targets = ev->evidence->targets.count;
	struct judging j = { ARENA_ARRAY(ev->arena, bool, targets + 1), ARENA_ARRAY(ev->arena, bool, targets + 1) };
	for (size_t i = 0; i < ev->scope_count; i++)
		if (ev->scopes[i].kind == SCOPE_ENGINE)
			j.has_engines[ev->scopes[i].target] = true;
	for (const struct detector *d = detectors; d->name; d++)
		if (d->raise)
			d->raise(ev);
	VEC_EACH (&ev->catalog->findings, spec)
		if ((*spec)->when)
			find_red_line(ev, &j, *spec);
}

struct scope *evaluation_scope(const struct evaluation *ev, enum scope_kind kind, struct str name)
{
	for (size_t i = 0; i < ev->scope_count; i++)
		if (ev->scopes[i].kind == kind && str_eq(ev->scopes[i].name, name))
			return &ev->scopes[i];
	return NULL;
}

struct scope *evaluation_place(const struct evaluation *ev, struct str name)
{
	for (size_t i = 0; i < ev->scope_count; i++)
		if (ev->scopes[i].kind != SCOPE_FLEET && ev->scopes[i].kind != SCOPE_POOL && str_eq(ev->scopes[i].name, name))
			return &ev->scopes[i];
	return NULL;
}
