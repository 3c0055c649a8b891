/* value: what a PromQL expression evaluates to, in the JSON of Prometheus's API. */
#ifndef GOODPUT_WEB_VALUE_H
#define GOODPUT_WEB_VALUE_H

#include "base/buf.h"
#include "promql/value.h"

/* {"resultType":"vector","result":[…]} */
void value_print_json(const struct promql_value *v, struct buf *out);

#endif
