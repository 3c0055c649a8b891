/* Comparisons: verdicts on pairs of simulated servers (equal ones, worse ones, other loads), policies, signatures, cross-checks. */
#include "compare/sample.h"
#include "compare_load.h"

static const struct load_server server = { .step = 0.012, .per_prefill_token = 0.00004, .per_decode = 0.0001 };
/* Prompts take 7.5 % longer: TTFT P99 of long runs is 10 % higher. */
static const struct load_server slower = { .step = 0.012, .per_prefill_token = 0.000043, .per_decode = 0.0001 };

static void objectives(struct slo_set *slo)
{
	slo_set_init(slo);
	slo->general.limit_ms[SLO_TTFT] = 700;
	slo->general.limit_ms[SLO_TPOT] = 40;
}

/* Verdicts on pairs of runs; `apart` counts seeds of B from other ones than A's. */
static void count_verdicts(size_t pairs, double rate, double seconds, const struct load_server *after, bool apart, size_t counts[4])
{
	struct slo_set slo;

	objectives(&slo);
	memset(counts, 0, 4 * sizeof *counts);
	for (size_t i = 0; i < pairs; i++) {
		struct records a, b;
		struct arena arena;
		struct compare_result r;
		struct load_plan plan = { .server = server, .rate = rate, .seconds = seconds, .seed = 1000 + 2 * i, .answer_seed = 1 };

		arena_init(&arena);
		load_run(&a, &plan);
		plan.server = *after;
		plan.seed += apart;
		plan.answer_seed = 2;
		load_run(&b, &plan);
		load_compare(&a, &b, &slo, &arena, &r);
		assert_true(r.matched == !apart);
		counts[r.verdict]++;
		records_fini(&a);
		records_fini(&b);
		arena_fini(&arena);
	}
	printf("%zu pairs at %g/s for %g s, %s: %zu pass, %zu fail, %zu inconclusive, %zu not comparable\n", pairs, rate, seconds,
		apart ? "other requests" : "the same requests", counts[COMPARE_PASS], counts[COMPARE_FAIL], counts[COMPARE_INCONCLUSIVE],
		counts[COMPARE_NOT_COMPARABLE]);
}

static void test_equal_servers(void **state)
{
	size_t same[4], apart[4], busy[4];

	count_verdicts(100, 6, 300, &server, false, same);
	count_verdicts(60, 6, 300, &server, true, apart);
	count_verdicts(40, 9, 300, &server, true, busy);
	assert_true(same[COMPARE_FAIL] + apart[COMPARE_FAIL] + busy[COMPARE_FAIL] <= 10); /* 5 % of 200 */
	assert_true(same[COMPARE_FAIL] <= 2);
	assert_true(same[COMPARE_PASS] >= 50);
}

/* A regression of 10 % of TTFT P99: five minutes of load before and five after. */
static void test_planted_regression(void **state)
{
	size_t counts[4];

	count_verdicts(60, 6, 300, &slower, false, counts);
	assert_true(counts[COMPARE_FAIL] >= 54);
	count_verdicts(20, 6, 600, &slower, false, counts);
	assert_true(counts[COMPARE_FAIL] >= 19);
}

/* ---- single pairs ---- */

struct pair {
	struct records a, b;
	struct arena arena;
	struct compare_result r;
};

static void pair_run(struct pair *p, const struct load_plan *a, const struct load_plan *b)
{
	struct slo_set slo;

	objectives(&slo);
	arena_init(&p->arena);
	load_run(&p->a, a);
	load_run(&p->b, b);
	load_compare(&p->a, &p->b, &slo, &p->arena, &p->r);
}

static void pair_again(struct pair *p)
{
	struct slo_set slo;

	objectives(&slo);
	load_compare(&p->a, &p->b, &slo, &p->arena, &p->r);
}

static void pair_fini(struct pair *p)
{
	records_fini(&p->a);
	records_fini(&p->b);
	arena_fini(&p->arena);
}

static const struct load_plan calm = { .server = { .step = 0.012, .per_prefill_token = 0.00004, .per_decode = 0.0001 },
	.rate = 2,
	.seconds = 300,
	.seed = 5,
	.answer_seed = 1 };

static void test_longer_answers_are_judged(void **state)
{
	struct load_plan longer = calm;
	struct pair p;

	longer.answer_scale = 1.3;
	longer.answer_seed = 2;
	pair_run(&p, &calm, &longer);
	assert_int_equal(p.r.reason_count, 0);
	assert_int_not_equal(p.r.verdict, COMPARE_NOT_COMPARABLE);
	const struct compare_panel *length = compare_panel(&p.r, "output_tokens_mean");

	assert_true(length->change.low > 0.15 && length->change.high < 0.45);
	assert_true(compare_panel(&p.r, "output_tokens_per_s")->change.value > 0.1);
	pair_fini(&p);
}

/* More tokens per second with a worse TTFT stays a failure. */
static void test_tokens_buy_nothing(void **state)
{
	struct load_plan worse = calm;
	struct pair p;

	worse.answer_scale = 1.3;
	worse.answer_seed = 2;
	worse.server.per_prefill_token *= 1.5;
	pair_run(&p, &calm, &worse);
	assert_true(compare_panel(&p.r, "output_tokens_per_s")->change.low > 0);
	assert_int_equal(p.r.verdict, COMPARE_FAIL);
	pair_fini(&p);
}

static void test_refusals(void **state)
{
	struct load_plan other = calm;
	struct pair p;

	other.prompt_scale = 1.5;
	pair_run(&p, &calm, &other);
	assert_int_equal(p.r.verdict, COMPARE_NOT_COMPARABLE);
	assert_int_equal(p.r.reasons[0].obstacle, COMPARE_MIX);
	pair_fini(&p);

	other = calm;
	other.rate = 2.5;
	pair_run(&p, &calm, &other);
	assert_int_equal(p.r.reasons[0].obstacle, COMPARE_CONCURRENCY);
	pair_fini(&p);

	pair_run(&p, &calm, &calm);
	assert_int_equal(p.r.reason_count, 0);
	VEC_EACH (&p.b.requests, t)
		t->cached_tokens = t->prompt_tokens / 5;
	pair_again(&p);
	assert_int_equal(p.r.reasons[0].obstacle, COMPARE_CACHED);
	VEC_EACH (&p.b.requests, t)
		t->cached_tokens = 0;
	p.b.run.client_bound = true;
	p.b.run.client_reason = STR("one core busy");
	pair_again(&p);
	assert_int_equal(p.r.reasons[0].obstacle, COMPARE_CLIENT);
	p.b.run.client_bound = false;
	p.a.run.client_lag_p99_ms = 0.2;
	p.b.run.client_lag_p99_ms = 30;
	pair_again(&p);
	assert_int_equal(p.r.reasons[0].obstacle, COMPARE_CLIENT);
	p.b.run.client_lag_p99_ms = 0.2;
	VEC_EACH (&p.b.requests, t)
		t->temperature = 0.7;
	VEC_EACH (&p.a.requests, t)
		t->temperature = 0;
	pair_again(&p);
	assert_int_equal(p.r.reasons[0].obstacle, COMPARE_MIX);
	pair_fini(&p);

	other = calm;
	other.seconds = 5;
	pair_run(&p, &other, &other);
	assert_int_equal(p.r.reasons[0].obstacle, COMPARE_TOO_FEW);
	pair_fini(&p);
}

static bool says(const struct compare_result *r, const char *word)
{
	for (size_t i = 0; i < r->signature_count; i++)
		if (strstr(r->signatures[i], word))
			return true;
	return false;
}

static void test_signatures(void **state)
{
	struct load_plan whole = calm, chunked = calm;
	struct pair p;

	whole.tokens = chunked.tokens = true;
	whole.server.budget = 16384;
	whole.server.per_prefill_token = chunked.server.per_prefill_token = 0.0001;
	chunked.server.budget = 512;
	pair_run(&p, &whole, &chunked);
	assert_true(says(&p.r, "chunked prefill on"));
	assert_false(says(&p.r, "speculation"));
	/* Two tokens an event instead of one. */
	VEC_EACH (&p.b.requests, t) {
		struct deliveries fewer = { 0 };
		struct delivery_cursor c = deliveries_begin(&t->deliveries);
		struct delivery d;
		int i = 0;

		deliveries_reset(&fewer, t->submitted_ns);
		while (deliveries_next(&c, &d))
			if (i++ % 2 == 0)
				deliveries_add(&fewer, d.t_ns, 2);
		deliveries_fini(&t->deliveries);
		t->deliveries = fewer;
	}
	pair_again(&p);
	assert_true(says(&p.r, "speculation on"));
	/* Decode away from prefill: one pause behind the first token, and then a steady pace. */
	VEC_EACH (&p.b.requests, t) {
		struct deliveries steady = { 0 };
		uint32_t count = t->output_tokens;

		deliveries_reset(&steady, t->submitted_ns);
		for (uint32_t i = 0; i < count; i++)
			deliveries_add(&steady, t->first_output_ns + (i ? 120000000 : 0) + i * INT64_C(13000000), 1);
		deliveries_fini(&t->deliveries);
		t->deliveries = steady;
	}
	pair_again(&p);
	assert_true(says(&p.r, "disaggregated prefill on"));
	pair_fini(&p);
}

/* Interleaved A B A B: runs of a side are put together, and the order of time is no matter. */
static void test_interleaved(void **state)
{
	struct load_plan plan = calm;
	struct records runs[4];
	struct slo_set slo;
	struct arena arena;
	struct compare_result r;

	objectives(&slo);
	arena_init(&arena);
	for (int i = 0; i < 4; i++) {
		plan.seed = 10 + (uint64_t)i / 2;
		plan.answer_seed = (uint64_t)i;
		plan.server = i % 2 ? slower : server;
		plan.server.per_prefill_token *= i % 2 ? 1.3 : 1;
		load_run(&runs[i], &plan);
	}
	struct compare_side a = { .runs = { &runs[0], &runs[2] }, .run_count = 2 }, b = { .runs = { &runs[1], &runs[3] }, .run_count = 2 };

	compare_sides(&a, &b, &(struct compare_options){ .slo = &slo }, &arena, &r);
	assert_true(r.matched && fabs(r.seconds_a - 600) < 1);
	assert_int_equal(r.verdict, COMPARE_FAIL);
	for (int i = 0; i < 4; i++)
		records_fini(&runs[i]);
	arena_fini(&arena);
}

/* What was asked for is looked at in every run, not only in the first. */
static void test_load_of_every_run(void **state)
{
	struct pair p;

	pair_run(&p, &calm, &calm);
	struct records second = p.b;

	second.run.rate = 4;
	struct compare_side a = { .runs = { &p.a, &p.a }, .run_count = 2 }, b = { .runs = { &p.b, &second }, .run_count = 2 };

	compare_sides(&a, &b, &(struct compare_options){ 0 }, &p.arena, &p.r);
	assert_int_equal(p.r.reasons[0].obstacle, COMPARE_CONCURRENCY);
	assert_non_null(strstr(p.r.reasons[0].text, "from 2 to 4/s"));
	second.run.rate = calm.rate;
	second.run.concurrency = 8;
	compare_sides(&a, &b, &(struct compare_options){ 0 }, &p.arena, &p.r);
	assert_non_null(strstr(p.r.reasons[0].text, "from none to 8"));
	pair_fini(&p);
}

/* A canary: two labels in one window. Their shares of traffic may differ; a worse canary fails. */
static void test_canary(void **state)
{
	struct load_plan plan = calm, canary = calm;
	struct pair p;
	struct slo_set slo;

	canary.server.per_prefill_token *= 1.6;
	canary.rate = 1;
	canary.seed = 77;
	objectives(&slo);
	pair_run(&p, &plan, &canary);
	VEC_EACH (&p.a.requests, t)
		t->pool = STR("stable");
	VEC_EACH (&p.b.requests, t)
		t->pool = STR("canary");
	size_t count = p.b.requests.count;

	for (size_t i = 0; i < count; i++)
		VEC_PUSH(&p.a.requests, p.b.requests.items[i]);
	p.b.requests.count = 0; /* the deliveries are A's now */
	struct compare_side a = { .runs = { &p.a }, .run_count = 1, .label_name = STR("pool"), .label_value = STR("stable") }, b = a;

	b.label_value = STR("canary");
	compare_sides(&a, &b, &(struct compare_options){ .slo = &slo }, &p.arena, &p.r);
	assert_int_equal(p.r.reason_count, 0);
	assert_false(p.r.matched);
	assert_true(compare_panel(&p.r, "ttft_p99")->b.count < compare_panel(&p.r, "ttft_p99")->a.count);
	assert_true(compare_panel(&p.r, "ttft_p50")->change.value > 0.2);
	/* The server preempted for both: a canary with fewer requests has not more of it for that. */
	p.a.run.facts[p.a.run.fact_count].name = STR("server.preemptions");
	p.a.run.facts[p.a.run.fact_count++].value = STR("400");
	compare_sides(&a, &b, &(struct compare_options){ .slo = &slo }, &p.arena, &p.r);
	assert_null(compare_panel(&p.r, "preemptions"));
	pair_fini(&p);
}

/* The time that a shorter run says it needs is about what a longer one shows. */
static void test_how_long(void **state)
{
	struct load_plan plan = calm, again = calm;
	double needed[2];

	for (int i = 0; i < 2; i++) {
		struct pair p;

		plan.seconds = again.seconds = i ? 1200 : 300;
		again.answer_seed = 2;
		pair_run(&p, &plan, &again);
		needed[i] = p.r.rulings[0].seconds_needed;
		pair_fini(&p);
	}
	assert_true(needed[0] > needed[1] / 6 && needed[0] < needed[1] * 6);
}

/* Against the plain formulas, where requests are independent and blocks do nothing. */
static void test_independent_requests(void **state)
{
	struct records r;
	struct rng rng = { 3 };
	struct compare_side side = { .runs = { &r }, .run_count = 1 };
	struct sample s;
	struct blocks blocks;
	double effective;

	records_init(&r);
	for (int i = 0; i < 6000; i++) {
		struct timeline t;

		timeline_init(&t);
		t.submitted_ns = i * INT64_C(10000000);
		t.first_output_ns = t.last_output_ns = t.completed_ns = t.submitted_ns + llround(1e8 * -log(1 - rng_unit(&rng)));
		t.output_tokens = 1;
		VEC_PUSH(&r.requests, t);
	}
	blocks_make(&blocks, &side, blocks_length(&side, &side, true));
	assert_int_equal(blocks.count, 12);
	sample_init(&s);
	sample_take(&s, &side, &blocks, compare_spec_find(STR("ttft_p99"))->value, NULL);
	struct estimate p99 = sample_estimate(&s, compare_spec_find(STR("ttft_p99")), 0.95, &effective);

	/* The exponential's own P99 is 100 ms times log(100); the bound is as tight as that of half the requests at least. */
	assert_true(p99.low < 460.5 && p99.high > 460.5);
	assert_true(effective > 2000 && effective <= 6000);
	struct estimate mean = sample_estimate(&s, compare_spec_find(STR("ttft_mean")), 0.95, &effective);

	assert_true(mean.low < 100 && mean.high > 100 && mean.high - mean.low < 12);
	sample_fini(&s);
	records_fini(&r);
}

/* A run that is longer than the other: its last block has half as many requests more, which is no unrest. */
static void test_rest_of_a_run(void **state)
{
	enum { EVERY_MS = 500, SECONDS = 324, BLOCK_S = 50 };
	const struct compare_spec *spec = compare_spec_find(STR("offered_rps"));
	struct records r;
	struct compare_side side = { .runs = { &r }, .run_count = 1 };
	struct blocks blocks;
	struct sample s;
	double effective;

	records_init(&r);
	r.run.window_start_ns = 0;
	r.run.window_end_ns = SECONDS * INT64_C(1000000000);
	for (int64_t at_ms = EVERY_MS / 2; at_ms < SECONDS * 1000; at_ms += EVERY_MS) {
		struct timeline t;

		timeline_init(&t);
		t.submitted_ns = at_ms * 1000000;
		VEC_PUSH(&r.requests, t);
	}
	blocks_make(&blocks, &side, BLOCK_S * INT64_C(1000000000));
	assert_int_equal(blocks.count, 6);
	sample_init(&s);
	sample_take(&s, &side, &blocks, spec->value, NULL);
	struct estimate rate = sample_estimate(&s, spec, 0.95, &effective);

	assert_true(fabs(rate.value - 2) < 1e-9);
	assert_true(rate.high - rate.low < 0.001 * rate.value);
	sample_fini(&s);
	records_fini(&r);
}

/* ---- policies ---- */

static bool read_policy(struct compare_policy *p, struct arena *arena, const char *text, struct error *e)
{
	*e = (struct error){ 0 };
	return compare_policy_read(p, arena, STR("p.yaml"), str_from(text), e);
}

static void test_policies(void **state)
{
	struct compare_policy p;
	struct arena arena;
	struct error e;

	arena_init(&arena);
	assert_true(read_policy(&p, &arena,
		"name: batch\nconfidence: 0.9\nmust_not_regress:\n  throughput_rps: {margin: 0.05}\n  ttft_p99: {margin: 0.5, ignore: 0.2, "
		"required: "
		"false}\n",
		&e));
	assert_int_equal(p.item_count, 2);
	assert_true(p.items[0].required && !p.items[1].required && p.items[1].ignore == 0.2 && p.confidence == 0.9);
	assert_str(p.name, "batch");
	assert_false(read_policy(&p, &arena, "must_not_regress: {prompt_tokens_mean: {margin: 0.1}}", &e));
	assert_false(read_policy(&p, &arena, "must_not_regress: {ttft_p98: {margin: 0.1}}", &e));
	assert_true(e.line == 1 && e.hint[0]);
	assert_false(read_policy(&p, &arena, "must_not_regress: {ttft_p99: {margin: 0}}", &e));
	assert_false(read_policy(&p, &arena, "must_not_regress: {ttft_p99: {margin: 0.1, ignore: 0.2}}", &e));
	assert_false(read_policy(&p, &arena, "must_not_regress: {}", &e));
	assert_false(read_policy(&p, &arena, "confidence: 2\nmust_not_regress: {ttft_p99: {margin: 0.1}}", &e));
	assert_false(read_policy(&p, &arena, "[1]", &e));
	compare_policy_default(&p);
	for (size_t i = 0; i < p.item_count; i++)
		assert_non_null(p.items[i].spec);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_servers),
		cmocka_unit_test(test_planted_regression),
		cmocka_unit_test(test_longer_answers_are_judged),
		cmocka_unit_test(test_tokens_buy_nothing),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_signatures),
		cmocka_unit_test(test_interleaved),
		cmocka_unit_test(test_load_of_every_run),
		cmocka_unit_test(test_canary),
		cmocka_unit_test(test_how_long),
		cmocka_unit_test(test_independent_requests),
		cmocka_unit_test(test_rest_of_a_run),
		cmocka_unit_test(test_policies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
