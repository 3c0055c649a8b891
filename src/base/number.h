/* number: reading and printing doubles. */
#ifndef GOODPUT_BASE_NUMBER_H
#define GOODPUT_BASE_NUMBER_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* The two NaNs of Prometheus. Compare by bits. */
#define NUMBER_NAN_BITS 0x7ff8000000000001ULL
#define NUMBER_STALE_BITS 0x7ff0000000000002ULL

static inline uint64_t number_bits(double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof bits);
	return bits;
}
static inline double number_from_bits(uint64_t bits)
{
	double v;
	memcpy(&v, &bits, sizeof v);
	return v;
}
static inline double number_nan(void)
{
	return number_from_bits(NUMBER_NAN_BITS);
}
static inline double number_stale(void)
{
	return number_from_bits(NUMBER_STALE_BITS);
}
static inline bool number_is_stale(double v)
{
	return number_bits(v) == NUMBER_STALE_BITS;
}

/* Reads the whole slice as a decimal floating number ("1", "-1.5e+010", "NaN", "-nan", "+Inf", "infinity", any case),
 * correctly rounded. Hexadecimal forms, '_', blanks, empty text and numbers beyond the largest double are refused.
 * Fast path for short decimals. */
bool number_parse(struct str s, double *value);
/* Whole slice as a decimal integer with optional sign. */
bool number_parse_i64(struct str s, int64_t *value);

enum { NUMBER_TEXT_MAX = 400 };
/* Shortest text that reads back. Exponent form below 1e-6 (1e-07) and from 1e21, as Prometheus's API prints it; NaN,
 * +Inf, -Inf. Returns the length; `text` needs 32 bytes. */
size_t number_format(double value, char *text);
/* Never an exponent (Go 'f', -1): 1e30 is 31 digits. Needs NUMBER_TEXT_MAX bytes. */
size_t number_format_plain(double value, char *text);

#endif
