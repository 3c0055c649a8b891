/* quantile: exact percentiles and the intervals that need no distribution. */
#ifndef GOODPUT_SLO_QUANTILE_H
#define GOODPUT_SLO_QUANTILE_H

#include <stdbool.h>
#include <stddef.h>

/* Ascending; NaN must not be among them. */
void values_sort(double *values, size_t count);

/* numpy's "linear": position q (n - 1), between neighbours. NaN for n = 0. */
double quantile_linear(const double *sorted, size_t count, double q);
/* The smallest value with at least q n values at or below it. NaN for n = 0. */
double quantile_nearest(const double *sorted, size_t count, double q);

/* Two-sided order-statistic interval: 1-based ranks (low, high) such that P(X(low) <= quantile) and P(X(high) >= quantile) each fail with
 * at most (1 - confidence) / 2. low 0 or high n + 1: there is no bound on that side at this n. */
struct rank_interval {
	size_t low, high;
};
struct rank_interval quantile_ranks(size_t count, double q, double confidence);

/* A value with its interval; NaN ends: no bound. */
struct estimate {
	double value, low, high;
	size_t count; /* what it rests on */
};
struct estimate quantile_estimate(const double *sorted, size_t count, double q, double confidence);
/* Mean with Student's t. */
struct estimate mean_estimate(const double *values, size_t count, double confidence);
/* Wilson's interval of a share. */
struct estimate share_estimate(size_t good, size_t count, double confidence);

/* Special functions, for tests of their own: P(Bin(n, p) <= k); quantiles of the normal and of Student's t (two-sided helpers take the
 * lower tail). */
double binomial_cdf(size_t k, size_t n, double p);
double beta_cdf(double x, double a, double b); /* the regularised incomplete beta function */
double normal_quantile(double p);
double normal_cdf(double x);
double student_quantile(double p, double degrees);

/* MLPerf's early stopping: fewest samples so that, with `over` of them above the limit, the quantile is within it at the confidence. */
size_t samples_needed(size_t over, double q, double confidence);

#endif
