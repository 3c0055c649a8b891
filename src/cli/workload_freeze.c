/* goodput workload freeze: from traces, metrics and other workloads. */
#include "cli/workload_freeze.h"

#include "base/file.h"
#include "base/number.h"
#include "workload/freeze.h"

#include <math.h>
#include <stdio.h>

enum { SNIFF = 4096 };

/* ---- options of the load ---- */

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
	if (watch_gather(&w, e) && !source_tell_silent(&w))
		error_set(e, EXIT_UNREACHABLE, "no target gave metrics: there is nothing to freeze");
	else if (!e->set && watch_report(&w, e))
		frozen = freeze_report(a, arena, &w, targets->count ? targets->items[0] : a->source.prometheus.url, e);
	watch_close(&w);
	return frozen;
}

/* ---- which of them ---- */

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

struct workload *workload_freeze(
	const struct workload_arguments *a, struct arena *arena, const struct option_strings *from, struct error *e)
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
