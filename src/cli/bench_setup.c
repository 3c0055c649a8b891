/* goodput bench: from arguments to a run. Everything that can be wrong is found here, before any load is sent. */
#include "cli/bench.h"
#include "cli/commands.h"

#include "base/file.h"
#include "base/number.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum {
	PROMPTS_PRESET = 1000,
	CONCURRENCY_MAX = 1000000,
	THREADS_MAX = 1024,
	RETRIES_MAX = 1000,
	READY_MAX_S = 7 * 86400,
	TOKENS_MAX = 3000000
};

/* A number from `least` to `most`; absent: left alone. */
static bool number_option(const char *name, const char *text, double least, double most, double *value, struct error *e)
{
	if (!text)
		return true;
	if (number_parse(str_from(text), value) && *value >= least && *value <= most)
		return true;
	return error_set(e, EXIT_USAGE, "--%s must be a number from %.10g to %.10g, not \"%s\"", name, least, most, text);
}

/* What nobody means, and no machine can do. */
static bool setup_counts(const struct bench_arguments *a, struct error *e)
{
	const struct {
		const char *name;
		int64_t value, most;
	} counts[] = { { "random-input-len", a->input_len, TOKENS_MAX }, { "random-output-len", a->output_len, TOKENS_MAX },
		{ "random-prefix-len", a->prefix_len, TOKENS_MAX }, { "max-concurrency", a->concurrency, CONCURRENCY_MAX },
		{ "threads", a->threads, THREADS_MAX }, { "retries", a->retries, RETRIES_MAX }, { "port", a->port, UINT16_MAX },
		{ "ready-check-timeout-sec", a->ready_s, READY_MAX_S } };

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (counts[i].value > counts[i].most)
			return error_set(e, EXIT_USAGE, "--%s must be at most %lld, not %lld", counts[i].name, (long long)counts[i].most,
				(long long)counts[i].value);
	return true;
}

/* ---- the endpoint ---- */

/* vLLM's users write --goodput ttft:500 tpot:50: what follows the first limit arrives as operands. */
static bool setup_operands(struct bench *b, const struct option_strings *operands, struct error *e)
{
	const struct bench_arguments *a = b->a;
	const char *url = a->base_url;

	slo_set_init(&b->slo);
	for (size_t i = 0; i < a->goodput.count; i++)
		if (!slo_set_parse(&b->slo, str_from(a->goodput.items[i]), e)) {
			e->status = EXIT_USAGE;
			return false;
		}
	for (size_t i = 0; i < operands->count; i++) {
		if (a->goodput.count && slo_is_objective(str_from(operands->items[i]))) {
			if (!slo_set_parse(&b->slo, str_from(operands->items[i]), e))
				return false;
		} else if (url) {
			const char *action = command_nearest_action(&command_bench, url);

			error_set(e, EXIT_USAGE, "\"%s\" and \"%s\": one endpoint at a time", url, operands->items[i]);
			if (action)
				error_hint(e, "did you mean goodput bench %s?", action);
			return false;
		} else
			url = operands->items[i];
	}
	if (url) { /* OpenAI's own base URLs end with /v1, as our paths begin */
		struct str base = str_from(url);

		while (str_ends(base, STR("/")) && !str_ends(base, STR("://")))
			base.len--;
		if (str_ends(base, STR("/v1")))
			base.len -= 3;
		b->url = arena_str(&b->arena, base);
	} else if (a->host || a->port)
		b->url = arena_printf(&b->arena, "http://%s:%lld", a->host ? a->host : "127.0.0.1", a->port ? (long long)a->port : 8000LL);
	else {
		error_set(e, EXIT_USAGE, "which server?");
		error_hint(e, "goodput bench http://localhost:8000");
		return false;
	}
	return true;
}

static bool setup_endpoint(struct bench *b, struct error *e)
{
	const struct bench_arguments *a = b->a;
	const struct endpoint_options o = { .url = b->url.ptr,
		.ca_file = a->ca_file,
		.insecure = a->insecure,
		.fresh = a->fresh,
		.connect_timeout_ms = a->connect_timeout_ms,
		.head_timeout_ms = a->request_timeout_ms,
		.idle_timeout_ms = a->idle_timeout_ms,
		.whole_timeout_ms = a->request_timeout_ms };

	b->endpoint = endpoint_new(&o, e);
	if (!b->endpoint && file_exists(b->url.ptr))
		error_hint(e, "it is a file; to judge the records in it: goodput bench report " STR_FMT, STR_ARG(b->url));
	b->load.endpoint = b->endpoint;
	return b->endpoint;
}

static bool setup_api(struct bench *b, struct error *e)
{
	static const char *const paths[] = { "/v1/chat/completions", "/v1/completions", "/v1/responses" }; /* enum openai_api */
	const char *path = b->a->endpoint;

	b->load.api = b->a->backend == BACKEND_OPENAI_CHAT ? OPENAI_CHAT
		      : b->a->backend == BACKEND_RESPONSES ? OPENAI_RESPONSES
							   : OPENAI_COMPLETIONS;
	/* --endpoint alone says enough, as people paste it from vLLM's command lines. */
	if (path && b->a->backend == BACKEND_OPENAI_CHAT && str_search(str_from(path), STR("chat")) < 0 &&
		str_ends(str_from(path), STR("/completions")))
		b->load.api = OPENAI_COMPLETIONS;
	for (const char *at = path; at && *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return error_set(e, EXIT_USAGE, "--endpoint is a path such as %s, not \"%s\"", paths[b->load.api], path);
	b->load.path = !path ? str_from(paths[b->load.api]) : arena_printf(&b->arena, "%s%s", *path == '/' ? "" : "/", path);
	b->load.usage = (enum load_usage)b->a->usage;
	b->load.streams = b->a->streams;
	return true;
}

static bool setup_token(struct bench *b, struct error *e)
{
	const struct http_arguments h = { .token_file = b->a->token_file };
	struct watch_options o = { 0 };

	if (!http_to_options(&h, &b->arena, &o, e))
		return false;
	b->token = o.scrape.bearer_token ? o.scrape.bearer_token : getenv("OPENAI_API_KEY");
	if (b->token && !*b->token)
		b->token = NULL;
	return true;
}

static bool is_header_name(struct str name)
{
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.ptr[i] <= ' ' || (unsigned char)name.ptr[i] >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", name.ptr[i]))
			return false;
	return name.len;
}

static bool setup_headers(struct bench *b, struct error *e)
{
	const struct option_strings *headers = &b->a->headers;

	if (!setup_token(b, e))
		return false;
	for (const char *at = b->a->request_prefix; at && *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return error_set(e, EXIT_USAGE, "--request-id-prefix goes into a header: no blanks, no control characters");
	if (b->token)
		buf_printf(&b->headers, "Authorization: Bearer %s\r\n", b->token);
	for (size_t i = 0; i < headers->count; i++) {
		struct str text = str_from(headers->items[i]);
		ptrdiff_t at = str_find(text, '=');

		if (!is_header_name(str_head(text, at > 0 ? (size_t)at : 0)) || str_find(text, '\r') >= 0 || str_find(text, '\n') >= 0)
			return error_set(e, EXIT_USAGE, "--header is NAME=VALUE, not \"%s\"", headers->items[i]);
		buf_printf(&b->headers, STR_FMT ": " STR_FMT "\r\n", STR_ARG(str_head(text, (size_t)at)),
			STR_ARG(str_skip(text, (size_t)at + 1)));
	}
	b->load.headers = buf_str(&b->headers);
	return true;
}

static bool setup_members(struct bench *b, struct error *e)
{
	const char *text = b->a->extra_body;
	json_error_t why;
	json_t *root;

	if (b->a->ignore_eos)
		buf_add_cstr(&b->members, "\"ignore_eos\":true");
	if (text) {
		struct str inside = str_trim(str_from(text));

		root = json_loads(text, JSON_REJECT_DUPLICATES, &why);
		if (!json_is_object(root)) {
			json_decref(root);
			return error_at(e, STR("--extra-body"), str_from(text), root || why.position < 0 ? 0 : (size_t)why.position,
				"not a JSON object%s%s", root ? "" : ": ", root ? "" : why.text);
		}
		if (json_object_size(root))
			buf_printf(&b->members, "%s" STR_FMT, b->members.len ? "," : "", STR_ARG(str_of(inside.ptr + 1, inside.len - 2)));
		json_decref(root);
	}
	b->load.members = buf_str(&b->members);
	return true;
}

/* ---- the workload ---- */

/* "least, most" of lengths that vary by `ratio` to both sides, after a beginning of `fixed` tokens. */
static void length_text(int64_t fixed, int64_t mean, double ratio, struct buf *out)
{
	double least = floor((double)mean * (1 - ratio)), most = ceil((double)mean * (1 + ratio));

	buf_printf(out, "[%.0f, %.0f]", (double)fixed + (least < 1 ? 1 : least), (double)fixed + most);
}

static bool workload_of_flags(struct bench *b, struct error *e)
{
	const struct bench_arguments *a = b->a;
	double ratio = 0, temperature = NAN, top_p = NAN;
	struct buf text;

	if (!number_option("random-range-ratio", a->range_ratio, 0, 1, &ratio, e) ||
		!number_option("temperature", a->temperature, 0, 100, &temperature, e) ||
		!number_option("top-p", a->top_p, 0, 1, &top_p, e))
		return false;
	buf_init(&text, 65536);
	buf_printf(&text, "goodput_workload: 1\nname: random\narrivals: {process: closed, concurrency: 1}\nprompt: {format: %s}\n",
		b->load.api == OPENAI_COMPLETIONS ? "completion" : "chat");
	if (!isnan(temperature) || !isnan(top_p)) {
		buf_add_cstr(&text, "sampling: {");
		if (!isnan(temperature))
			buf_printf(&text, "temperature: %g%s", temperature, isnan(top_p) ? "" : ", ");
		if (!isnan(top_p))
			buf_printf(&text, "top_p: %g", top_p);
		buf_add_cstr(&text, "}\n");
	}
	if (a->prefix_len)
		buf_printf(&text, "prefix: {tokens: %lld}\n", (long long)a->prefix_len);
	buf_add_cstr(&text, "mix:\n- prompt: ");
	length_text(a->prefix_len, a->input_len, ratio, &text);
	buf_add_cstr(&text, "\n  output: ");
	length_text(0, a->output_len, ratio, &text);
	buf_add_cstr(&text, "\n");
	b->workload = workload_parse(STR("--random-..."), buf_str(&text), e);
	buf_fini(&text);
	return b->workload;
}

static bool setup_workload(struct bench *b, struct error *e)
{
	const struct bench_arguments *a = b->a;

	if (a->workload && (a->temperature || a->top_p))
		return error_set(e, EXIT_USAGE, "sampling is the workload's business: --extra-body '{\"temperature\": ...}' overrides it");
	if (a->workload)
		b->workload = workload_read(a->workload, e);
	if (!b->workload && (a->workload || !workload_of_flags(b, e)))
		return false;
	b->load.workload = b->workload;
	if (b->load.api != OPENAI_COMPLETIONS && workload_format(b->workload) == WORKLOAD_TOKEN_IDS) {
		error_set(e, EXIT_USAGE, "this workload's prompts are token ids, which only /v1/completions takes");
		error_hint(e, "--backend vllm");
		return false;
	}
	return true;
}

/* ---- arrivals ---- */

static bool plan_ramp(struct bench *b, struct error *e)
{
	const struct bench_arguments *a = b->a;
	struct workload_arrivals *arrivals = &b->plan.arrivals;
	double from = NAN, to = NAN, mean;

	if (a->ramp == RAMP_NONE) {
		if (a->ramp_from || a->ramp_to || a->ramp_ms)
			return error_set(e, EXIT_USAGE, "a ramp needs --ramp-up-strategy linear or exponential");
		return true;
	}
	if (!number_option("ramp-up-start-rps", a->ramp_from, 1e-4, 1e6, &from, e) ||
		!number_option("ramp-up-end-rps", a->ramp_to, 1e-4, 1e6, &to, e))
		return false;
	if (isnan(from) || isnan(to))
		return error_set(e, EXIT_USAGE, "a ramp needs --ramp-up-start-rps and --ramp-up-end-rps");
	if (a->rate)
		return error_set(e, EXIT_USAGE, "--request-rate and a ramp at once: the ramp says the rate");
	arrivals->process = WORKLOAD_POISSON;
	arrivals->rate = to;
	arrivals->ramp_from = from;
	arrivals->ramp_exponential = a->ramp == RAMP_EXPONENTIAL;
	mean = arrivals->ramp_exponential && from != to ? (to - from) / log(to / from) : (from + to) / 2;
	arrivals->ramp_seconds = a->ramp_ms       ? (double)a->ramp_ms / 1e3
				 : a->duration_ms ? (double)a->duration_ms / 1e3
						  : (double)b->plan.requests / mean;
	return true;
}

static void plan_rate(struct bench *b, double rate, double burstiness)
{
	struct workload_arrivals *arrivals = &b->plan.arrivals;

	if (isinf(rate)) { /* as soon as there is a place */
		arrivals->process = WORKLOAD_CLOSED;
		if (!arrivals->concurrency)
			arrivals->concurrency =
				(uint32_t)(b->plan.requests && b->plan.requests < CONCURRENCY_MAX ? b->plan.requests : PROMPTS_PRESET);
		return;
	}
	arrivals->rate = rate;
	arrivals->process = burstiness == 1 ? WORKLOAD_POISSON : WORKLOAD_GAMMA;
	arrivals->burstiness = burstiness;
	arrivals->ramp_seconds = 0;
}

static bool plan_arrivals(struct bench *b, struct error *e)
{
	const struct bench_arguments *a = b->a;
	struct workload_arrivals *arrivals = &b->plan.arrivals;
	bool asks_inf = a->rate && str_eq_nocase(str_from(a->rate), STR("inf"));
	double rate = INFINITY, burstiness = 1, speed = NAN;

	if ((a->rate && !asks_inf && !number_option("request-rate", a->rate, 1e-4, 1e6, &rate, e)) ||
		!number_option("burstiness", a->burstiness, 0.01, 1e6, &burstiness, e) ||
		!number_option("speed", a->speed, 1e-4, 1e6, &speed, e))
		return false;
	if (a->concurrency)
		arrivals->concurrency = (uint32_t)a->concurrency;
	if (a->burstiness && (!a->rate || asks_inf) && !a->workload)
		return error_set(e, EXIT_USAGE, "--burstiness shapes the gaps of --request-rate");
	if (a->rate || (!a->workload && a->ramp == RAMP_NONE))
		plan_rate(b, rate, burstiness);
	else if (a->concurrency && !a->arrival)
		arrivals->process = WORKLOAD_CLOSED, arrivals->ramp_seconds = 0;
	if (a->arrival)
		arrivals->process = (enum workload_process)(a->arrival - 1);
	if (arrivals->process == WORKLOAD_CLOSED)
		arrivals->ramp_seconds = 0;
	if (a->sweep && !a->rate) { /* one rate is as good as any to check the rest with */
		arrivals->process = arrivals->process == WORKLOAD_CLOSED ? WORKLOAD_POISSON : arrivals->process;
		arrivals->rate = 1;
		arrivals->concurrency = (uint32_t)a->concurrency;
	}
	if (!isnan(speed))
		arrivals->speed = speed;
	return plan_ramp(b, e);
}

static uint64_t salt_new(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (((uint64_t)now.tv_sec << 20) ^ (uint64_t)now.tv_nsec) & INT64_MAX;
}

static bool setup_plan(struct bench *b, struct error *e)
{
	const struct bench_arguments *a = b->a;

	workload_plan_default(b->workload, &b->plan);
	if (!a->workload)
		b->plan.arrivals.concurrency = 0; /* what the flags say is all there is */
	b->plan.seed = (uint64_t)a->seed;
	b->plan.salt = a->salt < 0 ? salt_new() : (uint64_t)a->salt;
	if (a->prompts)
		b->plan.requests = (uint64_t)a->prompts;
	else if (a->duration_ms || a->sweep)
		b->plan.requests = 0;
	else if (!b->plan.requests && b->plan.arrivals.process != WORKLOAD_TRACE)
		b->plan.requests = PROMPTS_PRESET;
	if (!plan_arrivals(b, e) || !workload_plan_check(b->workload, &b->plan, e))
		return false;
	b->load.plan = &b->plan;
	return true;
}

static bool setup_window(struct bench *b, struct error *e)
{
	const struct bench_arguments *a = b->a;

	if (a->cooldown_ms && !a->duration_ms)
		return error_set(e, EXIT_USAGE, "--cooldown needs --duration: without it nobody knows when the end is near");
	if (a->duration_ms && a->warmup_ms + a->cooldown_ms >= a->duration_ms)
		return error_set(e, EXIT_USAGE, "--warmup and --cooldown leave nothing of --duration to judge");
	b->load.duration_ns = a->duration_ms * 1000000;
	b->load.warmup_ns = a->warmup_ms * 1000000;
	b->load.cooldown_ns = a->cooldown_ms * 1000000;
	b->load.warmup_starts = (uint64_t)a->warmups;
	b->load.grace_ns = a->duration_ms ? a->grace_ms * 1000000 : -1;
	b->load.retries = (unsigned)a->retries;
	b->load.threads = (unsigned)a->threads;
	b->load.stop = &command_stop;
	return true;
}

static bool setup_judgement(struct bench *b, struct error *e)
{
	const struct bench_arguments *a = b->a;

	b->price = NAN;
	if (!number_option("price", a->price, 0, 1e12, &b->price, e))
		return false;
	if (!a->evaluation)
		return true;
	b->has_evaluation = true;
	b->load.evaluation = &b->evaluation;
	return evaluation_read(&b->evaluation, a->evaluation, e);
}

/* As many sockets as the system lets us have. */
static void raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

bool bench_open(struct bench *b, const struct bench_arguments *a, const struct option_strings *operands, struct error *e)
{
	const char *model = a->served_model ? a->served_model : a->model;

	*b = (struct bench){ .a = a };
	arena_init(&b->arena);
	buf_init(&b->headers, 1 << 20);
	buf_init(&b->members, 1 << 24);
	raise_limits();
	b->load.model = str_from(model ? model : "");
	if (setup_counts(a, e) && setup_operands(b, operands, e) && setup_endpoint(b, e) && setup_api(b, e) && setup_headers(b, e) &&
		setup_members(b, e) && setup_workload(b, e) && setup_plan(b, e) && setup_window(b, e) && setup_judgement(b, e) &&
		bench_files_check(a, e)) {
		b->load.request_prefix = a->request_prefix ? str_from(a->request_prefix)
							   : arena_printf(&b->arena, "bench-%llx-", (unsigned long long)b->plan.salt);
		return true;
	}
	bench_close(b);
	return false;
}

void bench_close(struct bench *b)
{
	endpoint_free(b->endpoint);
	if (b->workload)
		workload_free(b->workload);
	if (b->has_evaluation)
		evaluation_free(&b->evaluation);
	buf_fini(&b->headers);
	buf_fini(&b->members);
	arena_fini(&b->arena);
}
