#include "promql/functions.h"
#include "promql/fold.h"
#include "promql/instant.h"
#include "promql/window.h"

#include <math.h>

static double to_radians(double x)
{
	return x * M_PI / 180;
}
static double to_degrees(double x)
{
	return x * 180 / M_PI;
}
static double sign(double x)
{
	return x < 0 ? -1 : x > 0 ? 1 : x;
}

#define S PROMQL_SCALAR
#define T PROMQL_STRING
#define V PROMQL_VECTOR
#define M PROMQL_MATRIX
#define MATH(name, f)                                                                                                                      \
	{                                                                                                                                  \
		name, V, { V }, 1, 0, .math = f                                                                                            \
	}
#define WINDOW(name, f)                                                                                                                    \
	{                                                                                                                                  \
		name, V, { M }, 1, 0, .window = f                                                                                          \
	}
#define FOLD(name, f, g)                                                                                                                   \
	{                                                                                                                                  \
		name, V, { M }, 1, 0, .window = f, .fold = g                                                                               \
	}
#define DATE(name)                                                                                                                         \
	{                                                                                                                                  \
		name, V, { V }, 1, 1, .frame = frame_date                                                                                  \
	}
#define SCALAR(name, f)                                                                                                                    \
	{                                                                                                                                  \
		name, S, { S }, 0, 0, .experimental = true, .frame = f                                                                     \
	}

static const struct function functions[] = {
	MATH("abs", fabs),
	{ "absent", V, { V }, 1, 0, .frame = frame_absent },
	{ "absent_over_time", V, { M }, 1, 0, .frame = frame_absent_over_time },
	MATH("acos", acos),
	MATH("acosh", acosh),
	MATH("asin", asin),
	MATH("asinh", asinh),
	MATH("atan", atan),
	MATH("atanh", atanh),
	WINDOW("avg_over_time", window_avg),
	MATH("ceil", ceil),
	WINDOW("changes", window_changes),
	{ "clamp", V, { V, S, S }, 3, 0, .frame = frame_clamp },
	{ "clamp_max", V, { V, S }, 2, 0, .frame = frame_clamp_max },
	{ "clamp_min", V, { V, S }, 2, 0, .frame = frame_clamp_min },
	MATH("cos", cos),
	MATH("cosh", cosh),
	FOLD("count_over_time", window_count, fold_count),
	DATE("day_of_month"),
	DATE("day_of_week"),
	DATE("day_of_year"),
	DATE("days_in_month"),
	MATH("deg", to_degrees),
	FOLD("delta", window_delta, fold_delta),
	WINDOW("deriv", window_deriv),
	{ "double_exponential_smoothing", V, { M, S, S }, 3, 0, .experimental = true, .window = window_smoothing },
	SCALAR("end", frame_query_time),
	MATH("exp", exp),
	{ "first_over_time", V, { M }, 1, 0, .keeps_name = true, .window = window_first, .fold = fold_first },
	MATH("floor", floor),
	{ "histogram_avg", V, { V }, 1, 0, .frame = frame_histogram_native },
	{ "histogram_count", V, { V }, 1, 0, .frame = frame_histogram_native },
	{ "histogram_fraction", V, { S, S, V }, 3, 0, .frame = frame_histogram_fraction },
	{ "histogram_quantile", V, { S, V }, 2, 0, .frame = frame_histogram_quantile },
	{ "histogram_quantiles", V, { V, T, S, S }, 4, VARIADIC_ANY, .experimental = true, .frame = frame_histogram_quantiles },
	{ "histogram_stddev", V, { V }, 1, 0, .frame = frame_histogram_native },
	{ "histogram_stdvar", V, { V }, 1, 0, .frame = frame_histogram_native },
	{ "histogram_sum", V, { V }, 1, 0, .frame = frame_histogram_native },
	DATE("hour"),
	WINDOW("idelta", window_idelta),
	{ "increase", V, { M }, 1, 0, .window = window_increase, .fold = fold_increase, .needs_falls = true },
	WINDOW("irate", window_irate),
	{ "label_join", V, { V, T, T, T }, 4, VARIADIC_ANY, .frame = frame_label_join },
	{ "label_replace", V, { V, T, T, T, T }, 5, 0, .frame = frame_label_replace },
	{ "last_over_time", V, { M }, 1, 0, .keeps_name = true, .window = window_last, .fold = fold_last },
	MATH("ln", log),
	MATH("log10", log10),
	MATH("log2", log2),
	{ "mad_over_time", V, { M }, 1, 0, .experimental = true, .window = window_mad },
	{ "max_of", S, { S, S }, 2, 0, .experimental = true, .frame = frame_extreme_of },
	WINDOW("max_over_time", window_max),
	{ "min_of", S, { S, S }, 2, 0, .experimental = true, .frame = frame_extreme_of },
	WINDOW("min_over_time", window_min),
	DATE("minute"),
	DATE("month"),
	{ "pi", S, { S }, 0, 0, .frame = frame_pi },
	{ "predict_linear", V, { M, S }, 2, 0, .window = window_predict_linear },
	FOLD("present_over_time", window_present, fold_present),
	{ "quantile_over_time", V, { S, M }, 2, 0, .window = window_quantile },
	MATH("rad", to_radians),
	SCALAR("range", frame_query_time),
	{ "rate", V, { M }, 1, 0, .window = window_rate, .fold = fold_rate, .needs_falls = true },
	WINDOW("resets", window_resets),
	{ "round", V, { V, S }, 2, 1, .frame = frame_round },
	{ "scalar", S, { V }, 1, 0, .frame = frame_scalar },
	MATH("sgn", sign),
	MATH("sin", sin),
	MATH("sinh", sinh),
	{ "sort", V, { V }, 1, 0, .frame = frame_sort },
	{ "sort_by_label", V, { V, T }, 2, VARIADIC_ANY, .experimental = true, .frame = frame_sort_by_label },
	{ "sort_by_label_desc", V, { V, T }, 2, VARIADIC_ANY, .experimental = true, .frame = frame_sort_by_label_desc },
	{ "sort_desc", V, { V }, 1, 0, .frame = frame_sort_desc },
	MATH("sqrt", sqrt),
	SCALAR("start", frame_query_time),
	WINDOW("stddev_over_time", window_stddev),
	WINDOW("stdvar_over_time", window_stdvar),
	SCALAR("step", frame_query_time),
	WINDOW("sum_over_time", window_sum),
	MATH("tan", tan),
	MATH("tanh", tanh),
	{ "time", S, { S }, 0, 0, .frame = frame_time },
	{ "timestamp", V, { V }, 1, 0, .frame = frame_timestamp },
	{ "ts_of_first_over_time", V, { M }, 1, 0, .experimental = true, .window = window_time_of_first, .fold = fold_time_of_first },
	{ "ts_of_last_over_time", V, { M }, 1, 0, .experimental = true, .window = window_time_of_last, .fold = fold_time_of_last },
	{ "ts_of_max_over_time", V, { M }, 1, 0, .experimental = true, .window = window_time_of_max },
	{ "ts_of_min_over_time", V, { M }, 1, 0, .experimental = true, .window = window_time_of_min },
	{ "vector", V, { S }, 1, 0, .frame = frame_vector },
	DATE("year"),
};
enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

const struct function *function_find(struct str name)
{
	size_t low = 0, high = FUNCTION_COUNT;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = str_cmp(str_from(functions[middle].name), name);
		if (order == 0)
			return &functions[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const char *function_suggest(struct str name)
{
	const char *nearest = NULL;
	size_t best = 4;
	for (size_t i = 0; i < FUNCTION_COUNT; i++) {
		size_t distance = str_distance(str_from(functions[i].name), name, best - 1);
		if (distance < best) {
			best = distance;
			nearest = functions[i].name;
		}
	}
	return nearest;
}
