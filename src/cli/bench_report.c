#include "cli/bench_report.h"
#include "base/log.h"
#include "base/number.h"
#include "cli/tally_render.h"

#include <math.h>

struct report {
	const struct bench_report_options *options;
	struct arena arena;
	struct records records;
	struct slo_set slo;
	struct tally_options tally;
	struct tally all;
	enum tally_key keys[TALLY_KEYS];
	size_t key_count;
	double price;
};

/* ---- reading ---- */

static bool read_objectives(struct report *r, struct error *e)
{
	const struct bench_report_options *o = r->options;

	slo_set_init(&r->slo);
	for (size_t i = 0; i < o->objectives->count; i++)
		if (!slo_set_parse(&r->slo, str_from(o->objectives->items[i]), e))
			return false;
	for (size_t i = 1; i < o->operands->count; i++)
		if (slo_is_objective(str_from(o->operands->items[i])) && !slo_set_parse(&r->slo, str_from(o->operands->items[i]), e))
			return false;
	return true;
}

static bool read_keys(struct report *r, struct error *e)
{
	const struct option_strings *by = r->options->by;

	for (size_t i = 0; i < by->count; i++) {
		struct str rest = str_from(by->items[i]), name;

		while (str_split(&rest, ',', &name)) {
			if (r->key_count == TALLY_KEYS || !tally_key_find(str_trim(name), &r->keys[r->key_count])) {
				error_set(e, EXIT_USAGE, "--by " STR_FMT ": no such key, or too many", STR_ARG(name));
				error_hint(e, "model, tenant, pool, group, prompt (bands of its length), temperature");
				return false;
			}
			r->key_count++;
		}
	}
	return true;
}

/* Several files are one run in pieces: their requests are put together, the window is the first file's or all of theirs. */
static bool read_files(struct report *r, struct error *e)
{
	const struct option_strings *operands = r->options->operands;
	size_t files = 0;

	records_init(&r->records);
	for (size_t i = 1; i < operands->count; i++)
		if (!slo_is_objective(str_from(operands->items[i]))) {
			if (!records_load(&r->records, &r->arena, operands->items[i], e))
				return false;
			files++;
		}
	return files || error_set(e, EXIT_USAGE, "bench report: no file to read");
}

/* A limit that no record can be judged by would pass or miss everything. */
static bool check_judgeable(const struct report *r, struct error *e)
{
	bool has[SLO_MEASURES] = { false };

	VEC_EACH (&r->records.requests, t) {
		has[SLO_TTFT] |= t->first_output_ns != TIMELINE_NEVER;
		has[SLO_TPOT] |= t->output_tokens != TIMELINE_UNKNOWN && t->last_output_ns != TIMELINE_NEVER;
		has[SLO_E2E] |= t->completed_ns != TIMELINE_NEVER;
		has[SLO_STALL] |= t->deliveries.count > 1;
	}
	for (int m = 0; m < SLO_MEASURES; m++) {
		bool asked = !isnan(r->slo.general.limit_ms[m]);

		for (size_t i = 0; i < r->slo.pool_count; i++)
			asked |= !isnan(r->slo.pools[i].limit_ms[m]);
		if (asked && !has[m] && r->all.complete) {
			error_set(e, EXIT_BAD_INPUT, "no request can be judged by %s: the records do not tell it",
				slo_measure_name((enum slo_measure)m));
			error_hint(e, "tpot needs output_tokens; stall needs deliveries, which tables have not");
			return false;
		}
	}
	return true;
}

static bool open_report(struct report *r, struct error *e)
{
	r->price = NAN;
	if (r->options->price && (!number_parse(str_from(r->options->price), &r->price) || !(r->price > 0)))
		return error_set(e, EXIT_USAGE, "--price %s: an amount of money per hour is wanted", r->options->price);
	if (!read_objectives(r, e) || !read_keys(r, e) || !read_files(r, e))
		return false;
	if (isnan(r->price))
		r->price = r->records.run.price_per_hour;
	r->tally = (struct tally_options){ .slo = &r->slo, .window_s = r->options->window_ms ? (double)r->options->window_ms / 1000 : NAN };
	tally_records(&r->all, &r->records, &r->tally);
	return check_judgeable(r, e);
}

static void close_report(struct report *r)
{
	tally_fini(&r->all);
	records_fini(&r->records);
	arena_fini(&r->arena);
}

/* ---- printing ---- */

/* Why a request has no TPOT. */
static const char *tpot_missing(const struct timeline *t)
{
	if (t->first_output_ns == TIMELINE_NEVER)
		return "no output";
	if (t->notes & TIMELINE_SEVERAL_CHOICES)
		return "several choices";
	if (t->output_tokens == TIMELINE_UNKNOWN)
		return "output tokens not told";
	return t->output_tokens < 2 ? "fewer than two output tokens" : "no time of the last output";
}

static void value_json(struct json *j, const char *key, double value, const char *missing)
{
	json_open(j, key, '{');
	if (isnan(value))
		json_text(j, "unknown", str_from(missing));
	else
		json_number(j, "value", value);
	json_close(j, '}');
}

static void request_json(struct json *j, const struct report *r, const struct timeline *t)
{
	static const char *const verdicts[] = { "left_out", "good", "missed", "failed" };
	struct slo_judgement judged = slo_judge(slo_of(&r->slo, t->pool), t);

	json_open(j, NULL, '{');
	json_integer(j, "id", (int64_t)t->id);
	json_text(j, "verdict", str_from(verdicts[judged.verdict]));
	json_text(j, "outcome", str_from(timeline_outcome_name(t->outcome)));
	if (t->error != TIMELINE_NO_ERROR)
		json_text(j, "error", str_from(timeline_error_name(t->error)));
	value_json(j, "ttft_ms", timeline_ttft_ms(t), "no output");
	value_json(j, "tpot_ms", timeline_tpot_ms(t), tpot_missing(t));
	value_json(j, "e2e_ms", timeline_e2e_ms(t), "not completed");
	json_open(j, "missed", '[');
	for (int m = 0; m < SLO_MEASURES; m++)
		if (judged.missed >> m & 1)
			json_text(j, NULL, str_from(slo_measure_name((enum slo_measure)m)));
	json_close(j, ']');
	if (judged.binding >= 0)
		json_text(j, "binding", str_from(slo_measure_name((enum slo_measure)judged.binding)));
	json_close(j, '}');
}

static void limits_json(struct json *j, const char *key, const struct slo *s)
{
	json_open(j, key, '{');
	for (int m = 0; m < SLO_MEASURES; m++)
		if (!isnan(s->limit_ms[m]))
			json_number(j, slo_measure_name((enum slo_measure)m), s->limit_ms[m]);
	json_close(j, '}');
}

static void groups_json(struct json *j, struct report *r)
{
	json_open(j, "groups", '{');
	for (size_t k = 0; k < r->key_count; k++) {
		struct tallies groups;

		tallies_by(&groups, &r->arena, &r->records, r->keys[k], &r->tally);
		json_open(j, tally_key_name(r->keys[k]), '[');
		VEC_EACH (&groups.items, t) {
			json_open(j, NULL, '{');
			json_text(j, "name", t->name);
			tally_json(j, t, NAN);
			json_close(j, '}');
		}
		json_close(j, ']');
		tallies_fini(&groups);
	}
	json_close(j, '}');
}

static void report_json(struct report *r, struct buf *out)
{
	struct json j = { .out = out };

	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR("goodput.bench.report/1"));
	json_text_if(&j, "label", r->records.run.label);
	limits_json(&j, "objectives_ms", &r->slo.general);
	for (size_t i = 0; i < r->slo.pool_count; i++) {
		char *pool = arena_cstr(&r->arena, arena_printf(&r->arena, "objectives_ms/" STR_FMT, STR_ARG(r->slo.pool[i])));

		limits_json(&j, pool, &r->slo.pools[i]);
	}
	json_true_if(&j, "partial", r->records.run.partial || r->records.cut_bytes);
	json_true_if(&j, "client_bound", r->records.run.client_bound);
	tally_json(&j, &r->all, r->price);
	if (r->key_count)
		groups_json(&j, r);
	if (r->options->each) {
		json_open(&j, "each", '[');
		VEC_EACH (&r->records.requests, t)
			request_json(&j, r, t);
		json_close(&j, ']');
	}
	json_close(&j, '}');
	buf_add_c(out, '\n');
}

static void groups_page(struct page *p, struct report *r, enum tally_key key)
{
	struct tallies groups;

	tallies_by(&groups, &r->arena, &r->records, key, &r->tally);
	page_gap(p);
	page_print(p, STYLE_BOLD, "By %s", tally_key_name(key));
	page_line(p);
	page_print(p, STYLE_DIM, "  %-22s %7s %7s %7s %9s %9s %9s", "", "judged", "good %", "failed", "ttft p99", "tpot p99", "e2e p99");
	page_line(p);
	VEC_EACH (&groups.items, t) {
		char numbers[3][32], good[32];
		static const enum tally_figure shown[] = { TALLY_TTFT, TALLY_TPOT, TALLY_E2E };

		for (int i = 0; i < 3; i++)
			number_phrase(tally_figure(t, shown[i], 0.99, 0.95).value, numbers[i]);
		number_phrase(tally_attainment(t).value * 100, good);
		page_print(p, STYLE_PLAIN, "  %-22.*s %7zu %7s %7zu %9s %9s %9s", (int)t->name.len, t->name.ptr, t->judged, good, t->failed,
			numbers[0], numbers[1], numbers[2]);
		page_line(p);
	}
	tallies_fini(&groups);
}

static void each_page(struct page *p, const struct report *r)
{
	static const char *const verdicts[] = { "left out", "good", "missed", "failed" };

	page_gap(p);
	page_print(p, STYLE_BOLD, "%10s  %-9s %9s %9s %9s  %s", "request", "verdict", "ttft", "tpot", "e2e", "");
	page_line(p);
	VEC_EACH (&r->records.requests, t) {
		struct slo_judgement judged = slo_judge(slo_of(&r->slo, t->pool), t);
		char numbers[3][32];

		number_phrase(timeline_ttft_ms(t), numbers[0]);
		number_phrase(timeline_tpot_ms(t), numbers[1]);
		number_phrase(timeline_e2e_ms(t), numbers[2]);
		page_print(p, STYLE_PLAIN, "%10llu  %-9s %9s %9s %9s  ", (unsigned long long)t->id, verdicts[judged.verdict], numbers[0],
			numbers[1], numbers[2]);
		if (t->error != TIMELINE_NO_ERROR)
			page_print(p, STYLE_PLAIN, "%s", timeline_error_name(t->error));
		for (int m = 0; m < SLO_MEASURES; m++)
			if (judged.missed >> m & 1)
				page_print(p, STYLE_PLAIN, "%s ", slo_measure_name((enum slo_measure)m));
		page_line(p);
	}
}

static void report_page(struct page *p, struct report *r)
{
	char window[32];

	number_phrase(r->all.window_s, window);
	page_print(p, STYLE_PLAIN, "%zu requests, %zu judged", r->all.total, r->all.judged);
	if (r->all.left_out)
		page_print(p, STYLE_PLAIN, " (left out: %zu cancelled by the run, %zu of the warm-up)", r->all.cancelled,
			r->all.left_out - r->all.cancelled);
	page_print(p, STYLE_PLAIN, ", window %s s", window);
	page_line(p);
	if (r->records.run.client_bound) {
		struct buf text;

		buf_init(&text, 4096);
		buf_printf(&text, "it was the bottleneck of this run, whose figures are not the server's: " STR_FMT,
			STR_ARG(r->records.run.client_reason));
		page_field(p, "CLIENT", STYLE_WARNING, 12, buf_str(&text));
		buf_fini(&text);
	}
	if (r->records.run.partial || r->records.cut_bytes) {
		page_print(p, STYLE_WARNING, "Partial: the run was stopped.");
		page_line(p);
	}
	page_gap(p);
	if (r->all.errors.count) {
		page_print(p, STYLE_BOLD, "Errors");
		page_line(p);
		tally_page_errors(p, &r->all);
		page_gap(p);
	}
	tally_page(p, &r->all, !slo_set_is_empty(&r->slo), r->price);
	page_gap(p);
	tally_page_figures(p, &r->all);
	for (size_t k = 0; k < r->key_count; k++)
		groups_page(p, r, r->keys[k]);
	if (r->options->each)
		each_page(p, r);
}

static int report_status(const struct report *r)
{
	if (!r->all.judged)
		return EXIT_UNKNOWN;
	return !slo_set_is_empty(&r->slo) && !r->all.good ? EXIT_CRITICAL : EXIT_FINE;
}

static int print_report(struct report *r)
{
	struct page p;
	int status = report_status(r);

	page_init(&p, (enum color_when)r->options->global->color);
	if (r->options->global->json)
		report_json(r, &p.out);
	else
		report_page(&p, r);
	status = r->options->global->json ? page_output_document(&p, status) : page_output(&p, status);
	page_fini(&p);
	return status;
}

int bench_report(const struct command *self, const struct bench_report_options *o)
{
	struct report r = { .options = o };
	struct error e = { 0 };
	int status;

	if (o->operands->count < 2)
		return command_usage(self, "report: a file of records is missing");
	arena_init(&r.arena);
	tally_init(&r.all);
	status = open_report(&r, &e) ? print_report(&r) : command_failed(&e);
	close_report(&r);
	return status;
}
