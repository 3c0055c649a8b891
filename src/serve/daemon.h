/* daemon: what the files of this folder share. Internal. */
#ifndef GOODPUT_SERVE_DAEMON_H
#define GOODPUT_SERVE_DAEMON_H

#include "base/vec.h"
#include "expo/remote_write.h"
#include "net/fetcher.h"
#include "net/server.h"
#include "rules/notify.h"
#include "serve/gate.h"
#include "serve/generation.h"
#include "serve/self.h"
#include "serve/sender.h"
#include "serve/serve.h"
#include "web/page.h"
#include "web/web.h"

struct daemon;

/* One scrape, from its start until it is in. */
struct scrape {
	struct scrapee *scrapee;
	int64_t t_ms; /* its start */
	struct arena arena;
	struct http_request request;
	struct http_answer answer;
	struct gate_task ingest;
};

/* One target with its clock. Lives until its last scrape is over. */
struct scrapee {
	struct daemon *daemon;
	struct target *target; /* NULL: taken out, ends when its fetch does */
	const struct labels *discovered;
	struct str pool;
	int64_t interval_ms, timeout_ms, offset_ms; /* ticks are k * interval + offset */
	int64_t due_ms;                             /* the next tick */
	uv_timer_t timer;
	struct fetch *fetch;     /* on its way; or NULL */
	struct scrape *fetching; /* of it */
	unsigned scrapes;        /* that are not in yet: answered ones wait for the gate */
};

/* One evaluation of all signals, whole. */
struct judgement {
	struct arena arena;
	struct report *report;
	struct page_news news; /* the report as the page begins with it */
	int64_t t_ms;
	double took_s, cpu_s;
	struct error error;
};

struct reload;
struct receipt;
struct call; /* a request on its way */
struct mirroring;
struct passing;
struct load;

struct daemon {
	uv_loop_t loop;
	const struct serve_options *options;
	const volatile bool *stop;
	struct server *server;
	struct fetcher *fetcher;
	struct gate gate;
	struct arena arena; /* as long as the process */
	/* data: changed by writes of the gate only */
	struct store *store;
	struct fleet fleet;
	struct backend *backend;
	/* What signals look at and rules ask: the same, unless an existing Prometheus is watched. */
	struct store *judged_store;
	struct backend *judged_backend, *rules_backend;
	struct mirroring *mirroring;   /* of that Prometheus; or NULL */
	struct generation *generation; /* in use */
	VEC(struct scrapee *) scrapees;
	struct judgement *judgement; /* the newest; or NULL */
	char blind_why[500];         /* why the newest evaluation gave none; empty: it did */
	int64_t start_ms;
	bool config_ok; /* the newest reload was one */
	struct promql_options limits;
	/* the loop's own */
	uv_timer_t housekeeping, evaluation, rules_timer;
	uv_signal_t hangup;
	uv_async_t changed; /* discovery found something */
	struct gate_task sync;
	struct gate_task commit;
	int64_t committed_ms, retained_ms, kept_alive_ms;
	uint64_t removals; /* of targets: a report that was begun before one may speak of it */
	bool syncing, committing, ruling, degraded;
	struct call *calls;
	struct passing *passings;
	size_t call_count;
	struct notifier *notifier; /* of alerts */
	struct remote_receiver *receiver;
	struct tee *tee; /* in front of the store: whoever writes, writes here */
	VEC(struct sender *) senders;
	VEC(struct receipt *) receipts; /* remote writes that are not answered yet */
	uv_timer_t commit_soon;
	VEC(struct exchange *) listeners; /* of events */
	struct self self;
	struct reload *reloading; /* or NULL */
	bool judging, closing;
	bool secure, asks_clients; /* the listener speaks TLS; clients must show a certificate */
	int64_t closing_since_ms;
	char folder[512];
};

static inline int64_t daemon_now(const struct daemon *d)
{
	return (int64_t)uv_now(&d->loop);
}

static inline const char *daemon_scheme(const struct daemon *d)
{
	return d->secure ? "https" : "http";
}

/* scraper.c */
/* Makes the fleet and its clocks what the generation in use lists: new targets begin, others end, the rest goes on undisturbed. A write. */
void scraper_sync(struct daemon *d);
void scraper_stop(struct daemon *d);

/* alerting.c */
/* Tells the notifier who is to be told, when that has changed, or `always`. A write. */
void alerting_sync(struct daemon *d, bool always);

/* ruling.c */
void ruling_look(uv_timer_t *timer);

/* keeping.c */
bool keeping_open(struct daemon *d, struct error *e);
void keeping_look(struct daemon *d);
void keeping_commit_soon(uv_timer_t *timer);

/* receiving.c */
void receiving_start(struct daemon *d, struct exchange *x, const struct message *m);
bool receiving_gone(struct daemon *d, struct exchange *x);
void receiving_committed(struct daemon *d, bool ok);

/* sending.c */
/* The senders of the generation in use. A write. */
void sending_sync(struct daemon *d);
void sending_commit(struct daemon *d);
void sending_close(struct daemon *d);
void sending_print(const struct daemon *d, struct buf *out);

/* mirroring.c */
bool mirroring_open(struct daemon *d, struct error *e);
void mirroring_close(struct daemon *d);
/* Asks for what is new, and then judges. */
void mirroring_start(struct daemon *d);
bool mirroring_is_busy(const struct daemon *d);
struct load *mirroring_load(struct daemon *d);
void mirroring_print(const struct daemon *d, struct buf *out);

/* passing.c */
/* False: not a request that the Prometheus answers. */
bool passing_start(struct daemon *d, struct exchange *x, const struct message *m);
bool passing_gone(struct daemon *d, struct exchange *x);
void passings_cancel(struct daemon *d);

/* judge.c */
void judge_start(struct daemon *d);
/* Nothing can be judged, and why. A write. */
void judge_blind(struct daemon *d, const char *why);
void judgement_free(struct judgement *j);
/* A target is about to go, of which the report in use may speak. A write. */
void judgement_drop(struct daemon *d);

/* calls.c */
/* Answers with one of the page's files; false when it is none. */
bool page_answer(struct daemon *d, struct exchange *x, const struct message *m);
void call_start(struct daemon *d, struct exchange *x, const struct message *m);
/* The client went away. */
void call_gone(struct daemon *d, struct exchange *x);
void calls_cancel(struct daemon *d);

/* requests.c: routes that the loop answers itself; the rest are jobs. */
void request_answer(void *context, struct exchange *x, const struct message *m);
void request_gone(void *context, struct exchange *x);
void request_refused(void *context, int status);

/* events.c */
void events_open(struct daemon *d, struct exchange *x);
bool events_gone(struct daemon *d, struct exchange *x);
/* Sends to all listeners. `data` is one line of JSON. */
void events_send(struct daemon *d, const char *event, struct str data);
void events_keep_alive(struct daemon *d);
void events_close(struct daemon *d);

/* reload.c */
/* Reads everything that is configured and puts it to use; false with an error when it stays as it was. A write. */
bool generation_load(struct daemon *d, struct error *e);
/* Asks for it; done when the gate allows. `x`: who is to be told, or NULL. */
void daemon_reload(struct daemon *d, struct exchange *x);
bool reload_gone(struct daemon *d, struct exchange *x);

#endif
