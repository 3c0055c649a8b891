/* What the tests of the engine share: steps of fixed length, and a record of what happened to each request. */
#ifndef GOODPUT_TESTS_ENGINE_PROBE_H
#define GOODPUT_TESTS_ENGINE_PROBE_H

#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { PROBE_MAX = 4096 };

struct probe {
	struct engine *engine;
	struct engine_timeline done[PROBE_MAX];
	uint32_t tokens[PROBE_MAX], ended[PROBE_MAX], preempted, transfers;
	engine_handle wanted[PROBE_MAX];
	const char *reason;
	bool check; /* engine_consistent at every end */
};

static inline void probe_observe(void *context, const struct engine_event *event)
{
	struct probe *p = context;

	if (event->kind == ENGINE_TOKENS)
		p->tokens[event->id] += event->tokens;
	if (event->kind == ENGINE_PREEMPTED)
		p->preempted++;
	if (event->kind == ENGINE_TRANSFER_WANTED)
		p->wanted[p->transfers++] = event->handle;
	if (event->kind == ENGINE_FINISHED) {
		p->done[event->id] = *event->timeline;
		p->ended[event->id]++;
		p->reason = event->reason;
	}
}

/* Every step takes one second. */
static inline double probe_second(const void *context, const struct step_load *load)
{
	return 1;
}

/* Small numbers, no front end, synchronous: schedules that fit on paper. */
static inline struct engine_config probe_config(uint32_t budget, uint32_t seqs, uint32_t block, uint32_t blocks)
{
	struct engine_config config;

	engine_config_default(&config);
	config.max_num_batched_tokens = budget;
	config.max_num_seqs = seqs;
	config.block_size = block;
	config.num_gpu_blocks = blocks + 1; /* and the null block */
	config.max_model_len = 1000;
	config.front_end_fixed = config.front_end_per_token = config.front_end_busy = config.front_end_busy_per_token = 0;
	config.async_scheduling = false;
	config.cost = (struct step_cost){ probe_second, NULL, 0 };
	return config;
}

static inline void probe_start(struct probe *p, const struct engine_config *config)
{
	*p = (struct probe){ 0 };
	p->engine = engine_new(config, probe_observe, p);
	engine_want_tokens(p->engine, true);
}

static inline engine_handle probe_ask(struct probe *p, uint64_t id, double arrival, uint32_t prompt, uint32_t output)
{
	return engine_submit(
		p->engine, &(struct engine_request){
				   .id = id, .arrival = arrival, .prompt_tokens = prompt, .output_tokens = output, .max_tokens = output });
}

#define probe_times(p, id, at_scheduled, at_first, at_last)                                                                                \
	do {                                                                                                                               \
		assert_float_equal((p)->done[id].scheduled, at_scheduled, 1e-9);                                                           \
		assert_float_equal((p)->done[id].first_token, at_first, 1e-9);                                                             \
		assert_float_equal((p)->done[id].last_token, at_last, 1e-9);                                                               \
	} while (0)

#endif
