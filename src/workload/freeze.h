/* freeze: workloads made from what was seen. */
#ifndef GOODPUT_WORKLOAD_FREEZE_H
#define GOODPUT_WORKLOAD_FREEZE_H

#include "workload/trace.h"

/* What to do with requests of one and the same time (Mooncake's clock ticks every 3 s): send them at once as the file says, or spread them
 * over the time to the next tick. */
enum freeze_spread { FREEZE_AS_IS, FREEZE_EVENLY, FREEZE_AT_RANDOM };

struct freeze_options {
	uint64_t from_us, to_us;           /* window of the trace: [from, to); to = 0: to its end. Times count from `from` */
	size_t limit;                      /* at most so many requests; 0 = all */
	uint32_t prompt_most, output_most; /* 0 = no limit */
	bool drop_longer;                  /* beyond it: leave the request out; else cut its length */
	enum freeze_spread spread;
	uint64_t seed; /* of FREEZE_AT_RANDOM */
};

/* Rows of a trace. What was changed or guessed is in the workload's remarks. The result is not finished: set what else it should say (plan,
 * format, settings), then content_finish. Arrivals are those of the trace if it has times; else a process must be set. NULL with an error
 * when nothing is left. */
struct workload *freeze_trace(const struct trace *t, struct str file, const struct freeze_options *o, struct error *e);

/* What a server's metrics tell: how often which lengths came, each by itself. */
struct freeze_marginals {
	const struct length_bucket *prompt,
		*output; /* of histograms: largest lengths, growing, and counts; the last one's bound is finite */
	size_t prompt_count, output_count;
	double prompt_mean, output_mean; /* from _sum and _count; NaN = unknown */
	double rate;                     /* requests a second */
	double cached_share;             /* of prompt tokens, found in the prefix cache; NaN = unknown */
};
/* Lengths are drawn from each histogram by itself: which long prompts have long answers is not in them, and the workload's remarks say so.
 * Not finished either. */
struct workload *freeze_marginals(const struct freeze_marginals *m, struct str source, struct error *e);

void freeze_remark(struct workload *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets a sampling parameter to a JSON value. */
void freeze_setting(struct workload *w, const char *name, struct str value);

#endif
