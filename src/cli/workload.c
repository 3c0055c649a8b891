/* goodput workload: freezes load profiles, shows and compares them. */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/workload_page.h"
#include "workload/freeze.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { SNIFF = 4096 };

struct workload_arguments {
	struct global_arguments global;
	struct source_arguments source;
	const char *output, *name;
	const char *window, *at, *since, *scope;
	int64_t from_ms, to_ms, limit, prompt_most, output_most;
	int over, spread, process, ramp, format;
	const char *rate, *burstiness, *speed, *ramp_from, *concurrency, *requests, *seed, *template_tokens;
	int64_t ramp_ms;
	const char *temperature, *top_p;
	bool no_ignore_eos;
};

#define AT(field) offsetof(struct workload_arguments, field)
static const char *const over_choices[] = { "cut", "drop", NULL };
static const char *const spread_choices[] = { "no", "evenly", "at-random", NULL }; /* enum freeze_spread */
static const char *const process_choices[] = { "as-is", "closed", "constant", "poisson", "gamma", "trace",
	NULL }; /* + enum workload_process */
static const char *const ramp_choices[] = { "linear", "exponential", NULL };
static const char *const format_choices[] = { "as-is", "chat", "completion", "token-ids", NULL }; /* + enum workload_format */

static const struct option_spec freeze_options_list[] = {
	{ "output", 'o', OPTION_STRING, AT(output), .argument = "FILE",
		.help = "Write the workload here, and show it; else it is printed." },
	{ "name", 0, OPTION_STRING, AT(name), .argument = "TEXT", .help = "A name for people; it is not part of the hash." },
	{ "from", 0, OPTION_DURATION, AT(from_ms), .argument = "DURATION",
		.help = "Trace: leave out what came earlier than this after its start." },
	{ "to", 0, OPTION_DURATION, AT(to_ms), .argument = "DURATION", .help = "Trace: leave out what came at this time or later." },
	{ "limit", 0, OPTION_INTEGER, AT(limit), .argument = "N", .least = 1, .help = "Trace: keep the first N requests of what is left." },
	{ "max-prompt", 0, OPTION_INTEGER, AT(prompt_most), .argument = "TOKENS", .least = 1,
		.help = "Trace: no prompt is longer than this." },
	{ "max-output", 0, OPTION_INTEGER, AT(output_most), .argument = "TOKENS", .least = 1,
		.help = "Trace: no answer is longer than this." },
	{ "over", 0, OPTION_CHOICE, AT(over), .argument = "WHAT", .choices = over_choices, .preset = "cut",
		.help = "Trace: cut what is longer, or drop the request." },
	{ "spread", 0, OPTION_CHOICE, AT(spread), .argument = "HOW", .choices = spread_choices, .preset = "no",
		.help = "Trace: send requests of one time apart, over the time to the next (Mooncake's clock ticks every 3 s)." },
	{ 0 },
};
static const struct option_spec load_options_list[] = {
	{ "arrivals", 0, OPTION_CHOICE, AT(process), .argument = "PROCESS", .choices = process_choices, .preset = "as-is",
		.help = "How requests come. Without it --request-rate means poisson (gamma with --burstiness), --max-concurrency alone "
			"closed." },
	{ "request-rate", 0, OPTION_STRING, AT(rate), .argument = "RATE", .help = "Requests (sessions) a second." },
	{ "burstiness", 0, OPTION_STRING, AT(burstiness), .argument = "SHAPE",
		.help = "Shape of gamma intervals: below 1 burstier than Poisson." },
	{ "max-concurrency", 0, OPTION_STRING, AT(concurrency), .argument = "N",
		.help = "Requests open at any time; of an open loop the most." },
	{ "speed", 0, OPTION_STRING, AT(speed), .argument = "FACTOR", .help = "Times of a trace: 2 is twice as fast." },
	{ "ramp-up-strategy", 0, OPTION_CHOICE, AT(ramp), .argument = "SHAPE", .choices = ramp_choices, .preset = "linear",
		.help = "How the rate grows to --request-rate." },
	{ "ramp-up-start-rps", 0, OPTION_STRING, AT(ramp_from), .argument = "RATE", .help = "The rate at the start of the ramp." },
	{ "ramp-up-time", 0, OPTION_DURATION, AT(ramp_ms), .argument = "DURATION", .least = 1, .help = "How long the ramp is." },
	{ "num-prompts", 0, OPTION_STRING, AT(requests), .argument = "N", .help = "Requests (sessions) until it is over; 0: no end." },
	{ "seed", 0, OPTION_STRING, AT(seed), .argument = "N", .help = "Other requests and times of the same kind." },
	{ "format", 0, OPTION_CHOICE, AT(format), .argument = "FORMAT", .choices = format_choices, .preset = "as-is",
		.help = "Prompts as chats, as text completions, or as token ids (exact lengths on every model)." },
	{ "template-tokens", 0, OPTION_STRING, AT(template_tokens), .argument = "N",
		.help = "Tokens that the server's chat template adds to a message; prompts are shorter by it." },
	{ "temperature", 0, OPTION_STRING, AT(temperature), .argument = "T", .help = "Sampling temperature." },
	{ "top-p", 0, OPTION_STRING, AT(top_p), .argument = "P", .help = "Nucleus sampling." },
	{ "natural-ends", 0, OPTION_FLAG, AT(no_ignore_eos),
		.help = "Let answers end where the model ends them: ignore_eos is not sent, and output lengths are only limits." },
	{ 0 },
};
static const struct option_spec metric_options_list[] = {
	{ "window", 'w', OPTION_STRING, AT(window), .argument = "DURATION|A..B",
		.help = "Metrics: over this window, as in goodput check." },
	{ "at", 0, OPTION_STRING, AT(at), .argument = "TIME", .help = "Metrics: at this moment of the past." },
	{ "since", 0, OPTION_STRING, AT(since), .argument = "TIME", .help = "Metrics: from this time to the end." },
	{ "scope", 0, OPTION_STRING, AT(scope), .argument = "NAME", .preset = "fleet", .help = "Metrics: of this pool or target." },
	{ 0 },
};
#undef AT

static const struct option_table workload_tables[] = { { "freeze: what to keep", freeze_options_list, 0 },
	{ "freeze: the load", load_options_list, 0 }, { "freeze: from metrics", metric_options_list, 0 },
	SOURCE_TABLES(struct workload_arguments, source), GLOBAL_TABLE(struct workload_arguments), { 0 } };

/* ---- what to freeze ---- */

static bool number_option(const char *text, const char *option, double *value, struct error *e)
{
	if (!text || (number_parse(str_from(text), value) && isfinite(*value)))
		return true;
	return error_set(e, EXIT_USAGE, "--%s: \"%s\" is no number", option, text);
}

static bool whole_option(const char *text, const char *option, uint64_t most, uint64_t *value, struct error *e)
{
	int64_t parsed;

	if (!text)
		return true;
	if (!number_parse_i64(str_from(text), &parsed) || parsed < 0 || (uint64_t)parsed > most)
		return error_set(e, EXIT_USAGE, "--%s: \"%s\" is no whole number from 0 to %llu", option, text, (unsigned long long)most);
	*value = (uint64_t)parsed;
	return true;
}

static void choose_process(const struct workload_arguments *a, struct workload_arrivals *to)
{
	if (a->process)
		to->process = (enum workload_process)(a->process - 1);
	else if (a->rate)
		to->process = a->burstiness ? WORKLOAD_GAMMA : WORKLOAD_POISSON;
	else if (a->concurrency && to->process != WORKLOAD_TRACE)
		to->process = WORKLOAD_CLOSED;
}

static bool set_arrivals(const struct workload_arguments *a, struct workload_arrivals *to, struct error *e)
{
	uint64_t concurrency = to->concurrency;

	choose_process(a, to);
	if (!number_option(a->rate, "request-rate", &to->rate, e) || !number_option(a->burstiness, "burstiness", &to->burstiness, e) ||
		!number_option(a->speed, "speed", &to->speed, e) || !number_option(a->ramp_from, "ramp-up-start-rps", &to->ramp_from, e) ||
		!whole_option(a->concurrency, "max-concurrency", 1000000, &concurrency, e))
		return false;
	to->concurrency = (uint32_t)concurrency;
	if (a->burstiness && to->process != WORKLOAD_GAMMA)
		return error_set(e, EXIT_USAGE, "--burstiness is of --arrivals gamma");
	if (a->speed && to->process != WORKLOAD_TRACE)
		return error_set(e, EXIT_USAGE, "--speed is of --arrivals trace");
	if (a->ramp && !a->ramp_ms)
		return error_set(e, EXIT_USAGE, "--ramp-up-strategy needs --ramp-up-time: how long the ramp is");
	if (a->ramp_ms) {
		to->ramp_seconds = (double)a->ramp_ms / 1e3;
		to->ramp_exponential = a->ramp == 1;
	} else if (a->ramp_from) {
		return error_set(e, EXIT_USAGE, "--ramp-up-start-rps needs --ramp-up-time: how long the ramp is");
	}
	if (to->process == WORKLOAD_CLOSED || to->process == WORKLOAD_TRACE)
		to->rate = 0;
	return true;
}

static bool set_number(struct workload *w, const char *text, const char *option, const char *name, double *value, struct error *e)
{
	struct buf json;

	if (!text)
		return true;
	if (!number_option(text, option, value, e))
		return false;
	buf_init(&json, 64);
	buf_add_double(&json, *value);
	freeze_setting(w, name, buf_str(&json));
	buf_fini(&json);
	return true;
}

static bool set_sampling(struct workload *w, const struct workload_arguments *a, struct error *e)
{
	double top_p;

	if (!set_number(w, a->temperature, "temperature", "temperature", &w->temperature, e) ||
		!set_number(w, a->top_p, "top-p", "top_p", &top_p, e))
		return false;
	if (a->no_ignore_eos)
		freeze_setting(w, "ignore_eos", STR("false"));
	return true;
}

/* Everything that the options change, whatever the workload was made from. */
static bool set_load(struct workload *w, const struct workload_arguments *a, struct error *e)
{
	uint64_t template_tokens = w->template_tokens;

	if (!set_arrivals(a, &w->plan.arrivals, e) || !set_sampling(w, a, e) ||
		!whole_option(a->seed, "seed", INT64_MAX, &w->plan.seed, e) ||
		!whole_option(a->requests, "num-prompts", 1000000000000, &w->plan.requests, e) ||
		!whole_option(a->template_tokens, "template-tokens", 10000, &template_tokens, e))
		return false;
	w->template_tokens = (uint32_t)template_tokens;
	if (a->format)
		w->format = (enum workload_format)(a->format - 1);
	if (w->template_tokens && w->format != WORKLOAD_CHAT)
		return error_set(e, EXIT_USAGE, "--template-tokens is of chats");
	if (a->name)
		w->name = arena_str(&w->arena, str_from(a->name));
	if (!content_finish(w, e)) {
		if (w->plan.arrivals.process != WORKLOAD_TRACE && !a->rate && !a->concurrency)
			error_hint(e, "give --request-rate, or --max-concurrency for a closed loop");
		return false;
	}
	return true;
}

/* ---- from a trace ---- */

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static struct workload *freeze_file(const struct workload_arguments *a, struct arena *arena, const char *path, struct error *e)
{
	struct freeze_options o = { .from_us = (uint64_t)a->from_ms * 1000,
		.to_us = (uint64_t)a->to_ms * 1000,
		.limit = (size_t)a->limit,
		.prompt_most = (uint32_t)a->prompt_most,
		.output_most = (uint32_t)a->output_most,
		.drop_longer = a->over == 1,
		.spread = (enum freeze_spread)a->spread };
	struct trace trace;

	if (a->to_ms && a->to_ms <= a->from_ms) {
		error_set(e, EXIT_USAGE, "--to is not after --from");
		return NULL;
	}
	if (!whole_option(a->seed, "seed", INT64_MAX, &o.seed, e) || !trace_read(arena, path, &trace, e))
		return NULL;
	return freeze_trace(&trace, str_from(file_name(path)), &o, e);
}

/* ---- from metrics ---- */

static size_t cells_to_buckets(struct arena *arena, const struct reading *r, const struct length_bucket **buckets)
{
	struct length_bucket *b;
	size_t count = 0;

	if (r->kind != READING_CELLS)
		return 0;
	*buckets = b = ARENA_ARRAY(arena, struct length_bucket, 2 * r->cell_count);
	for (size_t i = 0; i < r->cell_count; i++) {
		const struct reading_cell *c = &r->cells[i];
		/* beyond the last bound: as long again */
		double most = isfinite(c->high) ? c->high : 2 * c->low;

		if (!(most >= 1) || most > WORKLOAD_TOKENS_MAX || (count && most <= b[count - 1].most))
			continue;
		/* empty cells before it are left out */
		if (c->low >= 1 && (!count || c->low > b[count - 1].most))
			b[count++] = (struct length_bucket){ (uint32_t)c->low, 0 };
		b[count++] = (struct length_bucket){ (uint32_t)most, c->count > 0 ? c->count : 0 };
	}
	return count;
}

static double number_of(const struct report *r, const struct scope *s, const char *signal)
{
	const struct reading *reading = report_reading(r, s, signal);

	return reading && reading->kind == READING_VALUE ? reading->low : NAN;
}

static struct workload *freeze_report(
	const struct workload_arguments *a, struct arena *arena, const struct watch *w, const char *from, struct error *e)
{
	/* counters of a saved page began at 0 with its process: that is its window */
	const struct report *r = w->lifetime_report ? w->lifetime_report : w->report;
	const struct scope *s = report_scope(r, str_from(a->scope));
	struct freeze_marginals m;

	if (!s) {
		error_set(e, EXIT_USAGE, "--scope: there is no \"%s\"", a->scope);
		error_hint(e, "goodput check --all lists pools and targets");
		return NULL;
	}
	if (s->mixed_models) {
		error_set(e, EXIT_USAGE, "%s serves several models; lengths of different models are not one mix", a->scope);
		error_hint(e, "--scope POOL freezes the load of one of them");
		return NULL;
	}
	m = (struct freeze_marginals){ .prompt_mean = number_of(r, s, "prompt_len_mean"),
		.output_mean = number_of(r, s, "output_len_mean"),
		.rate = number_of(r, s, "arrivals_per_s"),
		.cached_share = number_of(r, s, "prefix_hit_rate") };
	m.prompt_count = cells_to_buckets(arena, report_reading(r, s, "prompt_len_cells"), &m.prompt);
	m.output_count = cells_to_buckets(arena, report_reading(r, s, "output_len_cells"), &m.output);
	m.rate = isfinite(m.rate) ? m.rate : 0;
	return freeze_marginals(&m, str_from(from), e);
}

static struct workload *freeze_metrics(
	const struct workload_arguments *a, struct arena *arena, const struct option_strings *targets, struct error *e)
{
	struct workload *frozen = NULL;
	struct watch_options options;
	struct watch w;

	if (!source_to_options(&a->source, arena, targets, &options, e))
		return NULL;
	options.window = a->window;
	options.at = a->at;
	options.since = a->since;
	if (!watch_open(&w, &options, e))
		return NULL;
	if (watch_gather(&w, e) && watch_report(&w, e))
		frozen = freeze_report(a, arena, &w, targets->count ? targets->items[0] : a->source.prometheus.url, e);
	watch_close(&w);
	return frozen;
}

/* ---- freeze ---- */

enum source_kind { SOURCE_METRICS, SOURCE_TRACE, SOURCE_WORKLOAD };

/* Looks into a file: saved pages and recordings are metrics. */
static enum source_kind source_kind(const char *path)
{
	char text[SNIFF + 1];
	enum source_kind kind = SOURCE_METRICS;
	FILE *file = file_exists(path) && !file_is_folder(path) ? fopen(path, "r") : NULL;
	size_t size = file ? fread(text, 1, SNIFF, file) : 0;
	struct str start = str_trim(str_of(text, size)), line = start, rest = start;

	if (file)
		fclose(file);
	if (size)
		str_split(&rest, '\n', &line);
	if (str_search(start, STR("goodput_workload")) >= 0)
		kind = SOURCE_WORKLOAD;
	else if (str_starts(start, STR("{")) || str_starts(start, STR("[")) || str_starts(start, STR("TIMESTAMP")) ||
		 str_starts(start, STR("Timestamp")))
		kind = SOURCE_TRACE;
	else if (!str_starts(start, STR("#")) && str_find(line, ',') >= 0 && str_find(line, '{') < 0)
		kind = SOURCE_TRACE;
	return kind;
}

/* Options of another kind of source would be ignored. */
static bool options_fit(const struct workload_arguments *a, enum source_kind kind, size_t sources, struct error *e)
{
	bool of_trace = a->from_ms || a->to_ms || a->limit || a->prompt_most || a->output_most || a->spread || a->over;
	bool of_metrics = a->window || a->at || a->since || strcmp(a->scope, "fleet") != 0 || a->source.prometheus.url ||
			  a->source.fleet.targets_file;

	if (kind != SOURCE_METRICS && (sources > 1 || of_metrics))
		return error_set(e, EXIT_USAGE,
			sources > 1 ? "one trace or workload at a time"
				    : "--window, --at, --since, --scope and sources of metrics do not go with a file of requests");
	if (kind != SOURCE_TRACE && of_trace)
		return error_set(e, EXIT_USAGE, "--from, --to, --limit, --max-prompt, --max-output, --over and --spread are of traces");
	if (a->over && !a->prompt_most && !a->output_most)
		return error_set(e, EXIT_USAGE, "--over needs --max-prompt or --max-output");
	return true;
}

static struct workload *freeze(const struct workload_arguments *a, struct arena *arena, const struct option_strings *from, struct error *e)
{
	struct workload *w = NULL;
	enum source_kind kind = from->count ? source_kind(from->items[0]) : SOURCE_METRICS;

	if (!options_fit(a, kind, from->count, e))
		return NULL;
	switch (kind) {
	case SOURCE_TRACE: w = freeze_file(a, arena, from->items[0], e); break;
	case SOURCE_WORKLOAD: w = workload_read_unhashed(from->items[0], e); break;
	case SOURCE_METRICS: w = freeze_metrics(a, arena, from, e); break;
	}
	if (w && !set_load(w, a, e)) {
		workload_free(w);
		w = NULL;
	}
	return w;
}

static int freeze_print(const struct workload_arguments *a, const struct workload *w)
{
	struct error e = { 0 };
	struct buf out;
	int status;

	buf_init(&out, SIZE_MAX / 2);
	content_write(w, &out);
	if (!a->output)
		status = command_output(buf_str(&out), EXIT_FINE);
	else if (file_write(a->output, buf_str(&out), &e))
		status = workload_show(w, a->output, &a->global);
	else
		status = command_failed(&e);
	buf_fini(&out);
	return status;
}

static int freeze_run(const struct command *self, const struct workload_arguments *a, const struct option_strings *from)
{
	struct error e = { 0 };
	struct workload *w;
	struct arena arena;
	int status;

	if (!source_is_named(&a->source, from))
		return command_usage(self, "from what? A trace, a workload, a target, a recording, or --prometheus URL");
	if (a->global.json && !a->output)
		return command_usage(self, "--json describes the workload; it is written with --output FILE");
	arena_init(&arena);
	w = freeze(a, &arena, from, &e);
	status = w ? freeze_print(a, w) : command_failed(&e);
	workload_free(w);
	arena_fini(&arena);
	return status;
}

/* ---- the command ---- */

static int show_run(const struct workload_arguments *a, const char *path)
{
	struct error e = { 0 };
	struct workload *w = workload_read(path, &e);
	int status = w ? workload_show(w, path, &a->global) : command_failed(&e);

	workload_free(w);
	return status;
}

static int diff_run(const struct workload_arguments *a, const char *const *paths)
{
	struct error e = { 0 };
	struct workload *x = workload_read(paths[0], &e), *y = x ? workload_read(paths[1], &e) : NULL;
	int status = y ? workload_diff(x, y, paths, &a->global) : command_failed(&e);

	workload_free(x);
	workload_free(y);
	return status;
}

/* Options of freeze, given to show or diff. */
static bool options_given(const struct workload_arguments *a)
{
	struct workload_arguments fresh = { 0 };

	options_preset(workload_tables, &fresh);
	fresh.global = a->global;
	return memcmp(a, &fresh, sizeof fresh) != 0;
}

static int workload_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	const struct workload_arguments *a = arguments;
	const struct option_strings rest = { operands->items + 1, operands->count ? operands->count - 1 : 0, 0 };
	const char *word = operands->count ? operands->items[0] : "";

	if (!strcmp(word, "freeze"))
		return freeze_run(self, a, &rest);
	if (strcmp(word, "show") != 0 && strcmp(word, "diff") != 0)
		return command_usage(self, "the first word is freeze, show or diff");
	if (options_given(a))
		return command_usage(self, "show and diff take the common options only");
	if (!strcmp(word, "show"))
		return rest.count == 1 ? show_run(a, rest.items[0]) : command_usage(self, "show which workload? One file");
	return rest.count == 2 ? diff_run(a, rest.items) : command_usage(self, "diff which workloads? Two files");
}

static const char *const workload_words[] = { "freeze", "show", "diff", NULL };

const struct command command_workload = {
	.name = "workload",
	.summary = "freeze a load profile; show one; compare two",
	.synopsis = (const char *const[]){ "freeze [OPTIONS] TRACE|WORKLOAD|TARGET...", "freeze [OPTIONS] --prometheus URL",
		"show WORKLOAD", "diff WORKLOAD WORKLOAD", NULL },
	.description = "A workload is a file (YAML) that fixes what goodput bench sends: lengths of prompts and answers and how they go "
		       "together, shared "
		       "beginnings, turns, arrivals, sampling. The same file and seed give the same bytes on every machine; its hash names "
		       "them.\n\n"
		       "freeze makes one: from a trace (Azure's and BurstGPT's CSV, Mooncake's JSON lines, vLLM's detailed results, "
		       "ShareGPT, run records), "
		       "from metrics (a target, a recording, a saved page, a Prometheus), or from a workload whose load is changed or that "
		       "was written by hand. "
		       "What a source cannot tell, as metrics cannot tell which prompts have long answers, is written into the file.\n\n"
		       "show prints what its requests look like. diff says how far two are apart and whether results on one can be "
		       "compared with results "
		       "on the other: 0 when they can, 3 when not.",
	.examples = (const struct example[]){ { "goodput workload freeze AzureLLMInferenceTrace_conv.csv -o conv.yaml",
						      "A day's trace, with its own times." },
		{ "goodput workload freeze conv.yaml --request-rate 8 -o conv8.yaml", "The same mix at 8 requests a second, Poisson." },
		{ "goodput workload freeze conversation_trace.jsonl --spread evenly --max-prompt 30000 -o mooncake.yaml",
			"Prefix sharing and all; bursts of a coarse clock sent apart." },
		{ "goodput workload freeze --prometheus http://prom:9090 --window 1h -o live.yaml",
			"What the fleet served in the last hour." },
		{ "goodput workload diff conv.yaml live.yaml", "Is the benchmark still like the traffic?" }, { NULL, NULL } },
	.tables = workload_tables,
	.arguments_size = sizeof(struct workload_arguments),
	.operands = workload_words,
	.run = workload_run,
};
