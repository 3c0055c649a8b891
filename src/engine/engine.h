/* engine: one vLLM V1 engine core in virtual time.
 *
 * The caller owns time: engine_advance(e, t) plays everything that happens up to and including t and reports it through
 * the observer, in order of time. Requests may be submitted and aborted at any time, also from inside the observer.
 * Same configuration, seed and calls give the same run. Times are seconds from an origin of the caller's choice.
 *
 * Rules modelled: facts of vLLM main of August 2026, src/engine/README.md lists them. */
#ifndef GOODPUT_ENGINE_ENGINE_H
#define GOODPUT_ENGINE_ENGINE_H

#include "base/error.h"
#include "engine/content.h"
#include "engine/histogram.h"
#include "engine/host.h"
#include "engine/spec.h"
#include "engine/step.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;

/* Names a request while it lives; never used again for another. 0 = none. */
typedef uint64_t engine_handle;

enum engine_policy { ENGINE_FCFS, ENGINE_PRIORITY };

struct engine_config {
	uint32_t max_num_seqs, max_num_batched_tokens, max_model_len, block_size;
	uint32_t num_gpu_blocks;               /* as vLLM logs it: the null block included */
	uint32_t long_prefill_token_threshold; /* 0 = off */
	double watermark;                      /* share of blocks kept free when admitting */
	enum engine_policy policy;
	bool chunked_prefill, prefix_caching, async_scheduling;
	bool reserve_full_isl; /* admission needs room for the whole prompt */
	struct spec_config spec;
	struct host_config host;
	struct step_cost cost;
	/* A request reaches the scheduler this long after its arrival (HTTP, template, tokeniser, hand-over): a + b * prompt. */
	double front_end_fixed, front_end_per_token;
	/* Of that, so much occupies the front end's one thread: a burst queues up in front of it. In order of submission. */
	double front_end_busy, front_end_busy_per_token;
	uint64_t seed;
};

/* vLLM's server defaults for a card (facts: 16384/8192/2048 tokens and 1024/256 requests), no speculation, no blocks yet. */
void engine_config_default(struct engine_config *config);
/* False with an error that names the option (vLLM's flag name), the value and what would be accepted. */
bool engine_config_check(const struct engine_config *config, struct error *e);

enum engine_finish { FINISH_STOP, FINISH_LENGTH, FINISH_ABORT, FINISH_ERROR, FINISH_REJECTED, FINISH_COUNT };
/* "stop", "length", "abort", "error", "rejected" */
const char *engine_finish_name(enum engine_finish finish);

struct engine_request {
	uint64_t id;    /* the caller's; only passed back */
	double arrival; /* seconds; not before the engine's now, else it counts as now */
	uint32_t prompt_tokens;
	uint32_t output_tokens; /* what the model will say: at least 1 */
	uint32_t max_tokens;    /* 0 = no limit but the context. Reached: "length"; else the end is "stop" */
	int32_t priority;       /* smaller first, with ENGINE_PRIORITY */
	float temperature;
	struct content content;
	bool keep_blocks;    /* prefill role: hold the blocks after the end until engine_release_kept */
	bool remote_prefill; /* decode role: KV of the prompt comes from elsewhere; see ENGINE_TRANSFER_WANTED */
};

enum engine_event_kind {
	ENGINE_SCHEDULED, /* first time in a step */
	ENGINE_TOKENS,    /* only with want_tokens, except the first of a request, which is always told */
	ENGINE_PREEMPTED,
	ENGINE_TRANSFER_WANTED, /* blocks are allocated: bring the KV, then call engine_transfer_done */
	ENGINE_FINISHED,        /* also aborts, errors and rejections; the handle ends here */
};

/* A request's life. Times are negative while they have not happened. */
struct engine_timeline {
	double arrival, queued, scheduled, first_token, last_token;
	uint32_t prompt_tokens, output_tokens; /* output delivered */
	uint32_t cached_tokens;                /* prefix hit at the first admission */
	uint32_t preemptions;
	enum engine_finish finish;
};

struct engine_event {
	enum engine_event_kind kind;
	double time;
	engine_handle handle;
	uint64_t id;
	uint32_t tokens;                        /* ENGINE_TOKENS: how many at once */
	bool first;                             /* ENGINE_TOKENS: the request's first */
	const struct engine_timeline *timeline; /* valid inside the call */
	const char *reason;                     /* FINISH_REJECTED, FINISH_ERROR: a sentence; else NULL */
};

typedef void engine_observer(void *context, const struct engine_event *event);

/* The configuration must have passed engine_config_check. */
struct engine *engine_new(const struct engine_config *config, engine_observer *observer, void *context);
void engine_free(struct engine *engine);
void engine_want_tokens(struct engine *engine, bool want);

/* 0 when rejected at once (prompt too long, cannot ever fit): the observer has been told why. */
engine_handle engine_submit(struct engine *engine, const struct engine_request *request);
/* At the engine's now. False: no such request (any more). */
bool engine_abort(struct engine *engine, engine_handle handle);
/* The KV of a remote_prefill request has arrived (or its transfer failed) at `time`; seen at the next step boundary. A failure
 * ends the request with FINISH_ERROR, or with `recompute` is made good by prefilling here. */
void engine_transfer_done(struct engine *engine, engine_handle handle, double time, bool failed, bool recompute);
/* Frees the blocks that a finished keep_blocks request still holds. */
bool engine_release_kept(struct engine *engine, engine_handle handle);

/* Plays up to `time`. Going back in time does nothing. */
void engine_advance(struct engine *engine, double time);
/* When something will happen if nobody calls in between; INFINITY when idle. */
double engine_next(const struct engine *engine);
double engine_now(const struct engine *engine);
/* Advances until nothing is left to do. False: requests are waiting for a transfer or held by a stall for ever. */
bool engine_drain(struct engine *engine);

struct engine_counters {
	uint64_t submitted, finished[FINISH_COUNT];
	uint64_t steps, empty_waits;
	uint64_t prompt_tokens, prompt_tokens_cached, prompt_tokens_remote; /* with the first token, as vLLM counts */
	uint64_t generation_tokens;
	uint64_t scheduled_tokens, recomputed_tokens; /* all tokens computed; those computed a second time after a preemption */
	uint64_t prefix_queries, prefix_hits;
	uint64_t preemptions, evictions;
	uint64_t drafts, draft_tokens, accepted_tokens, accepted_at[SPEC_MAX_DRAFTS];
	uint64_t transfers, transfers_failed;
	double busy;                            /* seconds in which a step was running */
	double running_seconds, system_seconds; /* integrals over time of running and of all requests inside (Little's law) */
	double kv_seconds;                      /* integral of the KV usage */
};

struct engine_state {
	uint32_t running, waiting, deferred; /* deferred: waiting for remote KV; part of waiting as vLLM counts it */
	double kv_usage;                     /* as vllm:kv_cache_usage_perc, 0..1 */
	double kv_cached_free;               /* share of the blocks that are free but still hold content */
	double last_step;                    /* when the last step ended; negative = never */
	struct host_state host;
	const struct engine_counters *counters;
	const struct histogram *step_seconds;                                             /* one per step */
	const struct histogram *inter_token;                                              /* one per later output batch of a request */
	const struct histogram *first_token, *e2e, *queue, *prefill, *decode, *per_token; /* at finish, first_token at once */
};
void engine_state(const struct engine *engine, struct engine_state *state);

/* What can be made to go wrong. Zero is healthy. Takes effect at the next step. */
struct engine_faults {
	double slow;                /* steps take (1 + slow) times as long */
	double stall_until;         /* no step ends before; may be INFINITY */
	double extra_pause;         /* seconds added to every host pause (garbage collector); see host.h */
	double leak_per_finish;     /* KV blocks lost with each finished request */
	uint32_t seized_blocks;     /* KV blocks taken away now: a small cache, hence preemptions */
	double host_leak_per_token; /* bytes of host memory */
	double acceptance;          /* > 0: multiplies the acceptance of drafts (alpha collapse) */
	double transfer_failure;    /* probability that a finished transfer turns out to have failed */
};
void engine_set_faults(struct engine *engine, const struct engine_faults *faults);
const struct engine_faults *engine_get_faults(const struct engine *engine);
/* Preempts up to `count` running requests at the next step, last ones first, as if KV had run out. */
void engine_preempt(struct engine *engine, uint32_t count);
/* vLLM's /reset_prefix_cache: forgets all contents. */
void engine_reset_prefix_cache(struct engine *engine);

/* For tests: true when pool, requests, queues and counters agree with each other. */
bool engine_consistent(const struct engine *engine);

#endif
