/* Template functions of numbers, durations and times. */
#include "base/clock.h"
#include "base/number.h"
#include "rules/template_functions.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

static bool give_format(struct execution *x, struct value *result, const char *format, double v, const char *unit)
{
	struct buf text;

	buf_init(&text, 4096);
	if (isnan(v) || isinf(v))
		go_float(v, 'g', 4, &text);
	else
		buf_printf(&text, format, v);
	buf_add_cstr(&text, unit);
	return value_give_text(x, &text, result);
}

/* ---- numbers for people ---- */

/* Divides by `step` while that leaves 1 or more, or multiplies below 1; the prefix that stands for it. */
static const char *scale_up(double *v, double step, const char *const *prefixes)
{
	const char *prefix = "";

	for (; *prefixes && fabs(*v) >= step; prefixes++) {
		prefix = *prefixes;
		*v /= step;
	}
	return prefix;
}

static const char *scale_down(double *v)
{
	static const char *const prefixes[] = { "m", "u", "n", "p", "f", "a", "z", "y", NULL };
	const char *prefix = "";

	for (const char *const *p = prefixes; *p && fabs(*v) < 1; p++) {
		prefix = *p;
		*v *= 1000;
	}
	return prefix;
}

TEMPLATE_FUNCTION(function_humanize)
{
	static const char *const prefixes[] = { "k", "M", "G", "T", "P", "E", "Z", "Y", NULL };
	const char *prefix = "";
	double v;

	if (!value_need_number(x, &args[0], &v))
		return false;
	if (v != 0 && !isnan(v) && !isinf(v))
		prefix = fabs(v) >= 1 ? scale_up(&v, 1000, prefixes) : scale_down(&v);
	return give_format(x, result, "%.4g", v, prefix);
}

TEMPLATE_FUNCTION(function_humanize_1024)
{
	static const char *const prefixes[] = { "ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi", NULL };
	const char *prefix = "";
	double v;

	if (!value_need_number(x, &args[0], &v))
		return false;
	if (fabs(v) > 1 && !isinf(v))
		prefix = scale_up(&v, 1024, prefixes);
	return give_format(x, result, "%.4g", v, prefix);
}

static void add_long_duration(double v, struct buf *text)
{
	int64_t seconds = (int64_t)fabs(v), minutes = seconds / 60 % 60, hours = seconds / 3600 % 24, days = seconds / 86400;
	const char *sign = v < 0 ? "-" : "";

	if (days)
		buf_printf(text, "%s%ldd %ldh %ldm %lds", sign, (long)days, (long)hours, (long)minutes, (long)(seconds % 60));
	else if (hours)
		buf_printf(text, "%s%ldh %ldm %lds", sign, (long)hours, (long)minutes, (long)(seconds % 60));
	else if (minutes)
		buf_printf(text, "%s%ldm %lds", sign, (long)minutes, (long)(seconds % 60));
	else
		buf_printf(text, "%s%.4gs", sign, fabs(v));
}

TEMPLATE_FUNCTION(function_humanize_duration)
{
	struct buf text;
	double v;

	if (!value_need_number(x, &args[0], &v))
		return false;
	if (isnan(v) || isinf(v))
		return give_format(x, result, "%.4g", v, "");
	buf_init(&text, 4096);
	if (v == 0)
		buf_add_cstr(&text, "0s");
	else if (fabs(v) >= 9e18)
		buf_printf(&text, "%.4gs", v); /* beyond int64 */
	else if (fabs(v) >= 1)
		add_long_duration(v, &text);
	else {
		const char *prefix = scale_down(&v);

		buf_printf(&text, "%.4g%ss", v, prefix);
	}
	return value_give_text(x, &text, result);
}

TEMPLATE_FUNCTION(function_humanize_percentage)
{
	double v;

	return value_need_number(x, &args[0], &v) && give_format(x, result, "%.4g", v * 100, "%");
}

/* Go prints a time with as many digits of a fraction as it has. */
TEMPLATE_FUNCTION(function_humanize_timestamp)
{
	char date[64];
	struct buf text;
	time_t seconds;
	struct tm tm;
	double v;

	if (!value_need_number(x, &args[0], &v))
		return false;
	if (isnan(v) || isinf(v))
		return give_format(x, result, "%.4g", v, "");
	if (fabs(v * 1e9) >= 9.2233720368547e18) {
		buf_init(&text, 4096);
		go_float(v, 'g', -1, &text);
		execution_fail(x, "%s cannot be represented as a nanoseconds timestamp since it overflows int64", buf_cstr(&text));
		buf_fini(&text);
		return false;
	}
	/* model.Time counts milliseconds. */
	int64_t ms = (int64_t)(v * 1e9) / 1000000, rest = ms % 1000;

	seconds = (time_t)(ms / 1000 - (rest < 0));
	rest += rest < 0 ? 1000 : 0;
	gmtime_r(&seconds, &tm);
	strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm);
	buf_init(&text, 4096);
	buf_add_cstr(&text, date);
	if (rest) {
		char fraction[8];
		int length = snprintf(fraction, sizeof fraction, ".%03d", (int)rest);

		while (fraction[length - 1] == '0')
			length--;
		buf_add(&text, str_of(fraction, (size_t)length));
	}
	buf_add_cstr(&text, " +0000 UTC");
	return value_give_text(x, &text, result);
}

TEMPLATE_FUNCTION(function_parse_duration)
{
	int64_t ms, bare;

	if (!value_need(x, &args[0], VALUE_TEXT))
		return false;
	if (!duration_parse(args[0].text, &ms) || (number_parse_i64(args[0].text, &bare) && bare))
		return execution_fail(x, "not a valid duration string: \"" STR_FMT "\"", STR_ARG(str_head(args[0].text, 60)));
	*result = (struct value){ .kind = VALUE_NUMBER, .number = (double)ms / 1000 };
	return true;
}

TEMPLATE_FUNCTION(function_now)
{
	*result = (struct value){ .kind = VALUE_NUMBER, .number = (double)x->data->t_ms / 1000 };
	return true;
}
