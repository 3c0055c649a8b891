#include "base/number.h"

#include "base/mem.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Reading. A decimal is w * 10^e with w below 10^19. Three ways, each correctly rounded:
 * 1. w <= 2^53 and |e| <= 22: w and 10^|e| are exact doubles, so one multiplication or division rounds once (Clinger).
 * 2. |e| <= 27: 5^27 < 2^63, so w * 5^e or w / 5^-e is computed in integers of 128 bits and rounded by hand. This is what
 *    the 16 and 17 digits of "_sum" and "_created" samples need; no table of powers.
 * 3. Anything else: strtod in the C locale. */

static const double powers_of_ten[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19, 1e20, 1e21, 1e22 };

#define POW5_4(x) (x), (x)*5, (x)*25, (x)*125
static const uint64_t powers_of_five[] = { POW5_4(1ULL), POW5_4(625ULL), POW5_4(390625ULL), POW5_4(244140625ULL), POW5_4(152587890625ULL),
	POW5_4(95367431640625ULL), POW5_4(59604644775390625ULL) };

enum { EXACT_TEN_MAX = 22, EXACT_FIVE_MAX = 27, DIGITS_MAX = 19 };
static const uint64_t exact_integer_max = 1ULL << 53;

struct decimal {
	uint64_t digits;
	int exponent;       /* value = digits * 10^exponent */
	bool negative, cut; /* cut: had more than DIGITS_MAX significant digits */
};

/* q * 2^exponent, where `sticky` tells that something below q was lost. q has at least 55 significant bits and the result
 * is a normal double. */
static double double_round(uint64_t q, bool sticky, int exponent)
{
	int shift = 11 - __builtin_clzll(q);
	uint64_t half = 1ULL << (shift - 1), rest = q & ((1ULL << shift) - 1), mantissa = q >> shift;

	if (rest > half || (rest == half && (sticky || (mantissa & 1))))
		mantissa++;
	/* A carry out of the 53 bits moves into the exponent field, as it should. */
	uint64_t biased = (uint64_t)(exponent + shift + 52 + 1023);

	return number_from_bits((biased << 52) + (mantissa - (1ULL << 52)));
}

static double decimal_exact(uint64_t digits, int exponent)
{
	int zeros = __builtin_clzll(digits);
	unsigned __int128 product;

	if (exponent >= 0) {
		product = (unsigned __int128)(digits << zeros) * powers_of_five[exponent];
		/* The top bit of the product is at 63 or above, so that the high word may be anything down to 0. */
		int high_zeros = (uint64_t)(product >> 64) ? __builtin_clzll((uint64_t)(product >> 64)) : 64;

		product <<= high_zeros;
		return double_round((uint64_t)(product >> 64), (uint64_t)product != 0, exponent - zeros - high_zeros + 64);
	}
	uint64_t divisor = powers_of_five[-exponent];
	int divisor_zeros = __builtin_clzll(divisor);

	/* Both normalised, the dividend one bit lower: the quotient has 63 or 64 bits. */
	divisor <<= divisor_zeros;
	unsigned __int128 dividend = (unsigned __int128)(digits << zeros) << 63;
	uint64_t quotient = (uint64_t)(dividend / divisor);

	return double_round(quotient, dividend != (unsigned __int128)quotient * divisor, exponent - zeros + divisor_zeros - 63);
}

static locale_t c_locale;
static void c_locale_init(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static bool decimal_slow(struct str s, double *value)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char small[128], *text = small;

	pthread_once(&once, c_locale_init);
	if (s.len < sizeof small) {
		memcpy(small, s.ptr, s.len);
		small[s.len] = '\0';
	} else {
		text = mem_copy(s.ptr, s.len);
	}
	double parsed = strtod_l(text, NULL, c_locale);

	if (text != small)
		mem_free(text);
	if (isinf(parsed))
		return false;
	*value = parsed;
	return true;
}

static bool word_parse(struct str s, bool negative, double *value)
{
	if (str_eq_nocase(s, STR("nan")))
		*value = number_nan();
	else if (str_eq_nocase(s, STR("inf")) || str_eq_nocase(s, STR("infinity")))
		*value = negative ? -INFINITY : INFINITY;
	else
		return false;
	return true;
}

/* The exponent behind 'e'. Clamped: beyond 100000 only strtod's limits matter. */
static bool exponent_parse(const char *at, const char *end, int *exponent)
{
	bool negative = at < end && *at == '-';
	int value = 0;

	if (at < end && (*at == '-' || *at == '+'))
		at++;
	if (at == end)
		return false;
	for (; at < end; at++) {
		unsigned digit = (unsigned char)*at - '0';

		if (digit > 9)
			return false;
		if (value < 100000)
			value = value * 10 + (int)digit;
	}
	*exponent = negative ? -value : value;
	return true;
}

/* Digits from `at` on into d; the first byte that is none. Leading zeros are no significant digits. */
static const char *digits_parse(const char *at, const char *end, struct decimal *d, int *significant)
{
	for (; at < end; at++) {
		unsigned digit = (unsigned char)*at - '0';

		if (digit > 9)
			break;
		if (*significant >= DIGITS_MAX) {
			d->cut = true;
			continue;
		}
		d->digits = d->digits * 10 + digit;
		*significant += d->digits != 0;
	}
	return at;
}

bool number_parse(struct str s, double *value)
{
	const char *at = s.ptr, *end = s.ptr + s.len;
	struct decimal d = { 0 };
	int significant = 0;

	if (s.len && (*at == '-' || *at == '+'))
		d.negative = *at++ == '-';
	const char *whole = at;

	at = digits_parse(at, end, &d, &significant);
	size_t count = (size_t)(at - whole);

	if (at < end && *at == '.') {
		const char *fraction = ++at;

		at = digits_parse(at, end, &d, &significant);
		count += (size_t)(at - fraction);
		d.exponent = (int)(fraction - at);
	}
	if (count == 0)
		return word_parse(str_of(whole, (size_t)(end - whole)), d.negative, value);
	if (at < end) {
		int exponent;

		if ((*at | 0x20) != 'e' || !exponent_parse(at + 1, end, &exponent))
			return false;
		d.exponent += exponent;
	}
	if (__builtin_expect(d.cut, 0))
		return decimal_slow(s, value);
	double result;

	if (d.digits <= exact_integer_max && d.exponent >= -EXACT_TEN_MAX && d.exponent <= EXACT_TEN_MAX)
		result = d.exponent < 0 ? (double)d.digits / powers_of_ten[-d.exponent] : (double)d.digits * powers_of_ten[d.exponent];
	else if (d.digits == 0)
		result = 0;
	else if (d.exponent >= -EXACT_FIVE_MAX && d.exponent <= EXACT_FIVE_MAX)
		result = decimal_exact(d.digits, d.exponent);
	else
		return decimal_slow(s, value);
	*value = d.negative ? -result : result;
	return true;
}

bool number_parse_i64(struct str s, int64_t *value)
{
	bool negative = s.len && *s.ptr == '-';
	size_t at = s.len && (*s.ptr == '-' || *s.ptr == '+');
	int64_t total = 0;

	if (at == s.len)
		return false;
	for (; at < s.len; at++) {
		unsigned digit = (unsigned char)s.ptr[at] - '0';

		/* Downwards, since INT64_MIN has no positive counterpart. */
		if (digit > 9 || __builtin_mul_overflow(total, 10, &total) || __builtin_sub_overflow(total, (int64_t)digit, &total))
			return false;
	}
	if (!negative && total == INT64_MIN)
		return false;
	*value = negative ? total : -total;
	return true;
}

/* Printing: the shortest digits first, then their layout. */

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

/* Values of at most 15 digits, some of them behind the point: then m / 10^k is the value again, and no shorter text is. */
static bool shortest_short(struct shortest *s, double v)
{
	if (v >= 1e15 || v < 1e-7)
		return false;
	for (int k = 0; k <= EXACT_TEN_MAX; k++) {
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

	if (!shortest_short(&s, v))
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
