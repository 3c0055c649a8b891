/* rules: Prometheus's rule files: loaded unchanged, evaluated with Prometheus's semantics over any backend, written through any sink.
 *
 *   rules_load       files → groups; an error says file, line, column and the fix
 *   rules_due        which group is to be evaluated now, and for which time
 *   rules_evaluate   one group at one time: recorded series, alerts, ALERTS and ALERTS_FOR_STATE, stale markers for what vanished
 *   rules_take_over  after a reload: the state of rules that are still there
 *
 * The structures below are plain data to read: what /api/v1/rules and /api/v1/alerts show (api.h writes them as JSON). One thread. */
#ifndef GOODPUT_RULES_RULES_H
#define GOODPUT_RULES_RULES_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "model/sink.h"
#include "promql/backend.h"
#include "rules/alerts.h"
#include "scrape/relabel.h"

struct template; /* a text with {{ actions }} */

struct rules_options {
	int64_t interval_ms;          /* of groups that have none; 60000 */
	int64_t query_offset_ms;      /* of groups that have none; 0 */
	int64_t resend_ms;            /* firing alerts are told again; 60000 */
	int64_t outage_tolerance_ms;  /* how old ALERTS_FOR_STATE may be to restore `for` from; 3600000 */
	int64_t grace_ms;             /* a restored alert fires no sooner than this after the restart; 600000 */
	bool restore;                 /* first load of the process: `for` is restored before ALERTS are written */
	const struct label *external; /* external labels, for templates */
	size_t external_count;
	struct str external_url;       /* of this server, for templates and links; may be empty */
	const struct relabel *relabel; /* alert_relabel_configs, borrowed: what is done to an alert's labels before it is told; or NULL */
};
extern const struct rules_options rules_defaults;

enum rule_health { RULE_UNKNOWN, RULE_OK, RULE_ERROR };
const char *rule_health_name(enum rule_health health); /* "unknown", "ok", "err" */

struct rule_text { /* a label or annotation of a rule */
	struct str name, text;
	struct template *template; /* NULL: nothing to fill in */
};

typedef VEC(const struct labels *) label_sets; /* sorted, referenced */

struct rule {
	/* from the file */
	bool is_alert;
	struct str name;
	struct str query; /* in canonical form, as the API shows it */
	int64_t for_ms, keep_firing_ms;
	struct rule_text *labels, *annotations; /* by name; the group's labels among them */
	size_t label_count, annotation_count;
	int line, column;
	/* state */
	enum rule_health health;
	char error[400];      /* of the newest evaluation; empty when it succeeded */
	int64_t evaluated_ms; /* 0: never */
	double took_s;
	struct alerts alerts;
	bool restored;      /* ALERTS may be written */
	label_sets written; /* by the evaluation before */
};

struct rule_group {
	struct str name, file;
	int64_t interval_ms, query_offset_ms;
	size_t limit; /* 0: none */
	struct rule *rules;
	size_t rule_count;
	int64_t offset_ms; /* evaluated at k * interval + offset */
	/* state */
	int64_t evaluated_ms, next_ms; /* next_ms 0: not yet asked for */
	double took_s;
	uint64_t evaluations, missed;
	bool must_restore;
};

struct rules {
	struct arena arena;
	struct rules_options options;
	VEC(struct rule_group *) groups;                                    /* by file in the order given, then as in the file */
	label_sets orphans;                                                 /* series of rules that a reload removed: to be marked stale */
	uint64_t evaluations, failures, samples, refused, templates_failed; /* since the load, for /metrics */
};

/* `paths` are files or patterns (with *, ? or [); a pattern may match nothing. NULL with an error at a place of a file: nothing of any file
 * is taken then. */
struct rules *rules_load(const char *const *paths, size_t path_count, const struct rules_options *options, struct error *e);
/* From a text in memory, as the one file of this name. */
struct rules *rules_load_text(struct str file, struct str text, const struct rules_options *options, struct error *e);
void rules_free(struct rules *r);
size_t rules_count(const struct rules *r);

/* Moves the state of rules that are the same in `old` (by file, group, name, labels) into `r`; what vanished is marked stale at the next
 * evaluation, and its alerts end with it. `old` is to be freed by the caller. */
void rules_take_over(struct rules *r, struct rules *old);

/* The next time at which rules_due will give a group; INT64_MAX without groups. */
int64_t rules_next(struct rules *r, int64_t now_ms);
/* A group that is due at `now_ms`, and the time it is to be evaluated for; NULL when none is. Times that were missed are counted and
 * skipped. */
struct rule_group *rules_due(struct rules *r, int64_t now_ms, int64_t *t_ms);

/* Called for each alert that receivers are to be told (again). */
struct rules_receiver {
	void (*tell)(void *context, const struct alert *alert, struct str query);
	void *context;
};
/* All rules of the group in order. A rule that fails says so in `health` and `error`; the others go on. `to` may be NULL. */
void rules_evaluate(
	struct rules *r, struct rule_group *g, struct backend *backend, struct sink *sink, const struct rules_receiver *to, int64_t t_ms);
/* Restores `for` of active alerts from ALERTS_FOR_STATE. Done by rules_evaluate at a group's second evaluation when options.restore. */
void rules_restore(struct rules *r, struct rule_group *g, struct backend *backend, int64_t t_ms);
/* The labels of the series ALERTS or ALERTS_FOR_STATE of an alert. As Prometheus has it, a rule's label that came out empty when it was
 * filled in stands there as it is in the file. */
struct labels *rule_series(const struct rule *rule, const struct alert *alert, struct str name, struct str state);

#endif
