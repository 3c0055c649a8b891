/* Trust: may the gauges of a scheduler be believed? They may while its heartbeat moves, or when there is nothing to do. */
#include "signals/window.h"

/* What the heartbeat counters of a scheduler say at the window's end, taken together. */
struct heartbeat {
	bool found, twice;        /* a sample; two of one series */
	bool moved, in_last_pair; /* ever in the history; between the last two samples */
	int64_t last_ms;          /* of the last movement; without one, of the oldest sample */
};

static void listen(struct heartbeat *h, const struct series_view *v, int64_t t_ms, int64_t patience_ms)
{
	ptrdiff_t at = view_at(v, t_ms, patience_ms);
	if (at < 0)
		return;
	bool moved;
	int64_t ms = view_last_move_ms(v, t_ms, &moved);
	if (!h->found || (moved && (!h->moved || ms > h->last_ms)) || (!moved && !h->moved && ms < h->last_ms))
		h->last_ms = ms;
	h->found = true;
	h->moved |= moved;
	ptrdiff_t before = view_before(v, at);
	h->twice |= before >= 0;
	h->in_last_pair |= before >= 0 && v->v[at] != v->v[before];
}

static void listen_to_members(struct evaluation *ev, struct heartbeat *h, size_t scheduler, const struct metric_spec *m)
{
	const struct member_list *list = evidence_members(ev->evidence, scheduler, m, ev->window.to_ms);
	int64_t patience = target_patience_ms(&ev->evidence->targets.items[ev->evidence->schedulers.items[scheduler].target]);
	for (size_t i = 0; list && i < list->members.count; i++)
		if (list->members.items[i].part == PART_VALUE || list->members.items[i].part == PART_COUNT)
			listen(h, &list->members.items[i].view, ev->window.to_ms, patience);
}

/* Of the scheduler itself, else what its target says as a whole. */
static struct heartbeat heartbeat_by(struct evaluation *ev, size_t scheduler, const struct metric_spec *m)
{
	struct heartbeat h = { .last_ms = INT64_MIN };
	const struct target_evidence *t = &ev->evidence->targets.items[ev->evidence->schedulers.items[scheduler].target];
	listen_to_members(ev, &h, scheduler, m);
	for (size_t k = 0; !h.found && k < t->scheduler_count; k++)
		if (!ev->evidence->schedulers.items[t->schedulers[k]].key.len)
			listen_to_members(ev, &h, t->schedulers[k], m);
	return h;
}

/* The step counter, else the token counters. */
static struct heartbeat heartbeat_of(struct evaluation *ev, size_t scheduler)
{
	static const char *const names[] = { "steps", "generation_tokens", "prompt_tokens" };
	struct heartbeat h = { 0 };
	for (size_t n = 0; n < ARRAY_LEN(names) && !h.found; n++) {
		const struct metric_spec *m = catalog_metric(ev->catalog, names[n]);
		if (m)
			h = heartbeat_by(ev, scheduler, m);
	}
	return h;
}

/* Is anything running or waiting? Asked of the samples, since a reading would ask for trust again. */
static bool is_idle(struct evaluation *ev, size_t scheduler)
{
	static const char *const names[] = { "running", "waiting" };
	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		const struct metric_spec *m = catalog_metric(ev->catalog, names[n]);
		const struct member_list *list = m ? evidence_members(ev->evidence, scheduler, m, ev->window.to_ms) : NULL;
		for (size_t i = 0; list && i < list->members.count; i++) {
			const struct series_view *v = &list->members.items[i].view;
			ptrdiff_t at = view_at(v, ev->window.to_ms, INT64_MAX / 2);
			if (at >= 0 && v->v[at] > 0)
				return false;
		}
	}
	return true;
}

struct trust evaluation_trust(struct evaluation *ev, size_t scheduler)
{
	struct heartbeat h = heartbeat_of(ev, scheduler);
	struct trust t = { .idle = is_idle(ev, scheduler), .since_ms = h.last_ms };
	t.known = h.found && h.twice;
	t.stale = t.known && !h.in_last_pair && !t.idle;
	return t;
}
