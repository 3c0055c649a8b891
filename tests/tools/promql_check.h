/* promql_check: a result against what a promqltest command expects. */
#ifndef GOODPUT_TESTS_PROMQL_CHECK_H
#define GOODPUT_TESTS_PROMQL_CHECK_H

#include "base/buf.h"
#include "promql/value.h"
#include "promql_script.h"

/* Each fills `why` (what was got, what expected) when it returns false. */
bool check_instant(const struct eval_command *c, const struct promql_value *v, bool ordered, struct buf *why);
bool check_range(const struct eval_command *c, const struct promql_value *v, struct buf *why);
/* A range result's points at one time against the expectation of an instant. */
bool check_range_at(const struct eval_command *c, const struct promql_value *v, int64_t t_ms, struct buf *why);
bool check_failure(const struct eval_command *c, const struct error *e, struct buf *why);
bool check_annotations(const struct eval_command *c, const struct promql_value *v, struct buf *why);

#endif
