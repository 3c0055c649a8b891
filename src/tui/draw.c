/* The parts that every screen has, and the screen of the fleet. */
#include "tui/draw.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>

enum { NAME_LEAST = 12, NAME_MOST = 24, MARK_WIDTH = 2, TREND_WIDTH = 26, FIELD_WIDTH = 11, SOURCE_MOST = 28, DAY_COLUMNS = 100 };

enum tui_style severity_style(enum severity s)
{
	return s == SEVERITY_CRITICAL ? TUI_CRITICAL : s == SEVERITY_WARNING ? TUI_WARNING : TUI_INFO;
}

struct str severity_mark(enum severity s)
{
	return s == SEVERITY_CRITICAL ? STR("\u25cf") : s == SEVERITY_WARNING ? STR("\u25b2") : STR("\u25cb");
}

void draw_heading(struct frame *f, int row, const char *text)
{
	int used = frame_text(f, row, 0, f->columns, TUI_HEAD, str_from(text));

	for (int column = used + 1; column < f->columns; column++)
		frame_text(f, row, column, 1, TUI_DIM, STR("\u2500"));
}

struct str draw_value(const struct view_reading *r)
{
	static const char *const words[] = { " requests", " restarts", " tokens", " preemptions" };

	if (!r || !r->value.len)
		return STR("-"); /* it does not apply */
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (r->known && str_ends(r->value, str_from(words[i])))
			return str_head(r->value, r->value.len - strlen(words[i]));
	return r->known ? r->value : STR("?");
}

int draw_field(struct frame *f, int row, int last, const char *label, enum tui_style style, struct str text)
{
	if (!text.len || row >= last)
		return row;
	frame_text(f, row, 0, FIELD_WIDTH, TUI_DIM, str_from(label));
	return row + frame_wrap(f, row, FIELD_WIDTH, f->columns - FIELD_WIDTH, last - row, style, text);
}

/* ---- title, verdict, keys ---- */

static void title_flags(const struct view *v, const struct top_state *s, struct buf *out)
{
	if (s->in_history)
		buf_printf(out, "HISTORY %zu/%zu" STR_FMT STR_FMT "  ", v->moment + 1, v->moment_count,
			STR_ARG(v->moment_name.len ? STR(" ") : STR_EMPTY), STR_ARG(v->moment_name));
	if (s->paused)
		buf_add_cstr(out, "PAUSED  ");
	if (s->trouble)
		buf_printf(out, "NOT REFRESHED for %lld s  ", (long long)(s->age_ms / 1000));
}

/* Of a long path the end says more. */
static void add_source(struct buf *out, const char *source)
{
	struct str text = str_from(source);
	size_t columns = str_columns(text);

	if (columns > SOURCE_MOST && columns == text.len) {
		buf_add_cstr(out, "\u2026");
		text = str_skip(text, text.len - SOURCE_MOST + 1);
	}
	buf_add(out, text);
}

static void draw_title(struct frame *f, const struct layout *l, const struct view *v, const struct top_state *s)
{
	char moment[40];
	struct buf text;

	frame_row_style(f, l->title, TUI_BAR);
	buf_init(&text, 4096);
	time_format(v->t_ms / 1000 * 1000, moment);
	title_flags(v, s, &text);
	/* On a narrow screen the day gives way to the window. */
	buf_add_cstr(&text, f->columns < DAY_COLUMNS ? moment + 11 : moment);
	int right = (int)str_columns(buf_str(&text));

	frame_right(f, l->title, f->columns - right - 1, right, TUI_BAR, buf_str(&text));
	buf_reset(&text);
	buf_add_cstr(&text, " goodput top  ");
	add_source(&text, s->source);
	buf_printf(&text, " \u00b7 %zu of %zu up \u00b7 window " STR_FMT, v->targets_up, v->targets, STR_ARG(v->window));
	if (s->live)
		buf_printf(&text, " \u00b7 every %.3g s", (double)s->interval_ms / 1000);
	frame_text(f, l->title, 0, f->columns - right - 3, TUI_BAR, buf_str(&text));
	buf_fini(&text);
}

static enum tui_style verdict_style(struct str severity)
{
	return str_is(severity, "critical")  ? TUI_CRITICAL
	       : str_is(severity, "warning") ? TUI_WARNING
	       : str_is(severity, "unknown") ? TUI_UNKNOWN
					     : TUI_FINE;
}

static void draw_verdict(struct frame *f, const struct layout *l, const struct view *v)
{
	char word[16];
	size_t length = v->severity.len < sizeof word - 1 ? v->severity.len : sizeof word - 1;

	for (size_t i = 0; i < length; i++)
		word[i] = (char)(v->severity.ptr[i] >= 'a' ? v->severity.ptr[i] - 32 : v->severity.ptr[i]);
	int used = frame_text(f, l->verdict, 0, f->columns, verdict_style(v->severity), str_of(word, length)) + 1;

	frame_wrap(f, l->verdict, used, f->columns - used, l->verdict_rows, TUI_BOLD, v->verdict);
}

static void draw_keys(struct frame *f, const struct layout *l, const struct top_state *s)
{
	static const char *const keys[] = {
		[SCREEN_FLEET] =
			" q quit  ? help  \u00b7 Enter replica  f findings  0 fleet  a all  / filter  <> sort  [ ] time  space pause",
		[SCREEN_FINDINGS] = " Esc back  j k choose  q quit  ? help  \u00b7 [ ] time  space pause",
		[SCREEN_SCOPE] = " Esc back  j k next replica  Enter all readings  f findings  q quit  ? help",
		[SCREEN_READINGS] = " Esc back  j k choose  q quit  ? help",
		[SCREEN_HELP] = " Esc back  q quit",
	};
	char text[200];

	frame_row_style(f, l->keys, TUI_BAR);
	if (s->typing)
		snprintf(text, sizeof text, " filter: %s_   Enter keeps it, Esc clears it", s->filter);
	else if (s->message[0])
		snprintf(text, sizeof text, " %s", s->message);
	else if (s->trouble)
		snprintf(text, sizeof text, " %s", s->trouble);
	else
		snprintf(text, sizeof text, "%s", keys[s->screen]);
	frame_text(f, l->keys, 0, f->columns, TUI_BAR, str_from(text));
}

/* ---- the fleet ---- */

static void draw_summary(struct frame *f, const struct layout *l, const struct view *v)
{
	static const struct {
		const char *signal, *label;
	} items[] = { { "requests_per_s", "req" }, { "success_rate", "completed" }, { "generation_tps", "out" }, { "prompt_tps", "in" },
		{ "ttft_p99", "TTFT P99" }, { "tpot_p99", "TPOT P99" }, { "running", "run" }, { "waiting", "wait" },
		{ "kv_usage_max", "KV max" }, { "prefix_hit_rate", "KV-hit" }, { "preemptions_per_s", "preempt" },
		{ "e2e_p99", "E2E P99" } };
	int column = 0;

	for (size_t i = 0; i < ARRAY_LEN(items); i++) {
		const struct view_reading *r = view_reading(v, &v->scopes[0], items[i].signal);
		struct str value = draw_value(r);
		int width = (int)(strlen(items[i].label) + 1 + str_columns(value));

		if (column + width > f->columns)
			break;
		column += frame_text(f, l->summary, column, f->columns - column, TUI_DIM, str_from(items[i].label)) + 1;
		column += frame_text(f, l->summary, column, f->columns - column, r && r->known ? TUI_BOLD : TUI_UNKNOWN, value) + 3;
	}
}

static void draw_trends(struct frame *f, const struct layout *l, const struct view *v)
{
	static const enum view_trend order[] = { TREND_OUT, TREND_WAITING, TREND_KV, TREND_TTFT, TREND_IN, TREND_RUNNING };
	const struct view_scope *fleet = &v->scopes[0];
	int fit = f->columns / TREND_WIDTH;

	for (int i = 0; i < fit && i < (int)ARRAY_LEN(order); i++) {
		const struct view_trend_spec *spec = &view_trends[order[i]];
		int column = i * (f->columns / (fit < (int)ARRAY_LEN(order) ? fit : (int)ARRAY_LEN(order)));
		int used = frame_text(f, l->trends, column, TREND_WIDTH, TUI_DIM, str_from(spec->title)) + 1;

		frame_spark(f, l->trends, column + used, TREND_WIDTH - used - 2, TUI_INFO, fleet->trends[order[i]], fleet->trend_count,
			spec->ceiling);
	}
}

static int name_width(const struct view *v)
{
	int width = NAME_LEAST;

	for (size_t i = v->first_row; i < v->scope_count; i++) {
		int columns = (int)str_columns(v->scopes[i].label);

		width = columns > width ? columns : width;
	}
	return width < NAME_MOST ? width : NAME_MOST;
}

/* `below`: rows that found no room. */
static void draw_table_head(struct frame *f, const struct layout *l, const struct view *v, const struct top_state *s, size_t below)
{
	int column = MARK_WIDTH + name_width(v);
	char name[40];

	frame_row_style(f, l->table_head, TUI_HEAD);
	snprintf(name, sizeof name, "replica%s%s", s->sort != SORT_NAME ? "" : s->reversed ? " ^" : " v", s->filter[0] ? " /" : "");
	int used = frame_text(f, l->table_head, MARK_WIDTH, column - MARK_WIDTH, TUI_HEAD, str_from(name));

	if (below)
		frame_print(f, l->table_head, MARK_WIDTH + used, column - MARK_WIDTH - used, TUI_DIM, " +%zu", below);
	for (size_t i = 0; i < VIEW_COLUMNS; column += view_columns[i++].width) {
		char head[24];

		if (column + view_columns[i].width > f->columns)
			break;
		snprintf(head, sizeof head, "%s%s", view_columns[i].head, s->sort == (int)i ? (s->reversed ? "^" : "v") : "");
		frame_right(f, l->table_head, column, view_columns[i].width, TUI_HEAD, str_from(head));
	}
	int left = f->columns - column - 2;

	if (left >= 10)
		frame_text(f, l->table_head, column + 2, left, TUI_HEAD, STR("tokens out"));
}

static enum tui_style mark_style(enum view_mark mark)
{
	static const enum tui_style styles[] = { [MARK_FINE] = TUI_FINE,
		[MARK_INFO] = TUI_INFO,
		[MARK_WARNING] = TUI_WARNING,
		[MARK_CRITICAL] = TUI_CRITICAL,
		[MARK_SILENT] = TUI_UNKNOWN };

	return styles[mark];
}

static struct str mark_text(enum view_mark mark)
{
	static const char *const marks[] = {
		[MARK_FINE] = " ", [MARK_INFO] = "\u25cb", [MARK_WARNING] = "\u25b2", [MARK_CRITICAL] = "\u25cf", [MARK_SILENT] = "\u2715"
	};

	return str_from(marks[mark]);
}

static int draw_cell(struct frame *f, int row, int column, int width, const struct view_cell *c)
{
	struct str text = c->text;
	char starred[64];

	if (c->stale) {
		snprintf(starred, sizeof starred, STR_FMT "*", STR_ARG(text));
		text = str_from(starred);
	}
	frame_right(f, row, column + 1, width - 1, !c->known ? TUI_UNKNOWN : c->stale ? TUI_DIM : TUI_PLAIN, text);
	return column + width;
}

static void draw_row(struct frame *f, int row, const struct view *v, const struct view_scope *s)
{
	int column = MARK_WIDTH + name_width(v);

	frame_text(f, row, 0, MARK_WIDTH, mark_style(s->mark), mark_text(s->mark));
	frame_text(f, row, MARK_WIDTH, column - MARK_WIDTH,
		s->kind == SCOPE_FLEET ? TUI_BOLD
		: s->mark > MARK_INFO  ? mark_style(s->mark)
				       : TUI_PLAIN,
		s->label);
	if (!s->answers) {
		frame_print(f, row, column + 2, f->columns - column - 2, TUI_UNKNOWN, "unknown: " STR_FMT, STR_ARG(s->state));
		return;
	}
	for (size_t i = 0; i < VIEW_COLUMNS && column + view_columns[i].width <= f->columns; i++)
		column = draw_cell(f, row, column, view_columns[i].width, &s->cells[i]);
	int left = f->columns - column - 2;

	if (left >= 10)
		frame_spark(f, row, column + 2, left, TUI_INFO, s->trends[TREND_OUT], s->trend_count, view_trends[TREND_OUT].ceiling);
}

static void draw_table(struct frame *f, const struct layout *l, const struct view *v, const struct top_state *s)
{
	size_t *rows = mem_zalloc(v->scope_count + 1, sizeof *rows), count = rows_of(v, s, rows);
	size_t room = (size_t)l->table_rows - 1, at = rows_selected(v, s, rows, count), first = at >= room ? at - room + 1 : 0;

	draw_table_head(f, l, v, s, first + room < count ? count - first - room : 0);
	draw_row(f, l->table, v, &v->scopes[0]);
	for (size_t i = 0; i < room && first + i < count; i++) {
		draw_row(f, l->table + 1 + (int)i, v, &v->scopes[rows[first + i]]);
		if (s->selected[0] && first + i == at && str_is(v->scopes[rows[at]].name, s->selected))
			frame_row_select(f, l->table + 1 + (int)i);
	}
	if (!count)
		frame_print(f, l->table + 1, MARK_WIDTH, f->columns, TUI_DIM,
			s->filter[0] ? "nothing matches the filter \"%s\"" : "no targets%s", s->filter);
	mem_free(rows);
}

void draw(struct frame *f, const struct view *v, const struct top_state *s)
{
	struct layout l = layout_of(f->rows, f->columns);

	frame_clear(f);
	draw_title(f, &l, v, s);
	draw_verdict(f, &l, v);
	draw_keys(f, &l, s);
	switch (s->screen) {
	case SCREEN_FLEET:
		draw_summary(f, &l, v);
		draw_trends(f, &l, v);
		draw_finding_block(f, &l, v);
		draw_table(f, &l, v, s);
		break;
	case SCREEN_FINDINGS: draw_findings(f, &l, v, s); break;
	case SCREEN_SCOPE: draw_scope(f, &l, v, s); break;
	case SCREEN_READINGS: draw_readings(f, &l, v, s); break;
	case SCREEN_HELP: draw_help(f, &l); break;
	}
}

void draw_waiting(struct frame *f, const struct top_state *s, const char *what)
{
	struct layout l = layout_of(f->rows, f->columns);

	frame_clear(f);
	frame_row_style(f, l.title, TUI_BAR);
	frame_print(f, l.title, 0, f->columns, TUI_BAR, " goodput top  %s", s->source);
	frame_wrap(f, l.verdict, 0, f->columns, l.verdict_rows + 2, s->trouble ? TUI_UNKNOWN : TUI_DIM,
		str_from(s->trouble ? s->trouble : what));
	frame_row_style(f, l.keys, TUI_BAR);
	frame_text(f, l.keys, 0, f->columns, TUI_BAR, STR(" q quit"));
}
