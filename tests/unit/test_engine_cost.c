/* Tables, memory and step time: what must hold for any model and card. */
#include "engine/predict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct tables tables;

static int setup(void **state)
{
	struct error e;

	return tables_init(&tables, &e) ? 0 : -1;
}

static int teardown(void **state)
{
	tables_fini(&tables);
	return 0;
}

static struct deployment deploy(const char *model, const char *gpu)
{
	struct deployment d;
	struct error e;
	const struct model_shape *m = tables_model(&tables, str_from(model), &e);
	const struct gpu *g = tables_gpu(&tables, str_from(gpu), &e);

	assert_non_null(m);
	assert_non_null(g);
	deployment_default(&d, m, g);
	return d;
}

static void shapes_give_published_totals(void **state)
{
	assert_true(tables.model_count >= 28);
	for (size_t i = 0; i < tables.model_count; i++) {
		const struct model_shape *m = &tables.models[i];
		if (fabs(model_parameters(m) / m->parameters - 1) > 0.03)
			fail_msg("%.*s: %.4g parameters from the shape, %.4g published", STR_ARG(m->name), model_parameters(m),
				m->parameters);
	}
}

static void names_are_found(void **state)
{
	struct error e = { 0 };

	assert_true(str_is(tables_model(&tables, STR("RedHatAI/meta-llama-3"), &e) ? STR("found") : STR("not"), "not"));
	assert_true(str_is(tables_model(&tables, STR("llama-3.1-8b-instruct-FP8"), &e)->name, "meta-llama/Llama-3.1-8B"));
	assert_true(str_is(tables_model(&tables, STR("nvidia/Llama-3.1-70B-Instruct-FP8"), &e)->name, "meta-llama/Llama-3.1-70B"));
	assert_true(str_is(tables_model(&tables, STR("Qwen/Qwen3-30B-A3B-Instruct-2507"), &e)->name, "Qwen/Qwen3-30B-A3B"));
	assert_null(tables_model(&tables, STR("meta-llama/Llama-3.1-9B"), &e));
	assert_non_null(strstr(e.message, "Llama-3.1-9B"));
	assert_non_null(strstr(e.hint, "meta-llama/Llama-3.1-8B"));
	assert_true(str_is(tables_gpu(&tables, STR("H100"), &e)->name, "h100-sxm"));
	assert_null(tables_gpu(&tables, STR("h100-smx"), &e));
	assert_non_null(strstr(e.hint, "h100-sxm"));
	{
		enum precision precision;
		assert_false(precision_parse(STR("fp9"), &precision, &e));
		assert_non_null(strstr(e.hint, "did you mean"));
	}
}

static void bad_table(const char *text, const char *message)
{
	struct error e = { 0 };

	assert_false(tables_add(&tables, STR("mine.yaml"), str_from(text), &e));
	if (!strstr(e.message, message))
		fail_msg("\"%s\" instead of \"%s\"", e.message, message);
	assert_true(e.line > 0);
}

static void tables_refuse(void **state)
{
	struct error e;

	bad_table("modles: []\n", "modles");
	bad_table("models:\n  - {name: x, layers: 2.5}\n", "whole number");
	bad_table("models:\n  - {name: x, layers: 2}\n", "needs name, layers");
	bad_table("models:\n  - {name: x, layers: 2, hidden: 8, q_heads: 1, kv_heads: 1, head_dim: 8, vocab: 9, experts: 4}\n", "top_k");
	bad_table("gpus:\n  - {name: x}\n", "missing");
	assert_true(tables_add(&tables, STR("mine.yaml"),
		STR("models:\n  - {name: me/tiny, layers: 2, hidden: 8, q_heads: 1, kv_heads: 1, head_dim: 8, vocab: 9, intermediate: "
		    "16}\n"),
		&e));
	assert_int_equal(tables_model(&tables, STR("tiny"), &e)->layers, 2);
}

static void memory_adds_up(void **state)
{
	struct deployment d = deploy("Llama-3.1-8B", "h100");
	struct memory_ledger one, two;

	assert_int_equal(d.max_num_batched_tokens, 8192);
	assert_int_equal(d.max_num_seqs, 1024);
	assert_float_equal(kv_bytes_per_token(&d), 131072, 0);
	memory_ledger(&d, &one);
	assert_float_equal(one.usable, one.weights + one.non_kv + one.kv, 1);
	assert_true(one.blocks_low < one.blocks && one.blocks < one.blocks_high);
	d.kv_8bit = true;
	memory_ledger(&d, &two);
	assert_in_range(two.blocks, 2 * one.blocks, 2 * one.blocks + 1);
	d = deploy("Llama-3.1-70B", "h100");
	d.tp = 16; /* twice its KV heads: a head is kept twice */
	assert_float_equal(kv_transfer_bytes_per_token(&d), 2 * 327680, 0);
	d = deploy("DeepSeek-V3", "h200");
	d.tp = 8; /* one latent vector, on every rank */
	assert_float_equal(kv_bytes_per_token(&d), 70272, 0);
	assert_float_equal(kv_transfer_bytes_per_token(&d), 70272, 0);
}

static void what_does_not_fit(void **state)
{
	struct deployment d = deploy("Llama-3.1-70B", "h100");
	struct memory_ledger ledger;
	struct error e = { 0 };

	assert_false(memory_plan(&d, 8192, &ledger, &e));
	assert_non_null(strstr(e.message, "does not fit 1 x h100-sxm by "));
	assert_non_null(strstr(e.hint, "tensor-parallel-size 2"));
	d.tp = 4;
	assert_true(memory_plan(&d, 8192, &ledger, &e));
	d = deploy("Llama-3.1-8B", "rtx4090");
	assert_false(memory_plan(&d, 131072, &ledger, &e));
	assert_non_null(strstr(e.hint, "max-model-len "));
	assert_true(memory_plan(&d, (ledger.blocks - 1) * 16, &ledger, &e)); /* what the hint says does fit */
	assert_false(memory_plan(&d, (ledger.blocks - 1) * 16 + 1, &ledger, &e));
	d.tp = 3;
	assert_false(deployment_check(&d, &e));
	assert_non_null(strstr(e.message, "does not divide"));
}

static struct step_load decoding(uint32_t requests, double context)
{
	return (struct step_load){ .tokens = requests,
		.decodes = requests,
		.decode_tokens = requests,
		.sampled = requests,
		.running = requests,
		.decode_context = requests * context,
		.decode_window = requests * fmin(context, 128) };
}

static struct step_load prefilling(uint32_t tokens, double before)
{
	return (struct step_load){ .tokens = tokens,
		.prefills = 1,
		.sampled = 1,
		.running = 1,
		.prefill_context = before + tokens,
		.prefill_pairs = tokens * before + (double)tokens * tokens / 2,
		.prefill_window = tokens * 128.0 };
}

/* Longer with more requests, context, prompt; on every card, for every model that fits somewhere. */
static void time_grows(void **state)
{
	for (size_t g = 0; g < tables.gpu_count; g++) {
		for (size_t m = 0; m < tables.model_count; m++) {
			struct deployment d;
			struct cost *c;
			double last = 0;

			deployment_default(&d, &tables.models[m], &tables.gpus[g]);
			c = cost_new(&d);
			for (uint32_t n = 1; n <= 256; n *= 2) {
				struct step_load load = decoding(n, 1000);
				double now = cost_seconds(c, &load);
				assert_true(now >= last && now > 0 && now < 1000);
				last = now;
			}
			for (double context = 1; context < 1e5; context *= 10) {
				struct step_load load = decoding(32, context), longer = decoding(32, context * 10);
				assert_true(cost_seconds(c, &longer) >= cost_seconds(c, &load));
			}
			last = 0;
			for (uint32_t n = 16; n <= 16384; n *= 2) {
				struct step_load load = prefilling(n, 0), later = prefilling(n, 10000);
				double now = cost_seconds(c, &load);
				assert_true(now >= last * 0.8); /* leaving the CUDA graphs may cost or save a little */
				assert_true(cost_seconds(c, &later) >= now);
				last = now;
			}
			cost_free(c);
		}
	}
}

static void what_ifs(void **state)
{
	struct deployment d = deploy("Llama-3.1-70B", "h200"), other;
	struct step_load load = decoding(16, 2000), drafts = load;
	struct cost *one = cost_new(&d), *two;

	other = d;
	other.tp = 2;
	two = cost_new(&other);
	assert_true(cost_seconds(two, &load) < cost_seconds(one, &load));
	cost_free(two);
	other = d;
	other.weights = PRECISION_FP8;
	two = cost_new(&other);
	assert_true(cost_seconds(two, &load) < 0.75 * cost_seconds(one, &load));
	cost_free(two);
	other = d;
	other.enforce_eager = true;
	two = cost_new(&other);
	assert_true(cost_seconds(two, &load) > cost_seconds(one, &load));
	cost_free(two);
	other = d;
	other.spec = (struct spec_config){ .method = SPEC_EAGLE, .drafts = 3, .alpha = 0 };
	two = cost_new(&other);
	drafts.tokens = drafts.decode_tokens = 64;
	drafts.drafts = 3;
	drafts.sampled = 64;
	assert_true(cost_seconds(two, &drafts) > cost_seconds(one, &load));       /* drafts never come free */
	assert_true(cost_seconds(two, &drafts) < 1.5 * cost_seconds(one, &load)); /* but cheap while memory-bound */
	cost_free(two);
	cost_free(one);
}

/* A chunk in a decoding batch costs less than the two steps alone (weights are read once), more than either. */
static void mixed_batches(void **state)
{
	struct deployment d = deploy("Llama-3.1-8B", "h100");
	struct cost *c = cost_new(&d);
	struct step_load decode = decoding(64, 1000), prefill = prefilling(2048, 0), both = prefill;
	double alone;

	both.tokens += 64;
	both.decodes = both.decode_tokens = 64;
	both.sampled += 64;
	both.decode_context = decode.decode_context;
	alone = cost_seconds(c, &decode) + cost_seconds(c, &prefill);
	assert_true(cost_seconds(c, &both) < alone);
	assert_true(cost_seconds(c, &both) > cost_seconds(c, &prefill));
	cost_free(c);
}

static void parts_add_up(void **state)
{
	struct deployment d = deploy("gpt-oss-120b", "h100");
	struct step_load load = decoding(8, 500);
	struct cost_parts p;
	struct cost *c;
	double once;

	d.tp = 2;
	c = cost_new(&d);
	cost_explain(c, &load, &p);
	assert_float_equal(p.total, p.linear + p.experts + p.head + p.decode + p.prefill + p.draft + p.fixed, 1e-9);
	assert_true(p.reduce > 0 && p.reduce < p.linear && p.experts > 0);
	once = cost_seconds(c, &load);
	cost_scale(c, 2);
	assert_float_equal(cost_seconds(c, &load), 2 * once, 1e-12);
	cost_free(c);
}

/* Kernels measured by others, to the accuracy that the README claims: H100, bf16 GEMM of 4096 cubed near its peak; one expert layer. */
static void kernels(void **state)
{
	struct error e;
	const struct gpu *g = tables_gpu(&tables, STR("h100"), &e);
	double t = kernel_gemm(g, PRECISION_BF16, 8192, 8192, 8192, 1);

	assert_true(2 * 8192.0 * 8192 * 8192 / t < g->flops[0]);
	assert_true(2 * 8192.0 * 8192 * 8192 / t > 0.6 * g->flops[0]);
	assert_float_equal(experts_touched(128, 8, 1), 8, 1e-9);
	assert_true(experts_touched(128, 8, 1000) < 128.0001 && experts_touched(128, 8, 1000) > 127.9);
	assert_true(kernel_all_reduce(g, 1, 1e6) == 0);
	assert_true(kernel_all_reduce(g, 8, 1e6) > kernel_all_reduce(g, 2, 1e6));
}

static void bands(void **state)
{
	struct deployment d = deploy("Llama-3.1-8B", "h100");
	struct band sure = cost_band(&d), unsure;

	d = deploy("Llama-3.1-8B", "mi300x");
	unsure = cost_band(&d);
	assert_int_equal(sure.confidence, CONFIDENCE_CALIBRATED);
	assert_int_equal(unsure.confidence, CONFIDENCE_UNCALIBRATED);
	assert_true(unsure.fast < sure.fast && sure.fast < 1 && 1 < sure.slow && sure.slow < unsure.slow);
}

static void send_fifty(void *context, struct engine *engine)
{
	int *calls = context;

	++*calls;
	for (uint32_t i = 0; i < 50; i++)
		engine_submit(
			engine, &(struct engine_request){ .id = i, .arrival = i * 0.05, .prompt_tokens = 500 + i, .output_tokens = 100 });
	assert_true(engine_drain(engine));
}

static bool ordered(const struct figure_range *range)
{
	return range->low <= range->point && range->point <= range->high;
}

/* Every figure has a range around it, wider where the card is not calibrated, and the run is the same each time. */
static void predictions_state_ranges(void **state)
{
	struct deployment d = deploy("Llama-3.1-8B", "h100");
	struct engine_config config;
	struct prediction sure, again, unsure;
	int calls = 0;

	engine_config_default(&config);
	config.num_gpu_blocks = 20000;
	predict(&d, &config, send_fifty, NULL, &calls, &sure);
	predict(&d, &config, send_fifty, NULL, &calls, &again);
	assert_int_equal(calls, 6);
	assert_memory_equal(&sure, &again, sizeof sure);
	assert_true(ordered(&sure.first_token.mean) && ordered(&sure.first_token.p99) && ordered(&sure.per_token.p50) &&
		    ordered(&sure.e2e.p90) && ordered(&sure.throughput) && ordered(&sure.kv_blocks) && ordered(&sure.preemptions));
	assert_true(sure.per_token.mean.low < sure.per_token.mean.point && sure.per_token.mean.point < sure.per_token.mean.high);
	assert_float_equal(sure.per_token.mean.high / sure.per_token.mean.point, 1.15, 0.08);
	assert_true(sure.first_token.mean.point > 0.01 && sure.first_token.mean.point < 0.5);
	d = deploy("Llama-3.1-8B", "mi300x");
	predict(&d, &config, send_fifty, NULL, &calls, &unsure);
	assert_true(unsure.per_token.mean.high / unsure.per_token.mean.point > sure.per_token.mean.high / sure.per_token.mean.point);
	assert_string_equal(confidence_name(unsure.confidence), "uncalibrated");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(shapes_give_published_totals), cmocka_unit_test(names_are_found),
		cmocka_unit_test(tables_refuse), cmocka_unit_test(memory_adds_up), cmocka_unit_test(what_does_not_fit),
		cmocka_unit_test(time_grows), cmocka_unit_test(what_ifs), cmocka_unit_test(mixed_batches), cmocka_unit_test(parts_add_up),
		cmocka_unit_test(kernels), cmocka_unit_test(bands), cmocka_unit_test(predictions_state_ranges) };

	return cmocka_run_group_tests(tests, setup, teardown);
}
