/* sim: a stand-in for vLLM's server: the engine model in real time behind the OpenAI API and vLLM's metrics page. */
#ifndef GOODPUT_SIM_SIM_H
#define GOODPUT_SIM_SIM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As on the command line; numbers of 0 and texts of NULL mean the default. */
struct sim_options {
	const char *model, *gpu, *mimic;
	const char *const *served_names;
	size_t served_count;
	const char *host;
	int64_t port, replicas;
	const char *api_key;
	int64_t max_num_seqs, max_num_batched_tokens, max_model_len, long_prefill_token_threshold, block_size, num_gpu_blocks;
	int64_t tensor_parallel, data_parallel, api_servers;
	const char *gpu_memory_utilization, *watermark; /* numbers, as text */
	int policy;                                     /* enum engine_policy */
	const char *kv_cache_dtype, *quantization;
	bool prefix_caching, chunked_prefill, async_scheduling, enforce_eager, expert_parallel, reserve_full_isl;
	const char *speculative_config, *kv_transfer_config; /* JSON */
	int64_t seed;
	const char *step_time; /* FIXED[,PER_SEQUENCE[,PER_TOKEN]], durations in ms: instead of the roofline */
	int64_t answer_tokens; /* mean length of what the model says when nothing else ends it; 180 */
	const char *self_traffic;
	const char *const *faults;
	size_t fault_count;
};

/* Listens and serves until *stop becomes true (looked at several times a second). False with an error when it could not start. */
bool sim_run(const struct sim_options *options, const volatile bool *stop, struct error *e);

#endif
