/* cost: how long a step takes: a roofline with smooth corners over the kernels of one step. README.md has the formulas. */
#ifndef GOODPUT_ENGINE_COST_H
#define GOODPUT_ENGINE_COST_H

#include "engine/deployment.h"
#include "engine/step.h"

struct cost;

/* Keeps copies of what it needs of the deployment; the tables must outlive it. */
struct cost *cost_new(const struct deployment *d);
void cost_free(struct cost *cost);
/* Every step takes `factor` times as long: the ends of a range. */
void cost_scale(struct cost *cost, double factor);
struct step_cost cost_function(const struct cost *cost);
double cost_seconds(const struct cost *cost, const struct step_load *load);

/* The parts of one step in seconds. With data parallelism a load is that of the whole group of ranks, which step together. */
struct cost_parts {
	double linear; /* what depends on the number of tokens only: GEMMs, all-reduce, elementwise */
	double reduce; /* of which all-reduce */
	double experts;
	double head;      /* LM head */
	double decode;    /* decode attention */
	double prefill;   /* prefill attention */
	double draft;     /* drafting */
	double fixed;     /* input preparation, sampling, copies back */
	double launches;  /* what the processor needs to launch the kernels one by one, outside a CUDA graph; 0 in one */
	double device;    /* the sum of the above, or launches when that is longer */
	double processor; /* scheduler on the CPU; hidden when it is shorter than device and scheduling is async */
	double total;
};
void cost_explain(const struct cost *cost, const struct step_load *load, struct cost_parts *parts);

/* Kernel times, also for checks against measured ones. Seconds. */
double kernel_gemm(const struct gpu *gpu, enum precision weights, double m, double n, double k, double launch_share);
double kernel_decode_attention(
	const struct gpu *gpu, double kv_bytes, double batch, double heads, double head_dim, bool kv_8bit, double launch_share);
double kernel_prefill_attention(const struct gpu *gpu, double flops, double kv_bytes, double queries, double launch_share);
double kernel_all_reduce(const struct gpu *gpu, uint32_t gpus, double bytes);
/* Data-parallel ranks gather the inputs and the routing of the experts, and scatter the sums: three calls of the library instead of a
 * kernel of its own. */
double kernel_exchange(const struct gpu *gpu, uint32_t gpus, double bytes);
struct expert_shape {
	double tokens, hidden, intermediate, top_k, experts; /* intermediate: the slice on one GPU; experts: those on one GPU */
	double share; /* share of all (token, expert) pairs that this GPU computes: 1 / expert-parallel size */
	double all_experts;
};
double kernel_experts(const struct gpu *gpu, enum precision weights, const struct expert_shape *shape, double launch_share);
/* Distinct experts that `tokens` tokens touch, of `experts` with top-k uniform routing. */
double experts_touched(double experts, double top_k, double tokens);

/* How sure a prediction is. */
enum confidence { CONFIDENCE_CALIBRATED, CONFIDENCE_RELATED, CONFIDENCE_UNCALIBRATED };
struct band {
	enum confidence confidence;
	double fast, slow; /* factors on step time: a run with each gives the ends of the stated range */
};
struct band cost_band(const struct deployment *d);
const char *confidence_name(enum confidence confidence);

#endif
