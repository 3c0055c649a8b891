/* Sealing: what the head holds of a set becomes chunks. */
#include "store/draft.h"

enum { CHUNK_ROWS_MOST = 1024 };

struct head_column { /* one member's samples, all of them */
	const int64_t *t;
	const double *v;
	size_t count;
};

/* Samples of its own and rows of the group, in order of time. */
static struct head_column column_merge(
	struct arena *arena, const struct series *loose, const struct group *g, uint32_t rows, uint32_t column)
{
	size_t loose_count = loose ? loose->count : 0, l = 0, n = 0;
	int64_t *t = arena_alloc(arena, (loose_count + rows + 1) * sizeof *t);
	double *v = arena_alloc(arena, (loose_count + rows + 1) * sizeof *v);

	for (uint32_t row = 0; row < rows; row++) {
		if (!group_has(g, row, column))
			continue;
		for (; l < loose_count && loose->t[l] < g->t[row]; l++, n++) {
			t[n] = loose->t[l];
			v[n] = series_values(loose)[l];
		}
		t[n] = g->t[row];
		v[n++] = group_row(g, row)[column];
	}
	for (; l < loose_count; l++, n++) {
		t[n] = loose->t[l];
		v[n] = series_values(loose)[l];
	}
	return (struct head_column){ t, v, n };
}

static struct head_column column_of(struct disk *disk, const struct set *set, uint32_t i)
{
	struct series *series = set->members[i];
	const struct group *g = set->group && series->group == set->group && set->sealing ? set->group : NULL;
	/* Whichever set is sealed first takes what its members have of their own: what the log has of them up to here is then covered. */
	const struct series *loose = series->count && !(series->flags & SERIES_TAKEN) ? series : NULL;

	if (loose)
		series->flags |= SERIES_TAKEN;
	if (loose && !g)
		return (struct head_column){ loose->t, series_values(loose), loose->count };
	if (!g)
		return (struct head_column){ 0 };
	if (loose || g->absent)
		return column_merge(&disk->arena, loose, g, g ? set->sealing : 0, i);
	double *v = arena_alloc(&disk->arena, set->sealing * sizeof *v);
	for (uint32_t row = 0; row < set->sealing; row++)
		v[row] = group_row(g, row)[i];
	return (struct head_column){ g->t, v, set->sealing };
}

/* Samples [from, from + CHUNK_ROWS_MOST) of each column, as one chunk. */
static bool chunk_write(struct disk *disk, struct set *set, const struct head_column *head, size_t from, struct error *e)
{
	struct column *columns = ARENA_ARRAY(&disk->arena, struct column, set->count);
	bool cut = set->group && set->sealing < set->group->rows;
	struct draft draft;

	draft_begin(&draft, disk, set, &disk->arena, cut ? set->group->cut_log - 1 : disk->log_seq);
	for (uint32_t i = 0; i < set->count; i++) {
		size_t left = head[i].count > from ? head[i].count - from : 0, rows = left < CHUNK_ROWS_MOST ? left : CHUNK_ROWS_MOST;
		if (rows)
			columns[i] = draft_column(&draft, i, head[i].t + from, head[i].v + from, rows);
	}
	draft.plain = !set->group && chunk_is_small(disk, &draft.chunk);
	for (uint32_t k = 0; k < set->section_count; k++)
		if (!draft_section(&draft, k, columns + set->starts[k], e))
			return false;
	VEC_PUSH(&set->pending, draft.chunk);
	return draft_end(&draft, e);
}

bool set_seal(struct store *s, struct set *set, struct error *e)
{
	struct disk *disk = s->disk;
	struct head_column *head = ARENA_ARRAY(&disk->arena, struct head_column, set->count);
	size_t longest = 0;
	bool ok = true;

	set_above(s, set);
	set->sealing = set->group ? group_seal_rows(set->group) : 0;
	for (uint32_t i = 0; i < set->count; i++) {
		head[i] = column_of(disk, set, i);
		longest = head[i].count > longest ? head[i].count : longest;
	}
	for (size_t from = 0; ok && from < longest; from += CHUNK_ROWS_MOST)
		ok = chunk_write(disk, set, head, from, e);
	arena_reset(&disk->arena);
	return ok;
}

void set_sealed(struct store *s, struct set *set)
{
	struct disk *disk = s->disk;

	VEC_EACH (&set->pending, chunk) {
		set_add_chunk(set, chunk);
		set->sealed = chunk->sealed;
	}
	set->pending.count = 0;
	for (uint32_t i = 0; i < set->count; i++) {
		struct series *series = set->members[i];
		series->flags &= (uint8_t)~SERIES_TAKEN;
		disk->loose_samples -= series->count;
		if (series->count)
			series_drop(series, series->count);
	}
	if (set->group)
		group_sealed(s, set->group);
}
