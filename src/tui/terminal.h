/* terminal: the screen and the keyboard (ncursesw). One at a time in a process.
 *
 * However the program ends (quit, SIGTERM, SIGHUP, a crash), the terminal is what it was before; Ctrl-Z gives it back, fg draws anew. */
#ifndef GOODPUT_TUI_TERMINAL_H
#define GOODPUT_TUI_TERMINAL_H

#include "base/error.h"
#include "tui/frame.h"

struct terminal_key {
	uint32_t key; /* as state.h has them; 0: none came */
	bool click;   /* a click or a wheel at `row` */
	bool wheel_up, wheel_down;
	int row;
	bool resized;
};

/* False with an error when standard output is no terminal that can be driven. */
bool terminal_open(bool color, bool mouse, struct error *e);
void terminal_close(void);
void terminal_size(int *rows, int *columns);
/* Only cells that changed are sent. */
void terminal_show(const struct frame *f);
/* Waits at most this long. */
struct terminal_key terminal_key(int timeout_ms);
/* Did SIGTERM or SIGHUP ask to end? The number of the signal, else 0. */
int terminal_ended(void);

#endif
