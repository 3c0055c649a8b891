/* top: the live view in a terminal. Gathering runs on a thread of its own, so that keys answer at once however slow a target is. */
#ifndef GOODPUT_TUI_TOP_H
#define GOODPUT_TUI_TOP_H

#include "tui/frame.h"
#include "watch/follow.h"

struct top_options {
	const char *source; /* what is looked at, for the title */
	int64_t interval_ms;
	bool color, ascii, mouse;
	enum frame_graph graph;
	const volatile bool *stop; /* set by Ctrl-C */
};

/* Until the person quits. Returns 0, the number of the signal that asked to end, or -1 with an error. */
int top_run(struct follow *follow, const struct top_options *options, struct error *e);
/* One frame of this size as text: of live targets after two looks, `interval_ms` apart. Fills the report's exit status; false with an
 * error. */
bool top_once(struct follow *follow, const struct top_options *options, int rows, int columns, struct buf *out, int *exit_status,
	struct error *e);

#endif
