/* Inside of view.h's implementation only. */
#ifndef GOODPUT_TUI_VIEW_INTERNAL_H
#define GOODPUT_TUI_VIEW_INTERNAL_H

#include "tui/view.h"

/* view_findings.c */
void view_findings(struct view *v, const struct report *r);
/* history.c: the points of a scope, oldest first. */
size_t view_history_copy(const struct view_history *h, struct str scope, float trends[VIEW_TRENDS][TREND_POINTS]);

#endif
