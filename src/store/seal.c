/* Sealing: what the head holds of a set becomes chunks. */
#include "base/hash.h"
#include "store/internal.h"

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

/* The number of the list that holds these times, added when it is new. */
static uint32_t list_of(struct times_list *lists, size_t *count, const int64_t *t, size_t rows)
{
	for (size_t i = 0; i < *count; i++)
		if (lists[i].count == rows && lists[i].t[0] == t[0] && (lists[i].t == t || memcmp(lists[i].t, t, rows * sizeof *t) == 0))
			return (uint32_t)i;
	lists[*count] = (struct times_list){ t, (uint32_t)rows };
	return (uint32_t)(*count)++;
}

uint32_t blob_checksum(struct str a, struct str b)
{
	return (uint32_t)hash_seeded(b.ptr, b.len, a.len ? hash_bytes(a.ptr, a.len) : 0);
}

static bool section_write(struct disk *disk, int64_t chunk, uint32_t number, const struct column *columns, size_t count,
	const struct times_list *lists, struct error *e)
{
	buf_reset(&disk->summary);
	buf_reset(&disk->data);
	buf_reset(&disk->packed);
	section_pack(columns, count, lists, &disk->summary, &disk->data);
	compressor_pack(disk->packer, buf_str(&disk->data), &disk->packed);
	sqlite3_stmt *statement = database_use(&disk->writer, ST_SECTION_ADD);
	sqlite3_bind_int64(statement, 1, chunk << SECTION_BITS | number);
	sqlite3_bind_int64(statement, 2, blob_checksum(buf_str(&disk->summary), buf_str(&disk->packed)));
	database_bind_blob(statement, 3, buf_str(&disk->summary));
	database_bind_blob(statement, 4, buf_str(&disk->packed));
	return database_run(&disk->writer, statement, e);
}

static bool chunk_write_head(struct disk *disk, const struct set *set, const struct chunk *chunk, const struct times_list *lists,
	size_t list_count, struct error *e)
{
	buf_reset(&disk->times);
	times_pack(lists, list_count, &disk->times);
	sqlite3_stmt *statement = database_use(&disk->writer, ST_CHUNK_ADD);
	sqlite3_bind_int64(statement, 1, chunk->id);
	sqlite3_bind_int64(statement, 2, set->number + 1);
	sqlite3_bind_int64(statement, 3, chunk->t_first);
	sqlite3_bind_int64(statement, 4, chunk->t_last);
	sqlite3_bind_int64(statement, 5, chunk->rows);
	sqlite3_bind_int64(statement, 6, (int64_t)chunk->samples);
	sqlite3_bind_int64(statement, 7, (int64_t)chunk->sealed);
	database_bind_blob(statement, 8, buf_str(&disk->times));
	return database_run(&disk->writer, statement, e);
}

/* Samples [from, from + CHUNK_ROWS_MOST) of each column, as one chunk. */
static bool chunk_write(struct disk *disk, struct set *set, const struct head_column *head, size_t from, struct error *e)
{
	struct column *columns = ARENA_ARRAY(&disk->arena, struct column, set->count);
	struct times_list *lists = ARENA_ARRAY(&disk->arena, struct times_list, set->count);
	struct chunk chunk = { .id = disk->next_chunk++, .t_first = INT64_MAX, .t_last = INT64_MIN, .sealed = disk->log_seq };
	size_t list_count = 0;

	if (set->group && set->sealing < set->group->rows)
		chunk.sealed = set->group->cut_log - 1;

	for (uint32_t i = 0; i < set->count; i++) {
		size_t left = head[i].count > from ? head[i].count - from : 0, rows = left < CHUNK_ROWS_MOST ? left : CHUNK_ROWS_MOST;
		if (!rows)
			continue;
		const int64_t *t = head[i].t + from;
		columns[i] = (struct column){ head[i].v + from, list_of(lists, &list_count, t, rows), set->above[i] };
		chunk.t_first = t[0] < chunk.t_first ? t[0] : chunk.t_first;
		chunk.t_last = t[rows - 1] > chunk.t_last ? t[rows - 1] : chunk.t_last;
		chunk.rows = rows > chunk.rows ? (uint32_t)rows : chunk.rows;
		chunk.samples += rows;
	}
	for (uint32_t i = 0; i < set->section_count; i++)
		if (!section_write(disk, chunk.id, i, columns + set->starts[i], set->starts[i + 1] - set->starts[i], lists, e))
			return false;
	VEC_PUSH(&set->pending, chunk);
	return chunk_write_head(disk, set, &chunk, lists, list_count, e);
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
