/* internal: what the files of the engine share. Not for other folders. */
#ifndef GOODPUT_ENGINE_INTERNAL_H
#define GOODPUT_ENGINE_INTERNAL_H

#include "base/rng.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "engine/kv.h"

#define NO_SLOT UINT32_MAX

enum request_status {
	REQUEST_FREE,    /* slot unused */
	REQUEST_PENDING, /* in the front end, or not arrived yet */
	REQUEST_WAITING, /* queued, or preempted */
	REQUEST_REMOTE,  /* blocks held, KV on its way */
	REQUEST_RUNNING,
	REQUEST_KEPT, /* finished; blocks held for a reader */
	REQUEST_GONE  /* over, but some list still names the slot */
};

/* total = prompt + out. KV exists (or is being computed by the step in flight) for the first `computed` tokens. */
struct request {
	struct engine_request ask;
	struct engine_timeline timeline;
	uint64_t serial; /* private contents */
	uint32_t slot, generation;
	enum request_status status;
	uint32_t prompt, out;
	uint32_t output; /* tokens until the end */
	uint32_t limit;  /* tokens at which the scheduler knows that it ends: max_tokens or the context */
	uint32_t computed;
	uint32_t placeholders; /* outputs promised by the step in flight (async) */
	uint32_t drafts;       /* draft tokens for the next step */
	uint32_t preempted_at; /* computed tokens at the last preemption: up to there it is work done twice */
	uint32_t *blocks;
	uint32_t block_count, block_room;
	uint32_t remembered; /* ids at the front of blocks[] that were ours before a preemption */
	uint32_t published;  /* leading blocks that have their content hash */
	uint64_t *hashes;    /* of the described content, as far as they were needed */
	uint32_t hash_count, hash_room;
	uint32_t next, previous; /* in its queue */
	bool first_done;         /* first scheduling told */
	bool remote_here, remote_failed;
	double remote_time;
};

struct queue {
	uint32_t first, last, count;
};

struct batch_entry {
	uint32_t slot, generation, tokens, preemptions;
	uint16_t drafts;
	bool sampled;
};

struct batch {
	VEC(struct batch_entry) entries;
	struct step_load load;
	double start, end, ready; /* ready: the end but for a stall */
};

struct pending {
	double time;
	uint64_t serial;
	uint32_t slot;
};

struct engine {
	struct engine_config config;
	engine_observer *observer;
	void *context;
	bool want_tokens;
	struct kv_pool pool;
	struct rng rng;
	struct host host;
	VEC(struct request *) slots;
	VEC(uint32_t) free_slots, limbo; /* limbo: free once no list names them */
	VEC(struct pending) pending;     /* heap */
	struct queue waiting, remote;
	VEC(uint32_t) running;
	uint32_t gone; /* members of running that are over */
	struct batch batches[2], *flight, *next;
	bool in_flight;
	double now;
	uint64_t serial;
	/* the head of waiting did not get blocks, and nothing that could change that has happened since */
	uint32_t blocked_slot;
	uint64_t blocked_stamp, shared_published;
	double alive_tokens; /* prompt and output tokens of live requests, for the host's memory */
	uint32_t alive, kept;
	uint32_t preempt_wanted, seized; /* seized: blocks held by the fault of that name */
	double leak_debt;
	double front_end_free; /* when the front end has dealt with all that was submitted */
	struct engine_faults faults;
	struct engine_counters counters;
	struct histogram step_seconds, inter_token, first_token, e2e, queue_time, prefill, decode, per_token;
};

static inline struct request *request_at(const struct engine *e, uint32_t slot)
{
	return e->slots.items[slot];
}
static inline uint32_t request_total(const struct request *r)
{
	return r->prompt + r->out;
}
static inline uint32_t blocks_for(const struct engine *e, uint32_t tokens)
{
	return (tokens + e->config.block_size - 1) / e->config.block_size;
}

/* requests.c */
struct request *request_new(struct engine *e, const struct engine_request *ask);
void request_retire(struct engine *e, struct request *r); /* the handle ends; the slot is free after engine_sweep */
void engine_sweep(struct engine *e);                      /* drops what is over from running, frees slots in limbo */
struct request *request_find(const struct engine *e, engine_handle handle);
engine_handle request_handle(const struct request *r);
void engine_tell(struct engine *e, enum engine_event_kind kind, const struct request *r, uint32_t tokens, const char *reason);

/* queue.c */
void queue_push_back(struct engine *e, struct queue *q, struct request *r);
void queue_push_front(struct engine *e, struct queue *q, struct request *r);
void queue_insert(struct engine *e, struct queue *q, struct request *r); /* by priority, then arrival, then submission */
void queue_remove(struct engine *e, struct queue *q, struct request *r);
bool request_before(const struct request *a, const struct request *b);
void pending_push(struct engine *e, double time, struct request *r);
double pending_next(const struct engine *e);        /* INFINITY when none */
void pending_admit(struct engine *e, double until); /* moves what has arrived to waiting */

/* blocks.c */
struct prefix_hit {
	uint32_t blocks;  /* found */
	uint32_t revived; /* of those, free now: they leave the free list */
};
struct prefix_hit blocks_find(struct engine *e, struct request *r);
void blocks_take_hit(struct engine *e, struct request *r, uint32_t count);
/* Room for `tokens` tokens (the pool must have it), and contents for what is full after `full_tokens`. */
void blocks_extend(struct engine *e, struct request *r, uint32_t tokens, uint32_t full_tokens);
void blocks_release(struct engine *e, struct request *r);

/* schedule.c */
void engine_schedule(struct engine *e, struct batch *batch);
void engine_preempt_request(struct engine *e, struct request *r);

/* admit.c */
void engine_admit(struct engine *e, struct batch *batch, uint32_t *budget);
bool engine_blocked(const struct engine *e);

/* update.c */
void engine_update(struct engine *e, const struct batch *batch);
void engine_finish_request(struct engine *e, struct request *r, enum engine_finish finish, const char *reason);
void engine_pass_time(struct engine *e, double to);

/* steady.c: the fast way through identical steps. True when at least one step was played. */
bool engine_steady(struct engine *e, double until);
void engine_launch(struct engine *e);

#endif
