/* What the engines tell, as vLLM's front end hears and measures it. */
#include "sim/internal.h"

#include <math.h>

/* Tokens become ready: vLLM's front end stamps them, and so its figures are the front end's. */
static void make_ready(struct choice *c, uint32_t upto, double now)
{
	struct meter *m = &c->at->meter;

	if (c->ready == c->sent)
		c->due = now;
	if (!c->ready)
		meter_add(m, HISTOGRAM_TTFT, now - c->answer->began);
	else
		meter_add(m, HISTOGRAM_ITL, now - c->delivered);
	c->ready = upto;
	c->delivered = now;
	answer_changed(c->answer);
}

void choice_end(struct choice *c, double now)
{
	const struct openai_request *q = &c->answer->request;

	c->answer->live--;
	c->finish = c->stopped ? "stop" : "length";
	meter_finished(&c->at->meter, &c->timeline, now, q->n, q->max_tokens);
	answer_changed(c->answer);
}

static void on_tokens(struct choice *c, const struct engine_event *event)
{
	bool behind = c->ready < c->said || (c->ready && c->answer->replica->effect.pace > 0);

	c->said += event->tokens;
	if (!behind)
		make_ready(c, c->said, event->time);
}

/* One token for each time the pace has passed; all of them once the fault is over. */
static void catch_up(struct choice *c, double pace, double now)
{
	while (c->ready < c->said && (pace <= 0 || c->delivered + pace <= now))
		make_ready(c, pace > 0 ? c->ready + 1 : c->said, pace > 0 ? c->delivered + pace : now);
	c->due = now; /* the delay is the fault's, not this program's */
	if (c->ended && !c->finish && c->ready == c->said)
		choice_end(c, c->delivered);
}

void answers_catch_up(struct replica *r)
{
	double now = sim_now(r->sim);

	for (struct answer *a = r->answers; a; a = a->next)
		for (uint32_t i = 0; i < a->count; i++)
			catch_up(&a->choices[i], r->effect.pace, now);
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

static void fail(struct choice *c, enum engine_finish how, const char *reason)
{
	struct answer *a = c->answer;

	a->live--;
	if (how != FINISH_ABORT && !a->error.ptr) {
		a->status = how == FINISH_REJECTED ? 400 : 500;
		a->error = arena_str(&a->arena, str_from(reason ? reason : "the engine failed"));
	}
	answer_changed(a);
}

static void on_finished(struct choice *c, const struct engine_event *event)
{
	enum engine_finish how = event->timeline->finish;

	c->handle = 0;
	c->ended = true;
	c->timeline = *event->timeline;
	if (how != FINISH_STOP && how != FINISH_LENGTH)
		fail(c, how, event->reason);
	else if (c->ready == c->said)
		choice_end(c, event->time);
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
