/* trace_reader: what the readers of the formats share; not for other folders. */
#ifndef GOODPUT_WORKLOAD_TRACE_READER_H
#define GOODPUT_WORKLOAD_TRACE_READER_H

#include "workload/trace.h"

#include <jansson.h>

struct trace_reader {
	struct arena *arena;
	struct str source, text;
	struct trace *trace;
	VEC(struct workload_row) rows;
	double first, last; /* seconds on the trace's own clock */
	struct error *e;
};

/* An error at `at`, which lies in the text. Returns false. */
bool trace_bad(struct trace_reader *t, struct str at, const char *what);
/* Adds a request at `seconds` of the trace's own clock; they must not go back. */
bool trace_add(struct trace_reader *t, struct str line, double seconds, struct workload_row row);
/* A length: 0 counts as 1 and is counted. False: not a number of tokens. */
bool trace_tokens(struct trace_reader *t, int64_t value, uint32_t *tokens);

bool trace_csv(struct trace_reader *t);
bool trace_mooncake(struct trace_reader *t);
bool trace_vllm(struct trace_reader *t, json_t *root);
bool trace_sharegpt(struct trace_reader *t, json_t *root);
bool trace_records(struct trace_reader *t);

#endif
