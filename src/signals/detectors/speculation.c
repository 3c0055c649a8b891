/* Speculation: the identity that proves its counters right (1 + acceptance summed over positions = tokens per verification step), and the
 * replica whose drafts are not accepted as its peers' are. */
#include "signals/detectors/detect.h"

/* -1 unknown, 0 broken, 1 holds. */
static int identity(struct evaluation *ev, const struct scope *s)
{
	const struct reading *sum = evaluation_named(ev, s, "spec_accepted_by_position"),
			     *length = evaluation_named(ev, s, "spec_mean_acceptance_length");
	if (sum->kind != READING_VALUE || length->kind != READING_VALUE || sum->over_reset || length->over_reset)
		return -1;
	return fabs(sum->low - length->low) <= 1e-6 * fabs(length->low);
}

void speculation_publish(struct evaluation *ev)
{
	for (size_t i = 0; i < ev->scope_count && has_window(ev); i++) {
		const struct scope *s = &ev->scopes[i];
		int holds = s->kind == SCOPE_GPU || !is_exported(ev, s, "spec_accepted_pos") ? -1 : identity(ev, s);
		if (holds >= 0)
			evaluation_publish(ev, s, "spec_identity_ok", reading_text(holds ? STR("yes") : STR("no")));
	}
}

/* ---- beside the peers ---- */

enum { DRAFTS_MIN = 100 };

/* Three quarters of the others' share (a third with few peers), and no chance: five standard errors. A draft counts once, as its tokens
 * fall together. Where all differ, nobody stands out. */
static bool is_outlier(const double *shares, const bool *known, size_t count, size_t i, double peers, double drafts, double *room)
{
	bool few = count_others(known, count, i) < PEERS_FOR_SPREAD;
	double less = peers - shares[i];
	return shares[i] < (few ? 1.0 / 3 : 0.75) * peers && less > 5 * sqrt(peers * (1 - peers) / drafts) &&
	       (few || less > 6 * spread_of_others(shares, known, count, i, peers, room));
}

static void judge_pool(struct evaluation *ev, const struct scope *pool)
{
	size_t count = 0;
	struct scope **targets = ARENA_ARRAY(ev->arena, struct scope *, pool->target_count + 1);
	double *shares = ARENA_ARRAY(ev->arena, double, pool->target_count + 1),
	       *drafts = ARENA_ARRAY(ev->arena, double, pool->target_count + 1);
	double *room = ARENA_ARRAY(ev->arena, double, 2 * pool->target_count + 2);
	bool *known = ARENA_ARRAY(ev->arena, bool, pool->target_count + 1);
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		if (!scope_has_target(pool, s->target))
			continue;
		targets[count] = s;
		known[count] = number_at(ev, s, "spec_drafts", &drafts[count]) && drafts[count] >= DRAFTS_MIN &&
			       number_at(ev, s, "spec_acceptance_rate", &shares[count]);
		count++;
	}
	for (size_t i = 0; i < count; i++) {
		double peers = known[i] ? median_of_others(shares, known, count, i, room) : NAN;
		if (known[i] && is_outlier(shares, known, count, i, peers, drafts[i], room))
			evaluation_raise(ev, "acceptance-outlier", targets[i], NULL, 0, 1,
				arena_printf(ev->arena, "%.0f %% of its draft tokens are accepted, %.0f %% at its peers (median)",
					100 * shares[i], 100 * peers));
	}
}

void speculation_raise(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_POOL)
	{
		if (has_window(ev) && s->target_count > 1)
			judge_pool(ev, s);
	}
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		const struct reading *ok = evaluation_named(ev, s, "spec_identity_ok");
		double drafts;
		/* Counters of one page may be a step apart: a hundred drafts make that small. */
		if (ok->kind == READING_TEXT && str_is(ok->text, "no") && number_at(ev, s, "spec_drafts", &drafts) && drafts >= 100) {
			double sum, length;
			if (number_at(ev, s, "spec_accepted_by_position", &sum) &&
				number_at(ev, s, "spec_mean_acceptance_length", &length) && fabs(sum - length) > 0.02 * length)
				evaluation_raise(ev, "spec-identity-broken", s, NULL, 0, 1, STR_EMPTY);
		}
	}
}
