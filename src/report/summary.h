/* summary: a run in the schema of `vllm bench serve --save-result`, for scripts that read that. The keys keep vLLM's meaning; what we
 * measure otherwise stands under "goodput". */
#ifndef GOODPUT_REPORT_SUMMARY_H
#define GOODPUT_REPORT_SUMMARY_H

#include "base/buf.h"
#include "slo/tally.h"

struct summary_options {
	struct str backend, endpoint_type;   /* "openai-chat" */
	struct str model, tokenizer;         /* tokenizer: empty = the model */
	struct str label;                    /* empty: null */
	const struct records_fact *metadata; /* --metadata K=V, at the top level */
	size_t metadata_count;
	uint64_t prompts; /* requested; 0: all there are */
	double rate;      /* NaN: "inf" */
	double burstiness;
	uint32_t concurrency; /* 0: null */
	const char *ramp;     /* "linear", "exponential"; NULL: none */
	double ramp_from, ramp_to;
	const double *percentiles; /* 99, 99.9 ... */
	size_t percentile_count;
	struct str metrics; /* "ttft,tpot,itl,e2el": --percentile-metrics */
	bool detailed;      /* --save-detailed: lists of every request */
};
/* One JSON object, without a newline. */
void summary_write(
	struct buf *out, const struct records *r, const struct tally *t, const struct slo_set *slo, const struct summary_options *o);

#endif
