/* Requests as lines of time, and figures before and after. */
#include "base/arena.h"
#include "report/internal.h"

#include <math.h>
#include <stdio.h>

#define REACH_MAX 2.0 /* 200 % */
enum { ROW = 34, LINES_TOP = 4, AXIS = 34, TICKS_WANTED = 6, WIDE = 400, NAME_UP = 15, SIDE = 6, TICKS_DRAWN = 400 };

/* ---- timelines ---- */

static double origin(const struct html_timeline *t)
{
	return isfinite(t->due_ms) && t->due_ms < t->submitted_ms ? t->due_ms : t->submitted_ms;
}

static double last_of(const struct html_timeline *t)
{
	double last = isfinite(t->end_ms) ? t->end_ms : t->submitted_ms;

	return t->delivery_count && t->delivery_ms[t->delivery_count - 1] > last ? t->delivery_ms[t->delivery_count - 1] : last;
}

static void draw_deliveries(struct buf *out, const struct html_timeline *t, const struct scale *x, double y)
{
	double zero = origin(t), drawn = -1;

	/* what falls on one place is one stroke */
	buf_add_cstr(out, "<path class=\"tick\" d=\"");
	for (size_t i = 0; i < t->delivery_count; i++) {
		double at = scale_place(x, t->delivery_ms[i] - zero);
		double half = t->tokens && t->tokens[i] > 1 ? 6 : 4;

		if (at - drawn < (double)WIDE / TICKS_DRAWN)
			continue;
		buf_printf(out, "M%.1f %.1fv%.1f", at, y - half, 2 * half);
		drawn = at;
	}
	buf_add_cstr(out, "\"/>");
}

static void draw_timeline(struct buf *out, const struct html_timeline *t, const struct scale *x, double top)
{
	double zero = origin(t), y = top + NAME_UP + 9, end = scale_place(x, last_of(t) - zero);
	double first = t->delivery_count ? scale_place(x, t->delivery_ms[0] - zero) : end, sent = scale_place(x, t->submitted_ms - zero);

	svg_text(out, "name", "start", SIDE, top + NAME_UP - 3, t->label);
	svg_text(out, t->failed ? "marked" : "", "end", WIDE - SIDE, top + NAME_UP - 3, t->note);
	svg_line(out, "wait", x->start, y, first, y);
	svg_line(out, "stream", first, y, end, y);
	svg_line(out, "end", sent, y - 5, sent, y + 5);
	draw_deliveries(out, t, x, y);
	if (t->failed)
		buf_printf(out, "<path class=\"fail\" d=\"M%.1f %.1fl8 8m0 -8l-8 8\"/>", end - 4, y - 4);
	else
		svg_line(out, "end", end, y - 5, end, y + 5);
}

void html_timelines(
	struct buf *out, struct str title, struct str note, const struct html_timeline *lines, size_t count, const struct html_table *table)
{
	struct scale x = { .start = SIDE, .length = WIDE - 2 * SIDE - 8 };
	double ticks[TICKS_MAX], bottom = LINES_TOP + (double)count * ROW + 4;
	char text[32];

	if (!count)
		return;
	for (size_t i = 0; i < count; i++)
		x.to = fmax(x.to, last_of(&lines[i]) - origin(&lines[i]));
	buf_add_cstr(out, "<figure class=\"wide\">\n<h3>");
	html_text(out, title);
	buf_add_cstr(out, "</h3>\n");
	html_paragraph(out, note);
	buf_printf(out, "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"", WIDE, bottom + AXIS);
	html_text(out, title);
	buf_add_cstr(out, "\">");
	size_t n = scale_ticks(&x, TICKS_WANTED, ticks);

	for (size_t i = 0; i < n; i++) {
		double at = scale_place(&x, ticks[i]);

		svg_line(out, "grid", at, LINES_TOP, at, bottom);
		svg_text(out, "", i + 1 < n ? i ? "middle" : "start" : "end", at, bottom + 13, str_of(text, scale_label(ticks[i], text)));
	}
	for (size_t i = 0; i < count; i++)
		draw_timeline(out, &lines[i], &x, LINES_TOP + (double)i * ROW);
	svg_text(out, "", "middle", WIDE / 2.0, bottom + 28, STR("ms since the request was due"));
	buf_add_cstr(out, "</svg>\n");
	if (table)
		html_table(out, table);
	buf_add_cstr(out, "</figure>\n");
}

/* ---- changes ---- */

static void reach_add(double value, double *reach)
{
	if (isfinite(value) && fabs(value) > *reach)
		*reach = fabs(value);
}

/* Inside the drawing; what lies beyond is at its edge. */
static double edge_place(const struct scale *x, double value)
{
	return scale_place(x, value < x->from ? x->from : value > x->to ? x->to : value);
}

static void draw_change(struct buf *out, const struct html_change *c, const struct scale *x, double top)
{
	double y = top + NAME_UP + 7;
	char text[40];

	svg_text(out, "name", "start", SIDE, top + NAME_UP - 3, c->name);
	if (!isfinite(c->change)) {
		svg_text(out, "", "end", WIDE - SIDE, top + NAME_UP - 3, STR("not known"));
		return;
	}
	snprintf(text, sizeof text, "%+.1f %%", c->change * 100);
	svg_text(out, "", "end", WIDE - SIDE, top + NAME_UP - 3, str_from(text));
	buf_printf(out, "<g class=\"%s\">", html_tone_class(c->tone == HTML_PLAIN ? HTML_UNKNOWN : c->tone));
	svg_line(out, "whisker", edge_place(x, isfinite(c->low) ? c->low : x->from), y, edge_place(x, isfinite(c->high) ? c->high : x->to),
		y);
	double at = edge_place(x, c->change);

	if (c->change < x->from || c->change > x->to) /* an arrow: further than drawn */
		buf_printf(out, "<path class=\"dot\" d=\"M%.1f %.1fl%d -5v10z\"/></g>", at, y, c->change > x->to ? -9 : 9);
	else
		buf_printf(out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/></g>", at, y);
}

static struct str percent(struct arena *arena, double value)
{
	return isfinite(value) ? arena_printf(arena, "%+.1f %%", value * 100) : STR_EMPTY;
}

static void changes_table(struct buf *out, const struct html_change *changes, size_t count)
{
	static const struct html_column columns[] = { { "figure", false }, { "before", true }, { "after", true }, { "change", true },
		{ "at least", true }, { "at most", true }, { "verdict", false } };
	enum { COLUMNS = sizeof columns / sizeof *columns };
	struct arena arena;

	arena_init(&arena);
	struct str *cells = ARENA_ARRAY(&arena, struct str, count * COLUMNS + 1), *at = cells;
	enum html_tone *tones = ARENA_ARRAY(&arena, enum html_tone, count + 1);

	for (size_t i = 0; i < count; i++, at += COLUMNS) {
		const struct html_change *c = &changes[i];

		tones[i] = c->tone;
		at[0] = c->name;
		at[1] = c->before;
		at[2] = c->after;
		at[3] = percent(&arena, c->change);
		at[4] = percent(&arena, c->low);
		at[5] = percent(&arena, c->high);
		at[6] = c->verdict;
	}
	html_table(out,
		&(struct html_table){ .columns = columns, .column_count = COLUMNS, .cells = cells, .row_count = count, .tones = tones });
	arena_fini(&arena);
}

void html_changes(struct buf *out, struct str title, struct str note, const struct html_change *changes, size_t count)
{
	double reach = 0.01, ticks[TICKS_MAX], bottom = LINES_TOP + (double)count * ROW + 4;
	char text[40];

	if (!count)
		return;
	for (size_t i = 0; i < count; i++) {
		reach_add(changes[i].change, &reach);
		reach_add(changes[i].low, &reach);
		reach_add(changes[i].high, &reach);
	}
	/* one wild interval must not flatten the others */
	reach = fmin(reach, REACH_MAX);
	struct scale x = { .from = -reach * 100, .to = reach * 100, .start = SIDE, .length = WIDE - 2 * SIDE - 8 };

	buf_add_cstr(out, "<figure class=\"wide\">\n<h3>");
	html_text(out, title);
	buf_add_cstr(out, "</h3>\n");
	if (note.len)
		html_paragraph(out, note);
	buf_printf(out, "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"", WIDE, bottom + AXIS);
	html_text(out, title);
	buf_add_cstr(out, "\">");
	size_t n = scale_ticks(&x, TICKS_WANTED, ticks);

	for (size_t i = 0; i < n; i++) {
		double at = scale_place(&x, ticks[i]);

		snprintf(text, sizeof text, "%+.4g", ticks[i]);
		svg_line(out, fabs(ticks[i]) < 1e-9 ? "axis" : "grid", at, LINES_TOP, at, bottom);
		svg_text(out, "", i + 1 < n ? i ? "middle" : "start" : "end", at, bottom + 13,
			fabs(ticks[i]) < 1e-9 ? STR("0") : str_from(text));
	}
	x.from /= 100;
	x.to /= 100;
	for (size_t i = 0; i < count; i++)
		draw_change(out, &changes[i], &x, LINES_TOP + (double)i * ROW);
	svg_text(out, "", "middle", WIDE / 2.0, bottom + 28, STR("change, %"));
	buf_add_cstr(out, "</svg>\n");
	changes_table(out, changes, count);
	buf_add_cstr(out, "</figure>\n");
}
