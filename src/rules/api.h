/* api: rules and alerts as Prometheus's HTTP API shows them: the "data" of /api/v1/rules and /api/v1/alerts. */
#ifndef GOODPUT_RULES_API_H
#define GOODPUT_RULES_API_H

#include "base/json.h"
#include "model/matcher.h"
#include "rules/rules.h"

struct rules_filter {                      /* all zero: everything */
	bool only_alerts, only_recordings; /* type=alert, type=record */
	bool exclude_alerts;
	const struct str *names, *groups, *files; /* any of them; none given: all */
	size_t name_count, group_count, file_count;
	const struct matcher *const *matches; /* sets of matchers on a rule's labels; a rule shows when all of one set hold */
	const size_t *match_counts;
	size_t match_count;
};

/* {"groups":[...]} of several sets of rules (files', findings'), in order. Groups of which no rule is left are left out when filtered. */
void rules_print_groups(struct json *j, const char *key, const struct rules *const *sets, size_t count, const struct rules_filter *filter);
/* {"name":"value"}; what is sent to Alertmanagers has it too. */
void rules_print_labels(struct json *j, const char *key, const struct label *items, size_t count);
/* {"alerts":[...]}: the active ones. */
void rules_print_alerts(struct json *j, const char *key, const struct rules *const *sets, size_t count);

#endif
