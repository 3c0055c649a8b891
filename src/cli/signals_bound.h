/* signals_bound: signals against a fleet: their PromQL for the engines found there, and what is exported. */
#ifndef GOODPUT_CLI_SIGNALS_BOUND_H
#define GOODPUT_CLI_SIGNALS_BOUND_H

#include "cli/page.h"
#include "watch/watch.h"

struct bound_request {
	const char *group;                        /* or NULL */
	const struct signal_spec *const *signals; /* none: all; matched by id */
	size_t signal_count;
};

/* Both need watch_evidence. The PromQL is printed once per kind of engine; false when no target answered. */
bool bound_promql(struct page *p, struct watch *w, const struct bound_request *r, bool json, struct error *e);
void bound_coverage(struct page *p, struct watch *w, bool json);

#endif
