#include "base/clock.h"

#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

static int64_t clock_read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_now_ms(void)
{
	return clock_read_ns(CLOCK_REALTIME) / 1000000;
}
int64_t clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}
int64_t clock_cpu_ns(void)
{
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}
int64_t clock_thread_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static const struct unit {
	struct str name;
	int64_t ms;
	bool exact_only; /* duration_format uses it only when nothing remains, as Prometheus does */
} units[] = {
	{ { "y", 1 }, 365 * 86400000LL, true },
	{ { "w", 1 }, 7 * 86400000LL, true },
	{ { "d", 1 }, 86400000LL, false },
	{ { "h", 1 }, 3600000, false },
	{ { "m", 1 }, 60000, false },
	{ { "s", 1 }, 1000, false },
	{ { "ms", 2 }, 1, false },
};
enum { UNIT_COUNT = sizeof units / sizeof *units };

static bool seconds_parse(struct str s, int64_t *ms)
{
	double seconds;

	/* Beyond 2^53 ms a double no longer tells milliseconds apart. */
	if (!number_parse(s, &seconds) || !(fabs(seconds) <= 0x1p53 / 1000))
		return false;
	*ms = llround(seconds * 1000);
	return true;
}

static bool unit_take(struct str *rest, size_t *next, int64_t *total)
{
	size_t digits = 0;

	while (digits < rest->len && rest->ptr[digits] >= '0' && rest->ptr[digits] <= '9')
		digits++;
	size_t end = digits;

	while (end < rest->len && rest->ptr[end] >= 'a' && rest->ptr[end] <= 'z')
		end++;
	struct str name = str_of(rest->ptr + digits, end - digits);
	int64_t count;

	if (!number_parse_i64(str_head(*rest, digits), &count))
		return false;
	while (*next < UNIT_COUNT && !str_eq(units[*next].name, name))
		++*next;
	if (*next == UNIT_COUNT || __builtin_mul_overflow(count, units[*next].ms, &count) || __builtin_add_overflow(*total, count, total))
		return false;
	++*next;
	*rest = str_skip(*rest, end);
	return true;
}

bool duration_parse(struct str s, int64_t *ms)
{
	int64_t total = 0;
	size_t next = 0;

	if (s.len && s.ptr[0] != '-' && s.ptr[0] != '+' && seconds_parse(s, ms))
		return true;
	if (!s.len)
		return false;
	while (s.len) {
		if (!unit_take(&s, &next, &total))
			return false;
	}
	*ms = total;
	return true;
}

size_t duration_format(int64_t ms, char *text)
{
	uint64_t rest = ms < 0 ? -(uint64_t)ms : (uint64_t)ms;
	size_t length = 0;

	if (ms == 0)
		return (size_t)snprintf(text, 64, "0s");
	if (ms < 0)
		text[length++] = '-';
	for (size_t i = 0; i < UNIT_COUNT && rest; i++) {
		uint64_t count = rest / (uint64_t)units[i].ms;

		if (!count || (units[i].exact_only && rest % (uint64_t)units[i].ms))
			continue;
		length += (size_t)snprintf(text + length, 64 - length, "%llu%s", (unsigned long long)count, units[i].name.ptr);
		rest %= (uint64_t)units[i].ms;
	}
	return length;
}

/* Days from 1970-01-01 in the proleptic Gregorian calendar: years start in March, so that the leap day is the last. */
static int64_t days_from_date(int64_t year, int month, int day)
{
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400, year_of_era = year - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static void date_from_days(int64_t days, int64_t *year, int *month, int *day)
{
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097, day_of_era = days - era * 146097;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t march_month = (5 * day_of_year + 2) / 153;

	*day = (int)(day_of_year - (153 * march_month + 2) / 5) + 1;
	*month = (int)(march_month < 10 ? march_month + 3 : march_month - 9);
	*year = year_of_era + era * 400 + (*month <= 2);
}

static int days_in_month(int64_t year, int month)
{
	static const char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

/* Exactly `width` digits, then `after` (0: nothing). */
static bool field_take(struct str *s, size_t width, char after, int *value)
{
	*value = 0;
	if (s->len < width + (after != 0))
		return false;
	for (size_t i = 0; i < width; i++) {
		unsigned digit = (unsigned char)s->ptr[i] - '0';

		if (digit > 9)
			return false;
		*value = *value * 10 + (int)digit;
	}
	if (after && s->ptr[width] != after)
		return false;
	*s = str_skip(*s, width + (after != 0));
	return true;
}

static bool fraction_take(struct str *s, int *ms)
{
	int scale = 100;

	*ms = 0;
	if (!s->len || *s->ptr != '.')
		return true;
	*s = str_skip(*s, 1);
	if (!s->len || *s->ptr < '0' || *s->ptr > '9')
		return false;
	for (; s->len && *s->ptr >= '0' && *s->ptr <= '9'; *s = str_skip(*s, 1)) {
		*ms += (*s->ptr - '0') * scale;
		scale /= 10;
	}
	return true;
}

static bool offset_take(struct str *s, int *minutes)
{
	int hours, rest;

	*minutes = 0;
	if (s->len == 1 && (*s->ptr == 'Z' || *s->ptr == 'z')) {
		*s = str_skip(*s, 1);
		return true;
	}
	if (!s->len || (*s->ptr != '+' && *s->ptr != '-'))
		return false;
	int sign = *s->ptr == '-' ? -1 : 1;

	*s = str_skip(*s, 1);
	if (!field_take(s, 2, ':', &hours) || !field_take(s, 2, 0, &rest) || hours > 23 || rest > 59)
		return false;
	*minutes = sign * (hours * 60 + rest);
	return s->len == 0;
}

static bool rfc3339_parse(struct str s, int64_t *ms)
{
	int year, month, day, hour, minute, second, fraction, offset;

	if (!field_take(&s, 4, '-', &year) || !field_take(&s, 2, '-', &month) || !field_take(&s, 2, 0, &day))
		return false;
	if (!s.len || (*s.ptr != 'T' && *s.ptr != 't' && *s.ptr != ' '))
		return false;
	s = str_skip(s, 1);
	if (!field_take(&s, 2, ':', &hour) || !field_take(&s, 2, ':', &minute) || !field_take(&s, 2, 0, &second))
		return false;
	if (!fraction_take(&s, &fraction) || !offset_take(&s, &offset))
		return false;
	if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 || minute > 59 || second > 59)
		return false;
	*ms = ((days_from_date(year, month, day) * 24 + hour) * 60 + minute - offset) * 60000 + second * 1000 + fraction;
	return true;
}

bool time_parse(struct str s, int64_t now_ms, int64_t *ms)
{
	int64_t age;

	if (str_is(s, "now")) {
		*ms = now_ms;
		return true;
	}
	if (seconds_parse(s, ms) || rfc3339_parse(s, ms))
		return true;
	if (!s.len || *s.ptr != '-' || !duration_parse(str_skip(s, 1), &age))
		return false;
	return !__builtin_sub_overflow(now_ms, age, ms);
}

size_t time_format(int64_t ms, char *text)
{
	enum { DAY_MS = 86400000 };
	int64_t days = ms / DAY_MS, rest = ms % DAY_MS, year;
	int month, day;

	if (rest < 0) {
		rest += DAY_MS;
		days--;
	}
	date_from_days(days, &year, &month, &day);
	int length = snprintf(text, 40, "%04lld-%02d-%02d %02d:%02d:%02d", (long long)year, month, day, (int)(rest / 3600000),
		(int)(rest / 60000 % 60), (int)(rest / 1000 % 60));

	if (rest % 1000)
		length += snprintf(text + length, (size_t)(40 - length), ".%03d", (int)(rest % 1000));
	length += snprintf(text + length, (size_t)(40 - length), "Z");
	return (size_t)length;
}
