/* internal: calls and workers of load.c; not for other folders. */
#ifndef GOODPUT_LOAD_INTERNAL_H
#define GOODPUT_LOAD_INTERNAL_H

#include "load/load.h"

#include <stdatomic.h>
#include <uv.h>

struct worker;

enum call_state {
	CALL_FREE,
	CALL_HELD,   /* in the heap: waits for its time */
	CALL_QUEUED, /* due, waits for a place */
	CALL_OPEN    /* on its way */
};

struct call {
	struct worker *worker;
	struct call *next, *previous; /* free, queued or open */
	enum call_state state;
	int64_t due_ns; /* since the epoch: when it is to leave; a retry's is later than its intended time */
	uint64_t number, pause_ns;
	uint32_t turn;
	unsigned attempt;
	bool has_place, is_retry, is_late;
	bool more;  /* another turn follows */
	bool rests; /* has ended, and keeps its place for a while */
	const struct evaluation_item *item;
	struct buf body, headers;
	struct openai_stream answer;
	struct openai_text text;
	struct timeline timeline;
	struct stream *stream;
};

struct call_list {
	struct call *first, *last;
};

/* What the main thread looks at while workers run. */
struct worker_counts {
	_Atomic uint64_t started, complete, failed, output_tokens, open, first_outputs, first_output_us;
};

struct worker {
	struct load *load;
	unsigned index;
	uint32_t places, places_taken; /* share of the concurrency; 0: no limit */
	uv_thread_t thread;
	uv_loop_t loop;
	uv_async_t wake; /* the main thread says: stop */
	uv_timer_t end;  /* of the time in which requests start */
	uv_timer_t grace;
	uv_poll_t alarm;
	int alarm_fd;
	int64_t alarm_ns;
	struct stream_client *client;
	VEC(struct call *) heap; /* held calls, earliest first */
	struct call_list spare, queued, open;
	size_t held_starts, open_count;
	bool over;      /* nothing more starts by itself */
	bool time_over; /* the time in which requests start has passed */
	bool stopped, closed;
	struct workload_request scratch;
	struct arena arena; /* texts that outlive calls */
	VEC(struct timeline) done;
	struct buf lines;
	struct worker_counts counts;
	struct stream_health health;
	double cpu_share;
	uint64_t local_failures; /* no socket, no port */
};

struct load {
	const struct load_options *options;
	uv_mutex_t mutex;   /* the cursor, evaluation, running */
	uv_mutex_t writing; /* on_records: a slow disk holds up nobody who waits for a start */
	struct workload_cursor *cursor;
	int64_t epoch_ns;      /* monotonic */
	int64_t starts_end_ns; /* since the epoch; INT64_MAX without a duration */
	uint64_t starts, evaluation_next;
	int64_t last_due_ns;
	bool is_open_loop;
	bool time_over; /* the next start is due after the end */
	bool plan_over; /* all its starts have been dealt out */
	atomic_bool stopping;
	struct worker *workers;
	unsigned worker_count;
	uv_cond_t ended; /* a worker has */
	unsigned running;
};

/* From here on a client's figures are no longer the server's. */
#define CLIENT_LAG_MS 20.0

static inline void count_add(_Atomic uint64_t *count, uint64_t value)
{
	atomic_fetch_add_explicit(count, value, memory_order_relaxed);
}

/* load.c */
struct job {
	uint64_t number;
	int64_t due_ns;
	const struct evaluation_item *item;
};
/* The next start. False: nothing more starts. */
bool load_next_job(struct load *l, int64_t now_ns, struct job *job);
/* Every start of the plan has been dealt out. */
bool load_plan_over(struct load *l);
int64_t load_now(const struct load *l); /* since the epoch */

/* worker.c */
bool worker_init(struct worker *w, struct load *l, unsigned index, struct error *e);
bool worker_start(struct worker *w, struct error *e); /* the thread */
void worker_run(void *worker);                        /* what it does */
void worker_fini(struct worker *w);
void worker_hold(struct worker *w, struct call *call); /* until call->due_ns */
struct call *worker_call(struct worker *w);            /* a free one */
void worker_release(struct worker *w, struct call *call);
void worker_place_free(struct worker *w, struct call *call);
void worker_step(struct worker *w); /* starts what can start; ends the loop when all is over */
void call_list_add(struct call_list *l, struct call *call);
void call_list_remove(struct call_list *l, struct call *call);

/* call.c */
void call_init(struct call *call, struct worker *w);
void call_fini(struct call *call);
/* Makes the request of (number, turn) or of the evaluation item. False: there is no such turn. */
bool call_prepare(struct call *call, uint64_t number, uint32_t turn, const struct evaluation_item *item, int64_t intended_ns);
void call_send(struct call *call);
/* Ends a call that was not sent, or waits for a retry. */
void call_drop(struct call *call, enum timeline_outcome outcome);

#endif
