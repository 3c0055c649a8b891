/* Requests that ended without a finish record, beyond what requests between two states can explain. */
#include "signals/detectors/detect.h"

/* How many of the lost may be no loss. The sum of conservation counts a first token for each arrival; requests in prefill at the window's
 * start gave theirs inside it: by Little's law about rate x TTFT of them, never more than ran. */
static double in_prefill_at_start(struct evaluation *ev, const struct scope *s)
{
	double running = 0, growth = 0, first_tokens = 0, ttft = 1, window = 0;
	if (!number_at(ev, s, "running", &running))
		return 0;
	number_at(ev, s, "running_growth", &growth);
	double at_start = fmax(0, running - growth);
	number_at(ev, s, "ttft_events", &first_tokens);
	number_at(ev, s, "ttft_mean", &ttft);
	if (!number_at(ev, s, "window_seconds", &window) || window <= 0)
		return at_start;
	return fmin(at_start, 3 + 3 * first_tokens / window * ttft);
}

/* Answers over HTTP are counted when they end: what left the queue and the batch in the window was answered in it. */
static double answered_from_before(struct evaluation *ev, const struct scope *s)
{
	double running = 0, waiting = 0;
	number_at(ev, s, "running_growth", &running);
	number_at(ev, s, "waiting_growth", &waiting);
	return fabs(running) + fabs(waiting);
}

static double allowance(struct evaluation *ev, const struct scope *s, const struct reading *lost)
{
	if (lost->kind == READING_AT_LEAST)
		return 2; /* a bound already; gauges and counters of one page may be a step apart */
	if (is_exported(ev, s, "http_requests"))
		return answered_from_before(ev, s) + 2;
	return in_prefill_at_start(ev, s);
}

void losses_raise(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_POOL)
	{
		const struct reading *lost = evaluation_named(ev, s, "requests_ended_without_finish");
		if (!reading_is_number(lost) || lost->kind == READING_AT_MOST || lost->over_reset || !(lost->low > 0))
			continue;
		if (lost->targets_in < lost->targets_all || lost->low <= allowance(ev, s, lost))
			continue;
		evaluation_raise(ev, "aborts-not-counted", s, NULL, 0, s->target_count, STR_EMPTY);
	}
}
