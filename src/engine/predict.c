#include "engine/predict.h"

#include "base/number.h"

#include <math.h>

/* Shares of the front end's delays in the fast and in the slow run: it is Python on a CPU that nobody told us. */
static const double front_end_fast = 0.4, front_end_slow = 1.8;

static void include(struct figure_range *range, double value, bool point)
{
	if (point)
		*range = (struct figure_range){ value, value, value };
	range->low = fmin(range->low, value);
	range->high = fmax(range->high, value);
}

static void include_latency(struct latency_range *range, const struct histogram *h, bool point)
{
	include(&range->mean, h->count ? h->sum / (double)h->count : number_nan(), point);
	include(&range->p50, histogram_value_at(h, 0.5), point);
	include(&range->p90, histogram_value_at(h, 0.9), point);
	include(&range->p99, histogram_value_at(h, 0.99), point);
}

static void note(struct prediction *p, const struct engine *engine, bool point)
{
	struct engine_state state;

	engine_state(engine, &state);
	include_latency(&p->first_token, state.first_token, point);
	include_latency(&p->per_token, state.per_token, point);
	include_latency(&p->inter_token, state.inter_token, point);
	include_latency(&p->e2e, state.e2e, point);
	include(&p->throughput, state.last_step > 0 ? (double)state.counters->generation_tokens / state.last_step : number_nan(), point);
	include(&p->preemptions, (double)state.counters->preemptions, point);
}

static void run(struct cost *cost, double factor, double front_end, const struct engine_config *config, predict_load *load,
	engine_observer *observer, void *context, struct prediction *p)
{
	struct engine_config scaled = *config;
	struct engine *engine;

	cost_scale(cost, factor);
	scaled.cost = cost_function(cost);
	scaled.front_end_fixed *= front_end;
	scaled.front_end_per_token *= front_end;
	scaled.front_end_busy *= front_end;
	scaled.front_end_busy_per_token *= front_end;
	engine = engine_new(&scaled, observer, context);
	load(context, engine);
	note(p, engine, factor == 1);
	engine_free(engine);
}

void predict(const struct deployment *d, const struct engine_config *config, predict_load *load, engine_observer *observer, void *context,
	struct prediction *p)
{
	struct cost *cost = cost_new(d);
	struct band band = cost_band(d);
	struct memory_ledger ledger;

	*p = (struct prediction){ .confidence = band.confidence };
	run(cost, 1, 1, config, load, observer, context, p);
	run(cost, band.fast, front_end_fast, config, load, NULL, context, p);
	run(cost, band.slow, front_end_slow, config, load, NULL, context, p);
	memory_ledger(d, &ledger);
	p->kv_blocks = (struct figure_range){ ledger.blocks, ledger.blocks_low, ledger.blocks_high };
	cost_free(cost);
}
