/* frame: a grid of character cells, drawn into by pure functions and then shown by a terminal or printed as text.
 *
 * Nothing is written outside the grid: what does not fit is cut, with an ellipsis where it matters. Control characters in texts of others
 * become '?'. Wide characters take two cells. */
#ifndef GOODPUT_TUI_FRAME_H
#define GOODPUT_TUI_FRAME_H

#include "base/buf.h"

enum tui_style {
	TUI_PLAIN,
	TUI_BOLD,
	TUI_DIM,
	TUI_FINE,
	TUI_INFO,
	TUI_WARNING,
	TUI_CRITICAL,
	TUI_UNKNOWN,
	TUI_HEAD, /* heading of a section */
	TUI_BAR,  /* title and key line, reversed */
	TUI_STYLES
};

struct frame_cell {
	uint32_t rune;    /* 0: second half of a wide character */
	uint8_t style;    /* enum tui_style */
	uint8_t selected; /* drawn reversed */
};

/* What the terminal can show. */
enum frame_graph { GRAPH_BRAILLE, GRAPH_BLOCK, GRAPH_PLAIN };

struct frame {
	struct frame_cell *cells;
	int rows, columns;
	bool ascii; /* no UTF-8: other characters are replaced */
	enum frame_graph graph;
};

void frame_init(struct frame *f, int rows, int columns);
void frame_fini(struct frame *f);
void frame_clear(struct frame *f);
/* Writes text into [column, column + width) of the row, cut with an ellipsis; returns the columns used. */
int frame_text(struct frame *f, int row, int column, int width, enum tui_style style, struct str text);
int frame_print(struct frame *f, int row, int column, int width, enum tui_style style, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* The same, ending at the right edge of the field. */
void frame_right(struct frame *f, int row, int column, int width, enum tui_style style, struct str text);
/* Wraps text at blanks into at most `rows` rows, the last one cut with an ellipsis; returns the rows used. */
int frame_wrap(struct frame *f, int row, int column, int width, int rows, enum tui_style style, struct str text);
/* The row in one style (kept: runes). */
void frame_row_style(struct frame *f, int row, enum tui_style style);
void frame_row_select(struct frame *f, int row);
/* A sparkline of the newest values that fit, from `floor` to the largest (at least `ceiling`); NAN is a gap. */
void frame_spark(struct frame *f, int row, int column, int width, enum tui_style style, const float *values, size_t count, double ceiling);
/* A bar filled to a share of 0 to 1. */
void frame_gauge(struct frame *f, int row, int column, int width, enum tui_style style, double share);
/* All rows as text, trailing blanks cut. */
void frame_export(const struct frame *f, struct buf *out);

#endif
