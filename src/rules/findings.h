/* findings: what a report finds, as alerts of the same machinery as rules: states, ALERTS series, sending, the API.
 *
 * One alert per cause and pool. A symptom under its cause, an undecided red line and what is milder than `least` raise none. What a rollout
 * makes happen (targets coming and going, restarts, mixed versions) raises none either, unless one target has it for long or most have it.
 * A cause whose alert fires goes on taking its symptoms at moments at which only they are found.
 * When the watcher is blind, that is its own alert, and the others stay as they are: not to know is not to be well.
 *
 * Labels: alertname (the finding's id), severity, pool, source="goodput". A finding that gets worse is another alert, active since the same
 * moment. Annotations: summary, description, runbook (from the playbook), command (to look at it), and onset when it is known. */
#ifndef GOODPUT_RULES_FINDINGS_H
#define GOODPUT_RULES_FINDINGS_H

#include "rules/rules.h"
#include "signals/report.h"

struct finding_options {
	struct rules_options rules; /* interval_ms: between two reports */
	enum severity least;        /* SEVERITY_WARNING */
	int64_t hold_critical_ms;   /* 60000 */
	int64_t hold_ms;            /* of the others; 120000 */
	int64_t keep_firing_ms;     /* 300000 */
	int64_t churn_ms; /* 600000: what one target has for longer is no churn; so long does a rollout last after its last sign */
	/* 60000: a pending alert outlives so long a time in which it is not found; it fires when it was found at half of the evaluations */
	int64_t pause_ms;
	struct str command; /* "goodput check --prometheus http://127.0.0.1:9470": what shows the same; --at is added. Empty: none */
};
extern const struct finding_options finding_defaults;

struct finding_rules;
/* The catalogue must outlive it. */
struct finding_rules *finding_rules_new(const struct catalog *c, const struct finding_options *options);
void finding_rules_free(struct finding_rules *f);
/* Its one group, with a rule for each finding of the catalogue and "watcher-blind": to be shown, not to be evaluated. */
const struct rules *finding_rules_group(const struct finding_rules *f);
/* After a reload of the catalogue: what was active stays active. */
void finding_rules_take_over(struct finding_rules *f, struct finding_rules *old);

/* A deploy was announced, or capacity changed: until then changes are expected. */
void finding_rules_expect_changes(struct finding_rules *f, int64_t until_ms);
/* A report of t_ms; or NULL with why there is none. The report may go afterwards. */
void finding_rules_evaluate(struct finding_rules *f, const struct report *report, const char *why, struct sink *sink,
	const struct rules_receiver *to, int64_t t_ms);

#endif
