/* goodput bench: from arguments to a run. Everything that can be wrong is found here, before any load is sent. */
#include "cli/bench.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "net/http.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { PROMPTS_PRESET = 1000, CONCURRENCY_MAX = 1000000 };

/* A number from `least` to `most`; absent: left alone. */
static bool number_option(const char *name, const char *text, double least, double most, double *value, struct error *e)
{
	if (!text)
		return true;
	if (number_parse(str_from(text), value) && *value >= least && *value <= most)
		return true;
	return error_set(e, EXIT_USAGE, "--%s must be a number from %g to %g, not \"%s\"", name, least, most, text);
}

/* ---- the endpoint ---- */

static bool is_limit(const char *operand)
{
	struct slo_set scratch;
	struct error ignored = { 0 };

	slo_set_init(&scratch);
	return slo_set_parse(&scratch, str_from(operand), &ignored);
}

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
		if (a->goodput.count && is_limit(operands->items[i])) {
			if (!slo_set_parse(&b->slo, str_from(operands->items[i]), e))
				return false;
		} else if (url)
			return error_set(e, EXIT_USAGE, "\"%s\" and \"%s\": one endpoint at a time", url, operands->items[i]);
		else
			url = operands->items[i];
	}
	if (url)
		b->url = arena_str(&b->arena, str_from(url));
	else if (a->host || a->port)
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
	b->load.endpoint = b->endpoint;
	return b->endpoint;
}

static void setup_api(struct bench *b)
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
	b->load.path = str_from(path ? path : paths[b->load.api]);
	b->load.usage = (enum load_usage)b->a->usage;
	b->load.streams = b->a->streams;
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

static bool setup_headers(struct bench *b, struct error *e)
{
	const struct option_strings *headers = &b->a->headers;

	if (!setup_token(b, e))
		return false;
	if (b->token)
		buf_printf(&b->headers, "Authorization: Bearer %s\r\n", b->token);
	for (size_t i = 0; i < headers->count; i++) {
		struct str text = str_from(headers->items[i]);
		ptrdiff_t at = str_find(text, '=');

		if (at <= 0 || str_find(text, '\r') >= 0 || str_find(text, '\n') >= 0)
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

/* "least, most" of lengths that vary by `ratio` to both sides. */
static void length_text(int64_t mean, double ratio, struct buf *out)
{
	double least = floor((double)mean * (1 - ratio)), most = ceil((double)mean * (1 + ratio));

	buf_printf(out, "[%.0f, %.0f]", least < 1 ? 1 : least, most);
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
	length_text(a->input_len + a->prefix_len, ratio, &text);
	buf_add_cstr(&text, "\n  output: ");
	length_text(a->output_len, ratio, &text);
	buf_add_cstr(&text, "\n");
	b->workload = workload_parse(STR("--random-..."), buf_str(&text), e);
	buf_fini(&text);
	return b->workload;
}

static bool setup_workload(struct bench *b, struct error *e)
{
	const struct bench_arguments *a = b->a;

	if (a->workload && (a->temperature || a->top_p))
		return error_set(e, EXIT_USAGE, "sampling is the workload's business: --extra-body '{\"temperature\": …}' overrides it");
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
	if (!number_option("ramp-up-start-rps", a->ramp_from, 1e-6, 1e6, &from, e) ||
		!number_option("ramp-up-end-rps", a->ramp_to, 1e-6, 1e6, &to, e))
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

	if ((a->rate && !asks_inf && !number_option("request-rate", a->rate, 1e-6, 1e6, &rate, e)) ||
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
	if (setup_operands(b, operands, e) && setup_endpoint(b, e) && (setup_api(b), setup_headers(b, e)) && setup_members(b, e) &&
		setup_workload(b, e) && setup_plan(b, e) && setup_window(b, e) && setup_judgement(b, e) && bench_files_check(a, e)) {
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

/* ---- the probe ---- */

static enum exit_status status_of_failure(enum http_failure failure)
{
	return failure == HTTP_BAD_URL ? EXIT_USAGE : failure == HTTP_NOT_HTTP ? EXIT_BAD_INPUT : EXIT_UNREACHABLE;
}

static bool model_refused(const struct bench *b, const struct http_answer *answer, struct error *e)
{
	if (answer->failure != HTTP_OK)
		error_set(e, status_of_failure(answer->failure), "%s", answer->detail);
	else if (answer->status == 401 || answer->status == 403)
		error_set(e, EXIT_BAD_INPUT, "the server wants to know who asks (%d)", answer->status);
	else if (answer->status != 200)
		error_set(e, EXIT_BAD_INPUT, "/v1/models answers %d: name the model", answer->status);
	else
		error_set(e, EXIT_BAD_INPUT, "/v1/models is no list of models: name the model");
	error_source(e, b->url);
	error_hint(e, "%s",
		answer->failure == HTTP_TLS  ? "is it https? --ca-file FILE trusts a certificate, --insecure all"
		: answer->failure != HTTP_OK ? "is the server up, and is this its address? --ready-check-timeout-sec N waits for it"
		: answer->status == 401 || answer->status == 403 ? "--bearer-token-file FILE, or OPENAI_API_KEY"
								 : "--model NAME");
	return false;
}

static struct str first_model(struct bench *b, struct str body)
{
	json_t *root = json_loadb(body.ptr, body.len, 0, NULL);
	json_t *id = json_object_get(json_array_get(json_object_get(root, "data"), 0), "id");
	struct str name = json_is_string(id) ? arena_str(&b->arena, str_from(json_string_value(id))) : STR_EMPTY;

	json_decref(root);
	return name;
}

static bool model_find(struct bench *b, struct error *e)
{
	struct http_client *client;
	struct http_answer answer = { 0 };
	struct http_request request = { .bearer_token = b->token, .ca_file = b->a->ca_file, .insecure = b->a->insecure };
	struct str url = b->url;
	const char *scheme = str_search(url, STR("://")) >= 0 ? "" : "http://";

	if (b->load.model.len)
		return true;
	while (str_ends(url, STR("/")))
		url.len--;
	request.url = arena_printf(&b->arena, "%s" STR_FMT "/v1/models", scheme, STR_ARG(url)).ptr;
	client = http_client_new();
	http_fetch_all(client, &b->arena, &request, &answer, 1, 1, &command_stop);
	http_client_free(client);
	if (command_stop)
		return error_set(e, EXIT_INTERRUPTED, "interrupted");
	if (answer.failure == HTTP_OK && answer.status == 200)
		b->load.model = first_model(b, answer.body);
	return b->load.model.len || model_refused(b, &answer, e);
}

static bool probe_refused(const struct bench *b, const struct timeline *t, struct error *e)
{
	bool answered = t->http_status || t->error == TIMELINE_PROTOCOL;
	char status[24] = "";

	if (t->http_status)
		snprintf(status, sizeof status, ", status %u", t->http_status);
	error_set(e, answered ? EXIT_BAD_INPUT : EXIT_UNREACHABLE, "the first request failed (%s%s): %s", timeline_error_name(t->error),
		status, *t->message ? t->message : "no words given");
	error_source(e, b->url);
	error_hint(e, "%s", timeline_error_hint(t->error, t->http_status));
	return false;
}

/* Strict servers refuse the members that only vLLM knows: then with less. */
static bool probe_with_less(struct bench *b, const struct timeline *t)
{
	if ((t->http_status != 400 && t->http_status != 422) || b->load.usage == LOAD_USAGE_NONE || !b->load.streams)
		return false;
	if (str_search(str_from(t->message), STR("stream_options")) < 0 && str_search(str_from(t->message), STR("continuous_usage")) < 0)
		return false;
	b->load.usage++;
	log_note("the server refuses to count tokens %s: asking %s", b->load.usage == LOAD_USAGE_LAST ? "with each event" : "at the end",
		b->load.usage == LOAD_USAGE_LAST ? "for the end's count" : "for none");
	return true;
}

static bool is_not_ready(const struct timeline *t)
{
	return t->error == TIMELINE_CONNECT || t->error == TIMELINE_DNS || t->error == TIMELINE_RESET || t->http_status == 503;
}

static bool probe_once(struct bench *b, int64_t until_ns, bool *again, struct error *e)
{
	struct timeline t;
	bool ok;

	timeline_init(&t);
	ok = load_probe(&b->load, &t, e);
	*again = false;
	if (ok && t.outcome == TIMELINE_CANCELLED)
		ok = error_set(e, EXIT_INTERRUPTED, "interrupted before any load was sent");
	else if (ok && !timeline_is_complete(&t)) {
		bool waits = is_not_ready(&t) && clock_monotonic_ns() < until_ns;

		*again = waits || probe_with_less(b, &t);
		ok = false;
		if (!*again)
			probe_refused(b, &t, e);
		else if (waits)
			nanosleep(&(struct timespec){ 0, 500000000 }, NULL);
	}
	timeline_fini(&t);
	return ok;
}

bool bench_probe(struct bench *b, struct error *e)
{
	int64_t until_ns = clock_monotonic_ns() + b->a->ready_s * 1000000000;
	bool again = false;

	while (!model_find(b, e)) {
		if (e->status != EXIT_UNREACHABLE || clock_monotonic_ns() >= until_ns || command_stop)
			return false;
		error_clear(e);
		nanosleep(&(struct timespec){ 0, 500000000 }, NULL);
	}
	if (!b->a->probe)
		return true;
	while (!probe_once(b, until_ns, &again, e))
		if (!again || command_stop)
			return false;
	return true;
}
