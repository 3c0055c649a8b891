/* One call of the scheduler: running requests first, then (admit.c) waiting ones; then the step is committed. */
#include "engine/internal.h"

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void engine_preempt_request(struct engine *e, struct request *r)
{
	blocks_release(e, r);
	if (r->computed > r->preempted_at)
		r->preempted_at = r->computed;
	r->computed = r->placeholders = r->drafts = 0;
	r->status = REQUEST_WAITING;
	r->timeline.preemptions++;
	e->counters.preemptions++;
	if (e->config.policy == ENGINE_PRIORITY)
		queue_insert(e, &e->waiting, r);
	else
		queue_push_front(e, &e->waiting, r);
	engine_tell(e, ENGINE_PREEMPTED, r, 0, NULL);
}

/* The one to give up its blocks: the last admitted, or with priorities the least urgent. */
static uint32_t victim_index(const struct engine *e)
{
	uint32_t worst = (uint32_t)e->running.count - 1;

	if (e->config.policy == ENGINE_PRIORITY)
		for (uint32_t i = 0; i < e->running.count; i++)
			if (request_before(request_at(e, e->running.items[worst]), request_at(e, e->running.items[i])))
				worst = i;
	return worst;
}

static void running_remove(struct engine *e, uint32_t index)
{
	e->running.count--;
	for (uint32_t i = index; i < e->running.count; i++)
		e->running.items[i] = e->running.items[i + 1];
}

/* Takes the victim's share of this step back. Returns the tokens. */
static uint32_t batch_remove(struct batch *batch, uint32_t slot)
{
	for (size_t i = 0; i < batch->entries.count; i++) {
		if (batch->entries.items[i].slot == slot) {
			uint32_t tokens = batch->entries.items[i].tokens;
			for (batch->entries.count--; i < batch->entries.count; i++)
				batch->entries.items[i] = batch->entries.items[i + 1];
			return tokens;
		}
	}
	return 0;
}

/* Makes room for `tokens` tokens of the running request at *index, preempting others, at last itself. False: it is gone. */
static bool make_room(struct engine *e, struct batch *batch, uint32_t *index, uint32_t *budget, uint32_t tokens)
{
	struct request *r = request_at(e, e->running.items[*index]);
	uint32_t want = blocks_for(e, tokens);

	while (want > r->block_count && want - r->block_count > e->pool.free) {
		uint32_t worst = victim_index(e);
		struct request *victim = request_at(e, e->running.items[worst]);

		running_remove(e, worst);
		if (worst < *index) {
			*budget += batch_remove(batch, victim->slot);
			--*index;
		}
		engine_preempt_request(e, victim);
		if (victim == r)
			return false;
	}
	return true;
}

/* Tokens that a running request wants in this step. 0: it has all it needs in flight. */
static uint32_t wanted(const struct engine *e, const struct request *r)
{
	uint32_t n = request_total(r) + r->drafts + r->placeholders - r->computed;
	uint32_t threshold = e->config.long_prefill_token_threshold;

	if (r->placeholders && r->out + 1 >= r->limit) /* the step in flight is certain to end it */
		return 0;
	if (threshold && n > threshold)
		n = threshold;
	return min_u32(n, e->config.max_model_len - r->computed); /* drafts beyond the context have no slot */
}

static void entry_add(struct batch *batch, const struct request *r, uint32_t tokens)
{
	VEC_PUSH(&batch->entries, (struct batch_entry){ r->slot, r->generation, tokens, r->timeline.preemptions, 0, false });
}

/* False when something was preempted: nothing is admitted then. */
static bool schedule_running(struct engine *e, struct batch *batch, uint32_t *budget)
{
	uint32_t lookahead = spec_lookahead(&e->config.spec);
	uint64_t preemptions = e->counters.preemptions;

	for (uint32_t i = 0; i < e->running.count && *budget; i++) {
		struct request *r = request_at(e, e->running.items[i]);
		uint32_t n = min_u32(wanted(e, r), *budget);
		uint32_t end = min_u32(r->computed + n + lookahead, e->config.max_model_len);

		if (n == 0)
			continue;
		if (end > r->block_count * e->config.block_size && !make_room(e, batch, &i, budget, end))
			break;
		blocks_extend(e, r, end, min_u32(r->computed + n, request_total(r)));
		entry_add(batch, r, n);
		*budget -= n;
	}
	return e->counters.preemptions == preemptions;
}

static double windowed_pairs(double n, double p, double window)
{
	double inside = p < window ? (window - p < n ? window - p : n) : 0; /* new tokens that still see everything */

	return inside * p + inside * inside / 2 + (n - inside) * window;
}

/* Adds the work of `n` tokens after `p` computed ones to the load. */
static void load_add(struct engine *e, struct step_load *load, const struct batch_entry *entry, double p, bool decode)
{
	double n = entry->tokens, window = e->config.cost.window;

	load->tokens += entry->tokens;
	load->sampled += entry->sampled ? 1 + entry->drafts : 0;
	if (entry->drafts > load->drafts)
		load->drafts = entry->drafts;
	if (decode) {
		load->decodes++;
		load->decode_tokens += entry->tokens;
		load->decode_context += p + n;
		load->decode_window += window && p + n > window ? window : p + n;
	} else {
		load->prefills++;
		load->prefill_pairs += n * p + n * n / 2;
		load->prefill_window += window ? windowed_pairs(n, p, window) : 0;
		load->prefill_context += p + n;
	}
}

/* The counters advance now, not when the step ends. */
static void commit(struct engine *e, struct batch *batch)
{
	batch->load = (struct step_load){ .running = (uint32_t)e->running.count };
	for (size_t i = 0; i < batch->entries.count; i++) {
		struct batch_entry *entry = &batch->entries.items[i];
		struct request *r = request_at(e, entry->slot);
		uint32_t due = request_total(r) + r->placeholders; /* KV of so many tokens gives the next one */

		entry->sampled = r->computed + entry->tokens >= due;
		entry->drafts = entry->sampled ? (uint16_t)(r->computed + entry->tokens - due) : 0;
		load_add(e, &batch->load, entry, r->computed, r->computed && r->computed + 1 == due);
		if (r->computed < r->preempted_at)
			e->counters.recomputed_tokens += min_u32(entry->tokens, r->preempted_at - r->computed);
		e->counters.scheduled_tokens += entry->tokens;
		r->computed += entry->tokens;
		r->drafts = 0;
		if (entry->sampled && e->config.async_scheduling) {
			r->placeholders += 1 + entry->drafts;
			r->drafts = e->config.spec.method ? e->config.spec.drafts : 0;
		}
	}
}

static void preempt_on_demand(struct engine *e)
{
	for (; e->preempt_wanted && e->running.count; e->preempt_wanted--) {
		uint32_t worst = victim_index(e);
		struct request *victim = request_at(e, e->running.items[worst]);
		running_remove(e, worst);
		engine_preempt_request(e, victim);
	}
	e->preempt_wanted = 0;
}

/* What is in use can be seized only when it becomes free. */
static void seize(struct engine *e)
{
	if (e->seized < e->faults.seized_blocks)
		e->seized += kv_leak(&e->pool, e->faults.seized_blocks - e->seized);
}

void engine_schedule(struct engine *e, struct batch *batch)
{
	uint32_t budget = e->config.max_num_batched_tokens;

	engine_sweep(e);
	batch->entries.count = 0;
	preempt_on_demand(e);
	seize(e);
	if (schedule_running(e, batch, &budget))
		engine_admit(e, batch, &budget);
	commit(e, batch);
}
