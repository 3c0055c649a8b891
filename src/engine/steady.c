/* The fast way. While every running request decodes and nobody can enter, one step differs from the one before only in the
 * contexts (each one token longer) and in who needs a new block. So a step costs O(1) here; what belongs to single requests
 * is written once, at the end. Which block a request gets does not matter to anything visible (its old content is lost either
 * way), so blocks are taken late, in bulk; only their number is followed step by step. */
#include "engine/internal.h"

enum { SLACK_MAX = 256 };

struct steady {
	uint32_t steps, most;      /* played; until the first end of a request */
	uint32_t taken;            /* blocks promised, not yet taken */
	uint32_t growing;          /* requests whose context is inside the sliding window */
	uint32_t slack[SLACK_MAX]; /* requests by tokens left in their last block */
};

/* Nobody may enter: the queue is empty, or its head cannot be helped. */
static bool closed(const struct engine *e)
{
	return e->remote.count == 0 && (e->waiting.count == 0 || e->running.count >= e->config.max_num_seqs || engine_blocked(e));
}

static bool prepare(const struct engine *e, struct steady *s)
{
	const struct step_load *load = &e->flight->load;
	uint32_t block = e->config.block_size, window = e->config.cost.window;

	if (e->config.spec.method || block > SLACK_MAX || load->prefills || load->decodes != e->running.count || e->gone ||
		load->decodes == 0 || e->preempt_wanted || e->seized < e->faults.seized_blocks || !closed(e))
		return false;
	*s = (struct steady){ .most = UINT32_MAX };
	for (uint32_t i = 0; i < e->running.count; i++) {
		const struct request *r = request_at(e, e->running.items[i]);
		uint32_t left = (r->output < r->limit ? r->output : r->limit) - r->out, slack = r->block_count * block - r->computed;

		if (r->out == 0 || left < 2 || slack >= block)
			return false;
		if (left - 1 < s->most)
			s->most = left - 1;
		if (r->computed < window) {
			s->growing++;
			if (window - r->computed < s->most)
				s->most = window - r->computed;
		}
		s->slack[slack]++;
	}
	return true;
}

/* The tokens of the step that ends now. The first time, requests have different last tokens. */
static void deliver_all(struct engine *e, const struct steady *s, double before)
{
	uint32_t count = (uint32_t)e->running.count;

	e->counters.generation_tokens += count;
	e->alive_tokens += count;
	if (s->steps > 0)
		histogram_add(&e->inter_token, e->now - before, count);
	for (uint32_t i = 0; s->steps == 0 && i < count; i++)
		histogram_add(&e->inter_token, e->now - request_at(e, e->running.items[i])->timeline.last_token, 1);
}

/* Brings what was left behind up to date. */
static void settle(struct engine *e, const struct steady *s)
{
	for (uint32_t i = 0; s->steps && i < e->running.count; i++) {
		struct request *r = request_at(e, e->running.items[i]);

		r->computed += s->steps;
		r->out += s->steps;
		r->timeline.output_tokens = r->out;
		r->timeline.last_token = e->now;
		blocks_extend(e, r, r->computed, r->computed - (e->config.async_scheduling ? 1 : 0));
	}
}

/* One step ends and its like begins. */
static void turn(struct engine *e, struct steady *s)
{
	struct batch *batch = e->flight;
	uint32_t count = (uint32_t)e->running.count;
	double before = e->now, usage = (double)(kv_used(&e->pool) + s->taken) / e->pool.count;

	e->counters.running_seconds += (batch->end - before) * count;
	e->counters.system_seconds += (batch->end - before) * (count + e->waiting.count);
	e->counters.kv_seconds += (batch->end - before) * usage;
	e->now = batch->end;
	s->taken += s->slack[s->steps % e->config.block_size];
	deliver_all(e, s, before);
	s->steps++;
	batch->load.decode_context += count;
	batch->load.decode_window += e->config.cost.window ? s->growing : count;
	e->counters.scheduled_tokens += count;
	engine_launch(e);
}

/* Can a request that reaches the queue now change the next step? Not behind a head that cannot enter. */
static bool arrival_matters(const struct engine *e)
{
	return e->config.policy == ENGINE_PRIORITY || (e->waiting.count == 0 && e->running.count < e->config.max_num_seqs);
}

bool engine_steady(struct engine *e, double until)
{
	struct steady s;

	if (e->want_tokens || !prepare(e, &s))
		return false;
	while (s.steps < s.most && e->flight->end <= until) {
		double cutoff = e->config.async_scheduling ? e->flight->start : e->flight->end;
		uint32_t need = s.slack[s.steps % e->config.block_size];

		if (need > e->pool.free - s.taken || (pending_next(e) <= cutoff && arrival_matters(e)))
			break;
		turn(e, &s);
		if (pending_next(e) <= cutoff)
			pending_admit(e, cutoff);
	}
	settle(e, &s);
	return s.steps > 0;
}
