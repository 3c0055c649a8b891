/* state: what the person at the terminal has chosen. Keys change it, drawing reads it. */
#ifndef GOODPUT_TUI_STATE_H
#define GOODPUT_TUI_STATE_H

#include "tui/view.h"

enum top_screen { SCREEN_FLEET, SCREEN_FINDINGS, SCREEN_SCOPE, SCREEN_READINGS, SCREEN_HELP };

/* Beside the columns of the table. */
enum { SORT_TROUBLE = VIEW_COLUMNS, SORT_NAME };

struct top_state {
	enum top_screen screen, before_help;
	char selected[256]; /* name of the scope; the selection follows it. Empty: the first row */
	size_t finding;     /* selected on the screen of findings */
	size_t reading;     /* selected among those that the screen of readings shows */
	int sort;           /* enum view_column, SORT_TROUBLE or SORT_NAME */
	bool reversed;
	char filter[64];
	bool filter_inverted, typing; /* typing: keys go into the filter */
	bool paused;
	int64_t interval_ms;
	char message[160]; /* confirms a key; empty: the keys are shown */
	/* Set by whoever drives it. */
	const char *source;  /* "4 targets", "http://prom:9090" */
	int64_t age_ms;      /* of what is shown; negative: of the past on purpose */
	bool in_history;     /* a moment of the past is shown */
	bool live;           /* more is coming */
	const char *trouble; /* why nothing newer came; NULL */
};

/* Indices of the rows of the table, filtered and sorted; the room is view->scope_count. */
size_t rows_of(const struct view *v, const struct top_state *s, size_t *rows);
/* Position of the selected scope among the rows; 0 when it is not there. */
size_t rows_selected(const struct view *v, const struct top_state *s, const size_t *rows, size_t count);
/* What the screens of one scope are about: the selected one, else the fleet. */
const struct view_scope *state_scope(const struct view *v, const struct top_state *s);

/* keys.c. Keys are characters, or one of these. */
enum {
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_BACKSPACE
};
enum top_ask { ASK_NOTHING, ASK_QUIT, ASK_REFRESH, ASK_PAUSE, ASK_EARLIER, ASK_LATER, ASK_NEWEST, ASK_INTERVAL };
/* Applies a key to the state; what must be done beyond drawing anew is returned. `page`: rows that one page moves. */
enum top_ask top_key(struct top_state *s, const struct view *v, uint32_t key, int page);
/* Selects the nth row of the table (a click). */
void top_select_row(struct top_state *s, const struct view *v, size_t row);

#endif
