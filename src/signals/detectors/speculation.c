/* The identity that proves speculation counters right: 1 + acceptance summed over positions = tokens per verification step. */
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

void speculation_raise(struct evaluation *ev)
{
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
