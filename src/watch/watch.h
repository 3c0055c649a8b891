/* watch: one pipeline from wherever a fleet's figures are to a report: live targets, a recording, saved pages, a store, or an existing
 * Prometheus.
 *
 *   watch_open    catalogue and configuration; what kind of source the targets are
 *   watch_gather  samples and the log of scrapes, in `data`
 *   watch_report  the report over the window asked for
 *
 * What people typed (--window, --at ...) comes in as text, since what it may say depends on the source: a recording's moments have names.
 */
#ifndef GOODPUT_WATCH_WATCH_H
#define GOODPUT_WATCH_WATCH_H

#include "catalog/catalog.h"
#include "promql/backend.h"
#include "promql/remote.h"
#include "scrape/recording.h"
#include "scrape/scrape.h"
#include "signals/evaluate.h"
#include "signals/evidence.h"
#include "signals/report.h"
#include "store/store.h"

enum watch_kind { WATCH_LIVE, WATCH_RECORDING, WATCH_PAGE, WATCH_STORE, WATCH_REMOTE };

struct watch_options {
	const char *const *targets; /* as typed */
	size_t target_count;
	const char *targets_file;             /* one target a line, # comments */
	const char *config_file, *pools_file; /* goodput.yaml; a file with `pools:` */
	const char *const *catalog_files;
	size_t catalog_file_count;
	struct scrape_options scrape;
	struct remote_options remote;              /* url NULL: no --prometheus */
	const char *window, *at, *since, *against; /* as typed, or NULL */
	int64_t now_ms;
	bool only_samples;         /* for queries: one live scrape is enough (unless --window), addresses are not probed */
	bool only_names;           /* with only_samples: a Prometheus is asked for the fleet, not only opened for queries */
	bool only_live;            /* to record: targets must be live */
	const volatile bool *stop; /* set by Ctrl-C */
};

/* Samples of a fleet and how to ask for them. */
struct watch_data {
	struct store *store;
	struct fleet fleet;
	struct backend *backend;
	struct evidence evidence;
	bool has_fleet, has_evidence;
};

struct moments {
	int64_t *items;
	size_t count, cap;
};
/* Appends the times of the rounds from a time on (a round: every target once), rising. */
void fleet_moments(const struct fleet *f, int64_t from_ms, struct moments *moments);

/* Which part of the moments a report is about. */
enum span_kind { SPAN_LEVELS, SPAN_PAIR, SPAN_WHOLE, SPAN_SINCE_START };
const char *span_kind_name(enum span_kind kind); /* "levels", "pair", "whole", "since-start" */

struct watch_span {
	struct window window;
	enum span_kind kind;
	bool asked; /* by --window, --at or --since: findings of it alone */
};

struct config;

struct watch {
	struct watch_options options;
	enum watch_kind kind;
	struct arena arena;
	struct catalog catalog;
	bool has_catalog;
	struct config *config; /* of --config, when its jobs are the targets; NULL otherwise */
	struct watch_data data;
	struct backend *remote;            /* WATCH_REMOTE, WATCH_STORE: where `data` was fetched from; NULL otherwise */
	struct store *file;                /* WATCH_STORE: what `remote` asks, read only */
	struct recording recording;        /* names of moments; of a live watch: its rounds */
	struct moments moments;            /* times of the rounds, rising */
	int64_t interval_ms;               /* median gap between scrapes of a target; 0 when unknown */
	struct watch_span span, reference; /* reference.kind is SPAN_LEVELS without --against */
	struct report *report;
	/* A saved page has one scrape. Its counters began at 0 with the process, which makes a second report: figures since then. */
	struct watch_data lifetime;
	struct watch_span lifetime_span;
	struct report *lifetime_report; /* NULL when there is none */
	bool start_known;               /* the time between is real: the page says when its process started */
};

/* Is there a file or folder of this name, or is it "-"? */
bool watch_is_file(const char *target);
/* The catalogue with the files of the options: configuration, pools, catalogue files. Texts live in the arena. */
bool watch_catalog(struct catalog *c, struct arena *arena, const struct watch_options *o, struct error *e);
/* Nothing needs to be closed after a false return. */
bool watch_open(struct watch *w, const struct watch_options *options, struct error *e);
void watch_close(struct watch *w);
bool watch_gather(struct watch *w, struct error *e);
/* Indexes the samples by meaning (w->data.evidence), which watch_report does by itself. */
bool watch_evidence(struct watch *w, struct error *e);
bool watch_report(struct watch *w, struct error *e);

/* One round of scrapes of a live watch, not ingested: answers[i] belongs to fleet.targets.items[i]. Every round has its own connections, so
 * that an address behind which several processes take turns is not pinned to one of them. */
void watch_scrape(struct watch *w, struct arena *arena, struct http_answer *answers);
/* Sleeps in small steps until the monotonic time, with "what: 7 s" as progress; false when stopped. */
bool watch_wait(const struct watch *w, int64_t until_ns, const char *what);

#endif
