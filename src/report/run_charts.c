/* The charts of a run. */
#include "report/run_parts.h"

#include <math.h>

enum { CDF_POINTS = 400, TABLE_ROWS = 60, PERCENTILES = 5 };

static const double percentiles[PERCENTILES] = { 0.5, 0.9, 0.95, 0.99, 0.999 };
static const char *const percentile_names[PERCENTILES] = { "P50", "P90", "P95", "P99", "P99.9" };

struct str run_number(struct arena *arena, double value, const char *unit)
{
	return isfinite(value) ? arena_printf(arena, "%.4g%s", value, unit) : STR_EMPTY;
}

struct str run_ms(struct arena *arena, double ms)
{
	if (!isfinite(ms))
		return STR_EMPTY;
	if (ms >= 10000)
		return arena_printf(arena, "%.1f s", ms / 1000);
	return ms >= 1000 ? arena_printf(arena, "%.2f s", ms / 1000) : arena_printf(arena, "%.3g ms", ms);
}

/* ---- over time ---- */

/* Rows of the table beside a chart over time: every so many buckets, as means. */
static void rates_table(struct arena *arena, const struct run_rates *rates, double *const *values, size_t count, struct html_table *t)
{
	size_t each = rates->buckets / TABLE_ROWS + 1, rows = (rates->buckets + each - 1) / each;
	struct str *cells = ARENA_ARRAY(arena, struct str, rows * (count + 1)), *at = cells;

	for (size_t row = 0; row < rows; row++) {
		size_t from = row * each, to = from + each < rates->buckets ? from + each : rates->buckets;

		*at++ = run_number(arena, rates->start_s[from], "");
		for (size_t k = 0; k < count; k++) {
			double sum = 0;

			for (size_t i = from; i < to; i++)
				sum += values[k][i];
			*at++ = run_number(arena, sum / (double)(to - from), "");
		}
	}
	t->cells = cells;
	t->row_count = rows;
	t->column_count = count + 1;
}

static void chart_requests(struct buf *out, struct arena *arena, const struct run_rates *rates, bool judged)
{
	static const struct html_column columns[] = { { "from, s", true }, { "due/s", true }, { "complete/s", true }, { "good/s", true } };
	double *const values[] = { rates->due, rates->complete, rates->good };
	struct html_series series[] = { { .name = STR("due"), .y = rates->due }, { .name = STR("complete"), .y = rates->complete },
		{ .name = STR("good"), .y = rates->good } };
	struct html_table table = { .columns = columns };
	size_t count = judged ? 3 : 2;

	for (size_t i = 0; i < count; i++) {
		series[i].x = rates->start_s;
		series[i].count = rates->buckets;
		series[i].steps = true;
	}
	rates_table(arena, rates, values, count, &table);
	html_chart(out, &(struct html_chart){ .title = judged ? STR("Goodput over time") : STR("Requests over time"),
				.note = arena_printf(arena, "requests a second in steps of %g s%s", rates->step_s,
					judged ? "; good: met every limit" : ""),
				.x = { .label = STR("seconds of the window"), .from = NAN, .to = NAN },
				.y = { .label = STR("requests/s"), .from = NAN, .to = NAN },
				.series = series,
				.series_count = count,
				.table = &table });
}

static void chart_tokens(struct buf *out, struct arena *arena, const struct run_rates *rates, bool told)
{
	static const struct html_column columns[] = { { "from, s", true }, { "per second", true } };
	double *const values[] = { rates->tokens };
	const struct html_series series = {
		.name = STR("delivered"), .x = rates->start_s, .y = rates->tokens, .count = rates->buckets, .steps = true
	};
	struct html_table table = { .columns = columns };

	rates_table(arena, rates, values, 1, &table);
	html_chart(out, &(struct html_chart){ .title = told ? STR("Tokens delivered over time") : STR("Events delivered over time"),
				.note = arena_printf(arena, "by the time at which they arrived, in steps of %g s", rates->step_s),
				.x = { .label = STR("seconds of the window"), .from = NAN, .to = NAN },
				.y = { .label = told ? STR("tokens/s") : STR("events/s"), .from = NAN, .to = NAN },
				.series = &series,
				.series_count = 1,
				.table = &table });
}

static bool tokens_told(const struct records *r)
{
	VEC_EACH (&r->requests, t) {
		if (t->deliveries.count && !(t->notes & TIMELINE_DELIVERY_TOKENS))
			return false;
	}
	return true;
}

void run_charts_over_time(struct buf *out, struct arena *arena, const struct run_report *r)
{
	struct run_rates rates;

	run_rates_make(arena, r->records, r->slo, &rates);
	if (!rates.buckets)
		return;
	html_section_open(out, STR("Over time"));
	html_charts_open(out);
	chart_requests(out, arena, &rates, r->slo && !slo_set_is_empty(r->slo));
	chart_tokens(out, arena, &rates, tokens_told(r->records));
	html_charts_close(out);
	html_section_close(out);
}

/* ---- distributions ---- */

/* All values, or so many of them that the curve is the same to the eye. */
static void cdf_series(struct arena *arena, const struct tally_values *v, struct str name, struct html_series *s)
{
	size_t n = v->v.count, points = n < CDF_POINTS ? n : CDF_POINTS;
	double *x = ARENA_ARRAY(arena, double, points + 1), *y = ARENA_ARRAY(arena, double, points + 1);

	for (size_t i = 0; i < points; i++) {
		size_t at = points == n ? i : (size_t)((double)i / (double)(points - 1) * (double)(n - 1));

		x[i] = v->v.items[at];
		y[i] = 100 * (double)(at + 1) / (double)n;
	}
	*s = (struct html_series){ .name = name, .x = x, .y = y, .count = points, .steps = true };
}

static void percentile_table(struct arena *arena, const struct tally *t, enum tally_figure f, struct html_table *table)
{
	static const struct html_column columns[] = { { "", false }, { "value", true }, { "at least", true }, { "at most", true } };
	struct str *cells = ARENA_ARRAY(arena, struct str, (PERCENTILES + 1) * 4), *at = cells;

	for (size_t i = 0; i <= PERCENTILES; i++) {
		struct estimate e = i ? tally_figure(t, f, percentiles[i - 1], 0.95) : tally_mean(t, f);

		*at++ = str_from(i ? percentile_names[i - 1] : "mean");
		*at++ = run_ms(arena, e.value);
		*at++ = run_ms(arena, e.low);
		*at++ = run_ms(arena, e.high);
	}
	*table = (struct html_table){ .caption = arena_printf(
					      arena, "n = %zu; 95 %% intervals, empty where this n gives no bound", t->figures[f].v.count),
		.columns = columns,
		.column_count = 4,
		.cells = cells,
		.row_count = PERCENTILES + 1 };
}

static const struct distribution {
	enum tally_figure due, sent; /* from the intended time; from submission */
	enum slo_measure limit;      /* SLO_MEASURES: none */
	const char *title, *note, *axis;
} distributions[] = {
	{ TALLY_TTFT_DUE, TALLY_TTFT, SLO_TTFT, "Time to first token", "to the first visible output", "TTFT, ms" },
	{ TALLY_TPOT, TALLY_TPOT, SLO_TPOT, "Time per output token", "(last - first output) / (tokens - 1), one a request", "TPOT, ms" },
	{ TALLY_E2E_DUE, TALLY_E2E, SLO_E2E, "Whole request", "to the end of the answer", "E2E, ms" },
	{ TALLY_GAP, TALLY_GAP, SLO_MEASURES, "Gaps between deliveries", "pooled over requests; an event can hold several tokens",
		"gap, ms" },
};

static void chart_distribution(struct buf *out, struct arena *arena, const struct run_report *r, const struct distribution *d)
{
	const struct tally_values *figures = r->tally->figures;
	bool due = figures[d->due].v.count > 0;
	struct html_series series[2];
	struct html_table table;
	struct html_mark mark;
	double limit = r->slo && d->limit != SLO_MEASURES ? r->slo->general.limit_ms[d->limit] : NAN;
	size_t count = 0;

	if (!figures[d->sent].v.count)
		return;
	if (due && d->due != d->sent)
		cdf_series(arena, &figures[d->due], STR("from the due time"), &series[count++]);
	cdf_series(arena, &figures[d->sent], STR("from submission"), &series[count++]);
	percentile_table(arena, r->tally, due ? d->due : d->sent, &table);
	mark = (struct html_mark){ .label = arena_printf(arena, "limit %g ms", limit), .at = limit, .vertical = true };
	html_chart(out, &(struct html_chart){ .title = str_from(d->title),
				.note = str_from(d->note),
				.x = { .label = str_from(d->axis), .log = true, .from = NAN, .to = NAN },
				.y = { .label = d->limit == SLO_MEASURES ? STR("% of gaps at or below") : STR("% of requests at or below"),
					.from = 0,
					.to = 100 },
				.series = series,
				.series_count = count,
				.marks = &mark,
				.mark_count = isfinite(limit),
				.table = &table });
}

void run_charts_distributions(struct buf *out, struct arena *arena, const struct run_report *r)
{
	if (!r->tally->complete)
		return;
	html_section_open(out, STR("Distributions"));
	html_paragraph(out,
		STR("Of completed requests. Percentiles interpolate linearly between order statistics; intervals assume no distribution."));
	html_charts_open(out);
	for (size_t i = 0; i < ARRAY_LEN(distributions); i++)
		chart_distribution(out, arena, r, &distributions[i]);
	html_charts_close(out);
	html_section_close(out);
}

/* ---- the worst ---- */

static double ms_of(int64_t t_ns)
{
	return t_ns == TIMELINE_NEVER ? NAN : (double)t_ns / 1e6;
}

static struct str what_was_wrong(struct arena *arena, const struct timeline *t)
{
	double ttft = timeline_ttft_due_ms(t);

	if (t->outcome == TIMELINE_ERROR)
		return str_from(timeline_error_name(t->error));
	if (t->outcome == TIMELINE_CANCELLED)
		return STR("cancelled");
	return isfinite(ttft) ? arena_printf(arena, "TTFT " STR_FMT, STR_ARG(run_ms(arena, ttft))) : STR_EMPTY;
}

static void timeline_line(struct arena *arena, const struct timeline *t, struct html_timeline *line)
{
	struct delivery_cursor cursor = deliveries_begin(&t->deliveries);
	double *times = ARENA_ARRAY(arena, double, t->deliveries.count + 1);
	uint32_t *tokens = ARENA_ARRAY(arena, uint32_t, t->deliveries.count + 1);
	struct delivery d;
	size_t n = 0;

	while (n < t->deliveries.count && deliveries_next(&cursor, &d)) {
		times[n] = (double)d.t_ns / 1e6;
		tokens[n++] = d.tokens;
	}
	*line = (struct html_timeline){ .label = t->output_tokens == TIMELINE_UNKNOWN
							 ? arena_printf(arena, "#%llu", (unsigned long long)t->id)
							 : arena_printf(
								   arena, "#%llu, %u tokens", (unsigned long long)t->id, t->output_tokens),
		.note = what_was_wrong(arena, t),
		.due_ms = ms_of(t->intended_ns),
		.submitted_ms = ms_of(t->submitted_ns),
		.end_ms = ms_of(t->completed_ns != TIMELINE_NEVER ? t->completed_ns : t->closed_ns),
		.delivery_ms = times,
		.tokens = tokens,
		.delivery_count = n,
		.failed = !timeline_is_complete(t) };
}

static void worst_table(struct arena *arena, const struct run_report *r, struct html_table *table)
{
	static const struct html_column columns[] = { { "request", false }, { "due at, s", true }, { "TTFT", true }, { "TPOT", true },
		{ "E2E", true }, { "prompt", true }, { "output", true }, { "end", false } };
	enum { COLUMNS = sizeof columns / sizeof *columns };
	struct str *cells = ARENA_ARRAY(arena, struct str, r->worst_count * COLUMNS), *at = cells;

	for (size_t i = 0; i < r->worst_count; i++, at += COLUMNS) {
		const struct timeline *t = &r->records->requests.items[r->worst[i]];
		double due = ms_of(t->intended_ns != TIMELINE_NEVER ? t->intended_ns : t->submitted_ns);

		at[0] = t->request_id.len ? t->request_id : arena_printf(arena, "#%llu", (unsigned long long)t->id);
		at[1] = run_number(arena, due / 1000, "");
		at[2] = run_ms(arena, timeline_ttft_due_ms(t));
		at[3] = run_ms(arena, timeline_tpot_ms(t));
		at[4] = run_ms(arena, timeline_e2e_due_ms(t));
		at[5] = t->prompt_tokens == TIMELINE_UNKNOWN ? STR_EMPTY : arena_printf(arena, "%u", t->prompt_tokens);
		at[6] = t->output_tokens == TIMELINE_UNKNOWN ? STR_EMPTY : arena_printf(arena, "%u", t->output_tokens);
		at[7] = t->outcome == TIMELINE_ERROR ? str_from(*t->message ? t->message : timeline_error_name(t->error))
			: *t->finish                 ? str_from(t->finish)
						     : str_from(timeline_outcome_name(t->outcome));
	}
	*table = (struct html_table){ .columns = columns, .column_count = COLUMNS, .cells = cells, .row_count = r->worst_count };
}

void run_charts_worst(struct buf *out, struct arena *arena, const struct run_report *r)
{
	struct html_timeline *lines = ARENA_ARRAY(arena, struct html_timeline, r->worst_count + 1);
	struct html_table table;
	size_t count = 0;

	if (!r->worst_count)
		return;
	for (size_t i = 0; i < r->worst_count; i++) {
		const struct timeline *t = &r->records->requests.items[r->worst[i]];

		if (t->submitted_ns != TIMELINE_NEVER)
			timeline_line(arena, t, &lines[count++]);
	}
	worst_table(arena, r, &table);
	html_section_open(out, STR("The worst requests"));
	html_timelines(out, STR("Token timelines"),
		STR("Thick: waiting, from the due time to the first output; the short bar is the moment of sending. Each stroke is a "
		    "delivery, a longer "
		    "one has several tokens. A cross is a failure."),
		lines, count, &table);
	html_section_close(out);
}
