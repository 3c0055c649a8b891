/* incidents: findings over time. Evaluations are added in the order of their moments; what lasts over several of them is one incident with
 * an onset; in the end incidents of one kind in one pool become one finding ("3 of 32"), and causes take their symptoms. Private to
 * src/signals.
 *
 * Only two evaluations need to be alive at a time: an incident's texts are filled from the last evaluation that raised it. */
#ifndef GOODPUT_SIGNALS_INCIDENTS_H
#define GOODPUT_SIGNALS_INCIDENTS_H

#include "signals/findings.h"

struct incident {
	const struct finding_spec *spec;
	struct str scope; /* its name: scopes of different evaluations are matched by it */
	enum scope_kind kind;
	enum severity severity, worst; /* of the last evaluation that raised it; of all */
	int64_t onset_ms, last_ms;
	struct str *changed;
	size_t changed_count;
	bool open, undecided;      /* open: raised in the newest evaluation added, or said to go on by a longer window */
	const struct finding *raw; /* as the newest evaluation raised it; NULL otherwise */
	struct finding told;       /* complete, in the report's arena, but for its scope */
	unsigned tellings;
	uint64_t *members; /* bits: schedulers, then targets that it concerns */
};

struct incidents {
	struct arena *arena; /* the report's */
	struct evidence *evidence;
	VEC(struct incident *) all;
	struct map by_key;         /* "finding\0kind scope" */
	struct evaluation *newest; /* the evaluation added last; alive until the next is added */
	size_t words;              /* of a member bitmap */
};

void incidents_init(struct incidents *in, struct arena *arena, struct evidence *evidence);
void incidents_fini(struct incidents *in);
/* Findings of the evaluation of one moment, later than all before. The evaluation added before may be freed afterwards. */
void incidents_add_moment(struct incidents *in, struct evaluation *ev);
/* Findings of a longer window that ends at the last moment. They are told with those of the moments: without an onset when only the long
 * window shows them, and as past when the last moment clearly speaks against them. */
void incidents_add_window(struct incidents *in, struct evaluation *ev);
/* Fills `told` from the evaluation that raised `raw`. */
void incident_tell(struct incidents *in, struct incident *i, struct evaluation *ev);
/* The findings of the report, in its arena: grouped, suppressed, ordered. `shown` is the evaluation whose scopes the report has; it and the
 * evaluation added last are alive. */
struct finding *incidents_finish(struct incidents *in, struct evaluation *shown, size_t *count);

#endif
