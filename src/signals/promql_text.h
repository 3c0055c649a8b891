/* promql_text: a signal as plain PromQL for one binding: what people see, copy, and export unchanged. Generated from the same expression
 * that is evaluated, so the two cannot part; the figures differ by what PromQL's increase() extrapolates. */
#ifndef GOODPUT_SIGNALS_PROMQL_TEXT_H
#define GOODPUT_SIGNALS_PROMQL_TEXT_H

#include "catalog/binding.h"
#include "catalog/expression.h"

struct promql_text {
	const struct binding *binding;
	struct str matchers; /* job="vllm" without braces; may be empty */
	struct str window;   /* "5m" or "$w" */
};

/* False, with `out` holding what is missing in words, when PromQL cannot say it (an age, a label's number, a detector) or the metric is not
 * exported by this binding. */
bool promql_text_print(const struct promql_text *t, const struct signal_spec *signal, struct buf *out);

#endif
