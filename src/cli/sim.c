/* goodput sim: a stand-in vLLM server. */
#include "sim/sim.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "engine/engine.h"

#include <stddef.h>

struct sim_arguments {
	struct global_arguments global;
	struct sim_options sim;
	struct option_strings served, faults;
};

#define AT(field) offsetof(struct sim_arguments, field)
static const char *const policies[] = { "fcfs", "priority", NULL }; /* enum engine_policy */

static const struct option_spec server_options_list[] = {
	{ "model", 0, OPTION_STRING, AT(sim.model), .argument = "NAME", .preset = "meta-llama/Llama-3.1-8B-Instruct",
		.help = "Model whose shape decides memory and speed; its name may have an organisation in front." },
	{ "served-model-name", 0, OPTION_STRINGS, AT(served), .argument = "NAME", .help = "Name that clients use, instead of --model's." },
	{ "host", 0, OPTION_STRING, AT(sim.host), .argument = "ADDRESS", .preset = "127.0.0.1", .help = "Address to listen on." },
	{ "port", 'p', OPTION_INTEGER, AT(sim.port), .argument = "PORT", .preset = "8000", .least = 0,
		.help = "Port of the first server; 0 takes any free one." },
	{ "api-key", 0, OPTION_STRING, AT(sim.api_key), .argument = "KEY", .help = "Ask for this bearer token under /v1." },
	{ "api-server-count", 0, OPTION_INTEGER, AT(sim.api_servers), .argument = "N", .least = 0,
		.help = "API processes; above 1 the metrics page is that of multi-process mode: no process_*, no python_gc_*. From 0.15 on "
			"the "
			"default is --data-parallel-size." },
	{ "max-model-len", 0, OPTION_INTEGER, AT(sim.max_model_len), .argument = "TOKENS", .preset = "32768", .least = 2,
		.help = "Longest prompt and answer together." },
	{ 0 },
};
static const struct option_spec engine_options_list[] = {
	{ "max-num-seqs", 0, OPTION_INTEGER, AT(sim.max_num_seqs), .argument = "N", .least = 0,
		.help = "Most requests running at once. By default what vLLM takes for the GPU." },
	{ "max-num-batched-tokens", 0, OPTION_INTEGER, AT(sim.max_num_batched_tokens), .argument = "TOKENS", .least = 0,
		.help = "Most tokens of a step. By default what vLLM takes for the GPU." },
	{ "long-prefill-token-threshold", 0, OPTION_INTEGER, AT(sim.long_prefill_token_threshold), .argument = "TOKENS", .least = 0,
		.help = "Most tokens of one prompt in a step; 0 is no limit." },
	{ "scheduling-policy", 0, OPTION_CHOICE, AT(sim.policy), .argument = "POLICY", .choices = policies, .preset = "fcfs",
		.help = "Who runs first." },
	{ "block-size", 0, OPTION_INTEGER, AT(sim.block_size), .argument = "TOKENS", .least = 0, .help = "Tokens of a KV block (16)." },
	{ "num-gpu-blocks-override", 0, OPTION_INTEGER, AT(sim.num_gpu_blocks), .argument = "N", .least = 0,
		.help = "KV blocks, instead of what the GPU's memory leaves." },
	{ "gpu-memory-utilization", 0, OPTION_STRING, AT(sim.gpu_memory_utilization), .argument = "SHARE",
		.help = "Share of the GPU's memory to use (0.92; 0.9 for old releases)." },
	{ "kv-cache-dtype", 0, OPTION_STRING, AT(sim.kv_cache_dtype), .argument = "TYPE", .help = "auto or fp8." },
	{ "quantization", 'q', OPTION_STRING, AT(sim.quantization), .argument = "TYPE", .help = "Weights: bf16, fp8, fp4, mxfp4, int4." },
	{ "watermark", 0, OPTION_STRING, AT(sim.watermark), .argument = "SHARE", .help = "Share of blocks kept free when admitting (0)." },
	{ "enable-prefix-caching", 0, OPTION_FLAG, AT(sim.prefix_caching), .preset = "yes", .help = "Reuse KV of equal beginnings." },
	{ "enable-chunked-prefill", 0, OPTION_FLAG, AT(sim.chunked_prefill), .preset = "yes", .help = "Split long prompts over steps." },
	{ "async-scheduling", 0, OPTION_FLAG, AT(sim.async_scheduling), .preset = "yes", .help = "Plan a step while the one before runs." },
	{ "scheduler-reserve-full-isl", 0, OPTION_FLAG, AT(sim.reserve_full_isl), .preset = "yes",
		.help = "Admit a prompt only when all of it has room." },
	{ "enforce-eager", 0, OPTION_FLAG, AT(sim.enforce_eager), .help = "No CUDA graphs." },
	{ "tensor-parallel-size", 0, OPTION_INTEGER, AT(sim.tensor_parallel), .argument = "N", .preset = "1", .least = 1,
		.help = "GPUs that share each layer." },
	{ "data-parallel-size", 0, OPTION_INTEGER, AT(sim.data_parallel), .argument = "N", .preset = "1", .least = 1,
		.help = "Engines behind each server." },
	{ "enable-expert-parallel", 0, OPTION_FLAG, AT(sim.expert_parallel), .help = "Whole experts on each GPU." },
	{ "speculative-config", 0, OPTION_STRING, AT(sim.speculative_config), .argument = "JSON",
		.help = "{\"method\": \"eagle3\", \"num_speculative_tokens\": 3}; method eagle, eagle3, mtp or ngram; acceptance (0.7) or "
			"synthetic_acceptance_rates say how many drafts are kept." },
	{ "kv-transfer-config", 0, OPTION_STRING, AT(sim.kv_transfer_config), .argument = "JSON",
		.help = "{\"kv_connector\": \"NixlConnector\", \"kv_role\": \"kv_consumer\"}: prompts' KV is pulled from elsewhere." },
	{ "seed", 0, OPTION_INTEGER, AT(sim.seed), .argument = "N", .preset = "0", .least = 0, .help = "The same seed, the same answers." },
	{ 0 },
};
static const struct option_spec simulation_options_list[] = {
	{ "gpu", 0, OPTION_STRING, AT(sim.gpu), .argument = "NAME", .preset = "H100", .help = "Card to simulate." },
	{ "mimic", 0, OPTION_STRING, AT(sim.mimic), .argument = "RELEASE", .preset = "latest",
		.help = "Release of vLLM whose metrics and errors are shown: 0.6, 0.8, 0.9, 0.10, 0.11, 0.13, 0.16, 0.19, 0.24 or "
			"latest." },
	{ "replicas", 0, OPTION_INTEGER, AT(sim.replicas), .argument = "N", .preset = "1", .least = 1,
		.help = "Servers, on successive ports." },
	{ "step-time", 0, OPTION_STRING, AT(sim.step_time), .argument = "FIXED[,SEQ[,TOKEN]]",
		.help = "Milliseconds of a step, for each running request and each token, instead of the model of the GPU." },
	{ "answer-tokens", 0, OPTION_INTEGER, AT(sim.answer_tokens), .argument = "N", .preset = "180", .least = 1,
		.help = "Mean length of an answer that nothing else ends." },
	{ "self-traffic", 0, OPTION_STRING, AT(sim.self_traffic), .argument = "SPEC",
		.help = "Requests to itself: rate=8,prompt=800,output=150; also prefix=0.3, temperature=0.7, spread=0.6, seed=1. Or a "
			"trace: FILE "
			"or trace=FILE[,speed=2] (Azure CSV, Mooncake JSON lines)." },
	{ "fault", 0, OPTION_STRINGS, AT(faults), .argument = "FAULT",
		.help = "What goes wrong: NAME[:KEY=VALUE,...][@START[+DURATION]], with the names above." },
	{ 0 },
};
static const struct option_table sim_tables[] = { { "The server (names as vLLM has them)", server_options_list, 0 },
	{ "The engine (names as vLLM has them)", engine_options_list, 0 }, { "The simulation", simulation_options_list, 0 },
	GLOBAL_TABLE(struct sim_arguments), { 0 } };
#undef AT

static int sim_run_command(const struct command *self, void *arguments, const struct option_strings *operands)
{
	struct sim_arguments *a = arguments;
	struct error e = { 0 };

	if (operands->count > 1)
		return command_usage(self, "one model only");
	if (operands->count)
		a->sim.model = operands->items[0];
	a->sim.served_names = a->served.items;
	a->sim.served_count = a->served.count;
	a->sim.faults = a->faults.items;
	a->sim.fault_count = a->faults.count;
	if (!sim_run(&a->sim, &command_stop, &e))
		return command_failed(&e);
	return EXIT_FINE;
}

const struct command command_sim = {
	.name = "sim",
	.summary = "a stand-in vLLM server: the engine model in real time, faults on demand",
	.synopsis = (const char *const[]){ "[OPTIONS] [MODEL]", NULL },
	.description =
		"Answers as vLLM does: /v1/completions, /v1/chat/completions (streaming and not), /v1/models, /tokenize, /version, "
		"/health, /ping "
		"and /metrics, with the names, labels and buckets of the release chosen. No model runs: time and memory come from a model "
		"of "
		"vLLM's scheduler and of the GPU, the words are invented. A token of a prompt is four bytes of text.\n\n"
		"The page says so: goodput_simulated_info 1. goodput_sim_lateness_seconds is the program's own delay, from the moment a "
		"token "
		"is due until it is sent.\n\n"
		"Faults: stall; slow[:factor=3]; preemption-storm[:rate=4]; kv-leak[:blocks=8]; memory-leak[:kib=64]; gc-pauses[:ms=300]; "
		"crash[:down=1]; http-500[:share=0.3]; slow-streams[:ms=100]; cut-streams[:share=0.3]; acceptance[:factor=0.3]; "
		"transfer-failure[:share=0.2]; stale-gauges; missing-families:match=TEXT; upgrade:to=RELEASE[,down=1]. With replica=N only "
		"that "
		"one of --replicas has it.\n\n"
		"While it runs: POST a fault to /goodput/fault, DELETE clears one or all, GET lists; from this machine only.",
	.examples = (const struct example[]){ { "goodput sim --self-traffic rate=4,prompt=800,output=150",
						      "Llama-3.1-8B on an H100 at port 8000, busy with itself." },
		{ "goodput sim Qwen/Qwen3-32B --gpu H100 -p 8001 --mimic 0.11", "Another model, as vLLM 0.11 shows it." },
		{ "goodput sim --replicas 3 --self-traffic rate=9 --fault slow:replica=1@30s",
			"Three servers; one becomes slow after 30 s." },
		{ "curl -d stall@0s+1m http://127.0.0.1:8000/goodput/fault", "Stop a running one for a minute." }, { NULL, NULL } },
	.tables = sim_tables,
	.arguments_size = sizeof(struct sim_arguments),
	.run = sim_run_command,
};
