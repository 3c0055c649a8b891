/* step: what one engine step consists of (the scheduler fills it) and how long that takes (the cost model answers). */
#ifndef GOODPUT_ENGINE_STEP_H
#define GOODPUT_ENGINE_STEP_H

#include <stdint.h>

struct step_load {
	uint32_t tokens;        /* all tokens of the step, drafts included */
	uint32_t decodes;       /* requests that decode */
	uint32_t decode_tokens; /* their tokens: decodes * (1 + drafts) */
	uint32_t prefills;      /* requests that compute prompt (or recompute) */
	uint32_t sampled;       /* rows of the LM head */
	uint32_t drafts;        /* most draft tokens of a request in the step */
	uint32_t running;       /* requests that the CPU side walks over */
	double decode_context;  /* sum over decodes of the tokens they attend to */
	double decode_window;   /* the same, each cut to the model's sliding window */
	double prefill_pairs;   /* sum over prefills of n * p + n * n / 2 (token pairs, causal) */
	double prefill_window;  /* the same within the sliding window */
	double prefill_context; /* sum over prefills of p + n (KV tokens read at least once) */
};

/* Seconds from the start of the step until the next one can start. Must depend on its arguments only. */
struct step_cost {
	double (*seconds)(const void *context, const struct step_load *load);
	const void *context;
	uint32_t window; /* sliding window in tokens of the layers that have one; 0 = none */
};

#endif
