/* Expressions on readings, signals at scopes. */
#include "signals/evaluate.h"

#include "signals/findings.h"
#include "signals/window.h"

#include <math.h>

void evaluation_init(
	struct evaluation *ev, struct arena *arena, struct evidence *evidence, struct window window, const struct window *reference)
{
	*ev = (struct evaluation){
		.arena = arena, .evidence = evidence, .catalog = evidence->catalog, .window = window, .reference = reference
	};
	scopes_build(ev);
	ev->readings = arena_alloc(arena, (ev->scope_count + 1) * sizeof *ev->readings);
	ev->have = arena_alloc(arena, (ev->scope_count + 1) * sizeof *ev->have);
	ev->busy = arena_alloc(arena, (ev->scope_count + 1) * sizeof *ev->busy);
	size_t signals = ev->catalog->signals.count;
	for (size_t s = 0; s < ev->scope_count; s++) {
		ev->readings[s] = arena_alloc(arena, (signals + 1) * sizeof **ev->readings);
		ev->have[s] = arena_zalloc(arena, signals + 1, sizeof **ev->have);
		ev->busy[s] = arena_zalloc(arena, signals + 1, sizeof **ev->busy);
	}
	detectors_publish(ev);
}

void evaluation_fini(struct evaluation *ev)
{
	if (ev->before)
		evaluation_fini(ev->before);
	VEC_FREE(&ev->findings);
}

static const struct reading no_such_signal = { .kind = READING_UNKNOWN,
	.reason = UNKNOWN_NOT_APPLICABLE,
	.low = NAN,
	.high = NAN,
	.events = NAN,
	.elapsed_s = NAN,
	.mean = NAN,
	.share_beyond = NAN };

static size_t scope_index(const struct evaluation *ev, const struct scope *s)
{
	return (size_t)(s - ev->scopes);
}

void evaluation_publish(struct evaluation *ev, const struct scope *s, const char *signal_id, struct reading r)
{
	const struct signal_spec *signal = catalog_signal(ev->catalog, signal_id);
	if (!signal)
		return;
	ev->readings[scope_index(ev, s)][signal->index] = r;
	ev->have[scope_index(ev, s)][signal->index] = true;
}

/* Is anything that the expression needs exported in the scope? Every metric must be, signals through any of their definitions. */
static bool is_bound(struct evaluation *ev, const struct scope *s, const struct expression *x, int depth)
{
	if (!x || depth > 32)
		return true;
	if (x->kind == EXPRESSION_PRIMITIVE)
		return primitive_is_bound(ev, s, x);
	if (x->kind == EXPRESSION_FIRST)
		return is_bound(ev, s, x->left, depth + 1) || is_bound(ev, s, x->right, depth + 1);
	if (x->kind == EXPRESSION_KNOWN)
		return true;
	if (x->kind == EXPRESSION_SIGNAL || x->kind == EXPRESSION_BEFORE) {
		if (!x->signal->definition_count)
			return true;
		for (size_t i = 0; i < x->signal->definition_count; i++)
			if (is_bound(ev, s, x->signal->definitions[i].expression, depth + 1))
				return true;
		return false;
	}
	return is_bound(ev, s, x->left, depth + 1) && is_bound(ev, s, x->right, depth + 1);
}

/* k of n is a share with an interval: 59 of 60 decides less than 5900 of 6000. */
static void add_share_interval(struct evaluation *ev, const struct scope *s, const struct expression *x, struct reading *r)
{
	if (x->kind != EXPRESSION_DIVIDE || r->kind != READING_VALUE || r->has_interval || !(r->low >= 0 && r->low <= 1))
		return;
	struct reading n = evaluate_expression(ev, s, x->right);
	if (n.kind != READING_VALUE || !(n.low > 0))
		return;
	wilson_interval(r->low * n.low, n.low, &r->interval_low, &r->interval_high);
	r->has_interval = true;
}

/* The first definition that is bound and whose guard does not fail; with the last one's reason when none is. */
static struct reading evaluate_signal(struct evaluation *ev, const struct scope *s, const struct signal_spec *signal)
{
	struct reading r = reading_unknown(UNKNOWN_NOT_APPLICABLE, STR_EMPTY);
	bool tried = false, guarded = false;
	for (size_t i = 0; i < signal->definition_count; i++) {
		__typeof__(&signal->definitions[0]) d = &signal->definitions[i];
		bool bound = is_bound(ev, s, d->expression, 0);
		if (!bound && (tried || guarded || i + 1 < signal->definition_count))
			continue;
		if (bound && d->guard && evaluate_condition(ev, s, d->guard, false) == TRUTH_FALSE) {
			r = reading_unknown(UNKNOWN_GUARDED, d->guard_reason);
			guarded = true;
			continue;
		}
		r = evaluate_expression(ev, s, d->expression);
		if (signal->is_fraction && signal->kind == SIGNAL_RATIO)
			add_share_interval(ev, s, d->expression, &r);
		tried = true;
		if (d->note.len)
			r.note = d->note;
		if (bound)
			return r;
	}
	return r;
}

const struct reading *evaluation_reading(struct evaluation *ev, const struct scope *s, const struct signal_spec *signal)
{
	size_t i = scope_index(ev, s);
	struct reading *r = &ev->readings[i][signal->index];
	if (ev->have[i][signal->index])
		return r;
	if (ev->busy[i][signal->index] || !signal->definition_count) {
		return &no_such_signal;
	}
	ev->busy[i][signal->index] = true;
	struct reading made = evaluate_signal(ev, s, signal);
	ev->busy[i][signal->index] = false;
	*r = made;
	ev->have[i][signal->index] = true;
	return r;
}

const struct reading *evaluation_named(struct evaluation *ev, const struct scope *s, const char *signal_id)
{
	const struct signal_spec *signal = catalog_signal(ev->catalog, signal_id);
	return signal ? evaluation_reading(ev, s, signal) : &no_such_signal;
}

/* The signal at the same scope in the window compared with. */
static struct reading reading_before(struct evaluation *ev, const struct scope *s, const struct signal_spec *signal)
{
	if (!ev->reference)
		return reading_unknown(UNKNOWN_NO_REFERENCE, STR_EMPTY);
	if (!ev->before) {
		ev->before = ARENA_NEW(ev->arena, struct evaluation);
		evaluation_init(ev->before, ev->arena, ev->evidence, *ev->reference, NULL);
	}
	for (size_t i = 0; i < ev->before->scope_count; i++)
		if (ev->before->scopes[i].kind == s->kind && str_eq(ev->before->scopes[i].name, s->name))
			return *evaluation_reading(ev->before, &ev->before->scopes[i], signal);
	return reading_unknown(UNKNOWN_NO_REFERENCE, STR_EMPTY);
}

/* (1 - a^(g+1)) / (1 - a) rises in a from 1 to g + 1: bisect. */
static double solve_alpha(double length, double gamma)
{
	double low = 0, high = 1;
	if (length <= 1)
		return 0;
	if (length >= gamma + 1)
		return 1;
	for (int i = 0; i < 60; i++) {
		double a = (low + high) / 2, value = (1 - pow(a, gamma + 1)) / (1 - a);
		*(value < length ? &low : &high) = a;
	}
	return (low + high) / 2;
}

static struct reading alpha_of(const struct reading *length, const struct reading *gamma)
{
	if (!reading_known(length))
		return *length;
	if (!reading_is_number(gamma) || !reading_is_number(length) || gamma->low <= 0)
		return reading_known(gamma) ? reading_unknown(UNKNOWN_INVALID, STR("no draft tokens")) : *gamma;
	struct reading r = *length;
	struct reading bounds =
		reading_bound(solve_alpha(length->low, gamma->low), solve_alpha(fmin(length->high, gamma->low + 1), gamma->low));
	r.kind = bounds.kind;
	r.low = bounds.low;
	r.high = bounds.high;
	return r;
}

static struct reading truth_reading(enum truth t)
{
	if (t == TRUTH_UNDECIDED)
		return reading_bound(0, 1);
	return reading_value(t == TRUTH_TRUE);
}

static struct reading floor_of(struct reading r)
{
	if (!reading_is_number(&r))
		return r;
	struct reading whole = reading_bound(floor(r.low), floor(r.high));
	r.kind = whole.kind;
	r.low = whole.low;
	r.high = whole.high;
	return r;
}

static struct reading bounded(struct reading r, bool at_least)
{
	if (!reading_is_number(&r))
		return r;
	*(at_least ? &r.high : &r.low) = at_least ? INFINITY : -INFINITY;
	r.kind = at_least ? READING_AT_LEAST : READING_AT_MOST;
	r.targets_in = r.targets_all; /* the bound is meant, not an accident of who answered */
	return r;
}

struct reading evaluate_expression(struct evaluation *ev, const struct scope *s, const struct expression *x)
{
	static const char operators[] = { [EXPRESSION_ADD] = '+',
		[EXPRESSION_SUBTRACT] = '-',
		[EXPRESSION_MULTIPLY] = '*',
		[EXPRESSION_DIVIDE] = '/',
		[EXPRESSION_MIN] = 'm',
		[EXPRESSION_MAX] = 'M' };
	struct reading left, right;
	switch (x->kind) {
	case EXPRESSION_NUMBER: return reading_value(x->number);
	case EXPRESSION_SIGNAL: return *evaluation_reading(ev, s, x->signal);
	case EXPRESSION_BEFORE: return reading_before(ev, s, x->signal);
	case EXPRESSION_PRIMITIVE: return evaluate_primitive(ev, s, x);
	case EXPRESSION_NEGATE: left = evaluate_expression(ev, s, x->left); return reading_negate(&left);
	case EXPRESSION_FLOOR: return floor_of(evaluate_expression(ev, s, x->left));
	case EXPRESSION_AT_LEAST: return bounded(evaluate_expression(ev, s, x->left), true);
	case EXPRESSION_AT_MOST: return bounded(evaluate_expression(ev, s, x->left), false);
	case EXPRESSION_FIRST:
		left = evaluate_expression(ev, s, x->left);
		return reading_known(&left) ? left : evaluate_expression(ev, s, x->right);
	case EXPRESSION_ADD:
	case EXPRESSION_SUBTRACT:
	case EXPRESSION_MULTIPLY:
	case EXPRESSION_DIVIDE:
	case EXPRESSION_MIN:
	case EXPRESSION_MAX:
		left = evaluate_expression(ev, s, x->left);
		right = evaluate_expression(ev, s, x->right);
		return reading_combine(operators[x->kind], &left, &right);
	case EXPRESSION_ALPHA:
		left = evaluate_expression(ev, s, x->left);
		right = evaluate_expression(ev, s, x->right);
		return alpha_of(&left, &right);
	default: return truth_reading(evaluate_condition(ev, s, x, false));
	}
}

/* Too few events to judge a share or quantile? */
static bool is_thin(const struct expression *x, const struct reading *r)
{
	return x->kind == EXPRESSION_SIGNAL && x->signal->min_events > 0 && r->events < x->signal->min_events;
}

static enum truth compare(struct evaluation *ev, const struct scope *s, const struct expression *x, bool judge)
{
	static const char operators[] = { [EXPRESSION_LESS] = '<',
		[EXPRESSION_LESS_EQUAL] = 'l',
		[EXPRESSION_GREATER] = '>',
		[EXPRESSION_GREATER_EQUAL] = 'g',
		[EXPRESSION_EQUAL] = '=',
		[EXPRESSION_NOT_EQUAL] = '!' };
	struct reading left = evaluate_expression(ev, s, x->left), right = evaluate_expression(ev, s, x->right);
	enum truth t = reading_compare(operators[x->kind], &left, &right, judge);
	return judge && t == TRUTH_TRUE && (is_thin(x->left, &left) || is_thin(x->right, &right)) ? TRUTH_UNDECIDED : t;
}

enum truth evaluate_condition(struct evaluation *ev, const struct scope *s, const struct expression *x, bool judge)
{
	enum truth left;
	struct reading r;
	switch (x->kind) {
	case EXPRESSION_AND:
		left = evaluate_condition(ev, s, x->left, judge);
		if (left == TRUTH_FALSE)
			return left;
		return (enum truth[]){ TRUTH_FALSE, TRUTH_UNDECIDED, left }[evaluate_condition(ev, s, x->right, judge)];
	case EXPRESSION_OR:
		left = evaluate_condition(ev, s, x->left, judge);
		if (left == TRUTH_TRUE)
			return left;
		return (enum truth[]){ left, TRUTH_UNDECIDED, TRUTH_TRUE }[evaluate_condition(ev, s, x->right, judge)];
	case EXPRESSION_NOT:
		left = evaluate_condition(ev, s, x->left, judge);
		return left == TRUTH_TRUE ? TRUTH_FALSE : left == TRUTH_FALSE ? TRUTH_TRUE : left;
	case EXPRESSION_KNOWN: r = evaluate_expression(ev, s, x->left); return reading_known(&r) ? TRUTH_TRUE : TRUTH_FALSE;
	case EXPRESSION_LESS:
	case EXPRESSION_LESS_EQUAL:
	case EXPRESSION_GREATER:
	case EXPRESSION_GREATER_EQUAL:
	case EXPRESSION_EQUAL:
	case EXPRESSION_NOT_EQUAL: return compare(ev, s, x, judge);
	default:
		r = evaluate_expression(ev, s, x);
		if (!reading_is_number(&r))
			return TRUTH_UNDECIDED;
		return r.low > 0 || r.high < 0 ? TRUTH_TRUE : r.low == 0 && r.high == 0 ? TRUTH_FALSE : TRUTH_UNDECIDED;
	}
}
