/* web: the HTTP interface as functions of a request: Prometheus's API, federation, and our own. Sans-IO: a request in, a whole answer out.
 * The daemon fills `web_source`, calls web_answer in a worker while nothing it shows can change, and moves the bytes. */
#ifndef GOODPUT_WEB_WEB_H
#define GOODPUT_WEB_WEB_H

#include "base/arena.h"
#include "base/buf.h"
#include "promql/promql.h"
#include "promql/tree.h"
#include "scrape/fleet.h"
#include "signals/report.h"
#include "store/store.h"
#include "web/form.h"

/* ---- what is shown ---- */

struct web_target {
	const struct target *target; /* labels, url, scrapes, the page's metadata */
	const struct labels *discovered;
	struct str pool;
	int64_t interval_ms, timeout_ms;
};

struct rules;

struct web_flag {
	const char *name, *value;
};

struct web_source {
	struct backend *backend;
	const struct store *store; /* NULL when the data is elsewhere */
	const char *elsewhere;     /* the Prometheus that has the fleet's samples; NULL: they are in `backend` */
	const struct promql_options *limits;
	const struct web_target *targets;
	size_t target_count;
	const struct labels **dropped; /* targets that relabelling dropped, as discovered */
	size_t dropped_count;
	const struct rules *rules[2]; /* of files; of findings */
	size_t rules_count;
	const struct report *report; /* the newest, or NULL before the first */
	int64_t report_ms;
	const struct label *external_labels;
	size_t external_label_count;
	const struct web_flag *flags;
	size_t flag_count;
	struct str config_text;
	int64_t start_ms, config_ms; /* of the process; of the configuration in use */
	bool config_ok;
	const char *folder; /* the process's working directory */
	int64_t retention_ms;
};

/* ---- requests and answers ---- */

struct web_request {
	struct str method, path, query; /* path and query as sent */
	struct str body, content_type;
	int64_t now_ms;
	const _Atomic bool *cancel;
	const struct web_source *source;
	struct arena *arena; /* for whatever the answer is made of */
	struct form form;    /* filled in by web_answer */
	struct str rest;     /* what a route's '*' stands for; filled in by web_answer */
};

struct web_reply {
	int status;
	const char *content_type;
	const char *headers; /* lines, or NULL */
	struct buf body;
};

enum { WEB_BODY_MAX = 1 << 30 };

void web_reply_init(struct web_reply *r);
void web_reply_fini(struct web_reply *r);
/* Always answers; unknown paths with 404. */
void web_answer(struct web_request *q, struct web_reply *r);
/* "/api/v1/query" for "/api/v1/query", "/api/v1/label/:name/values" ...; "other". For counting requests: few values, whatever is sent. */
const char *web_route_name(struct str path);

/* ---- for the files of this folder ---- */

enum web_error { WEB_BAD_DATA, WEB_EXECUTION, WEB_TIMEOUT, WEB_CANCELED, WEB_INTERNAL, WEB_NOT_FOUND, WEB_UNAVAILABLE };
void web_fail(struct web_reply *r, enum web_error type, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* {"status":"success","data": … and the end; warnings and infos may be NULL. */
void web_open(struct web_reply *r);
void web_close(struct web_reply *r, const struct str *warnings, size_t warning_count, const struct str *infos, size_t info_count);
/* Seconds with three decimals, or none when they are whole. */
void web_add_time(struct buf *out, int64_t t_ms);
void web_add_labels(struct buf *out, const struct labels *l);
/* RFC 3339; the zero time for 0. */
void web_add_date(struct buf *out, int64_t t_ms);

/* A time parameter. False after an error has been answered. */
bool web_time(struct web_request *q, struct web_reply *r, const char *name, int64_t preset_ms, int64_t *ms);
/* 0: no limit. */
bool web_limit(struct web_request *q, struct web_reply *r, const char *name, size_t *limit);
/* The cause of a failed evaluation as an answer. */
void web_fail_execution(struct web_reply *r, const struct error *e);

typedef void web_handler(struct web_request *q, struct web_reply *r);
web_handler web_query, web_query_range, web_format_query, web_parse_query, web_query_exemplars; /* query.c */
web_handler web_series, web_labels, web_label_values;                                           /* series.c */
web_handler web_targets, web_targets_metadata, web_metadata;                                    /* targets.c */
web_handler web_buildinfo, web_runtimeinfo, web_config, web_flags, web_tsdb, web_walreplay;     /* status.c */
web_handler web_rules, web_alerts;                                                              /* rules.c */
web_handler web_own_readings, web_own_findings, web_own_coverage, web_own_annotations;          /* own.c */
web_handler web_own_signals;                                                                    /* bound.c */
web_handler web_own_changes, web_own_change;                                                    /* changes.c */
web_handler web_federate;                                                                       /* federate.c */

/* match[] selectors as matchers; freed by web_matchers_fini. */
struct web_matchers {
	struct matcher **lists; /* one per selector */
	size_t *counts;
	size_t count;
};
bool web_matchers_init(struct web_matchers *m, struct web_request *q, struct web_reply *r, bool needed);
void web_matchers_fini(struct web_matchers *m);

#endif
