/* tables: the shapes of models and the speeds of GPUs, as catalog/models.yaml and catalog/gpus.yaml have them. */
#ifndef GOODPUT_ENGINE_TABLES_H
#define GOODPUT_ENGINE_TABLES_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* How numbers are stored. fp8_block has a scale for 128 x 128 numbers (DeepSeek style), which asks for other kernels. fp4 is nvfp4 (4 bits
 * and an 8-bit scale for 16 numbers), mxfp4 has a scale for 32, int4 for 32. */
enum precision { PRECISION_BF16, PRECISION_FP8, PRECISION_FP4, PRECISION_MXFP4, PRECISION_INT4, PRECISION_FP8_BLOCK };

/* "bf16" (also "fp16", "auto", "bfloat16"), "fp8", "fp4" ("nvfp4"), "mxfp4", "int4". False with the nearest known name. */
bool precision_parse(struct str name, enum precision *precision, struct error *e);
const char *precision_name(enum precision precision);
double precision_bytes(enum precision precision); /* per weight, scales included */

struct model_shape {
	struct str name;
	uint32_t layers, hidden, q_heads, kv_heads, head_dim, intermediate, vocab;
	bool plain_mlp, tied_embeddings;
	uint32_t experts, top_k, expert_intermediate, shared_experts, dense_layers; /* experts 0: dense */
	uint32_t mla_kv_rank, mla_rope, mla_nope, mla_v, mla_q_rank;                /* mla_kv_rank 0: ordinary heads */
	uint32_t window, full_layers;                                               /* window 0: every layer sees everything */
	uint32_t sparse_top_k;
	bool block_fp8;       /* its fp8 checkpoint has block scales */
	bool norm_all_reduce; /* query and key norms run over all heads: one more all-reduce a layer */
	enum precision experts_precision;
	bool experts_fixed; /* experts_precision is the checkpoint's, whatever the rest is */
	double parameters;  /* as published */
};

/* Kernel times of one kind: launch + smooth maximum of computing and moving. See README.md. */
struct kernel_speed {
	double launch, compute, memory, order, quantise; /* seconds, shares, exponent, bytes moved per activation and FLOP-free pass */
};

struct link_speed {
	double latency, bandwidth; /* seconds, bytes per second */
};

enum { GPU_TYPES = 5 }; /* bf16, fp8, fp4, fp8 in blocks, 4-bit weights times bf16: types of matrix product */

struct gpu {
	struct str name, generation;
	double memory;                  /* bytes that the driver reports */
	double flops[GPU_TYPES];        /* 0 = not in hardware */
	double hbm, scaleup, pcie, nic; /* bytes per second, one way */
	struct kernel_speed gemm[GPU_TYPES], moe[GPU_TYPES];
	double attention_launch, decode_share, decode_share_8bit, prefill_share;
	struct link_speed all_reduce[3]; /* 2, 4, 8 GPUs */
	double skew;
	double step_fixed, step_sequence, step_layer, eager_layer;
	bool calibrated;
};

struct tables {
	struct arena arena;
	struct model_shape *models;
	struct gpu *gpus;
	size_t model_count, gpu_count;
	struct str *aliases; /* pairs: alias, index of the GPU as its name */
	size_t alias_count;
};

/* The tables that the program was built with. */
bool tables_init(struct tables *tables, struct error *e);
/* Reads one more file; an entry whose name is known replaces the old one. */
bool tables_add(struct tables *tables, struct str source, struct str text, struct error *e);
void tables_fini(struct tables *tables);

/* The model that a served name means: equal but for case and organisation, or the longest known name that it continues with
 * "-". NULL with an error that names the nearest. */
const struct model_shape *tables_model(const struct tables *tables, struct str name, struct error *e);
const struct gpu *tables_gpu(const struct tables *tables, struct str name, struct error *e);

/* Numbers of weights by kind, from the shape. */
struct weight_counts {
	double attention, dense, experts, shared, router, embedding, head;
};
void model_weights(const struct model_shape *model, struct weight_counts *counts);
double model_parameters(const struct model_shape *model);

#endif
