/* aggregate: the columns of a frame, sorted into the groups of an aggregation. Internal to promql. */
#ifndef GOODPUT_PROMQL_AGGREGATE_H
#define GOODPUT_PROMQL_AGGREGATE_H

#include "promql/evaluate.h"

struct partition {
	struct groups groups;
	size_t count;
	size_t *start;     /* count + 1: group g has members[start[g]] to members[start[g + 1] - 1] */
	uint32_t *members; /* indexes of columns, in input order within a group */
};

bool partition_init(struct partition *p, struct evaluation *ev, const struct promql_node *n, const struct frame *f);
/* by (..., __name__, ...)? */
bool partition_by_name(const struct promql_node *n);

#endif
