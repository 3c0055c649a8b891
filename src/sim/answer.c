/* A request on its way through an engine: completions are submitted, events come back, the end is counted. */
#include "sim/internal.h"

#include "base/clock.h"
#include "base/hash.h"

#include <math.h>

/* ---- life ---- */

struct answer *answer_new(struct replica *r)
{
	struct answer *a = NEW(struct answer);

	arena_init(&a->arena);
	buf_init(&a->opening, 4096);
	a->replica = r;
	a->began = sim_now(r->sim);
	a->status = 200;
	return a;
}

static void link_answer(struct answer *a)
{
	struct replica *r = a->replica;

	a->next = r->answers;
	if (a->next)
		a->next->previous = a;
	r->answers = a;
}

/* Out of the living, into the list of those that may be freed when no engine is at work. */
static void retire(struct answer *a)
{
	struct replica *r = a->replica;

	if (a->previous)
		a->previous->next = a->next;
	else
		r->answers = a->next;
	if (a->next)
		a->next->previous = a->previous;
	a->previous = NULL;
	a->next = r->over;
	r->over = a;
}

static void answer_free(struct answer *a)
{
	buf_fini(&a->opening);
	arena_fini(&a->arena);
	mem_free(a);
}

void answers_free_over(struct replica *r)
{
	while (r->over) {
		struct answer *a = r->over;

		r->over = a->next;
		answer_free(a);
	}
}

static void count_web(const struct answer *a)
{
	struct replica *r = a->replica;

	web_count(&r->web, "POST", a->request.chat ? "/v1/chat/completions" : "/v1/completions", a->status, sim_now(r->sim) - a->began,
		a->request_bytes, 0);
}

/* ---- handing out ---- */

void answer_changed(struct answer *a)
{
	struct simulator *sim = a->replica->sim;

	if (a->changed || a->done)
		return;
	a->changed = true;
	a->changed_next = NULL;
	if (!sim->changed)
		sim->changed_end = &sim->changed;
	*sim->changed_end = a;
	sim->changed_end = &a->changed_next;
}

static bool reached_cut(const struct answer *a)
{
	return a->cut_after && a->choices[0].said >= a->cut_after;
}

/* The stream breaks off: the client sees a reset, the engine an abort. */
static void break_off(struct answer *a)
{
	struct exchange *x = a->exchange;

	a->exchange = NULL;
	if (x)
		exchange_cut(x);
	answer_abandon(a);
}

static void hand_out(struct answer *a)
{
	if (reached_cut(a))
		break_off(a);
	for (uint32_t i = 0; i < a->count && !a->error.ptr; i++)
		deliver_choice(&a->choices[i]);
	if (a->live)
		return;
	a->done = true;
	deliver_end(a);
	count_web(a);
	retire(a);
}

void answers_hand_out(struct simulator *sim)
{
	while (sim->changed) {
		struct answer *a = sim->changed;

		sim->changed = a->changed_next;
		a->changed = false;
		if (!a->done)
			hand_out(a);
	}
}

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
	link_answer(a);
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

/* ---- events ---- */

static void on_tokens(struct choice *c, const struct engine_event *event)
{
	struct sim_engine *at = c->at;
	double hold = c->answer->replica->effect.hold;

	if (c->said == c->sent)
		c->due = event->time;
	c->said += event->tokens;
	if (event->first)
		meter_add(&at->meter, HISTOGRAM_TTFT, event->time - c->answer->began);
	else if (hold > 0 && c->said < c->output && event->time - c->delivered < hold)
		return; /* a slow API server: more tokens will come with these */
	else
		meter_add(&at->meter, HISTOGRAM_ITL, event->time - c->delivered);
	c->delivered = event->time;
	answer_changed(c->answer);
}

static void on_transfer(struct choice *c, const struct engine_event *event)
{
	const struct setup *s = c->at->replica->sim->setup;
	const struct transfer_config *t = &s->transfer;
	struct meter *m = &c->at->meter;
	double bytes = t->bytes_per_token * c->prompt->tokens, descriptors, seconds;

	/* facts: bandwidth of one NIC at 75 % of 400 Gbit/s, or 2.5 microseconds a descriptor, after 1.8 ms */
	descriptors = t->descriptors_per_block * ceil((double)c->prompt->tokens / s->engine.block_size);
	seconds = 0.0018 + fmax(bytes / 37.5e9, descriptors * 2.5e-6);
	meter_add(m, HISTOGRAM_XFER, seconds);
	meter_add(m, HISTOGRAM_POST, 0.0018);
	meter_add(m, HISTOGRAM_BYTES, bytes);
	meter_add(m, HISTOGRAM_DESCRIPTORS, descriptors);
	engine_transfer_done(c->at->engine, event->handle, event->time + seconds, false, t->recompute);
}

static void on_finished(struct choice *c, const struct engine_event *event)
{
	struct answer *a = c->answer;
	enum engine_finish how = event->timeline->finish;

	c->handle = 0;
	a->live--;
	if (how == FINISH_STOP || how == FINISH_LENGTH) {
		c->finish = c->stopped ? "stop" : "length";
		meter_finished(&c->at->meter, event->timeline, event->time, a->request.n, a->request.max_tokens);
	} else if ((how == FINISH_ERROR || how == FINISH_REJECTED) && !a->error.ptr) {
		a->status = how == FINISH_REJECTED ? 400 : 500;
		a->error = arena_str(&a->arena, str_from(event->reason ? event->reason : "the engine failed"));
	}
	answer_changed(a);
}

void answer_observe(void *context, const struct engine_event *event)
{
	struct choice *c = (struct choice *)(uintptr_t)event->id;

	switch (event->kind) {
	case ENGINE_TOKENS: on_tokens(c, event); break;
	case ENGINE_TRANSFER_WANTED: on_transfer(c, event); break;
	case ENGINE_FINISHED: on_finished(c, event); break;
	default: break;
	}
}

/* ---- ends from outside ---- */

void answer_abandon(struct answer *a)
{
	a->exchange = NULL;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->choices[i].handle)
			engine_abort(a->choices[i].at->engine, a->choices[i].handle);
}

void answer_drop_all(struct replica *r)
{
	while (r->answers) {
		struct answer *a = r->answers;

		if (a->exchange)
			exchange_cut(a->exchange);
		a->done = true;
		retire(a);
	}
	answers_hand_out(r->sim); /* forgets those that are done */
	answers_free_over(r);
}
