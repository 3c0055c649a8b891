/* promql: parse and evaluate the classic language (no native histograms) with Prometheus 3.x semantics. */
#ifndef GOODPUT_PROMQL_PROMQL_H
#define GOODPUT_PROMQL_PROMQL_H

#include "base/arena.h"
#include "base/error.h"
#include "promql/backend.h"
#include "promql/value.h"

struct promql_node; /* the syntax tree; in the arena */

struct promql_options {
	int64_t lookback_ms;         /* 300000 */
	int64_t subquery_step_ms;    /* 60000: the step of [1h:] */
	size_t max_samples;          /* 50,000,000 */
	int64_t timeout_ms;          /* 120000 of wall time; 0 = none */
	bool experimental;           /* functions and aggregations that 3.x has behind a flag */
	const _Atomic bool *cancel; /* set by another thread to end the query; NULL: never */
	bool delayed_name_removal;   /* drop __name__ at the very end (a 3.x flag; upstream's tests have it on) */
};
extern const struct promql_options promql_defaults;

/* NULL with a positioned error (line, column, caret; Prometheus's own wording where it has one). */
struct promql_node *promql_parse(struct arena *arena, struct str query, const struct promql_options *options, struct error *e);
/* The tree as canonical text. */
void promql_print(const struct promql_node *node, struct buf *out);
enum promql_type promql_node_type(const struct promql_node *node);

/* Evaluates over any backend's raw samples (select). */
bool promql_instant(struct backend *samples, struct arena *arena, const struct promql_node *node, const struct promql_options *options,
	int64_t t_ms, struct promql_value *value, struct error *e);
bool promql_range(struct backend *samples, struct arena *arena, const struct promql_node *node, const struct promql_options *options,
	int64_t start_ms, int64_t end_ms, int64_t step_ms, struct promql_value *value, struct error *e);

#endif
