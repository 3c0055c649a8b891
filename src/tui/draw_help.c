/* The screen of keys. */
#include "tui/draw.h"

static const struct {
	const char *keys, *what;
} lines[] = {
	{ "arrows, j k", "choose a row; PgUp PgDn Home End as usual; the mouse works too" },
	{ "Enter, l", "the chosen replica in detail; again: all its readings with their basis" },
	{ "Esc, h", "back" },
	{ "0", "the whole fleet in detail" },
	{ "f", "findings: evidence, actions, commands to copy" },
	{ "a", "all readings of the chosen replica (or of the fleet)" },
	{ "< >", "sort by another column; I reverses" },
	{ "/", "filter replicas by name, state, model or pool; ! inverts the filter" },
	{ "space", "pause and go on; r looks now; + - look more or less often" },
	{ "[ ]", "earlier and later moments; } the newest" },
	{ "q", "quit" },
	{ "", "" },
	{ "marks", "\u25cf critical   \u25b2 warning   \u25cb remark   \u2715 does not answer   * stale: stands still since" },
	{ "figures", "? is unknown, - does not apply or had no traffic; > and <= are bounds" },
	{ "where from", "every figure's basis stands below the list of all readings (a)" },
};

void draw_help(struct frame *f, const struct layout *l)
{
	int row = l->body;

	draw_heading(f, row++, "keys");
	for (size_t i = 0; i < ARRAY_LEN(lines) && row < l->keys; i++, row++) {
		frame_text(f, row, 1, 13, TUI_BOLD, str_from(lines[i].keys));
		frame_text(f, row, 15, f->columns - 15, TUI_PLAIN, str_from(lines[i].what));
	}
}
