/* Levels: the newest value of a gauge at one scheduler, and what may be believed of it. */
#include "signals/window.h"

#include <math.h>

bool member_passes(const struct name_spec *name, const struct member *m, const struct label_condition *conditions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct str value = member_label(m->view.labels, name_spec_label(name, conditions[i].label));
		if (!regex_match(conditions[i].re, value.ptr ? value : STR("")))
			return false;
	}
	return true;
}

enum sample_kind { SAMPLE_NUMBER, SAMPLE_NO_DATA, SAMPLE_IMPOSSIBLE };

/* A fraction beyond 1 (rounding aside), or fewer than no requests: the page contradicts itself. */
static bool is_possible(const struct metric_spec *m, double value)
{
	if (str_is(m->unit, "ratio"))
		return value > -1e-6 && value < 1.05;
	return value >= 0 || !(str_is(m->unit, "requests") || str_is(m->unit, "tokens") || str_is(m->unit, "bytes"));
}

/* The number that the sample stands for. */
static enum sample_kind sample_value(
	const struct metric_spec *m, const struct name_spec *name, const struct member *member, ptrdiff_t i, double *value)
{
	*value = member->view.v[i];
	for (size_t k = 0; k < ARRAY_LEN(name->value_labels) && name->value_labels[k].len; k++) {
		double factor;
		if (!number_parse(member_label(member->view.labels, name->value_labels[k]), &factor))
			return SAMPLE_NO_DATA;
		*value = k ? *value * factor : factor;
	}
	if (isnan(*value) || *value < name->valid_low || *value > name->valid_high)
		return SAMPLE_NO_DATA;
	*value *= name->scale;
	return is_possible(m, *value) ? SAMPLE_NUMBER : SAMPLE_IMPOSSIBLE;
}

/* Between two writers of one gauge the one that moved last is right; before any moved, the larger value. */
static bool is_better(const struct member *a, const struct member *b, int64_t t_ms, double a_value, double b_value)
{
	bool a_moved, b_moved;
	int64_t a_ms = view_last_move_ms(&a->view, t_ms, &a_moved), b_ms = view_last_move_ms(&b->view, t_ms, &b_moved);
	if (a_moved != b_moved)
		return a_moved;
	if (a_moved && a_ms != b_ms)
		return a_ms > b_ms;
	return a_value > b_value;
}

struct gathered {
	uint64_t identity;
	const struct member *member;
	double value;
};

/* One value per identity: of duplicates (tp_rank) and writers (pid) one is taken, never the sum. `out` has room for all members. */
static size_t gather(const struct member_list *list, const struct level_query *q, int64_t patience_ms, int64_t scraped_ms,
	struct gathered *out, enum sample_kind *worst)
{
	size_t count = 0;
	VEC_EACH (&list->members, m) {
		if (m->part != PART_VALUE || !member_passes(list->name, m, q->conditions, q->condition_count))
			continue;
		ptrdiff_t i = view_at(&m->view, q->t_ms, patience_ms);
		if (i < 0 || m->view.t[i] < scraped_ms)
			continue;
		double value;
		enum sample_kind kind = sample_value(q->metric, list->name, m, i, &value);
		if (kind != SAMPLE_NUMBER) {
			*worst = kind > *worst ? kind : *worst;
			continue;
		}
		struct gathered *same = NULL;
		for (size_t k = 0; list->repeats && k < count && !same; k++)
			if (out[k].identity == m->identity)
				same = &out[k];
		if (!same)
			out[count++] = (struct gathered){ m->identity, m, value };
		else if (same && m->writer.len && is_better(m, same->member, q->t_ms, value, same->value))
			*same = (struct gathered){ m->identity, m, value };
	}
	return count;
}

static struct reading merged(const struct metric_spec *m, const struct gathered *values, size_t count)
{
	double sum = 0, largest = -INFINITY;
	for (size_t i = 0; i < count; i++) {
		sum += values[i].value;
		largest = fmax(largest, values[i].value);
	}
	return reading_value(m->merge == MERGE_SUM ? sum : m->merge == MERGE_MAX ? largest : sum / (double)count);
}

/* An interval gauge says nothing new once the token counters of its scheduler (or target) stand still. */
static bool counters_stand_still(struct evaluation *ev, size_t scheduler, int64_t t_ms)
{
	static const char *const counters[] = { "generation_tokens", "prompt_tokens" };
	bool seen = false;
	for (size_t c = 0; c < ARRAY_LEN(counters); c++) {
		const struct metric_spec *m = catalog_metric(ev->catalog, counters[c]);
		const struct target_evidence *t = &ev->evidence->targets.items[ev->evidence->schedulers.items[scheduler].target];
		for (size_t k = 0; m && k < t->scheduler_count; k++) {
			const struct member_list *list = evidence_members(ev->evidence, t->schedulers[k], m, t_ms);
			for (size_t i = 0; list && i < list->members.count; i++) {
				const struct series_view *v = &list->members.items[i].view;
				ptrdiff_t at = view_at(v, t_ms, target_patience_ms(t));
				if (at < 1)
					continue;
				seen = true;
				if (v->v[at] != v->v[at - 1])
					return false;
			}
		}
	}
	return seen;
}

static void judge_trust(
	struct evaluation *ev, size_t scheduler, const struct member_list *list, const struct level_query *q, struct reading *r)
{
	const struct metric_spec *m = q->metric;
	if (m->type != METRIC_GAUGE || list->engine->exporter)
		return;
	if (m->interval_gauge) {
		r->stale = r->low != 0 && counters_stand_still(ev, scheduler, q->t_ms);
		return;
	}
	if (q->t_ms != ev->window.to_ms)
		return;
	struct trust t = evaluation_trust(ev, scheduler);
	r->trust_unknown = !t.known;
	r->stale = t.stale;
	r->stale_since_ms = t.since_ms;
}

struct reading scheduler_level(struct evaluation *ev, size_t scheduler, const struct level_query *q)
{
	const struct scheduler *s = &ev->evidence->schedulers.items[scheduler];
	const struct target_evidence *t = &ev->evidence->targets.items[s->target];
	const struct scrape_record *record = evidence_scrape(ev->evidence, s->target, q->t_ms);
	if (!scrape_answered(record))
		return reading_unknown(UNKNOWN_TARGET_DOWN, record ? record->detail : STR_EMPTY);
	const struct member_list *list = evidence_members(ev->evidence, scheduler, q->metric, q->t_ms);
	if (!list)
		return reading_unknown(UNKNOWN_ABSENT, STR_EMPTY);
	struct gathered few[64], *values = few;
	if (list->members.count > ARRAY_LEN(few))
		values = arena_alloc(ev->arena, list->members.count * sizeof *values);
	enum sample_kind worst = SAMPLE_NUMBER;
	int64_t slack = t->interval_ms > 0 ? t->interval_ms / 2 : 60000;
	size_t count = gather(list, q, target_patience_ms(t), record->t_ms - slack, values, &worst);
	if (!count) {
		if (worst == SAMPLE_IMPOSSIBLE)
			return reading_unknown(
				UNKNOWN_INVALID, str_is(q->metric->unit, "ratio") ? STR("no fraction from 0 to 1") : STR("below 0"));
		if (worst == SAMPLE_NO_DATA && list->name->invalid_reason.len) /* what the engine writes when the thing is off */
			return reading_unknown(UNKNOWN_NOT_ENABLED, list->name->invalid_reason);
		if (worst == SAMPLE_NO_DATA)
			return reading_unknown(UNKNOWN_INVALID, STR("no number"));
		return reading_unknown(
			UNKNOWN_ABSENT, record->outcome == SCRAPE_OK ? STR_EMPTY : STR("not on the whole lines of a cut page"));
	}
	struct reading r = merged(q->metric, values, count);
	r.exposed = list->name->name;
	r.note = list->name->note;
	judge_trust(ev, scheduler, list, q, &r);
	return r;
}
