/* A run as a page. */
#include "report/run_report.h"

#include "report/run_parts.h"

#include <math.h>

/* ---- figures ---- */

static const struct html_column figure_columns[] = { { "figure", false }, { "value", true }, { "", false } };
static const struct html_column fact_columns[] = { { "fact", false }, { "value", false }, { "", false } }; /* values may be long texts */
enum { FIGURE_COLUMNS = 3, FIGURES_MAX = 96 };

struct figures {
	struct arena *arena;
	struct str cells[FIGURES_MAX * FIGURE_COLUMNS];
	size_t count;
};

static void figure(struct figures *f, struct str name, struct str value, struct str note)
{
	if (f->count == FIGURES_MAX || !value.len)
		return;
	struct str *at = f->cells + f->count++ * FIGURE_COLUMNS;

	at[0] = name;
	at[1] = value;
	at[2] = note;
}

static void figure_count(struct figures *f, const char *name, size_t count, struct str note)
{
	figure(f, str_from(name), arena_printf(f->arena, "%zu", count), note);
}

static void limits_text(const struct slo_set *slo, struct buf *out)
{
	for (int m = 0; slo && m < SLO_MEASURES; m++)
		if (isfinite(slo->general.limit_ms[m]))
			buf_printf(out, "%s%s at most %g ms", out->len ? ", " : "", slo_measure_name((enum slo_measure)m),
				slo->general.limit_ms[m]);
	if (slo && slo->pool_count)
		buf_printf(out, "%s%zu pools with limits of their own", out->len ? "; " : "", slo->pool_count);
}

static struct str share_text(struct arena *arena, struct estimate e)
{
	if (!isfinite(e.value))
		return STR_EMPTY;
	return arena_printf(arena, "%.2f %%", 100 * e.value);
}

static struct str interval_text(struct arena *arena, struct estimate e)
{
	return isfinite(e.low) && isfinite(e.high) ? arena_printf(arena, "95 %% interval %.2f to %.2f %%", 100 * e.low, 100 * e.high)
						   : STR_EMPTY;
}

static void judged_figures(struct figures *f, const struct run_report *r)
{
	const struct tally *t = r->tally;
	struct estimate attainment = tally_attainment(t);
	struct buf limits;

	if (!r->slo || slo_set_is_empty(r->slo))
		return;
	buf_init(&limits, 4096);
	limits_text(r->slo, &limits);
	figure(f, STR("goodput"), run_number(f->arena, tally_goodput(t), "/s"), arena_str(f->arena, buf_str(&limits)));
	figure(f, STR("attainment"), share_text(f->arena, attainment), interval_text(f->arena, attainment));
	if (t->binding >= 0)
		figure(f, STR("binding limit"), str_from(slo_measure_name((enum slo_measure)t->binding)),
			arena_printf(f->arena, "missed by %zu requests", t->missed[t->binding]));
	if (isfinite(r->records->run.price_per_hour))
		figure(f, STR("cost of 1,000 good requests"),
			run_number(f->arena, tally_cost_per_1000(t, r->records->run.price_per_hour), ""), STR_EMPTY);
	buf_fini(&limits);
}

static void count_figures(struct figures *f, const struct tally *t)
{
	figure_count(f, "judged requests", t->judged,
		t->left_out ? arena_printf(f->arena, "%zu left out: warm-up, cool-down, cancelled at the end", t->left_out) : STR_EMPTY);
	figure_count(f, "complete", t->complete, STR_EMPTY);
	figure_count(f, "failed", t->failed, STR_EMPTY);
	if (t->unsent)
		figure_count(f, "due but never sent", t->unsent, STR_EMPTY);
	if (t->retried)
		figure_count(f, "retried", t->retried, arena_printf(f->arena, "%zu attempts in all", t->attempts));
	figure(f, STR("window"), run_number(f->arena, t->window_s, " s"), STR_EMPTY);
	figure(f, STR("throughput"), run_number(f->arena, tally_throughput(t), "/s"), STR("complete requests"));
	figure(f, STR("output"), run_number(f->arena, tally_output_rate(t), " tok/s"), STR("of complete requests"));
	figure(f, STR("output tokens a request"), run_number(f->arena, tally_tokens_per_request(t), ""), STR_EMPTY);
	if (t->cached_told && t->prompt_tokens)
		figure(f, STR("prompt tokens from the cache"),
			arena_printf(f->arena, "%.1f %%", 100 * (double)t->cached_tokens / (double)t->prompt_tokens), STR_EMPTY);
	if (t->stalls)
		figure_count(f, "stalls", t->stalls, arena_printf(f->arena, "in %zu requests", t->stalled_requests));
	if (t->evaluated)
		figure(f, STR("evaluation"), arena_printf(f->arena, "%zu of %zu", t->evaluation_passed, t->evaluated), STR("passed"));
}

static void run_figures(struct figures *f, const struct records_run *run)
{
	figure(f, STR("target"), run->target, STR_EMPTY);
	figure(f, STR("workload"), run->workload_name.len ? run->workload_name : str_head(run->workload, 16),
		run->workload_name.len ? str_head(run->workload, 16) : STR_EMPTY);
	figure(f, STR("asked rate"), run_number(f->arena, run->rate, "/s"), STR_EMPTY);
	if (run->concurrency != TIMELINE_UNKNOWN)
		figure_count(f, "asked concurrency", run->concurrency, STR_EMPTY);
	figure(f, STR("client lag P99"), run_ms(f->arena, run->client_lag_p99_ms), STR("from the kernel's stamp to handling"));
	figure(f, STR("schedule delay P99"), run_ms(f->arena, run->schedule_delay_p99_ms), STR("the client's own fault"));
	for (size_t i = 0; i < run->fact_count; i++)
		figure(f, run->facts[i].name, run->facts[i].value, STR_EMPTY);
}

static void section_figures(struct buf *out, struct arena *arena, const struct run_report *r)
{
	struct figures *f = arena_alloc(arena, sizeof *f);

	f->arena = arena;
	f->count = 0;
	judged_figures(f, r);
	count_figures(f, r->tally);
	html_section_open(out, STR("Figures"));
	html_table(out, &(struct html_table){
				.columns = figure_columns, .column_count = FIGURE_COLUMNS, .cells = f->cells, .row_count = f->count });
	html_section_close(out);
	f->count = 0;
	run_figures(f, &r->records->run);
	for (size_t i = 0; i < r->fact_count; i++)
		figure(f, r->facts[i].name, r->facts[i].value, STR_EMPTY);
	if (!f->count)
		return;
	html_section_open(out, STR("The run"));
	html_table(out,
		&(struct html_table){ .columns = fact_columns, .column_count = FIGURE_COLUMNS, .cells = f->cells, .row_count = f->count });
	html_section_close(out);
}

/* ---- groups and errors ---- */

static void section_groups(struct buf *out, struct arena *arena, const struct run_report *r)
{
	static const struct html_column columns[] = { { "group", false }, { "requests", true }, { "failed", true }, { "good", true },
		{ "TTFT P50", true }, { "TTFT P99", true }, { "TPOT P50", true }, { "TPOT P99", true } };
	enum { COLUMNS = sizeof columns / sizeof *columns };
	struct str *cells = ARENA_ARRAY(arena, struct str, r->group_count * COLUMNS + 1), *at = cells;

	if (!r->group_count)
		return;
	for (size_t i = 0; i < r->group_count; i++, at += COLUMNS) {
		const struct tally *t = &r->groups[i];
		enum tally_figure ttft = t->figures[TALLY_TTFT_DUE].v.count ? TALLY_TTFT_DUE : TALLY_TTFT;

		at[0] = t->name;
		at[1] = arena_printf(arena, "%zu", t->judged);
		at[2] = arena_printf(arena, "%zu", t->failed);
		at[3] = share_text(arena, tally_attainment(t));
		at[4] = run_ms(arena, tally_figure(t, ttft, 0.5, 0.95).value);
		at[5] = run_ms(arena, tally_figure(t, ttft, 0.99, 0.95).value);
		at[6] = run_ms(arena, tally_figure(t, TALLY_TPOT, 0.5, 0.95).value);
		at[7] = run_ms(arena, tally_figure(t, TALLY_TPOT, 0.99, 0.95).value);
	}
	html_section_open(out, STR("Groups"));
	html_table(out, &(struct html_table){ .columns = columns, .column_count = COLUMNS, .cells = cells, .row_count = r->group_count });
	html_section_close(out);
}

static void section_errors(struct buf *out, struct arena *arena, const struct run_report *r)
{
	static const struct html_column columns[] = { { "error", false }, { "requests", true }, { "status", true }, { "example", false },
		{ "what it means", false } };
	enum { COLUMNS = sizeof columns / sizeof *columns };
	size_t count = r->tally->errors.count;
	struct str *cells = ARENA_ARRAY(arena, struct str, count * COLUMNS + 1), *at = cells;

	if (!count)
		return;
	VEC_EACH (&r->tally->errors, e) {
		at[0] = str_from(timeline_error_name(e->error));
		at[1] = arena_printf(arena, "%zu", e->count);
		at[2] = e->http_status ? arena_printf(arena, "%u", e->http_status) : STR_EMPTY;
		at[3] = str_from(e->example);
		at[4] = str_from(timeline_error_hint(e->error, e->http_status));
		at += COLUMNS;
	}
	html_section_open(out, STR("Failures"));
	html_table(out, &(struct html_table){ .columns = columns, .column_count = COLUMNS, .cells = cells, .row_count = count });
	html_section_close(out);
}

/* ---- the page ---- */

void run_report_html(struct buf *out, const struct run_report *r)
{
	struct arena arena;

	arena_init(&arena);
	html_open(out, r->title, r->subtitle);
	if (r->verdict.len)
		html_verdict(out, r->tone, r->verdict);
	else if (r->records->run.client_bound)
		html_verdict(out, HTML_BAD,
			arena_printf(&arena, "The client was the bottleneck, so these are not the server's figures: " STR_FMT,
				STR_ARG(r->records->run.client_reason)));
	else if (r->records->run.partial)
		html_verdict(out, HTML_WARNING, STR("Partial: the run was interrupted."));
	section_errors(out, &arena, r);
	section_figures(out, &arena, r);
	run_charts_over_time(out, &arena, r);
	run_charts_distributions(out, &arena, r);
	section_groups(out, &arena, r);
	run_charts_worst(out, &arena, r);
	html_close(out);
	arena_fini(&arena);
}
