/* Disaggregated prefill and decode: is the other side watched too? */
#include "signals/detectors/detect.h"

static bool has_transfers(struct evaluation *ev, const struct scope *s)
{
	return is_exported(ev, s, "nixl_xfer_time") || is_exported(ev, s, "nixl_failed_transfers") || is_exported(ev, s, "nixl_expired");
}

static bool reads(struct evaluation *ev, const struct scope *s)
{
	struct reading r = count_at(ev, s, "nixl_xfer_time");
	return reading_is_number(&r) && r.low > 0;
}

/* Of one model: somebody reads KV, and of all who could be the other side nobody is here; or the reverse. */
static void judge_model(struct evaluation *ev, struct str model, const struct scope *first)
{
	size_t readers = 0, others = 0;
	struct str *names = ARENA_ARRAY(ev->arena, struct str, ev->scope_count + 1);
	size_t count = 0;
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		if (!str_eq(s->model, model) || !has_transfers(ev, s))
			continue;
		if (s < first)
			return; /* judged with an earlier target */
		bool reader = reads(ev, s);
		readers += reader;
		others += !reader;
		names[count++] = s->name;
	}
	bool prefill = false;
	for (size_t i = 0; i < count; i++) {
		const struct scope *s = evaluation_place(ev, names[i]);
		prefill |= s && s->pool && s->pool->role == ROLE_PREFILL;
	}
	if (readers && !others)
		evaluation_raise(ev, "one-side-unscraped", fleet_scope(ev), names, count, ev->evidence->targets.count,
			STR("they read KV, and no target of the side that sends it is watched: expired leases do not show"));
	else if (prefill && !readers)
		evaluation_raise(ev, "one-side-unscraped", fleet_scope(ev), names, count, ev->evidence->targets.count,
			STR("they prefill, and no target that reads their KV is watched: failed transfers do not show"));
}

void transfers_raise(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		if (has_window(ev) && has_transfers(ev, s))
			judge_model(ev, s->model, s);
	}
}
