#include "cli/tally_render.h"

#include <math.h>

static const struct {
	const char *name;
	double q;
} percentiles[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p95", 0.95 }, { "p99", 0.99 } };
enum { PERCENTILES = sizeof percentiles / sizeof *percentiles };

/* ---- for scripts ---- */

static void number_or_null(struct json *j, const char *key, double value)
{
	if (isfinite(value))
		json_number(j, key, value);
	else
		json_null(j, key);
}

static void figures_json(struct json *j, const struct tally *t)
{
	json_open(j, "figures", '{');
	for (int f = 0; f < TALLY_FIGURES; f++) {
		if (!t->figures[f].v.count)
			continue;
		json_open(j, tally_figure_name((enum tally_figure)f), '{');
		json_text(j, "unit", str_from(tally_figure_unit((enum tally_figure)f)));
		json_integer(j, "n", (int64_t)t->figures[f].v.count);
		json_number(j, "mean", t->figures[f].sum / (double)t->figures[f].v.count);
		for (int i = 0; i < PERCENTILES; i++) {
			struct estimate e = tally_figure(t, (enum tally_figure)f, percentiles[i].q, 0.95);

			estimate_json(j, percentiles[i].name, &e);
		}
		json_close(j, '}');
	}
	json_close(j, '}');
}

static void errors_json(struct json *j, const struct tally *t)
{
	json_open(j, "errors", '[');
	VEC_EACH (&t->errors, e) {
		json_open(j, NULL, '{');
		json_text(j, "class", str_from(timeline_error_name(e->error)));
		if (e->http_status)
			json_integer(j, "status", e->http_status);
		json_integer(j, "count", (int64_t)e->count);
		json_integer(j, "example_id", (int64_t)e->example_id);
		json_text_if(j, "example", str_from(e->example));
		json_text(j, "hint", str_from(timeline_error_hint(e->error, e->http_status)));
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void missed_json(struct json *j, const struct tally *t)
{
	json_open(j, "missed", '{');
	for (int m = 0; m < SLO_MEASURES; m++)
		json_integer(j, slo_measure_name((enum slo_measure)m), (int64_t)t->missed[m]);
	json_integer(j, "failed", (int64_t)(t->failed + t->unsent));
	json_close(j, '}');
	if (t->binding >= 0)
		json_text(j, "binding", str_from(slo_measure_name((enum slo_measure)t->binding)));
	else
		json_null(j, "binding");
	json_integer(j, "tpot_undefined", (int64_t)t->tpot_undefined);
}

static void tokens_json(struct json *j, const struct tally *t)
{
	json_open(j, "tokens", '{');
	json_integer(j, "output", (int64_t)t->output_tokens);
	json_integer(j, "prompt", (int64_t)t->prompt_tokens);
	if (t->cached_told)
		json_integer(j, "cached", (int64_t)t->cached_tokens);
	json_integer(j, "of_failed", (int64_t)t->partial_tokens);
	number_or_null(j, "per_request", tally_tokens_per_request(t));
	json_open(j, "basis", '{');
	for (int b = 0; b < TOKEN_BASES; b++)
		if (t->basis[b])
			json_integer(j, token_basis_name((enum token_basis)b), (int64_t)t->basis[b]);
	json_close(j, '}');
	json_close(j, '}');
}

void tally_json(struct json *j, const struct tally *t, double price_per_hour)
{
	struct estimate attainment = tally_attainment(t), errors = share_estimate(t->failed, t->judged, 0.95);

	json_integer(j, "requests", (int64_t)t->total);
	json_integer(j, "judged", (int64_t)t->judged);
	json_integer(j, "left_out", (int64_t)t->left_out);
	json_integer(j, "complete", (int64_t)t->complete);
	json_integer(j, "good", (int64_t)t->good);
	json_integer(j, "failed", (int64_t)t->failed);
	json_integer(j, "unsent", (int64_t)t->unsent);
	json_integer(j, "attempts", (int64_t)t->attempts);
	json_integer(j, "retried", (int64_t)t->retried);
	number_or_null(j, "window_s", t->window_s);
	number_or_null(j, "goodput_rps", tally_goodput(t));
	number_or_null(j, "throughput_rps", tally_throughput(t));
	number_or_null(j, "output_tokens_per_s", tally_output_rate(t));
	estimate_json(j, "attainment", &attainment);
	estimate_json(j, "error_share", &errors);
	missed_json(j, t);
	json_integer(j, "stalls", (int64_t)t->stalls);
	json_integer(j, "hitches", (int64_t)t->hitches);
	json_integer(j, "ended_by_length", (int64_t)t->ended_by_length);
	if (t->evaluated) {
		json_integer(j, "evaluated", (int64_t)t->evaluated);
		json_integer(j, "evaluation_passed", (int64_t)t->evaluation_passed);
	}
	if (!isnan(price_per_hour))
		number_or_null(j, "cost_per_1000_good", tally_cost_per_1000(t, price_per_hour));
	tokens_json(j, t);
	figures_json(j, t);
	errors_json(j, t);
}

/* ---- for people ---- */

static void field(struct page *p, const char *label, enum style style, struct buf *text)
{
	page_field(p, label, style, 12, buf_str(text));
	buf_reset(text);
}

static void goodput_line(struct page *p, const struct tally *t, bool has_limits, struct buf *text)
{
	struct estimate share = tally_attainment(t);
	char rate[32];

	number_phrase(tally_goodput(t), rate);
	if (!t->judged)
		buf_add_cstr(text, "unknown: no request was judged");
	else if (!has_limits)
		buf_printf(text, "not judged: %zu of %zu completed; --goodput ttft:500 tpot:50 sets limits", t->complete, t->judged);
	else
		buf_printf(text, "%s/s: %zu of %zu good (%.1f %%; 95 %% interval %.1f to %.1f %%)", rate, t->good, t->judged,
			share.value * 100, share.low * 100, share.high * 100);
	if (t->binding >= 0)
		buf_printf(text, "; binding: %s", slo_measure_name((enum slo_measure)t->binding));
	field(p, "Goodput", STYLE_BOLD, text);
}

static void missed_line(struct page *p, const struct tally *t, struct buf *text)
{
	for (int m = 0; m < SLO_MEASURES; m++)
		if (t->missed[m])
			buf_printf(text, "%s%s %zu", text->len ? ", " : "", slo_measure_name((enum slo_measure)m), t->missed[m]);
	if (t->failed)
		buf_printf(text, "%sfailed %zu", text->len ? ", " : "", t->failed);
	if (t->unsent)
		buf_printf(text, "%snever sent %zu", text->len ? ", " : "", t->unsent);
	if (t->tpot_undefined)
		buf_printf(text, "%s%zu passed tpot without one (fewer than two tokens, or several choices)", text->len ? "; " : "",
			t->tpot_undefined);
	if (text->len)
		field(p, "Missed", STYLE_PLAIN, text);
}

static void tokens_line(struct page *p, const struct tally *t, struct buf *text)
{
	char number[32];

	number_phrase(tally_throughput(t), number);
	buf_printf(text, "%s requests/s completed", number);
	if (t->output_told) {
		number_phrase(tally_output_rate(t), number);
		buf_printf(text, ", %s output tokens/s", number);
		number_phrase(tally_tokens_per_request(t), number);
		buf_printf(text, ", %s tokens a request (counted by", number);
		for (int b = 0; b < TOKEN_BASES; b++)
			if (t->basis[b])
				buf_printf(text, " %s", token_basis_name((enum token_basis)b));
		buf_add_c(text, ')');
	}
	if (t->retried)
		buf_printf(text, "; %zu attempts for %zu requests", t->attempts, t->total - t->unsent);
	field(p, "Throughput", STYLE_PLAIN, text);
}

static void odd_lines(struct page *p, const struct tally *t, struct buf *text)
{
	const struct {
		size_t count;
		const char *what;
	} odd[] = { { t->stalls, "stalls" }, { t->hitches, "gaps above ten times the stream's own pace" }, { t->no_usage, "without usage" },
		{ t->missing_done, "without [DONE]" }, { t->several_models, "with two models in a stream" },
		{ t->not_streamed, "not streamed" }, { t->single_delivery, "delivered in one piece" },
		{ t->ended_by_length, "ended by length" } };

	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		if (odd[i].count)
			buf_printf(text, "%s%zu %s", text->len ? ", " : "", odd[i].count, odd[i].what);
	if (text->len)
		field(p, "Noted", STYLE_PLAIN, text);
	if (t->evaluated) {
		struct estimate e = share_estimate(t->evaluation_passed, t->evaluated, 0.95);

		buf_printf(text, "%zu of %zu passed (%.1f %%; %.1f to %.1f %%)", t->evaluation_passed, t->evaluated, e.value * 100,
			e.low * 100, e.high * 100);
		field(p, "Evaluation", STYLE_PLAIN, text);
	}
}

void tally_page(struct page *p, const struct tally *t, bool has_limits, double price_per_hour)
{
	struct buf text;
	char number[32];

	buf_init(&text, 1 << 16);
	goodput_line(p, t, has_limits, &text);
	missed_line(p, t, &text);
	tokens_line(p, t, &text);
	odd_lines(p, t, &text);
	if (!isnan(price_per_hour)) {
		number_phrase(tally_cost_per_1000(t, price_per_hour), number);
		buf_printf(&text, "%s per 1,000 good requests", t->good ? number : "unknown: no good request");
		field(p, "Cost", STYLE_PLAIN, &text);
	}
	buf_fini(&text);
}

/* Columns of a table of figures. */
struct figure_layout {
	int name, mean, value; /* widths */
	bool counts;           /* how many values there are */
	bool below;            /* the intervals of all percentiles stand below them; else that of the last behind it */
};

static void figure_head(struct page *p, const struct figure_layout *l, const char *what)
{
	page_print(p, STYLE_DIM, "%-*s", l->name, what);
	if (l->counts)
		page_print(p, STYLE_DIM, "%8s", "n");
	page_print(p, STYLE_DIM, "%*s", l->mean, "mean");
	for (int i = 0; i < PERCENTILES; i++)
		page_print(p, STYLE_DIM, "%*s", l->value, percentiles[i].name);
	if (!l->below)
		page_print(p, STYLE_DIM, "  p99 (95 %%)");
	page_line(p);
}

static void interval_behind(struct page *p, const struct estimate *e)
{
	char low[32], high[32];

	number_phrase(e->low, low);
	number_phrase(e->high, high);
	if (!isnan(e->high))
		page_print(p, STYLE_DIM, "  %s to %s", low, high);
	else
		page_print(p, STYLE_DIM, isnan(e->low) ? "  too few" : "  >= %s", low);
}

static void intervals_below(struct page *p, const struct figure_layout *l, const struct estimate *at)
{
	char low[32], high[32], both[80];

	page_line(p);
	page_print(p, STYLE_DIM, "%*s", l->name + l->mean + (l->counts ? 8 : 0), "");
	for (int i = 0; i < PERCENTILES; i++) {
		number_phrase(at[i].low, low);
		number_phrase(at[i].high, high);
		snprintf(both, sizeof both, "%s..%s", low, high);
		page_print(p, STYLE_DIM, "%*s", l->value, both);
	}
}

static void figure_row(struct page *p, const struct tally *t, const struct tally_row *row, const struct figure_layout *l)
{
	const struct tally_values *values = &t->figures[row->figure];
	struct estimate at[PERCENTILES];
	char number[32];

	page_print(p, STYLE_PLAIN, "%-*s", l->name, row->name);
	if (l->counts)
		page_print(p, STYLE_PLAIN, "%8zu", values->v.count);
	number_phrase(values->sum / (double)values->v.count, number);
	page_print(p, STYLE_PLAIN, "%*s", l->mean, number);
	for (int i = 0; i < PERCENTILES; i++) {
		at[i] = tally_figure(t, row->figure, percentiles[i].q, 0.95);
		number_phrase(at[i].value, number);
		page_print(p, STYLE_PLAIN, "%*s", l->value, number);
	}
	if (l->below)
		intervals_below(p, l, at);
	else
		interval_behind(p, &at[PERCENTILES - 1]);
	page_line(p);
}

/* Rows that would say the same again: content without reasoning before it, tails of nothing, the second opinion that agrees. */
static bool is_repetition(const struct tally *t, int figure)
{
	double sum = t->figures[figure].sum;

	if (figure == TALLY_TAIL)
		return sum == 0;
	if (figure == TALLY_TTFT_CONTENT)
		return sum == t->figures[TALLY_TTFT].sum;
	return figure == TALLY_TPOT_AFTER_FIRST && sum == t->figures[TALLY_TPOT].sum;
}

void tally_page_figures(struct page *p, const struct tally *t)
{
	static const struct figure_layout layout = { .name = 18, .mean = 8, .value = 8, .counts = true };
	char name[40];

	figure_head(p, &layout, "  ms, or tokens");
	for (int f = 0; f < TALLY_FIGURES; f++) {
		if (!t->figures[f].v.count || is_repetition(t, f))
			continue;
		snprintf(name, sizeof name, "  %s", tally_figure_name((enum tally_figure)f));
		figure_row(p, t, &(struct tally_row){ (enum tally_figure)f, name }, &layout);
	}
}

void tally_page_intervals(struct page *p, const struct tally *t, const struct tally_row *rows, size_t count)
{
	static const struct figure_layout layout = { .name = 12, .mean = 10, .value = 14, .below = true };

	figure_head(p, &layout, "ms");
	for (size_t i = 0; i < count; i++)
		if (t->figures[rows[i].figure].v.count && !is_repetition(t, (int)rows[i].figure))
			figure_row(p, t, &rows[i], &layout);
	page_print(p, STYLE_DIM, "linear percentiles of completed requests; below: 95 %% intervals, - no bound");
	page_line(p);
}

void tally_page_errors(struct page *p, const struct tally *t)
{
	VEC_EACH (&t->errors, e) {
		char label[64];
		struct buf text;

		buf_init(&text, 4096);
		if (e->http_status && e->error != TIMELINE_STREAM_ERROR)
			snprintf(label, sizeof label, "  %zu %s %d", e->count, timeline_error_name(e->error), e->http_status);
		else
			snprintf(label, sizeof label, "  %zu %s", e->count, timeline_error_name(e->error));
		if (e->example[0])
			buf_printf(&text, "\"%s\" (request %llu): ", e->example, (unsigned long long)e->example_id);
		buf_add_cstr(&text, timeline_error_hint(e->error, e->http_status));
		page_field(p, label, STYLE_PLAIN, 24, buf_str(&text));
		buf_fini(&text);
	}
}
