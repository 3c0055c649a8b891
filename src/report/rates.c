/* A run over time. */
#include "report/run_report.h"

#include <math.h>

enum { BUCKETS_WANTED = 50, BUCKETS_MAX = 2000 };

static int64_t due_of(const struct timeline *t)
{
	return t->intended_ns != TIMELINE_NEVER ? t->intended_ns : t->submitted_ns;
}

static int64_t end_of(const struct timeline *t)
{
	return t->completed_ns != TIMELINE_NEVER ? t->completed_ns : t->closed_ns;
}

/* The measured window; without one from the first due request to the last end. */
static bool find_window(const struct records *r, int64_t *from, int64_t *to)
{
	*from = r->run.window_start_ns;
	*to = r->run.window_end_ns;
	if (*from != TIMELINE_NEVER && *to != TIMELINE_NEVER)
		return *to > *from;
	*from = INT64_MAX;
	*to = INT64_MIN;
	VEC_EACH (&r->requests, t) {
		if (t->warmup || due_of(t) == TIMELINE_NEVER)
			continue;
		*from = due_of(t) < *from ? due_of(t) : *from;
		*to = end_of(t) > *to ? end_of(t) : *to;
	}
	return *to > *from;
}

static double bucket_length(double seconds)
{
	static const double lengths[] = { 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600 };
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(lengths) && seconds / lengths[i] > BUCKETS_WANTED)
		i++;
	return seconds / lengths[i] > BUCKETS_MAX ? seconds / BUCKETS_MAX : lengths[i];
}

/* Adds to the bucket of a time; what is outside the window, or in its last unfinished bucket, is left out. */
static void add(const struct run_rates *rates, double *to, int64_t from, int64_t t_ns, double amount)
{
	double at = (double)(t_ns - from) / 1e9 / rates->step_s;

	if (t_ns != TIMELINE_NEVER && t_ns >= from && at < (double)rates->buckets)
		to[(size_t)at] += amount / rates->step_s;
}

static void add_request(const struct run_rates *rates, int64_t from, const struct timeline *t, const struct slo_set *slo)
{
	struct delivery_cursor cursor = deliveries_begin(&t->deliveries);
	struct delivery d;

	add(rates, rates->due, from, due_of(t), 1);
	for (bool told = t->notes & TIMELINE_DELIVERY_TOKENS; deliveries_next(&cursor, &d);)
		add(rates, rates->tokens, from, d.t_ns, told ? d.tokens : 1);
	if (!timeline_is_complete(t))
		return;
	add(rates, rates->complete, from, end_of(t), 1);
	if (slo && slo_judge(slo_of(slo, t->pool), t).verdict == SLO_GOOD)
		add(rates, rates->good, from, end_of(t), 1);
}

void run_rates_make(struct arena *arena, const struct records *r, const struct slo_set *slo, struct run_rates *rates)
{
	int64_t from, to;
	double seconds;

	*rates = (struct run_rates){ 0 };
	if (!find_window(r, &from, &to))
		return;
	seconds = (double)(to - from) / 1e9;
	rates->step_s = bucket_length(seconds);
	rates->buckets = (size_t)(seconds / rates->step_s + 1e-9);
	rates->buckets += !rates->buckets;
	double **arrays[] = { &rates->start_s, &rates->due, &rates->complete, &rates->good, &rates->tokens };

	for (size_t i = 0; i < ARRAY_LEN(arrays); i++)
		*arrays[i] = ARENA_ARRAY(arena, double, rates->buckets + 1);
	for (size_t i = 0; i < rates->buckets; i++)
		rates->start_s[i] = (double)i * rates->step_s;
	VEC_EACH (&r->requests, t)
		add_request(rates, from, t, slo);
}
