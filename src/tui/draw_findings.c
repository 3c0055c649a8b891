/* Findings: the block on the screen of the fleet, and a screen of their own. */
#include "tui/draw.h"

#include <stdio.h>

enum { BLOCK_ACTION_ROWS = 2 };

static void where_text(const struct view_finding *x, struct buf *out)
{
	buf_add(out, x->where);
	if (!str_eq(x->place, x->where) && !str_is(x->place, "fleet"))
		buf_printf(out, " \u00b7 pool " STR_FMT, STR_ARG(x->place));
	if (x->onset.len)
		buf_printf(out, " \u00b7 since " STR_FMT, STR_ARG(x->onset));
	if (x->seen.len)
		buf_printf(out, " \u00b7 seen since " STR_FMT, STR_ARG(x->seen));
	if (x->over.len)
		buf_printf(out, " \u00b7 last seen " STR_FMT, STR_ARG(x->over));
	if (x->blast.len)
		buf_printf(out, " \u00b7 " STR_FMT, STR_ARG(x->blast));
}

static void draw_title_row(struct frame *f, int row, const struct view_finding *x)
{
	int used = frame_text(f, row, 0, 2, severity_style(x->severity), severity_mark(x->severity)) + 1;

	used += frame_text(f, row, used, f->columns - used, severity_style(x->severity), str_from(severity_name(x->severity))) + 1;
	frame_text(f, row, used, f->columns - used, x->now ? TUI_BOLD : TUI_DIM, x->title);
}

/* One line for one that is not in full. */
static void draw_brief(struct frame *f, int row, const struct view_finding *x)
{
	struct buf text;

	buf_init(&text, 65536);
	buf_printf(&text, STR_FMT " \u00b7 ", STR_ARG(x->title));
	where_text(x, &text);
	int used = frame_text(f, row, 0, 2, severity_style(x->severity), severity_mark(x->severity)) + 1;

	used += frame_text(f, row, used, 9, severity_style(x->severity), str_from(severity_name(x->severity))) + 1;
	frame_text(f, row, used, f->columns - used, x->now ? TUI_PLAIN : TUI_DIM, buf_str(&text));
	buf_fini(&text);
}

static int draw_first(struct frame *f, int row, int last, const struct view_finding *x)
{
	struct buf text;

	draw_title_row(f, row, x);
	buf_init(&text, 65536);
	where_text(x, &text);
	row = draw_field(f, row + 1, last, "  where", TUI_PLAIN, buf_str(&text));
	buf_fini(&text);
	if (x->action_count) {
		char label[24];
		int end = row + BLOCK_ACTION_ROWS < last ? row + BLOCK_ACTION_ROWS : last;

		snprintf(label, sizeof label, "  %.*s", (int)x->actions[0].grade.len, x->actions[0].grade.ptr);
		row = draw_field(f, row, end, label, TUI_BOLD, x->actions[0].text);
	}
	return draw_field(f, row, row + 1 < last ? row + 1 : last, "  evidence", TUI_PLAIN, x->evidence);
}

void draw_finding_block(struct frame *f, const struct layout *l, const struct view *v)
{
	int row = l->findings, last = l->findings + l->findings_rows;
	size_t shown = 0;

	draw_heading(f, l->findings_head, "findings");
	if (!v->finding_count) {
		frame_text(f, row, 0, f->columns, TUI_DIM,
			v->targets_up ? STR("none: no red line is crossed") : STR("nothing could be judged: no target answers"));
		return;
	}
	/* Room for one line of each of the others, as far as it goes. */
	int others = v->finding_count > 1 ? (int)v->finding_count - 1 : 0, kept = others > 2 ? 2 : others;

	row = draw_first(f, row, last - kept, &v->findings[shown++]);
	while (row < last - 1 && shown < v->finding_count)
		draw_brief(f, row++, &v->findings[shown++]);
	if (shown + 1 == v->finding_count)
		draw_brief(f, row, &v->findings[shown]);
	else if (shown < v->finding_count)
		frame_print(f, row, 3, f->columns, TUI_DIM, "and %zu more: f", v->finding_count - shown);
}

/* ---- the screen of findings ---- */

static int draw_actions(struct frame *f, int row, int last, const struct view_finding *x)
{
	for (size_t i = 0; i < x->action_count && row < last; i++) {
		char grade[16];

		snprintf(grade, sizeof grade, STR_FMT, STR_ARG(x->actions[i].grade));
		row = draw_field(f, row, last, grade, TUI_BOLD, x->actions[i].text);
		row = draw_field(f, row, last, "  risk", TUI_DIM, x->actions[i].risk);
		row = draw_field(f, row, last, "  $", TUI_INFO, x->actions[i].command);
	}
	return row;
}

static void draw_detail(struct frame *f, int row, int last, const struct view_finding *x)
{
	struct buf text;

	row += frame_wrap(f, row, 0, f->columns, 2, severity_style(x->severity), x->title);
	buf_init(&text, 65536);
	where_text(x, &text);
	buf_printf(&text, " [" STR_FMT "]", STR_ARG(x->id));
	row = draw_field(f, row, last, "where", TUI_PLAIN, buf_str(&text));
	buf_fini(&text);
	row = draw_field(f, row, last, "evidence", TUI_PLAIN, x->evidence);
	row = draw_field(f, row, last, "", TUI_PLAIN, x->detail);
	row = draw_actions(f, row, last, x);
	row = draw_field(f, row, last, "counter", TUI_DIM, x->counter);
	row = draw_field(f, row, last, "changed", TUI_PLAIN, x->changed);
	row = draw_field(f, row, last, "symptoms", TUI_DIM, x->symptoms);
	draw_field(f, row, last, "why", TUI_DIM, x->explain);
}

void draw_findings(struct frame *f, const struct layout *l, const struct view *v, const struct top_state *s)
{
	int list_rows = l->body_rows / 4, row = l->body;
	size_t at = s->finding < v->finding_count ? s->finding : v->finding_count ? v->finding_count - 1 : 0;
	size_t first = at >= (size_t)list_rows ? at - (size_t)list_rows + 1 : 0;
	char head[80];

	snprintf(head, sizeof head, "findings (%zu)", v->finding_count);
	draw_heading(f, row++, head);
	if (!v->finding_count) {
		frame_text(f, row, 0, f->columns, TUI_DIM,
			v->targets_up ? STR("none: no red line is crossed") : STR("nothing could be judged: no target answers"));
		return;
	}
	for (int i = 0; i < list_rows && first + (size_t)i < v->finding_count; i++) {
		draw_brief(f, row + i, &v->findings[first + (size_t)i]);
		if (first + (size_t)i == at)
			frame_row_select(f, row + i);
	}
	row += list_rows;
	draw_heading(f, row++, "");
	draw_detail(f, row, l->keys, &v->findings[at]);
}
