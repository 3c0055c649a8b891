/* The scheduler against schedules worked out by hand: each step takes one second. */
#include "engine_probe.h"

static struct probe p;

static struct engine_state seen(void)
{
	struct engine_state state;

	engine_state(p.engine, &state);
	return state;
}

static void finish(void)
{
	assert_true(engine_drain(p.engine));
	assert_true(engine_consistent(p.engine));
	assert_int_equal(seen().running + seen().waiting, 0);
	assert_true(seen().kv_usage == 0);
	engine_free(p.engine);
}

/* Budget 8. Step 1: A 8 of 12. Step 2: A 4, B 4 of 6. Step 3: A decodes, B 2. Step 4: both decode. */
static void chunks_share_a_step(void **state)
{
	struct engine_config config = probe_config(8, 4, 4, 100);

	probe_start(&p, &config);
	probe_ask(&p, 0, 0, 12, 3);
	probe_ask(&p, 1, 0, 6, 2);
	engine_drain(p.engine);
	probe_times(&p, 0, 0, 2, 4);
	probe_times(&p, 1, 1, 3, 4);
	assert_int_equal(seen().counters->steps, 4);
	assert_int_equal(seen().counters->scheduled_tokens, 12 + 2 + 6 + 1);
	finish();
}

/* A long prompt leaves the rest of the budget to others when its share is capped at 3 a step. */
static void long_prefill_is_capped(void **state)
{
	struct engine_config config = probe_config(8, 4, 4, 100);

	config.long_prefill_token_threshold = 3;
	probe_start(&p, &config);
	probe_ask(&p, 0, 0, 7, 1);
	probe_ask(&p, 1, 0, 3, 1);
	engine_drain(p.engine);
	probe_times(&p, 0, 0, 3, 3); /* 3 + 3 + 1 */
	probe_times(&p, 1, 0, 1, 1);
	finish();
}

/* Decodes come first: with a budget of 2 and two decoding requests, a third cannot enter until one ends. */
static void budget_serves_running_first(void **state)
{
	struct engine_config config = probe_config(2, 2, 4, 100);

	config.max_num_seqs = 2;
	probe_start(&p, &config);
	probe_ask(&p, 0, 0, 2, 4); /* steps 1..4 */
	probe_ask(&p, 1, 0, 1, 2); /* step 2 has one token of budget left: first token at 2, second at 3 */
	probe_ask(&p, 2, 0, 1, 1); /* no slot before 3 */
	engine_drain(p.engine);
	probe_times(&p, 0, 0, 1, 4);
	probe_times(&p, 1, 1, 2, 3);
	probe_times(&p, 2, 3, 4, 4);
	finish();
}

/* Head-of-line: B needs 3 blocks, 2 are free; C would fit but stands behind B. */
static void head_of_line_blocks(void **state)
{
	struct engine_config config = probe_config(100, 8, 4, 4);

	probe_start(&p, &config);
	probe_ask(&p, 0, 0, 7, 2); /* two blocks until 2 */
	probe_ask(&p, 1, 0, 12, 1);
	probe_ask(&p, 2, 0, 3, 1);
	engine_drain(p.engine);
	probe_times(&p, 0, 0, 1, 2);
	probe_times(&p, 1, 2, 3, 3);
	probe_times(&p, 2, 2, 3, 3); /* 3 + 1 blocks fit together */
	finish();
}

/* Without reserve_full_isl the first chunk is enough to enter. */
static void first_chunk_may_be_enough(void **state)
{
	struct engine_config config = probe_config(4, 4, 4, 4);

	config.reserve_full_isl = false;
	probe_start(&p, &config);
	probe_ask(&p, 0, 0, 7, 1);
	probe_ask(&p, 1, 0, 12, 1); /* enters at 1 with one token of budget, though 3 blocks are not free */
	engine_advance(p.engine, 1.5);
	assert_int_equal(seen().running, 2);
	finish();
}

/* Five blocks of four. Step 1: A and B, 8 tokens = 2 blocks each. At 1, A takes the fifth block; B finds none and, being last,
 * gives up its own. At 5, A's 13th token takes the block with B's second half. At 8, A ends; B is back with 4 tokens cached, and
 * takes A's two last blocks, of which one (tokens 9..12) had content. */
static void preemption_recomputes(void **state)
{
	struct engine_config config = probe_config(16, 4, 4, 5);

	probe_start(&p, &config);
	probe_ask(&p, 0, 0, 8, 8);
	probe_ask(&p, 1, 0, 8, 4);
	engine_advance(p.engine, 1.5);
	assert_int_equal(p.preempted, 1);
	assert_int_equal(seen().running, 1);
	assert_int_equal(seen().waiting, 1);
	assert_float_equal(seen().kv_usage, 3 / 5.0, 1e-9);
	engine_drain(p.engine);
	probe_times(&p, 0, 0, 1, 8);
	probe_times(&p, 1, 0, 1, 11);
	assert_int_equal(p.done[1].preemptions, 1);
	assert_int_equal(seen().counters->evictions, 2);
	assert_int_equal(seen().counters->recomputed_tokens, 4); /* tokens 5..8; 9 is new */
	assert_int_equal(seen().counters->prefix_queries, 16);   /* the second admission is not counted */
	finish();
}

/* With priorities the least urgent request gives way, although it was admitted first. */
static void priority_chooses_victim(void **state)
{
	struct engine_config config = probe_config(16, 4, 4, 5);
	struct engine_request urgent = { .id = 1, .prompt_tokens = 8, .output_tokens = 4, .max_tokens = 4, .priority = -1 };

	config.policy = ENGINE_PRIORITY;
	probe_start(&p, &config);
	probe_ask(&p, 0, 0, 8, 8);
	engine_submit(p.engine, &urgent);
	engine_drain(p.engine);
	assert_int_equal(p.done[0].preemptions, 1);
	assert_int_equal(p.done[1].preemptions, 0);
	probe_times(&p, 1, 0, 1, 4);
	finish();
}

static void asks_with_content(uint64_t id, double arrival, uint32_t prompt, const uint64_t *ids, uint32_t count)
{
	struct engine_request ask = { .id = id,
		.arrival = arrival,
		.prompt_tokens = prompt,
		.output_tokens = 1,
		.max_tokens = 1,
		.content = { .ids = ids, .id_count = count, .id_tokens = 4, .tokens = prompt } };

	engine_submit(p.engine, &ask);
}

static void prefix_hits_whole_blocks(void **state)
{
	static const uint64_t one[] = { 11, 22, 33 }, two[] = { 11, 22, 44 }, other[] = { 99, 22, 33 };
	struct engine_config config = probe_config(100, 8, 4, 100);

	probe_start(&p, &config);
	asks_with_content(0, 0, 12, one, 3);
	asks_with_content(1, 2, 11, two, 3);   /* shares 8 tokens; its third block is not full */
	asks_with_content(2, 4, 12, one, 3);   /* all 12 are cached, but the last token must be computed: 8 */
	asks_with_content(3, 6, 12, other, 3); /* the chain differs from its first block on: nothing */
	engine_drain(p.engine);
	assert_int_equal(p.done[0].cached_tokens, 0);
	assert_int_equal(p.done[1].cached_tokens, 8);
	assert_int_equal(p.done[2].cached_tokens, 8);
	assert_int_equal(p.done[3].cached_tokens, 0);
	assert_int_equal(seen().counters->prefix_hits, 16);
	assert_int_equal(seen().counters->prefix_queries, 47);
	assert_int_equal(seen().counters->prompt_tokens_cached, 16);
	engine_reset_prefix_cache(p.engine);
	asks_with_content(4, 8, 12, one, 3);
	engine_drain(p.engine);
	assert_int_equal(p.done[4].cached_tokens, 0);
	finish();
}

/* Two requests in the same step share the blocks that the first computes in it. */
static void prefix_hits_in_flight(void **state)
{
	static const uint64_t one[] = { 11, 22, 33 };
	struct engine_config config = probe_config(100, 8, 4, 4);

	probe_start(&p, &config);
	asks_with_content(0, 0, 12, one, 3);
	asks_with_content(1, 0, 12, one, 3); /* two shared blocks and one of its own: four in all */
	engine_advance(p.engine, 0);
	assert_int_equal(seen().running, 2);
	assert_float_equal(seen().kv_usage, 1, 1e-9);
	finish();
}

/* Async: what arrives during step 1 misses step 2; a slot freed by step 1 is taken in step 3. */
static void async_plans_one_step_ahead(void **state)
{
	struct engine_config config = probe_config(100, 2, 4, 100);

	config.async_scheduling = true;
	probe_start(&p, &config);
	probe_ask(&p, 0, 0, 4, 6);
	probe_ask(&p, 1, 0.5, 4, 2);
	probe_ask(&p, 2, 0.6, 4, 1);
	engine_drain(p.engine);
	probe_times(&p, 0, 0, 1, 6);
	probe_times(&p, 1, 2, 3, 4);
	probe_times(&p, 2, 5, 6, 6); /* 1 ends at 4; the step from 4 to 5 was planned before */
	finish();

	config.async_scheduling = false;
	probe_start(&p, &config);
	probe_ask(&p, 0, 0, 4, 6);
	probe_ask(&p, 1, 0.5, 4, 2);
	probe_ask(&p, 2, 0.6, 4, 1);
	engine_drain(p.engine);
	probe_times(&p, 1, 1, 2, 3);
	probe_times(&p, 2, 3, 4, 4);
	finish();
}

/* Async: an end that the scheduler cannot foresee costs one step; max_tokens does not. */
static void async_wastes_a_step_on_stop(void **state)
{
	struct engine_config config = probe_config(100, 2, 4, 100);
	struct engine_request stops = { .id = 0, .prompt_tokens = 4, .output_tokens = 2 };

	config.async_scheduling = true;
	probe_start(&p, &config);
	engine_submit(p.engine, &stops);
	engine_drain(p.engine);
	assert_int_equal(p.done[0].finish, FINISH_STOP);
	assert_int_equal(seen().counters->steps, 3);
	finish();
	probe_start(&p, &config);
	probe_ask(&p, 0, 0, 4, 2);
	engine_drain(p.engine);
	assert_int_equal(p.done[0].finish, FINISH_LENGTH);
	assert_int_equal(seen().counters->steps, 2);
	finish();
}

static void drafts(bool async, double alpha, double ends, uint32_t accepted)
{
	struct engine_config config = probe_config(100, 4, 4, 100);

	config.async_scheduling = async;
	config.spec = (struct spec_config){ .method = SPEC_EAGLE, .drafts = 2, .alpha = alpha };
	probe_start(&p, &config);
	probe_ask(&p, 0, 0, 4, 7);
	engine_drain(p.engine);
	probe_times(&p, 0, 0, 1, ends);
	assert_int_equal(p.tokens[0], 7);
	assert_int_equal(seen().counters->generation_tokens, 7);
	assert_int_equal(seen().counters->accepted_tokens, accepted);
	assert_int_equal(seen().counters->accepted_at[1], accepted / 2);
	assert_int_equal(seen().counters->draft_tokens, seen().counters->drafts * 2);
	finish();
}

/* 1 token from the prompt, then 3 a step when all drafts are accepted, 1 when none is. */
static void speculation(void **state)
{
	drafts(false, 1, 3, 4);
	drafts(true, 1, 3, 4);
	drafts(false, 0, 7, 0);
	drafts(true, 0, 7, 0);
}

/* The drafts count against the budget: two decoding requests with 2 drafts each want 6 of 7; a prompt gets 1. */
static void drafts_use_budget(void **state)
{
	struct engine_config config = probe_config(7, 4, 4, 100);

	config.spec = (struct spec_config){ .method = SPEC_NGRAM, .drafts = 2, .alpha = 0 };
	probe_start(&p, &config);
	probe_ask(&p, 0, 0, 3, 20);
	probe_ask(&p, 1, 0, 3, 20);
	probe_ask(&p, 2, 0.5, 3, 1);
	engine_drain(p.engine);
	probe_times(&p, 2, 1, 4, 4);
	finish();
}

static void spec_means(void **state)
{
	struct spec_config spec = { .method = SPEC_EAGLE, .drafts = 3, .alpha = 0.6, .temperature_slope = 0.5 };
	struct rng rng = { 7 };
	double sum = 0;

	assert_float_equal(spec_mean_tokens(&spec, 0), (1 - 0.6 * 0.6 * 0.6 * 0.6) / 0.4, 1e-12);
	assert_float_equal(spec_rate(&spec, 0, 1), 0.3, 1e-12);
	for (int i = 0; i < 200000; i++)
		sum += 1 + spec_draw(&spec, &rng, 0, 1);
	assert_float_equal(sum / 200000, spec_mean_tokens(&spec, 0), 0.01);
}

/* D holds the blocks while the KV travels, computes the last token itself, and answers one step later. */
static void remote_prefill(void **state)
{
	struct engine_config config = probe_config(100, 4, 4, 10);
	struct engine_request ask = { .id = 0, .prompt_tokens = 8, .output_tokens = 2, .max_tokens = 2, .remote_prefill = true };

	probe_start(&p, &config);
	engine_submit(p.engine, &ask);
	engine_advance(p.engine, 0.5);
	assert_int_equal(p.transfers, 1);
	assert_int_equal(seen().deferred, 1);
	assert_int_equal(seen().running, 0);
	assert_float_equal(seen().kv_usage, 0.2, 1e-9);
	engine_transfer_done(p.engine, p.wanted[0], 3, false, false);
	engine_drain(p.engine);
	probe_times(&p, 0, 3, 4, 5);
	assert_int_equal(seen().counters->scheduled_tokens, 2);
	assert_int_equal(seen().counters->prompt_tokens_remote, 7);
	finish();
}

static void transfer_failure(void **state)
{
	struct engine_config config = probe_config(100, 4, 4, 10);
	struct engine_request ask = { .id = 0, .prompt_tokens = 8, .output_tokens = 2, .max_tokens = 2, .remote_prefill = true };

	probe_start(&p, &config);
	engine_submit(p.engine, &ask);
	ask.id = 1;
	engine_submit(p.engine, &ask);
	engine_advance(p.engine, 0);
	engine_transfer_done(p.engine, p.wanted[0], 1, true, false);
	assert_int_equal(p.done[0].finish, FINISH_ERROR);
	assert_non_null(p.reason);
	engine_transfer_done(p.engine, p.wanted[1], 1, true, true);
	engine_drain(p.engine);
	assert_int_equal(p.done[1].finish, FINISH_LENGTH);
	assert_int_equal(seen().counters->scheduled_tokens, 9); /* the prompt is computed here after all */
	assert_int_equal(seen().counters->transfers_failed, 2);
	finish();
}

static void kept_blocks(void **state)
{
	struct engine_config config = probe_config(100, 4, 4, 10);
	struct engine_request ask = { .id = 0, .prompt_tokens = 8, .output_tokens = 1, .max_tokens = 1, .keep_blocks = true };
	engine_handle handle;

	probe_start(&p, &config);
	handle = engine_submit(p.engine, &ask);
	engine_drain(p.engine);
	assert_int_equal(p.ended[0], 1);
	assert_float_equal(seen().kv_usage, 0.2, 1e-9);
	assert_true(engine_release_kept(p.engine, handle));
	assert_false(engine_release_kept(p.engine, handle));
	finish();
}

static void refusals(void **state)
{
	struct engine_config config = probe_config(100, 4, 4, 10);

	probe_start(&p, &config);
	assert_int_equal(probe_ask(&p, 0, 0, 1000, 1), 0);
	assert_int_equal(p.done[0].finish, FINISH_REJECTED);
	assert_int_equal(probe_ask(&p, 1, 0, 41, 1), 0); /* 42 tokens, 10 blocks of 4 */
	assert_non_null(strstr(p.reason, "KV cache"));
	assert_int_equal(probe_ask(&p, 2, 0, 0, 1), 0);
	assert_true(probe_ask(&p, 3, 0, 38, 2) != 0);
	assert_int_equal(seen().counters->finished[FINISH_REJECTED], 3);
	finish();
}

static void aborts(void **state)
{
	struct engine_config config = probe_config(100, 1, 4, 10);
	engine_handle running, waiting, coming;

	probe_start(&p, &config);
	running = probe_ask(&p, 0, 0, 8, 9);
	waiting = probe_ask(&p, 1, 0, 8, 9);
	coming = probe_ask(&p, 2, 5, 8, 9);
	engine_advance(p.engine, 2.5);
	assert_true(engine_abort(p.engine, waiting));
	assert_true(engine_abort(p.engine, coming));
	assert_true(engine_consistent(p.engine));
	assert_true(engine_abort(p.engine, running));
	assert_false(engine_abort(p.engine, running));
	assert_true(seen().kv_usage == 0);
	assert_int_equal(seen().counters->finished[FINISH_ABORT], 3);
	assert_int_equal(p.tokens[0], 2); /* the step in flight brings nothing more */
	finish();
	assert_int_equal(p.tokens[0], 2);
}

static void config_errors(void **state)
{
	struct engine_config config = probe_config(4, 8, 4, 10);
	struct error e = { 0 };

	assert_false(engine_config_check(&config, &e));
	assert_non_null(strstr(e.message, "max-num-batched-tokens (4) is below max-num-seqs (8)"));
	config = probe_config(8, 8, 4, 10);
	assert_true(engine_config_check(&config, &e));
	config.chunked_prefill = false;
	assert_false(engine_config_check(&config, &e));
	assert_non_null(strstr(e.message, "chunked prefill"));
	config = probe_config(8, 8, 4, 0);
	assert_false(engine_config_check(&config, &e));
	config = probe_config(8, 8, 4, 10);
	config.spec = (struct spec_config){ .method = SPEC_MTP, .drafts = 99 };
	assert_false(engine_config_check(&config, &e));
	assert_non_null(strstr(e.message, "99"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(chunks_share_a_step), cmocka_unit_test(long_prefill_is_capped),
		cmocka_unit_test(budget_serves_running_first), cmocka_unit_test(head_of_line_blocks),
		cmocka_unit_test(first_chunk_may_be_enough), cmocka_unit_test(preemption_recomputes),
		cmocka_unit_test(priority_chooses_victim), cmocka_unit_test(prefix_hits_whole_blocks),
		cmocka_unit_test(prefix_hits_in_flight), cmocka_unit_test(async_plans_one_step_ahead),
		cmocka_unit_test(async_wastes_a_step_on_stop), cmocka_unit_test(speculation), cmocka_unit_test(drafts_use_budget),
		cmocka_unit_test(spec_means), cmocka_unit_test(remote_prefill), cmocka_unit_test(transfer_failure),
		cmocka_unit_test(kept_blocks), cmocka_unit_test(refusals), cmocka_unit_test(aborts), cmocka_unit_test(config_errors) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
