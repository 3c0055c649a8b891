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
	if (!s.len)
		return false;
	const char *at = s.ptr, *end = s.ptr + s.len;
	struct decimal d = { 0 };
	int significant = 0;

	if (*at == '-' || *at == '+')
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
