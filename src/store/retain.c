/* Retention, and figures about the store. */
#include "store/internal.h"

#include <stdio.h>

enum { CHUNKS_A_CALL = 64, IDLE_MS = 2 * 3600 * 1000 };

/* ---- chunks ---- */

/* No row of the log has what its chunks cover. (No oldest row: there was none when the file was opened, and nothing was sealed since.) */
static bool log_is_past(const struct disk *disk, const struct set *set)
{
	return !disk->log_oldest || set->sealed < disk->log_oldest;
}

/* The last chunk of a set tells which rows of the log are in chunks, or were: it stays as long as there are some. */
static bool chunk_may_go(const struct disk *disk, const struct set *set)
{
	return set->chunks.count > 1 || log_is_past(disk, set);
}

/* `may_go`: of those whose chunk may go. */
static struct set *oldest_set(struct disk *disk, bool may_go)
{
	struct set *oldest = NULL;

	VEC_EACH (&disk->sets, set)
		if (*set && (*set)->chunks.count && (!may_go || chunk_may_go(disk, *set)) &&
			(!oldest || (*set)->chunks.items[0].t_last < oldest->chunks.items[0].t_last))
			oldest = *set;
	return oldest;
}

bool chunk_delete(struct disk *disk, int64_t id, struct error *e)
{
	sqlite3_stmt *statement = database_use(&disk->writer, ST_SECTION_DROP);

	sqlite3_bind_int64(statement, 1, id << SECTION_BITS);
	sqlite3_bind_int64(statement, 2, (id + 1) << SECTION_BITS);
	if (!database_run(&disk->writer, statement, e))
		return false;
	statement = database_use(&disk->writer, ST_CHUNK_DROP);
	sqlite3_bind_int64(statement, 1, id);
	return database_run(&disk->writer, statement, e);
}

/* Readers must not look for it any more when it goes from the file. */
static struct chunk chunk_forget(struct store *s, struct set *set)
{
	struct chunk chunk = set->chunks.items[0];

	pthread_rwlock_wrlock(&s->lock);
	memmove(set->chunks.items, set->chunks.items + 1, --set->chunks.count * sizeof chunk);
	s->sample_count -= chunk.samples;
	set->digested -= set->digested > 0;
	set->compacted -= set->compacted > 0;
	pthread_rwlock_unlock(&s->lock);
	return chunk;
}

static void find_oldest(struct store *s)
{
	struct disk *disk = s->disk;
	struct set *set = oldest_set(disk, false);
	int64_t oldest = s->newest_ms;

	if (set && set->chunks.items[0].t_first < oldest)
		oldest = set->chunks.items[0].t_first;
	VEC_EACH (&disk->groups, g)
		if ((*g)->rows && (*g)->t[0] < oldest)
			oldest = (*g)->t[0];
	VEC_EACH (&disk->loose, series)
		if ((*series)->count && (*series)->t[0] < oldest)
			oldest = (*series)->t[0];
	pthread_rwlock_wrlock(&s->lock);
	s->oldest_ms = oldest;
	pthread_rwlock_unlock(&s->lock);
}

/* ---- sets ---- */

/* Nothing holds samples by it, and no row of the log names it. */
static bool set_is_done(const struct disk *disk, const struct set *set)
{
	return set->stored && !set->chunks.count && !set->group && set->sealed && log_is_past(disk, set);
}

static void place_unlink(struct disk *disk, struct series *series, uint32_t set)
{
	for (uint32_t *link = &series->place; *link != NO_PLACE; link = &disk->places.items[*link].next)
		if (disk->places.items[*link].set == set) {
			uint32_t number = *link;
			*link = disk->places.items[number].next;
			disk->places.items[number].next = disk->free_place;
			disk->free_place = number;
			break;
		}
}

static bool set_drop(struct store *s, struct set *set, struct error *e)
{
	struct disk *disk = s->disk;
	sqlite3_stmt *statement = database_use(&disk->writer, ST_SET_DROP);

	sqlite3_bind_int64(statement, 1, set->number + 1);
	if (!database_run(&disk->writer, statement, e))
		return false;
	pthread_rwlock_wrlock(&s->lock);
	for (uint32_t i = 0; i < set->count; i++) {
		place_unlink(disk, set->members[i], set->number);
		s->left += set->members[i]->place == NO_PLACE;
	}
	struct str key = str_of((const char *)&set->hash, sizeof set->hash);
	if (map_get(&disk->set_numbers, key) == set)
		map_remove(&disk->set_numbers, key);
	disk->sets.items[set->number] = NULL;
	set_free(set);
	pthread_rwlock_unlock(&s->lock);
	return true;
}

/* ---- retention ---- */

static bool is_too_large(struct disk *disk, struct error *e)
{
	int64_t pages = 0, unused = 0, size = 0;

	return disk->options.retention_bytes && database_pragma(&disk->writer, "PRAGMA page_count", &pages, e) &&
	       database_pragma(&disk->writer, "PRAGMA freelist_count", &unused, e) &&
	       database_pragma(&disk->writer, "PRAGMA page_size", &size, e) &&
	       (uint64_t)(pages - unused) * (uint64_t)size > disk->options.retention_bytes;
}

static bool is_too_old(const struct disk *disk, const struct chunk *chunk, int64_t now_ms)
{
	return disk->options.retention_ms && chunk->t_last < now_ms - disk->options.retention_ms;
}

static bool drop_chunks(struct store *s, int64_t now_ms, struct error *e)
{
	struct disk *disk = s->disk;
	size_t dropped = 0;
	bool ok = true;

	for (; ok && dropped < CHUNKS_A_CALL; dropped++) {
		struct set *set = oldest_set(disk, true);
		if (!set || (!is_too_old(disk, &set->chunks.items[0], now_ms) && !is_too_large(disk, e)))
			break;
		struct chunk chunk = chunk_forget(s, set);
		ok = chunk_delete(disk, chunk.id, e) && (chunk.digest != chunk.id || digest_drop(disk, chunk.digest, e));
	}
	if (dropped)
		find_oldest(s);
	return ok;
}

bool store_retain(struct store *s, int64_t now_ms, struct error *e)
{
	struct disk *disk = s->disk;
	struct error local = { 0 };

	e = e ? e : &local;
	if (!disk) {
		memory_retain(s, now_ms);
		return store_forget(s, e);
	}
	if (disk->options.read_only || disk->degraded)
		return true;
	groups_dissolve(s, now_ms - IDLE_MS);
	bool ok = database_do(&disk->writer, ST_BEGIN, e) && drop_chunks(s, now_ms, e);
	for (size_t i = 0; ok && i < disk->sets.count; i++)
		if (disk->sets.items[i] && set_is_done(disk, disk->sets.items[i]))
			ok = set_drop(s, disk->sets.items[i], e);
	ok = ok && database_do(&disk->writer, ST_COMMIT, e);
	if (!ok) {
		database_do(&disk->writer, ST_ROLLBACK, NULL);
		return false;
	}
	if (!store_forget(s, e))
		return false;
	/* Free pages at the end of the file go back to the disk, a few at a time. */
	return sqlite3_exec(disk->writer.handle, "PRAGMA incremental_vacuum(64)", NULL, NULL, NULL) == SQLITE_OK ||
	       database_failed(&disk->writer, "shorten the store", e);
}

/* ---- figures ---- */

static void nearer(int64_t first_ms, int64_t last_ms, int64_t from_ms, bool *found, int64_t *t_ms)
{
	int64_t t = first_ms > from_ms ? first_ms : from_ms;

	if (last_ms < from_ms || (*found && t >= *t_ms))
		return;
	*found = true;
	*t_ms = t;
}

bool store_next_time(const struct store *s, int64_t from_ms, int64_t *t_ms)
{
	bool found = false;

	for (size_t id = 0; id < s->series_count; id++) {
		const struct series *series = series_at(s, id);
		if (series->count)
			nearer(series->t[0], series->t[series->count - 1], from_ms, &found, t_ms);
	}
	if (!s->disk)
		return found;
	VEC_EACH (&s->disk->groups, g)
		if ((*g)->rows)
			nearer((*g)->t[0], (*g)->t[(*g)->rows - 1], from_ms, &found, t_ms);
	VEC_EACH (&s->disk->sets, set) {
		if (!*set)
			continue;
		VEC_EACH (&(*set)->chunks, chunk)
			nearer(chunk->t_first, chunk->t_last, from_ms, &found, t_ms);
	}
	return found;
}

void store_stats(const struct store *s, struct store_stats *stats)
{
	struct disk *disk = s->disk;

	*stats = (struct store_stats){
		.series = s->series_count, .samples = s->sample_count, .head_samples = s->sample_count, .refused = s->refused
	};
	if (!disk)
		return;
	struct database *d = disk->options.read_only ? &disk->reader : &disk->writer;
	int64_t pages = 0, unused = 0, size = 0;
	database_pragma(d, "PRAGMA page_count", &pages, NULL);
	database_pragma(d, "PRAGMA freelist_count", &unused, NULL);
	database_pragma(d, "PRAGMA page_size", &size, NULL);
	stats->on_disk = true;
	stats->file_bytes = (uint64_t)(pages * size);
	stats->free_bytes = (uint64_t)(unused * size);
	stats->log_bytes = disk->log_written;
	stats->groups = disk->groups.count;
	stats->dropped = disk->dropped;
	VEC_EACH (&disk->sets, set) {
		if (!*set)
			continue;
		stats->sets++;
		stats->chunks += (*set)->chunks.count;
		VEC_EACH (&(*set)->chunks, chunk)
			stats->head_samples -= chunk->samples;
	}
	stats->degraded = disk->degraded;
	if (disk->degraded)
		snprintf(stats->degraded_why, sizeof stats->degraded_why, "%s", disk->why.message);
}
