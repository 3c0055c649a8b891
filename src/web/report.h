/* report: a report as JSON: the members of goodput.check/1 that the command line and the API share. */
#ifndef GOODPUT_WEB_REPORT_H
#define GOODPUT_WEB_REPORT_H

#include "base/json.h"
#include "signals/report.h"

/* Members of the object that is open. */
void report_print_verdict(struct json *j, const struct report *r); /* "verdict": {...} */
void report_print_targets(struct json *j, const struct report *r); /* "targets": coverage and binding of each */
/* What is wanted of "scopes"; all of it by default. */
struct report_choice {
	const struct str *signals; /* ids; none: all */
	size_t signal_count;
	const struct str *kinds; /* of scopes; none: all */
	size_t kind_count;
};
void report_print_scopes(
	struct json *j, const struct report *r, const struct report_choice *choice); /* "scopes": readings; choice may be NULL */
void report_print_actions(
	struct json *j, const struct action *actions, size_t count); /* "actions": of a finding, or of its entry in the catalogue */
void report_print_findings(struct json *j, const struct report *r);  /* "findings" */

#endif
