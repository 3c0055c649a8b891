/* Axes: round numbers, places, labels. */
#include "report/internal.h"

#include <math.h>
#include <stdio.h>

static double round_step(double span, int wanted)
{
	double raw = span / wanted, power = pow(10, floor(log10(raw))), share = raw / power;

	return (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10) * power;
}

static size_t linear_ticks(struct scale *s, int wanted, double ticks[TICKS_MAX])
{
	double step, first, last;
	size_t count = 0;

	if (!(s->to > s->from))
		s->to = s->from + (s->from != 0 ? fabs(s->from) * 0.1 : 1);
	step = round_step(s->to - s->from, wanted);
	first = s->exact ? ceil(s->from / step - 1e-9) : floor(s->from / step + 1e-9);
	last = s->exact ? floor(s->to / step + 1e-9) : ceil(s->to / step - 1e-9);
	if (!s->exact) {
		s->from = first * step;
		s->to = last * step;
	}
	for (double k = first; k <= last && count < TICKS_MAX; k++)
		ticks[count++] = k * step;
	return count;
}

/* How fine: below a decade nearly every digit, then 1, 2 and 5, then decades, or every few of them. */
static size_t log_digits(double decades, int wanted, const double **digits)
{
	static const double fine[] = { 1, 1.5, 2, 3, 4, 5, 6, 8 }, usual[] = { 1, 2, 5 };

	*digits = decades < 1 ? fine : usual;
	return decades < 1 ? sizeof fine / sizeof *fine : decades * 3 <= wanted + 2 ? 3 : 1;
}

static size_t log_ticks(struct scale *s, int wanted, double ticks[TICKS_MAX])
{
	const double *digits;
	size_t count = 0, per_decade;
	int low, high, every;

	if (!(s->to > s->from))
		s->to = s->from * 2;
	low = (int)floor(log10(s->from) + 1e-9);
	high = (int)ceil(log10(s->to) - 1e-9);
	per_decade = log_digits(log10(s->to / s->from), wanted, &digits);
	every = per_decade > 1 ? 1 : (high - low) / wanted + 1;
	for (int k = low; k <= high; k += every)
		for (size_t d = 0; d < per_decade; d++) {
			double at = digits[d] * pow(10, k);

			if (at >= s->from * 0.999 && at <= s->to * 1.001 && count < TICKS_MAX)
				ticks[count++] = at;
		}
	return count;
}

size_t scale_ticks(struct scale *s, int wanted, double ticks[TICKS_MAX])
{
	return s->log ? log_ticks(s, wanted, ticks) : linear_ticks(s, wanted, ticks);
}

double scale_place(const struct scale *s, double value)
{
	double share = s->log ? log(value / s->from) / log(s->to / s->from) : (value - s->from) / (s->to - s->from);

	/* far outside is as good as just outside, and keeps the numbers short */
	share = share < -0.2 ? -0.2 : share > 1.2 ? 1.2 : share;
	return s->start + share * s->length;
}

size_t scale_label(double value, char *text)
{
	static const struct {
		double from, unit;
		const char *suffix;
	} units[] = { { 1e9, 1e9, "G" }, { 1e6, 1e6, "M" }, { 1e4, 1e3, "k" } };

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (fabs(value) >= units[i].from * (1 - 1e-9))
			return (size_t)snprintf(text, 32, "%.4g%s", value / units[i].unit, units[i].suffix);
	return (size_t)snprintf(text, 32, "%.4g", fabs(value) < 1e-12 ? 0 : value);
}
