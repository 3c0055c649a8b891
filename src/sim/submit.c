/* What the model will say to a request, and its way into the engines. */
#include "sim/internal.h"

#include "base/hash.h"

#include <math.h>

/* ---- what the model will say ---- */

static double uniform(uint64_t hash)
{
	return (double)(rng_mix(hash) >> 11) * 0x1p-53;
}

/* Log-normal around the mean, from the text's seed: the same prompt at temperature 0 always gets the same answer. */
static uint32_t natural_length(const struct setup *s, uint64_t seed)
{
	double normal = sqrt(-2 * log(1 - uniform(seed + 1))) * cos(6.283185307179586 * uniform(seed + 2));
	double tokens = s->answer_tokens * exp(0.7 * normal - 0.245);

	return tokens < 1 ? 1 : tokens > 1e8 ? 100000000 : (uint32_t)tokens;
}

static void plan_text(struct choice *c, const struct openai_request *q, uint32_t room, uint32_t natural)
{
	uint32_t output = q->ignore_eos ? room : natural < q->min_tokens ? q->min_tokens : natural;
	struct words_end end;

	c->output = output < room ? output : room;
	c->stopped = output <= room && !q->ignore_eos;
	c->words = c->stopped ? c->output - 1 : c->output; /* the last one is the end-of-sequence token */
	end = words_find_stop(c->seed, c->words, q->min_tokens, q->stops, q->stop_count, q->include_stop);
	c->bytes = end.bytes;
	if (end.stopped) {
		c->output = c->words = end.tokens;
		c->stopped = true;
	}
}

static uint64_t text_seed(struct answer *a, const struct prompt *p, uint32_t index)
{
	uint64_t again = a->request.temperature > 0 ? ++a->replica->serial : 0;

	return hash_seeded(&p->hash, sizeof p->hash, a->replica->sim->setup->seed + again * 31 + index);
}

/* ---- submitting ---- */

static void submit(struct choice *c, uint32_t room)
{
	const struct answer *a = c->answer;
	const struct openai_request *q = &a->request;
	struct engine_request ask = { .id = (uint64_t)(uintptr_t)c,
		.arrival = a->began,
		.prompt_tokens = c->prompt->tokens,
		.output_tokens = c->output,
		.max_tokens = room,
		.priority = q->priority,
		.temperature = (float)q->temperature,
		.content = c->content,
		.remote_prefill = q->do_remote_prefill };

	c->handle = engine_submit(c->at->engine, &ask);
}

static void set_content(struct choice *c, const struct openai_request *q)
{
	const struct prompt *p = c->prompt;
	uint64_t described = (uint64_t)p->id_count * p->block;

	c->content = (struct content){ .ids = p->ids,
		.id_count = p->id_count,
		.id_tokens = p->block,
		.tokens = described < p->tokens ? (uint32_t)described : p->tokens,
		.salt = q->salt };
}

static void prepare_choices(struct answer *a)
{
	const struct openai_request *q = &a->request;

	a->count = (uint32_t)q->prompt_count * q->n;
	a->choices = ARENA_ARRAY(&a->arena, struct choice, a->count);
	for (uint32_t i = 0; i < a->count; i++) {
		struct choice *c = &a->choices[i];

		*c = (struct choice){
			.answer = a, .at = replica_pick(a->replica), .index = i, .prompt = &q->prompts[i / q->n], .bytes = SIZE_MAX
		};
		c->seed = text_seed(a, c->prompt, i);
		set_content(c, q);
	}
}

static void maybe_cut(struct answer *a)
{
	struct replica *r = a->replica;

	if (r->effect.cut_streams > 0 && rng_unit(&r->rng) < r->effect.cut_streams)
		a->cut_after = 1 + (uint32_t)rng_below(&r->rng, a->choices[0].output);
}

static void submit_all(struct answer *a)
{
	uint32_t max_len = a->replica->sim->setup->engine.max_model_len;

	maybe_cut(a);
	answer_link(a);
	a->live = a->count;
	for (uint32_t i = 0; i < a->count; i++)
		submit(&a->choices[i], openai_room(&a->request, a->choices[i].prompt, max_len));
}

void answer_start(struct answer *a, struct exchange *x)
{
	const struct setup *s = a->replica->sim->setup;
	struct openai_request *q = &a->request;

	a->exchange = x;
	if (x)
		exchange_set_user(x, a);
	prepare_choices(a);
	for (uint32_t i = 0; i < a->count; i++)
		plan_text(&a->choices[i], q, openai_room(q, a->choices[i].prompt, s->engine.max_model_len),
			natural_length(s, a->choices[i].seed));
	if (q->stream)
		reply_opening(&a->reply, &a->opening);
	submit_all(a);
}

/* A request of the server's own traffic. What does not fit the context is cut, as a well-behaved client would do. */
void answer_self(struct replica *r, const struct traffic_request *t)
{
	uint32_t max_len = r->sim->setup->engine.max_model_len;
	struct answer *a;
	struct prompt *p;

	if (!r->server || r->stale) /* nobody there; or everybody has just left */
		return;
	if (r->effect.http_500 > 0 && rng_unit(&r->rng) < r->effect.http_500) {
		web_count(&r->web, "POST", "/v1/completions", 500, 0.001, 0, 0);
		return;
	}
	a = answer_new(r);
	p = ARENA_NEW(&a->arena, struct prompt);
	*p = (struct prompt){ .tokens = t->prompt_tokens < max_len - 1 ? t->prompt_tokens : max_len - 1,
		.block = t->id_tokens,
		.ids = t->ids,
		.id_count = t->id_count,
		.hash = ++r->serial };
	a->self = true;
	a->request = (struct openai_request){ .prompts = p,
		.prompt_count = 1,
		.n = 1,
		.max_tokens = max_len,
		.temperature = t->temperature,
		.stream = true,
		.do_remote_prefill = r->sim->setup->transfer.on };
	prepare_choices(a);
	plan_text(a->choices, &a->request, max_len - p->tokens, t->output_tokens);
	submit_all(a);
}
