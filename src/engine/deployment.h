/* deployment: a model on GPUs: what decides memory and step time. */
#ifndef GOODPUT_ENGINE_DEPLOYMENT_H
#define GOODPUT_ENGINE_DEPLOYMENT_H

#include "engine/spec.h"
#include "engine/tables.h"

struct deployment {
	const struct model_shape *model;
	const struct gpu *gpu;
	enum precision weights; /* of the linear layers; embeddings and LM head stay bf16 */
	bool kv_8bit;           /* --kv-cache-dtype fp8 */
	uint32_t tp;            /* --tensor-parallel-size */
	uint32_t dp;            /* attention data parallelism: one engine a rank, experts spread over dp * tp GPUs */
	bool expert_parallel;   /* whole experts per GPU instead of slices */
	bool enforce_eager, async_scheduling;
	uint32_t max_num_seqs, max_num_batched_tokens, block_size;
	double gpu_memory_utilization;
	struct spec_config spec;
	const struct model_shape *draft; /* SPEC_DRAFT_MODEL */
};

/* vLLM's server defaults on this card: bf16, one GPU, utilisation 0.92, and the budget and slots that depend on its memory. */
void deployment_default(struct deployment *d, const struct model_shape *model, const struct gpu *gpu);
/* Numbers that make no sense, with vLLM's flag names. */
bool deployment_check(const struct deployment *d, struct error *e);

/* In what the experts, and in what the other linear layers are stored: checkpoints with experts_precision quantise only experts. */
enum precision deployment_expert_precision(const struct deployment *d);
enum precision deployment_linear_precision(const struct deployment *d);

/* Where the memory of one GPU goes, in bytes; vLLM prints the same at start. */
struct memory_ledger {
	double total, usable; /* usable = total * gpu_memory_utilization */
	double weights;
	double non_kv; /* context, activation peak of the profiling run, sampler, CUDA graphs */
	double kv;     /* what is left; below 0: does not fit */
	double block_bytes;
	uint32_t blocks;                  /* num_gpu_blocks; 0 = does not fit */
	uint32_t blocks_low, blocks_high; /* the range: non_kv is known to about 0.35e9 bytes */
};
void memory_ledger(const struct deployment *d, struct memory_ledger *ledger);
/* The ledger, or an error: by how many bytes it does not fit, and what would (more GPUs, fewer bits, a shorter context). */
bool memory_plan(const struct deployment *d, uint32_t max_model_len, struct memory_ledger *ledger, struct error *e);
/* KV bytes of one token on one GPU. */
double kv_bytes_per_token(const struct deployment *d);
/* The same, summed over the tensor-parallel ranks: what a transfer to another instance moves. */
double kv_transfer_bytes_per_token(const struct deployment *d);

#endif
