/* The tables that need no load: KV blocks, single steps, kernels, transfers. */
#include "validate.h"

#include "engine/transfer.h"

#include <math.h>

static const char *label_of(struct runner *run, struct str a, struct str b)
{
	return arena_printf(&run->arena, STR_FMT " " STR_FMT, STR_ARG(a), STR_ARG(b)).ptr;
}

void validate_blocks(struct runner *run, const struct tsv *tsv)
{
	for (size_t row = 0; row < tsv->rows.count; row++) {
		const struct model_shape *model = tables_model(&run->tables, tsv_text(tsv, row, "model"), NULL);
		const struct gpu *gpu = tables_gpu(&run->tables, tsv_text(tsv, row, "gpu"), NULL);
		struct gpu exact;
		struct deployment d;
		struct memory_ledger ledger;

		if (!model || !gpu || !(tsv_number(tsv, row, "tp") >= 1)) {
			run->skipped++;
			continue;
		}
		exact = *gpu;
		exact.memory = tsv_number(tsv, row, "gpu_total_bytes");
		deployment_default(&d, model, &exact);
		precision_parse(tsv_text(tsv, row, "weight_dtype"), &d.weights, NULL);
		d.tp = (uint32_t)tsv_number(tsv, row, "tp");
		d.gpu_memory_utilization = tsv_number(tsv, row, "gpu_memory_utilization");
		d.max_num_batched_tokens = (uint32_t)tsv_number(tsv, row, "max_num_batched_tokens");
		d.max_num_seqs = (uint32_t)tsv_number(tsv, row, "max_num_seqs");
		d.block_size = (uint32_t)tsv_number(tsv, row, "block_size");
		memory_ledger(&d, &ledger);
		score_add(run, (struct score){ .figure = FIGURE_BLOCKS,
				       .family = label_of(run, tsv_text(tsv, row, "model"), tsv_text(tsv, row, "gpu")),
				       .experts = model->experts > 0,
				       .counted = str_search(tsv_text(tsv, row, "source"), STR("multimodal")) < 0,
				       .calibration = row_is_calibration(tsv_text(tsv, row, "num_gpu_blocks_measured")),
				       .predicted = ledger.blocks,
				       .low = ledger.blocks_low,
				       .high = ledger.blocks_high,
				       .measured = tsv_number(tsv, row, "num_gpu_blocks_measured"),
				       .id = tsv_text(tsv, row, "model"),
				       .name = "blocks" });
	}
}

/* An eager engine of 2023 without CUDA graphs: the slopes count, the levels are expected to be higher than ours. */
void validate_steps(struct runner *run, const struct tsv *tsv)
{
	for (size_t row = 0; row < tsv->rows.count; row++) {
		const struct model_shape *model = tables_model(&run->tables, tsv_text(tsv, row, "model"), NULL);
		const struct gpu *gpu = tables_gpu(&run->tables, tsv_text(tsv, row, "gpu"), NULL);
		double batch = tsv_number(tsv, row, "batch"), context = tsv_number(tsv, row, "context_tokens");
		double tokens = tsv_number(tsv, row, "scheduled_tokens");
		bool decode = str_is(tsv_text(tsv, row, "phase"), "decode");
		struct step_load load = { .tokens = (uint32_t)tokens, .sampled = (uint32_t)batch, .running = (uint32_t)batch };
		struct deployment d;
		struct cost *cost;
		double seconds;

		if (!model || !gpu || !(tsv_number(tsv, row, "tp") >= 1)) {
			run->skipped++;
			continue;
		}
		deployment_default(&d, model, gpu);
		d.tp = (uint32_t)tsv_number(tsv, row, "tp");
		d.enforce_eager = true;
		d.async_scheduling = false;
		if (decode) {
			load.decodes = load.decode_tokens = (uint32_t)batch;
			load.decode_context = load.decode_window = context;
		} else {
			load.prefills = (uint32_t)batch;
			load.prefill_pairs = tokens * tokens / batch / 2;
			load.prefill_context = tokens;
		}
		cost = cost_new(&d);
		seconds = cost_seconds(cost, &load);
		cost_free(cost);
		score_add(run, (struct score){ .figure = FIGURE_STEP,
				       .family = label_of(run, tsv_text(tsv, row, "gpu"), tsv_text(tsv, row, "phase")),
				       .predicted = seconds * 1e3,
				       .low = seconds * 1e3,
				       .high = seconds * 1e3,
				       .measured = tsv_number(tsv, row, "step_ms"),
				       .id = tsv_text(tsv, row, "model"),
				       .name = "step" });
	}
}

/* Microseconds that we give a kernel, or NaN when it is none of ours. */
static double kernel_time(const struct gpu *gpu, struct str op, struct str type, struct str shape)
{
	enum precision weights = str_starts(type, STR("fp8")) ? PRECISION_FP8 : PRECISION_BF16;
	double heads = note_number(shape, "q_heads="), kv = note_number(shape, "kv_heads="), dim = note_number(shape, "head_dim=");
	double batch = note_number(shape, "batch="), tp = note_number(shape, "tp=");

	if (str_is(op, "gemm"))
		return kernel_gemm(gpu, weights, note_number(shape, "m="), note_number(shape, "n="), note_number(shape, "k="), 1);
	if (str_is(op, "decode_attention")) {
		bool small = str_is(type, "kv=fp8");
		double bytes = 2 * kv * dim * (small ? 1 : 2) * batch * note_number(shape, "context=");
		return kernel_decode_attention(gpu, bytes, batch, heads, dim, small, 1);
	}
	if (str_is(op, "prefill_attention")) {
		double n = note_number(shape, "new="), p = note_number(shape, "prefix=");
		return kernel_prefill_attention(
			gpu, 4 * heads * dim * batch * (n * p + n * n / 2), 4 * kv * dim * batch * (p + n), batch * n * heads * dim, 1);
	}
	if (str_is(op, "all_reduce"))
		return str_is(type, "graph") ? kernel_all_reduce(gpu, (uint32_t)note_number(shape, "gpus="), note_number(shape, "bytes=")) -
						       gpu->skew * log2(note_number(shape, "gpus="))
					     : NAN;
	if (str_is(op, "fused_moe") && !str_is(type, "fp8_block")) {
		struct expert_shape x = { .tokens = note_number(shape, "tokens="),
			.hidden = note_number(shape, "hidden="),
			.intermediate = note_number(shape, "inter=") / tp,
			.top_k = note_number(shape, "topk="),
			.share = 1,
			.experts = note_number(shape, "experts="),
			.all_experts = note_number(shape, "experts=") };
		return kernel_experts(gpu, weights, &x, 1);
	}
	return NAN;
}

void validate_kernels(struct runner *run, const struct tsv *tsv)
{
	for (size_t row = 0; row < tsv->rows.count; row++) {
		const struct gpu *gpu = tables_gpu(&run->tables, tsv_text(tsv, row, "gpu"), NULL);
		struct str op = tsv_text(tsv, row, "op"), type = tsv_text(tsv, row, "dtype"), shape = tsv_text(tsv, row, "shape");
		double seconds = gpu ? kernel_time(gpu, op, type, shape) : NAN;

		if (isnan(seconds)) {
			run->skipped++;
			continue;
		}
		score_add(run, (struct score){ .figure = FIGURE_KERNEL,
				       .predicted = seconds * 1e6,
				       .low = seconds * 1e6,
				       .high = seconds * 1e6,
				       .family = arena_printf(
					       &run->arena, STR_FMT " " STR_FMT " " STR_FMT, STR_ARG(op), STR_ARG(type), STR_ARG(gpu->name))
							 .ptr,
				       .measured = tsv_number(tsv, row, "time_us"),
				       .id = shape,
				       .name = "us" });
	}
}

/* The bytes come from the model's shape, the time from the line rate: 0.78 of it, and 1 ms to begin. */
void validate_transfer(struct runner *run, const struct tsv *tsv)
{
	for (size_t row = 0; row < tsv->rows.count; row++) {
		const struct model_shape *model = tables_model(&run->tables, tsv_text(tsv, row, "model"), NULL);
		double line = note_before(tsv_text(tsv, row, "link"), " GB/s"), tokens = tsv_number(tsv, row, "prompt_tokens"), ms;
		struct deployment d;
		struct transfer_link link = { .bandwidth = 0.78e9 * line, .latency = 0.001 };

		if (!model || !(line > 0) || !(tsv_number(tsv, row, "tp") >= 1)) {
			run->skipped++;
			continue;
		}
		deployment_default(&d, model, &run->tables.gpus[0]);
		d.tp = (uint32_t)tsv_number(tsv, row, "tp");
		ms = transfer_seconds(&link, tokens, kv_transfer_bytes_per_token(&d)) * 1e3;
		score_add(run, (struct score){ .figure = FIGURE_TRANSFER,
				       .family = label_of(run, model->name, tsv_text(tsv, row, "gpu")),
				       .predicted = ms,
				       .low = ms / 1.3,
				       .high = ms * 1.3,
				       .measured = tsv_number(tsv, row, "transfer_ms"),
				       .id = model->name,
				       .name = "transfer" });
	}
}
