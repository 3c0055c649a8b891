/* Opening: the file becomes series, sets and lists of chunks in memory, and the log the head. */
#include "base/log.h"
#include "store/bytes.h"
#include "store/internal.h"

#include <stdio.h>

enum {
	SETS_MOST = 1 << 28,
	LABELS_MOST = 1024,
	CHUNK_ROWS = 256,
	LOOSE_SAMPLES = 5 << 19, /* 68 rows of 38,400 series: 42 MB */
	RECORDS_MOST = 1 << 28,
	BLOBS_MOST = 1 << 28,
};

static struct database *database_of(struct disk *disk)
{
	return disk->options.read_only ? &disk->reader : &disk->writer;
}

/* ---- series ---- */

static struct str get_text(struct bytes *b)
{
	return get_slice(b, get_varint(b));
}

static bool series_take(struct store *s, struct bytes *b)
{
	struct disk *disk = s->disk;
	struct label pairs[LABELS_MOST];
	uint64_t key = get_varint(b), type = get_varint(b), count = get_varint(b);

	if (b->bad || key < disk->next_key || key >= NO_PLACE || type > METRIC_STATESET || count > LABELS_MOST)
		return false;
	for (uint64_t i = 0; i < count; i++)
		pairs[i] = (struct label){ get_text(b), get_text(b) };
	if (b->bad)
		return false;
	struct labels *labels = labels_new(pairs, count);
	series_make(s, labels, (enum metric_type)type);
	labels_unref(labels);
	VEC_PUSH(&disk->keys, (uint32_t)key);
	disk->next_key = (uint32_t)key + 1;
	return true;
}

static bool load_series(struct store *s, struct error *e)
{
	struct disk *disk = s->disk;
	struct database *d = database_of(disk);
	sqlite3_stmt *statement = database_use(d, ST_SERIES_ALL);
	struct str plain;

	while (database_row(d, statement, e)) {
		bool ok = compressor_unpack(disk->unpacker, database_blob(statement, 1), &plain);
		struct bytes b = bytes_of(ok ? plain : STR_EMPTY);
		size_t first = disk->keys.count;
		while (ok && b.at != b.end)
			ok = series_take(s, &b);
		if (!ok || first == disk->keys.count || sqlite3_column_int64(statement, 0) != disk->keys.items[first])
			return database_damaged(disk->path, "a row of the series cannot be read", e);
		VEC_PUSH(&disk->batches, disk->keys.items[first]);
	}
	disk->series_stored = s->left = s->series_count;
	return !e->set;
}

/* ---- sets ---- */

static bool set_take(struct store *s, int64_t id, struct str plain)
{
	struct disk *disk = s->disk;
	struct bytes b = bytes_of(plain);
	uint64_t section_count = get_varint(&b), count = 0;
	int64_t key = -1;

	if (id < 1 || id > SETS_MOST || b.bad || section_count >= 1 << SECTION_BITS || section_count > bytes_left(&b))
		return false;
	uint32_t *starts = ARENA_ARRAY(&disk->arena, uint32_t, section_count + 1);
	for (uint64_t i = 0; i < section_count; i++) {
		uint64_t size = get_varint(&b);
		if (size > SECTION_COLUMNS_MAX)
			return false;
		starts[i + 1] = (uint32_t)(count += size);
	}
	if (b.bad || count > bytes_left(&b))
		return false;
	struct series **members = ARENA_ARRAY(&disk->arena, struct series *, count + 1);
	for (uint64_t i = 0; i < count; i++) {
		key = (int64_t)((uint64_t)key + 1 + (uint64_t)unzigzag(get_varint(&b)));
		members[i] = key < 0 ? NULL : series_of_key(s, (uint64_t)key);
		if (!members[i])
			return false;
	}
	if (b.bad || b.at != b.end)
		return false;
	set_restore(s, (uint32_t)id - 1, members, count, starts, section_count);
	return true;
}

static bool load_sets(struct store *s, struct error *e)
{
	struct disk *disk = s->disk;
	struct database *d = database_of(disk);
	sqlite3_stmt *statement = database_use(d, ST_SET_ALL);
	struct str plain;

	while (database_row(d, statement, e)) {
		bool ok = compressor_unpack(disk->unpacker, database_blob(statement, 1), &plain) &&
			  set_take(s, sqlite3_column_int64(statement, 0), plain);
		arena_reset(&disk->arena);
		if (!ok)
			return database_damaged(disk->path, "a row of the sets cannot be read", e);
	}
	return !e->set;
}

/* ---- chunks ---- */

static bool load_chunks(struct store *s, struct error *e)
{
	struct disk *disk = s->disk;
	struct database *d = database_of(disk);
	sqlite3_stmt *statement = database_use(d, ST_CHUNK_ALL);

	while (database_row(d, statement, e)) {
		int64_t number = sqlite3_column_int64(statement, 1) - 1, rows = sqlite3_column_int64(statement, 4),
			samples = sqlite3_column_int64(statement, 5);
		struct chunk chunk = { .id = sqlite3_column_int64(statement, 0),
			.t_first = sqlite3_column_int64(statement, 2),
			.t_last = sqlite3_column_int64(statement, 3),
			.rows = (uint32_t)rows,
			.samples = (uint64_t)samples,
			.sealed = (uint64_t)sqlite3_column_int64(statement, 6) };
		bool replaced = number == REPLACED - 1 && d->version >= 3,
		     known = number >= 0 && (size_t)number < disk->sets.count && disk->sets.items[number];

		if (!(known || replaced) || rows < 1 || rows > LIST_ROWS_MAX || samples < 1 || chunk.t_first > chunk.t_last ||
			chunk.id < disk->next_chunk || chunk.id >> (62 - SECTION_BITS))
			return database_damaged(disk->path, "a row of the chunks contradicts the rest", e);
		disk->next_chunk = chunk.id + 1;
		if (replaced) {
			VEC_PUSH(&disk->replaced, chunk.id);
			continue;
		}
		struct set *set = disk->sets.items[number];
		set_add_chunk(set, &chunk);
		set->sealed = chunk.sealed;
		disk->log_seq = chunk.sealed + 1 > disk->log_seq ? chunk.sealed + 1 : disk->log_seq;
		store_count(s, chunk.t_first, 1);
		store_count(s, chunk.t_last, 1);
		s->sample_count += chunk.samples - 2;
	}
	return !e->set;
}

/* ---- digests ---- */

static size_t chunk_find(const struct set *set, int64_t id)
{
	size_t low = 0, high = set->chunks.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (set->chunks.items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Those at the front may be gone; the last one is there as long as its digest. */
static bool load_digests(struct store *s, struct error *e)
{
	struct disk *disk = s->disk;
	struct database *d = database_of(disk);
	sqlite3_stmt *statement = d->version < 2 ? NULL : database_use(d, ST_DIGEST_ALL);

	while (statement && database_row(d, statement, e)) {
		int64_t id = sqlite3_column_int64(statement, 0), number = sqlite3_column_int64(statement, 1) - 1,
			count = sqlite3_column_int64(statement, 2);
		struct set *set = number >= 0 && (size_t)number < disk->sets.count ? disk->sets.items[number] : NULL;
		size_t at = set ? chunk_find(set, id) : 0;

		if (!set || at == set->chunks.count || set->chunks.items[at].id != id || count < 1 || count > UINT32_MAX)
			return database_damaged(disk->path, "a digest is of no chunks", e);
		set->digested = at + 1;
		for (int64_t nth = count; nth > 0 && at != SIZE_MAX; at--) {
			set->chunks.items[at].digest = id;
			set->chunks.items[at].nth = (uint32_t)--nth;
		}
	}
	return !e->set;
}

/* ---- the newest sample of each series: what later ones are compared with ---- */

/* It is not newer than the last chunk. That is enough for nearly all; see newest.c. */
static void newest_bound(struct set *set)
{
	int64_t last_ms = INT64_MIN;

	VEC_EACH (&set->chunks, chunk)
		last_ms = chunk->t_last > last_ms ? chunk->t_last : last_ms;
	for (uint32_t i = 0; i < set->count; i++) {
		struct series *series = set->members[i];
		if (series->flags & SERIES_WRITTEN && series->newest_ms >= last_ms)
			continue;
		series->newest_ms = last_ms;
		series->flags |= SERIES_WRITTEN | SERIES_UNSURE;
	}
}

/* ---- log ---- */

static bool load_log(struct store *s, struct error *e)
{
	struct disk *disk = s->disk;
	struct database *d = database_of(disk);
	sqlite3_stmt *statement = database_use(d, ST_LOG_ALL);
	uint64_t next = disk->log_seq;

	while (database_row(d, statement, e)) {
		uint64_t seq = (uint64_t)sqlite3_column_int64(statement, 0);
		struct str records = database_blob(statement, 2), plain;
		struct error why = { 0 };

		disk->log_oldest = disk->log_oldest ? disk->log_oldest : seq;
		bool ok = (uint32_t)sqlite3_column_int64(statement, 1) == blob_checksum(STR_EMPTY, records) &&
			  compressor_unpack(disk->unpacker, records, &plain);
		ok = ok ? log_replay(s, seq, plain, &why) : database_damaged(disk->path, "a row of the log has a wrong checksum", &why);
		disk->log_written += ok ? plain.len : 0;
		disk->log_rows++;
		next = seq + 1 > next ? seq + 1 : next;
		if (ok)
			continue;
		if (!disk->options.read_only) {
			*e = why;
			return false;
		}
		disk->log_faults++;
		log_warning("%s: %s: left out", disk->path, why.message);
	}
	disk->log_seq = next;
	return !e->set;
}

bool disk_load(struct store *s, struct error *e)
{
	struct disk *disk = s->disk;
	struct error local = { 0 };

	disk->log_seq = 1;
	if (!load_series(s, &local) || !load_sets(s, &local) || !load_chunks(s, &local) || !load_digests(s, &local)) {
		*e = local;
		return false;
	}
	VEC_EACH (&disk->sets, set)
		if (*set && (*set)->chunks.count)
			newest_bound(*set);
	bool ok = load_log(s, &local);
	/* Of a set whose chunks are gone only the log can have something yet. */
	VEC_EACH (&disk->sets, set)
		if (*set && !(*set)->chunks.count && !(*set)->group)
			(*set)->sealed = disk->log_seq > 1 ? disk->log_seq - 1 : 1;
	if (!ok)
		*e = local;
	return ok;
}

/* ---- opening and closing ---- */

static struct disk *disk_new(const char *path, const struct store_options *options)
{
	struct disk *disk = NEW(struct disk);

	disk->path = mem_copy(path, strlen(path));
	disk->options = *options;
	disk->options.chunk_rows = options->chunk_rows ? options->chunk_rows : CHUNK_ROWS;
	disk->options.loose_samples = options->loose_samples ? options->loose_samples : LOOSE_SAMPLES;
	disk->writer.lock = disk->reader.lock = -1;
	disk->free_place = NO_PLACE;
	pthread_mutex_init(&disk->reader_lock, NULL);
	disk->packer = compressor_new(false);
	disk->log_packer = compressor_new(true);
	disk->unpacker = compressor_new(false);
	map_init(&disk->set_numbers);
	arena_init(&disk->arena);
	buf_init(&disk->records, RECORDS_MOST);
	for (struct buf **b = (struct buf *[]){ &disk->summary, &disk->data, &disk->packed, &disk->times, NULL }; *b; b++)
		buf_init(*b, BLOBS_MOST);
	return disk;
}

struct store *store_open(const char *path, const struct store_options *options, struct error *e)
{
	struct store *s = store_new();
	struct error local = { 0 };
	struct disk *disk = s->disk = disk_new(path, options);
	bool ok;

	if (options->read_only)
		ok = database_open(&disk->reader, disk->path, &(struct database_options){ .read_only = true }, &local);
	else
		ok = database_open(&disk->writer, disk->path, &(struct database_options){ .full = options->durable_full }, &local) &&
		     database_open_reader(&disk->reader, disk->path, &local);
	if (ok && disk_load(s, &local)) {
		/* What cannot be written now is tried again when it is retained. */
		if (!options->read_only)
			store_forget(s, &local);
		return s;
	}
	disk->options.read_only = true; /* nothing is to be committed */
	store_free(s);
	if (e)
		*e = local;
	return NULL;
}

bool store_is(const char *path)
{
	char head[16] = "";
	FILE *file = fopen(path, "rb");
	bool read = file && fread(head, sizeof head, 1, file) == 1;

	if (file)
		fclose(file);
	return read && memcmp(head, "SQLite format 3", sizeof head) == 0;
}

void disk_free(struct store *s)
{
	struct disk *disk = s->disk;
	struct error e = { 0 };

	if (!disk_commit(s, &e))
		log_error("%s: what was not committed is lost: %s", disk->path, e.message);
	/* What compacting left free; when it cannot be given back, it is used again. */
	if (!disk->options.read_only && disk->writer.handle)
		sqlite3_exec(disk->writer.handle, "PRAGMA incremental_vacuum(256)", NULL, NULL, NULL);
	database_close(&disk->reader);
	database_close(&disk->writer);
	VEC_EACH (&disk->groups, g)
		group_free(*g);
	VEC_EACH (&disk->sets, set)
		set_free(*set);
	VEC_FREE(&disk->groups);
	VEC_FREE(&disk->sets);
	VEC_FREE(&disk->places);
	VEC_FREE(&disk->loose);
	VEC_FREE(&disk->keys);
	VEC_FREE(&disk->batches);
	VEC_FREE(&disk->new_batches);
	VEC_FREE(&disk->replaced);
	map_fini(&disk->set_numbers);
	compressor_free(disk->packer);
	compressor_free(disk->log_packer);
	compressor_free(disk->unpacker);
	arena_fini(&disk->arena);
	for (struct buf **b = (struct buf *[]){ &disk->records, &disk->summary, &disk->data, &disk->packed, &disk->times, NULL }; *b; b++)
		buf_fini(*b);
	pthread_mutex_destroy(&disk->reader_lock);
	kept_free(disk->kept);
	mem_free(disk->path);
	mem_free(disk);
	s->disk = NULL;
}
