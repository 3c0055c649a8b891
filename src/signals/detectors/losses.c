/* Requests that ended without a finish record, beyond what requests between two states can explain. */
#include "signals/detectors/detect.h"

#include "catalog/expression.h"

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
	/* Gauges and counters of one page may be a step apart: by two at a replica, and by chance to either side. */
	double skew = 2 * sqrt((double)s->target_count);
	if (lost->kind == READING_AT_LEAST)
		return skew; /* a bound already */
	if (is_exported(ev, s, "http_requests"))
		return answered_from_before(ev, s) + skew;
	return in_prefill_at_start(ev, s);
}

static double total_now(struct evaluation *ev, const struct scope *s, const char *metric, const char *label, const char *start)
{
	return counter_total(ev, s, metric, label, start, ev->window.to_ms);
}

/* A front end that is behind answers later what the engine has finished; when it catches up, more is answered than finished. Nothing was
 * lost while, since the start, no more was answered than finished. */
static bool front_end_is_behind(struct evaluation *ev, const struct scope *s)
{
	if (!is_exported(ev, s, "http_requests") || !is_exported(ev, s, "finished"))
		return false;
	double errors = total_now(ev, s, "http_requests", "status", "5") - total_now(ev, s, "finished", "finished_reason", "error");
	double answered =
		total_now(ev, s, "http_requests", "status", "") - total_now(ev, s, "http_requests", "status", "4") - fmax(0, errors);
	return answered <= total_now(ev, s, "finished", "finished_reason", "");
}

/* Where a page has lost its engine's families, HTTP answers are counted still and finishes are not. */
static bool all_show_engines(struct evaluation *ev, const struct scope *s)
{
	for (size_t i = 0; i < s->target_count; i++) {
		const struct binding *b = evidence_binding(ev->evidence, s->targets[i], ev->window.to_ms);
		if (!b || !b->engine)
			return false;
	}
	return true;
}

static const struct reading *lost_at(struct evaluation *ev, const struct scope *s)
{
	const struct reading *lost = evaluation_named(ev, s, "requests_ended_without_finish");
	if (!reading_is_number(lost) || lost->kind == READING_AT_MOST || lost->over_reset || !(lost->low > 0))
		return NULL;
	return lost->targets_in == lost->targets_all && all_show_engines(ev, s) ? lost : NULL;
}

/* What looks lost at targets of the pool that only catch up. */
static double late_answers(struct evaluation *ev, const struct scope *pool)
{
	double late = 0;
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		const struct reading *lost = scope_has_target(pool, s->target) ? lost_at(ev, s) : NULL;
		if (lost && front_end_is_behind(ev, s))
			late += lost->low;
	}
	return late;
}

static bool loses(struct evaluation *ev, const struct scope *s)
{
	const struct reading *lost = lost_at(ev, s);
	double most = lost ? allowance(ev, s, lost) : INFINITY;
	return lost && lost->low > most && lost->low - late_answers(ev, s) > most;
}

/* Those of the pool that lose requests themselves. */
static size_t losers(struct evaluation *ev, const struct scope *pool, struct scope **list)
{
	size_t n = 0;
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		if (scope_has_target(pool, s->target) && loses(ev, s))
			list[n++] = s;
	}
	return n;
}

/* Told where it is seen: what a replica lost can be less than what the others are a step ahead by. */
void losses_raise(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_POOL)
	{
		struct scope **list = ARENA_ARRAY(ev->arena, struct scope *, s->target_count + 1);
		struct str *names = ARENA_ARRAY(ev->arena, struct str, s->target_count + 1);
		size_t count = losers(ev, s, list);
		for (size_t i = 0; i < count; i++)
			names[i] = list[i]->name;
		if (loses(ev, s)) {
			evaluation_raise(ev, "aborts-not-counted", s, names, count, s->target_count, STR_EMPTY);
			continue;
		}
		for (size_t i = 0; i < count; i++)
			evaluation_raise(ev, "aborts-not-counted", list[i], NULL, 0, 1, STR_EMPTY);
	}
}
