/* Options of goodput bench: the names of `vllm bench serve` where it has one. */
#include "cli/bench.h"

#include <stddef.h>

#define AT(field) offsetof(struct bench_arguments, field)

static const char *const backends[] = { "openai-chat", "openai", "vllm", "openai-responses", NULL }; /* enum bench_backend */
static const char *const usages[] = { "each", "last", "none", NULL };                                /* enum load_usage */
static const char *const ramps[] = { "none", "linear", "exponential", NULL };                        /* enum ramp_strategy */
static const char *const arrivals[] = { "auto", "closed", "constant", "poisson", "gamma", "trace", NULL };

static const struct option_spec endpoint_options[] = {
	{ "base-url", 0, OPTION_STRING, AT(base_url), .argument = "URL", .help = "The server, instead of an operand." },
	{ "host", 0, OPTION_STRING, AT(host), .argument = "HOST", .help = "The server's host (127.0.0.1), with --port, instead of a URL." },
	{ "port", 'p', OPTION_INTEGER, AT(port), .argument = "PORT", .least = 0,
		.help = "The server's port (8000), with --host, instead of a URL." },
	{ "backend", 0, OPTION_CHOICE, AT(backend), .argument = "API", .choices = backends, .preset = "openai-chat",
		.help = "openai-chat: /v1/chat/completions; openai or vllm: /v1/completions; openai-responses: /v1/responses." },
	{ "endpoint", 0, OPTION_STRING, AT(endpoint), .argument = "PATH", .help = "Path of the API, instead of the backend's usual one." },
	{ "model", 'm', OPTION_STRING, AT(model), .argument = "NAME", .help = "Model to ask for; else the first of /v1/models." },
	{ "served-model-name", 0, OPTION_STRING, AT(served_model), .argument = "NAME",
		.help = "Name of the model in requests, where it differs from --model." },
	{ "header", 'H', OPTION_STRINGS, AT(headers), .argument = "NAME=VALUE", .help = "Send this header with every request" },
	{ "bearer-token-file", 0, OPTION_STRING, AT(token_file), .argument = "FILE",
		.help = "Send the token in FILE as Authorization: Bearer; else that in OPENAI_API_KEY." },
	{ "ca-file", 0, OPTION_STRING, AT(ca_file), .argument = "FILE", .help = "Trust the certificates in FILE for https." },
	{ "insecure", 0, OPTION_FLAG, AT(insecure), .help = "Do not verify certificates." },
	{ "fresh-connections", 0, OPTION_FLAG, AT(fresh), .help = "A new connection for each request instead of kept ones." },
	{ "connect-timeout", 0, OPTION_DURATION, AT(connect_timeout_ms), .argument = "DURATION", .preset = "10s", .least = 1,
		.help = "Give up on a connection after this time." },
	{ "idle-timeout", 0, OPTION_DURATION, AT(idle_timeout_ms), .argument = "DURATION", .preset = "2m", .least = 1,
		.help = "Give up on an answer that stands still for this time." },
	{ "request-timeout", 0, OPTION_DURATION, AT(request_timeout_ms), .argument = "DURATION", .preset = "10m", .least = 1,
		.help = "Give up on a request after this time." },
	{ "retries", 0, OPTION_INTEGER, AT(retries), .argument = "N", .preset = "0", .least = 0,
		.help = "Send a request again after 429, 502, 503, 504 or a lost connection, when Retry-After says (above a minute: not at "
			"all). Latency counts from the first time, and is shown from the last one beside it." },
	{ "usage", 0, OPTION_CHOICE, AT(usage), .argument = "WHICH", .choices = usages, .preset = "each",
		.help = "Usage objects to ask for: with each event (vLLM), with the last, or none. What the probe finds refused is left "
			"out." },
	{ "stream", 0, OPTION_FLAG, AT(streams), .preset = "yes", .help = "Ask for streams; --no-stream has no TTFT." },
	{ "extra-body", 0, OPTION_STRING, AT(extra_body), .argument = "JSON", .help = "Members to add to every request body." },
	{ "request-id-prefix", 0, OPTION_STRING, AT(request_prefix), .argument = "TEXT", .help = "Start of every X-Request-Id." },
	{ "ready-check-timeout-sec", 0, OPTION_INTEGER, AT(ready_s), .argument = "SECONDS", .preset = "0", .least = 0,
		.help = "Wait so long for the endpoint to answer." },
	{ "probe", 0, OPTION_FLAG, AT(probe), .preset = "yes", .help = "Send one request before the load, and stop when it fails." },
	{ 0 },
};

static const struct option_spec load_options[] = {
	{ "workload", 'w', OPTION_STRING, AT(workload), .argument = "FILE",
		.help = "Send this workload (goodput workload makes one) instead of random prompts." },
	{ "num-prompts", 'n', OPTION_INTEGER, AT(prompts), .argument = "N", .least = 1,
		.help = "Requests (or sessions) to send; 1000 without --duration." },
	{ "duration", 'd', OPTION_DURATION, AT(duration_ms), .argument = "DURATION", .least = 1, .help = "Start requests for this time." },
	{ "request-rate", 'r', OPTION_STRING, AT(rate), .argument = "RATE",
		.help = "Requests per second; inf sends each as soon as there is a place for it. Latency then also counts from the time a "
			"request was due." },
	{ "burstiness", 0, OPTION_STRING, AT(burstiness), .argument = "SHAPE",
		.help = "Shape of the gaps between requests: 1 is Poisson, below 1 burstier, above 1 more regular." },
	{ "arrival", 0, OPTION_CHOICE, AT(arrival), .argument = "PROCESS", .choices = arrivals, .preset = "auto",
		.help = "constant, poisson, gamma, trace (the workload's own times), or closed: --max-concurrency at any time." },
	{ "speed", 0, OPTION_STRING, AT(speed), .argument = "FACTOR", .help = "Play a trace's times faster (2) or slower (0.5)." },
	{ "max-concurrency", 'c', OPTION_INTEGER, AT(concurrency), .argument = "N", .least = 0,
		.help = "Most requests at a time. Without --request-rate the next one starts when one ends." },
	{ "ramp-up-strategy", 0, OPTION_CHOICE, AT(ramp), .argument = "SHAPE", .choices = ramps, .preset = "none",
		.help = "How the rate grows." },
	{ "ramp-up-start-rps", 0, OPTION_STRING, AT(ramp_from), .argument = "RATE", .help = "Rate at the start of the ramp." },
	{ "ramp-up-end-rps", 0, OPTION_STRING, AT(ramp_to), .argument = "RATE", .help = "Rate at its end." },
	{ "ramp-up-time", 0, OPTION_DURATION, AT(ramp_ms), .argument = "DURATION", .least = 0,
		.help = "How long it takes; else the whole run." },
	{ "random-input-len", 0, OPTION_INTEGER, AT(input_len), .argument = "TOKENS", .preset = "1024", .least = 1,
		.help = "Length of random prompts." },
	{ "random-output-len", 0, OPTION_INTEGER, AT(output_len), .argument = "TOKENS", .preset = "128", .least = 1,
		.help = "Most tokens of their answers." },
	{ "random-range-ratio", 0, OPTION_STRING, AT(range_ratio), .argument = "RATIO", .preset = "0",
		.help = "Lengths vary evenly by this share to both sides." },
	{ "random-prefix-len", 0, OPTION_INTEGER, AT(prefix_len), .argument = "TOKENS", .preset = "0", .least = 0,
		.help = "Beginning that all random prompts share, before their own length." },
	{ "ignore-eos", 0, OPTION_FLAG, AT(ignore_eos), .help = "Ask the server to go on to the full length (vLLM)." },
	{ "temperature", 0, OPTION_STRING, AT(temperature), .argument = "T", .help = "Sampling temperature of random prompts." },
	{ "top-p", 0, OPTION_STRING, AT(top_p), .argument = "P", .help = "Nucleus of random prompts." },
	{ "seed", 0, OPTION_INTEGER, AT(seed), .argument = "N", .preset = "0", .least = 0,
		.help = "The same seed, the same requests at the same times." },
	{ "salt", 0, OPTION_INTEGER, AT(salt), .argument = "N", .preset = "-1", .least = -1,
		.help = "Changes all text and no length, so that the server's prefix cache does not know it from the last run: by default "
			"a new one each run; 0 adds none." },
	{ "warmup", 0, OPTION_DURATION, AT(warmup_ms), .argument = "DURATION", .least = 0,
		.help = "Do not judge requests of this time at the start." },
	{ "num-warmups", 0, OPTION_INTEGER, AT(warmups), .argument = "N", .least = 0, .help = "Do not judge the first N requests." },
	{ "cooldown", 0, OPTION_DURATION, AT(cooldown_ms), .argument = "DURATION", .least = 0,
		.help = "Nor those of this time at the end of --duration." },
	{ "grace", 0, OPTION_DURATION, AT(grace_ms), .argument = "DURATION", .preset = "60s", .least = 0,
		.help = "After --duration, wait so long for what is on its way; the rest is cancelled, counted and not judged." },
	{ "threads", 0, OPTION_INTEGER, AT(threads), .argument = "N", .least = 0, .help = "Threads of the client; one for each core." },
	{ 0 },
};

static const struct option_spec judge_options[] = {
	{ "goodput", 'g', OPTION_STRINGS, AT(goodput), .argument = "NAME:MS",
		.help = "Limits that a good request meets all of: ttft, tpot, e2el (or e2e), stall, in milliseconds; several as in vLLM: "
			"--goodput ttft:500 tpot:50" },
	{ "eval", 0, OPTION_STRING, AT(evaluation), .argument = "FILE",
		.help = "Mix these questions into the load and judge their answers." },
	{ "price", 0, OPTION_STRING, AT(price), .argument = "AMOUNT",
		.help = "What the server costs in an hour, for the cost of 1,000 good requests." },
	{ "scrape", 0, OPTION_FLAG, AT(scrape), .preset = "yes", .help = "Read the server's /metrics meanwhile and show both sides." },
	{ "metrics-url", 0, OPTION_STRINGS, AT(metrics), .argument = "URL",
		.help = "Where the server's metrics are, when not on its own port" },
	{ "sweep", 0, OPTION_FLAG, AT(sweep),
		.help = "Find the highest rate that holds --goodput: a run of --duration each, growing rates, then between." },
	{ "sweep-rates", 0, OPTION_STRING, AT(sweep_rates), .argument = "FROM..TO", .preset = "1..1000", .help = "Where to look." },
	{ "attainment", 0, OPTION_STRING, AT(attainment), .argument = "SHARE", .preset = "0.95",
		.help = "Share of due requests that must be good for a rate to hold." },
	{ "thresholds", 0, OPTION_STRING, AT(thresholds), .argument = "FILE",
		.help = "sweep: write red lines for check and serve (--catalog FILE) that follow from it." },
	{ "recovery", 0, OPTION_DURATION, AT(recovery_ms), .argument = "DURATION", .preset = "5m", .least = 1000,
		.help = "sweep: the time in which a queue must be worked off, for --thresholds." },
	{ "expires", 0, OPTION_DURATION, AT(expires_ms), .argument = "DURATION", .preset = "90d", .least = 1000,
		.help = "sweep: how long --thresholds are good for." },
	{ 0 },
};

static const struct option_spec report_options[] = {
	{ "by", 0, OPTION_STRINGS, AT(by), .argument = "KEYS",
		.help = "report: also by model, tenant, pool, group, prompt (bands of its length), temperature" },
	{ "each", 0, OPTION_FLAG, AT(each), .help = "report: every request with its verdict." },
	{ 0 },
};

static const struct option_spec output_options[] = {
	{ "records", 0, OPTION_STRING, AT(records), .argument = "FILE",
		.help = "Every request's timeline as JSON Lines, written while the run goes on." },
	{ "save-result", 0, OPTION_FLAG, AT(save), .help = "Write a summary as vllm bench serve does." },
	{ "save-detailed", 0, OPTION_FLAG, AT(detailed), .help = "With --save-result: the lists of every request's figures too." },
	{ "append-result", 0, OPTION_FLAG, AT(append), .help = "With --save-result: add a line to the file." },
	{ "result-dir", 0, OPTION_STRING, AT(result_dir), .argument = "FOLDER", .help = "Where --save-result writes." },
	{ "result-filename", 0, OPTION_STRING, AT(result_file), .argument = "NAME",
		.help = "Its name; else backend, rate, model and time." },
	{ "label", 0, OPTION_STRING, AT(label), .argument = "TEXT", .help = "Name of the run in results and comparisons." },
	{ "metadata", 0, OPTION_STRINGS, AT(metadata), .argument = "NAME=VALUE", .help = "A fact to keep with the results" },
	{ "percentile-metrics", 0, OPTION_STRING, AT(percentile_metrics), .argument = "LIST", .preset = "ttft,tpot,itl,e2el",
		.help = "Figures of which --save-result has percentiles." },
	{ "metric-percentiles", 0, OPTION_STRING, AT(percentiles), .argument = "LIST", .preset = "99", .help = "Which: 50,99,99.9." },
	{ "html", 0, OPTION_STRING, AT(html), .argument = "FILE", .help = "A page with charts, complete in itself." },
	{ "junit", 0, OPTION_STRING, AT(junit), .argument = "FILE", .help = "Limits, errors and evaluation as test cases." },
	{ "record", 0, OPTION_STRING, AT(record), .argument = "FOLDER",
		.help = "Keep the scrapes of the server as a recording for goodput check." },
	{ "worst", 0, OPTION_INTEGER, AT(worst), .argument = "N", .preset = "3", .least = 0, .help = "Show the N worst requests." },
	{ "prompts", 0, OPTION_STRING, AT(prompts_file), .argument = "FILE",
		.help = "Write the bodies of the worst and failed requests; nothing is kept of them otherwise." },
	{ "disable-tqdm", 0, OPTION_FLAG, AT(no_progress), .help = "No progress." },
	{ 0 },
};
#undef AT

const struct option_table bench_tables[] = { { "The endpoint", endpoint_options, 0 }, { "The load", load_options, 0 },
	{ "The judgement", judge_options, 0 }, { "bench report", report_options, 0 }, { "What is kept", output_options, 0 },
	GLOBAL_TABLE(struct bench_arguments), { 0 } };
