/* value: what a PromQL expression evaluates to. Everything lives in the query's arena; labels are borrowed or arena-owned until then. */
#ifndef GOODPUT_PROMQL_VALUE_H
#define GOODPUT_PROMQL_VALUE_H

#include "base/str.h"
#include "model/series.h"

enum promql_type { PROMQL_SCALAR, PROMQL_STRING, PROMQL_VECTOR, PROMQL_MATRIX };

struct promql_element { /* of an instant vector */
	const struct labels *labels;
	int64_t t_ms;
	double value;
};

struct promql_value {
	enum promql_type type;
	int64_t t_ms; /* scalar, string */
	double scalar;
	struct str text;
	struct promql_element *elements; /* vector */
	struct series_view *series;      /* matrix */
	size_t count;
	struct str *warnings, *infos; /* annotations, as Prometheus words them */
	size_t warning_count, info_count;
};

#endif
