/* Inside of view.h's implementation only. */
#ifndef GOODPUT_TUI_VIEW_INTERNAL_H
#define GOODPUT_TUI_VIEW_INTERNAL_H

#include "tui/view.h"

/* view_findings.c */
void view_findings(struct view *v, const struct report *r, const struct view_history *h);
/* history.c: since when a finding is seen; the window's start when this is the first time. */
int64_t view_history_seen(const struct view_history *h, const struct report *r, const struct finding *f);
/* The points of a scope, oldest first. */
size_t view_history_copy(const struct view_history *h, struct str scope, float trends[VIEW_TRENDS][TREND_POINTS]);

#endif
