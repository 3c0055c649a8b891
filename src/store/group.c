/* Groups: series that come together, row by row. */
#include "base/number.h"
#include "store/internal.h"

/* The first chunks of the groups of one start end at different times, so that they are not all sealed in the same second. */
enum { ROWS_LEAST = 64, GROUP_LEAST = 8, GROUP_MOST = 1 << 16 };

/* ---- rows ---- */

static uint32_t first_target(const struct disk *disk, const struct set *set)
{
	uint32_t rows = disk->options.chunk_rows;

	return rows <= ROWS_LEAST ? rows : ROWS_LEAST + set->number * 37 % (rows - ROWS_LEAST + 1);
}

struct group *group_new(struct store *s, struct set *set)
{
	struct group *g = NEW(struct group);

	g->set = set;
	g->target = first_target(s->disk, set);
	g->last = mem_zalloc(set->count, sizeof *g->last);
	g->newest_ms = INT64_MIN;
	g->fresh = true;
	set->group = g;
	for (uint32_t i = 0; i < set->count; i++) {
		struct series *series = set->members[i];
		series->group = g;
		series->column = i;
		series->flags &= (uint8_t)~SERIES_DETACHED;
		if (series->flags & SERIES_WRITTEN && series->newest_ms > g->newest_ms)
			g->newest_ms = series->newest_ms;
	}
	VEC_PUSH(&s->disk->groups, g);
	return g;
}

static void group_free_rows(struct group *g)
{
	for (uint32_t i = 0; i < g->cap / GROUP_BLOCK; i++)
		mem_free(g->blocks[i]);
	mem_free(g->blocks);
	mem_free(g->t);
	g->blocks = NULL;
	g->t = NULL;
	g->cap = 0;
}

void group_free(struct group *g)
{
	if (!g)
		return;
	mem_free(g->row);
	mem_free(g->columns);
	group_free_rows(g);
	mem_free(g->absent);
	mem_free(g->last);
	mem_free(g);
}

double *group_room(struct group *g)
{
	if (g->rows == g->cap) {
		uint32_t cap = g->cap + GROUP_BLOCK;
		g->t = mem_resize(g->t, cap, sizeof *g->t);
		g->blocks = mem_resize(g->blocks, cap / GROUP_BLOCK, sizeof *g->blocks);
		g->blocks[g->cap / GROUP_BLOCK] = mem_resize(NULL, (size_t)GROUP_BLOCK * g->set->count, sizeof(double));
		if (g->absent)
			g->absent = mem_resize(g->absent, cap * group_words(g), sizeof *g->absent);
		g->cap = cap;
	}
	return group_row(g, g->rows);
}

int64_t group_interval(const struct group *g)
{
	return g->rows > 1 ? (g->t[g->rows - 1] - g->t[0]) / (g->rows - 1) : 0;
}

void group_cut(struct disk *disk, struct group *g, int64_t t_ms, uint64_t seq)
{
	if (!g->rows || g->cut_rows || g->log_last == seq)
		return;
	int64_t before = hour_of(g->t[g->rows - 1]), now = hour_of(t_ms);
	if (group_interval(g) > CUT_INTERVAL_MS) {
		before /= CUT_HOURS;
		now /= CUT_HOURS;
	}
	if (before == now)
		return;
	g->cut_rows = g->rows;
	g->cut_log = seq;
	g->cut_start = disk->log_written;
	g->fresh = true;
}

/* Not where some members have samples of their own: of those all in the log are to be covered. */
uint32_t group_seal_rows(const struct group *g)
{
	bool alone = g->cut_rows && !g->misfit;

	for (uint32_t i = 0; alone && i < g->set->count; i++)
		alone = g->set->members[i]->group == g && !g->set->members[i]->count && !(g->set->members[i]->flags & SERIES_DETACHED);
	return alone ? g->cut_rows : g->rows;
}

void group_push(struct store *s, struct group *g, int64_t t_ms, const uint64_t *absent, size_t samples)
{
	size_t words = group_words(g);

	if (absent && !g->absent)
		g->absent = mem_zalloc(g->cap * words, sizeof *g->absent);
	if (g->absent) {
		if (absent)
			memcpy(g->absent + g->rows * words, absent, words * sizeof *absent);
		else
			memset(g->absent + g->rows * words, 0, words * sizeof *g->absent);
	}
	if (!g->rows) {
		g->log_first = s->disk->log_seq;
		g->log_start = s->disk->log_written;
	}
	memcpy(g->last, group_row(g, g->rows), g->set->count * sizeof *g->last);
	g->log_last = s->disk->log_seq;
	g->t[g->rows++] = t_ms;
	g->newest_ms = t_ms;
	store_count(s, t_ms, samples);
}

int64_t group_series_newest(const struct group *g, uint32_t column, double *value)
{
	for (uint32_t row = g->rows; row-- > 0;)
		if (group_has(g, row, column)) {
			*value = group_row(g, row)[column];
			return g->t[row];
		}
	return INT64_MIN;
}

void series_learn_newest(struct series *series)
{
	double value;
	int64_t t = group_series_newest(series->group, series->column, &value);

	if (t == INT64_MIN || (series->flags & SERIES_WRITTEN && series->newest_ms >= t))
		return;
	series->newest_ms = t;
	series->newest_value = value;
	series->flags = (uint8_t)((series->flags | SERIES_WRITTEN) & ~SERIES_UNSURE);
}

void group_forget(struct group *g, uint32_t rows)
{
	size_t words = group_words(g), count = g->set->count;

	g->rows -= rows;
	g->cut_rows = 0;
	memmove(g->t, g->t + rows, g->rows * sizeof *g->t);
	for (uint32_t row = 0; row < g->rows; row++)
		memcpy(group_row(g, row), group_row(g, row + rows), count * sizeof(double));
	if (g->absent && g->rows) {
		memmove(g->absent, g->absent + rows * words, g->rows * words * sizeof *g->absent);
	} else {
		mem_free(g->absent);
		g->absent = NULL;
	}
}

/* Members that left are free now; a group that lost one is made anew. */
static bool group_release(struct group *g, bool all)
{
	bool lost = all;

	for (uint32_t i = 0; i < g->set->count; i++)
		lost |= g->set->members[i]->group == g && g->set->members[i]->flags & SERIES_DETACHED;
	for (uint32_t i = 0; i < g->set->count; i++) {
		struct series *series = g->set->members[i];
		if (series->group != g)
			continue;
		series_learn_newest(series);
		series->flags &= (uint8_t)~SERIES_DETACHED;
		if (lost)
			series->group = NULL;
	}
	return lost;
}

/* What is left after a cut is little: the blocks behind it are free. */
static void group_shrink(struct group *g)
{
	uint32_t kept = g->rows / GROUP_BLOCK + 1;

	for (uint32_t i = kept; i < g->cap / GROUP_BLOCK; i++)
		mem_free(g->blocks[i]);
	g->cap = kept * GROUP_BLOCK < g->cap ? kept * GROUP_BLOCK : g->cap;
}

static void group_sealed_cut(struct disk *disk, struct group *g)
{
	group_forget(g, g->set->sealing);
	group_shrink(g);
	g->log_first = g->cut_log;
	g->log_start = g->cut_start;
	/* All groups were cut at one time: they are to be full at different ones. */
	g->target = first_target(disk, g->set);
}

void group_sealed(struct store *s, struct group *g)
{
	struct disk *disk = s->disk;

	if (g->set->sealing < g->rows) {
		group_sealed_cut(disk, g);
		return;
	}
	if (!group_release(g, g->misfit)) {
		group_forget(g, g->rows);
		/* Full groups are as large as all of the head should be: what is free now is another's. */
		group_free_rows(g);
		g->fresh = true;
		g->target = disk->options.chunk_rows;
		return;
	}
	for (size_t i = 0; i < disk->groups.count; i++)
		if (disk->groups.items[i] == g)
			disk->groups.items[i] = disk->groups.items[--disk->groups.count];
	g->set->group = NULL;
	group_free(g);
}

void groups_dissolve(struct store *s, int64_t before_ms)
{
	struct disk *disk = s->disk;

	pthread_rwlock_wrlock(&s->lock);
	for (size_t i = disk->groups.count; i-- > 0;) {
		struct group *g = disk->groups.items[i];
		if (g->rows || g->newest_ms >= before_ms)
			continue;
		group_release(g, true);
		disk->groups.items[i] = disk->groups.items[--disk->groups.count];
		g->set->group = NULL;
		group_free(g);
	}
	pthread_rwlock_unlock(&s->lock);
}

/* ---- loose samples ---- */

void loose_note(struct disk *disk, struct series *series, int64_t t_ms)
{
	if (series->count == 1)
		VEC_PUSH(&disk->loose, series);
	if (!disk->loose_samples++) {
		disk->loose_log_first = disk->log_seq;
		disk->loose_log_start = disk->log_written;
		disk->loose_first_ms = t_ms;
	}
}

/* Rows are looked at one by one until the group is made anew. */
static void group_detach(struct series *series)
{
	struct group *g = series->group;

	series->flags |= SERIES_DETACHED;
	mem_free(g->row);
	g->row = NULL;
	g->misfit = true;
}

enum append_status disk_append(struct store *s, struct series *series, int64_t t_ms, double value)
{
	series_ask(s, series, t_ms);
	if (series->group && !(series->flags & SERIES_DETACHED)) {
		series_learn_newest(series);
		if (!(series->flags & SERIES_WRITTEN) || t_ms > series->newest_ms)
			group_detach(series);
	}
	enum append_status status = series_append(series, t_ms, value);
	if (status == APPEND_OK) {
		loose_note(s->disk, series, t_ms);
		record_loose(s->disk, series, t_ms, value);
	}
	return status;
}

/* ---- rows of the sink ---- */

static size_t append_all_loose(struct store *s, struct series *const *series, const double *values, size_t count, int64_t t_ms)
{
	size_t stored = 0, refused = 0;

	for (size_t i = 0; i < count; i++) {
		enum append_status status = disk_append(s, series[i], t_ms, values[i]);
		stored += status == APPEND_OK;
		refused += status >= APPEND_DUPLICATE;
	}
	store_count(s, t_ms, stored);
	return refused;
}

/* A new group of those of the row that are in none; NULL when they are too few, or the row is not newer than they are. */
static struct group *group_make(struct store *s, struct series *const *series, size_t count, int64_t t_ms)
{
	struct series **members = mem_resize(NULL, count, sizeof *members);
	struct group *g = NULL;
	size_t found = 0;
	bool late = false;

	for (size_t i = 0; i < count; i++) {
		if (series[i]->group || series[i]->flags & SERIES_DETACHED)
			continue;
		late |= series[i]->flags & SERIES_WRITTEN && series[i]->newest_ms >= t_ms;
		series[i]->flags |= SERIES_DETACHED; /* seen: a row may name a series twice */
		members[found++] = series[i];
	}
	for (size_t i = 0; i < found; i++)
		members[i]->flags &= (uint8_t)~SERIES_DETACHED;
	if (!late && found >= GROUP_LEAST && found <= GROUP_MOST) {
		struct set *set = set_of(s, members, found);
		/* A set that lost members lets them join others, but is not filled twice. */
		g = set->group ? NULL : group_new(s, set);
	}
	mem_free(members);
	return g;
}

/* From now on a row of exactly this list is known by comparing it. */
static void group_learn_row(struct group *g, struct series *const *series, size_t count)
{
	g->row = mem_resize(g->row, count, sizeof *g->row);
	g->columns = mem_resize(g->columns, count, sizeof *g->columns);
	for (size_t i = 0; i < count; i++) {
		g->row[i] = series[i];
		g->columns[i] = series[i]->column;
	}
}

/* A row that is not exactly its group's: what belongs goes there, the rest is loose. */
static size_t append_row_apart(
	struct store *s, struct group *g, struct series *const *series, const double *values, size_t count, int64_t t_ms)
{
	struct disk *disk = s->disk;
	size_t words = group_words(g), matched = 0, stored = 0, refused = 0;
	uint64_t *absent = arena_alloc(&disk->arena, words * sizeof *absent);
	double *room = group_room(g);

	memset(absent, 0xff, words * sizeof *absent);
	memcpy(room, g->last, g->set->count * sizeof *room);
	for (size_t i = 0; i < count; i++) {
		struct series *x = series[i];
		uint64_t bit = x->group == g ? UINT64_C(1) << x->column % 64 : 0;
		if (bit && !(x->flags & SERIES_DETACHED) && absent[x->column / 64] & bit) {
			room[x->column] = values[i];
			absent[x->column / 64] &= ~bit;
			matched++;
		}
	}
	bool whole = matched == g->set->count;
	g->misfit = matched != count || !whole;
	if (!g->misfit)
		group_learn_row(g, series, count);
	if (matched) {
		group_cut(disk, g, t_ms, disk->log_seq);
		record_row(disk, g, room, t_ms, whole ? NULL : absent);
		group_push(s, g, t_ms, whole ? NULL : absent, matched);
	}
	for (size_t i = 0; i < count; i++) {
		struct series *x = series[i];
		/* In the row: its bit was cleared, and this is its own place in the list, not a second one. */
		if (x->group == g && !(x->flags & SERIES_DETACHED) && !(absent[x->column / 64] >> x->column % 64 & 1)) {
			absent[x->column / 64] |= UINT64_C(1) << x->column % 64;
			continue;
		}
		enum append_status status = disk_append(s, x, t_ms, values[i]);
		stored += status == APPEND_OK;
		refused += status >= APPEND_DUPLICATE;
	}
	store_count(s, t_ms, stored);
	arena_reset(&disk->arena);
	return refused;
}

static size_t append_row_slowly(struct store *s, struct series *const *series, const double *values, size_t count, int64_t t_ms)
{
	struct group *g = NULL;

	for (size_t i = 0; i < count && !g; i++)
		if (series[i]->group && !(series[i]->flags & SERIES_DETACHED))
			g = series[i]->group;
	if (!g)
		g = group_make(s, series, count, t_ms);
	if (!g || (t_ms <= g->newest_ms && g->newest_ms != INT64_MIN))
		return append_all_loose(s, series, values, count, t_ms);
	return append_row_apart(s, g, series, values, count, t_ms);
}

size_t disk_append_row(struct store *s, struct series *const *series, const double *values, size_t count, int64_t t_ms)
{
	struct group *g = count ? series[0]->group : NULL;

	if (!g || !g->row || g->set->count != count || t_ms <= g->newest_ms || memcmp(g->row, series, count * sizeof *series) != 0)
		return append_row_slowly(s, series, values, count, t_ms);
	double *room = group_room(g);
	for (size_t i = 0; i < count; i++)
		room[g->columns[i]] = values[i];
	group_cut(s->disk, g, t_ms, s->disk->log_seq);
	record_row(s->disk, g, room, t_ms, NULL);
	group_push(s, g, t_ms, NULL, count);
	return 0;
}
