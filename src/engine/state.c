/* What can be seen from outside, and what must always hold inside. */
#include "engine/internal.h"

void engine_state(const struct engine *e, struct engine_state *state)
{
	double count = e->pool.count ? e->pool.count : 1;

	*state = (struct engine_state){ .running = (uint32_t)e->running.count - e->gone,
		.waiting = e->waiting.count + e->remote.count,
		.deferred = e->remote.count,
		.kv_usage = kv_used(&e->pool) / count,
		.kv_cached_free = e->pool.cached_free / count,
		.last_step = e->counters.steps ? e->flight->start : -1,
		.host = e->host.state,
		.counters = &e->counters,
		.step_seconds = &e->step_seconds,
		.inter_token = &e->inter_token,
		.first_token = &e->first_token,
		.e2e = &e->e2e,
		.queue = &e->queue_time,
		.prefill = &e->prefill,
		.decode = &e->decode,
		.per_token = &e->per_token };
	state->host.bytes = host_bytes(&e->host, e->alive, e->alive_tokens);
}

/* References on blocks as the requests have them, against those in the pool. */
static bool references_agree(const struct engine *e)
{
	uint32_t *refs = mem_zalloc(e->pool.count + 1, sizeof *refs);
	bool good = true;

	for (size_t i = 0; i < e->slots.count; i++) {
		const struct request *r = e->slots.items[i];
		for (uint32_t b = 0; b < r->block_count; b++)
			refs[r->blocks[b]]++;
	}
	for (uint32_t b = e->pool.leak_head; b != KV_NONE; b = e->pool.blocks[b].next)
		refs[b]++;
	for (uint32_t b = 0; b < e->pool.count; b++)
		good = good && refs[b] == e->pool.blocks[b].refs;
	mem_free(refs);
	return good;
}

static bool queue_agrees(const struct engine *e, const struct queue *q, enum request_status status)
{
	uint32_t seen = 0, before = NO_SLOT;

	for (uint32_t slot = q->first; slot != NO_SLOT; before = slot, slot = request_at(e, slot)->next, seen++)
		if (request_at(e, slot)->status != status || request_at(e, slot)->previous != before || seen > q->count)
			return false;
	return seen == q->count && q->last == before;
}

bool engine_consistent(const struct engine *e)
{
	uint64_t ended = 0, pending = 0;

	if (!kv_check(&e->pool) || !references_agree(e) || !queue_agrees(e, &e->waiting, REQUEST_WAITING) ||
		!queue_agrees(e, &e->remote, REQUEST_REMOTE) || e->running.count - e->gone > e->config.max_num_seqs)
		return false;
	for (size_t i = 0; i < FINISH_COUNT; i++)
		ended += e->counters.finished[i];
	for (size_t i = 0; i < e->slots.count; i++) {
		const struct request *r = e->slots.items[i];
		pending += r->status == REQUEST_PENDING;
		if (r->status == REQUEST_RUNNING && r->block_count * e->config.block_size < r->computed)
			return false;
	}
	return e->alive == pending + e->waiting.count + e->remote.count + e->running.count - e->gone &&
	       e->counters.submitted == ended + e->alive;
}
