#include "sim/page_source.h"

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static double finished(const struct engine_counters *c, size_t which)
{
	/* stop, length, abort, error, repetition: the Python frontend counts no request that the client left */
	switch (which) {
	case 0: return (double)c->finished[FINISH_STOP];
	case 1: return (double)c->finished[FINISH_LENGTH];
	case 3: return (double)c->finished[FINISH_ERROR];
	default: return 0;
	}
}

static double prompt_by_source(const struct engine_counters *c, size_t which)
{
	uint64_t parts[] = { c->prompt_tokens - c->prompt_tokens_cached - c->prompt_tokens_remote, c->prompt_tokens_cached,
		c->prompt_tokens_remote };

	return (double)parts[which];
}

/* Of the interpreter's heap: with vLLM's freeze only young generations are collected; the old one when the model says so. */
static double collections(const struct page *p, size_t generation)
{
	double tokens = 0, requests = 0, young;

	for (size_t i = 0; i < p->engine_count; i++) {
		tokens += (double)p->engines[i].state.counters->generation_tokens;
		requests += (double)p->engines[i].state.counters->submitted;
	}
	young = (double)(uint64_t)(140 + tokens / 350 + requests * 0.5); /* one for each 700 net allocations */
	return generation == 0 ? young : generation == 1 ? (double)(uint64_t)(young / 11) : 1 + (double)p->process.gen2_collections;
}

static double process_value(const struct page *p, int source, size_t which)
{
	switch (source) {
	case SOURCE_GC_COLLECTIONS: return collections(p, which);
	case SOURCE_GC_OBJECTS: return (double)(uint64_t)(collections(p, which) * (which == 0 ? 4.5 : which == 1 ? 37 : 3));
	case SOURCE_VIRTUAL_BYTES: return p->process.virtual_bytes;
	case SOURCE_RESIDENT_BYTES: return p->process.resident_bytes;
	case SOURCE_START_TIME: return p->process.start_time;
	case SOURCE_CPU_SECONDS: return p->process.cpu_seconds;
	case SOURCE_OPEN_FDS: return p->process.open_fds;
	case SOURCE_MAX_FDS: return p->process.max_fds;
	case SOURCE_ONE: return 1;
	case SOURCE_MINUS_ONE: return -1;
	default: return 0;
	}
}

static double speculation_value(const struct page *p, const struct engine_counters *c, int source, size_t which)
{
	double accepted = (double)c->accepted_tokens, proposed = (double)c->draft_tokens, emitted = accepted + (double)c->drafts;

	switch (source) {
	case SOURCE_DRAFTS: return (double)c->drafts;
	case SOURCE_DRAFT_TOKENS: return proposed;
	case SOURCE_ACCEPTED: return accepted;
	case SOURCE_ACCEPTED_AT: return (double)c->accepted_at[which];
	case SOURCE_EMITTED: return emitted;
	case SOURCE_ACCEPTANCE: return share(accepted, proposed);
	case SOURCE_EFFICIENCY: return share(emitted, (double)c->drafts * (p->drafts + 1));
	default: return process_value(p, source, which);
	}
}

static double token_value(const struct page *p, const struct page_engine *e, int source, size_t which)
{
	const struct engine_counters *c = e->state.counters;

	switch (source) {
	case SOURCE_PROMPT_TOKENS: return (double)c->prompt_tokens;
	case SOURCE_PROMPT_BY_SOURCE: return prompt_by_source(c, which);
	case SOURCE_PROMPT_CACHED: return (double)(c->prompt_tokens_cached + c->prompt_tokens_remote);
	case SOURCE_GENERATION_TOKENS: return (double)c->generation_tokens;
	case SOURCE_ALL_TOKENS: return (double)(c->prompt_tokens + c->generation_tokens);
	case SOURCE_REMOTE_TOKENS: return (double)c->prompt_tokens_remote;
	case SOURCE_PROMPT_RATE: return e->meter->rate.prompt_per_s;
	case SOURCE_GENERATION_RATE: return e->meter->rate.generation_per_s;
	default: return speculation_value(p, c, source, which);
	}
}

double page_value(const struct page *p, const struct mimic_family *f, size_t engine, size_t which)
{
	const struct page_engine *e = &p->engines[engine];
	const struct engine_state *s = &e->state;
	const struct engine_counters *c = s->counters;
	/* before 0.9 the prefix counters counted blocks */
	double unit = p->release < MIMIC_0_9 ? p->config.block_size : 1;

	switch (f->source) {
	case SOURCE_RUNNING: return s->running;
	case SOURCE_WAITING: return s->waiting;
	case SOURCE_WAITING_REASON: return which == 0 ? s->waiting - s->deferred : s->deferred;
	case SOURCE_SLEEP: return which == 0;
	case SOURCE_KV_USAGE: return s->kv_usage;
	case SOURCE_PREFIX_QUERIES: return (double)(uint64_t)((double)c->prefix_queries / unit);
	case SOURCE_PREFIX_HITS: return (double)(uint64_t)((double)c->prefix_hits / unit);
	case SOURCE_PREFIX_RATE: return p->config.prefix_caching ? share((double)c->prefix_hits, (double)c->prefix_queries) : -1;
	case SOURCE_PREEMPTIONS: return (double)c->preemptions;
	case SOURCE_FINISHED: return finished(c, which);
	case SOURCE_TRANSFERS_FAILED: return (double)c->transfers_failed;
	default: return token_value(p, e, f->source, which);
	}
}
