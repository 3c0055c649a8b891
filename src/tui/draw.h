/* draw: a view and a state onto a frame. Pure: the same input gives the same cells. */
#ifndef GOODPUT_TUI_DRAW_H
#define GOODPUT_TUI_DRAW_H

#include "tui/frame.h"
#include "tui/layout.h"
#include "tui/state.h"

void draw(struct frame *f, const struct view *v, const struct top_state *s);
/* Before there is anything to show: what is being done, or why it failed. */
void draw_waiting(struct frame *f, const struct top_state *s, const char *what);

/* ---- inside ---- */

enum tui_style severity_style(enum severity s);
struct str severity_mark(enum severity s); /* a sign that is told apart without colour */
void draw_heading(struct frame *f, int row, const char *text);
/* "label  text" in one row: the label dim in a field of its own; returns the row after it. */
int draw_field(struct frame *f, int row, int last, const char *label, enum tui_style style, struct str text);
/* The value without the word that its label says: "3" of "3 requests". "?" when unknown. */
struct str draw_value(const struct view_reading *r);
/* draw_findings.c */
void draw_finding_block(struct frame *f, const struct layout *l, const struct view *v);
void draw_findings(struct frame *f, const struct layout *l, const struct view *v, const struct top_state *s);
/* draw_scope.c */
void draw_scope(struct frame *f, const struct layout *l, const struct view *v, const struct top_state *s);
void draw_readings(struct frame *f, const struct layout *l, const struct view *v, const struct top_state *s);
/* draw_help.c */
void draw_help(struct frame *f, const struct layout *l);

#endif
