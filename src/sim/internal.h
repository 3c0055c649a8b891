/* internal: what the files of the stand-in server share. Not for other folders. */
#ifndef GOODPUT_SIM_INTERNAL_H
#define GOODPUT_SIM_INTERNAL_H

#include "base/rng.h"
#include "base/vec.h"
#include "net/server.h"
#include "openai/reply.h"
#include "openai/words.h"
#include "sim/faults.h"
#include "sim/setup.h"
#include "sim/traffic.h"

#include <uv.h>

struct simulator;
struct replica;

/* One engine core of a replica. Its virtual clock is the program's monotonic one. */
struct sim_engine {
	struct replica *replica;
	uint32_t rank;
	struct engine *engine;
	struct meter meter;
	struct engine_state frozen; /* what the page shows while its gauges are stale */
	uint64_t frozen_steps;
	double preempt_due; /* next blow of a preemption storm */
	bool is_stuck;      /* its first request in line cannot be admitted, whatever ends */
};

/* One completion of a request. */
struct choice {
	struct answer *answer;
	struct sim_engine *at;
	engine_handle handle; /* 0: over, or never in */
	uint32_t index;       /* of its prompt times n */
	const struct prompt *prompt;
	struct content content;
	uint64_t seed;              /* of its words */
	uint32_t output;            /* tokens until the end */
	uint32_t words;             /* of those, with text (an end-of-sequence token has none) */
	size_t bytes;               /* of text at most, when a stop string cuts it */
	bool stopped;               /* by a stop string or its end */
	uint32_t said, ready, sent; /* tokens made, those that the front end has got to, those whose text is out */
	size_t sent_bytes;
	double delivered;                /* when tokens last became ready */
	struct engine_timeline timeline; /* once the engine is done with it */
	bool ended;
	double due;         /* when the first token that is not sent yet was made */
	bool opened;        /* its role event is out */
	const char *finish; /* its reason, once it is over */
	bool told;          /* the client knows */
};

/* One request with all its completions. exchange NULL: nobody listens (self-traffic, or the client went). */
struct answer {
	struct replica *replica;
	struct answer *next, *previous;
	struct answer *changed_next; /* in the list of answers that have something to hand out */
	struct arena arena;
	struct exchange *exchange;
	struct openai_request request;
	struct reply reply;
	struct buf opening;
	struct choice *choices;
	uint32_t count, live;
	double began;
	size_t request_bytes;
	uint32_t cut_after; /* tokens after which the stream breaks off; 0 = never */
	int status;         /* of HTTP, for the counters */
	struct str error;   /* why it failed; ptr NULL: it did not */
	bool began_stream, blocked, changed, self, done;
};

struct replica {
	struct simulator *sim;
	uint32_t index;
	struct server *server; /* NULL while it is down */
	const char *host;      /* as asked for */
	int port;
	struct sim_engine *engines;
	uint32_t engine_count;
	enum mimic_release release;
	struct web_meter web;
	struct answer *answers; /* alive */
	struct answer *over;    /* to be freed when no engine is at work */
	double start_time;      /* Unix seconds */
	double up_at;           /* when a crashed one comes back; 0 = it is up */
	struct rng rng;
	struct fault_effect effect; /* of all active faults together */
	bool stale;
	uint64_t serial; /* of texts */
};

struct simulator {
	uv_loop_t loop;
	uv_poll_t clock;
	uv_timer_t housekeeping;
	int clock_fd;
	bool advancing, closing;
	int64_t origin_ns;
	const struct setup *setup;
	const volatile bool *stop;
	double stop_at; /* when patience with what is in progress ends; 0: not stopping */
	struct replica *replicas;
	uint32_t replica_count;
	struct fault_list faults;
	struct traffic *traffic; /* or NULL */
	struct answer *changed, **changed_end;
	struct bucketed lateness, lateness_recent;
	uint64_t self_requests;
	double reported, recent_since;
	struct buf scratch, text; /* for one event */
};

/* clock.c */
double sim_now(const struct simulator *sim);
bool sim_clock_init(struct simulator *sim, struct error *e);
void sim_clock_close(struct simulator *sim);
/* Plays everything due and sets the timer for what is next. */
void sim_advance(struct simulator *sim);
void sim_note_lateness(struct simulator *sim, double due);
void sim_report_lateness(struct simulator *sim);

/* replica.c */
bool replica_init(struct replica *r, struct simulator *sim, uint32_t index, const struct sim_options *o, struct error *e);
void replica_fini(struct replica *r);
/* Everything in progress is lost; comes back after `down` seconds, perhaps as another release. */
void replica_crash(struct replica *r, double down, enum mimic_release release);
void replica_revive(struct replica *r);
/* The engine with the least to do, as vLLM's own balancing picks it. */
struct sim_engine *replica_pick(struct replica *r);
bool replica_listen(struct replica *r, struct error *e);

/* answer.c */
struct answer *answer_new(struct replica *r);
void answer_link(struct answer *a); /* into the living ones of its replica */
/* submit.c. Hands the parsed request (in answer->arena) to the engines. */
void answer_start(struct answer *a, struct exchange *x);
/* A request of the server's own traffic. */
void answer_self(struct replica *r, const struct traffic_request *t);
/* The client is gone. */
void answer_abandon(struct answer *a);
/* A slow front end gets to what it has put off. */
void answers_catch_up(struct replica *r);
void answer_drop_all(struct replica *r); /* the engines are gone already */
/* Engines only note what happened; afterwards this hands it out, all that a stream missed meanwhile as one event. So a program that is
 * late catches up, and nothing is sent from inside an engine. */
void answer_changed(struct answer *a);
void answers_hand_out(struct simulator *sim);
void answers_free_over(struct replica *r);
/* events.c */
engine_observer answer_observe;                /* context: struct sim_engine */
void choice_end(struct choice *c, double now); /* its end has reached the front end */

/* effects.c: works out what is active now. */
void sim_apply_faults(struct simulator *sim);
/* Times of the text count from `now`; `replica`: who is meant when the text does not say (-1: all). */
bool sim_add_fault(struct simulator *sim, struct str text, double now, int replica, struct error *e);

/* deliver.c: what the client gets */
void deliver_choice(struct choice *c);
void deliver_end(struct answer *a);

/* routes.c, control.c, metrics.c */
void route_request(void *context, struct exchange *x, const struct message *m);
void route_refuse(struct replica *r, struct exchange *x, const struct openai_error *e);
void control_fault(struct replica *r, struct exchange *x, const struct message *m);
void metrics_write(struct replica *r, bool openmetrics, struct buf *out);
void metrics_answer(struct replica *r, struct exchange *x, const struct message *m);

/* Old releases had the error object flat. */
static inline bool flat_errors(const struct replica *r)
{
	return r->release <= MIMIC_0_9;
}

#endif
