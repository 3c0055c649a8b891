/* Special functions: the regularised incomplete beta function and what follows from it. */
#include "slo/quantile.h"

#include <math.h>

/* Lentz's evaluation of the continued fraction of I_x(a, b). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < 10000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		if (fabs(d * c - 1) < 1e-15)
			break;
	}
	return h;
}

static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

/* I_x(a, b) */
static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double binomial_cdf(size_t k, size_t n, double p)
{
	if (k >= n)
		return 1;
	return incomplete_beta((double)(n - k), (double)k + 1, 1 - p);
}

double normal_cdf(double x)
{
	return 0.5 * erfc(-x / M_SQRT2);
}

/* Bisection on a cumulative distribution that rises; the result is good to 1e-12 relative to the range. */
static double invert(double (*cdf)(double x, double parameter), double parameter, double p)
{
	double low = -1, high = 1;

	if (!(p > 0 && p < 1))
		return p <= 0 ? -INFINITY : p >= 1 ? INFINITY : NAN;
	while (cdf(low, parameter) > p)
		low *= 2;
	while (cdf(high, parameter) < p)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-13 * (fabs(low) + fabs(high)); i++) {
		double middle = (low + high) / 2;

		if (cdf(middle, parameter) < p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

double beta_cdf(double x, double a, double b)
{
	return incomplete_beta(a, b, x);
}

static double normal_of(double x, double unused)
{
	return normal_cdf(x);
}

static double student_cdf(double t, double degrees)
{
	double tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;

	return t < 0 ? tail : 1 - tail;
}

double normal_quantile(double p)
{
	return invert(normal_of, 0, p);
}

double student_quantile(double p, double degrees)
{
	return degrees > 0 ? invert(student_cdf, degrees, p) : NAN;
}
