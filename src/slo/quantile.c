#include "slo/quantile.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void values_sort(double *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof *values, compare);
}

double quantile_linear(const double *sorted, size_t count, double q)
{
	double position, below;

	if (!count)
		return NAN;
	position = q * (double)(count - 1);
	below = floor(position);
	size_t i = (size_t)below;

	if (i + 1 >= count)
		return sorted[count - 1];
	return sorted[i] + (position - below) * (sorted[i + 1] - sorted[i]);
}

double quantile_nearest(const double *sorted, size_t count, double q)
{
	double rank = ceil(q * (double)count * (1 - 1e-15)); /* 0.9 * 10 is 9, not a rounding error above it */

	if (!count)
		return NAN;
	return sorted[rank < 1 ? 0 : (size_t)rank > count ? count - 1 : (size_t)rank - 1];
}

/* The smallest k with P(Bin(n, q) <= k) >= p; n when there is none below. */
static size_t binomial_quantile(size_t n, double q, double p)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (binomial_cdf(middle, n, q) >= p)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct rank_interval quantile_ranks(size_t count, double q, double confidence)
{
	double tail = (1 - confidence) / 2;
	/* P(X(r) > quantile) = P(Bin <= r - 1). Low: the largest r where that is at most `tail`; high: the smallest where it is at least
	 * 1 - tail. */
	size_t first_above = binomial_quantile(count, q, tail);
	struct rank_interval r = { first_above, binomial_quantile(count, q, 1 - tail) + 1 };

	if (count && binomial_cdf(first_above, count, q) <= tail)
		r.low++;
	return r;
}

struct estimate quantile_estimate(const double *sorted, size_t count, double q, double confidence)
{
	struct rank_interval r = quantile_ranks(count, q, confidence);
	struct estimate e = { quantile_linear(sorted, count, q), NAN, NAN, count };

	if (r.low >= 1 && r.low <= count)
		e.low = sorted[r.low - 1];
	if (r.high >= 1 && r.high <= count)
		e.high = sorted[r.high - 1];
	return e;
}

struct estimate mean_estimate(const double *values, size_t count, double confidence)
{
	struct estimate e = { NAN, NAN, NAN, count };
	double sum = 0, squares = 0;

	if (!count)
		return e;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	e.value = sum / (double)count;
	if (count < 2)
		return e;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - e.value) * (values[i] - e.value);
	double error = sqrt(squares / (double)(count - 1) / (double)count) * student_quantile((1 + confidence) / 2, (double)(count - 1));

	e.low = e.value - error;
	e.high = e.value + error;
	return e;
}

struct estimate share_estimate(size_t good, size_t count, double confidence)
{
	struct estimate e = { NAN, NAN, NAN, count };
	double n = (double)count, z = normal_quantile((1 + confidence) / 2), p, centre, half;

	if (!count)
		return e;
	p = (double)good / n;
	centre = (p + z * z / (2 * n)) / (1 + z * z / n);
	half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
	e.value = p;
	e.low = good ? centre - half : 0;
	e.high = good < count ? centre + half : 1;
	return e;
}

size_t samples_needed(size_t over, double q, double confidence)
{
	size_t low = over, high = over + 1;

	while (binomial_cdf(over, high, 1 - q) > 1 - confidence)
		high *= 2;
	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (binomial_cdf(over, middle, 1 - q) > 1 - confidence)
			low = middle;
		else
			high = middle;
	}
	return high;
}
