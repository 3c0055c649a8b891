/* *_over_time: aggregations along a window. */
#include "promql/window.h"

#include <math.h>
#include <stdlib.h>

/* ---- shared with the aggregations ---- */

void mean_add(struct mean *m, double x)
{
	m->count++;
	if (!m->incremental) {
		struct kahan next = m->k;
		if (m->count == 1)
			next = (struct kahan){ x, 0 };
		else
			kahan_add(&next, x);
		if (m->count == 1 || !isinf(next.sum)) {
			m->k = next;
			return;
		}
		m->incremental = true; /* the sum would overflow: go on with the mean itself */
		m->mean = m->k.sum / (m->count - 1);
		m->k.rest /= m->count - 1;
	}
	double kept = (m->count - 1) / m->count;
	struct kahan k = { kept * m->mean, kept * m->k.rest };
	kahan_add(&k, x / m->count);
	m->mean = k.sum;
	m->k.rest = k.rest;
}

double mean_result(const struct mean *m)
{
	return m->incremental ? m->mean + m->k.rest : m->k.sum / m->count + m->k.rest / m->count;
}

static int compare_nan_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	if (isnan(x) || isnan(y))
		return (int)isnan(y) - (int)isnan(x);
	return x < y ? -1 : x > y;
}

double quantile_of(double q, double *values, size_t count)
{
	if (!count || isnan(q))
		return number_nan();
	if (q < 0 || q > 1)
		return q < 0 ? -INFINITY : INFINITY;
	qsort(values, count, sizeof *values, compare_nan_first);
	double rank = q * (double)(count - 1), floor_rank = floor(rank), weight = rank - floor_rank;
	size_t low = (size_t)floor_rank, high = low + 1 < count ? low + 1 : count - 1;
	return values[low] * (1 - weight) + values[high] * weight;
}

/* ---- the functions ---- */

bool window_sum(const struct window *w, double *result)
{
	struct kahan k = { 0, 0 };
	for (size_t i = 0; i < w->count; i++)
		kahan_add(&k, w->v[i]);
	*result = isinf(k.sum) ? k.sum : k.sum + k.rest;
	return true;
}

bool window_avg(const struct window *w, double *result)
{
	struct mean m = { 0 };
	for (size_t i = 0; i < w->count; i++)
		mean_add(&m, w->v[i]);
	*result = mean_result(&m);
	return true;
}

/* NaN only when all are. */
bool window_min(const struct window *w, double *result)
{
	double least = w->v[0];
	for (size_t i = 1; i < w->count; i++)
		if (w->v[i] < least || isnan(least))
			least = w->v[i];
	*result = least;
	return true;
}

bool window_max(const struct window *w, double *result)
{
	double most = w->v[0];
	for (size_t i = 1; i < w->count; i++)
		if (w->v[i] > most || isnan(most))
			most = w->v[i];
	*result = most;
	return true;
}

bool window_count(const struct window *w, double *result)
{
	*result = (double)w->count;
	return true;
}

static double variance(const struct window *w)
{
	double count = 0;
	struct kahan mean = { 0, 0 }, squares = { 0, 0 };
	for (size_t i = 0; i < w->count; i++) {
		count++;
		double delta = w->v[i] - (mean.sum + mean.rest);
		kahan_add(&mean, delta / count);
		kahan_add(&squares, delta * (w->v[i] - (mean.sum + mean.rest)));
	}
	return (squares.sum + squares.rest) / count;
}

bool window_stdvar(const struct window *w, double *result)
{
	*result = variance(w);
	return true;
}

bool window_stddev(const struct window *w, double *result)
{
	*result = sqrt(variance(w));
	return true;
}

bool window_last(const struct window *w, double *result)
{
	*result = w->v[w->count - 1];
	return true;
}

bool window_first(const struct window *w, double *result)
{
	*result = w->v[0];
	return true;
}

bool window_present(const struct window *w, double *result)
{
	(void)w;
	*result = 1;
	return true;
}

bool window_quantile(const struct window *w, double *result)
{
	memcpy(w->scratch, w->v, w->count * sizeof *w->v);
	*result = quantile_of(w->args[0], w->scratch, w->count);
	return true;
}

/* Median absolute deviation; NaN when there is any. */
bool window_mad(const struct window *w, double *result)
{
	memcpy(w->scratch, w->v, w->count * sizeof *w->v);
	*result = number_nan();
	for (size_t i = 0; i < w->count; i++)
		if (isnan(w->v[i]))
			return true;
	double median = quantile_of(0.5, w->scratch, w->count);
	for (size_t i = 0; i < w->count; i++)
		w->scratch[i] = fabs(w->v[i] - median);
	*result = quantile_of(0.5, w->scratch, w->count);
	return true;
}

bool window_time_of_first(const struct window *w, double *result)
{
	*result = (double)w->t[0] / 1000;
	return true;
}

bool window_time_of_last(const struct window *w, double *result)
{
	*result = (double)w->t[w->count - 1] / 1000;
	return true;
}

/* The last of equal extremes. */
bool window_time_of_max(const struct window *w, double *result)
{
	size_t at = 0;
	for (size_t i = 1; i < w->count; i++)
		if (w->v[i] >= w->v[at] || isnan(w->v[at]))
			at = i;
	*result = (double)w->t[at] / 1000;
	return true;
}

bool window_time_of_min(const struct window *w, double *result)
{
	size_t at = 0;
	for (size_t i = 1; i < w->count; i++)
		if (w->v[i] <= w->v[at] || isnan(w->v[at]))
			at = i;
	*result = (double)w->t[at] / 1000;
	return true;
}
