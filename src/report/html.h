/* html: pages that stand alone, from plain data: no script, no font, no address; charts are SVG. They follow the reader's light or dark
 * setting, fit 390 pixels and paper, and every chart has its figures in a table.
 *
 * All text is escaped here; whoever calls hands in text as it is, also text of others. NaN is "not known": a gap in a line, an empty cell.
 */
#ifndef GOODPUT_REPORT_HTML_H
#define GOODPUT_REPORT_HTML_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum html_tone { HTML_PLAIN, HTML_GOOD, HTML_WARNING, HTML_BAD, HTML_UNKNOWN };

/* ---- the page, from top to bottom ---- */

void html_open(struct buf *out, struct str title, struct str subtitle);
/* One sentence in a box: "inconclusive: ..." */
void html_verdict(struct buf *out, enum html_tone tone, struct str text);
void html_section_open(struct buf *out, struct str heading); /* sections do not nest */
void html_section_close(struct buf *out);
void html_paragraph(struct buf *out, struct str text);
void html_close(struct buf *out);

/* Text as HTML: escaped; control bytes and bytes that are no UTF-8 become U+FFFD. */
void html_text(struct buf *out, struct str text);

/* ---- tables ---- */

struct html_column {
	const char *name;
	bool number; /* aligned to the right */
};
struct html_table {
	struct str caption; /* may be empty */
	const struct html_column *columns;
	size_t column_count;
	const struct str *cells; /* row after row; empty: not known */
	size_t row_count;
	const enum html_tone *tones; /* one a row, or NULL */
};
void html_table(struct buf *out, const struct html_table *t);

/* ---- charts ---- */

struct html_axis {
	struct str label; /* with the unit: "TTFT, ms" */
	bool log;         /* values at or below 0 are not drawn */
	double from, to;  /* NaN: from the data; a linear axis then begins at 0 when the data are not below */
};
struct html_series {
	struct str name;
	const double *x, *y;      /* x ascending */
	const double *low, *high; /* a band around it, or NULL */
	size_t count;
	bool steps; /* a value holds until the next x */
};
/* A line across: a limit, the start of the measured window. */
struct html_mark {
	struct str label;
	double at;
	bool vertical;
};
struct html_chart {
	struct str title, note; /* the note may be empty */
	struct html_axis x, y;
	const struct html_series *series; /* four colours; more take turns */
	size_t series_count;
	const struct html_mark *marks;
	size_t mark_count;
	const struct html_table *table; /* the figures of the chart */
};
/* Charts stand two in a row where there is room; open and close such a row around them. */
void html_charts_open(struct buf *out);
void html_charts_close(struct buf *out);
void html_chart(struct buf *out, const struct html_chart *c);

/* ---- requests as lines of time ---- */

struct html_timeline {
	struct str label, note;              /* "#123, 45 tokens"; what was wrong */
	double due_ms, submitted_ms, end_ms; /* on one clock; due NaN: a closed loop */
	const double *delivery_ms;           /* ascending */
	const uint32_t *tokens;              /* of each delivery, or NULL */
	size_t delivery_count;
	bool failed;
};
/* All begin at 0: the earlier of due and submitted. One axis. The table stands beside them; NULL: none. */
void html_timelines(struct buf *out, struct str title, struct str note, const struct html_timeline *lines, size_t count,
	const struct html_table *table);

/* ---- changes ---- */

/* A figure before and after: drawn as its relative change with its interval, beside what it was and is. */
struct html_change {
	struct str name, before, after; /* "TTFT P99", "412 ms", "455 ms" */
	double change, low, high;       /* 0.1 = 10 % more; NaN ends: no bound; NaN change: cannot be said */
	enum html_tone tone;
	struct str verdict; /* "worse", "no difference seen"; may be empty */
};
void html_changes(struct buf *out, struct str title, struct str note, const struct html_change *changes, size_t count);

#endif
