/* Writing digests: summaries of chunks that are done are gathered once, so that a query over weeks finds them in few rows of the file. */
#include "base/log.h"
#include "store/internal.h"

enum { DIGEST_HOURS = 12, DIGEST_CHUNKS_LEAST = 4 };

/* ---- gathering ---- */

struct digesting {
	struct disk *disk;
	const struct set *set;
	struct digest_head head;
	struct digest_column *columns; /* of the whole set */
};

static bool chunk_joins(const struct digesting *d, const struct chunk *chunk)
{
	const struct digest_entry *entry = d->head.count ? &d->head.entries[d->head.count - 1] : NULL;

	return entry && entry->t_last < chunk->t_first && hour_of(entry->t_first) == hour_of(chunk->t_last);
}

static void entry_add(struct digesting *d, const struct chunk *chunk, const struct times_list *lists, size_t list_count)
{
	bool joins = chunk_joins(d, chunk);
	struct digest_entry *entry = &d->head.entries[joins ? d->head.count - 1 : d->head.count];

	if (!joins) {
		d->head.count++;
		*entry = (struct digest_entry){ .t_first = chunk->t_first, .plain = true };
	}
	entry->chunks++;
	entry->rows += lists[0].count;
	entry->t_last = chunk->t_last;
	entry->plain = entry->plain && list_count == 1;
}

static void column_add(struct digesting *d, uint32_t column, const struct section *section, uint32_t i)
{
	struct digest_column *c = &d->columns[column];
	size_t e = d->head.count - 1;
	uint64_t bit = UINT64_C(1) << e;
	bool first = d->head.entries[e].chunks == 1, usable = d->head.entries[e].plain && section_list(section, i) == 0;

	if (first && e) /* what stands there where it does not count: the same goes on */
		c->ends[2 * e] = c->ends[2 * e + 1] = c->ends[2 * e - 1];
	struct column_summary summary = usable ? section_summary(section, i) : (struct column_summary){ .gaps = true };
	if (summary.gaps) {
		c->look |= bit;
		return;
	}
	if (summary.resets || (!first && summary.first < c->ends[2 * e + 1]))
		c->falls |= bit;
	if (first)
		c->ends[2 * e] = summary.first;
	c->ends[2 * e + 1] = summary.last;
}

static bool chunk_add(struct digesting *d, const struct chunk *chunk, struct arena *arena, struct error *e)
{
	size_t list_count;
	struct str summary, packed;
	struct section section;
	struct times_list *lists = times_fetch(d->disk, chunk->id, arena, &list_count, e);

	if (!lists || !list_count)
		return false;
	entry_add(d, chunk, lists, list_count);
	for (uint32_t k = 0; k < d->set->section_count; k++) {
		uint32_t start = d->set->starts[k], count = d->set->starts[k + 1] - start;
		if (!section_fetch_packed(d->disk, chunk->id, k, &summary, &packed, e))
			return false;
		if (!section_open(&section, summary, lists, list_count, arena) || section.count != count)
			return database_damaged(d->disk->path, "the summary of a section cannot be read", e);
		for (uint32_t i = 0; i < count; i++)
			column_add(d, start + i, &section, i);
	}
	arena_reset(arena);
	return true;
}

static bool chunks_gather(struct digesting *d, size_t first, size_t count, struct error *e)
{
	struct arena arena;
	bool ok = true;

	arena_init(&arena);
	fetch_begin(d->disk);
	for (size_t i = first; ok && i < first + count; i++) {
		pthread_mutex_lock(&d->disk->reader_lock);
		ok = chunk_add(d, &d->set->chunks.items[i], &arena, e);
		pthread_mutex_unlock(&d->disk->reader_lock);
	}
	fetch_end(d->disk);
	arena_fini(&arena);
	/* An entry that lost its single list late holds for none of its columns. */
	for (size_t k = 0; k < d->head.count; k++)
		for (uint32_t i = 0; !d->head.entries[k].plain && i < d->set->count; i++)
			d->columns[i].look |= UINT64_C(1) << k;
	return ok;
}

bool digest_make(struct disk *disk, const struct set *set, size_t first, size_t count, struct buf *entries,
	bool (*each)(void *context, uint32_t section, struct str data), void *context, struct error *e)
{
	struct digesting d = { .disk = disk, .set = set };
	struct arena arena;
	struct buf data;
	bool ok;

	arena_init(&arena);
	buf_init(&data, COMPRESS_MAX);
	d.columns = ARENA_ARRAY(&arena, struct digest_column, set->count + 1);
	for (uint32_t i = 0; i < set->count; i++)
		d.columns[i].ends = ARENA_ARRAY(&arena, double, DIGEST_ENTRIES_MAX * 2);
	ok = chunks_gather(&d, first, count, e);
	if (ok)
		digest_head_pack(&d.head, entries);
	for (uint32_t k = 0; ok && k < set->section_count; k++) {
		const struct digest_section section = { d.columns + set->starts[k], set->starts[k + 1] - set->starts[k] };
		buf_reset(&data);
		digest_section_pack(&section, set->above + set->starts[k], d.head.count, &data);
		ok = each(context, k, buf_str(&data));
	}
	buf_fini(&data);
	arena_fini(&arena);
	return ok;
}

/* ---- writing ---- */

struct writing {
	struct disk *disk;
	int64_t digest;
	struct error *error;
};

static bool section_write(void *context, uint32_t number, struct str data)
{
	struct writing *w = context;
	struct disk *disk = w->disk;

	buf_reset(&disk->packed);
	compressor_pack(disk->packer, data, &disk->packed);
	sqlite3_stmt *statement = database_use(&disk->writer, ST_DIGEST_SECTION_ADD);
	sqlite3_bind_int64(statement, 1, w->digest << SECTION_BITS | number);
	sqlite3_bind_int64(statement, 2, blob_checksum(STR_EMPTY, buf_str(&disk->packed)));
	database_bind_blob(statement, 3, buf_str(&disk->packed));
	return database_run(&disk->writer, statement, w->error);
}

static bool head_write(struct disk *disk, const struct set *set, int64_t digest, size_t chunk_count, struct str entries, struct error *e)
{
	sqlite3_stmt *statement = database_use(&disk->writer, ST_DIGEST_ADD);

	sqlite3_bind_int64(statement, 1, digest);
	sqlite3_bind_int64(statement, 2, set->number + 1);
	sqlite3_bind_int64(statement, 3, (int64_t)chunk_count);
	sqlite3_bind_int64(statement, 4, blob_checksum(STR_EMPTY, entries));
	database_bind_blob(statement, 5, entries);
	return database_run(&disk->writer, statement, e);
}

static bool digest_write(struct store *s, struct set *set, size_t first, size_t count, struct error *e)
{
	struct disk *disk = s->disk;
	struct writing w = { disk, set->chunks.items[first + count - 1].id, e };
	struct buf entries;

	set_above(s, set);
	buf_init(&entries, COMPRESS_MAX);
	bool ok = database_do(&disk->writer, ST_BEGIN, e) && digest_make(disk, set, first, count, &entries, section_write, &w, e) &&
		  head_write(disk, set, w.digest, count, buf_str(&entries), e) && database_do(&disk->writer, ST_COMMIT, e);
	buf_fini(&entries);
	if (!ok) {
		database_do(&disk->writer, ST_ROLLBACK, NULL);
		return false;
	}
	pthread_rwlock_wrlock(&s->lock);
	for (size_t i = 0; i < count; i++) {
		set->chunks.items[first + i].digest = w.digest;
		set->chunks.items[first + i].nth = (uint32_t)i;
	}
	pthread_rwlock_unlock(&s->lock);
	return true;
}

bool digest_drop(struct disk *disk, int64_t digest, struct error *e)
{
	sqlite3_stmt *statement = database_use(&disk->writer, ST_DIGEST_SECTION_DROP);

	sqlite3_bind_int64(statement, 1, digest << SECTION_BITS);
	sqlite3_bind_int64(statement, 2, (digest + 1) << SECTION_BITS);
	if (!database_run(&disk->writer, statement, e))
		return false;
	statement = database_use(&disk->writer, ST_DIGEST_DROP);
	sqlite3_bind_int64(statement, 1, digest);
	return database_run(&disk->writer, statement, e);
}

/* ---- when ---- */

static int64_t half_day_of(int64_t t_ms)
{
	int64_t hour = hour_of(t_ms);

	return hour >= 0 ? hour / DIGEST_HOURS : (hour + 1) / DIGEST_HOURS - 1;
}

/* Chunks that no digest has, of one half of a day that is over; how many, from *first on. */
static size_t chunks_due(const struct set *set, size_t *first)
{
	size_t from = *first = set->digested, count = 0, entries = 0;
	const struct chunk *chunks = set->chunks.items;

	if (from == set->chunks.count || half_day_of(chunks[set->chunks.count - 1].t_first) == half_day_of(chunks[from].t_first))
		return 0;
	for (; from + count < set->chunks.count; count++) {
		const struct chunk *chunk = &chunks[from + count], *before = count ? chunk - 1 : chunk;
		entries += !count || hour_of(before->t_first) != hour_of(chunk->t_last) || before->t_last >= chunk->t_first;
		if (half_day_of(chunk->t_first) != half_day_of(chunks[from].t_first) || entries > DIGEST_ENTRIES_MAX)
			break;
	}
	return count;
}

void disk_digest(struct store *s)
{
	struct disk *disk = s->disk;
	struct error e = { 0 };

	for (size_t tries = 0; tries < disk->sets.count; tries++) {
		size_t first, count;
		disk->digest_next = (disk->digest_next + 1) % disk->sets.count;
		struct set *set = disk->sets.items[disk->digest_next];
		if (!set || !(count = chunks_due(set, &first)))
			continue;
		/* Without a digest the chunks are read themselves: it is not tried again before the store is opened again. */
		set->digested = first + count;
		if (count < DIGEST_CHUNKS_LEAST)
			continue;
		if (!digest_write(s, set, first, count, &e))
			log_warning("%s: a digest cannot be written: %s", disk->path, e.message);
		return;
	}
}
