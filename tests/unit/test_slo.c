/* Objectives, judgement, percentiles and intervals: against closed forms, tables and brute force. */
#include "slo/slo.h"
#include "slo/tally.h"
#include "unit.h"

#include <math.h>

static void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%.15g is not %.15g", value, expected);
}

/* ---- special functions ---- */

static double binomial_by_sum(size_t k, size_t n, double p)
{
	double sum = 0, term = pow(1 - p, (double)n);

	for (size_t i = 0; i <= k; i++) {
		sum += term;
		term *= (double)(n - i) / (double)(i + 1) * p / (1 - p);
	}
	return sum;
}

static void test_binomial(void **state)
{
	for (size_t n = 1; n <= 60; n++)
		for (size_t k = 0; k < n; k++)
			for (double p = 0.05; p < 1; p += 0.15)
				assert_near(binomial_cdf(k, n, p), binomial_by_sum(k, n, p), 1e-11);
	assert_near(binomial_cdf(5, 5, 0.3), 1, 0);
	assert_near(binomial_cdf(989, 1000, 0.99), 1 - binomial_by_sum(10, 1000, 0.01), 1e-9);
}

static void test_normal_and_student(void **state)
{
	assert_near(normal_quantile(0.975), 1.959963984540054, 1e-9);
	assert_near(normal_quantile(0.5), 0, 1e-9);
	assert_near(normal_cdf(normal_quantile(0.001)), 0.001, 1e-12);
	/* closed forms: one degree is Cauchy's, two have 2p - 1 over a root */
	assert_near(student_quantile(0.975, 1), tan(M_PI * 0.475), 1e-7);
	assert_near(student_quantile(0.975, 2), 0.95 * sqrt(2 / (1 - 0.95 * 0.95)), 1e-8);
	assert_near(student_quantile(0.975, 10), 2.2281388519649385, 1e-8);
	assert_near(student_quantile(0.05, 4), -2.131846786326649, 1e-8);
}

/* ---- quantiles ---- */

static void test_linear_quantiles(void **state)
{
	const double v[] = { 1, 2, 3, 4, 10 };

	assert_near(quantile_linear(v, 5, 0), 1, 0);
	assert_near(quantile_linear(v, 5, 1), 10, 0);
	assert_near(quantile_linear(v, 5, 0.5), 3, 0);
	assert_near(quantile_linear(v, 5, 0.9), 7.6, 1e-12); /* numpy.percentile([1,2,3,4,10], 90) */
	assert_near(quantile_linear(v, 1, 0.99), 1, 0);
	assert_true(isnan(quantile_linear(v, 0, 0.5)));
	assert_near(quantile_nearest(v, 5, 0.6), 3, 0);
	assert_near(quantile_nearest(v, 5, 0.61), 4, 0);
	assert_near(quantile_nearest(v, 5, 0), 1, 0);
}

/* The ranks that the field's notes list; 0: no upper bound at that n. */
static void test_rank_table(void **state)
{
	static const struct {
		size_t n, ranks[4][2];
	} table[] = {
		{ 20, { { 6, 15 }, { 15, 0 }, { 17, 0 }, { 19, 0 } } },
		{ 100, { { 40, 61 }, { 84, 96 }, { 90, 100 }, { 97, 0 } } },
		{ 200, { { 86, 115 }, { 171, 189 }, { 184, 197 }, { 195, 0 } } },
		{ 500, { { 228, 273 }, { 436, 464 }, { 465, 485 }, { 490, 500 } } },
		{ 1000, { { 469, 532 }, { 881, 919 }, { 936, 964 }, { 983, 997 } } },
		{ 10000, { { 4902, 5099 }, { 8941, 9059 }, { 9457, 9543 }, { 9880, 9920 } } },
	};
	static const double q[] = { 0.5, 0.9, 0.95, 0.99 };

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		for (int k = 0; k < 4; k++) {
			struct rank_interval r = quantile_ranks(table[i].n, q[k], 0.95);

			assert_int_equal(r.low, table[i].ranks[k][0]);
			assert_int_equal(r.high, table[i].ranks[k][1] ? table[i].ranks[k][1] : table[i].n + 1);
		}
}

/* For every n the ranks are the innermost that keep both tails, by summing the distribution. */
static void test_ranks_by_brute_force(void **state)
{
	for (size_t n = 1; n <= 80; n += 3)
		for (double q = 0.1; q < 1; q += 0.2) {
			struct rank_interval r = quantile_ranks(n, q, 0.9);
			size_t low = 0, high = 1;

			while (low < n && binomial_by_sum(low, n, q) <= 0.05)
				low++;
			while (high <= n && binomial_by_sum(high - 1, n, q) < 0.95)
				high++;
			assert_int_equal(r.low, low);
			assert_int_equal(r.high, high);
		}
}

static void test_estimates(void **state)
{
	const double v[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct estimate e = mean_estimate(v, 8, 0.95);

	assert_near(e.value, 5, 1e-12);
	assert_near(e.high - e.value, 2.364624251592785 * sqrt(32.0 / 7 / 8), 1e-8);
	e = quantile_estimate(v, 8, 0.99, 0.95);
	assert_true(isnan(e.high) && !isnan(e.low)); /* eight values say nothing above about a P99 */
	/* Wilson, from the notes */
	e = share_estimate(95, 100, 0.95);
	assert_near(e.low, 0.8883, 6e-5);
	assert_near(e.high, 0.9785, 5e-5);
	e = share_estimate(990, 1000, 0.95);
	assert_near(e.low, 0.9817, 5e-5);
	assert_near(e.high, 0.9946, 5e-5);
	e = share_estimate(100, 100, 0.95);
	assert_near(e.low, 0.9630, 5e-5);
	assert_near(e.high, 1, 0);
	e = share_estimate(0, 50, 0.95);
	assert_near(e.low, 0, 0);
	assert_near(e.high, 0.0714, 6e-5);
}

/* MLPerf's early stopping, none and one over the limit. */
static void test_samples_needed(void **state)
{
	static const struct {
		double q;
		size_t none, one;
	} table[] = { { 0.5, 7, 11 }, { 0.75, 17, 24 }, { 0.8, 21, 31 }, { 0.9, 44, 64 }, { 0.95, 90, 130 }, { 0.97, 152, 219 },
		{ 0.99, 459, 662 }, { 0.999, 4603, 6636 } };

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		assert_int_equal(samples_needed(0, table[i].q, 0.99), table[i].none);
		assert_int_equal(samples_needed(1, table[i].q, 0.99), table[i].one);
	}
	assert_true(samples_needed(77, 0.99, 0.99) <= 10000 && samples_needed(78, 0.99, 0.99) > 10000);
}

/* ---- objectives ---- */

static void test_parse(void **state)
{
	struct slo_set set;
	struct error e;

	slo_set_init(&set);
	assert_true(slo_set_parse(&set, STR("ttft:500 tpot:50 e2el:5000"), &e));
	assert_true(slo_set_parse(&set, STR("batch/e2e:60000,batch/ttft:9000.5"), &e));
	assert_near(set.general.limit_ms[SLO_E2E], 5000, 0);
	assert_near(slo_of(&set, STR("batch"))->limit_ms[SLO_TTFT], 9000.5, 0);
	assert_true(isnan(slo_of(&set, STR("batch"))->limit_ms[SLO_TPOT]));
	assert_ptr_equal(slo_of(&set, STR("other")), &set.general);
	static const char *const wrong[] = { "ttft", "ttft:", "ttft:x", "ttft:0", "ttft:-1", "itl:5", ":5", "ttft:nan", "e2e:1", "p/:3" };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_false(slo_set_parse(&set, str_from(wrong[i]), &e));
	assert_int_equal(e.status, EXIT_USAGE);
	assert_true(e.hint[0]);
}

static struct timeline request(double ttft_ms, double e2e_ms, uint32_t tokens)
{
	struct timeline t;

	timeline_init(&t);
	t.submitted_ns = 1000000000;
	t.first_output_ns = t.submitted_ns + llround(ttft_ms * 1e6);
	t.last_output_ns = t.completed_ns = t.closed_ns = t.submitted_ns + llround(e2e_ms * 1e6);
	t.output_tokens = tokens;
	t.basis = TOKENS_USAGE;
	return t;
}

static void test_judgement(void **state)
{
	struct slo slo = { { 500, 50, 5000, NAN } };
	struct timeline t = request(500, 5000, 91);
	struct slo_judgement j = slo_judge(&slo, &t);

	assert_int_equal(j.verdict, SLO_GOOD); /* a value equal to the limit meets it */
	t = request(501, 5000.5, 91);
	j = slo_judge(&slo, &t);
	assert_int_equal(j.missed, 1 << SLO_TTFT | 1 << SLO_E2E);
	assert_int_equal(j.binding, SLO_TTFT); /* 0.2 % against 0.01 % */
	t = request(400, 400, 1);
	j = slo_judge(&slo, &t);
	assert_true(j.verdict == SLO_GOOD && j.tpot_undefined);
	t = request(100, 200, 10);
	t.intended_ns = 0; /* one second late in the client: it counts */
	assert_int_equal(slo_judge(&slo, &t).binding, SLO_TTFT);
	t = request(100, 200, 10);
	t.first_output_ns = t.last_output_ns = TIMELINE_NEVER;
	t.outcome = TIMELINE_OK_EMPTY;
	assert_int_equal(slo_judge(&slo, &t).missed, 1 << SLO_TTFT);
	t.outcome = TIMELINE_ERROR;
	t.error = TIMELINE_RESET;
	j = slo_judge(&slo, &t);
	assert_true(j.verdict == SLO_FAILED && j.binding == -1);
	t.outcome = TIMELINE_UNSENT;
	assert_int_equal(slo_judge(&slo, &t).verdict, SLO_FAILED);
	t.outcome = TIMELINE_CANCELLED;
	assert_int_equal(slo_judge(&slo, &t).verdict, SLO_LEFT_OUT);
}

static void test_stall_limit(void **state)
{
	struct slo slo = { { NAN, NAN, NAN, 300 } };
	struct timeline t = request(100, 1000, 4);

	deliveries_reset(&t.deliveries, t.submitted_ns);
	deliveries_add(&t.deliveries, t.submitted_ns + 100000000, 1);
	deliveries_add(&t.deliveries, t.submitted_ns + 400000000, 1);
	assert_int_equal(slo_judge(&slo, &t).verdict, SLO_GOOD);
	deliveries_add(&t.deliveries, t.submitted_ns + 700010000, 1);
	assert_int_equal(slo_judge(&slo, &t).binding, SLO_STALL);
	timeline_fini(&t);
}

/* ---- tallies ---- */

static void test_tally(void **state)
{
	struct slo_set set;
	struct tally all;
	struct tally_options o = { .slo = &set, .window_s = 10 };

	slo_set_init(&set);
	set.general = (struct slo){ { 500, 50, 5000, NAN } };
	tally_init(&all);
	for (int i = 0; i < 60; i++) {
		struct timeline t = request(i < 40 ? 600 : 200, 1000, 20);

		if (i == 59) {
			t.outcome = TIMELINE_ERROR;
			t.error = TIMELINE_HTTP_5XX;
			t.http_status = 503;
			t.attempts = 3;
		}
		if (i == 58)
			t.warmup = true;
		tally_add(&all, &t, &o);
	}
	tally_finish(&all, 10);
	assert_int_equal(all.total, 60);
	assert_int_equal(all.judged, 59);
	assert_int_equal(all.complete, 58);
	assert_int_equal(all.good, 18);
	assert_int_equal(all.missed[SLO_TTFT], 40);
	assert_int_equal(all.binding, SLO_TTFT);
	assert_int_equal(all.errors.count, 1);
	assert_int_equal(all.errors.items[0].http_status, 503);
	assert_int_equal(all.attempts, 62);
	assert_near(tally_goodput(&all), 1.8, 1e-12);
	assert_near(tally_throughput(&all), 5.8, 1e-12);
	assert_near(tally_output_rate(&all), 116, 1e-12);
	assert_near(tally_attainment(&all).value, 18.0 / 59, 1e-12);
	assert_near(tally_cost_per_1000(&all, 3600), 10.0 / 18 * 1000, 1e-9);
	assert_near(tally_figure(&all, TALLY_TTFT, 0.5, 0.95).value, 600, 1e-9);
	assert_near(tally_figure(&all, TALLY_TPOT, 0, 0.95).value, 400.0 / 19, 1e-9);
	tally_fini(&all);
}

/* Absolute stalls, and gaps that are long only for the stream's own pace. */
/* What is cut off at the end of a run is of the window only where it was due inside of it: a sweep counts it as due. */
static void test_cancelled_in_the_window(void **state)
{
	struct tally_options o = { .window_s = 10 };
	struct timeline t = request(100, 200, 10);
	struct tally all;

	tally_init(&all);
	t.outcome = TIMELINE_CANCELLED;
	tally_add(&all, &t, &o);
	t.warmup = true;
	tally_add(&all, &t, &o);
	tally_finish(&all, 10);
	assert_int_equal(all.left_out, 2);
	assert_int_equal(all.cancelled, 1);
	tally_fini(&all);
}

static void test_stalls(void **state)
{
	struct timeline t = request(0, 3000, 12);
	struct tally all;
	struct tally_options o = { .window_s = NAN };
	int64_t at = t.submitted_ns;

	deliveries_reset(&t.deliveries, at);
	for (int i = 0; i < 12; i++) {
		at += i == 6 ? 150000000 : i == 9 ? 501000000 : 10000000;
		deliveries_add(&t.deliveries, at, 1);
	}
	tally_init(&all);
	tally_add(&all, &t, &o);
	tally_finish(&all, NAN);
	assert_int_equal(all.stalls, 1);
	assert_int_equal(all.hitches, 2);
	assert_int_equal(all.hitched_requests, 1);
	assert_near(tally_figure(&all, TALLY_MAX_GAP, 1, 0.95).value, 501, 1e-9);
	assert_true(isnan(tally_goodput(&all)));
	tally_fini(&all);
	timeline_fini(&t);
}

static void test_groups(void **state)
{
	static const uint32_t prompts[] = { 9000, 10, 127, 128, 100000, TIMELINE_UNKNOWN };
	static const char *const names[] = { "prompt < 128", "prompt 128-511", "prompt 8192-32767", "prompt >= 32768",
		"prompt length not told" };
	struct records r;
	struct tallies groups;
	struct arena arena;

	arena_init(&arena);
	records_init(&r);
	for (int i = 0; i < 6; i++) {
		struct timeline t = request(100, 200, 5);

		t.prompt_tokens = prompts[i];
		VEC_PUSH(&r.requests, t);
	}
	tallies_by(&groups, &arena, &r, TALLY_BY_PROMPT, &(struct tally_options){ .window_s = NAN });
	assert_int_equal(groups.items.count, 5);
	for (int i = 0; i < 5; i++)
		assert_str(groups.items.items[i].name, names[i]);
	assert_int_equal(groups.items.items[0].judged, 2);
	assert_near(groups.items.items[0].window_s, 0.2, 1e-9);
	tallies_fini(&groups);
	records_fini(&r);
	arena_fini(&arena);
}

/* A server that pauses for a second under a steady schedule shows it in the P99 from the schedule, not in one sample only. */
static void test_coordinated_omission(void **state)
{
	struct tally all;
	double free_at = 0;

	tally_init(&all);
	for (int i = 0; i < 1000; i++) {
		double due = i * 10, start = due > free_at ? due : free_at; /* one at a time, 5 ms each */

		if (i == 500)
			start += 1000;
		struct timeline t = request(0, 5, 1);

		t.intended_ns = llround(due * 1e6);
		t.submitted_ns = llround(start * 1e6);
		t.first_output_ns = t.last_output_ns = t.completed_ns = t.submitted_ns + 5000000;
		free_at = start + 5;
		tally_add(&all, &t, &(struct tally_options){ .window_s = NAN });
	}
	tally_finish(&all, 10);
	assert_near(tally_figure(&all, TALLY_E2E, 0.99, 0.95).value, 5, 1e-6);
	assert_true(tally_figure(&all, TALLY_E2E_DUE, 0.99, 0.95).value > 900);
	tally_fini(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binomial),
		cmocka_unit_test(test_normal_and_student),
		cmocka_unit_test(test_linear_quantiles),
		cmocka_unit_test(test_rank_table),
		cmocka_unit_test(test_ranks_by_brute_force),
		cmocka_unit_test(test_estimates),
		cmocka_unit_test(test_samples_needed),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_judgement),
		cmocka_unit_test(test_stall_limit),
		cmocka_unit_test(test_tally),
		cmocka_unit_test(test_cancelled_in_the_window),
		cmocka_unit_test(test_stalls),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_coordinated_omission),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
