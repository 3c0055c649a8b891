/* Who is there: the ends of a window as a target saw them, who is missing, and why a metric has no reading. */
#include "signals/window.h"

struct window_ends window_ends_of(struct evaluation *ev, size_t target, struct restart_times *restarts)
{
	const struct target_evidence *t = &ev->evidence->targets.items[target];
	*restarts = (struct restart_times){ t->restarts.items, t->restarts.count };
	struct window_ends w = {
		.from_ms = ev->window.from_ms, .to_ms = ev->window.to_ms, .patience_ms = target_patience_ms(t), .restarts = restarts
	};
	const struct scrape_record *r = evidence_scrape(ev->evidence, target, w.from_ms);
	if (r && r->outcome == SCRAPE_OK && w.from_ms - r->t_ms <= w.patience_ms && w.from_ms < w.to_ms) {
		w.scraped_at_start = true;
		w.start_scrape_ms = r->t_ms;
	}
	const struct metric_spec *start = catalog_metric(ev->catalog, "process_start_time");
	for (size_t k = 0; start && k < t->scheduler_count; k++) {
		const struct member_list *list = evidence_members(ev->evidence, t->schedulers[k], start, w.to_ms);
		for (size_t i = 0; list && i < list->members.count; i++) {
			const struct series_view *v = &list->members.items[i].view;
			ptrdiff_t at = view_at(v, w.to_ms, w.patience_ms);
			if (at >= 0 && v->v[at] > 0 && v->v[at] < 9e12)
				w.born_ms = (int64_t)(v->v[at] * 1000);
		}
	}
	return w;
}

/* The binding of the newest whole page before the scrape; NULL when there is none. */
static const struct binding *binding_before(struct evaluation *ev, size_t target, const struct scrape_record *r)
{
	const struct scrape_record *first = ev->evidence->targets.items[target].target->scrapes.items;
	while (r > first)
		if (scrape_is_whole(--r))
			return evidence_binding(ev->evidence, target, r->t_ms);
	return NULL;
}

bool target_missing(struct evaluation *ev, size_t target, const struct metric_spec *m, int64_t t_ms)
{
	const struct scrape_record *r = evidence_scrape(ev->evidence, target, t_ms);
	if (scrape_is_whole(r))
		return false;
	const struct binding *b = evidence_binding(ev->evidence, target, t_ms);
	if (scrape_answered(r)) { /* what the lost lines held is unknown */
		if (b && b->metrics[m->index].name)
			return false;
		b = binding_before(ev, target, r);
	}
	return b ? b->metrics[m->index].name != NULL : true;
}

void scope_targets_up(struct evaluation *ev, const struct scope *s, int64_t t_ms, uint32_t *up, uint32_t *all)
{
	*up = 0;
	*all = (uint32_t)s->target_count;
	for (size_t i = 0; i < s->target_count; i++)
		*up += scrape_is_whole(evidence_scrape(ev->evidence, s->targets[i], t_ms));
}

uint32_t scope_targets_missing(struct evaluation *ev, const struct scope *s, const struct metric_spec *m, int64_t t_ms)
{
	uint32_t n = 0;
	for (size_t i = 0; i < s->target_count; i++)
		n += target_missing(ev, s->targets[i], m, t_ms);
	return n;
}

struct reading unbound_reading(struct evaluation *ev, const struct scope *s, const struct metric_spec *m)
{
	struct reading best = reading_unknown(UNKNOWN_NOT_APPLICABLE, STR_EMPTY);
	size_t answered = 0;
	for (size_t i = 0; i < s->target_count; i++) {
		if (!scrape_answered(evidence_scrape(ev->evidence, s->targets[i], ev->window.to_ms)))
			continue;
		answered++;
		const struct binding *b = evidence_binding(ev->evidence, s->targets[i], ev->window.to_ms);
		if (!b)
			continue;
		const struct bound_metric *bound = &b->metrics[m->index];
		if (bound->coverage == COVERAGE_ABSENT)
			return reading_unknown(UNKNOWN_ABSENT, bound->why);
		if (bound->coverage == COVERAGE_NOT_ENABLED)
			best = reading_unknown(UNKNOWN_NOT_ENABLED, bound->why);
		else if (bound->coverage == COVERAGE_NOT_APPLICABLE && !best.why.len)
			best.why = bound->why;
	}
	if (!answered && s->target_count) {
		const struct scrape_record *r = evidence_scrape(ev->evidence, s->targets[0], ev->window.to_ms);
		return reading_unknown(UNKNOWN_TARGET_DOWN, r && s->target_count == 1 ? r->detail : STR_EMPTY);
	}
	return best;
}
