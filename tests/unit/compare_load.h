/* What the tests of compare share: runs of the engine model in virtual time, as request records. */
#ifndef GOODPUT_TESTS_COMPARE_LOAD_H
#define GOODPUT_TESTS_COMPARE_LOAD_H

#include "base/rng.h"
#include "compare/compare.h"
#include "engine/engine.h"
#include "unit.h"

#include <math.h>

/* A server whose steps take a fixed time and one for each prompt token; times in seconds. */
struct load_server {
	double step, per_prefill_token, per_decode;
	uint32_t budget; /* max_num_batched_tokens: chunks of prompts */
};

struct load_plan {
	struct load_server server;
	double rate, seconds;
	uint64_t seed;        /* arrivals and prompts */
	uint64_t answer_seed; /* how long the answers are: sampling differs from run to run */
	double answer_scale;  /* of output lengths: a checkpoint that talks longer */
	double prompt_scale;
	bool tokens; /* with deliveries (slower) */
};

static inline double load_cost(const void *context, const struct step_load *load)
{
	const struct load_server *s = context;

	return s->step + s->per_prefill_token * (load->tokens - load->decode_tokens) + s->per_decode * load->decodes;
}

static inline double load_normal(struct rng *r)
{
	double u = 1 - rng_unit(r), v = rng_unit(r);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static inline uint32_t load_length(struct rng *r, double median, double sigma, double least, double most)
{
	return (uint32_t)fmin(fmax(median * exp(sigma * load_normal(r)), least), most);
}

static inline void load_observe(void *context, const struct engine_event *event)
{
	struct records *records = context;
	struct timeline *t = &records->requests.items[event->id];

	if (event->kind == ENGINE_TOKENS)
		deliveries_add(&t->deliveries, llround(event->time * 1e9), event->tokens);
	if (event->kind != ENGINE_FINISHED)
		return;
	t->first_output_ns = t->first_content_ns = llround(event->timeline->first_token * 1e9);
	t->last_output_ns = t->completed_ns = t->closed_ns = llround(event->timeline->last_token * 1e9);
	t->output_tokens = event->timeline->output_tokens;
	t->cached_tokens = event->timeline->cached_tokens;
	t->basis = TOKENS_USAGE;
	t->http_status = 200;
	t->outcome = TIMELINE_OK;
	timeline_set_finish(t, str_from(engine_finish_name(event->timeline->finish)));
}

/* The whole run; free with records_fini. */
static inline void load_run(struct records *records, const struct load_plan *plan)
{
	struct rng arrivals = { plan->seed }, answers = { plan->answer_seed * 77 + plan->seed };
	struct engine_config config;

	records_init(records);
	engine_config_default(&config);
	config.max_num_batched_tokens = plan->server.budget ? plan->server.budget : 8192;
	config.max_num_seqs = 256;
	config.num_gpu_blocks = 40000;
	config.max_model_len = 32768;
	config.chunked_prefill = true;
	config.async_scheduling = false;
	config.cost = (struct step_cost){ load_cost, &plan->server, 0 };
	records->run.window_start_ns = 0;
	records->run.window_end_ns = llround(plan->seconds * 1e9);
	records->run.rate = plan->rate;

	VEC(struct engine_request) requests = { 0 };

	for (double at = -log(1 - rng_unit(&arrivals)) / plan->rate; at < plan->seconds; at -= log(1 - rng_unit(&arrivals)) / plan->rate) {
		struct timeline t;
		uint32_t prompt = load_length(&arrivals, 800 * (plan->prompt_scale ? plan->prompt_scale : 1), 0.9, 16, 12000);
		double median = load_length(&arrivals, 150, 0.6, 8, 800);
		uint32_t output = load_length(&answers, median * (plan->answer_scale ? plan->answer_scale : 1), 0.3, 2, 2000);

		timeline_init(&t);
		t.id = records->requests.count;
		t.intended_ns = t.submitted_ns = llround(at * 1e9);
		t.prompt_tokens = prompt;
		t.asked_tokens = 2000;
		deliveries_reset(&t.deliveries, t.submitted_ns);
		VEC_PUSH(&records->requests, t);
		VEC_PUSH(&requests,
			(struct engine_request){
				.id = t.id, .arrival = at, .prompt_tokens = prompt, .output_tokens = output, .max_tokens = 2000 });
	}
	struct engine *engine = engine_new(&config, load_observe, records);

	engine_want_tokens(engine, plan->tokens);
	VEC_EACH (&requests, r) {
		engine_advance(engine, r->arrival);
		engine_submit(engine, r);
	}
	engine_drain(engine);
	engine_free(engine);
	VEC_FREE(&requests);
	if (!plan->tokens) /* the engine tells first tokens even so */
		VEC_EACH (&records->requests, t)
			deliveries_reset(&t->deliveries, t->submitted_ns);
}

static inline void load_compare(
	const struct records *a, const struct records *b, const struct slo_set *slo, struct arena *arena, struct compare_result *result)
{
	struct compare_side x = { .runs = { a }, .run_count = 1 }, y = { .runs = { b }, .run_count = 1 };

	compare_sides(&x, &y, &(struct compare_options){ .slo = slo }, arena, result);
}

#endif
