/* rate, increase, delta and their kin: differences over a window. */
#include "promql/window.h"

/* What the counter gained: every fall is a reset, which starts from zero. */
static double counter_gain(const struct window *w)
{
	double gain = w->v[w->count - 1] - w->v[0];
	if (w->may_fall)
		for (size_t i = 1; i < w->count; i++)
			if (w->v[i] < w->v[i - 1])
				gain += w->v[i - 1];
	return gain;
}

/* Seconds by which the samples are taken to reach beyond the first: to the window's start when that is near, else half an interval; a
 * counter never to below zero. */
static double reach_to_start(const struct window *w, double gain, bool counter, double interval, double sampled)
{
	double reach = (double)(w->t[0] - w->start_ms) / 1000;
	if (reach >= interval * 1.1)
		reach = interval / 2;
	if (!counter)
		return reach;
	double to_zero = gain > 0 && w->v[0] >= 0 ? sampled * (w->v[0] / gain) : reach;
	return to_zero < reach ? to_zero : reach;
}

static bool extrapolated(const struct window *w, bool counter, bool per_second, double *result)
{
	if (w->count < 2)
		return false;
	double gain = counter ? counter_gain(w) : w->v[w->count - 1] - w->v[0];
	double sampled = (double)(w->t[w->count - 1] - w->t[0]) / 1000, interval = sampled / (double)(w->count - 1);
	double to_start = reach_to_start(w, gain, counter, interval, sampled);
	double to_end = (double)(w->end_ms - w->t[w->count - 1]) / 1000;
	if (to_end >= interval * 1.1)
		to_end = interval / 2;
	double factor = (sampled + to_start + to_end) / sampled;
	if (per_second)
		factor /= (double)w->range_ms / 1000;
	*result = gain * factor;
	return true;
}

bool window_rate(const struct window *w, double *result)
{
	return extrapolated(w, true, true, result);
}
bool window_increase(const struct window *w, double *result)
{
	return extrapolated(w, true, false, result);
}
bool window_delta(const struct window *w, double *result)
{
	return extrapolated(w, false, false, result);
}

bool window_irate(const struct window *w, double *result)
{
	if (w->count < 2)
		return false;
	double last = w->v[w->count - 1], before = w->v[w->count - 2];
	double gain = last < before ? last : last - before;
	*result = gain / ((double)(w->t[w->count - 1] - w->t[w->count - 2]) / 1000);
	return true;
}

bool window_idelta(const struct window *w, double *result)
{
	if (w->count < 2)
		return false;
	*result = w->v[w->count - 1] - w->v[w->count - 2];
	return true;
}

bool window_resets(const struct window *w, double *result)
{
	size_t resets = 0;
	for (size_t i = 1; i < w->count; i++)
		resets += w->v[i] < w->v[i - 1];
	*result = (double)resets;
	return true;
}

bool window_changes(const struct window *w, double *result)
{
	size_t changes = 0;
	for (size_t i = 1; i < w->count; i++)
		changes += w->v[i] != w->v[i - 1] && !(w->v[i] != w->v[i] && w->v[i - 1] != w->v[i - 1]);
	*result = (double)changes;
	return true;
}
