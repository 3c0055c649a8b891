/* meter: what one simulated engine has to show besides its own counters: histograms in vLLM's buckets. */
#ifndef GOODPUT_SIM_METER_H
#define GOODPUT_SIM_METER_H

#include "engine/engine.h"
#include "sim/mimic.h"

struct bucketed {
	double bounds[MIMIC_BOUNDS_MAX];
	uint64_t counts[MIMIC_BOUNDS_MAX + 1]; /* the last is beyond all bounds */
	size_t bound_count;
	uint64_t count;
	double sum;
};

void bucketed_add(struct bucketed *b, double value, uint64_t times);
/* Upper estimate of a quantile: the bound of its cell; INFINITY beyond the last; NaN when empty. */
double bucketed_quantile(const struct bucketed *b, double q);

/* Throughput gauges of V0 and nothing else need the recent past. */
struct meter_rate {
	double since, prompt_per_s, generation_per_s;
	uint64_t prompt, generation;
};

struct meter {
	struct bucketed histograms[HISTOGRAM_COUNT];
	struct meter_rate rate;
	uint64_t tokens_seen; /* prompt and generation tokens up to the last step */
	uint64_t steps_seen;
	double step_began;
};

void meter_init(struct meter *m, enum mimic_release release, uint32_t max_model_len);
void meter_add(struct meter *m, enum mimic_histogram h, double value);
/* After each advance of the engine that can have ended a step. */
void meter_step(struct meter *m, const struct engine_state *s, double now);
/* A request is over (not aborted or rejected). `last_token` may be later than the engine's when delivery was held up. */
void meter_finished(struct meter *m, const struct engine_timeline *t, double end, uint32_t n, uint32_t max_tokens);

#endif
