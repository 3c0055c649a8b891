/* run_report: what is left of a run: a page for people, a summary for tools that read vLLM's, JUnit XML for CI. */
#ifndef GOODPUT_REPORT_RUN_REPORT_H
#define GOODPUT_REPORT_RUN_REPORT_H

#include "report/html.h"
#include "slo/tally.h"

/* A line of the page's table of facts: "server queue P99", "1.2 s". */
struct run_fact {
	struct str name, value;
};

struct run_report {
	struct str title, subtitle; /* "bench: MODEL", "2026-01-01 12:00:00Z, http://..." */
	enum html_tone tone;
	struct str verdict; /* a sentence; empty: what the records say of client and interruption */
	const struct records *records;
	const struct tally *tally; /* of all requests, finished */
	const struct slo_set *slo;
	const struct tally *groups; /* may be NULL */
	size_t group_count;
	const size_t *worst; /* indices of records->requests, worst first; may be NULL */
	size_t worst_count;
	const struct run_fact *facts; /* more facts: the server's own figures, the client's health ... */
	size_t fact_count;
};
/* The self-contained page: verdict, figures, goodput over time, distributions, groups, errors, token timelines of the worst. */
void run_report_html(struct buf *out, const struct run_report *r);

/* Requests per second over time in buckets of `step_s` from the window's start: arrays of `buckets` each, in the arena. Good and complete
 * ones by their end, due ones by their intended (else submitted) time. */
struct run_rates {
	size_t buckets;
	double step_s, *start_s, *due, *complete, *good, *tokens; /* tokens: delivered */
};
void run_rates_make(struct arena *arena, const struct records *r, const struct slo_set *slo, struct run_rates *rates);

#endif
