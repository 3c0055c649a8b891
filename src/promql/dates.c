/* minute, hour, day_of_..., month, year: of unix seconds, UTC. */
#include "promql/instant.h"

#include <math.h>

struct date {
	int64_t year;
	int month, day, weekday, yearday, hour, minute; /* 1-based but weekday (0 = Sunday) and times */
};

static bool is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_in_month(int64_t year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

static int64_t floor_divide(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Years counted from March, so that a leap day is the last of its year; eras of 400 years are all alike. */
static void date_from(int64_t seconds, struct date *d)
{
	int64_t days = floor_divide(seconds, 86400), rest = seconds - days * 86400;
	int64_t shifted = days + 719468, era = floor_divide(shifted, 146097), day = shifted - era * 146097;
	int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365, of_year = day - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153;
	d->day = (int)(of_year - (153 * month + 2) / 5) + 1;
	d->month = (int)(month < 10 ? month + 3 : month - 9);
	d->year = year + era * 400 + (d->month <= 2);
	d->weekday = (int)(((days + 4) % 7 + 7) % 7);
	d->hour = (int)(rest / 3600);
	d->minute = (int)(rest / 60 % 60);
	d->yearday = d->day;
	for (int m = 1; m < d->month; m++)
		d->yearday += days_in_month(d->year, m);
}

enum part { DAYS_IN_MONTH, DAY_OF_MONTH, DAY_OF_WEEK, DAY_OF_YEAR, HOUR, MINUTE, MONTH, YEAR, PARTS };

static enum part part_of(const char *function)
{
	static const char *const names[] = { "days_in_month", "day_of_month", "day_of_week", "day_of_year", "hour", "minute", "month",
		"year" };
	int part = 0;
	while (part < PARTS - 1 && !str_is(str_from(function), names[part]))
		part++;
	return part;
}

static double date_part(enum part part, double seconds)
{
	struct date d;
	if (!(fabs(seconds) < 9e18))
		return number_nan();
	date_from((int64_t)seconds, &d);
	switch (part) {
	case DAYS_IN_MONTH: return days_in_month(d.year, d.month);
	case DAY_OF_MONTH: return d.day;
	case DAY_OF_WEEK: return d.weekday;
	case DAY_OF_YEAR: return d.yearday;
	case HOUR: return d.hour;
	case MINUTE: return d.minute;
	case MONTH: return d.month;
	default: return (double)d.year;
	}
}

bool frame_date(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	enum part part = part_of(call->call.function->name);
	bool given = call->call.arg_count > 0;
	if (!(given ? evaluate(ev, call->call.args[0], grid, out) : frame_time(ev, call, grid, out)))
		return false;
	if (!given) {
		out->type = PROMQL_VECTOR;
		out->one_name = true;
	}
	for (size_t c = 0; c < out->count; c++)
		for (size_t i = 0; i < grid->steps; i++)
			if (!is_absent(out->columns[c].values[i]))
				out->columns[c].values[i] = date_part(part, out->columns[c].values[i]);
	return frame_drop_names(ev, call, out, grid->steps);
}
