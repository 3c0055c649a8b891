/* load: sends a workload to one endpoint and records every request's timeline.
 *
 * A *start* is a request that the arrival process sends by itself; the later turns of a session follow it. A *call* is one request with its
 * retries. A *worker* is a thread with a loop, a stream client and calls of its own; starts are dealt out under one lock, everything else
 * is the worker's. Open-loop calls leave at their due time whatever the server does, and keep that time beside the real one, so an
 * overloaded server or a late client cannot hide.
 *
 * With a concurrency limit the workers share it out: worker i of n has a share of it and its own queue. In a closed loop a session keeps
 * its place through its pauses. */
#ifndef GOODPUT_LOAD_LOAD_H
#define GOODPUT_LOAD_LOAD_H

#include "load/evaluation.h"
#include "model/records.h"
#include "net/stream.h"
#include "openai/stream.h"
#include "workload/workload.h"

enum load_usage { LOAD_USAGE_EACH, LOAD_USAGE_LAST, LOAD_USAGE_NONE }; /* which usage objects the stream is asked for */

struct load_progress {
	int64_t elapsed_ns;
	uint64_t started, complete, failed, output_tokens;
	uint64_t open;       /* on their way now */
	double ttft_mean_ms; /* of the first outputs since the last report; NaN: none */
	double token_rate;   /* of requests that completed since the last report */
};

struct load_options {
	const struct endpoint *endpoint;
	enum openai_api api;
	struct str path; /* "/v1/chat/completions" */
	struct str model;
	struct str headers; /* "Name: value\r\n" lines for all requests */
	struct str members; /* more members of every body: "\"top_k\":5"; empty: none */
	struct str request_prefix;
	enum load_usage usage;
	bool streams; /* ask for a stream; without, no TTFT */
	const struct workload *workload;
	const struct workload_plan *plan;        /* has passed workload_plan_check */
	const struct evaluation_set *evaluation; /* NULL: none. Its items are spread over the run, each sent once */
	int64_t duration_ns;                     /* nothing starts later; 0: until the plan is over */
	int64_t warmup_ns, cooldown_ns;          /* at both ends of the time in which requests start: sent, kept, not judged */
	uint64_t warmup_starts;                  /* the first so many starts are not judged */
	int64_t grace_ns; /* for what is on its way when nothing starts any more; then it is cancelled. < 0: no limit */
	unsigned retries; /* of a call, on 429, 502, 503, 504 and lost connections; Retry-After is kept to, above a minute it ends the call
			   */
	unsigned threads; /* 0: one for each core */
	const volatile bool *stop; /* Ctrl-C: cancels what is on its way */
	/* Called from load_run's thread four times a second. */
	void (*on_progress)(void *context, const struct load_progress *p);
	/* Lines of records (model/records.h) of calls that have ended; called by the workers, one at a time. NULL: none. */
	void (*on_records)(void *context, struct str lines);
	void *context;
};

/* Ids of timelines: a start's number; an evaluation item's position, counted from here. */
#define LOAD_EVALUATION_ID ((uint64_t)1 << 32)

enum { LOAD_REASON_MAX = 240 };

struct load_result {
	struct arena arena;                                  /* texts of the requests */
	VEC(struct timeline) requests;                       /* by due (else submitted) time */
	int64_t window_start_ns, window_end_ns, last_end_ns; /* since the run's start */
	double start_unix;
	uint64_t evaluation_unsent;
	struct stream_health health;
	double cpu_share;    /* of a core, of the busiest worker */
	double lag_p99_ms;   /* from the kernel's stamp to the worker */
	double delay_p99_ms; /* schedule delay of open-loop starts; NaN in a closed loop */
	unsigned threads;
	bool interrupted, client_bound;
	char client_reason[LOAD_REASON_MAX];
};

/* False: the run could not begin. Otherwise the result is filled, whatever became of the requests. */
bool load_run(const struct load_options *options, struct load_result *result, struct error *e);
void load_result_fini(struct load_result *r);

/* One request, before a run: does the endpoint answer as asked? Fills `timeline` (timeline_init before, timeline_fini after). */
bool load_probe(const struct load_options *options, struct timeline *timeline, struct error *e);

/* The body of one request of the workload, or of an evaluation item (then `r` may be NULL). */
void load_body(const struct load_options *o, const struct workload_request *r, const struct evaluation_item *item, struct buf *out);

#endif
