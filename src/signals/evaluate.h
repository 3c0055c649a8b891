/* evaluate: from evidence to a report. */
#ifndef GOODPUT_SIGNALS_EVALUATE_H
#define GOODPUT_SIGNALS_EVALUATE_H

#include "signals/evidence.h"
#include "signals/report.h"

/* The state of one evaluation (one window): shared by expressions and detectors. */
struct evaluation {
	struct arena *arena;
	struct evidence *evidence;
	const struct catalog *catalog;
	struct window window;
	const struct window *reference; /* for before(); NULL */
	struct scope *scopes;
	size_t scope_count;
	struct reading **readings; /* [scope][signal]; filled on demand */
	bool **have;               /* [scope][signal] */
	bool **busy;
	struct evaluation *before; /* evaluation of the reference window; made on demand */
	VEC(struct finding) findings;
};

void evaluation_init(
	struct evaluation *ev, struct arena *arena, struct evidence *evidence, struct window window, const struct window *reference);
void evaluation_fini(struct evaluation *ev);
/* The scopes of the fleet: fleet, pools, targets, engines (where a target has several), GPUs. */
void scopes_build(struct evaluation *ev);
/* The reading of a signal at a scope; evaluated once. */
const struct reading *evaluation_reading(struct evaluation *ev, const struct scope *s, const struct signal_spec *signal);
const struct reading *evaluation_named(struct evaluation *ev, const struct scope *s, const char *signal_id);
/* A detector publishes a reading of a `detected` signal. */
void evaluation_publish(struct evaluation *ev, const struct scope *s, const char *signal_id, struct reading r);
struct reading evaluate_expression(struct evaluation *ev, const struct scope *s, const struct expression *x);
enum truth evaluate_condition(struct evaluation *ev, const struct scope *s, const struct expression *x, bool judge);

/* Trust of the gauges of a scheduler at the window's end. */
struct trust {
	bool known;       /* a heartbeat was seen at least twice */
	bool stale;       /* it stands still with work running or waiting */
	int64_t since_ms; /* when it last moved (the oldest sample when it never did) */
	bool idle;        /* nothing running, nothing waiting */
};
struct trust evaluation_trust(struct evaluation *ev, size_t scheduler);

/* The whole job for one span: evaluates at each moment (levels and what history says), each consecutive pair and the whole, merges findings
 * (onset = first moment), suppresses symptoms, and reports readings over `shown`. `moments` are the fleet's scrape times in order. Of more than
 * `max_moments` about so many are evaluated, on a grid in time, and the report says so. */
struct report_request {
	const int64_t *moments;
	size_t moment_count, max_moments;
	struct window shown;            /* the window whose readings are reported */
	bool only_shown;                /* findings of that window alone (--window, --at) */
	const struct window *reference; /* --against; NULL */
};
/* How far whoever judges again and again looks back for trends, ages and onsets; and at how many moments of it. */
enum { REPORT_HISTORY_MS = 30 * 60 * 1000, REPORT_MOMENTS = 24 };
/* The request of such a judgement at moments[moment]. Its window is `window_ms`, from a moment on (what lies before that one is not known
 * there), and holds two moments at least where there are two. */
struct report_request report_request_at(const int64_t *moments, size_t moment, int64_t window_ms);
struct report *report_new(struct arena *arena, struct evidence *evidence, const struct report_request *request);

#endif
