/* A row of serving.tsv as a deployment under a load, and the simulated run of it. */
#include "validate.h"

#include "base/hash.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>

static bool mentions(struct str text, const char *word)
{
	return str_search(text, str_from(word)) >= 0;
}

/* "1024", "547*", "~215", "sharegpt~857" */
static double length_of(struct str text)
{
	double value;

	while (text.len && (text.ptr[0] < '0' || text.ptr[0] > '9'))
		text = str_skip(text, 1);
	while (text.len && (text.ptr[text.len - 1] < '0' || text.ptr[text.len - 1] > '9'))
		text.len--;
	return number_parse(text, &value) ? value : NAN;
}

/* vLLM plans a step ahead by default since 0.14; the InferenceX harness asks for it in all its versions. */
static bool plans_ahead(struct str engine, struct str notes)
{
	double minor = note_number(engine, "vllm-0.");

	return mentions(notes, "InferenceX") || !(minor < 14);
}

static void read_parallel(struct deployment *d, struct str notes, double tp)
{
	double attention = note_number(notes, "attn_dp"), ep = note_number(notes, "moe_ep");

	d->tp = (uint32_t)tp;
	d->expert_parallel = ep > 1 || mentions(notes, "+EP") || mentions(notes, "+ EP");
	if (mentions(notes, "attention DP")) {
		double ranks = note_number(notes, "attention DP");
		d->dp = (uint32_t)ranks;
		d->tp = d->tp > d->dp ? d->tp / d->dp : 1;
	}
	if (attention > 1) { /* tp is then the attention's own, except where it counts all GPUs of one expert group */
		d->dp = (uint32_t)attention;
		d->tp = ep > attention * tp ? (uint32_t)(ep / attention) : d->tp;
	}
}

static void read_limits(struct served *s, struct str notes, bool inferencex)
{
	struct deployment *d = &s->deployment;
	double seqs = note_number(notes, "max_num_seqs"), budget = note_number(notes, "max_num_batched_tokens");

	d->gpu_memory_utilization = 0.9;
	if (inferencex)
		d->max_num_batched_tokens = 8192;
	if (mentions(notes, "all lengths fixed")) /* TPOT times prompt tokens per second at saturation leaves at most 3000 tokens a step */
		d->max_num_batched_tokens = 2048;
	if (seqs > 0)
		d->max_num_seqs = (uint32_t)seqs;
	if (budget > 0)
		d->max_num_batched_tokens = (uint32_t)budget;
	if (d->max_num_batched_tokens < d->max_num_seqs)
		d->max_num_seqs = d->max_num_batched_tokens;
	d->kv_8bit = mentions(notes, "KV cache dtype fp8");
	s->blocks = mentions(notes, "kv blocks") ? note_number(notes, "kv blocks") : note_before(notes, " blocks of 16");
	if (mentions(notes, "MTP"))
		d->spec = (struct spec_config){ .method = SPEC_MTP, .drafts = (uint32_t)note_number(notes, "MTP"), .alpha = 0.3 };
}

static bool read_load(struct served *s, struct str load, struct str notes, bool inferencex)
{
	double c = note_number(load, "c="), rate = note_number(load, "rate="), prompts = note_before(notes, " prompts");
	double requests = note_before(load, " requests");

	s->concurrency = c;
	s->rate = rate;
	s->seconds = note_number(load, "for");
	s->prompts = prompts > 0 ? (uint32_t)prompts : requests > 0 ? (uint32_t)requests : c > 0 ? (uint32_t)(10 * c) : 1000;
	s->shortest = inferencex ? 0.8 : mentions(notes, "+-15%") ? 0.85 : 1;
	if (mentions(notes, "system prompts of")) {
		s->groups = (uint32_t)note_before(notes, " system prompts of");
		s->users = (uint32_t)note_number(notes, " x"); /* each asks the same question again and again */
		s->shared = (uint32_t)note_number(notes, "system prompts of");
	}
	return c > 0 || rate > 0;
}

static bool find_tables(struct runner *run, const struct tsv *tsv, size_t row, struct served *s, const char **why)
{
	const struct model_shape *model = tables_model(&run->tables, tsv_text(tsv, row, "model"), NULL);
	const struct gpu *gpu = tables_gpu(&run->tables, tsv_text(tsv, row, "gpu"), NULL);

	*why = !model ? "model not in the table" : !gpu ? "GPU not stated or not in the table" : NULL;
	if (*why)
		return false;
	deployment_default(&s->deployment, model, gpu);
	if (!precision_parse(tsv_text(tsv, row, "precision"), &s->deployment.weights, NULL))
		*why = "precision not known";
	return *why == NULL;
}

static void make_config(const struct runner *run, struct served *s, uint64_t seed)
{
	struct engine_config *c = &s->config;
	const struct deployment *d = &s->deployment;
	struct memory_ledger ledger;

	engine_config_default(c);
	/* a data-parallel group is one engine with the sum of its ranks' limits */
	c->max_num_seqs = d->max_num_seqs * d->dp;
	c->max_num_batched_tokens = d->max_num_batched_tokens * d->dp;
	c->async_scheduling = d->async_scheduling;
	c->max_model_len = 131072;
	c->spec = d->spec;
	c->seed = seed;
	if (run->front_end[0] >= 0) {
		c->front_end_fixed = run->front_end[0];
		c->front_end_per_token = run->front_end[1];
		c->front_end_busy = run->front_end[2];
		c->front_end_busy_per_token = run->front_end[3];
	}
	memory_ledger(d, &ledger);
	c->num_gpu_blocks = (s->blocks > 1 ? (uint32_t)s->blocks : ledger.blocks) * d->dp;
}

bool served_read(struct runner *run, const struct tsv *tsv, size_t row, struct served *s, const char **why)
{
	struct str notes = tsv_text(tsv, row, "notes"), engine = tsv_text(tsv, row, "engine"), mode = tsv_text(tsv, row, "mode");
	bool inferencex = mentions(notes, "InferenceX");

	*s = (struct served){ .blocks = NAN };
	if (!find_tables(run, tsv, row, s, why))
		return false;
	*why = NULL;
	if (mentions(mode, "disagg"))
		*why = "disaggregated";
	else if (mentions(engine, "sglang"))
		*why = "not vLLM";
	else if (mentions(engine, "V0"))
		*why = "V0 engine";
	else if (mentions(mode, "2xTP4"))
		*why = "two instances behind a router";
	if (!*why && !(tsv_number(tsv, row, "tp") >= 1))
		*why = "number of GPUs not stated";
	if (*why)
		return false;
	read_parallel(&s->deployment, notes, tsv_number(tsv, row, "tp"));
	read_limits(s, notes, inferencex);
	s->deployment.async_scheduling = plans_ahead(engine, notes);
	if (!*why && !read_load(s, tsv_text(tsv, row, "concurrency_or_rate"), notes, inferencex))
		*why = "load not stated";
	s->isl = length_of(tsv_text(tsv, row, "isl"));
	s->osl = length_of(tsv_text(tsv, row, "osl"));
	if (!*why && !(s->isl >= 1 && s->isl < 131072 && s->osl >= 1 && s->osl < 131072))
		*why = "lengths not stated";
	s->foreign = str_is(tsv_text(tsv, row, "stat"), "central-unspecified");
	make_config(run, s, hash_bytes(tsv_text(tsv, row, "id").ptr, tsv_text(tsv, row, "id").len));
	if (!*why && s->config.num_gpu_blocks < s->isl / 16)
		*why = "does not fit by our memory model";
	return *why == NULL;
}

/* A run: submits the load, notes what comes back. */
struct run {
	const struct served *s;
	struct engine *engine;
	struct outcome *outcome;
	struct rng rng;
	uint32_t sent, wanted;
	uint64_t tokens, ids[64][64];
};

static uint32_t jitter(struct run *r, double length)
{
	double low = r->s->shortest * length;

	return (uint32_t)(low + rng_unit(&r->rng) * (length - low) + 0.5);
}

static void send(struct run *r, double at)
{
	const struct served *s = r->s;
	struct engine_request ask = {
		.id = r->sent, .arrival = at, .prompt_tokens = jitter(r, s->isl), .output_tokens = jitter(r, s->osl)
	};

	ask.max_tokens = ask.output_tokens;
	if (s->groups) {
		uint32_t group = (uint32_t)rng_below(&r->rng, s->groups) % 64, user = (uint32_t)rng_below(&r->rng, s->users ? s->users : 1);
		uint64_t *ids = r->ids[(group * s->users + user) % 64];
		for (uint32_t i = 0; i < 64; i++)
			ids[i] = i == 0 ? group : group * 10000 + user * 100 + i;
		ask.content = (struct content){ .ids = ids, .id_count = 64, .id_tokens = s->shared, .tokens = ask.prompt_tokens };
	}
	r->sent++;
	engine_submit(r->engine, &ask);
}

static void on_event(void *context, const struct engine_event *event)
{
	struct run *r = context;
	const struct engine_timeline *t = event->timeline;

	if (event->kind != ENGINE_FINISHED)
		return;
	if (t->output_tokens > 0) {
		VEC_PUSH(&r->outcome->ttft, t->first_token - t->arrival);
		VEC_PUSH(&r->outcome->e2e, t->last_token - t->arrival);
		if (t->output_tokens > 1)
			VEC_PUSH(&r->outcome->tpot, (t->last_token - t->first_token) / (t->output_tokens - 1));
		r->tokens += t->output_tokens;
	}
	if (!(r->s->rate > 0) && r->sent < r->wanted)
		send(r, event->time);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double quantile_of(const double *sorted, size_t count, double q)
{
	double at = q * (double)(count - 1);
	size_t low = (size_t)at;

	if (count == 0)
		return NAN;
	return low + 1 < count ? sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low]) : sorted[count - 1];
}

static double sort_and_mean(double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	if (count)
		qsort(values, count, sizeof *values, by_value);
	return count ? sum / (double)count : NAN;
}

void served_run(const struct served *s, double factor, double front_end, struct outcome *outcome)
{
	struct cost *cost = cost_new(&s->deployment);
	struct engine_config config = s->config;
	struct run r = { .s = s, .outcome = outcome, .rng = { config.seed } };
	uint32_t first = (uint32_t)fmax(1, s->concurrency);

	*outcome = (struct outcome){ 0 };
	cost_scale(cost, factor);
	config.cost = cost_function(cost);
	config.front_end_fixed *= front_end;
	config.front_end_per_token *= front_end;
	config.front_end_busy *= front_end;
	config.front_end_busy_per_token *= front_end;
	r.wanted = (uint32_t)fmax(first, s->rate > 0 && s->seconds > 0 ? s->rate * s->seconds : s->prompts);
	r.engine = engine_new(&config, on_event, &r);
	for (double at = 0; r.sent < r.wanted && (s->rate > 0 || r.sent < first); at += s->rate > 0 ? 1 / s->rate : 0)
		send(&r, at);
	engine_drain(r.engine);
	outcome->throughput = (double)r.tokens / engine_now(r.engine);
	outcome->ttft_mean = sort_and_mean(outcome->ttft.items, outcome->ttft.count);
	outcome->tpot_mean = sort_and_mean(outcome->tpot.items, outcome->tpot.count);
	outcome->e2e_mean = sort_and_mean(outcome->e2e.items, outcome->e2e.count);
	engine_free(r.engine);
	cost_free(cost);
}

void outcome_free(struct outcome *o)
{
	VEC_FREE(&o->ttft);
	VEC_FREE(&o->tpot);
	VEC_FREE(&o->e2e);
}
