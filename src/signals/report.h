/* report: what one evaluation says: readings of every signal at every scope, findings, coverage. Plain data: the command line, the page and
 * alerts only render it. */
#ifndef GOODPUT_SIGNALS_REPORT_H
#define GOODPUT_SIGNALS_REPORT_H

#include "catalog/binding.h"
#include "catalog/catalog.h"
#include "scrape/fleet.h"
#include "signals/reading.h"

enum scope_kind { SCOPE_FLEET, SCOPE_POOL, SCOPE_TARGET, SCOPE_ENGINE, SCOPE_GPU };
const char *scope_kind_name(enum scope_kind k);

struct scope {
	enum scope_kind kind;
	struct str name; /* "fleet", pool name, target name, "target/engine0", "gpu0" (or "target/gpu0" when several exporters) */
	struct str key;  /* engine or gpu: "0" */
	size_t target;   /* index in the fleet; of target, engine, gpu scopes */
	size_t *members; /* indices of schedulers */
	size_t member_count;
	size_t *targets; /* indices of targets in the scope */
	size_t target_count;
	const struct pool_spec *pool; /* the pool of the scope; NULL for a fleet of several pools */
	struct str model;             /* the one model of the scope; "" when none or several */
	bool mixed_models;
};

struct window {
	int64_t from_ms, to_ms; /* from == to: levels only */
	int64_t history_ms;     /* trends, ages and onsets may look back to here */
};

struct evidence_line {
	const struct signal_spec *signal;
	struct reading reading;
};

struct finding {
	const struct finding_spec *spec;
	enum severity severity;
	struct scope *scope;           /* where it was raised: the narrowest that covers it */
	struct str *where;             /* names of targets or engines concerned */
	size_t where_count, where_all; /* "3 of 32" */
	struct str title;              /* one sentence, readings filled in */
	struct str detail;             /* what a detector wants to add: alias names, line numbers ...; may be empty */
	struct evidence_line *evidence, *counter;
	size_t evidence_count, counter_count;
	struct action *actions; /* placeholders filled in */
	size_t action_count;
	int64_t onset_ms;     /* first moment at which it was raised; 0 unknown */
	int64_t last_ms;      /* last moment at which it was raised */
	bool now;             /* raised at the end of the window */
	struct reading blast; /* requests per second missing the SLO or failing; unknown when it cannot be said */
	struct str *changed;  /* what else changed at onset, sentences */
	size_t changed_count;
	const struct finding_spec *suppressed_by; /* NULL, or the cause it is shown under */
	bool undecided;                           /* red line neither crossed nor clear: listed apart, no severity */
};

struct coverage_line {
	const struct metric_spec *metric;
	enum coverage coverage;
	struct str why, exposed;
};
struct target_report {
	const struct target *target;
	const struct binding *binding; /* NULL: never answered */
	struct scrape_record last;     /* t_ms 0 when never scraped */
	struct coverage_line *coverage;
	size_t coverage_count;
	struct str engine; /* "vLLM 0.11.1 to 0.12 (V1)" */
};

struct report {
	struct window window;
	bool has_window, has_reference;
	struct window reference;
	const struct catalog *catalog;
	const struct fleet *fleet;
	struct scope *scopes;
	size_t scope_count;
	struct reading **readings; /* [scope][signal index] */
	struct reading **change;   /* the same against the reference window: now / before - 1; NULL without one */
	struct finding *findings;  /* by severity, then scope; suppressed ones follow their cause */
	size_t finding_count;
	struct target_report *targets;
	size_t target_count;
	/* summary */
	enum severity worst;
	bool any_finding;                  /* a finding with severity warning or worse that is not suppressed */
	size_t targets_up, targets_judged; /* judged: an engine or exporter was recognised */
	size_t moments_evaluated, moments_all;
	struct str verdict; /* one sentence */
	int exit_status;    /* EXIT_FINE … EXIT_UNKNOWN */
};

const struct reading *report_reading(const struct report *r, const struct scope *s, const char *signal);
const struct scope *report_scope(const struct report *r, struct str name); /* by name; "fleet", "pod-a", "engine0" where unique, "gpu0" */

/* The severity of the verdict: "critical", "warning", "info", "fine" or "unknown". */
const char *verdict_severity(const struct report *r);
/* What people and JSON call a scope: engines and GPUs of a lone target by their short name ("engine0"). */
struct str scope_label(const struct report *r, const struct scope *s);

/* How much a target, engine or GPU deserves to be seen first: whom findings name, then what is silent (1e3), then the slow and the queued.
 * From 1e6: a critical finding is about it; from 1e4: a warning; from 100: a remark. */
double scope_badness(const struct report *r, const struct scope *s);

#endif
