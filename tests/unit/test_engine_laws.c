/* Laws that hold for any traffic: every block is freed, every token counted once, nobody starves, a seed fixes a run, and the
 * fast way through identical steps gives what single steps give. */
#include "base/rng.h"
#include "engine_probe.h"

#include <math.h>

struct traffic {
	uint32_t requests, tokens_out;
	uint64_t prompt_tokens;
	uint64_t ids[64];
};

/* A step whose time depends on everything that a real one depends on. */
static double uneven(const void *context, const struct step_load *load)
{
	return 0.005 + 1e-5 * load->tokens + 1e-8 * load->decode_context + 1e-9 * load->prefill_pairs + 1e-7 * load->decode_window;
}

static struct engine_config random_config(struct rng *rng, uint64_t seed)
{
	static const uint32_t blocks[] = { 1, 4, 16 };
	struct engine_config config = probe_config(32 + rng_below(rng, 200), 1 + rng_below(rng, 24), blocks[rng_below(rng, 3)], 0);

	config.max_model_len = 300;
	config.num_gpu_blocks = 2 + 300 / config.block_size + rng_below(rng, 900 / config.block_size);
	config.async_scheduling = rng_below(rng, 2);
	config.prefix_caching = rng_below(rng, 4) > 0;
	config.reserve_full_isl = rng_below(rng, 4) > 0;
	config.policy = rng_below(rng, 3) ? ENGINE_FCFS : ENGINE_PRIORITY;
	config.watermark = rng_below(rng, 3) ? 0 : 0.02;
	config.long_prefill_token_threshold = rng_below(rng, 3) ? 0 : 20;
	if (rng_below(rng, 3) == 0)
		config.spec =
			(struct spec_config){ .method = 1 + rng_below(rng, 4), .drafts = 1 + rng_below(rng, 4), .alpha = rng_unit(rng) };
	config.cost = (struct step_cost){ uneven, NULL, rng_below(rng, 2) ? 32 : 0 };
	config.seed = seed;
	return config;
}

static void submit_all(struct probe *p, struct traffic *t, struct rng *rng)
{
	double at = 0;

	*t = (struct traffic){ .requests = 50 + (uint32_t)rng_below(rng, 250) };
	for (int i = 0; i < 64; i++)
		t->ids[i] = 1 + (uint64_t)i;
	for (uint32_t i = 0; i < t->requests; i++) {
		uint32_t prompt = 1 + (uint32_t)rng_below(rng, 200), output = 1 + (uint32_t)rng_below(rng, 99);
		struct engine_request ask = { .id = i,
			.arrival = at,
			.prompt_tokens = prompt,
			.output_tokens = output,
			.max_tokens = rng_below(rng, 2) ? output : 0,
			.priority = (int32_t)rng_below(rng, 3),
			.temperature = (float)rng_unit(rng) };

		if (rng_below(rng, 2)) /* one of four long shared texts, to some depth */
			ask.content = (struct content){ .ids = t->ids,
				.id_count = 64,
				.id_tokens = 8,
				.tokens = (uint32_t)rng_below(rng, prompt + 1),
				.salt = rng_below(rng, 4) };
		t->prompt_tokens += prompt;
		t->tokens_out += output;
		assert_true(engine_submit(p->engine, &ask) != 0);
		at += rng_below(rng, 5) ? rng_unit(rng) * 0.1 : 0;
	}
}

static void check_end(const struct probe *p, const struct traffic *t, const struct engine_config *config)
{
	struct engine_state state;
	uint64_t tokens = 0, cached = 0, preempted = 0;
	double inside = 0;

	engine_state(p->engine, &state);
	assert_true(engine_consistent(p->engine));
	assert_true(state.kv_usage == 0);
	assert_int_equal(state.running + state.waiting, 0);
	for (uint32_t i = 0; i < t->requests; i++) {
		assert_int_equal(p->ended[i], 1);
		assert_true(p->done[i].arrival <= p->done[i].queued && p->done[i].queued <= p->done[i].scheduled &&
			    p->done[i].scheduled < p->done[i].first_token && p->done[i].first_token <= p->done[i].last_token);
		tokens += p->done[i].output_tokens;
		cached += p->done[i].cached_tokens;
		preempted += p->done[i].preemptions;
		inside += p->done[i].last_token - p->done[i].queued;
	}
	assert_int_equal(tokens, t->tokens_out);
	assert_int_equal(state.counters->generation_tokens, t->tokens_out);
	assert_int_equal(state.counters->prompt_tokens, t->prompt_tokens);
	assert_int_equal(state.counters->prompt_tokens_cached, cached);
	assert_int_equal(state.counters->preemptions, preempted);
	assert_int_equal(state.first_token->count, t->requests);
	assert_true(state.counters->prefix_hits <= state.counters->prefix_queries);
	assert_float_equal(state.counters->system_seconds, inside, 1e-6 * inside); /* Little's law */
	if (config->spec.method == SPEC_NONE)
		assert_int_equal(state.inter_token->count, t->tokens_out - t->requests);
}

static void play(struct probe *p, uint64_t seed, bool steps, bool walk)
{
	struct rng rng = { seed };
	struct engine_config config = random_config(&rng, seed);
	struct traffic traffic;
	struct error e;

	config.max_num_batched_tokens =
		config.max_num_batched_tokens < config.max_num_seqs ? config.max_num_seqs : config.max_num_batched_tokens;
	assert_true(engine_config_check(&config, &e));
	probe_start(p, &config);
	engine_want_tokens(p->engine, steps);
	submit_all(p, &traffic, &rng);
	for (double t = 0; walk && t < 3; t += 0.0137) {
		engine_advance(p->engine, t);
		assert_true(engine_consistent(p->engine));
	}
	assert_true(engine_drain(p->engine));
	check_end(p, &traffic, &config);
}

static struct probe single, fast;

static void laws_of_conservation(void **state)
{
	for (uint64_t seed = 1; seed <= 400; seed++) {
		play(&single, seed, true, seed % 8 == 0);
		for (uint32_t i = 0; i < PROBE_MAX && single.ended[i]; i++)
			assert_int_equal(single.tokens[i], single.done[i].output_tokens);
		engine_free(single.engine);
	}
}

static void fast_way_is_exact(void **state)
{
	uint64_t saved = 0;

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct engine_state a, b;

		play(&single, seed, true, false);
		play(&fast, seed, false, seed % 2);
		for (uint32_t i = 0; i < PROBE_MAX; i++)
			assert_memory_equal(&single.done[i], &fast.done[i], sizeof single.done[i]);
		engine_state(single.engine, &a);
		engine_state(fast.engine, &b);
		assert_int_equal(a.counters->steps, b.counters->steps);
		assert_int_equal(a.counters->evictions, b.counters->evictions);
		assert_int_equal(a.counters->scheduled_tokens, b.counters->scheduled_tokens);
		assert_int_equal(a.counters->prefix_hits, b.counters->prefix_hits);
		assert_memory_equal(a.inter_token->cells, b.inter_token->cells, sizeof a.inter_token->cells);
		assert_memory_equal(a.step_seconds->cells, b.step_seconds->cells, sizeof a.step_seconds->cells);
		assert_float_equal(a.counters->kv_seconds, b.counters->kv_seconds, 1e-6);
		saved += a.counters->steps;
		engine_free(single.engine);
		engine_free(fast.engine);
	}
	assert_true(saved > 100000);
}

/* Everybody comes at once to a cache that holds four of them: all finish, and nobody is preempted again and again. */
static void overload_ends(void **state)
{
	struct engine_config config = probe_config(64, 32, 4, 100);
	uint32_t most = 0, twice = 0;

	config.cost.seconds = uneven;
	probe_start(&single, &config);
	for (uint32_t i = 0; i < 1000; i++)
		probe_ask(&single, i, i * 0.001, 20 + i % 80, 20 + i % 60);
	assert_true(engine_drain(single.engine));
	for (uint32_t i = 0; i < 1000; i++) {
		most = single.done[i].preemptions > most ? single.done[i].preemptions : most;
		twice += single.done[i].preemptions > 1;
	}
	assert_true(single.preempted > 0);
	assert_true(most <= 8);
	assert_true(twice < 250);
	assert_true(engine_consistent(single.engine));
	engine_free(single.engine);
}

static void faults_bite_and_heal(void **state)
{
	struct engine_config config = probe_config(64, 8, 4, 200);
	struct engine_state s;
	struct engine_faults faults = { .slow = 1, .leak_per_finish = 0.5, .host_leak_per_token = 1000 };

	probe_start(&single, &config);
	engine_set_faults(single.engine, &faults);
	for (uint32_t i = 0; i < 20; i++)
		probe_ask(&single, i, i * 10, 4, 2);
	assert_true(engine_drain(single.engine));
	assert_float_equal(single.done[0].last_token, 4, 1e-9); /* two steps of two seconds */
	engine_state(single.engine, &s);
	assert_float_equal(s.kv_usage, 10 / 200.0, 1e-9);
	assert_float_equal(s.host.leaked_bytes, 20 * 6 * 1000.0, 1e-3);
	faults = (struct engine_faults){ .stall_until = engine_now(single.engine) + 50, .extra_pause = 0 };
	engine_set_faults(single.engine, &faults);
	probe_ask(&single, 20, 0, 4, 2);
	assert_true(engine_drain(single.engine));
	assert_float_equal(single.done[20].first_token - single.done[20].arrival, 50, 1e-9);
	faults = (struct engine_faults){ .seized_blocks = 1000 };
	engine_set_faults(single.engine, &faults);
	probe_ask(&single, 21, 0, 4, 2);
	assert_false(engine_drain(single.engine)); /* no block is left */
	engine_set_faults(single.engine, &(struct engine_faults){ 0 });
	assert_true(engine_drain(single.engine));
	assert_true(engine_consistent(single.engine));
	probe_ask(&single, 22, 0, 4, 9);
	probe_ask(&single, 23, 0, 4, 9);
	engine_advance(single.engine, engine_now(single.engine) + 2);
	engine_preempt(single.engine, 1);
	assert_true(engine_drain(single.engine));
	assert_int_equal(single.done[22].preemptions, 0);
	assert_int_equal(single.done[23].preemptions, 1);
	engine_free(single.engine);
}

static void collector_pauses(void **state)
{
	struct engine_config config = probe_config(64, 8, 4, 200);
	struct engine_state s;

	config.host.gc_every = 5;
	config.host.gc_base = 3;
	probe_start(&single, &config);
	for (uint32_t i = 0; i < 11; i++)
		probe_ask(&single, i, i * 10, 4, 2);
	assert_true(engine_drain(single.engine));
	engine_state(single.engine, &s);
	assert_int_equal(s.host.collections, 2);
	assert_float_equal(s.host.pause_seconds, 6, 1e-9);
	assert_float_equal(single.done[5].first_token - single.done[5].arrival, 4, 1e-9);
	assert_float_equal(single.done[6].first_token - single.done[6].arrival, 1, 1e-9);
	engine_free(single.engine);
}

static void histograms(void **state)
{
	static struct histogram h;

	assert_true(isnan(histogram_value_at(&h, 0.5)));
	for (int i = 1; i <= 1000; i++)
		histogram_add(&h, i * 1e-3, 1);
	assert_float_equal(histogram_value_at(&h, 0.5), 0.5, 0.5 * 0.04);
	assert_float_equal(histogram_value_at(&h, 0.99), 0.99, 0.99 * 0.04);
	assert_float_equal(h.sum, 500.5, 1e-9);
	histogram_add(&h, 1e30, 1);
	histogram_add(&h, 0, 1);
	assert_true(histogram_value_at(&h, 0) <= 1.1e-6);
	assert_true(histogram_value_at(&h, 1) > 1e7);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(laws_of_conservation), cmocka_unit_test(fast_way_is_exact),
		cmocka_unit_test(overload_ends), cmocka_unit_test(faults_bite_and_heal), cmocka_unit_test(collector_pauses),
		cmocka_unit_test(histograms) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
