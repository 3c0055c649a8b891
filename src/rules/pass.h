/* pass: one rule's evaluation: what those who make alerts share. Internal to rules. */
#ifndef GOODPUT_RULES_PASS_H
#define GOODPUT_RULES_PASS_H

#include "rules/rules.h"

struct row {                         /* to be written */
	const struct labels *labels; /* referenced */
	double value;
};
struct pass {
	struct rules *rules;
	struct rule_group *group;
	struct rule *rule;
	struct backend *backend;
	struct sink *sink;
	struct arena *arena;
	int64_t t_ms;      /* the group's time */
	int64_t sample_ms; /* what is asked for and written: earlier by the query offset */
	VEC(struct row) rows;
	struct error error;
};

/* The alerts' next state, and the rows of ALERTS and ALERTS_FOR_STATE. False with p->error. */
bool pass_alerts(struct pass *p, candidates *found);
/* Unless it failed (`ok` false, p->error set): tells receivers, writes the rows, marks what vanished. The rule's health either way. */
void pass_end(struct pass *p, bool ok, const struct rules_receiver *to, int64_t start_ns);
void candidates_free(candidates *list);

#endif
