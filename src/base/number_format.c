#include "base/number.h"

#include <math.h>
#include <stdio.h>

enum { DECIMALS_MAX = 22 };

/* The shortest digits first, then their layout. printf is used only for the digits of values that need more than 15. */

struct shortest {
	char digits[24];
	int count;
	int point; /* value = 0.DIGITS * 10^point */
};

static void shortest_from_u64(struct shortest *s, uint64_t integer, int exponent)
{
	char text[24], *at = text + sizeof text;

	while (integer % 10 == 0) {
		integer /= 10;
		exponent++;
	}
	for (; integer; integer /= 10)
		*--at = (char)('0' + integer % 10);
	s->count = (int)(text + sizeof text - at);
	memcpy(s->digits, at, (size_t)s->count);
	s->point = s->count + exponent;
}

static const double powers_of_ten[DECIMALS_MAX + 1] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
	1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* Values of at most 15 digits, some of them behind the point: then m / 10^k is the value again, and no shorter text is. */
static bool shortest_short(struct shortest *s, double v)
{
	if (v >= 1e15 || v < 1e-7)
		return false;
	for (int k = 0; k <= DECIMALS_MAX; k++) {
		double scaled = v * powers_of_ten[k];

		if (scaled >= 1e15)
			return false;
		uint64_t m = (uint64_t)(scaled + 0.5);

		if ((double)m / powers_of_ten[k] == v) {
			shortest_from_u64(s, m, -k);
			return true;
		}
	}
	return false;
}

/* v = mantissa * 2^-shift, and v * 10^k fits 126 bits for the k that makes it an integer of 17 digits: exact arithmetic. */
static const double exact_least = 1e-5, exact_most = 1e15;

static unsigned __int128 power_of_ten_u128(int k)
{
	return k <= 19 ? (unsigned __int128)(uint64_t)powers_of_ten[k]
		       : (unsigned __int128)(uint64_t)1e19 * (uint64_t)powers_of_ten[k - 19];
}

/* v rounded to k decimals, as an integer. True when that reads back, that is when it lies within half a unit of v's last place;
 * below a power of two that unit is half as large. */
static bool decimals_read_back(double v, int k, uint64_t *digits)
{
	uint64_t bits = number_bits(v), fraction = bits & ((1ULL << 52) - 1);
	int shift = 1075 - (int)(bits >> 52);
	unsigned __int128 ten = power_of_ten_u128(k), scaled = (fraction | 1ULL << 52) * ten;
	unsigned __int128 half = (unsigned __int128)1 << (shift - 1);

	*digits = (uint64_t)((scaled + half) >> shift);
	if ((*digits & 1) && (scaled & (2 * half - 1)) == half)
		--*digits; /* a tie goes to even, as printf and Go have it */
	unsigned __int128 back = (unsigned __int128)*digits << shift;

	if (back >= scaled)
		return (back - scaled) * 2 < ten || ((back - scaled) * 2 == ten && fraction % 2 == 0);
	unsigned __int128 below = (scaled - back) * (fraction ? 2 : 4);

	return below < ten || (below == ten && fraction % 2 == 0);
}

/* 16 or 17 digits, given that 15 are not enough. */
static bool shortest_exact(struct shortest *s, double v)
{
	uint64_t digits;
	int k = 15;

	if (v < exact_least || v >= exact_most)
		return false;
	for (int i = 1; i < 15 && v >= powers_of_ten[i]; i++)
		k--;
	for (int i = 1; i <= 5 && v * powers_of_ten[i] < 10; i++)
		k++;
	while (!decimals_read_back(v, k, &digits))
		k++;
	shortest_from_u64(s, digits, -k);
	return true;
}

static void shortest_from_exponent_form(struct shortest *s, const char *text)
{
	const char *e = strchr(text, 'e');
	int64_t exponent = 0;

	s->count = 0;
	for (const char *at = text; at < e; at++) {
		if (*at >= '0' && *at <= '9')
			s->digits[s->count++] = *at;
	}
	while (s->count > 1 && s->digits[s->count - 1] == '0')
		s->count--;
	number_parse_i64(str_from(e + 1), &exponent);
	s->point = (int)exponent + 1;
}

static bool digits_read_back(const char *text, double v)
{
	double back;

	return number_parse(str_from(text), &back) && back == v;
}

/* At a power of two the interval that reads back is twice as wide above as below, so the nearest text of 16 digits may
 * miss it where the next one above does not. */
static bool next_above_reads_back(char *text, double v)
{
	char *at = strchr(text, 'e');

	while (at-- > text) {
		if (*at == '.')
			continue;
		if (*at != '9') {
			++*at;
			return digits_read_back(text, v);
		}
		*at = '0';
	}
	return false;
}

/* From 15 digits on for a normal number, since any shorter text that reads back is its %.14e with zeros at the end. A
 * subnormal has fewer bits. */
static void shortest_search(struct shortest *s, double v)
{
	bool subnormal = v < 0x1p-1022, power_of_two = (number_bits(v) & ((1ULL << 52) - 1)) == 0;
	char text[40];

	for (int digits = subnormal ? 1 : 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*e", digits - 1, v);
		if (digits == 17 || digits_read_back(text, v) || (power_of_two && next_above_reads_back(text, v)))
			break;
	}
	shortest_from_exponent_form(s, text);
}

static size_t format_special(double v, char *text)
{
	const char *word = isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf";

	memcpy(text, word, strlen(word) + 1);
	return strlen(word);
}

static size_t layout_plain(const struct shortest *s, char *text)
{
	char *at = text;

	if (s->point <= 0) {
		*at++ = '0';
		*at++ = '.';
		memset(at, '0', (size_t)-s->point);
		at += -s->point;
	}
	for (int i = 0; i < s->count; i++) {
		if (i == s->point && i > 0)
			*at++ = '.';
		*at++ = s->digits[i];
	}
	if (s->point > s->count) {
		memset(at, '0', (size_t)(s->point - s->count));
		at += s->point - s->count;
	}
	*at = '\0';
	return (size_t)(at - text);
}

static size_t layout_exponent(const struct shortest *s, char *text)
{
	char *at = text;

	*at++ = s->digits[0];
	if (s->count > 1) {
		*at++ = '.';
		memcpy(at, s->digits + 1, (size_t)s->count - 1);
		at += s->count - 1;
	}
	at += snprintf(at, 8, "e%+03d", s->point - 1);
	return (size_t)(at - text);
}

static size_t format_integer(uint64_t integer, char *text)
{
	char reversed[24];
	size_t count = 0;

	do {
		reversed[count++] = (char)('0' + integer % 10);
		integer /= 10;
	} while (integer);
	for (size_t i = 0; i < count; i++)
		text[i] = reversed[count - 1 - i];
	text[count] = '\0';
	return count;
}

static size_t format(double value, char *text, bool exponent_allowed)
{
	if (!isfinite(value))
		return format_special(value, text);
	size_t sign = signbit(value) != 0;

	if (sign)
		*text++ = '-';
	double v = fabs(value);

	if (v < 1e15 && v == (double)(uint64_t)v)
		return sign + format_integer((uint64_t)v, text);
	struct shortest s;

	if (!shortest_short(&s, v) && !shortest_exact(&s, v))
		shortest_search(&s, v);
	bool exponent = exponent_allowed && (v < 1e-6 || v >= 1e21);

	return sign + (exponent ? layout_exponent(&s, text) : layout_plain(&s, text));
}

size_t number_format(double value, char *text)
{
	return format(value, text, true);
}

size_t number_format_plain(double value, char *text)
{
	return format(value, text, false);
}
