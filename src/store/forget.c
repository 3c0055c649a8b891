/* Forgetting: series that are left without samples leave the file and memory.
 *
 * Only those can go that nothing leads to: no chunk and no row of the log (a set goes after both), no group, no loose samples, no pointer
 * that is held. The others keep their addresses and move up in the list of ids. */
#include "store/internal.h"

enum {
	FORGET_LEAST = 1000,
	FORGET_SHARE = 8, /* of all: going through all of them is then cheap for each one that goes */
	BATCH_SMALL = BATCH_SERIES / 8
};

static bool is_dead(const struct series *series)
{
	return series->place == NO_PLACE && !series->count && !series->group && !series->holds;
}

static inline bool stays(const uint32_t *before, size_t id)
{
	return before[id + 1] != before[id];
}

static bool is_few(const struct store *s, size_t count)
{
	return count < FORGET_LEAST || count < s->series_count / FORGET_SHARE;
}

/* before[id]: how many of smaller ids stay. NULL: too few go. */
static uint32_t *find_dead(struct store *s)
{
	size_t dead = 0;
	uint32_t kept = 0;

	if (is_few(s, s->left))
		return NULL;
	for (size_t id = 0; id < s->series_count; id++)
		dead += is_dead(series_at(s, id));
	s->left = dead;
	if (is_few(s, dead))
		return NULL;
	uint32_t *before = mem_resize(NULL, s->series_count + 1, sizeof *before);
	for (size_t id = 0; id < s->series_count; id++) {
		before[id] = kept;
		kept += !is_dead(series_at(s, id));
	}
	before[s->series_count] = kept;
	return before;
}

/* ---- the file ---- */

static bool batch_drop(struct disk *disk, uint32_t first_key, struct error *e)
{
	sqlite3_stmt *statement = database_use(&disk->writer, ST_SERIES_DROP);

	sqlite3_bind_int64(statement, 1, first_key);
	return database_run(&disk->writer, statement, e);
}

/* The series [id, end) of one row of the file: what stays of them joins what stays of its neighbours. */
static bool batch_forget(struct store *s, size_t nth, size_t id, size_t end, const uint32_t *before, struct batch *batch, struct error *e)
{
	struct disk *disk = s->disk;

	if (before[end] - before[id] == end - id && end - id >= BATCH_SMALL) {
		if (!batch_end(disk, batch, e))
			return false;
		VEC_PUSH(&disk->new_batches, disk->batches.items[nth]);
		return true;
	}
	if (!batch_drop(disk, disk->batches.items[nth], e))
		return false;
	for (; id < end; id++)
		if (stays(before, id) && !batch_add(s, batch, id, e))
			return false;
	return true;
}

static bool batches_forget(struct store *s, const uint32_t *before, struct error *e)
{
	struct disk *disk = s->disk;
	struct batch batch = { 0 };
	size_t id = 0, end;

	disk->new_batches.count = 0;
	for (size_t i = 0; i < disk->batches.count; i++, id = end) {
		bool last = i + 1 == disk->batches.count;
		for (end = id; end < disk->series_stored && (last || disk->keys.items[end] < disk->batches.items[i + 1]); end++)
			;
		if (!batch_forget(s, i, id, end, before, &batch, e))
			return false;
	}
	return batch_end(disk, &batch, e);
}

static bool file_forget(struct store *s, const uint32_t *before, struct error *e)
{
	struct disk *disk = s->disk;

	if (database_do(&disk->writer, ST_BEGIN, e) && batches_forget(s, before, e) && database_do(&disk->writer, ST_COMMIT, e)) {
		disk->batches.count = 0;
		VEC_EACH (&disk->new_batches, first)
			VEC_PUSH(&disk->batches, *first);
		VEC_TIGHTEN(&disk->batches);
		return true;
	}
	database_do(&disk->writer, ST_ROLLBACK, NULL);
	return false;
}

/* ---- memory ---- */

static void disk_move_up(struct disk *disk, const uint32_t *before)
{
	size_t kept = 0;

	for (size_t id = 0; id < disk->keys.count; id++)
		if (stays(before, id))
			disk->keys.items[kept++] = disk->keys.items[id];
	disk->keys.count = kept;
	VEC_TIGHTEN(&disk->keys);
	disk->series_stored = before[disk->series_stored];
	/* What is left of them here are places in a list, without samples. */
	loose_tidy(disk);
}

static void memory_forget(struct store *s, const uint32_t *before)
{
	size_t count = s->series_count;

	if (s->disk)
		disk_move_up(s->disk, before);
	index_forget(&s->index, before);
	for (size_t id = 0; id < count; id++) {
		struct series *series = s->by_id[id];
		if (!stays(before, id)) {
			slab_give(s, series);
			continue;
		}
		series->id = before[id];
		s->by_id[series->id] = series;
	}
	s->series_count = before[count];
	if (s->series_count < s->series_cap / 2) {
		s->series_cap = s->series_count + s->series_count / 4 + 64;
		s->by_id = mem_resize(s->by_id, s->series_cap, sizeof *s->by_id);
	}
	slots_renew(s);
	s->left = 0;
	s->forgotten++;
}

bool store_forget(struct store *s, struct error *e)
{
	uint32_t *before = find_dead(s);
	bool ok = true;

	if (!before)
		return true;
	if (s->disk)
		ok = file_forget(s, before, e);
	if (ok) {
		pthread_rwlock_wrlock(&s->lock);
		memory_forget(s, before);
		pthread_rwlock_unlock(&s->lock);
	}
	mem_free(before);
	return ok;
}
