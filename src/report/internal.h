/* internal: what the files of a page share; not for other folders. */
#ifndef GOODPUT_REPORT_INTERNAL_H
#define GOODPUT_REPORT_INTERNAL_H

#include "report/html.h"

/* Charts are drawn in these units and scaled to their column: 400 units are about as many pixels, so that text stays readable on a
 * telephone. */
enum { CHART_WIDTH = 400, CHART_HEIGHT = 236, CHART_LEFT = 50, CHART_RIGHT = 12, CHART_TOP = 26, CHART_BOTTOM = 38 };

/* Value to place; an axis's numbers. */
struct scale {
	double from, to;      /* in values; of log scales above 0 */
	bool log, exact;      /* exact: a linear scale is not widened to round numbers */
	double start, length; /* in units; length may be negative */
};
enum { TICKS_MAX = 12 };
/* Widens [from, to] to round numbers and fills in the ticks; returns how many. `wanted` is about how many there should be. */
size_t scale_ticks(struct scale *s, int wanted, double ticks[TICKS_MAX]);
double scale_place(const struct scale *s, double value);
/* "250", "0.05", "1.5k", "2M". Needs 32 bytes. */
size_t scale_label(double value, char *text);

extern const char report_style[];

const char *html_tone_class(enum html_tone tone);
void svg_line(struct buf *out, const char *style, double x1, double y1, double x2, double y2);
/* `anchor`: "start", "middle", "end". Escapes. */
void svg_text(struct buf *out, const char *style, const char *anchor, double x, double y, struct str text);

#endif
