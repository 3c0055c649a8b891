/* Parallel series of one scheduler: the same state again from each rank, or one gauge from each process. Neither is summed. */
#include "signals/detectors/detect.h"

static bool is_shown(const struct evaluation *ev, const struct target_evidence *t, const struct member *m)
{
	return view_at(&m->view, ev->window.to_ms, target_patience_ms(t)) >= 0;
}

static double shown_value(const struct evaluation *ev, const struct target_evidence *t, const struct member *m)
{
	return m->view.v[view_at(&m->view, ev->window.to_ms, target_patience_ms(t))];
}

/* Another series with the same labels but this one. */
static const struct member *sibling(
	const struct evaluation *ev, const struct target_evidence *t, const struct member_list *list, size_t first, bool by_writer)
{
	const struct member *a = &list->members.items[first];
	for (size_t i = first + 1; i < list->members.count; i++) {
		const struct member *b = &list->members.items[i];
		bool other = by_writer ? !str_eq(a->writer, b->writer) : !str_eq(a->duplicate, b->duplicate);
		if (b->identity == a->identity && other && is_shown(ev, t, b))
			return b;
	}
	return NULL;
}

struct split {
	struct wording pids, ranks;
};

static void judge_list(struct evaluation *ev, const struct target_evidence *t, const struct member_list *list, struct split *s)
{
	bool pid_told = false, rank_told = false;
	for (size_t i = 0; i < list->members.count && !(pid_told && rank_told); i++) {
		const struct member *a = &list->members.items[i];
		if (a->part != PART_VALUE || (!a->writer.len && !a->duplicate.len) || !is_shown(ev, t, a))
			continue;
		if (!pid_told && a->writer.len && sibling(ev, t, list, i, true)) {
			wording_add(&s->pids, STR_FMT, STR_ARG(list->name->name));
			pid_told = true;
		}
		const struct member *b = rank_told || !a->duplicate.len ? NULL : sibling(ev, t, list, i, false);
		if (b && shown_value(ev, t, a) == shown_value(ev, t, b)) {
			wording_add(&s->ranks, STR_FMT, STR_ARG(list->name->name));
			rank_told = true;
		}
	}
}

static void judge_target(struct evaluation *ev, struct scope *scope)
{
	const struct target_evidence *t = target_evidence(ev, scope->target);
	struct split s;
	wording_init(&s.pids);
	wording_init(&s.ranks);
	for (size_t k = 0; k < t->scheduler_count; k++)
		VEC_EACH (&ev->catalog->metrics, m) {
			if ((*m)->type != METRIC_GAUGE)
				continue;
			const struct member_list *list = evidence_members(ev->evidence, t->schedulers[k], *m, ev->window.to_ms);
			if (list)
				judge_list(ev, t, list, &s);
		}
	struct str pids = wording_end(&s.pids, ev->arena), ranks = wording_end(&s.ranks, ev->arena);
	if (pids.len)
		evaluation_raise(ev, "per-pid-gauge", scope, NULL, 0, 1, pids);
	if (ranks.len)
		evaluation_raise(ev, "duplicate-rank-series", scope, NULL, 0, 1, ranks);
}

void ranks_raise(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		if (target_answers(ev, s->target))
			judge_target(ev, s);
	}
}
