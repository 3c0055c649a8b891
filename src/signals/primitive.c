/* Primitives: what an expression asks of a metric at a scope. */
#include "signals/window.h"

#include <math.h>

bool primitive_is_bound(struct evaluation *ev, const struct scope *s, const struct expression *x)
{
	for (size_t i = 0; i < s->member_count; i++)
		if (evidence_members(ev->evidence, s->members[i], x->metric, ev->window.to_ms))
			return true;
	return false;
}

/* ---- levels over a scope ---- */

struct levels {
	size_t known, invalid; /* invalid: exported, but no number */
	double sum, largest, smallest, weighted, weight;
	bool weights_known;
	struct reading context; /* stale, exposed, note of the known ones; the reason of the first unknown one when none is known */
};

static void add_level(struct levels *l, const struct reading *r, double weight)
{
	if (!reading_known(r)) {
		l->invalid += r->reason == UNKNOWN_INVALID;
		if (!l->known && l->context.kind == READING_UNKNOWN &&
			(l->context.reason == UNKNOWN_NONE || l->context.reason == UNKNOWN_ABSENT))
			l->context = *r;
		return;
	}
	if (!l->known) {
		l->context = *r;
		l->largest = l->smallest = r->low;
		l->weights_known = true;
	}
	l->known++;
	l->sum += r->low;
	l->largest = fmax(l->largest, r->low);
	l->smallest = fmin(l->smallest, r->low);
	l->weighted += r->low * weight;
	l->weight += weight;
	l->weights_known &= weight > 0;
	if (r->stale && !l->context.stale) {
		l->context.stale = true;
		l->context.stale_since_ms = r->stale_since_ms;
	}
	l->context.trust_unknown |= r->trust_unknown;
}

static double weight_of(struct evaluation *ev, size_t scheduler, const struct metric_spec *m, int64_t t_ms)
{
	if (!m)
		return 1;
	struct level_query q = { .metric = m, .t_ms = t_ms };
	struct reading r = scheduler_level(ev, scheduler, &q);
	return reading_is_number(&r) ? r.low : 0;
}

static struct levels scope_levels(
	struct evaluation *ev, const struct scope *s, const struct expression *x, int64_t t_ms, uint32_t *targets_in)
{
	struct levels l = { .context = reading_unknown(UNKNOWN_NONE, STR_EMPTY) };
	struct level_query q = { x->metric, x->conditions, x->condition_count, t_ms };
	size_t last = SIZE_MAX;
	*targets_in = 0;
	for (size_t i = 0; i < s->member_count; i++) {
		size_t scheduler = s->members[i], target = ev->evidence->schedulers.items[scheduler].target;
		if (!ev->evidence->schedulers.items[scheduler].metrics[x->metric->index].count)
			continue;
		struct reading r = scheduler_level(ev, scheduler, &q);
		if (reading_known(&r) && target != last) {
			(*targets_in)++;
			last = target;
		}
		add_level(&l, &r, weight_of(ev, scheduler, x->second_metric, t_ms));
	}
	return l;
}

/* A fraction of a target that does not answer, or gives no number, may be anything from 0 to 1; a count anything from 0. */
static struct reading level_value(const struct expression *x, const struct levels *l, uint32_t missing)
{
	enum primitive p = x->primitive;
	if (p == PRIMITIVE_LEVEL || p == PRIMITIVE_DELTA)
		p = x->metric->merge == MERGE_SUM   ? PRIMITIVE_LEVEL_SUM
		    : x->metric->merge == MERGE_MAX ? PRIMITIVE_LEVEL_MAX
						    : PRIMITIVE_LEVEL_MEAN;
	double top = str_is(x->metric->unit, "ratio") ? 1 : INFINITY, n = (double)l->known, m = missing;
	switch (p) {
	case PRIMITIVE_LEVEL_SUM: return reading_bound(l->sum, missing ? (isinf(top) ? INFINITY : l->sum + m) : l->sum);
	case PRIMITIVE_LEVEL_MAX:
		return missing && l->largest < top ? reading_bound(l->largest, isinf(top) ? INFINITY : top) : reading_value(l->largest);
	case PRIMITIVE_LEVEL_MIN: return missing ? reading_bound(0, l->smallest) : reading_value(l->smallest);
	case PRIMITIVE_LEVEL_WEIGHTED:
		if (!l->weights_known)
			return reading_unknown(UNKNOWN_ABSENT, STR("no cache size to weigh by"));
		return reading_value(l->weighted / l->weight);
	default:
		if (!missing)
			return reading_value(l->sum / n);
		return isinf(top) ? reading_bound(l->sum / (n + m), INFINITY) : reading_bound(l->sum / (n + m), (l->sum + m) / (n + m));
	}
}

static struct reading level_at(struct evaluation *ev, const struct scope *s, const struct expression *x, int64_t t_ms)
{
	uint32_t in;
	struct levels l = scope_levels(ev, s, x, t_ms, &in);
	if (!l.known)
		return l.context.reason == UNKNOWN_NONE || (l.context.reason == UNKNOWN_ABSENT && !l.context.why.len)
			       ? unbound_reading(ev, s, x->metric)
			       : l.context;
	uint32_t missing = scope_targets_missing(ev, s, x->metric, t_ms) + (uint32_t)l.invalid;
	struct reading r = level_value(x, &l, missing);
	r.stale = l.context.stale;
	r.stale_since_ms = l.context.stale_since_ms;
	r.trust_unknown = l.context.trust_unknown;
	r.exposed = l.context.exposed;
	r.note = l.context.note;
	r.targets_in = in;
	r.targets_all = in + missing;
	return r;
}

static struct reading delta_of(struct evaluation *ev, const struct scope *s, const struct expression *x)
{
	if (ev->window.from_ms >= ev->window.to_ms)
		return reading_unknown(UNKNOWN_ONE_SCRAPE, STR_EMPTY);
	struct reading end = level_at(ev, s, x, ev->window.to_ms), start = level_at(ev, s, x, ev->window.from_ms);
	struct reading r = reading_combine('-', &end, &start);
	r.elapsed_s = (double)(ev->window.to_ms - ev->window.from_ms) / 1000;
	return r;
}

/* ---- counts over a scope ---- */

struct increase scheduler_count(struct evaluation *ev, size_t scheduler, const struct metric_spec *m,
	const struct label_condition *conditions, size_t condition_count)
{
	const struct member_list *list = evidence_members(ev->evidence, scheduler, m, ev->window.to_ms);
	struct increase sum = { .reason = UNKNOWN_ABSENT };
	if (!list)
		return sum;
	struct restart_times restarts;
	struct window_ends w = window_ends_of(ev, ev->evidence->schedulers.items[scheduler].target, &restarts);
	size_t shown = 0;
	bool seen[1 + 64] = { false };
	for (size_t k = 0; k < list->members.count; k++) {
		const struct member *member = &list->members.items[k];
		if (member->part == PART_BUCKET || member->part == PART_SUM)
			continue;
		bool duplicate = false;
		for (size_t j = 0; member->duplicate.len && j < k && !duplicate; j++)
			duplicate = list->members.items[j].identity == member->identity && (j >= ARRAY_LEN(seen) || seen[j]);
		struct increase one = view_increase(&member->view, &w);
		if (one.reason == UNKNOWN_ABSENT && !one.known)
			continue;
		shown++;
		if (!member_passes(list->name, member, conditions, condition_count) || duplicate) {
			sum.elapsed_s = one.known ? fmax(sum.elapsed_s, one.elapsed_s) : sum.elapsed_s;
			sum.reset |= one.reset;
			continue;
		}
		if (k < ARRAY_LEN(seen))
			seen[k] = true;
		if (!one.known) {
			if (sum.reason == UNKNOWN_ABSENT || sum.reason == UNKNOWN_NONE)
				sum.reason = one.reason;
			continue;
		}
		sum.value += one.value * list->name->scale;
		sum.reset |= one.reset;
		sum.elapsed_s = fmax(sum.elapsed_s, one.elapsed_s);
	}
	if (!shown)
		return sum;
	if (sum.elapsed_s > 0) { /* a label value that the family does not show has not happened: 0 of it */
		sum.known = sum.reason == UNKNOWN_ABSENT || sum.reason == UNKNOWN_NONE;
	} else if (sum.reason == UNKNOWN_ABSENT) {
		sum.reason = UNKNOWN_ONE_SCRAPE;
	}
	return sum;
}

static struct reading count_of(struct evaluation *ev, const struct scope *s, const struct expression *x, bool per_second)
{
	double sum = 0, elapsed = NAN, events = 0;
	bool reset = false, bound = false;
	uint32_t in = 0, unknown = 0;
	size_t last = SIZE_MAX;
	enum unknown_reason reason = UNKNOWN_NONE;
	const struct member_list *list = NULL;
	for (size_t i = 0; i < s->member_count; i++) {
		const struct member_list *here = evidence_members(ev->evidence, s->members[i], x->metric, ev->window.to_ms);
		if (!here)
			continue;
		list = here;
		size_t target = ev->evidence->schedulers.items[s->members[i]].target;
		if (!scrape_answered(evidence_scrape(ev->evidence, target, ev->window.to_ms)))
			continue;
		bound = true;
		struct increase one = scheduler_count(ev, s->members[i], x->metric, x->conditions, x->condition_count);
		if (!one.known) {
			reason = one.reason;
			unknown++;
			continue;
		}
		in += target != last;
		last = target;
		sum += per_second ? one.value / one.elapsed_s : one.value;
		events += one.value;
		reset |= one.reset;
		elapsed = isnan(elapsed) ? one.elapsed_s : fmax(elapsed, one.elapsed_s);
	}
	if (!bound)
		return unbound_reading(ev, s, x->metric);
	if (!in)
		return reading_unknown(reason, STR_EMPTY);
	uint32_t missing = scope_targets_missing(ev, s, x->metric, ev->window.to_ms) + unknown;
	struct reading r = missing || reset ? reading_bound(sum, INFINITY) : reading_value(sum);
	r.events = events;
	r.elapsed_s = elapsed;
	r.over_reset = reset;
	r.targets_in = in;
	r.targets_all = in + missing;
	r.exposed = list->name->name;
	r.note = list->name->note;
	return r;
}

static struct reading sum_of(struct evaluation *ev, const struct scope *s, const struct expression *x, bool per_second)
{
	struct histogram h;
	if (!scope_histogram(ev, s, x->metric, &h))
		return unbound_reading(ev, s, x->metric);
	if (h.reason != UNKNOWN_NONE)
		return reading_unknown(h.reason, h.why);
	if (isnan(h.sum) || h.sum_reason == UNKNOWN_INVALID)
		return reading_unknown(
			h.sum_reason == UNKNOWN_INVALID ? UNKNOWN_INVALID : UNKNOWN_ABSENT, h.sum_why.len ? h.sum_why : STR("no _sum"));
	double v = per_second ? h.sum / h.elapsed_s : h.sum;
	struct reading r = h.over_reset || h.targets_in < h.targets_all ? reading_bound(v, INFINITY) : reading_value(v);
	r.events = h.total;
	r.elapsed_s = h.elapsed_s;
	r.over_reset = h.over_reset;
	r.targets_in = h.targets_in;
	r.targets_all = h.targets_all;
	r.exposed = h.exposed;
	r.note = h.note;
	return r;
}

/* ---- the rest ---- */

static struct reading age_of(struct evaluation *ev, const struct scope *s, const struct expression *x)
{
	int64_t newest = INT64_MIN, oldest = INT64_MAX;
	bool moved = false, bound = false, twice = false;
	for (size_t i = 0; i < s->member_count; i++) {
		const struct member_list *list = evidence_members(ev->evidence, s->members[i], x->metric, ev->window.to_ms);
		for (size_t k = 0; list && k < list->members.count; k++) {
			const struct member *m = &list->members.items[k];
			if (m->part == PART_BUCKET || m->part == PART_SUM)
				continue;
			bool this_moved;
			int64_t ms = view_last_move_ms(&m->view, ev->window.to_ms, &this_moved);
			if (ms == INT64_MIN)
				continue;
			bound = true;
			twice |= m->view.t[0] < ev->window.to_ms;
			moved |= this_moved;
			if (this_moved && ms > newest)
				newest = ms;
			if (m->view.t[0] < oldest)
				oldest = m->view.t[0];
		}
	}
	if (!bound)
		return unbound_reading(ev, s, x->metric);
	if (!twice)
		return reading_unknown(UNKNOWN_ONE_SCRAPE, STR_EMPTY);
	double age = (double)(ev->window.to_ms - (moved ? newest : oldest)) / 1000;
	return age == 0 ? reading_value(0) : reading_bound(age, INFINITY);
}

/* Last minus first sample in the window over the time between them, summed over series. */
static struct reading trend_of(struct evaluation *ev, const struct scope *s, const struct expression *x)
{
	double sum = 0, elapsed = NAN;
	bool bound = false, known = false;
	for (size_t i = 0; i < s->member_count; i++) {
		const struct member_list *list = evidence_members(ev->evidence, s->members[i], x->metric, ev->window.to_ms);
		for (size_t k = 0; list && k < list->members.count; k++) {
			const struct series_view *v = &list->members.items[k].view;
			int64_t patience =
				target_patience_ms(&ev->evidence->targets.items[ev->evidence->schedulers.items[s->members[i]].target]);
			bound = true;
			ptrdiff_t end = view_at(v, ev->window.to_ms, patience), start = view_at(v, ev->window.from_ms, patience);
			if (end < 0 || start < 0 || end == start)
				continue;
			elapsed = (double)(v->t[end] - v->t[start]) / 1000;
			sum += (v->v[end] - v->v[start]) * list->name->scale / elapsed;
			known = true;
		}
	}
	if (!bound)
		return unbound_reading(ev, s, x->metric);
	if (!known)
		return reading_unknown(UNKNOWN_ONE_SCRAPE, STR_EMPTY);
	struct reading r = reading_value(sum);
	r.elapsed_s = elapsed;
	return r;
}

static struct reading info_of(struct evaluation *ev, const struct scope *s, const struct expression *x)
{
	double low = INFINITY, high = -INFINITY;
	bool bound = false;
	for (size_t i = 0; i < s->member_count; i++) {
		const struct member_list *list = evidence_members(ev->evidence, s->members[i], x->metric, ev->window.to_ms);
		int64_t patience = target_patience_ms(&ev->evidence->targets.items[ev->evidence->schedulers.items[s->members[i]].target]);
		for (size_t k = 0; list && k < list->members.count; k++) {
			const struct series_view *v = &list->members.items[k].view;
			double number;
			if (view_at(v, ev->window.to_ms, patience) < 0)
				continue;
			bound = true;
			if (!number_parse(member_label(v->labels, name_spec_label(list->name, x->label)), &number))
				continue;
			low = fmin(low, number);
			high = fmax(high, number);
		}
	}
	if (!bound)
		return unbound_reading(ev, s, x->metric);
	return isinf(low) ? reading_unknown(UNKNOWN_ABSENT, STR("the label is not there, or no number")) : reading_bound(low, high);
}

static struct reading series_of(struct evaluation *ev, const struct scope *s, const struct expression *x)
{
	size_t n = 0;
	for (size_t i = 0; i < s->member_count; i++)
		n += evidence_members(ev->evidence, s->members[i], x->metric, ev->window.to_ms) != NULL;
	return n ? reading_value((double)n) : unbound_reading(ev, s, x->metric);
}

static struct reading of_histogram(struct evaluation *ev, const struct scope *s, const struct expression *x)
{
	if (s->mixed_models)
		return reading_unknown(UNKNOWN_MIXED_MODELS, STR_EMPTY);
	struct histogram h;
	if (!scope_histogram(ev, s, x->metric, &h))
		return unbound_reading(ev, s, x->metric);
	switch (x->primitive) {
	case PRIMITIVE_MEAN: return histogram_mean(&h);
	case PRIMITIVE_QUANTILE: return histogram_quantile(&h, x->number);
	case PRIMITIVE_SHARE_ABOVE: return histogram_share_above(&h, x->number);
	case PRIMITIVE_COUNT_ABOVE: return histogram_count_above(&h, x->number);
	case PRIMITIVE_SHARE_TOP: return histogram_share_top(&h);
	default: return histogram_cells(ev->arena, &h);
	}
}

struct reading evaluate_primitive(struct evaluation *ev, const struct scope *s, const struct expression *x)
{
	switch (x->primitive) {
	case PRIMITIVE_LEVEL:
	case PRIMITIVE_LEVEL_SUM:
	case PRIMITIVE_LEVEL_MAX:
	case PRIMITIVE_LEVEL_MEAN:
	case PRIMITIVE_LEVEL_MIN:
	case PRIMITIVE_LEVEL_WEIGHTED: return level_at(ev, s, x, ev->window.to_ms);
	case PRIMITIVE_DELTA: return delta_of(ev, s, x);
	case PRIMITIVE_AGE: return age_of(ev, s, x);
	case PRIMITIVE_COUNT: return count_of(ev, s, x, false);
	case PRIMITIVE_RATE: return count_of(ev, s, x, true);
	case PRIMITIVE_SUM: return sum_of(ev, s, x, false);
	case PRIMITIVE_RATE_SUM: return sum_of(ev, s, x, true);
	case PRIMITIVE_TREND: return trend_of(ev, s, x);
	case PRIMITIVE_INFO: return info_of(ev, s, x);
	case PRIMITIVE_SERIES: return series_of(ev, s, x);
	default: return of_histogram(ev, s, x);
	}
}
