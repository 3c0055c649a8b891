#include "base/number.h"

#include "base/mem.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t random_state = 0x9e3779b97f4a7c15;

/* xorshift64*: the same numbers in every run. */
static uint64_t random_next(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1dULL;
}

static void assert_parses_as_strtod(const char *text)
{
	double value = -1, expected = strtod(text, NULL);

	if (!number_parse(str_from(text), &value))
		fail_msg("\"%s\" was refused", text);
	if (number_bits(value) != number_bits(expected))
		fail_msg("\"%s\" is %.17g, not %.17g", text, value, expected);
}

static void parse_accepts(void **state)
{
	static const char *const texts[] = { "0", "-0", "0.0", "1", "-1.5e+010", "1e+010", ".5", "5.", "+7", "1E5", "1e-5", "00012.50",
		"1e22", "1e23", "9007199254740993", "9007199254740992.5", "9007199254740993e1", "18446744073709551615",
		"9999999999999999999", "99999999999999999999", "0.1", "0.30000000000000004", "1.7976931348623157e308",
		"2.2250738585072014e-308", "5e-324", "2.4703282292062327e-324", "1e-400", "0e99999999999", "1.7151234567891234e+09",
		"12.345678901234567", "0.000000000000000000000000000000000001", "123456789012345678901234567890", "8.5e-27", "1e27",
		"9223372036854775807e-27" };
	double value;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_parses_as_strtod(texts[i]);
	char many[3000] = "0.";

	memset(many + 2, '3', 2900);
	assert_parses_as_strtod(many);
	assert_true(number_parse(STR("NaN"), &value) && number_bits(value) == NUMBER_NAN_BITS);
	assert_true(number_parse(STR("-nan"), &value) && number_bits(value) == NUMBER_NAN_BITS);
	assert_true(number_parse(STR("+Inf"), &value) && value == INFINITY);
	assert_true(number_parse(STR("-inf"), &value) && value == -INFINITY);
	assert_true(number_parse(STR("Infinity"), &value) && value == INFINITY);
	assert_false(number_is_stale(number_nan()));
	assert_true(number_is_stale(number_stale()) && isnan(number_stale()));
}

static void parse_refuses(void **state)
{
	static const char *const texts[] = { "", " ", " 1", "1 ", "+", "-", ".", "e5", ".e5", "1e", "1e+", "1e5.5", "0x10", "0x1p3",
		"1_000", "1p3", "1,5", "1.2.3", "--1", "+-1", "nanx", "na", "in", "infinit", "1f", "1e400", "-1e309", "nan(1)",
		"\xd9\xa1" };
	double value = 42;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (number_parse(str_from(texts[i]), &value))
			fail_msg("\"%s\" was accepted", texts[i]);
	}
	assert_false(number_parse(STR_EMPTY, &value));
	assert_false(number_parse(STR("1\0"), &value));
	assert_true(value == 42);
	/* Reads nothing behind the slice. */
	assert_true(number_parse(str_of("12345", 2), &value) && value == 12);
	assert_true(number_parse(str_of("1e55", 3), &value) && value == 1e5);
}

static void parse_integers(void **state)
{
	static const char *const bad[] = { "", "-", "+", "1.0", "9223372036854775808", "-9223372036854775809", "1 ", "0x1",
		"99999999999999999999" };
	int64_t value;

	assert_true(number_parse_i64(STR("-9223372036854775808"), &value) && value == INT64_MIN);
	assert_true(number_parse_i64(STR("9223372036854775807"), &value) && value == INT64_MAX);
	assert_true(number_parse_i64(STR("+007"), &value) && value == 7);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(number_parse_i64(str_from(bad[i]), &value));
}

static void format_style(void **state)
{
	static const struct {
		double value;
		const char *text, *plain;
	} cases[] = {
		{ 0, "0", "0" },
		{ -0.0, "-0", "-0" },
		{ 1, "1", "1" },
		{ -1.5, "-1.5", "-1.5" },
		{ 0.1, "0.1", "0.1" },
		{ 1e-6, "0.000001", "0.000001" },
		{ 1e-7, "1e-07", "0.0000001" },
		{ 1.25e-7, "1.25e-07", "0.000000125" },
		{ 1e15, "1000000000000000", "1000000000000000" },
		{ 1e20, "100000000000000000000", "100000000000000000000" },
		{ 1e21, "1e+21", "1000000000000000000000" },
		{ 1e30, "1e+30", "1000000000000000000000000000000" },
		{ 1e100, "1e+100", NULL },
		{ 5e-324, "5e-324", NULL },
		{ 1.7976931348623157e308, "1.7976931348623157e+308", NULL },
		{ 0.30000000000000004, "0.30000000000000004", "0.30000000000000004" },
		{ 9007199254740992, "9007199254740992", "9007199254740992" },
		{ 1715123456.7891233, "1715123456.7891233", "1715123456.7891233" },
		{ INFINITY, "+Inf", "+Inf" },
		{ -INFINITY, "-Inf", "-Inf" },
		{ NAN, "NaN", "NaN" },
		{ 0x1p-44, "5.684341886080802e-14", NULL },
		{ 686133956822615.25, "686133956822615.2", "686133956822615.2" },
	};
	char text[NUMBER_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(number_format(cases[i].value, text), strlen(cases[i].text));
		assert_string_equal(text, cases[i].text);
		if (!cases[i].plain)
			continue;
		assert_int_equal(number_format_plain(cases[i].value, text), strlen(cases[i].plain));
		assert_string_equal(text, cases[i].plain);
	}
	assert_int_equal(number_format_plain(-5e-324, text), 327);
	assert_int_equal(number_format_plain(-1.7976931348623157e308, text), 310);
}

static size_t significant_digits(const char *text)
{
	size_t digits = 0, zeros = 0;

	for (; *text && *text != 'e'; text++) {
		if (*text < '0' || *text > '9' || (!digits && *text == '0'))
			continue;
		digits++;
		zeros = *text == '0' ? zeros + 1 : 0;
	}
	return digits - zeros;
}

/* Reads back exactly, fits its 32 bytes, and one digit fewer (printf's nearest) would not read back. */
static void assert_round_trip(double value)
{
	char text[NUMBER_TEXT_MAX], shorter[40];
	double back;
	size_t length = number_format(value, text);

	if (length >= 32 || !number_parse(str_of(text, length), &back) || number_bits(back) != number_bits(value))
		fail_msg("%.17g prints as %s", value, text);
	size_t digits = significant_digits(text);

	if (digits > 1) {
		snprintf(shorter, sizeof shorter, "%.*e", (int)digits - 2, value);
		if (strtod(shorter, NULL) == value)
			fail_msg("%.17g prints as %s, though %s reads back", value, text, shorter);
	}
}

static void round_trip_any_bits(void **state)
{
	char text[NUMBER_TEXT_MAX];

	for (int i = 0; i < 1000000; i++) {
		double value = number_from_bits(random_next());

		if (!isfinite(value))
			continue;
		snprintf(text, sizeof text, "%.*g", 1 + (int)(random_next() % 20), value);
		if (!isinf(strtod(text, NULL)))
			assert_parses_as_strtod(text);
		if (i % 8 == 0)
			assert_round_trip(value);
	}
}

/* What metrics look like: 1e-9 to 1e18, any number of digits. */
static void round_trip_usual(void **state)
{
	char text[NUMBER_TEXT_MAX];

	for (int i = 0; i < 1000000; i++) {
		double unit = (double)(random_next() >> 11) * 0x1p-53, value = unit * pow(10, (double)(random_next() % 28) - 9);

		snprintf(text, sizeof text, i % 2 ? "%.*f" : "%.*e", (int)(random_next() % 19), value);
		assert_parses_as_strtod(text);
		if (i % 4 == 0)
			assert_round_trip(value);
		if (i % 4 == 1)
			assert_round_trip(strtod(text, NULL));
	}
}

/* Halfway between two doubles and just beside: what wrong rounding gets wrong. */
static void parse_halfway(void **state)
{
	char text[NUMBER_TEXT_MAX];

	for (int i = 0; i < 300000; i++) {
		uint64_t mantissa = (1ULL << 53) + (random_next() >> 12) * 2 + 1; /* 54 bits: a tie, exact in 17 digits */

		for (int64_t beside = -1; beside <= 1; beside++) {
			snprintf(text, sizeof text, "%llu%s", (unsigned long long)(mantissa * 2 + (uint64_t)beside), i % 2 ? ".0" : "e0");
			assert_parses_as_strtod(text);
		}
		snprintf(text, sizeof text, "%.*e", 18, ldexp((double)(mantissa >> 1), -(int)(random_next() % 90)));
		assert_parses_as_strtod(text);
	}
}

static void round_trip_edges(void **state)
{
	for (int exponent = -1074; exponent < 1024; exponent++) {
		double value = ldexp(1, exponent);

		assert_round_trip(value);
		assert_round_trip(nextafter(value, 0));
		assert_round_trip(nextafter(value, INFINITY));
	}
	for (int exponent = -323; exponent <= 308; exponent++) {
		double value = pow(10, exponent);

		assert_round_trip(value);
		assert_round_trip(nextafter(value, 0));
		assert_round_trip(nextafter(value, INFINITY));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_accepts),
		cmocka_unit_test(parse_refuses),
		cmocka_unit_test(parse_integers),
		cmocka_unit_test(format_style),
		cmocka_unit_test(round_trip_any_bits),
		cmocka_unit_test(round_trip_usual),
		cmocka_unit_test(parse_halfway),
		cmocka_unit_test(round_trip_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
