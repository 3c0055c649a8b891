/* Which rows the table shows, in which order. */
#include "tui/state.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

static bool contains_nocase(struct str text, struct str part)
{
	for (size_t i = 0; i + part.len <= text.len; i++)
		if (str_eq_nocase(str_of(text.ptr + i, part.len), part))
			return true;
	return false;
}

static bool passes(const struct view_scope *row, const struct top_state *s)
{
	struct str filter = str_from(s->filter);

	if (!filter.len)
		return true;
	bool hit = contains_nocase(row->label, filter) || contains_nocase(row->state, filter) || contains_nocase(row->about, filter);

	return hit != s->filter_inverted;
}

/* Classes only: a figure that jitters must not move rows. */
static int trouble_class(const struct view_scope *s)
{
	return s->badness >= 1e6 ? 4 : s->badness >= 1e4 ? 3 : s->badness >= 1e3 ? 2 : s->badness >= 100 ? 1 : 0;
}

static int by_name(struct str a, struct str b)
{
	size_t i = 0, k = 0;

	/* pod-9 before pod-10 */
	while (i < a.len && k < b.len) {
		if (isdigit((unsigned char)a.ptr[i]) && isdigit((unsigned char)b.ptr[k])) {
			unsigned long long x = strtoull(a.ptr + i, NULL, 10), y = strtoull(b.ptr + k, NULL, 10);

			if (x != y)
				return x < y ? -1 : 1;
			while (i < a.len && isdigit((unsigned char)a.ptr[i]))
				i++;
			while (k < b.len && isdigit((unsigned char)b.ptr[k]))
				k++;
		} else if (a.ptr[i] != b.ptr[k]) {
			return (unsigned char)a.ptr[i] < (unsigned char)b.ptr[k] ? -1 : 1;
		} else {
			i++;
			k++;
		}
	}
	return a.len - i < b.len - k ? -1 : a.len - i > b.len - k;
}

/* What is unknown comes last, in either direction. */
static int by_value(double a, double b, bool reversed)
{
	if (isnan(a) || isnan(b))
		return (int)isnan(a) - (int)isnan(b);
	return a == b ? 0 : (a > b) != reversed ? -1 : 1;
}

static int row_compare(const void *a, const void *b, void *context)
{
	const struct {
		const struct view *view;
		const struct top_state *state;
	} *c = context;
	const struct view_scope *x = &c->view->scopes[*(const size_t *)a], *y = &c->view->scopes[*(const size_t *)b];
	int order = 0, sign = c->state->reversed ? -1 : 1;

	if (c->state->sort == SORT_TROUBLE)
		order = sign * (trouble_class(y) - trouble_class(x));
	else if (c->state->sort < VIEW_COLUMNS)
		order = by_value(x->cells[c->state->sort].value, y->cells[c->state->sort].value, c->state->reversed);
	else
		order = sign * by_name(x->label, y->label);
	return order ? order : by_name(x->label, y->label);
}

size_t rows_of(const struct view *v, const struct top_state *s, size_t *rows)
{
	struct {
		const struct view *view;
		const struct top_state *state;
	} context = { v, s };
	size_t count = 0;

	for (size_t i = v->first_row; i < v->scope_count; i++)
		if (passes(&v->scopes[i], s))
			rows[count++] = i;
	qsort_r(rows, count, sizeof *rows, row_compare, &context);
	return count;
}

size_t rows_selected(const struct view *v, const struct top_state *s, const size_t *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_is(v->scopes[rows[i]].name, s->selected))
			return i;
	return 0;
}

const struct view_scope *state_scope(const struct view *v, const struct top_state *s)
{
	const struct view_scope *scope = s->selected[0] ? view_scope(v, str_from(s->selected)) : NULL;

	return scope ? scope : &v->scopes[0];
}
