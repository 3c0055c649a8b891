/* A request's life: begun, handed out bit by bit, over. submit.c gives it to an engine, events.c hears what comes back. */
#include "sim/internal.h"

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

void answer_link(struct answer *a)
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
	return a->cut_after && a->choices[0].ready >= a->cut_after;
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

/* ---- ends from outside ---- */

void answer_abandon(struct answer *a)
{
	a->exchange = NULL;
	for (uint32_t i = 0; i < a->count; i++) {
		struct choice *c = &a->choices[i];

		if (c->handle)
			engine_abort(c->at->engine, c->handle);
		else if (c->ended && !c->finish && c->timeline.finish <= FINISH_LENGTH)
			choice_end(c, c->delivered); /* the engine was done, the front end was not */
	}
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
