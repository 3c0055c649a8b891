/* deriv, predict_linear, double_exponential_smoothing. */
#include "promql/window.h"

#include <math.h>

/* Least squares: the slope a second, and the value at `intercept_ms`. */
static void linear_regression(const struct window *w, int64_t intercept_ms, double *slope, double *intercept)
{
	struct kahan x_sum = { 0, 0 }, y_sum = { 0, 0 }, xy_sum = { 0, 0 }, xx_sum = { 0, 0 };
	bool constant = true;
	for (size_t i = 0; i < w->count; i++) {
		double x = (double)(w->t[i] - intercept_ms) / 1000, y = w->v[i];
		constant = constant && (i == 0 || y == w->v[0]);
		kahan_add(&x_sum, x);
		kahan_add(&y_sum, y);
		kahan_add(&xy_sum, x * y);
		kahan_add(&xx_sum, x * x);
	}
	if (constant) {
		*slope = isinf(w->v[0]) ? number_nan() : 0;
		*intercept = isinf(w->v[0]) ? number_nan() : w->v[0];
		return;
	}
	double n = (double)w->count, sx = x_sum.sum + x_sum.rest, sy = y_sum.sum + y_sum.rest;
	double covariance = xy_sum.sum + xy_sum.rest - sx * sy / n, variance = xx_sum.sum + xx_sum.rest - sx * sx / n;
	*slope = covariance / variance;
	*intercept = sy / n - *slope * sx / n;
}

bool window_deriv(const struct window *w, double *result)
{
	double intercept;
	if (w->count < 2)
		return false;
	linear_regression(w, w->t[0], result, &intercept);
	return true;
}

bool window_predict_linear(const struct window *w, double *result)
{
	double slope, intercept;
	if (w->count < 2)
		return false;
	linear_regression(w, w->eval_ms, &slope, &intercept);
	*result = slope * w->args[0] + intercept;
	return true;
}

bool window_smoothing(const struct window *w, double *result)
{
	if (w->count < 2)
		return false;
	double before = 0, smoothed = w->v[0], trend = w->v[1] - w->v[0];
	for (size_t i = 1; i < w->count; i++) {
		if (i > 1)
			trend = w->args[1] * (smoothed - before) + (1 - w->args[1]) * trend;
		double next = w->args[0] * w->v[i] + (1 - w->args[0]) * (smoothed + trend);
		before = smoothed;
		smoothed = next;
	}
	*result = smoothed;
	return true;
}
