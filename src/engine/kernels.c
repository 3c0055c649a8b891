/* Times of single kernels. */
#include "engine/cost.h"

#include <math.h>

/* A maximum with a round corner: order 1 is the sum, infinity the maximum. */
static double smooth_max(double a, double b, double order)
{
	if (order == 1)
		return a + b;
	return a > b ? a * pow(1 + pow(b / a, order), 1 / order) : b > 0 ? b * pow(1 + pow(a / b, order), 1 / order) : 0;
}

/* In which type the tensor cores multiply: weight-only formats and types that the card lacks are unpacked to bf16. */
static bool has(const struct gpu *gpu, const struct kernel_speed *speeds, int type)
{
	return gpu->flops[type] > 0 && speeds[type].compute > 0;
}

static int multiply_type(const struct gpu *gpu, const struct kernel_speed *speeds, enum precision weights)
{
	int unpacked = has(gpu, speeds, 4) ? 4 : 0, small = has(gpu, speeds, 1) ? 1 : 0;

	switch (weights) {
	case PRECISION_BF16: return 0;
	case PRECISION_FP8: return small;
	case PRECISION_FP8_BLOCK: return has(gpu, speeds, 3) ? 3 : small;
	case PRECISION_FP4: return has(gpu, speeds, 2) ? 2 : unpacked;
	case PRECISION_MXFP4: return gpu->flops[2] > 0 ? small : unpacked; /* 8-bit activations where 4-bit units exist */
	case PRECISION_INT4: return unpacked;
	}
	return 0;
}

double kernel_gemm(const struct gpu *gpu, enum precision weights, double m, double n, double k, double launch_share)
{
	int type = multiply_type(gpu, gpu->gemm, weights);
	const struct kernel_speed *s = &gpu->gemm[type];
	double activation = type ? 1 : 2;
	double computing = 2 * m * n * k / (s->compute * gpu->flops[type]);
	double moving = (precision_bytes(weights) * n * k + activation * m * k + 2 * m * n) / (s->memory * gpu->hbm);

	return s->launch * launch_share + smooth_max(computing, moving, s->order) + s->quantise * 3 * m * k / gpu->hbm;
}

double kernel_decode_attention(
	const struct gpu *gpu, double kv_bytes, double batch, double heads, double head_dim, bool kv_8bit, double launch_share)
{
	double share = kv_8bit ? gpu->decode_share_8bit : gpu->decode_share;

	return gpu->attention_launch * launch_share + kv_bytes / (share * gpu->hbm) + 4 * batch * heads * head_dim / gpu->hbm;
}

double kernel_prefill_attention(const struct gpu *gpu, double flops, double kv_bytes, double queries, double launch_share)
{
	double computing = flops / (gpu->prefill_share * gpu->flops[0]);

	return gpu->attention_launch * launch_share + smooth_max(computing, (kv_bytes + 4 * queries) / (0.8 * gpu->hbm), 2);
}

double kernel_all_reduce(const struct gpu *gpu, uint32_t gpus, double bytes)
{
	const struct link_speed *link = &gpu->all_reduce[gpus <= 2 ? 0 : gpus <= 4 ? 1 : 2];

	if (gpus <= 1)
		return 0;
	/* ranks arrive skewed in a real step; beyond 8 GPUs each doubling leaves the NVLink domain and pays the NIC */
	return link->latency + bytes / link->bandwidth + gpu->skew * log2(gpus) + (gpus > 8 ? 2 * bytes / gpu->nic : 0);
}

double kernel_exchange(const struct gpu *gpu, uint32_t gpus, double bytes)
{
	/* a small call of NCCL, measured eager on A100, H100, H200, B200 and RTX PRO 6000: 20 to 21 us, A100 43 us */
	static const double call = 21e-6;
	const struct link_speed *link = &gpu->all_reduce[gpus <= 2 ? 0 : gpus <= 4 ? 1 : 2];

	return 3 * call + 2 * gpu->skew * log2(gpus) + bytes / link->bandwidth + (gpus > 8 ? 2 * bytes / gpu->nic : 0);
}

double experts_touched(double experts, double top_k, double tokens)
{
	return experts * (1 - pow(1 - top_k / experts, tokens));
}

double kernel_experts(const struct gpu *gpu, enum precision weights, const struct expert_shape *x, double launch_share)
{
	int type = multiply_type(gpu, gpu->moe, weights);
	const struct kernel_speed *s = &gpu->moe[type];
	double touched = experts_touched(x->all_experts, x->top_k, x->tokens) * x->experts / x->all_experts;
	double pairs = x->tokens * x->top_k * x->share;
	double computing = 6 * pairs * x->hidden * x->intermediate / (s->compute * gpu->flops[type]);
	double bytes =
		touched * 3 * x->hidden * x->intermediate * precision_bytes(weights) + pairs * (2 * x->hidden + 3 * x->intermediate) * 2;

	return s->launch * launch_share + smooth_max(computing, bytes / (s->memory * gpu->hbm), s->order) +
	       s->quantise * 3 * x->tokens * x->hidden / gpu->hbm;
}
