#include "sim/meter.h"

#include <math.h>

void bucketed_add(struct bucketed *b, double value, uint64_t times)
{
	size_t i = 0;

	while (i < b->bound_count && value > b->bounds[i])
		i++;
	b->counts[i] += times;
	b->count += times;
	b->sum += value * (double)times;
}

double bucketed_quantile(const struct bucketed *b, double q)
{
	uint64_t rank = (uint64_t)ceil(q * (double)b->count), seen = 0;

	if (!b->count)
		return NAN;
	for (size_t i = 0; i < b->bound_count; i++) {
		seen += b->counts[i];
		if (seen >= rank)
			return b->bounds[i];
	}
	return INFINITY;
}

void meter_init(struct meter *m, enum mimic_release release, uint32_t max_model_len)
{
	*m = (struct meter){ 0 };
	for (const struct mimic_family *f = mimic_families(release); f->name; f++) {
		if (f->type != MIMIC_HISTOGRAM || release < f->first || release > f->last)
			continue;
		struct bucketed *b = &m->histograms[f->source];

		b->bound_count = mimic_bounds(f, max_model_len, b->bounds);
	}
}

void meter_add(struct meter *m, enum mimic_histogram h, double value)
{
	bucketed_add(&m->histograms[h], value, 1);
}

static void note_rate(struct meter_rate *r, const struct engine_counters *c, double now)
{
	double elapsed = now - r->since;

	if (elapsed < 5) /* VLLM_LOG_STATS_INTERVAL: V0's gauges cover that long */
		return;
	r->prompt_per_s = (double)(c->prompt_tokens - r->prompt) / elapsed;
	r->generation_per_s = (double)(c->generation_tokens - r->generation) / elapsed;
	r->prompt = c->prompt_tokens;
	r->generation = c->generation_tokens;
	r->since = now;
}

void meter_step(struct meter *m, const struct engine_state *s, double now)
{
	const struct engine_counters *c = s->counters;
	uint64_t tokens = c->prompt_tokens + c->generation_tokens, steps = c->steps - m->steps_seen;

	if (steps) {
		double each = (double)(tokens - m->tokens_seen) / (double)steps;

		bucketed_add(&m->histograms[HISTOGRAM_ITERATION], each, steps);
		bucketed_add(&m->histograms[HISTOGRAM_FORWARD_MS], (c->busy - m->step_began) * 1e3 / (double)steps, steps);
		m->steps_seen = c->steps;
		m->tokens_seen = tokens;
		m->step_began = c->busy;
	}
	note_rate(&m->rate, c, now);
}

void meter_finished(struct meter *m, const struct engine_timeline *t, double end, uint32_t n, uint32_t max_tokens)
{
	uint32_t later = t->output_tokens > 1 ? t->output_tokens - 1 : 0;

	meter_add(m, HISTOGRAM_E2E, end - t->arrival);
	meter_add(m, HISTOGRAM_QUEUE, t->scheduled - t->queued);
	meter_add(m, HISTOGRAM_PREFILL, t->first_token - t->scheduled);
	meter_add(m, HISTOGRAM_DECODE, t->last_token - t->first_token);
	meter_add(m, HISTOGRAM_INFERENCE, t->last_token - t->scheduled);
	meter_add(m, HISTOGRAM_TPOT, later ? (end - t->first_token) / later : 0);
	meter_add(m, HISTOGRAM_PROMPT, t->prompt_tokens);
	meter_add(m, HISTOGRAM_GENERATION, t->output_tokens);
	meter_add(m, HISTOGRAM_KV_COMPUTED, t->prompt_tokens - t->cached_tokens);
	meter_add(m, HISTOGRAM_N, n);
	meter_add(m, HISTOGRAM_MAX_TOKENS, max_tokens);
	meter_add(m, HISTOGRAM_MAX_GENERATION, t->output_tokens);
}
