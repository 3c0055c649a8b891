/* The stand-in's parsers and tables: releases, faults, numbers of the page, traffic. */
#include "sim/faults.h"
#include "sim/page.h"
#include "sim/traffic.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_releases(void **state)
{
	static const struct {
		const char *text, *version;
	} good[] = { { "0.6", "0.6.6" }, { "0.8.4", "0.8.5" }, { "v0.12.1", "0.11.2" }, { "0.15", "0.13.0" }, { "0.23", "0.19.0" },
		{ "0.24.0", "0.24.0" }, { "0.30", "0.27.1.dev0" }, { "latest", "0.27.1.dev0" } };
	static const char *const bad[] = { "", "0", "0.5", "0.7.3", "1.0", "0.x", "new" };
	enum mimic_release release;
	struct error e;

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_true(mimic_parse(str_from(good[i].text), &release, &e));
		assert_string_equal(mimic_version(release), good[i].version);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(mimic_parse(str_from(bad[i]), &release, &e));
}

/* Bounds rise, a family is shown once a release, and what a histogram collects has one set of bounds. */
static void test_tables(void **state)
{
	double values[MIMIC_BOUNDS_MAX];

	for (int r = 0; r < MIMIC_COUNT; r++)
		for (const struct mimic_family *f = mimic_families((enum mimic_release)r); f->name; f++) {
			int shown = 0;

			for (const struct mimic_family *g = mimic_families((enum mimic_release)r); g->name; g++)
				shown += strcmp(g->name, f->name) == 0 && mimic_shows(g, (enum mimic_release)r, ~0);
			if (mimic_shows(f, (enum mimic_release)r, ~0))
				assert_int_equal(shown, 1);
			if (f->type != MIMIC_HISTOGRAM)
				continue;
			size_t count = mimic_bounds(f, 32768, values);

			for (size_t i = 1; i < count; i++)
				assert_true(values[i] > values[i - 1]);
			assert_true(count > 0);
		}
}

static void number_is(double value, const char *text)
{
	struct buf out;

	buf_init(&out, 1000);
	page_number(value, &out);
	assert_string_equal(buf_cstr(&out), text);
	buf_fini(&out);
}

/* As prometheus_client's floatToGoString gives them. */
static void test_numbers(void **state)
{
	number_is(0, "0.0");
	number_is(675, "675.0");
	number_is(0.43125, "0.43125");
	number_is(123456, "123456.0");
	number_is(1234567, "1.234567e+06");
	number_is(39075840, "3.907584e+07");
	number_is(2097152, "2.097152e+06");
	number_is(34359738368.0, "3.4359738368e+010");
	number_is(1795972342.52, "1.79597234252e+09");
	number_is(-1, "-1.0");
	number_is(0.0001, "0.0001");
	number_is(0.00001234, "1.234e-05");
	number_is(0.00002, "2e-05");
	number_is(0.000003, "3e-06");
	number_is(1e-7, "1e-07");
	number_is(INFINITY, "+Inf");
	number_is(NAN, "NaN");
}

static void test_faults(void **state)
{
	struct fault_list list = { 0 };
	struct fault_effect x;
	struct error e = { 0 };
	struct fault f;

	assert_true(fault_parse(STR("slow:factor=3@10s+5s"), 100, &f, &e));
	assert_true(f.kind == FAULT_SLOW && f.start == 110 && f.end == 115 && f.replica == -1);
	VEC_PUSH(&list.items, f);
	assert_true(fault_parse(STR("slow:factor=2,replica=1"), 0, &f, &e));
	VEC_PUSH(&list.items, f);
	fault_effect_of(&list, 0, 112, &x);
	assert_true(x.slow == 2);
	fault_effect_of(&list, 1, 112, &x);
	assert_true(x.slow == 5); /* three times as long, twice over */
	fault_effect_of(&list, 0, 115, &x);
	assert_true(x.slow == 0);
	fault_clear(&list, FAULT_KINDS);
	assert_int_equal(list.items.count, 0);
	VEC_FREE(&list.items);

	assert_true(fault_parse(STR("stall"), 3, &f, &e) && f.start == 3 && isinf(f.end));
	assert_true(fault_parse(STR("upgrade:to=0.11,down=0.5"), 0, &f, &e) && f.release == MIMIC_0_11 && f.down == 0.5);
	assert_true(fault_parse(STR("missing-families:match=vllm:e2e"), 0, &f, &e));
	assert_string_equal(f.match, "vllm:e2e");
	static const char *const bad[] = { "", "stal", "slow:factor=0", "slow:factor", "slow:speed=3", "slow@", "slow@1s+", "upgrade",
		"upgrade:down=1", "upgrade:to=9", "missing-families", "http-500:share=2", "crash:replica=-1" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (fault_parse(str_from(bad[i]), 0, &f, &e))
			fail_msg("\"%s\" was taken", bad[i]);
}

/* At a rate: that rate, those means, and the same again with the same seed. */
static void test_traffic(void **state)
{
	struct error e = { 0 };
	struct traffic *t = traffic_new("rate=10,prompt=500,output=50,prefix=0.5,seed=3", &e), *again;
	struct traffic_request r, q;
	double prompt = 0, output = 0;

	assert_non_null(t);
	again = traffic_new("rate=10,prompt=500,output=50,prefix=0.5,seed=3", &e);
	for (int i = 0; i < 20000; i++) {
		traffic_take(t, &r);
		traffic_take(again, &q);
		assert_true(r.time == q.time && r.prompt_tokens == q.prompt_tokens && r.output_tokens == q.output_tokens);
		assert_true((uint64_t)r.id_count * r.id_tokens <= r.prompt_tokens);
		prompt += r.prompt_tokens;
		output += r.output_tokens;
	}
	assert_true(fabs(r.time / 2000 - 1) < 0.03);
	assert_true(fabs(prompt / 20000 / 500 - 1) < 0.03 && fabs(output / 20000 / 50 - 1) < 0.03);
	traffic_free(t);
	traffic_free(again);
	assert_null(traffic_new("rate=0", &e));
	assert_null(traffic_new("prompt=3", &e));
	assert_null(traffic_new("rate=1,colour=red", &e));
	assert_null(traffic_new("/nonexistent", &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_releases), cmocka_unit_test(test_tables), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_faults), cmocka_unit_test(test_traffic) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
