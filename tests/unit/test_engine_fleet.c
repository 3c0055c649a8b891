/* Balancing, transfers, replicas, disaggregation. */
#include "engine/fleet.h"
#include "engine_probe.h"

#include <math.h>

static struct balance_target targets(int i, uint32_t in_flight, bool usable)
{
	return (struct balance_target){ .usable = usable, .in_flight = in_flight, .tokens = 100 - in_flight, .key = (uint64_t)i };
}

static void policies(void **state)
{
	struct balance_target t[3] = { targets(0, 5, true), targets(1, 2, true), targets(2, 1, false) };
	struct balancer b;

	balancer_init(&b, BALANCE_ROUND_ROBIN, 1);
	assert_int_equal(balance_choose(&b, t, 3, 0), 0);
	assert_int_equal(balance_choose(&b, t, 3, 0), 1);
	assert_int_equal(balance_choose(&b, t, 3, 0), 0); /* 2 is out */
	balancer_init(&b, BALANCE_LEAST_IN_FLIGHT, 1);
	assert_int_equal(balance_choose(&b, t, 3, 0), 1);
	balancer_init(&b, BALANCE_LEAST_TOKENS, 1);
	assert_int_equal(balance_choose(&b, t, 3, 0), 0);
	t[0].weight = 4; /* 5/4 < 2 */
	balancer_init(&b, BALANCE_LEAST_IN_FLIGHT, 1);
	assert_int_equal(balance_choose(&b, t, 3, 0), 0);
	t[0].kv_usage = 0.9;
	balancer_init(&b, BALANCE_LEAST_KV, 1);
	assert_int_equal(balance_choose(&b, t, 3, 0), 1);
	t[0].usable = t[1].usable = false;
	for (int policy = 0; policy < BALANCE_COUNT; policy++) {
		balancer_init(&b, (enum balance_policy)policy, 1);
		assert_int_equal(balance_choose(&b, t, 3, 7), -1);
		assert_int_equal(balance_choose(&b, t, 0, 7), -1);
	}
}

static void ties_are_served_in_turn(void **state)
{
	struct balance_target t[4] = { targets(0, 1, true), targets(1, 1, true), targets(2, 1, true), targets(3, 1, true) };
	struct balancer b;
	int seen[4] = { 0 };

	balancer_init(&b, BALANCE_LEAST_IN_FLIGHT, 1);
	for (int i = 0; i < 40; i++)
		seen[balance_choose(&b, t, 4, 0)]++;
	for (int i = 0; i < 4; i++)
		assert_int_equal(seen[i], 10);
	balancer_init(&b, BALANCE_TWO_CHOICES, 1);
	for (int i = 0; i < 4000; i++)
		t[balance_choose(&b, t, 4, 0)].in_flight++;
	for (int i = 0; i < 4; i++)
		assert_in_range(t[i].in_flight, 990, 1012);
}

/* A prefix stays where it is when another server leaves, and moves when its own is overloaded. */
static void prefixes_stay(void **state)
{
	struct balance_target t[5];
	struct balancer b;
	ptrdiff_t home[100];
	int moved = 0;

	for (int i = 0; i < 5; i++)
		t[i] = targets(i, 10, true);
	balancer_init(&b, BALANCE_PREFIX, 1);
	for (uint64_t p = 0; p < 100; p++)
		home[p] = balance_choose(&b, t, 5, p + 1);
	t[2].usable = false;
	for (uint64_t p = 0; p < 100; p++) {
		ptrdiff_t now = balance_choose(&b, t, 5, p + 1);
		assert_true(now != 2);
		if (home[p] != 2)
			assert_int_equal(now, home[p]);
		else
			moved++;
	}
	assert_in_range(moved, 8, 35);
	t[2].usable = true;
	t[home[0]].in_flight = 100;
	assert_true(balance_choose(&b, t, 5, 1) != home[0]);
}

static void policy_names(void **state)
{
	enum balance_policy policy;
	struct error e;

	for (int i = 0; i < BALANCE_COUNT; i++) {
		assert_true(balance_parse(str_from(balance_name((enum balance_policy)i)), &policy, &e));
		assert_int_equal(policy, i);
	}
	assert_false(balance_parse(STR("least-inflight"), &policy, &e));
	assert_non_null(strstr(e.hint, "least-in-flight"));
}

/* 100 bytes/s. A alone for a second, then A and B share: A (200 bytes) ends at 3, B (150) at 3.5, and each arrives 0.25 later. */
static void links_are_shared(void **state)
{
	struct transfer_link link = { .bandwidth = 100, .latency = 0.25 };
	struct transfers t;
	uint64_t id;
	double arrived;

	transfers_init(&t, &link);
	assert_true(transfers_next(&t) == INFINITY);
	transfers_start(&t, 0, 7, 20, 10);
	assert_float_equal(transfers_next(&t), 2, 1e-9);
	transfers_start(&t, 1, 8, 15, 10);
	assert_float_equal(transfers_next(&t), 3, 1e-9);
	assert_false(transfers_take(&t, 2.9, &id, &arrived));
	assert_true(transfers_take(&t, 3, &id, &arrived));
	assert_int_equal(id, 7);
	assert_float_equal(arrived, 3.25, 1e-9);
	assert_float_equal(transfers_next(&t), 3.5, 1e-9);
	assert_true(transfers_take(&t, 3.5, &id, &arrived));
	assert_float_equal(t.bytes, 350, 1e-9);
	transfers_fini(&t);
	/* 20 tokens in blocks of 4, 6 pieces each at 0.1 s: 3 s, more than their 200 bytes need */
	link = (struct transfer_link){ .bandwidth = 100, .latency = 0.25, .descriptor = 0.1, .pieces_per_block = 6, .block_size = 4 };
	assert_float_equal(transfer_seconds(&link, 20, 10), 3.25, 1e-9);
}

struct ends {
	struct engine_timeline done[PROBE_MAX];
	struct fleet_event last[PROBE_MAX];
	uint32_t count[PROBE_MAX], all;
	struct fleet *fleet;
	uint32_t again; /* requests still to be sent, one at each end */
};

static void note(void *context, const struct fleet_event *event)
{
	struct ends *ends = context;

	ends->done[event->id] = *event->timeline;
	ends->last[event->id] = *event;
	ends->count[event->id]++;
	ends->all++;
	if (ends->again) {
		struct engine_request ask = {
			.id = 1000 + ends->again--, .arrival = event->time, .prompt_tokens = 4, .output_tokens = 3, .max_tokens = 3
		};
		fleet_submit(ends->fleet, &ask);
	}
}

static struct ends ends;

static void submit(struct fleet *f, uint64_t id, double arrival, uint32_t prompt, uint32_t output)
{
	fleet_submit(f, &(struct engine_request){
				.id = id, .arrival = arrival, .prompt_tokens = prompt, .output_tokens = output, .max_tokens = output });
}

static void replicas_halve_the_queue(void **state)
{
	struct fleet_config config = { .mixed = 2, .engine = probe_config(100, 1, 4, 100), .balance = BALANCE_LEAST_IN_FLIGHT };
	struct fleet *f;

	ends = (struct ends){ 0 };
	f = fleet_new(&config, note, &ends);
	for (uint64_t i = 0; i < 4; i++)
		submit(f, i, 0, 4, 3);
	submit(f, 4, 2.5, 4, 1);
	assert_true(fleet_drain(f));
	assert_int_equal(ends.all, 5);
	assert_float_equal(ends.done[0].last_token, 3, 1e-9);
	assert_float_equal(ends.done[1].last_token, 3, 1e-9);
	assert_float_equal(ends.done[2].last_token, 6, 1e-9);
	assert_float_equal(ends.done[4].last_token, 7, 1e-9);
	fleet_free(f);
}

/* Each end brings a new request at once: with one slot each, two engines are never idle. */
static void closed_loop_reacts_in_time(void **state)
{
	struct fleet_config config = {
		.mixed = 2, .engine = probe_config(100, 1, 4, 100), .balance = BALANCE_LEAST_IN_FLIGHT, .reactive = true
	};

	ends = (struct ends){ .again = 10 };
	ends.fleet = fleet_new(&config, note, &ends);
	submit(ends.fleet, 0, 0, 4, 3);
	submit(ends.fleet, 1, 0.5, 4, 3);
	assert_true(fleet_drain(ends.fleet));
	assert_int_equal(ends.all, 12);
	assert_float_equal(fleet_now(ends.fleet), 18.5, 1e-6); /* 6 in a row of 3 s on the later one */
	fleet_free(ends.fleet);
}

static struct fleet_config disaggregated(bool push)
{
	/* 8 tokens of 100 bytes at 200 bytes/s: 4 s */
	return (struct fleet_config){ .prefill = 1,
		.decode = 1,
		.engine = probe_config(100, 4, 4, 100),
		.decoder = probe_config(100, 4, 4, 100),
		.link = { .bandwidth = 200, .latency = 0.5 },
		.bytes_per_token = 100,
		.proxy_hop = 0.25,
		.layers = 8,
		.push = push };
}

static double kv_usage(struct fleet *f, uint32_t index)
{
	struct engine_state state;

	engine_state(fleet_engine(f, index), &state);
	return state.kv_usage;
}

/* Pull: prefill 0-1, hop to 1.25, transfer to 5.25, latency to 5.75, the last prompt token again: first token at 6.75. */
static void pull(void **state)
{
	struct fleet_config config = disaggregated(false);
	struct fleet *f = fleet_new(&config, note, &ends);

	ends = (struct ends){ 0 };
	submit(f, 0, 0, 8, 3);
	fleet_advance(f, 3);
	assert_float_equal(kv_usage(f, 0), 0.02, 1e-9); /* booked twice while the KV travels */
	assert_float_equal(kv_usage(f, 1), 0.02, 1e-9);
	fleet_advance(f, 6);
	assert_float_equal(kv_usage(f, 0), 0, 1e-9);
	assert_true(fleet_drain(f));
	assert_float_equal(ends.done[0].arrival, 0, 1e-9);
	assert_float_equal(ends.done[0].first_token, 6.75, 1e-9);
	assert_float_equal(ends.done[0].last_token, 8.75, 1e-9);
	assert_float_equal(ends.last[0].transfer_seconds, 4.5, 1e-9);
	assert_int_equal(ends.done[0].output_tokens, 3);
	assert_float_equal(kv_usage(f, 1), 0, 1e-9);
	fleet_free(f);
}

/* Push: only the last of 8 layers is left at 1: 0.5 s and the latency: there at 2, first token at 3. */
static void push(void **state)
{
	struct fleet_config config = disaggregated(true);
	struct fleet *f = fleet_new(&config, note, &ends);

	ends = (struct ends){ 0 };
	submit(f, 0, 0, 8, 3);
	assert_true(fleet_drain(f));
	assert_float_equal(ends.done[0].first_token, 3, 1e-9);
	assert_float_equal(kv_usage(f, 0) + kv_usage(f, 1), 0, 1e-9);
	fleet_free(f);
}

static void many_journeys_end_once(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct fleet_config config = disaggregated(seed % 2);
		struct rng rng = { seed };
		struct fleet *f;
		uint64_t tokens = 0, made = 0;

		config.prefill = 2;
		config.decode = 3;
		config.engine.num_gpu_blocks = config.decoder.num_gpu_blocks = 60;
		config.engine.async_scheduling = config.decoder.async_scheduling = seed % 3 == 0;
		config.link.bandwidth = 1e5;
		ends = (struct ends){ 0 };
		f = fleet_new(&config, note, &ends);
		for (uint64_t i = 0; i < 200; i++) {
			uint32_t output = 1 + (uint32_t)rng_below(&rng, 30);
			submit(f, i, rng_unit(&rng) * 100, 1 + (uint32_t)rng_below(&rng, 60), output);
			tokens += output;
		}
		assert_true(fleet_drain(f));
		for (uint64_t i = 0; i < 200; i++) {
			assert_int_equal(ends.count[i], 1);
			made += ends.done[i].output_tokens;
			assert_true(ends.done[i].first_token > ends.done[i].arrival);
		}
		assert_int_equal(made, tokens);
		for (uint32_t i = 0; i < fleet_engine_count(f); i++) {
			assert_true(engine_consistent(fleet_engine(f, i)));
			assert_float_equal(kv_usage(f, i), 0, 1e-9);
		}
		fleet_free(f);
	}
}

static void failed_transfers(void **state)
{
	struct fleet_config config = disaggregated(false);
	struct engine_faults faults = { .transfer_failure = 1 };
	struct fleet *f = fleet_new(&config, note, &ends);

	ends = (struct ends){ 0 };
	engine_set_faults(fleet_engine(f, 1), &faults);
	submit(f, 0, 0, 8, 3);
	assert_true(fleet_drain(f));
	assert_int_equal(ends.done[0].finish, FINISH_ERROR);
	assert_string_equal(ends.last[0].reason, "the KV transfer failed");
	assert_float_equal(kv_usage(f, 0) + kv_usage(f, 1), 0, 1e-9);
	fleet_free(f);
}

struct verdict {
	uint32_t good; /* of 400: TTFT < 1 s and TPOT < 31 ms */
	double tpot, ttft;
};

static struct verdict judge(const struct fleet_config *config)
{
	struct fleet *f = fleet_new(config, note, &ends);
	struct verdict v = { 0 };

	ends = (struct ends){ 0 };
	for (uint64_t i = 0; i < 400; i++)
		submit(f, i, (double)i / 8, 2000, 1000);
	assert_true(fleet_drain(f));
	for (uint64_t i = 0; i < 400; i++) {
		const struct engine_timeline *t = &ends.done[i];
		double tpot = (t->last_token - t->first_token) / (t->output_tokens - 1), ttft = t->first_token - t->arrival;
		v.tpot += tpot / 400;
		v.ttft += ttft / 400;
		v.good += ttft < 1 && tpot < 0.031;
	}
	fleet_free(f);
	return v;
}

/* A 235B model on half a node: a decode step of 300 requests takes 35 ms, 2000 prompt tokens 80 ms more. */
static double large_model(const void *context, const struct step_load *load)
{
	return 0.02 + 50e-6 * load->decodes + 40e-6 * (load->tokens - load->decode_tokens);
}

/* The direction of published comparisons: chunks in decode batches ruin the time between tokens of mixed instances; apart, the
 * first token pays for the hand-over. */
static void disaggregation_trades_first_token_for_the_others(void **state)
{
	struct fleet_config config = { .mixed = 2,
		.engine = probe_config(8192, 1024, 16, 100000),
		.proxy_hop = 0.2,
		.bytes_per_token = 400e3,
		.link = { .bandwidth = 150e9, .latency = 0.001 } };
	struct verdict mixed, apart;

	config.engine.max_model_len = 4096;
	config.engine.async_scheduling = true;
	config.engine.cost.seconds = large_model;
	config.decoder = config.engine;
	mixed = judge(&config);
	config.mixed = 0;
	config.prefill = config.decode = 1;
	apart = judge(&config);
	assert_true(mixed.tpot > 1.1 * apart.tpot);
	assert_true(apart.ttft > mixed.ttft + 0.2);
	assert_true(mixed.good < 160 && apart.good > 240);
}

static void config_errors(void **state)
{
	struct fleet_config config = disaggregated(false);
	struct error e;

	assert_true(fleet_config_check(&config, &e));
	config.decode = 0;
	assert_false(fleet_config_check(&config, &e));
	config = disaggregated(false);
	config.mixed = 1;
	assert_false(fleet_config_check(&config, &e));
	config = disaggregated(false);
	config.link.bandwidth = 0;
	assert_false(fleet_config_check(&config, &e));
	assert_non_null(strstr(e.message, "bandwidth"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(policies), cmocka_unit_test(ties_are_served_in_turn),
		cmocka_unit_test(prefixes_stay), cmocka_unit_test(policy_names), cmocka_unit_test(links_are_shared),
		cmocka_unit_test(replicas_halve_the_queue), cmocka_unit_test(closed_loop_reacts_in_time), cmocka_unit_test(pull),
		cmocka_unit_test(push), cmocka_unit_test(many_journeys_end_once), cmocka_unit_test(failed_transfers),
		cmocka_unit_test(disaggregation_trades_first_token_for_the_others), cmocka_unit_test(config_errors) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
