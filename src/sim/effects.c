/* Faults take effect: several times a second what is active is worked out anew for every replica. */
#include "sim/internal.h"

#include "base/log.h"

enum { STORM_ROOM_PERCENT = 95 };

/* A fault that could change nothing is an error. */
static bool is_possible(const struct simulator *sim, const struct fault *f, struct error *e)
{
	if (f->replica >= (int)sim->replica_count)
		return error_set(e, EXIT_USAGE, "fault %s: replicas are numbered 0 to %u", fault_name(f->kind), sim->replica_count - 1);
	if (f->kind == FAULT_ACCEPTANCE && sim->setup->engine.spec.method == SPEC_NONE)
		return error_set(e, EXIT_USAGE, "fault %s: nothing is drafted without --speculative-config", fault_name(f->kind));
	if (f->kind == FAULT_TRANSFER && !sim->setup->transfer.on)
		return error_set(e, EXIT_USAGE, "fault %s: nothing is transferred without --kv-transfer-config", fault_name(f->kind));
	return true;
}

bool sim_add_fault(struct simulator *sim, struct str text, double now, int replica, struct error *e)
{
	struct fault f;

	if (!fault_parse(text, now, &f, e) || !is_possible(sim, &f, e))
		return false;
	if (f.replica < 0)
		f.replica = replica;
	VEC_PUSH(&sim->faults.items, f);
	return true;
}

/* The cache shrinks to a little less than what is in use. */
static uint32_t storm_blocks(const struct sim_engine *at)
{
	const struct setup *s = at->replica->sim->setup;
	struct engine_state state;
	double used;

	engine_state(at->engine, &state);
	used = state.kv_usage * s->engine.num_gpu_blocks - engine_get_faults(at->engine)->seized_blocks;
	used = used * STORM_ROOM_PERCENT / 100 + 4;
	return used < s->engine.num_gpu_blocks ? (uint32_t)(s->engine.num_gpu_blocks - used) : 0;
}

/* Where the first in the queue does not fit, nothing runs and nothing is preempted: no storm. After a second of that the cache grows by a
 * quarter. */
static uint32_t storm_relents(const struct sim_engine *at, uint32_t seized, double now)
{
	uint32_t left = at->replica->sim->setup->engine.num_gpu_blocks - seized, more = left / 4 + 1;
	struct engine_state state;

	engine_state(at->engine, &state);
	bool stuck = !state.running && state.waiting > state.deferred && now - state.last_step > 1;
	return stuck ? seized - (more < seized ? more : seized) : seized;
}

static void storm(struct sim_engine *at, double rate, double now, struct engine_faults *faults)
{
	const struct engine_faults *before = engine_get_faults(at->engine);

	if (!(rate > 0)) {
		at->preempt_due = 0;
		return;
	}
	faults->seized_blocks = before->seized_blocks ? storm_relents(at, before->seized_blocks, now) : storm_blocks(at);
	if (!(at->preempt_due > 0))
		at->preempt_due = now;
	for (; at->preempt_due <= now; at->preempt_due += 1 / rate)
		engine_preempt(at->engine, 1);
}

static void affect_engine(struct sim_engine *at, const struct fault_effect *x, double now)
{
	struct engine_faults faults = { .slow = x->slow,
		.stall_until = x->stall_until,
		.extra_pause = x->gc_pause,
		.leak_per_finish = x->kv_leak,
		.host_leak_per_token = x->memory_leak,
		.acceptance = x->acceptance,
		.transfer_failure = x->transfer_failure };

	storm(at, x->storm, now, &faults);
	engine_set_faults(at->engine, &faults);
}

/* All clients leave at the same moment; the gauges are written after steps only, and none follows. */
static void go_stale(struct replica *r)
{
	for (uint32_t i = 0; i < r->engine_count; i++) {
		engine_state(r->engines[i].engine, &r->engines[i].frozen);
		r->engines[i].frozen_steps = r->engines[i].frozen.counters->steps;
	}
	r->stale = true;
	for (struct answer *a = r->answers, *next; a; a = next) {
		struct exchange *x = a->exchange;

		next = a->next;
		a->exchange = NULL;
		if (x)
			exchange_cut(x);
		answer_abandon(a);
	}
}

static void affect_replica(struct replica *r, double now)
{
	double pace = r->effect.pace;

	fault_effect_of(&r->sim->faults, r->index, now, &r->effect);
	if (pace > 0 || r->effect.pace > 0)
		answers_catch_up(r);
	for (uint32_t i = 0; i < r->engine_count; i++)
		affect_engine(&r->engines[i], &r->effect, now);
	if (r->effect.stale && !r->stale)
		go_stale(r);
	else if (!r->effect.stale)
		r->stale = false;
}

static void fire(struct simulator *sim, struct fault *f)
{
	f->fired = true;
	f->end = f->start;
	for (uint32_t i = 0; i < sim->replica_count; i++) {
		struct replica *r = &sim->replicas[i];

		if (f->replica < 0 || (uint32_t)f->replica == i)
			replica_crash(r, f->kind == FAULT_CRASH ? f->value : f->down, f->kind == FAULT_UPGRADE ? f->release : r->release);
	}
}

void sim_apply_faults(struct simulator *sim)
{
	double now = sim_now(sim);

	for (size_t i = 0; i < sim->faults.items.count; i++) {
		struct fault *f = &sim->faults.items.items[i];

		if ((f->kind == FAULT_CRASH || f->kind == FAULT_UPGRADE) && !f->fired && now >= f->start)
			fire(sim, f);
	}
	for (uint32_t i = 0; i < sim->replica_count; i++) {
		affect_replica(&sim->replicas[i], now);
		replica_revive(&sim->replicas[i]);
	}
}
