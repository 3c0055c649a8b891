/* The memory of a GPU: weights, what else is needed, and how many KV blocks are left. */
#include "engine/deployment.h"

#include <math.h>

void deployment_default(struct deployment *d, const struct model_shape *model, const struct gpu *gpu)
{
	double gib = gpu->memory / 1073741824.0;
	bool large = gib >= 70 && !str_is(gpu->generation, "ampere");

	*d = (struct deployment){ .model = model,
		.gpu = gpu,
		.tp = 1,
		.dp = 1,
		.async_scheduling = true,
		.block_size = 16,
		.max_num_batched_tokens = gib >= 160 ? 16384
					  : large    ? 8192
						     : 2048,
		.max_num_seqs = large ? 1024 : 256,
		.gpu_memory_utilization = 0.92 };
}

bool deployment_check(const struct deployment *d, struct error *e)
{
	if (d->tp < 1 || d->tp > 64 || d->dp < 1 || d->dp > 1024)
		return error_set(e, EXIT_USAGE, "tensor-parallel-size %u or data-parallel-size %u is out of range", d->tp, d->dp);
	if (d->model->q_heads % d->tp) {
		error_set(e, EXIT_USAGE, "tensor-parallel-size %u does not divide the %u attention heads of " STR_FMT, d->tp,
			d->model->q_heads, STR_ARG(d->model->name));
		error_hint(e, "use a divisor of %u", d->model->q_heads);
		return false;
	}
	if (!(d->gpu_memory_utilization > 0 && d->gpu_memory_utilization <= 1))
		return error_set(e, EXIT_USAGE, "gpu-memory-utilization is %g; it is a share of the memory, above 0 and at most 1",
			d->gpu_memory_utilization);
	if (d->spec.method == SPEC_DRAFT_MODEL && !d->draft)
		return error_set(e, EXIT_USAGE, "speculation with a draft model needs the draft model's name");
	return true;
}

enum precision deployment_expert_precision(const struct deployment *d)
{
	/* an int4 checkpoint has an nvfp4 sibling; mxfp4 checkpoints have none */
	if (!d->model->experts_fixed || (d->model->experts_precision == PRECISION_INT4 && d->weights == PRECISION_FP4))
		return d->weights == PRECISION_FP8 && d->model->block_fp8 ? PRECISION_FP8_BLOCK : d->weights;
	return d->model->experts_precision;
}

enum precision deployment_linear_precision(const struct deployment *d)
{
	return d->model->experts_fixed ? PRECISION_BF16 : d->weights;
}

static uint32_t heads_per_rank(const struct deployment *d)
{
	return d->model->kv_heads > d->tp ? (d->model->kv_heads + d->tp - 1) / d->tp : 1;
}

double kv_bytes_per_token(const struct deployment *d)
{
	const struct model_shape *m = d->model;
	double element = d->kv_8bit ? 1 : 2;
	double bytes = m->mla_kv_rank ? m->layers * (m->mla_kv_rank + m->mla_rope) * element
				      : 2.0 * m->layers * heads_per_rank(d) * m->head_dim * element;

	/* the index of sparse attention: a key of 128 bytes and a scale */
	return bytes + (m->sparse_top_k ? m->layers * 132.0 : 0);
}

double kv_transfer_bytes_per_token(const struct deployment *d)
{
	return kv_bytes_per_token(d) * (d->model->mla_kv_rank ? 1 : d->tp);
}

static double weight_bytes(const struct deployment *d)
{
	struct weight_counts w;
	double linear = precision_bytes(deployment_linear_precision(d)), expert = precision_bytes(deployment_expert_precision(d));

	model_weights(d->model, &w);
	return ((w.attention + w.dense + w.shared) * linear + 2 * (w.embedding + w.head)) / d->tp + 2 * w.router +
	       w.experts * expert / ((double)d->tp * d->dp);
}

/* Found on the block counts that vLLM 0.15-0.19 logged for 7 models: 1.3e9 bytes with a 128k vocabulary at 2048 batched tokens, of
 * which the logits of the profiling run and the sampler's copies grow with the vocabulary; 38 kB for each further token. */
static double non_kv_bytes(const struct deployment *d)
{
	double vocabulary = 6600.0 * d->model->vocab, tokens = d->max_num_batched_tokens;

	return 0.45e9 + vocabulary + 38e3 * (tokens > 2048 ? tokens - 2048 : 0);
}

static uint32_t blocks_in(double bytes, double block)
{
	double blocks = floor(bytes / block);

	return blocks < 1 ? 0 : blocks > UINT32_MAX / 64 ? UINT32_MAX / 64 : (uint32_t)blocks;
}

void memory_ledger(const struct deployment *d, struct memory_ledger *ledger)
{
	enum { UNKNOWN_BYTES = 350000000 };
	double total = d->gpu->memory;

	*ledger = (struct memory_ledger){ .total = total,
		.usable = total * d->gpu_memory_utilization,
		.weights = weight_bytes(d),
		.non_kv = non_kv_bytes(d),
		.block_bytes = kv_bytes_per_token(d) * d->block_size };
	if (d->spec.method == SPEC_DRAFT_MODEL && d->draft)
		ledger->weights += 2 * model_parameters(d->draft) / d->tp;
	ledger->kv = ledger->usable - ledger->weights - ledger->non_kv;
	ledger->blocks = blocks_in(ledger->kv, ledger->block_bytes);
	ledger->blocks_low = blocks_in(ledger->kv - UNKNOWN_BYTES, ledger->block_bytes);
	ledger->blocks_high = blocks_in(ledger->kv + UNKNOWN_BYTES, ledger->block_bytes);
}

/* The fewest GPUs (a power of two) on which it would fit; 0 = not even on 64. */
static uint32_t tp_that_fits(const struct deployment *d, uint32_t blocks)
{
	struct deployment wider = *d;
	struct memory_ledger ledger;

	for (wider.tp = d->tp * 2; wider.tp <= 64 && d->model->q_heads % wider.tp == 0; wider.tp *= 2) {
		memory_ledger(&wider, &ledger);
		if (ledger.blocks >= blocks)
			return wider.tp;
	}
	return 0;
}

static bool precision_fits(const struct deployment *d, uint32_t blocks, enum precision weights)
{
	struct deployment smaller = *d;
	struct memory_ledger ledger;

	smaller.weights = weights;
	memory_ledger(&smaller, &ledger);
	return precision_bytes(weights) < precision_bytes(d->weights) && !d->model->experts_fixed && ledger.blocks >= blocks;
}

static void suggest(const struct deployment *d, const struct memory_ledger *ledger, uint32_t blocks, struct error *e)
{
	uint32_t tp = tp_that_fits(d, blocks);
	const char *fewer = precision_fits(d, blocks, PRECISION_FP8) ? "fp8" : precision_fits(d, blocks, PRECISION_INT4) ? "int4" : NULL;
	char parts[200] = "";
	size_t at = 0;

	if (tp)
		at += (size_t)snprintf(parts + at, sizeof parts - at, "tensor-parallel-size %u", tp);
	if (fewer)
		at += (size_t)snprintf(parts + at, sizeof parts - at, "%s%s weights", at ? ", " : "", fewer);
	if (ledger->blocks > 1)
		at += (size_t)snprintf(
			parts + at, sizeof parts - at, "%smax-model-len %u", at ? ", " : "", (ledger->blocks - 1) * d->block_size);
	if (at)
		error_hint(e, "what would fit: %s", parts);
	else
		error_hint(e, "nothing smaller of this model fits: use a GPU with more memory");
}

bool memory_plan(const struct deployment *d, uint32_t max_model_len, struct memory_ledger *ledger, struct error *e)
{
	uint32_t blocks = 1 + (max_model_len + d->block_size - 1) / d->block_size;
	double missing;

	memory_ledger(d, ledger);
	if (ledger->blocks >= blocks)
		return true;
	missing = blocks * ledger->block_bytes - ledger->kv;
	error_set(e, EXIT_BAD_INPUT,
		STR_FMT " (%s) does not fit %u x " STR_FMT
			" by %.0f bytes per GPU: weights %.1f GB + other %.1f GB + KV of one request %.1f GB, "
			"usable %.1f GB",
		STR_ARG(d->model->name), precision_name(d->weights), d->tp, STR_ARG(d->gpu->name), ceil(missing), ledger->weights / 1e9,
		ledger->non_kv / 1e9, blocks * ledger->block_bytes / 1e9, ledger->usable / 1e9);
	suggest(d, ledger, blocks, e);
	return false;
}
