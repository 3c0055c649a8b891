#include "store/fold.h"

static int64_t window_end(const struct series_windows *w, size_t i)
{
	return w->first_end_ms + (int64_t)i * w->step_ms;
}

static int64_t window_start(const struct series_windows *w, size_t i)
{
	return window_end(w, i) - w->range_ms;
}

struct run run_of(const int64_t *t, size_t count)
{
	return (struct run){ t, t[0], t[count - 1], (uint32_t)count };
}

/* The first window that ends at t_ms or later; w->count when none does. */
static size_t window_ending(const struct series_windows *w, int64_t t_ms)
{
	uint64_t behind = t_ms > w->first_end_ms ? (uint64_t)t_ms - (uint64_t)w->first_end_ms : 0, i;

	if (!behind)
		return 0;
	if (!w->step_ms)
		return w->count;
	i = behind / (uint64_t)w->step_ms + (behind % (uint64_t)w->step_ms != 0);
	return i < w->count ? i : w->count;
}

bool windows_meet(const struct series_windows *w, int64_t t_first, int64_t t_last)
{
	size_t i = window_ending(w, t_first);

	return i < w->count && window_start(w, i) < t_last;
}

bool windows_cut(const struct series_windows *w, int64_t t_first, int64_t t_last)
{
	size_t ends = window_ending(w, t_first), starts = window_ending(w, t_first + w->range_ms);

	return (ends < w->count && window_end(w, ends) < t_last) || (starts < w->count && window_start(w, starts) < t_last);
}

/* ---- times ---- */

void fold_times_init(struct fold_times *f, struct arena *arena, const struct series_windows *w)
{
	*f = (struct fold_times){ .count = arena_alloc(arena, w->count * sizeof *f->count),
		.t_first = arena_alloc(arena, w->count * sizeof *f->t_first),
		.t_last = arena_alloc(arena, w->count * sizeof *f->t_last) };
}

struct fold_times *fold_times_copy(const struct fold_times *f, struct arena *arena, size_t windows)
{
	struct fold_times *copy = arena_alloc(arena, sizeof *copy);

	*copy = *f;
	copy->count = arena_alloc(arena, windows * sizeof *f->count);
	copy->t_first = arena_alloc(arena, windows * sizeof *f->t_first);
	copy->t_last = arena_alloc(arena, windows * sizeof *f->t_last);
	memcpy(copy->count, f->count, f->opened * sizeof *f->count);
	memcpy(copy->t_first, f->t_first, f->opened * sizeof *f->t_first);
	memcpy(copy->t_last, f->t_last, f->closed * sizeof *f->t_last);
	return copy;
}

static int64_t time_at(const struct run *run, uint32_t row)
{
	return row == 0 ? run->t_first : row + 1 == run->count ? run->t_last : run->t[row];
}

static void window_close(struct fold_times *f, size_t i, uint32_t end, int64_t t_last)
{
	/* It has begun behind its end when there is no sample in it. */
	f->count[i] = end > f->count[i] ? end - f->count[i] : 0;
	f->t_last[i] = t_last;
}

void fold_times_move(struct fold_times *f, const struct moves *m, const struct run *run)
{
	for (size_t i = m->close_from; i < m->close_to; i++) {
		if (i >= f->opened) {
			f->count[i] = 0;
			f->opened = i + 1;
		} else {
			window_close(f, i, f->seen, f->before_ms);
		}
	}
	for (size_t i = m->open_from; i < m->open_to; i++) {
		f->count[i] = f->seen + m->open_row[i - m->open_from];
		f->t_first[i] = time_at(run, m->open_row[i - m->open_from]);
	}
	f->opened = m->open_to;
	for (size_t i = m->close_to; i < m->end_to; i++)
		window_close(f, i, f->seen + m->end_row[i - m->close_to] + 1, time_at(run, m->end_row[i - m->close_to]));
	f->closed = m->end_to;
	f->seen += run->count;
	f->before_ms = run->t_last;
}

void fold_times_end(struct fold_times *f, size_t windows)
{
	for (size_t i = f->closed; i < windows; i++) {
		if (i >= f->opened)
			f->count[i] = 0;
		else
			window_close(f, i, f->seen, f->before_ms);
	}
	f->closed = f->opened = windows;
}

/* ---- moves ---- */

void moves_init(struct moves *m, struct arena *arena, size_t windows)
{
	*m = (struct moves){ .open_row = arena_alloc(arena, windows * sizeof *m->open_row),
		.end_row = arena_alloc(arena, windows * sizeof *m->end_row),
		.open_place = arena_alloc(arena, windows * sizeof *m->open_place),
		.end_place = arena_alloc(arena, windows * sizeof *m->end_place),
		.rows = arena_alloc(arena, windows * 2 * sizeof *m->rows) };
}

/* The first row after t_ms, from `row` on; row t_ms is not behind the run. */
static uint32_t row_after(const struct run *run, uint32_t row, int64_t t_ms)
{
	while (run->t[row] <= t_ms)
		row++;
	return row;
}

static uint32_t place_of(struct moves *m, const struct run *run, uint32_t row)
{
	if (row == 0)
		return PLACE_FIRST;
	if (row + 1 == run->count)
		return PLACE_LAST;
	if (!m->row_count || m->rows[m->row_count - 1] != row)
		m->rows[m->row_count++] = row;
	return PLACE_INNER + (uint32_t)m->row_count - 1;
}

/* Both lists of rows rise: they are gone through together. */
static void moves_place(struct moves *m, const struct run *run)
{
	size_t opens = m->open_to - m->open_from, ends = m->end_to - m->close_to;

	m->row_count = 0;
	for (size_t o = 0, e = 0; o < opens || e < ends;) {
		if (e == ends || (o < opens && m->open_row[o] <= m->end_row[e])) {
			m->open_place[o] = place_of(m, run, m->open_row[o]);
			o++;
		} else {
			m->end_place[e] = place_of(m, run, m->end_row[e]);
			e++;
		}
	}
}

enum moves_status moves_find(struct moves *m, const struct series_windows *w, const struct fold_times *f, const struct run *run)
{
	uint32_t row = 0;

	if (f->seen && run->t_first <= f->before_ms)
		return MOVES_OUT_OF_ORDER;
	m->close_from = m->close_to = f->closed;
	while (m->close_to < w->count && window_end(w, m->close_to) < run->t_first)
		m->close_to++;
	m->end_to = m->close_to;
	for (size_t i = m->end_to; i < w->count && window_end(w, i) < run->t_last; i++, m->end_to++) {
		if (!run->t)
			return MOVES_NEED_TIMES;
		row = row_after(run, row, window_end(w, i));
		m->end_row[i - m->close_to] = row - 1;
	}
	m->open_from = m->open_to = f->opened > m->close_to ? f->opened : m->close_to;
	row = 0;
	for (size_t i = m->open_to; i < w->count && window_start(w, i) < run->t_last; i++, m->open_to++) {
		bool inside = window_start(w, i) >= run->t_first;
		if (inside && !run->t)
			return MOVES_NEED_TIMES;
		row = inside ? row_after(run, row, window_start(w, i)) : 0;
		m->open_row[i - m->open_from] = row;
	}
	moves_place(m, run);
	return MOVES_FOUND;
}

/* ---- values ---- */

void fold_values_init(struct fold_values *f, struct arena *arena, size_t windows)
{
	*f = (struct fold_values){ .first = arena_alloc(arena, windows * sizeof *f->first),
		.last = arena_alloc(arena, windows * sizeof *f->last) };
}

void fold_values_fini(struct fold_values *f)
{
	VEC_FREE(&f->falls);
}

void fold_values_falls(struct fold_values *f, const int64_t *t, const double *v, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (v[i] < v[i - 1])
			VEC_PUSH(&f->falls, (struct series_fall){ t[i], v[i - 1] });
}

void fold_values_move(struct fold_values *f, const struct fold_times *times, const struct moves *m, const struct run *run, const double *at)
{
	if (times->seen && at[PLACE_FIRST] < f->before)
		VEC_PUSH(&f->falls, (struct series_fall){ run->t_first, f->before });
	for (size_t i = m->close_from; i < m->close_to; i++)
		f->last[i] = f->before;
	for (size_t i = m->close_to; i < m->end_to; i++)
		f->last[i] = at[m->end_place[i - m->close_to]];
	for (size_t i = m->open_from; i < m->open_to; i++)
		f->first[i] = at[m->open_place[i - m->open_from]];
	f->before = at[PLACE_LAST];
}

void fold_values_end(struct fold_values *f, const struct fold_times *times, size_t windows)
{
	for (size_t i = times->closed; i < windows; i++)
		f->last[i] = f->before;
}
