/* The verdict: each item of the policy on its own, then together. */
#include "compare/internal.h"

#include <math.h>

/* Nine times of ten. */
#define POWER 0.9

static const char *const verdict_names[] = { "pass", "fail", "inconclusive", "not-comparable" };

const char *compare_verdict_name(enum compare_verdict v)
{
	return verdict_names[v];
}

static void set_worse(struct compare_ruling *u, const struct compare_panel *p)
{
	if (p->spec->better > 0) {
		u->worse = -p->change.value;
		u->worse_low = -p->change.high;
		u->worse_high = -p->change.low;
	} else {
		u->worse = p->change.value;
		u->worse_low = p->change.low;
		u->worse_high = p->change.high;
	}
}

/* Load a side for which a worsening of the margin would be found nine times of ten: errors shrink with the root of time. */
static double seconds_needed(const struct compare_panel *p, double margin, double tail, double seconds)
{
	double wanted = margin / (normal_quantile(1 - tail) + normal_quantile(POWER)), fewer = fmin(p->effective_a, p->effective_b);

	if (p->spec->kind == COMPARE_COUNT)
		return NAN;
	if (p->error > 0)
		return seconds * (p->error / wanted) * (p->error / wanted);
	if (p->spec->kind == COMPARE_QUANTILE && fewer > 0) /* no interval yet: first there has to be one */
		return seconds * log(tail) / log(p->spec->q) / fewer;
	return NAN;
}

static void judge(struct compare_ruling *u, const struct compare_panel *p)
{
	set_worse(u, p);
	if (u->worse_low > 0 && (isnan(u->worse) ? u->worse_low : u->worse) > u->item->ignore)
		u->verdict = COMPARE_FAIL;
	else if (u->worse_high < u->item->margin)
		u->verdict = COMPARE_PASS;
	else
		u->verdict = COMPARE_INCONCLUSIVE;
}

/* `p` NULL: the figure is not known. */
static void rule_item(struct compare_ruling *u, const struct compare_panel *p, double tail, double seconds)
{
	if (!p) {
		u->unknown = true;
		u->left_out = !u->item->required;
		u->verdict = u->left_out ? COMPARE_PASS : COMPARE_INCONCLUSIVE;
		u->worse = u->worse_low = u->worse_high = u->seconds_needed = NAN;
		return;
	}
	judge(u, p);
	if (p->spec->kind == COMPARE_COUNT && p->b.value <= p->a.value)
		u->verdict = COMPARE_PASS; /* bursts leave wide intervals: no more than before is enough */
	u->seconds_needed = seconds_needed(p, u->item->margin, tail, seconds);
}

static double shorter_side(const struct compare_result *r)
{
	return r->seconds_a < r->seconds_b ? r->seconds_a : r->seconds_b;
}

static void sum_up(struct compare_result *r)
{
	bool failed = false, open = false, judged = false;

	for (size_t i = 0; i < r->ruling_count; i++) {
		judged |= !r->rulings[i].left_out;
		failed |= r->rulings[i].verdict == COMPARE_FAIL;
		open |= r->rulings[i].verdict == COMPARE_INCONCLUSIVE;
	}
	/* Where every item is left out nothing has passed. */
	r->verdict = failed ? COMPARE_FAIL : open || !judged ? COMPARE_INCONCLUSIVE : COMPARE_PASS;
}

void compare_rule_panels(struct compare_result *r, const struct compare_policy *policy, double tail)
{
	for (size_t i = 0; i < policy->item_count; i++) {
		struct compare_ruling *u = &r->rulings[r->ruling_count++];

		*u = (struct compare_ruling){ .item = &policy->items[i] };
		rule_item(u, compare_panel(r, policy->items[i].spec->id), tail, shorter_side(r));
	}
	sum_up(r);
}

/* Nothing failed here or there: such an item cannot raise a false alarm. */
static bool is_still(const struct compare_panel *p)
{
	return p->spec->kind == COMPARE_SHARE && p->a.value == p->b.value && (p->a.value == 0 || p->a.value == 1);
}

/* Items that say something; the error that the verdict may make is shared out among them. */
static size_t live_items(const struct compare_result *r, const struct compare_policy *policy)
{
	size_t live = 0;

	for (size_t i = 0; i < policy->item_count; i++) {
		const struct compare_panel *p = compare_panel(r, policy->items[i].spec->id);

		live += p && !is_still(p);
	}
	return live ? live : 1;
}

void compare_rule(struct compare_result *r, const struct panel_input *in, const struct compare_policy *policy)
{
	double tail = (1 - policy->confidence) / (double)live_items(r, policy);

	for (size_t i = 0; i < policy->item_count; i++) {
		struct compare_ruling *u = &r->rulings[r->ruling_count++];
		struct compare_panel p;

		*u = (struct compare_ruling){ .item = &policy->items[i] };
		rule_item(u, panel_make(&p, in, u->item->spec, 1 - 2 * tail) ? &p : NULL, tail, shorter_side(r));
	}
	sum_up(r);
}
