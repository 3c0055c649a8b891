/* Writing a chunk. */
#include "store/draft.h"

#include "base/hash.h"

uint32_t blob_checksum(struct str a, struct str b)
{
	return (uint32_t)hash_seeded(b.ptr, b.len, a.len ? hash_bytes(a.ptr, a.len) : 0);
}

void draft_begin(struct draft *d, struct disk *disk, const struct set *set, struct arena *arena, uint64_t sealed)
{
	*d = (struct draft){ .disk = disk, .set = set };
	d->lists = ARENA_ARRAY(arena, struct times_list, set->count);
	d->chunk = (struct chunk){ .id = disk->next_chunk++, .t_first = INT64_MAX, .t_last = INT64_MIN, .sealed = sealed };
}

/* The number of the list that holds these times, added when it is new. */
static uint32_t draft_list(struct draft *d, const int64_t *t, size_t rows)
{
	for (size_t i = 0; i < d->list_count; i++) {
		const struct times_list *list = &d->lists[i];
		if (list->count == rows && list->t[0] == t[0] && (list->t == t || memcmp(list->t, t, rows * sizeof *t) == 0))
			return (uint32_t)i;
	}
	d->lists[d->list_count] = (struct times_list){ t, (uint32_t)rows };
	return (uint32_t)d->list_count++;
}

struct column draft_column(struct draft *d, uint32_t i, const int64_t *t, const double *v, size_t rows)
{
	struct chunk *chunk = &d->chunk;

	chunk->t_first = t[0] < chunk->t_first ? t[0] : chunk->t_first;
	chunk->t_last = t[rows - 1] > chunk->t_last ? t[rows - 1] : chunk->t_last;
	chunk->rows = rows > chunk->rows ? (uint32_t)rows : chunk->rows;
	chunk->samples += rows;
	return (struct column){ v, draft_list(d, t, rows), d->set->above[i] };
}

bool draft_section(struct draft *d, uint32_t number, const struct column *columns, struct error *e)
{
	struct disk *disk = d->disk;

	buf_reset(&disk->summary);
	buf_reset(&disk->data);
	buf_reset(&disk->packed);
	section_pack(columns, d->set->starts[number + 1] - d->set->starts[number], d->lists, &disk->summary, &disk->data);
	if (d->plain)
		compressor_keep(buf_str(&disk->data), &disk->packed);
	else
		compressor_pack(disk->packer, buf_str(&disk->data), &disk->packed);
	sqlite3_stmt *statement = database_use(&disk->writer, ST_SECTION_ADD);
	sqlite3_bind_int64(statement, 1, d->chunk.id << SECTION_BITS | number);
	sqlite3_bind_int64(statement, 2, blob_checksum(buf_str(&disk->summary), buf_str(&disk->packed)));
	database_bind_blob(statement, 3, buf_str(&disk->summary));
	database_bind_blob(statement, 4, buf_str(&disk->packed));
	return database_run(&disk->writer, statement, e);
}

bool draft_end(struct draft *d, struct error *e)
{
	const struct chunk *chunk = &d->chunk;
	struct disk *disk = d->disk;

	buf_reset(&disk->times);
	times_pack(d->lists, d->list_count, &disk->times);
	sqlite3_stmt *statement = database_use(&disk->writer, ST_CHUNK_ADD);
	sqlite3_bind_int64(statement, 1, chunk->id);
	sqlite3_bind_int64(statement, 2, d->set->number + 1);
	sqlite3_bind_int64(statement, 3, chunk->t_first);
	sqlite3_bind_int64(statement, 4, chunk->t_last);
	sqlite3_bind_int64(statement, 5, chunk->rows);
	sqlite3_bind_int64(statement, 6, (int64_t)chunk->samples);
	sqlite3_bind_int64(statement, 7, (int64_t)chunk->sealed);
	database_bind_blob(statement, 8, buf_str(&disk->times));
	return database_run(&disk->writer, statement, e);
}
