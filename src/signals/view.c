/* Samples of one series at and between moments: what a level and a count rest on. */
#include "signals/window.h"

#include <math.h>

/* Index of the newest sample at or before t; -1. */
static ptrdiff_t newest(const struct series_view *v, int64_t t_ms)
{
	return (ptrdiff_t)times_after(v->t, v->count, t_ms) - 1;
}

ptrdiff_t view_at(const struct series_view *v, int64_t t_ms, int64_t max_age_ms)
{
	ptrdiff_t i = newest(v, t_ms);
	if (i < 0 || number_is_stale(v->v[i]) || t_ms - v->t[i] > max_age_ms)
		return -1;
	return i;
}

int64_t target_patience_ms(const struct target_evidence *t)
{
	return t->interval_ms > 0 ? t->interval_ms + t->interval_ms / 2 : 300000;
}

/* Was the target's process replaced, or this counter set back, in (after, at]? */
static bool restarted_between(const struct restart_times *restarts, int64_t after_ms, int64_t at_ms)
{
	for (size_t i = 0; i < restarts->count; i++)
		if (restarts->t[i] > after_ms && restarts->t[i] <= at_ms)
			return true;
	return false;
}

static struct increase increase_unknown(enum unknown_reason reason)
{
	return (struct increase){ .reason = reason };
}

/* Why a window has no start: the series is new, was seen once, or the page before is too old. */
static struct increase without_start(const struct series_view *v, ptrdiff_t end, const struct window_ends *w)
{
	if (w->scraped_at_start) /* the target answered then without this series: a child that did not exist yet counts from 0 */
		return (struct increase){ .known = true, .value = v->v[end], .elapsed_s = (double)(v->t[end] - w->start_scrape_ms) / 1000 };
	if (w->born_ms > w->from_ms && w->born_ms <= v->t[end]) /* the process itself started inside the window */
		return (struct increase){ .known = true, .value = v->v[end], .elapsed_s = (double)(v->t[end] - w->born_ms) / 1000 };
	return increase_unknown(end == 0 ? UNKNOWN_ONE_SCRAPE : UNKNOWN_OLD_END);
}

struct increase view_increase(const struct series_view *v, const struct window_ends *w)
{
	ptrdiff_t end = view_at(v, w->to_ms, w->patience_ms);
	if (end < 0)
		return increase_unknown(newest(v, w->to_ms) < 0 ? UNKNOWN_ABSENT : UNKNOWN_OLD_END);
	if (!(v->v[end] >= 0) || isinf(v->v[end]))
		return increase_unknown(UNKNOWN_INVALID);
	ptrdiff_t start = view_at(v, w->from_ms, w->patience_ms);
	if (start < 0)
		return without_start(v, end, w);
	if (start == end) /* one sample is both ends */
		return increase_unknown(end == 0 ? UNKNOWN_ONE_SCRAPE : UNKNOWN_OLD_END);
	struct increase r = { .known = true, .elapsed_s = (double)(v->t[end] - v->t[start]) / 1000 };
	double before = v->v[start];
	int64_t before_ms = v->t[start];
	for (ptrdiff_t i = start + 1; i <= end; i++) {
		double now = v->v[i];
		if (number_is_stale(now))
			continue;
		if (!(now >= 0) || isinf(now) || !(before >= 0) || isinf(before))
			return increase_unknown(UNKNOWN_INVALID);
		bool reset = now < before || restarted_between(w->restarts, before_ms, v->t[i]);
		r.value += reset ? now : now - before;
		r.reset |= reset;
		before = now;
		before_ms = v->t[i];
	}
	return r;
}

ptrdiff_t view_before(const struct series_view *v, ptrdiff_t i)
{
	do
		i--;
	while (i >= 0 && number_is_stale(v->v[i]));
	return i;
}

static bool fell_at(const struct series_view *v, size_t i)
{
	ptrdiff_t before = view_before(v, (ptrdiff_t)i);
	return before >= 0 && v->v[i] < v->v[before];
}

void restart_times_of_falls(struct arena *arena, const struct series_view *v, struct restart_times *times)
{
	size_t falls = 0;
	for (size_t i = 1; i < v->count; i++)
		falls += fell_at(v, i);
	if (!falls)
		return;
	int64_t *all = arena_alloc(arena, (times->count + falls) * sizeof *all);
	if (times->count)
		memcpy(all, times->t, times->count * sizeof *all);
	size_t n = times->count;
	for (size_t i = 1; i < v->count; i++)
		if (fell_at(v, i))
			all[n++] = v->t[i];
	*times = (struct restart_times){ all, n };
}

int64_t view_last_move_ms(const struct series_view *v, int64_t t_ms, bool *moved)
{
	ptrdiff_t i = newest(v, t_ms);
	*moved = false;
	if (i < 0)
		return INT64_MIN;
	for (ptrdiff_t before; i > 0; i = before) {
		before = view_before(v, i);
		if (before < 0)
			break;
		if (v->v[i] != v->v[before] && !number_is_stale(v->v[i])) {
			*moved = true;
			return v->t[i];
		}
	}
	return v->t[0];
}
