/* Fetching: rows of the file that reading needs. */
#include "store/internal.h"

/* Queries ask for the same again and again: every selector of a target for the times of its chunks, every refresh of a dashboard for the
 * same sections. What is small, so that finding it costs more than reading it, is kept; each place holds what came last. */
enum { KEPT_TIMES = 2048, KEPT_ROWS = 512, KEPT_SECTIONS = 2 * KEPT_TIMES, KEPT_BYTES = 2048 };

struct kept_times {
	int64_t chunk;
	int64_t *t; /* NULL: none */
	uint32_t count;
};
struct kept_section {
	int64_t id;
	char *bytes; /* summary, then packed data; NULL: none */
	uint32_t summary_len, packed_len;
};
struct kept {
	struct kept_times times[KEPT_TIMES];
	struct kept_section sections[KEPT_SECTIONS];
};

static struct kept *kept_of(struct disk *disk)
{
	if (!disk->kept)
		disk->kept = NEW(struct kept);
	return disk->kept;
}

void kept_free(struct kept *kept)
{
	for (size_t i = 0; kept && i < KEPT_TIMES; i++)
		mem_free(kept->times[i].t);
	for (size_t i = 0; kept && i < KEPT_SECTIONS; i++)
		mem_free(kept->sections[i].bytes);
	mem_free(kept);
}

/* ---- one view of the file ---- */

/* A file opened read-only is in a transaction all the time. */
void fetch_begin(struct disk *disk)
{
	pthread_mutex_lock(&disk->reader_lock);
	if (!disk->fetching++ && !disk->options.read_only)
		database_do(&disk->reader, ST_BEGIN_READ, NULL);
	pthread_mutex_unlock(&disk->reader_lock);
}

void fetch_end(struct disk *disk)
{
	pthread_mutex_lock(&disk->reader_lock);
	if (!--disk->fetching && !disk->options.read_only) {
		/* A statement that still has a row would keep the view, and the WAL could not begin anew. */
		if (disk->reader.statements[ST_SECTION_GET])
			sqlite3_reset(disk->reader.statements[ST_SECTION_GET]);
		database_do(&disk->reader, ST_COMMIT, NULL);
	}
	pthread_mutex_unlock(&disk->reader_lock);
}

/* ---- times ---- */

static struct times_list *times_read(struct disk *disk, int64_t chunk, struct arena *arena, size_t *count, struct error *e)
{
	sqlite3_stmt *statement = database_use(&disk->reader, ST_CHUNK_TIMES);
	struct error local = { 0 };

	sqlite3_bind_int64(statement, 1, chunk);
	if (!database_row(&disk->reader, statement, &local)) {
		if (!local.set)
			database_damaged(disk->path, "a chunk is missing", &local);
		*e = local;
		return NULL;
	}
	struct times_list *lists = times_unpack(database_blob(statement, 0), arena, count);
	sqlite3_reset(statement);
	if (!lists)
		database_damaged(disk->path, "the times of a chunk cannot be read", e);
	return lists;
}

struct times_list *times_fetch(struct disk *disk, int64_t chunk, struct arena *arena, size_t *count, struct error *e)
{
	struct kept_times *kept = &kept_of(disk)->times[(uint64_t)chunk % KEPT_TIMES];
	struct times_list *lists;

	if (kept->t && kept->chunk == chunk) {
		lists = ARENA_NEW(arena, struct times_list);
		*lists = (struct times_list){ kept->t, kept->count };
		*count = 1;
		return lists;
	}
	lists = times_read(disk, chunk, arena, count, e);
	if (lists && *count == 1 && lists[0].count <= KEPT_ROWS) {
		kept->t = mem_resize(kept->t, lists[0].count, sizeof *kept->t);
		memcpy(kept->t, lists[0].t, lists[0].count * sizeof *kept->t);
		kept->chunk = chunk;
		kept->count = lists[0].count;
	}
	return lists;
}

/* ---- sections ---- */

static bool section_read(struct disk *disk, int64_t id, struct str *summary, struct str *packed, struct error *e)
{
	sqlite3_stmt *statement = database_use(&disk->reader, ST_SECTION_GET);
	struct error local = { 0 };

	sqlite3_bind_int64(statement, 1, id);
	if (!database_row(&disk->reader, statement, &local)) {
		if (!local.set)
			database_damaged(disk->path, "a section is missing", &local);
		*e = local;
		return false;
	}
	*packed = database_blob(statement, 2);
	*summary = database_blob(statement, 1);
	return (uint32_t)sqlite3_column_int64(statement, 0) == blob_checksum(*summary, *packed) ||
	       database_damaged(disk->path, "a section has a wrong checksum", e);
}

bool section_fetch_packed(struct disk *disk, int64_t chunk, uint32_t section, struct str *summary, struct str *packed, struct error *e)
{
	int64_t id = chunk << SECTION_BITS | section;
	/* Two sections side by side, of chunks in a row, do not drive each other out. */
	struct kept_section *kept = &kept_of(disk)->sections[((uint64_t)chunk * 2 + section) % KEPT_SECTIONS];

	if (kept->bytes && kept->id == id) {
		*summary = str_of(kept->bytes, kept->summary_len);
		*packed = str_of(kept->bytes + kept->summary_len, kept->packed_len);
		return true;
	}
	if (!section_read(disk, id, summary, packed, e))
		return false;
	if (summary->len + packed->len <= KEPT_BYTES) {
		kept->bytes = mem_resize(kept->bytes, summary->len + packed->len + 1, 1);
		memcpy(kept->bytes, summary->ptr, summary->len);
		memcpy(kept->bytes + summary->len, packed->ptr, packed->len);
		kept->id = id;
		kept->summary_len = (uint32_t)summary->len;
		kept->packed_len = (uint32_t)packed->len;
	}
	return true;
}

bool section_fetch(struct disk *disk, int64_t chunk, uint32_t section, struct str *summary, struct str *data, struct error *e)
{
	struct str packed;

	return section_fetch_packed(disk, chunk, section, summary, &packed, e) &&
	       (compressor_unpack(disk->unpacker, packed, data) || database_damaged(disk->path, "a section cannot be unpacked", e));
}

/* ---- digests ---- */

bool digest_row_fetch(struct disk *disk, enum statement which, int64_t id, struct str *blob, struct error *e)
{
	sqlite3_stmt *statement = database_use(&disk->reader, which);
	struct error local = { 0 };

	sqlite3_bind_int64(statement, 1, id);
	if (!database_row(&disk->reader, statement, &local)) {
		if (!local.set)
			database_damaged(disk->path, "a part of a digest is missing", &local);
		*e = local;
		return false;
	}
	*blob = database_blob(statement, 1);
	return (uint32_t)sqlite3_column_int64(statement, 0) == blob_checksum(STR_EMPTY, *blob) ||
	       database_damaged(disk->path, "a digest has a wrong checksum", e);
}

struct digest_head *digest_fetch(struct disk *disk, int64_t digest, struct arena *arena, struct error *e)
{
	struct digest_head *head = NULL;
	struct str entries;

	if (digest_row_fetch(disk, ST_DIGEST_GET, digest, &entries, e) && !(head = digest_head_unpack(entries, arena)))
		database_damaged(disk->path, "a digest cannot be read", e);
	sqlite3_reset(disk->reader.statements[ST_DIGEST_GET]);
	return head;
}

struct digest_section *digest_section_fetch(struct disk *disk, int64_t digest, uint32_t section, size_t count,
	const struct digest_head *head, struct arena *arena, struct error *e)
{
	struct digest_section *s = NULL;
	struct str packed, data;

	if (digest_row_fetch(disk, ST_DIGEST_SECTION_GET, digest << SECTION_BITS | section, &packed, e) &&
		(!compressor_unpack(disk->unpacker, packed, &data) || !(s = digest_section_unpack(data, count, head->count, arena))))
		database_damaged(disk->path, "a digest cannot be read", e);
	sqlite3_reset(disk->reader.statements[ST_DIGEST_SECTION_GET]);
	return s;
}
