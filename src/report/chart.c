/* Lines over an axis, with limits, bands and a legend. */
#include "report/internal.h"

#include <math.h>

enum { COLOURS = 4, X_TICKS = 5, Y_TICKS = 5, POINTS_MAX = 2000 };

struct plot {
	const struct html_chart *c;
	struct scale x, y;
	struct buf *out;
};

static bool drawable(const struct html_axis *a, double value)
{
	return isfinite(value) && (!a->log || value > 0);
}

/* The range of what is drawn; a linear axis starts at 0 unless something is below. */
static void range_add(const struct html_axis *a, double value, double *from, double *to)
{
	if (!drawable(a, value))
		return;
	*from = isnan(*from) || value < *from ? value : *from;
	*to = isnan(*to) || value > *to ? value : *to;
}

static void find_range(const struct html_chart *c, bool vertical, double *from, double *to)
{
	const struct html_axis *a = vertical ? &c->y : &c->x;

	*from = *to = NAN;
	for (size_t i = 0; i < c->series_count; i++) {
		const struct html_series *s = &c->series[i];

		for (size_t k = 0; k < s->count; k++) {
			range_add(a, vertical ? s->y[k] : s->x[k], from, to);
			if (vertical && s->high)
				range_add(a, s->high[k], from, to);
		}
	}
	for (size_t i = 0; i < c->mark_count; i++)
		if (c->marks[i].vertical != vertical)
			range_add(a, c->marks[i].at, from, to);
	if (isnan(*from))
		*from = a->log ? 1 : 0;
	if (isnan(*to))
		*to = *from + 1;
	if (!a->log && *from > 0)
		*from = 0;
	if (drawable(a, a->from))
		*from = a->from;
	if (drawable(a, a->to))
		*to = a->to;
}

static void draw_x_axis(struct plot *p)
{
	double ticks[TICKS_MAX], bottom = CHART_HEIGHT - CHART_BOTTOM;
	size_t count = scale_ticks(&p->x, X_TICKS, ticks);
	char text[32];

	for (size_t i = 0; i < count; i++) {
		double at = scale_place(&p->x, ticks[i]);

		svg_line(p->out, "grid", at, CHART_TOP, at, bottom);
		svg_text(p->out, "", "middle", at, bottom + 14, str_of(text, scale_label(ticks[i], text)));
	}
	svg_text(p->out, "", "middle", (CHART_LEFT + CHART_WIDTH - CHART_RIGHT) / 2.0, CHART_HEIGHT - 6, p->c->x.label);
}

static void draw_y_axis(struct plot *p)
{
	double ticks[TICKS_MAX];
	size_t count = scale_ticks(&p->y, Y_TICKS, ticks);
	char text[32];

	for (size_t i = 0; i < count; i++) {
		double at = scale_place(&p->y, ticks[i]);

		svg_line(p->out, "grid", CHART_LEFT, at, CHART_WIDTH - CHART_RIGHT, at);
		svg_text(p->out, "", "end", CHART_LEFT - 5, at + 4, str_of(text, scale_label(ticks[i], text)));
	}
	svg_text(p->out, "", "start", 0, 11, p->c->y.label);
}

/* Every so many points are drawn; lines have no more detail than the screen. */
static size_t stride(const struct html_series *s)
{
	return s->count / POINTS_MAX + 1;
}

static void draw_line(struct plot *p, const struct html_series *s, size_t colour)
{
	bool broken = true;

	buf_printf(p->out, "<path class=\"l l%zu\" d=\"", colour);
	for (size_t i = 0; i < s->count; i += stride(s)) {
		if (!drawable(&p->c->x, s->x[i]) || !drawable(&p->c->y, s->y[i])) {
			broken = true;
			continue;
		}
		double x = scale_place(&p->x, s->x[i]), y = scale_place(&p->y, s->y[i]);

		if (broken)
			buf_printf(p->out, "M%.1f %.1f", x, y);
		else if (s->steps)
			buf_printf(p->out, "H%.1fV%.1f", x, y);
		else
			buf_printf(p->out, "L%.1f %.1f", x, y);
		broken = false;
	}
	buf_add_cstr(p->out, "\"/>");
}

static void band_edge(struct plot *p, const struct html_series *s, const double *edge, size_t i, bool *begun)
{
	if (!drawable(&p->c->x, s->x[i]) || !drawable(&p->c->y, edge[i]))
		return;
	buf_printf(p->out, "%c%.1f %.1f", *begun ? 'L' : 'M', scale_place(&p->x, s->x[i]), scale_place(&p->y, edge[i]));
	*begun = true;
}

static void draw_band(struct plot *p, const struct html_series *s, size_t colour)
{
	bool begun = false;

	if (!s->low || !s->high)
		return;
	buf_printf(p->out, "<path class=\"b f%zu\" d=\"", colour);
	for (size_t i = 0; i < s->count; i += stride(s))
		band_edge(p, s, s->high, i, &begun);
	for (size_t i = s->count; i-- > 0;)
		if (i % stride(s) == 0)
			band_edge(p, s, s->low, i, &begun);
	buf_add_cstr(p->out, begun ? "Z\"/>" : "\"/>");
}

static void draw_mark(struct plot *p, const struct html_mark *m)
{
	if (!drawable(m->vertical ? &p->c->x : &p->c->y, m->at))
		return;
	if (m->vertical) {
		double at = scale_place(&p->x, m->at);
		bool right = at > CHART_WIDTH * 0.7;

		svg_line(p->out, "mark", at, CHART_TOP, at, CHART_HEIGHT - CHART_BOTTOM);
		svg_text(p->out, "marked", right ? "end" : "start", at + (right ? -4 : 4), CHART_HEIGHT - CHART_BOTTOM - 7, m->label);
		return;
	}
	double at = scale_place(&p->y, m->at);

	svg_line(p->out, "mark", CHART_LEFT, at, CHART_WIDTH - CHART_RIGHT, at);
	svg_text(p->out, "marked", "end", CHART_WIDTH - CHART_RIGHT - 2, at - 4, m->label);
}

static void draw_plot(struct plot *p)
{
	const struct html_chart *c = p->c;

	p->x = (struct scale){ .log = c->x.log, .exact = true, .start = CHART_LEFT, .length = CHART_WIDTH - CHART_LEFT - CHART_RIGHT };
	p->y = (struct scale){
		.log = c->y.log, .start = CHART_HEIGHT - CHART_BOTTOM, .length = -(CHART_HEIGHT - CHART_TOP - CHART_BOTTOM)
	};
	find_range(c, false, &p->x.from, &p->x.to);
	find_range(c, true, &p->y.from, &p->y.to);
	buf_printf(p->out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", CHART_WIDTH, CHART_HEIGHT);
	html_text(p->out, c->title);
	buf_add_cstr(p->out, "\">");
	draw_x_axis(p);
	draw_y_axis(p);
	svg_line(p->out, "axis", CHART_LEFT, CHART_HEIGHT - CHART_BOTTOM, CHART_WIDTH - CHART_RIGHT, CHART_HEIGHT - CHART_BOTTOM);
	for (size_t i = 0; i < c->series_count; i++)
		draw_band(p, &c->series[i], i % COLOURS);
	for (size_t i = 0; i < c->series_count; i++)
		draw_line(p, &c->series[i], i % COLOURS);
	for (size_t i = 0; i < c->mark_count; i++)
		draw_mark(p, &c->marks[i]);
	buf_add_cstr(p->out, "</svg>\n");
}

static void draw_legend(struct buf *out, const struct html_chart *c)
{
	buf_add_cstr(out, "<ul class=\"legend\">");
	for (size_t i = 0; i < c->series_count; i++) {
		buf_printf(out, "<li><svg viewBox=\"0 0 26 9\" aria-hidden=\"true\"><path class=\"l l%zu\" d=\"M0 5H26\"/></svg>",
			i % COLOURS);
		html_text(out, c->series[i].name);
		buf_add_cstr(out, "</li>");
	}
	buf_add_cstr(out, "</ul>\n");
}

void html_charts_open(struct buf *out)
{
	buf_add_cstr(out, "<div class=\"charts\">\n");
}

void html_charts_close(struct buf *out)
{
	buf_add_cstr(out, "</div>\n");
}

void html_chart(struct buf *out, const struct html_chart *c)
{
	struct plot p = { .c = c, .out = out };

	buf_add_cstr(out, "<figure>\n<h3>");
	html_text(out, c->title);
	buf_add_cstr(out, "</h3>\n");
	if (c->note.len)
		html_paragraph(out, c->note);
	if (c->series_count > 1)
		draw_legend(out, c);
	draw_plot(&p);
	if (c->table)
		html_table(out, c->table);
	buf_add_cstr(out, "</figure>\n");
}
