/* tree: the syntax tree as JSON, in the form of Prometheus's /api/v1/parse_query. */
#ifndef GOODPUT_PROMQL_TREE_H
#define GOODPUT_PROMQL_TREE_H

#include "promql/promql.h"

void promql_print_tree(const struct promql_node *node, struct buf *out);

/* The selectors of match[] parameters and their like: `text` as the matchers of one instant selector, each of them made by matcher_init
 * (the caller ends them with matcher_fini). NULL with an error, positioned as a query's is, when it is anything else. */
struct matcher *promql_matchers(struct arena *arena, struct str text, size_t *count, struct error *e);

#endif
