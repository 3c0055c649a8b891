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

/* The number that the sample stands for; false when it says "no data". */
static bool sample_value(const struct name_spec *name, const struct member *m, ptrdiff_t i, double *value)
{
	*value = m->view.v[i];
	for (size_t k = 0; k < ARRAY_LEN(name->value_labels) && name->value_labels[k].len; k++) {
		double factor;
		if (!number_parse(member_label(m->view.labels, name->value_labels[k]), &factor))
			return false;
		*value = k ? *value * factor : factor;
	}
	if (isnan(*value) || *value < name->valid_low || *value > name->valid_high)
		return false;
	*value *= name->scale;
	return true;
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

/* One value per identity: of duplicates (tp_rank) and writers (pid) one is taken, never the sum. */
static size_t gather(const struct member_list *list, const struct level_query *q, int64_t patience_ms, int64_t scraped_ms, struct gathered *out,
	size_t room, bool *said_no_data)
{
	size_t count = 0;
	VEC_EACH(&list->members, m) {
		if (m->part != PART_VALUE || !member_passes(list->name, m, q->conditions, q->condition_count))
			continue;
		ptrdiff_t i = view_at(&m->view, q->t_ms, patience_ms);
		if (i < 0 || m->view.t[i] < scraped_ms)
			continue;
		double value;
		if (!sample_value(list->name, m, i, &value)) {
			*said_no_data = true;
			continue;
		}
		struct gathered *same = NULL;
		for (size_t k = 0; k < count && !same; k++)
			if (out[k].identity == m->identity)
				same = &out[k];
		if (!same && count < room)
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

static void judge_trust(struct evaluation *ev, size_t scheduler, const struct member_list *list, const struct level_query *q, struct reading *r)
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
	enum { ROOM = 256 };
	struct gathered values[ROOM];
	bool no_data = false;
	int64_t slack = t->interval_ms > 0 ? t->interval_ms / 2 : 60000;
	size_t count = gather(list, q, target_patience_ms(t), record->t_ms - slack, values, ROOM, &no_data);
	if (!count) {
		if (no_data && list->name->invalid_reason.len) /* what the engine writes when the thing is off */
			return reading_unknown(UNKNOWN_NOT_ENABLED, list->name->invalid_reason);
		if (no_data)
			return reading_unknown(UNKNOWN_INVALID, STR("no number"));
		return reading_unknown(UNKNOWN_ABSENT, record->outcome == SCRAPE_OK ? STR_EMPTY : STR("not on the whole lines of a cut page"));
	}
	struct reading r = merged(q->metric, values, count);
	r.exposed = list->name->name;
	r.note = list->name->note;
	judge_trust(ev, scheduler, list, q, &r);
	return r;
}

/* The heartbeat of a scheduler: its step counter, else its token counters; those of the target where the scheduler has none of its own. */
static bool heartbeat(struct evaluation *ev, size_t scheduler, int64_t *last_ms, bool *moved, bool *in_last_pair, bool *twice)
{
	static const char *const names[] = { "steps", "generation_tokens", "prompt_tokens" };
	const struct scheduler *s = &ev->evidence->schedulers.items[scheduler];
	const struct target_evidence *t = &ev->evidence->targets.items[s->target];
	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		const struct metric_spec *m = catalog_metric(ev->catalog, names[n]);
		bool found = false;
		*last_ms = INT64_MIN;
		*moved = *in_last_pair = *twice = false;
		for (size_t pass = 0; m && pass < 2 && !found; pass++)
			for (size_t k = 0; k < t->scheduler_count; k++) {
				size_t other = t->schedulers[k];
				if (pass == 0 ? other != scheduler : ev->evidence->schedulers.items[other].key.len != 0)
					continue;
				const struct member_list *list = evidence_members(ev->evidence, other, m, ev->window.to_ms);
				for (size_t i = 0; list && i < list->members.count; i++) {
					const struct member *member = &list->members.items[i];
					if (member->part != PART_VALUE && member->part != PART_COUNT)
						continue;
					ptrdiff_t at = view_at(&member->view, ev->window.to_ms, target_patience_ms(t));
					if (at < 0)
						continue;
					bool this_moved;
					int64_t ms = view_last_move_ms(&member->view, ev->window.to_ms, &this_moved);
					found = true;
					*twice |= at > 0;
					if (this_moved ? !*moved || ms > *last_ms : !*moved && (*last_ms == INT64_MIN || ms < *last_ms))
						*last_ms = ms;
					*moved |= this_moved;
					*in_last_pair |= at > 0 && member->view.v[at] != member->view.v[at - 1];
				}
			}
		if (found)
			return true;
	}
	return false;
}

/* Requests running and waiting now, without asking for trust (which asks back). */
static double in_flight(struct evaluation *ev, size_t scheduler)
{
	static const char *const names[] = { "running", "waiting" };
	double sum = 0;
	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		const struct metric_spec *m = catalog_metric(ev->catalog, names[n]);
		const struct member_list *list = m ? evidence_members(ev->evidence, scheduler, m, ev->window.to_ms) : NULL;
		for (size_t i = 0; list && i < list->members.count; i++) {
			const struct series_view *v = &list->members.items[i].view;
			ptrdiff_t at = view_at(v, ev->window.to_ms, INT64_MAX / 2);
			if (at >= 0 && v->v[at] > 0)
				sum += v->v[at];
		}
	}
	return sum;
}

struct trust evaluation_trust(struct evaluation *ev, size_t scheduler)
{
	struct trust t = { .idle = in_flight(ev, scheduler) == 0 };
	bool in_last_pair, twice;
	if (!heartbeat(ev, scheduler, &t.since_ms, &t.moved_ever, &in_last_pair, &twice))
		return t;
	t.known = twice;
	t.stale = twice && !in_last_pair && !t.idle;
	return t;
}
