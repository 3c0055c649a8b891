/* What a finished step brings: tokens, accepted drafts, ends. And the passing of time. */
#include "engine/internal.h"

void engine_pass_time(struct engine *e, double to)
{
	double dt = to - e->now;

	if (!(dt > 0))
		return;
	e->counters.running_seconds += dt * (double)(e->running.count - e->gone);
	e->counters.system_seconds += dt * (double)(e->running.count - e->gone + e->waiting.count + e->remote.count);
	e->counters.kv_seconds += dt * kv_used(&e->pool) / (e->pool.count ? e->pool.count : 1);
	e->now = to;
}

static void note_end(struct engine *e, const struct request *r)
{
	const struct engine_timeline *t = &r->timeline;

	if (t->finish != FINISH_STOP && t->finish != FINISH_LENGTH)
		return;
	histogram_add(&e->e2e, t->last_token - t->arrival, 1);
	histogram_add(&e->queue_time, t->scheduled - t->queued, 1);
	histogram_add(&e->prefill, t->first_token - t->scheduled, 1);
	histogram_add(&e->decode, t->last_token - t->first_token, 1);
	histogram_add(&e->per_token, r->out > 1 ? (t->last_token - t->first_token) / (r->out - 1) : 0, 1);
}

static void leak(struct engine *e)
{
	e->leak_debt += e->faults.leak_per_finish;
	if (e->leak_debt >= 1) {
		kv_leak(&e->pool, (uint32_t)e->leak_debt);
		e->leak_debt -= (uint32_t)e->leak_debt;
	}
}

void engine_finish_request(struct engine *e, struct request *r, enum engine_finish finish, const char *reason)
{
	bool keep = r->ask.keep_blocks && finish != FINISH_ABORT && finish != FINISH_ERROR;

	if (r->status == REQUEST_RUNNING)
		e->gone++;
	else
		queue_remove(e, r->status == REQUEST_REMOTE ? &e->remote : &e->waiting, r);
	r->timeline.finish = finish;
	e->counters.finished[finish]++;
	e->alive--;
	e->alive_tokens -= request_total(r);
	note_end(e, r);
	host_finished(&e->host, request_total(r), e->faults.host_leak_per_token);
	if (keep) {
		r->status = REQUEST_KEPT;
		e->kept++;
	} else {
		blocks_release(e, r);
		r->status = REQUEST_GONE;
	}
	leak(e);
	engine_tell(e, ENGINE_FINISHED, r, 0, reason);
	if (!keep)
		request_retire(e, r);
}

static void first_token(struct engine *e, struct request *r)
{
	r->timeline.first_token = e->now;
	histogram_add(&e->first_token, e->now - r->timeline.arrival, 1);
	e->counters.prompt_tokens += r->prompt;
	e->counters.prompt_tokens_cached += r->timeline.cached_tokens;
	if (r->remote_here && !r->remote_failed)
		e->counters.prompt_tokens_remote += r->prompt - 1 - r->timeline.cached_tokens;
}

static void deliver(struct engine *e, struct request *r, uint32_t tokens)
{
	if (r->out == 0)
		first_token(e, r);
	else
		histogram_add(&e->inter_token, e->now - r->timeline.last_token, 1);
	r->out += tokens;
	r->timeline.output_tokens = r->out;
	r->timeline.last_token = e->now;
	e->alive_tokens += tokens;
	e->counters.generation_tokens += tokens;
	if (e->want_tokens || r->out == tokens)
		engine_tell(e, ENGINE_TOKENS, r, tokens, NULL);
}

/* Counts the drafts of the step and returns how many were accepted. */
static uint32_t verify(struct engine *e, struct request *r, uint32_t drafts)
{
	double factor = e->faults.acceptance > 0 ? e->faults.acceptance : 1;
	uint32_t accepted = spec_draw(&e->config.spec, &e->rng, r->ask.temperature, factor);

	if (accepted > drafts)
		accepted = drafts;
	e->counters.drafts++;
	e->counters.draft_tokens += drafts;
	e->counters.accepted_tokens += accepted;
	for (uint32_t j = 0; j < accepted; j++)
		e->counters.accepted_at[j]++;
	return accepted;
}

static void entry_update(struct engine *e, const struct batch_entry *entry)
{
	struct request *r = request_at(e, entry->slot);
	uint32_t accepted = 0, tokens, promised = 1 + entry->drafts;

	if (r->generation != entry->generation || r->status == REQUEST_KEPT || r->status == REQUEST_GONE || !entry->sampled)
		return;
	if (entry->drafts)
		accepted = verify(e, r, entry->drafts);
	if (entry->preemptions == r->timeline.preemptions) { /* else its KV is gone, but the token still counts */
		r->computed -= entry->drafts - accepted;
		r->placeholders -= r->placeholders < promised ? r->placeholders : promised;
		if (!e->config.async_scheduling && e->config.spec.method)
			r->drafts = e->config.spec.drafts;
	}
	tokens = 1 + accepted < r->output - r->out ? 1 + accepted : r->output - r->out;
	deliver(e, r, tokens);
	if (r->generation == entry->generation && r->out == r->output && r->status != REQUEST_GONE) /* else aborted by the observer */
		engine_finish_request(e, r, r->out == r->limit ? FINISH_LENGTH : FINISH_STOP, NULL);
}

void engine_update(struct engine *e, const struct batch *batch)
{
	for (size_t i = 0; i < batch->entries.count; i++)
		entry_update(e, &batch->entries.items[i]);
	engine_sweep(e);
}
