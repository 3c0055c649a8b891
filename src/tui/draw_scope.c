/* One replica, pool or the fleet: latency, queue, cache, tokens, trends; and all its readings. */
#include "tui/draw.h"

#include <math.h>
#include <stdio.h>

static struct str value_of(const struct view *v, const struct view_scope *s, const char *signal)
{
	return draw_value(view_reading(v, s, signal));
}

static int draw_crumbs(struct frame *f, int row, const struct view *v, const struct view_scope *s)
{
	int used = frame_text(f, row, 0, f->columns, TUI_DIM, s == &v->scopes[0] ? STR("fleet") : STR("fleet > "));

	if (s != &v->scopes[0])
		used += frame_text(f, row, used, f->columns - used, TUI_BOLD, s->label);
	frame_print(f, row, used + 2, f->columns - used - 2, s->answers ? TUI_PLAIN : TUI_UNKNOWN, STR_FMT "  \u00b7  " STR_FMT,
		STR_ARG(s->state), STR_ARG(s->about));
	return row + 1;
}

/* ---- latency ---- */

static int draw_latency(struct frame *f, int row, const struct view *v, const struct view_scope *s)
{
	static const struct {
		const char *title, *p50, *p95, *p99, *mean, *over, *over_title;
	} lines[] = { { "TTFT", "ttft_p50", "ttft_p95", "ttft_p99", "ttft_mean", "ttft_miss_share", "miss SLO" },
		{ "ITL (per step)", "itl_p50", "itl_p95", "itl_p99", "itl_mean_per_step", "slow_gap_share", "slow gaps" },
		{ "TPOT", "tpot_p50", "tpot_p95", "tpot_p99", "tpot_mean", "tpot_miss_share", "miss SLO" },
		{ "E2E", "e2e_p50", "e2e_p95", "e2e_p99", "e2e_mean", "e2e_miss_share", "miss SLO" },
		{ "queue", "queue_p50", "queue_p95", "queue_p99", "queue_mean", "ttft_share_queue", "of TTFT" } };
	static const char *const heads[] = { "P50", "P95", "P99", "mean" };
	enum { TITLE = 16, VALUE = 12 };

	draw_heading(f, row, "latency");
	for (int i = 0; i < 4; i++)
		frame_right(f, row, TITLE + i * VALUE, VALUE, TUI_HEAD, str_from(heads[i]));
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		const char *const signals[] = { lines[i].p50, lines[i].p95, lines[i].p99, lines[i].mean };

		row++;
		frame_text(f, row, 0, TITLE, TUI_DIM, str_from(lines[i].title));
		for (int k = 0; k < 4; k++) {
			struct str value = value_of(v, s, signals[k]);

			frame_right(f, row, TITLE + k * VALUE + 1, VALUE - 1, str_is(value, "?") ? TUI_UNKNOWN : TUI_PLAIN, value);
		}
		frame_print(f, row, TITLE + 4 * VALUE + 2, f->columns, TUI_DIM, STR_FMT " %s", STR_ARG(value_of(v, s, lines[i].over)),
			lines[i].over_title);
	}
	return row + 1;
}

/* ---- lines of figures ---- */

struct figure {
	const char *signal, *label;
};

static int draw_figures(
	struct frame *f, int row, const char *title, const struct view *v, const struct view_scope *s, const struct figure *figures)
{
	int column = 10;

	frame_text(f, row, 0, column, TUI_HEAD, str_from(title));
	for (; figures->signal && column < f->columns; figures++) {
		struct str value = value_of(v, s, figures->signal);
		int width = (int)(strlen(figures->label) + 1 + str_columns(value));

		if (column + width > f->columns)
			break;
		column += frame_text(f, row, column, f->columns - column, TUI_DIM, str_from(figures->label)) + 1;
		column += frame_text(f, row, column, f->columns - column, str_is(value, "?") ? TUI_UNKNOWN : TUI_PLAIN, value) + 3;
	}
	return row + 1;
}

static int draw_cache(struct frame *f, int row, const struct view *v, const struct view_scope *s)
{
	static const struct figure figures[] = { { "prefix_hit_rate", "prefix hit" }, { "external_hit_rate", "external hit" },
		{ "preemptions_per_s", "preempt" }, { "kv_capacity_tokens", "capacity" }, { NULL, NULL } };
	const struct view_reading *kv = view_reading(v, s, "kv_usage_max");
	double share = kv ? kv->number : NAN;
	enum tui_style style = !(share >= 0) ? TUI_UNKNOWN : share > 0.95 ? TUI_CRITICAL : share > 0.85 ? TUI_WARNING : TUI_FINE;

	frame_text(f, row, 0, 10, TUI_HEAD, STR("KV cache"));
	frame_gauge(f, row, 10, 24, style, share);
	frame_print(f, row, 36, f->columns - 36, style, STR_FMT, STR_ARG(value_of(v, s, "kv_usage_max")));
	return draw_figures(f, row + 1, "", v, s, figures);
}

static int draw_sections(struct frame *f, int row, const struct view *v, const struct view_scope *s)
{
	static const struct figure queue[] = { { "running", "run" }, { "waiting", "wait" }, { "system_efficiency", "efficiency" },
		{ "seconds_since_last_step", "last step" }, { "queue_mean", "queue" }, { NULL, NULL } },
				   tokens[] = { { "generation_tps", "out" }, { "prompt_tps", "in" }, { "token_io_ratio", "in:out" },
					   { "prompt_len_mean", "prompt" }, { "output_len_mean", "output" }, { NULL, NULL } },
				   outcome[] = { { "requests_per_s", "finished" }, { "success_rate", "completed" },
					   { "truncated_rate", "length" }, { "abort_rate", "abort" }, { "error_rate", "error" },
					   { "lost_per_s", "lost" }, { NULL, NULL } },
				   process[] = { { "restarts", "restarts" }, { "rss_bytes", "RSS" }, { "gpu_util", "GPU" },
					   { "vram_used_share", "VRAM" }, { "scrape_seconds", "scrape" }, { NULL, NULL } };

	row = draw_cache(f, row, v, s);
	row = draw_figures(f, row, "queue", v, s, queue);
	row = draw_figures(f, row, "tokens", v, s, tokens);
	row = draw_figures(f, row, "outcome", v, s, outcome);
	return draw_figures(f, row, "process", v, s, process);
}

/* ---- trends ---- */

static void trend_text(const float *values, size_t count, char text[64])
{
	float least = NAN, most = NAN, now = count ? values[count - 1] : NAN;

	for (size_t i = 0; i < count; i++) {
		least = isnan(least) || values[i] < least ? values[i] : least;
		most = isnan(most) || values[i] > most ? values[i] : most;
	}
	if (isnan(most))
		snprintf(text, 64, "no figures yet");
	else
		snprintf(text, 64, "min %.3g  max %.3g  now %.3g", (double)least, (double)most, (double)now);
}

static int draw_trends(struct frame *f, int row, int last, const struct view_scope *s)
{
	for (size_t i = 0; i < VIEW_TRENDS && row < last; i++, row++) {
		char text[64];

		trend_text(s->trends[i], s->trend_count, text);
		frame_text(f, row, 0, 10, TUI_DIM, str_from(view_trends[i].title));
		frame_spark(f, row, 11, f->columns - 11 - 40, TUI_INFO, s->trends[i], s->trend_count, view_trends[i].ceiling);
		frame_text(f, row, f->columns - 38, 38, TUI_DIM, str_from(text));
	}
	return row;
}

void draw_scope(struct frame *f, const struct layout *l, const struct view *v, const struct top_state *state)
{
	const struct view_scope *s = state_scope(v, state);
	int row = draw_crumbs(f, l->body, v, s);

	row = draw_latency(f, row, v, s);
	row = draw_sections(f, row, v, s);
	row = draw_trends(f, row, l->keys - 1, s);
	for (size_t i = 0; i < s->finding_count && row < l->keys; i++, row++) {
		const struct view_finding *x = &v->findings[s->findings[i]];

		frame_text(f, row, 0, 2, severity_style(x->severity), severity_mark(x->severity));
		frame_print(f, row, 2, f->columns - 2, severity_style(x->severity), STR_FMT, STR_ARG(x->title));
	}
	if (!s->finding_count && row < l->keys)
		frame_text(f, row, 0, f->columns, TUI_DIM, STR("no finding names it"));
}

/* ---- all readings ---- */

static void draw_reading(struct frame *f, int row, const struct view *v, const struct view_reading *r, bool first_of_group)
{
	const struct view_signal *signal = &v->signals[r->signal];
	enum { GROUP = 13, TITLE = 38 };

	if (first_of_group)
		frame_text(f, row, 0, GROUP - 1, TUI_HEAD, signal->group);
	frame_text(f, row, GROUP, TITLE - 1, TUI_DIM, signal->title);
	frame_text(f, row, GROUP + TITLE, f->columns - GROUP - TITLE, r->known ? TUI_PLAIN : TUI_UNKNOWN, r->value);
}

static void draw_basis(struct frame *f, const struct layout *l, const struct view *v, const struct view_reading *r)
{
	const struct view_signal *signal = &v->signals[r->signal];
	int row = l->keys - 5;
	char head[120];

	snprintf(head, sizeof head, STR_FMT " (" STR_FMT ")", STR_ARG(signal->title), STR_ARG(signal->id));
	draw_heading(f, row, head);
	row += 1 + frame_wrap(f, row + 1, 0, f->columns, 2, TUI_PLAIN,
			   signal->help.len ? signal->help : STR("no more is said of it in the catalogue"));
	frame_wrap(f, row, 0, f->columns, l->keys - row, TUI_DIM, r->basis);
}

void draw_readings(struct frame *f, const struct layout *l, const struct view *v, const struct top_state *state)
{
	const struct view_scope *s = state_scope(v, state);
	int row = draw_crumbs(f, l->body, v, s), room = l->keys - 5 - row;
	size_t first = state->reading >= (size_t)room ? state->reading - (size_t)room + 1 : 0, at = 0;
	const struct view_reading *chosen = NULL;
	struct str group = STR_EMPTY;

	for (size_t i = 0; i < v->signal_count; i++) {
		const struct view_reading *r = &s->readings[i];

		if (!r->shown)
			continue;
		if (at >= first && at < first + (size_t)room) {
			draw_reading(f, row, v, r, !str_eq(group, v->signals[i].group));
			group = v->signals[i].group;
			if (at == state->reading)
				frame_row_select(f, row);
			row++;
		}
		if (at == state->reading)
			chosen = r;
		at++;
	}
	if (chosen)
		draw_basis(f, l, v, chosen);
}
