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
	first = floor(s->from / step + 1e-9);
	last = ceil(s->to / step - 1e-9);
	s->from = first * step;
	s->to = last * step;
	for (double k = first; k <= last && count < TICKS_MAX; k++)
		ticks[count++] = k * step;
	return count;
}

/* 1, 2 and 5 of each decade if there is room, else 1 only, of every few decades. */
static size_t log_ticks(struct scale *s, int wanted, double ticks[TICKS_MAX])
{
	static const double digits[] = { 1, 2, 5 };
	int low, high, every;
	bool fine;
	size_t count = 0;

	if (!(s->to > s->from))
		s->to = s->from * 2;
	low = (int)floor(log10(s->from) + 1e-9);
	high = (int)ceil(log10(s->to) - 1e-9);
	fine = (high - low) * 3 <= wanted + 2;
	every = fine ? 1 : (high - low) / wanted + 1;
	for (int k = low; k <= high; k += every)
		for (int d = 0; d < (fine ? 3 : 1); d++) {
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
