/* The engine's clock: steps follow each other; with async scheduling a step is planned while the one before runs. */
#include "engine/internal.h"

#include <math.h>

const char *engine_finish_name(enum engine_finish finish)
{
	static const char *const names[] = { "stop", "length", "abort", "error", "rejected" };

	return names[finish];
}

struct engine *engine_new(const struct engine_config *config, engine_observer *observer, void *context)
{
	struct engine *e = NEW(struct engine);

	e->config = *config;
	e->observer = observer;
	e->context = context;
	e->rng.state = config->seed;
	e->waiting = e->remote = (struct queue){ NO_SLOT, NO_SLOT, 0 };
	e->flight = &e->batches[0];
	e->next = &e->batches[1];
	e->blocked_slot = NO_SLOT;
	kv_init(&e->pool, config->num_gpu_blocks - 1); /* without the null block */
	host_init(&e->host, &config->host);
	return e;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->slots.count; i++) {
		mem_free(e->slots.items[i]->blocks);
		mem_free(e->slots.items[i]->hashes);
		mem_free(e->slots.items[i]);
	}
	VEC_FREE(&e->slots);
	VEC_FREE(&e->free_slots);
	VEC_FREE(&e->limbo);
	VEC_FREE(&e->pending);
	VEC_FREE(&e->running);
	VEC_FREE(&e->batches[0].entries);
	VEC_FREE(&e->batches[1].entries);
	kv_fini(&e->pool);
	mem_free(e);
}

void engine_want_tokens(struct engine *e, bool want)
{
	e->want_tokens = want;
}

/* Starts e->flight at the engine's now. */
void engine_launch(struct engine *e)
{
	struct batch *batch = e->flight;
	const struct step_cost *cost = &e->config.cost;
	double seconds = cost->seconds(cost->context, &batch->load) * (1 + e->faults.slow);

	seconds += host_pause(&e->host, e->alive, e->faults.extra_pause);
	batch->start = e->now;
	batch->end = batch->ready = e->now + seconds;
	if (batch->end < e->faults.stall_until)
		batch->end = e->faults.stall_until;
	e->in_flight = true;
	e->counters.steps++;
	e->counters.busy += seconds;
	histogram_add(&e->step_seconds, seconds, 1);
}

static void launch_next(struct engine *e)
{
	struct batch *batch = e->flight;

	e->flight = e->next;
	e->next = batch;
	e->in_flight = false;
	if (e->flight->entries.count)
		engine_launch(e);
}

/* The step in flight has ended. Async: the next one was planned when this one started, with what was known then; finished
 * requests still held their slots and blocks, and later arrivals were not there. */
static void step_end(struct engine *e)
{
	double started = e->flight->start;

	engine_pass_time(e, e->flight->end);
	if (e->config.async_scheduling) {
		pending_admit(e, started);
		engine_schedule(e, e->next);
		engine_update(e, e->flight);
		if (e->next->entries.count) {
			launch_next(e);
			return;
		}
	} else {
		engine_update(e, e->flight);
	}
	pending_admit(e, e->now);
	engine_schedule(e, e->next);
	launch_next(e);
}

/* The next moment at which an idle engine can have work. */
static double wake_time(const struct engine *e)
{
	double next = pending_next(e);

	for (uint32_t slot = e->remote.first; slot != NO_SLOT; slot = request_at(e, slot)->next) {
		const struct request *r = request_at(e, slot);
		if (r->remote_here && r->remote_time < next)
			next = r->remote_time;
	}
	if (e->waiting.count && !engine_blocked(e) && e->running.count < e->config.max_num_seqs)
		return e->now;
	return next < e->now ? e->now : next;
}

static void wake(struct engine *e, double time)
{
	engine_pass_time(e, time);
	pending_admit(e, e->now);
	engine_schedule(e, e->next);
	launch_next(e);
}

double engine_next(const struct engine *e)
{
	return e->in_flight ? e->flight->end : wake_time(e);
}

double engine_now(const struct engine *e)
{
	return e->now;
}

void engine_advance(struct engine *e, double until)
{
	for (double next = engine_next(e); next <= until && next < INFINITY; next = engine_next(e)) {
		if (!e->in_flight) {
			double before = e->now;
			uint64_t steps = e->counters.steps;
			wake(e, next);
			if (!e->in_flight && e->now == before && e->counters.steps == steps && engine_next(e) <= e->now) {
				e->counters.empty_waits++; /* a head that nothing running can make room for: only a change from outside
							      helps */
				break;
			}
		} else if (!engine_steady(e, until)) {
			step_end(e);
		}
	}
	if (until < INFINITY)
		engine_pass_time(e, until);
}

bool engine_drain(struct engine *e)
{
	engine_advance(e, INFINITY);
	return e->alive == 0;
}

void engine_set_faults(struct engine *e, const struct engine_faults *faults)
{
	e->faults = *faults;
	if (e->seized > faults->seized_blocks) {
		kv_unleak(&e->pool, e->seized - faults->seized_blocks);
		e->seized = faults->seized_blocks;
	}
	if (e->in_flight) { /* also the end of a stall: the step goes on at once */
		double ready = e->flight->ready > e->now ? e->flight->ready : e->now;

		e->flight->end = ready > faults->stall_until ? ready : faults->stall_until;
	}
}

const struct engine_faults *engine_get_faults(const struct engine *e)
{
	return &e->faults;
}

void engine_preempt(struct engine *e, uint32_t count)
{
	e->preempt_wanted += count;
}

void engine_reset_prefix_cache(struct engine *e)
{
	kv_forget(&e->pool);
}
