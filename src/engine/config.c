/* Options of an engine: vLLM's defaults and limits, in its own words. */
#include "engine/engine.h"

void engine_config_default(struct engine_config *config)
{
	*config = (struct engine_config){ .max_num_seqs = 256,
		.max_num_batched_tokens = 2048,
		.max_model_len = 32768,
		.block_size = 16,
		.chunked_prefill = true,
		.prefix_caching = true,
		.async_scheduling = true,
		.reserve_full_isl = true,
		.front_end_fixed = 0.009,
		.front_end_per_token = 6e-6,
		.front_end_busy = 0.010,
		.front_end_busy_per_token = 3e-6,
		.seed = 1 };
	host_config_default(&config->host);
}

static bool at_least_one(struct error *e, const char *name, uint32_t value)
{
	if (value >= 1)
		return true;
	return error_set(e, EXIT_USAGE, "%s is %u; it must be at least 1", name, value);
}

static bool check_budget(const struct engine_config *c, struct error *e)
{
	if (c->max_num_batched_tokens < c->max_num_seqs) {
		error_set(e, EXIT_USAGE, "max-num-batched-tokens (%u) is below max-num-seqs (%u)", c->max_num_batched_tokens,
			c->max_num_seqs);
		error_hint(e, "every running request takes one token of each step: raise the first or lower the second");
		return false;
	}
	if (!c->chunked_prefill && c->max_num_batched_tokens < c->max_model_len) {
		error_set(e, EXIT_USAGE, "without chunked prefill max-num-batched-tokens (%u) must reach max-model-len (%u)",
			c->max_num_batched_tokens, c->max_model_len);
		error_hint(e, "a prompt is computed in one step then: raise max-num-batched-tokens or enable chunked prefill");
		return false;
	}
	return true;
}

static bool check_spec(const struct spec_config *s, struct error *e)
{
	if (s->method != SPEC_NONE && (s->drafts < 1 || s->drafts > SPEC_MAX_DRAFTS))
		return error_set(e, EXIT_USAGE, "num_speculative_tokens is %u; 1 to %d can be modelled", s->drafts, SPEC_MAX_DRAFTS);
	if (!(s->alpha >= 0 && s->alpha <= 1) || !(s->temperature_slope >= 0 && s->temperature_slope <= 1))
		return error_set(
			e, EXIT_USAGE, "acceptance %g or its temperature slope %g is outside 0..1", s->alpha, s->temperature_slope);
	if (s->rate_count > SPEC_MAX_DRAFTS)
		return error_set(e, EXIT_USAGE, "%u acceptance rates; at most %d", s->rate_count, SPEC_MAX_DRAFTS);
	for (uint32_t i = 0; i < s->rate_count; i++)
		if (!(s->rates[i] >= 0 && s->rates[i] <= 1))
			return error_set(e, EXIT_USAGE, "acceptance rate %u is %g; rates are within 0..1", i, s->rates[i]);
	return true;
}

bool engine_config_check(const struct engine_config *c, struct error *e)
{
	if (!at_least_one(e, "max-num-seqs", c->max_num_seqs) || !at_least_one(e, "max-num-batched-tokens", c->max_num_batched_tokens) ||
		!at_least_one(e, "block-size", c->block_size))
		return false;
	if (c->max_model_len < 2)
		return error_set(e, EXIT_USAGE, "max-model-len is %u; a prompt and an output token need 2", c->max_model_len);
	if (c->max_model_len > UINT32_MAX / 4 || c->max_num_batched_tokens > UINT32_MAX / 4)
		return error_set(e, EXIT_USAGE, "max-model-len or max-num-batched-tokens is beyond %u", UINT32_MAX / 4);
	if (c->num_gpu_blocks < 2) {
		error_set(e, EXIT_USAGE, "%u KV blocks: no room for any token", c->num_gpu_blocks);
		error_hint(e, "one block is vLLM's null block; see the memory ledger for what would fit");
		return false;
	}
	if (!(c->watermark >= 0 && c->watermark < 1))
		return error_set(e, EXIT_USAGE, "watermark is %g; it is a share of the blocks, from 0 to below 1", c->watermark);
	return check_budget(c, e) && check_spec(&c->spec, e);
}
