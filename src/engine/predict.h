/* predict: figures with ranges. A load is played three times: as the model says, with all steps faster, and with all slower by what
 * the model is known to be off; the envelope is the range. Queues double a small step error, and so does the range. */
#ifndef GOODPUT_ENGINE_PREDICT_H
#define GOODPUT_ENGINE_PREDICT_H

#include "engine/cost.h"
#include "engine/engine.h"

struct figure_range {
	double point, low, high; /* NaN when nothing was observed */
};

struct latency_range {
	struct figure_range mean, p50, p90, p99; /* seconds */
};

struct prediction {
	enum confidence confidence;
	struct latency_range first_token, per_token, inter_token, e2e;
	struct figure_range throughput; /* output tokens per second, from the start to the last end */
	struct figure_range preemptions;
	struct figure_range kv_blocks; /* of the deployment's ledger, whatever the configuration says */
};

/* Submits a load and lets it run (engine_advance, engine_drain); called once for each run, and must do the same each time. */
typedef void predict_load(void *context, struct engine *engine);

/* `config`'s cost is replaced by the deployment's. The observer, told only of the point run, may be NULL. */
void predict(const struct deployment *d, const struct engine_config *config, predict_load *load, engine_observer *observer, void *context,
	struct prediction *prediction);

#endif
