/* The life of request objects: slots, handles, submission, abort. */
#include "engine/internal.h"

#include <math.h>

engine_handle request_handle(const struct request *r)
{
	return (uint64_t)r->generation << 32 | (r->slot + 1);
}

struct request *request_find(const struct engine *e, engine_handle handle)
{
	uint32_t slot = (uint32_t)handle - 1;
	struct request *r = handle && slot < e->slots.count ? request_at(e, slot) : NULL;

	if (!r || r->generation != handle >> 32 || r->status == REQUEST_FREE || r->status == REQUEST_GONE)
		return NULL;
	return r;
}

static struct request *slot_take(struct engine *e)
{
	struct request *r;

	if (e->free_slots.count)
		return request_at(e, e->free_slots.items[--e->free_slots.count]);
	r = NEW(struct request);
	r->slot = (uint32_t)e->slots.count;
	VEC_PUSH(&e->slots, r);
	return r;
}

struct request *request_new(struct engine *e, const struct engine_request *ask)
{
	struct request *r = slot_take(e);
	uint32_t room = e->config.max_model_len - ask->prompt_tokens;
	struct request fresh = { .ask = *ask,
		.slot = r->slot,
		.generation = r->generation,
		.blocks = r->blocks,
		.block_room = r->block_room,
		.hashes = r->hashes,
		.hash_room = r->hash_room,
		.serial = ++e->serial,
		.prompt = ask->prompt_tokens,
		.next = NO_SLOT,
		.previous = NO_SLOT };

	*r = fresh;
	r->limit = ask->max_tokens && ask->max_tokens < room ? ask->max_tokens : room;
	r->output = ask->output_tokens < r->limit ? ask->output_tokens : r->limit;
	r->timeline = (struct engine_timeline){ .arrival = ask->arrival,
		.queued = -1,
		.scheduled = -1,
		.first_token = -1,
		.last_token = -1,
		.prompt_tokens = ask->prompt_tokens };
	e->alive++;
	e->alive_tokens += r->prompt;
	e->counters.submitted++;
	return r;
}

void request_retire(struct engine *e, struct request *r)
{
	r->generation++;
	r->status = REQUEST_GONE;
	VEC_PUSH(&e->limbo, r->slot);
}

/* Slots in limbo may still be named by running (swept here) or by the heap of pending requests (which frees them itself). */
void engine_sweep(struct engine *e)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; e->gone && i < e->running.count; i++)
		if (request_at(e, e->running.items[i])->status == REQUEST_RUNNING)
			e->running.items[kept++] = e->running.items[i];
	if (e->gone)
		e->running.count = kept;
	e->gone = 0;
	for (uint32_t i = 0; i < e->limbo.count; i++) {
		request_at(e, e->limbo.items[i])->status = REQUEST_FREE;
		VEC_PUSH(&e->free_slots, e->limbo.items[i]);
	}
	e->limbo.count = 0;
}

void engine_tell(struct engine *e, enum engine_event_kind kind, const struct request *r, uint32_t tokens, const char *reason)
{
	if (e->observer)
		e->observer(e->context, &(struct engine_event){ .kind = kind,
						.time = e->now,
						.handle = request_handle(r),
						.id = r->ask.id,
						.tokens = tokens,
						.first = kind == ENGINE_TOKENS && r->out == tokens,
						.timeline = &r->timeline,
						.reason = reason });
}

/* Why the request can never run here; NULL = it can. */
static const char *refusal(const struct engine *e, const struct engine_request *ask)
{
	uint64_t most = ask->prompt_tokens + (uint64_t)ask->output_tokens;

	if (ask->prompt_tokens == 0)
		return "the prompt is empty";
	if (ask->output_tokens == 0)
		return "output_tokens must be at least 1";
	if (ask->prompt_tokens >= e->config.max_model_len)
		return "the prompt leaves no room for an output token below max_model_len";
	if (most > e->config.max_model_len)
		most = e->config.max_model_len;
	if (blocks_for(e, (uint32_t)most) > e->pool.count)
		return "the KV cache is smaller than this one request";
	return NULL;
}

static void reject(struct engine *e, const struct engine_request *ask, const char *reason)
{
	struct engine_timeline timeline = { .arrival = ask->arrival,
		.queued = -1,
		.scheduled = -1,
		.first_token = -1,
		.last_token = -1,
		.prompt_tokens = ask->prompt_tokens,
		.finish = FINISH_REJECTED };

	e->counters.submitted++;
	e->counters.finished[FINISH_REJECTED]++;
	if (e->observer)
		e->observer(e->context,
			&(struct engine_event){
				.kind = ENGINE_FINISHED, .time = e->now, .id = ask->id, .timeline = &timeline, .reason = reason });
}

/* When the request reaches the scheduler. */
static double front_end_passed(struct engine *e, const struct request *r)
{
	const struct engine_config *c = &e->config;
	double busy = c->front_end_busy + c->front_end_busy_per_token * r->prompt;
	double begins = r->timeline.arrival > e->front_end_free ? r->timeline.arrival : e->front_end_free;

	e->front_end_free = begins + busy;
	return begins + c->front_end_fixed + c->front_end_per_token * r->prompt;
}

engine_handle engine_submit(struct engine *e, const struct engine_request *request)
{
	struct engine_request ask = *request;
	const char *reason = refusal(e, &ask);
	struct request *r;

	if (!(ask.arrival >= e->now))
		ask.arrival = e->now;
	if (reason) {
		reject(e, &ask, reason);
		return 0;
	}
	r = request_new(e, &ask);
	r->status = REQUEST_PENDING;
	pending_push(e, front_end_passed(e, r), r);
	return request_handle(r);
}

/* A pending request stays in the heap until its time; the heap then frees the slot. */
static void abort_pending(struct engine *e, struct request *r)
{
	e->counters.finished[FINISH_ABORT]++;
	e->alive--;
	e->alive_tokens -= r->prompt;
	r->timeline.finish = FINISH_ABORT;
	engine_tell(e, ENGINE_FINISHED, r, 0, NULL);
	r->generation++;
	r->status = REQUEST_GONE;
}

bool engine_abort(struct engine *e, engine_handle handle)
{
	struct request *r = request_find(e, handle);

	if (!r || r->status == REQUEST_KEPT)
		return false;
	if (r->status == REQUEST_PENDING)
		abort_pending(e, r);
	else
		engine_finish_request(e, r, FINISH_ABORT, NULL);
	return true;
}

bool engine_release_kept(struct engine *e, engine_handle handle)
{
	struct request *r = request_find(e, handle);

	if (!r || r->status != REQUEST_KEPT)
		return false;
	blocks_release(e, r);
	e->kept--;
	request_retire(e, r);
	return true;
}

void engine_transfer_done(struct engine *e, engine_handle handle, double time, bool failed, bool recompute)
{
	struct request *r = request_find(e, handle);

	if (!r || r->status != REQUEST_REMOTE || r->remote_here)
		return;
	if (!failed && e->faults.transfer_failure > 0 && rng_unit(&e->rng) < e->faults.transfer_failure)
		failed = true;
	e->counters.transfers++;
	e->counters.transfers_failed += failed;
	if (failed && !recompute) {
		engine_finish_request(e, r, FINISH_ERROR, "the KV transfer failed");
		return;
	}
	r->remote_here = true;
	r->remote_failed = failed;
	r->remote_time = time > e->now ? time : e->now;
}
