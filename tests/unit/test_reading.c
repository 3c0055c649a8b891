/* Readings: interval arithmetic, three-valued comparison, and how they are printed. Unknown is never zero. */
#include "signals/reading.h"

#include "unit.h"

#include <math.h>

static struct reading op(char o, struct reading a, struct reading b)
{
	return reading_combine(o, &a, &b);
}

static void assert_reading(struct reading r, enum reading_kind kind, double low, double high)
{
	assert_int_equal(r.kind, kind);
	if (isinf(low))
		assert_true(isinf(r.low));
	else
		assert_true(fabs(r.low - low) <= 1e-12 * fabs(low));
	if (isinf(high))
		assert_true(isinf(r.high));
	else
		assert_true(fabs(r.high - high) <= 1e-12 * fabs(high));
}

static void test_values(void **state)
{
	assert_reading(op('+', reading_value(2), reading_value(3)), READING_VALUE, 5, 5);
	assert_reading(op('-', reading_value(2), reading_value(3)), READING_VALUE, -1, -1);
	assert_reading(op('*', reading_value(2), reading_value(3)), READING_VALUE, 6, 6);
	assert_reading(op('/', reading_value(1), reading_value(4)), READING_VALUE, 0.25, 0.25);
	assert_reading(op('m', reading_value(1), reading_value(4)), READING_VALUE, 1, 1);
	assert_reading(op('M', reading_value(1), reading_value(4)), READING_VALUE, 4, 4);
}

static void test_bounds(void **state)
{
	struct reading least = reading_bound(5, INFINITY), most = reading_bound(0, 0.3);
	assert_int_equal(least.kind, READING_AT_LEAST);
	assert_int_equal(most.kind, READING_AT_MOST);
	assert_reading(op('+', least, reading_value(1)), READING_AT_LEAST, 6, INFINITY);
	assert_reading(op('-', reading_value(10), least), READING_AT_MOST, -INFINITY, 5);
	assert_reading(op('*', most, reading_value(2)), READING_AT_MOST, 0, 0.6);
	assert_reading(op('/', reading_value(1), reading_bound(2, 4)), READING_BETWEEN, 0.25, 0.5);
	assert_reading(op('/', reading_value(1), most), READING_AT_LEAST, 1 / 0.3, INFINITY);
	assert_reading(op('*', reading_value(0), least), READING_VALUE, 0, 0);
	assert_reading(op('M', least, reading_value(7)), READING_AT_LEAST, 7, INFINITY);
}

static void test_unknown_spreads(void **state)
{
	struct reading down = reading_unknown(UNKNOWN_TARGET_DOWN, STR("refused"));
	struct reading r = op('+', reading_value(1), down);
	assert_int_equal(r.kind, READING_UNKNOWN);
	assert_int_equal(r.reason, UNKNOWN_TARGET_DOWN);
	r = op('*', reading_value(0), down); /* 0 times unknown is unknown: unknown is never zero */
	assert_int_equal(r.kind, READING_UNKNOWN);
	r = op('/', reading_value(0), reading_value(0));
	assert_int_equal(r.reason, UNKNOWN_NO_TRAFFIC);
	r = op('/', reading_value(5), reading_value(0));
	assert_int_equal(r.kind, READING_UNKNOWN);
}

/* A ratio over a reset uses the events seen, and says so. */
static void test_ratio_over_reset(void **state)
{
	struct reading a = reading_bound(90, INFINITY), b = reading_bound(100, INFINITY);
	a.over_reset = b.over_reset = true;
	a.events = 90;
	b.events = 100;
	struct reading r = reading_combine('/', &a, &b);
	assert_reading(r, READING_VALUE, 0.9, 0.9);
	assert_true(r.over_reset);
	struct reading bound = reading_bound(90, INFINITY); /* a bound by itself stays one */
	assert_reading(op('/', bound, reading_value(100)), READING_AT_LEAST, 0.9, INFINITY);
	/* So does one over time, and one over what holds a bound that rests on no events: levels of a target that is gone. */
	assert_reading(op('/', a, reading_value(60)), READING_AT_LEAST, 1.5, INFINITY);
	struct reading growth = reading_bound(-6, INFINITY), arrived;
	growth.targets_in = 2;
	growth.targets_all = 3;
	arrived = op('+', b, growth);
	assert_true(isnan(arrived.events));
	assert_reading(op('/', a, arrived), READING_AT_LEAST, 0, INFINITY);
}

static void test_compare(void **state)
{
	struct reading least = reading_bound(60, INFINITY), one = reading_value(1), most = reading_bound(0, 0.3);
	assert_int_equal(reading_compare('>', &least, &one, false), TRUTH_TRUE);
	assert_int_equal(reading_compare('>', &most, &one, false), TRUTH_FALSE);
	struct reading hundred = reading_value(100);
	assert_int_equal(reading_compare('>', &least, &hundred, false), TRUTH_UNDECIDED);
	assert_int_equal(reading_compare('<', &least, &one, false), TRUTH_FALSE);
	assert_int_equal(reading_compare('g', &one, &one, false), TRUTH_TRUE);
	assert_int_equal(reading_compare('>', &one, &one, false), TRUTH_FALSE);
	assert_int_equal(reading_compare('!', &one, &hundred, false), TRUTH_TRUE);
	struct reading unknown = reading_unknown(UNKNOWN_ABSENT, STR_EMPTY);
	assert_int_equal(reading_compare('=', &unknown, &one, false), TRUTH_UNDECIDED);
	struct reading shaky = reading_value(1.2); /* 95 % interval over the line: undecided when judged */
	shaky.has_interval = true;
	shaky.interval_low = 0.8;
	shaky.interval_high = 1.5;
	assert_int_equal(reading_compare('>', &shaky, &one, false), TRUTH_TRUE);
	assert_int_equal(reading_compare('>', &shaky, &one, true), TRUTH_UNDECIDED);
}

static void assert_print(struct reading r, const char *unit, const char *expected)
{
	struct buf b;
	buf_init(&b, 4096);
	reading_print(&r, str_from(unit), &b);
	assert_string_equal(buf_cstr(&b), expected);
	buf_fini(&b);
}

static void test_print(void **state)
{
	assert_print(reading_value(0.058), "s", "58 ms");
	assert_print(reading_value(55), "s", "55 s");
	assert_print(reading_bound(60, INFINITY), "s", ">= 60 s");
	struct reading capped = reading_bound(60, INFINITY);
	capped.share_beyond = 0.4;
	assert_print(capped, "s", "> 60 s");
	assert_print(reading_bound(0, 0.3), "s", "<= 300 ms");
	assert_print(reading_value(0.995), "ratio", "99.5 %");
	assert_print(reading_value(34359738368.0), "bytes", "32 GiB");
	assert_print(reading_value(15), "ratio_x", "15x");
	assert_print(reading_value(6), "1/s", "6/s");
	assert_print(reading_value(0), "requests", "0 requests");
	assert_print(reading_unknown(UNKNOWN_TARGET_DOWN, STR("time-out")), "requests", "unknown: target down (time-out)");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_values), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_unknown_spreads), cmocka_unit_test(test_ratio_over_reset), cmocka_unit_test(test_compare),
		cmocka_unit_test(test_print) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
