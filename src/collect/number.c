/* Numbers as prometheus_client's floatToGoString prints them: Python's repr, with an exponent of its own from a million up. */
#include "base/number.h"
#include "collect/internal.h"

#include <math.h>
#include <stdio.h>

static size_t number_copy(const char *from, char *text)
{
	size_t len = strlen(from);

	memcpy(text, from, len + 1);
	return len;
}

/* "12345", with the point behind the first digit: "1.2345". */
static size_t mantissa(const char *digits, size_t count, char *text)
{
	size_t len = 0;

	while (count > 1 && digits[count - 1] == '0')
		count--;
	text[len++] = digits[0];
	if (count > 1) {
		text[len++] = '.';
		memcpy(text + len, digits + 1, count - 1);
		len += count - 1;
	}
	return len;
}

/* Below 1e-4 repr has an exponent: "0.00001234" is 1.234e-05. */
static size_t number_small(const char *plain, size_t plain_len, char *text)
{
	size_t zeros = 0, len;

	plain += 2;
	plain_len -= 2;
	while (plain[zeros] == '0')
		zeros++;
	len = mantissa(plain + zeros, plain_len - zeros, text);
	return len + (size_t)snprintf(text + len, 8, "e-%02zu", zeros + 1);
}

/* All digits, the point left out. */
static size_t number_large(const char *plain, size_t plain_len, size_t whole, const char *exponent, char *text)
{
	char digits[NUMBER_TEXT_MAX];
	size_t count = whole, len;

	memcpy(digits, plain, whole);
	if (plain_len > whole + 1) {
		memcpy(digits + whole, plain + whole + 1, plain_len - whole - 1);
		count += plain_len - whole - 1;
	}
	len = mantissa(digits, count, text);
	return len + (size_t)snprintf(text + len, 8, exponent, whole - 1);
}

/* Most values of a page: below a million, with three decimals at most. Of at most 15 digits no two texts read as one number, so this text,
 * without the zeros behind it, is the shortest. 0: `value` is another one. */
static size_t number_common(double value, char *text)
{
	if (!(value >= 0 && value < 1e6) || signbit(value))
		return 0;
	uint32_t thousandths = (uint32_t)(value * 1000 + 0.5), whole = thousandths / 1000, rest = thousandths % 1000;
	size_t len = whole < 10 ? 1 : whole < 100 ? 2 : whole < 1000 ? 3 : whole < 10000 ? 4 : whole < 100000 ? 5 : 6;

	if ((double)thousandths / 1000 != value)
		return 0;
	for (size_t i = len; i--; whole /= 10)
		text[i] = (char)('0' + whole % 10);
	text[len++] = '.';
	do {
		text[len++] = (char)('0' + rest / 100);
		rest = rest % 100 * 10;
	} while (rest);
	text[len] = '\0';
	return len;
}

size_t collect_number(double value, bool as_016, char *text)
{
	char plain[NUMBER_TEXT_MAX];
	size_t common = number_common(value, text);
	double size = fabs(value);

	if (common)
		return common;
	if (!isfinite(value))
		return number_copy(isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf", text);
	size_t len = number_format_plain(size, plain), sign = signbit(value) != 0, whole = 0;

	if (sign)
		*text++ = '-';
	if (size != 0 && size < 1e-4)
		return sign + number_small(plain, len, text);
	while (whole < len && plain[whole] != '.')
		whole++;
	if (size >= 1e16)
		return sign + number_large(plain, len, whole, "e+%02zu", text);
	if (!sign && whole > 6)
		return sign + number_large(plain, len, whole, as_016 ? "e+0%zu" : "e+%02zu", text);
	memcpy(text, plain, len);
	if (whole == len) {
		memcpy(text + len, ".0", 2);
		len += 2;
	}
	text[len] = '\0';
	return sign + len;
}
