/* The second half of a scheduling pass: waiting requests enter while budget, slots and blocks last. */
#include "engine/internal.h"

/* Changes whenever the head of the queue could get what it did not get before. */
static uint64_t stamp(const struct engine *e)
{
	return e->pool.releases + e->shared_published;
}

bool engine_blocked(const struct engine *e)
{
	return e->waiting.count && e->blocked_slot == e->waiting.first && e->blocked_stamp == stamp(e);
}

static uint32_t watermark_blocks(const struct engine *e)
{
	return e->running.count ? (uint32_t)(e->config.watermark * e->pool.count) : 0;
}

/* Blocks that prefills in flight still need: a remote load must not take them, or both would wait for ever. */
static uint32_t reserved_blocks(const struct engine *e)
{
	uint32_t reserved = 0;

	for (uint32_t i = 0; i < e->running.count; i++) {
		const struct request *r = request_at(e, e->running.items[i]);
		uint32_t all = blocks_for(e, request_total(r));
		reserved += all > r->block_count ? all - r->block_count : 0;
	}
	return reserved;
}

/* Does the pool have `more` blocks beside the hit, and the whole sequence if that is asked for? */
static bool fits(const struct engine *e, const struct request *r, struct prefix_hit hit, uint32_t end, uint32_t reserved)
{
	uint32_t base = r->block_count + hit.blocks, want = blocks_for(e, end), whole = blocks_for(e, request_total(r));
	uint64_t beside = hit.revived + watermark_blocks(e);

	if (e->config.reserve_full_isl && whole > base && whole - base + beside > e->pool.free)
		return false;
	return (want > base ? want - base : 0) + beside + reserved <= e->pool.free;
}

static void note_hit(struct engine *e, struct request *r, struct prefix_hit hit)
{
	uint32_t tokens = hit.blocks * e->config.block_size;

	if (r->timeline.preemptions == 0) {
		r->timeline.cached_tokens = tokens;
		if (e->config.prefix_caching) {
			e->counters.prefix_queries += request_total(r);
			e->counters.prefix_hits += tokens;
		}
	}
	blocks_take_hit(e, r, hit.blocks);
	r->computed = tokens;
}

/* A decode-role request that needs its prompt's KV from elsewhere: blocks for all of it, then it waits outside the queue. */
static bool admit_remote(struct engine *e, struct request *r)
{
	struct prefix_hit hit = blocks_find(e, r);

	if (!fits(e, r, hit, r->prompt, reserved_blocks(e)))
		return false;
	queue_remove(e, &e->waiting, r);
	note_hit(e, r, hit);
	blocks_extend(e, r, r->prompt, r->computed);
	r->status = REQUEST_REMOTE;
	queue_push_back(e, &e->remote, r);
	engine_tell(e, ENGINE_TRANSFER_WANTED, r, r->prompt - r->computed, NULL);
	return true;
}

static uint32_t chunk(const struct engine *e, const struct request *r, uint32_t computed, uint32_t budget)
{
	uint32_t n = request_total(r) - computed, threshold = e->config.long_prefill_token_threshold;

	if (threshold && n > threshold)
		n = threshold;
	if (n > budget)
		n = e->config.chunked_prefill ? budget : 0;
	return n;
}

/* Where the KV of the next `n` tokens ends, the drafts' slots included. */
static uint32_t slots_end(const struct engine *e, uint32_t computed, uint32_t n)
{
	uint32_t end = computed + n + spec_lookahead(&e->config.spec);

	return end < e->config.max_model_len ? end : e->config.max_model_len;
}

static void start(struct engine *e, struct batch *batch, struct request *r, uint32_t n, uint32_t *budget)
{
	blocks_extend(e, r, slots_end(e, r->computed, n), r->computed + n);
	r->status = REQUEST_RUNNING;
	VEC_PUSH(&e->running, r->slot);
	VEC_PUSH(&batch->entries, (struct batch_entry){ r->slot, r->generation, n, r->timeline.preemptions, 0, false });
	*budget -= n;
	if (!r->first_done) {
		r->first_done = true;
		r->timeline.scheduled = e->now;
		engine_tell(e, ENGINE_SCHEDULED, r, n, NULL);
	}
}

/* Requests whose KV has arrived come before the queue. The last prompt token is computed here, for its logits. */
static void admit_arrived(struct engine *e, struct batch *batch, uint32_t *budget)
{
	for (uint32_t slot = e->remote.first, next; slot != NO_SLOT && *budget && e->running.count < e->config.max_num_seqs; slot = next) {
		struct request *r = request_at(e, slot);
		uint32_t n, local = r->computed;

		next = r->next;
		if (!r->remote_here || r->remote_time > e->now)
			continue;
		if (!r->remote_failed)
			r->computed = request_total(r) - 1;
		n = chunk(e, r, r->computed, *budget);
		if (n == 0 || !fits(e, r, (struct prefix_hit){ 0 }, slots_end(e, r->computed, n), 0)) {
			r->computed = local;
			return;
		}
		queue_remove(e, &e->remote, r);
		start(e, batch, r, n, budget);
	}
}

void engine_admit(struct engine *e, struct batch *batch, uint32_t *budget)
{
	admit_arrived(e, batch, budget);
	while (e->waiting.count && *budget && e->running.count < e->config.max_num_seqs && !engine_blocked(e)) {
		struct request *r = request_at(e, e->waiting.first);
		struct prefix_hit hit;
		uint32_t n;

		if (r->ask.remote_prefill && !r->remote_here && !r->remote_failed) {
			if (!admit_remote(e, r))
				goto blocked;
			continue;
		}
		hit = blocks_find(e, r);
		n = chunk(e, r, hit.blocks * e->config.block_size, *budget);
		if (n == 0)
			return;
		if (!fits(e, r, hit, slots_end(e, hit.blocks * e->config.block_size, n), 0))
			goto blocked;
		queue_remove(e, &e->waiting, r);
		note_hit(e, r, hit);
		start(e, batch, r, n, budget);
		continue;
	blocked:
		e->blocked_slot = r->slot;
		e->blocked_stamp = stamp(e);
		return;
	}
}
