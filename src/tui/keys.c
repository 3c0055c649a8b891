/* What keys do. */
#include "tui/state.h"

#include "base/mem.h"

#include <stdio.h>

enum { INTERVAL_LEAST_MS = 500, INTERVAL_MOST_MS = 60000 };

static void say(struct top_state *s, const char *text)
{
	snprintf(s->message, sizeof s->message, "%s", text);
}

static size_t moved(size_t at, size_t count, int64_t by)
{
	int64_t to = (int64_t)at + by;

	return !count ? 0 : to < 0 ? 0 : to >= (int64_t)count ? count - 1 : (size_t)to;
}

static void select_scope(struct top_state *s, const struct view_scope *scope)
{
	snprintf(s->selected, sizeof s->selected, STR_FMT, STR_ARG(scope->name));
}

void top_select_row(struct top_state *s, const struct view *v, size_t row)
{
	size_t *rows = mem_zalloc(v->scope_count + 1, sizeof *rows), count = rows_of(v, s, rows);

	if (row < count)
		select_scope(s, &v->scopes[rows[row]]);
	mem_free(rows);
}

static void move_row(struct top_state *s, const struct view *v, int64_t by)
{
	size_t *rows = mem_zalloc(v->scope_count + 1, sizeof *rows), count = rows_of(v, s, rows);

	/* The first key shows where the selection is. */
	if (!s->selected[0])
		by = by < 0 || by > 1 ? by : 0;
	if (count)
		select_scope(s, &v->scopes[rows[moved(rows_selected(v, s, rows, count), count, by)]]);
	mem_free(rows);
}

static size_t readings_shown(const struct view *v, const struct view_scope *scope)
{
	size_t count = 0;

	for (size_t i = 0; i < v->signal_count; i++)
		count += scope->readings[i].shown;
	return count;
}

static void move(struct top_state *s, const struct view *v, int64_t by)
{
	if (s->screen == SCREEN_FINDINGS)
		s->finding = moved(s->finding, v->finding_count, by);
	else if (s->screen == SCREEN_READINGS)
		s->reading = moved(s->reading, readings_shown(v, state_scope(v, s)), by);
	else
		move_row(s, v, by);
}

static const char *sort_name(int sort)
{
	return sort == SORT_TROUBLE ? "trouble" : sort == SORT_NAME ? "name" : view_columns[sort].head;
}

static void sort_by(struct top_state *s, int step)
{
	s->sort = (s->sort + step + SORT_NAME + 1) % (SORT_NAME + 1);
	snprintf(s->message, sizeof s->message, "sorted by %s%s", sort_name(s->sort), s->reversed ? ", reversed" : "");
}

static enum top_ask pace(struct top_state *s, bool slower)
{
	int64_t wanted = slower ? s->interval_ms * 2 : s->interval_ms / 2;

	s->interval_ms = wanted < INTERVAL_LEAST_MS ? INTERVAL_LEAST_MS : wanted > INTERVAL_MOST_MS ? INTERVAL_MOST_MS : wanted;
	snprintf(s->message, sizeof s->message, "every %.3g s", (double)s->interval_ms / 1000);
	return ASK_INTERVAL;
}

static void back(struct top_state *s)
{
	if (s->screen == SCREEN_HELP)
		s->screen = s->before_help;
	else if (s->screen == SCREEN_READINGS)
		s->screen = SCREEN_SCOPE;
	else if (s->screen != SCREEN_FLEET)
		s->screen = SCREEN_FLEET;
	else if (s->filter[0])
		s->filter[0] = '\0';
	else
		s->selected[0] = '\0';
}

static void enter(struct top_state *s, const struct view *v)
{
	if (s->screen == SCREEN_FLEET) {
		move_row(s, v, 0); /* the first row when none is selected */
		s->screen = SCREEN_SCOPE;
	} else if (s->screen == SCREEN_SCOPE) {
		s->screen = SCREEN_READINGS;
		s->reading = 0;
	} else if (s->screen == SCREEN_HELP) {
		back(s);
	}
}

/* A key while the filter is typed. */
static void type(struct top_state *s, uint32_t key)
{
	size_t length = strlen(s->filter);

	if (key == TOP_KEY_ENTER) {
		s->typing = false;
	} else if (key == TOP_KEY_ESCAPE) {
		s->typing = false;
		s->filter[0] = '\0';
	} else if (key == TOP_KEY_BACKSPACE) {
		if (length)
			s->filter[length - 1] = '\0';
		else
			s->typing = false;
	} else if (key > ' ' && key < 0x7f && length + 1 < sizeof s->filter) {
		s->filter[length] = (char)key;
		s->filter[length + 1] = '\0';
	}
}

static void open_screen(struct top_state *s, enum top_screen screen)
{
	if (screen == SCREEN_HELP)
		s->before_help = s->screen;
	s->screen = screen;
}

static enum top_ask key_command(struct top_state *s, const struct view *v, uint32_t key)
{
	switch (key) {
	case 'q':
	case 'Q':
	case 4: return ASK_QUIT;
	case ' ':
		s->paused = !s->paused;
		say(s, s->paused ? "paused: space goes on" : "");
		return ASK_PAUSE;
	case 'r': return ASK_REFRESH;
	case '+':
	case '=': return pace(s, false);
	case '-': return pace(s, true);
	case '[': return ASK_EARLIER;
	case ']': return ASK_LATER;
	case '}': return ASK_NEWEST;
	case '?': open_screen(s, s->screen == SCREEN_HELP ? s->before_help : SCREEN_HELP); break;
	case 'f': open_screen(s, s->screen == SCREEN_FINDINGS ? SCREEN_FLEET : SCREEN_FINDINGS); break;
	case 'd': open_screen(s, s->screen == SCREEN_SCOPE ? SCREEN_FLEET : SCREEN_SCOPE); break;
	case 'a': open_screen(s, s->screen == SCREEN_READINGS ? SCREEN_SCOPE : SCREEN_READINGS); break;
	case '0':
		select_scope(s, &v->scopes[0]);
		open_screen(s, SCREEN_SCOPE);
		break;
	case '<':
	case ',': sort_by(s, -1); break;
	case '>':
	case '.': sort_by(s, 1); break;
	case 'I':
		s->reversed = !s->reversed;
		sort_by(s, 0);
		break;
	case '/':
		s->typing = true;
		s->filter_inverted = false;
		s->screen = SCREEN_FLEET;
		break;
	case '!':
		s->filter_inverted = !s->filter_inverted;
		say(s, s->filter_inverted ? "filter inverted" : "filter as typed");
		break;
	case TOP_KEY_ENTER:
	case 'l': enter(s, v); break;
	case TOP_KEY_ESCAPE:
	case 'h':
	case TOP_KEY_BACKSPACE: back(s); break;
	default: say(s, "no such key here: ? lists them"); break;
	}
	return ASK_NOTHING;
}

enum top_ask top_key(struct top_state *s, const struct view *v, uint32_t key, int page)
{
	s->message[0] = '\0';
	if (s->typing) {
		type(s, key);
		return ASK_NOTHING;
	}
	switch (key) {
	case TOP_KEY_UP:
	case 'k': move(s, v, -1); break;
	case TOP_KEY_DOWN:
	case 'j': move(s, v, 1); break;
	case TOP_KEY_PAGE_UP: move(s, v, -page); break;
	case TOP_KEY_PAGE_DOWN: move(s, v, page); break;
	case TOP_KEY_HOME:
	case 'g': move(s, v, -1000000); break;
	case TOP_KEY_END:
	case 'G': move(s, v, 1000000); break;
	default: return key_command(s, v, key);
	}
	return ASK_NOTHING;
}
