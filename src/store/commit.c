/* Commit: what was appended becomes durable; what grew long is sealed. And what happens while the file cannot be written. */
#include "base/log.h"
#include "store/bytes.h"
#include "store/internal.h"

#include <stdlib.h>

enum {
	CHUNK_MS_MOST = 2 * 3600 * 1000,
	COMMITS_MOST = 2 * 3600, /* one a second */
	LOOSE_SET = 256,
	INSTANCE_LEAST = 32, /* series of one instance that are worth a set */
	INSTANCE_SET = 2048,
	LOG_LEAST = 16 << 20, /* bytes of the log that an unsealed row may hold back */
	LOG_PER_SERIES = 512,
	RETRY_COMMITS = 8,
	HEAD_MOST = 32 << 20, /* samples, while nothing can be written */
	CUT_SAMPLES = 300000, /* of groups that were cut, in one commit: an hour ends for all at once */
	CUT_NEAR_ROWS = 32,   /* rows before an hour that a full group waits for, instead of leaving them to a small chunk */
};

/* ---- series and sets ---- */

static void put_text(struct buf *out, struct str s)
{
	uint8_t *at = (uint8_t *)buf_reserve(out, VARINT_MAX);

	if (at)
		out->len += (size_t)(put_varint(at, s.len) - at);
	buf_add(out, s);
}

static void put_number(struct buf *out, uint64_t u)
{
	uint8_t *at = (uint8_t *)buf_reserve(out, VARINT_MAX);

	if (at)
		out->len += (size_t)(put_varint(at, u) - at);
}

/* A series names what differs from the one before: the labels are sorted, and mostly the same. Deflate finds the rest. */
static void series_pack(struct store *s, const struct series *series, struct buf *out)
{
	const struct index *x = &s->index;
	size_t count = index_label_count(x, series->id);

	put_number(out, series_key(s->disk, series->id));
	put_number(out, series->type);
	put_number(out, count);
	for (size_t i = 0; i < count; i++) {
		put_text(out, index_pair(x, series->id, i)->name);
		put_text(out, index_pair(x, series->id, i)->value);
	}
}

bool batch_end(struct disk *disk, struct batch *batch, struct error *e)
{
	if (!batch->count)
		return true;
	buf_reset(&disk->packed);
	compressor_pack(disk->packer, buf_str(&disk->data), &disk->packed);
	sqlite3_stmt *statement = database_use(&disk->writer, ST_SERIES_ADD);
	sqlite3_bind_int64(statement, 1, batch->first_key);
	database_bind_blob(statement, 2, buf_str(&disk->packed));
	VEC_PUSH(&disk->new_batches, batch->first_key);
	batch->count = 0;
	return database_run(&disk->writer, statement, e);
}

bool batch_add(struct store *s, struct batch *batch, size_t id, struct error *e)
{
	struct disk *disk = s->disk;

	if (!batch->count++) {
		buf_reset(&disk->data);
		batch->first_key = series_key(disk, (uint32_t)id);
	}
	series_pack(s, series_at(s, id), &disk->data);
	return batch->count < BATCH_SERIES || batch_end(disk, batch, e);
}

static bool series_write(struct store *s, struct error *e)
{
	struct batch batch = { 0 };

	s->disk->new_batches.count = 0;
	for (size_t id = s->disk->series_stored; id < s->series_count; id++)
		if (!batch_add(s, &batch, id, e))
			return false;
	return batch_end(s->disk, &batch, e);
}

static bool set_write(struct disk *disk, const struct set *set, struct error *e)
{
	int64_t before = -1;

	buf_reset(&disk->data);
	buf_reset(&disk->packed);
	put_number(&disk->data, set->section_count);
	for (uint32_t i = 0; i < set->section_count; i++)
		put_number(&disk->data, set->starts[i + 1] - set->starts[i]);
	for (uint32_t i = 0; i < set->count; i++) {
		int64_t key = series_key(disk, set->members[i]->id);
		put_number(&disk->data, zigzag(key - before - 1));
		before = key;
	}
	compressor_pack(disk->packer, buf_str(&disk->data), &disk->packed);
	sqlite3_stmt *statement = database_use(&disk->writer, ST_SET_ADD);
	sqlite3_bind_int64(statement, 1, set->number + 1);
	database_bind_blob(statement, 2, buf_str(&disk->packed));
	return database_run(&disk->writer, statement, e);
}

static bool sets_write(struct disk *disk, struct error *e)
{
	for (size_t i = disk->sets.count; i-- > 0;) {
		struct set *set = disk->sets.items[i];
		if (set && set->stored)
			break; /* they are stored in order */
		if (set && !set_write(disk, set, e))
			return false;
	}
	return true;
}

/* ---- what is due ---- */

static bool log_is_long(const struct store *s, uint64_t start)
{
	uint64_t most = LOG_PER_SERIES * (uint64_t)s->series_count;

	return s->disk->log_written - start > (most > LOG_LEAST ? most : LOG_LEAST);
}

/* Who comes no more is sealed after that many commits too. It is not the clock of the samples that counts: one of them may be in the
 * future. */
static bool is_due_by_age(const struct store *s, uint64_t log_first, uint64_t log_start)
{
	return s->disk->log_seq - log_first >= COMMITS_MOST || log_is_long(s, log_start);
}

/* Full, and not so shortly before it is cut that it can wait. */
static bool group_is_full(const struct group *g)
{
	if (g->rows < g->target)
		return false;
	int64_t interval = group_interval(g), newest = g->t[g->rows - 1];
	return g->cut_rows || !interval || interval > CUT_INTERVAL_MS || g->rows >= g->target + CUT_NEAR_ROWS ||
	       hour_of(newest) == hour_of(newest + CUT_NEAR_ROWS * interval);
}

static bool group_is_due(const struct store *s, const struct group *g)
{
	return g->rows && (group_is_full(g) || (uint64_t)g->t[g->rows - 1] - (uint64_t)g->t[0] >= CHUNK_MS_MOST ||
				  is_due_by_age(s, g->log_first, g->log_start));
}

static bool loose_is_due(const struct store *s)
{
	const struct disk *disk = s->disk;
	size_t many = (size_t)disk->options.chunk_rows * disk->loose.count;

	return disk->loose_samples && (disk->loose_samples >= disk->options.loose_samples || disk->loose_samples >= many ||
					      is_due_by_age(s, disk->loose_log_first, disk->loose_log_start));
}

struct homeless { /* a loose series that is in no set */
	struct series *series;
	const struct labels *labels;
	struct str instance;
};

static int compare_labels(const void *a, const void *b)
{
	return labels_cmp(((const struct homeless *)a)->labels, ((const struct homeless *)b)->labels);
}

static int compare_instances(const void *a, const void *b)
{
	int order = str_cmp(((const struct homeless *)a)->instance, ((const struct homeless *)b)->instance);

	return order ? order : compare_labels(a, b);
}

static void sets_make(struct store *s, const struct homeless *homeless, size_t count, size_t most)
{
	struct series **members = mem_resize(NULL, most, sizeof *members);

	for (size_t i = 0, taken; i < count; i += taken) {
		for (taken = 0; taken < most && i + taken < count; taken++)
			members[taken] = homeless[i + taken].series;
		set_of(s, members, taken);
	}
	mem_free(members);
}

/* Loose series are sealed in the set where they were last; those that were in none make new ones: many of one instance by themselves, since
 * they come at equal times and are asked for together, the others as they are sorted. */
static void loose_find_homes(struct store *s)
{
	struct disk *disk = s->disk;
	struct homeless *homeless = mem_resize(NULL, disk->loose.count + 1, sizeof *homeless);
	size_t count = 0, few = 0, run;
	struct arena arena;

	arena_init(&arena);
	VEC_EACH (&disk->loose, series) {
		if ((*series)->place != NO_PLACE)
			continue;
		const struct labels *labels = series_labels(s, &arena, *series);
		homeless[count++] = (struct homeless){ *series, labels, labels_get(labels, STR("instance")) };
	}
	qsort(homeless, count, sizeof *homeless, compare_instances);
	for (size_t i = 0; i < count; i += run) {
		struct str instance = homeless[i].instance;
		for (run = 1; i + run < count && str_eq(homeless[i + run].instance, instance); run++)
			;
		if (instance.len && run >= INSTANCE_LEAST) {
			sets_make(s, homeless + i, run, INSTANCE_SET);
			continue;
		}
		memmove(homeless + few, homeless + i, run * sizeof *homeless);
		few += run;
	}
	qsort(homeless, few, sizeof *homeless, compare_labels);
	sets_make(s, homeless, few, LOOSE_SET);
	arena_fini(&arena);
	mem_free(homeless);
}

struct sealing { /* sets to be sealed, each marked */
	struct set **items;
	size_t count, cap;
};

static void mark(struct sealing *list, struct set *set)
{
	if (!set->marked)
		VEC_PUSH(list, set);
	set->marked = true;
}

static void find_due(struct store *s, bool all, struct sealing *due)
{
	struct disk *disk = s->disk;

	size_t cut = 0;

	VEC_EACH (&disk->groups, g) {
		/* The log may not have what came after the cut. */
		(*g)->cut_rows = all ? 0 : (*g)->cut_rows;
		if (all ? (*g)->rows > 0 : group_is_due(s, *g))
			mark(due, (*g)->set);
	}
	VEC_EACH (&disk->groups, g) {
		if (!(*g)->cut_rows || cut >= CUT_SAMPLES)
			continue;
		cut += (size_t)(*g)->cut_rows * (*g)->set->count;
		mark(due, (*g)->set);
	}
	if (!(all ? disk->loose_samples > 0 : loose_is_due(s)))
		return;
	pthread_rwlock_wrlock(&s->lock);
	loose_find_homes(s);
	pthread_rwlock_unlock(&s->lock);
	VEC_EACH (&disk->loose, series)
		if ((*series)->count)
			mark(due, disk->sets.items[disk->places.items[(*series)->place].set]);
}

/* ---- the transaction ---- */

static uint64_t log_needed(const struct disk *disk)
{
	uint64_t oldest = disk->log_seq + 1;
	bool loose_left = false;

	VEC_EACH (&disk->groups, g) {
		uint64_t first = (*g)->set->marked ? (*g)->cut_log : (*g)->log_first;
		bool left = (*g)->set->marked ? (*g)->set->sealing < (*g)->rows : (*g)->rows > 0;
		if (left && first < oldest)
			oldest = first;
	}
	VEC_EACH (&disk->loose, series) {
		uint32_t place = (*series)->place;
		loose_left |= (*series)->count && (place == NO_PLACE || !disk->sets.items[disk->places.items[place].set]->marked);
	}
	return loose_left && disk->loose_log_first < oldest ? disk->loose_log_first : oldest;
}

static bool log_write(struct disk *disk, struct error *e)
{
	if (!disk->records.len || disk->records.overflowed)
		return true;
	buf_reset(&disk->packed);
	compressor_pack(disk->log_packer, buf_str(&disk->records), &disk->packed);
	struct str records = buf_str(&disk->packed);
	sqlite3_stmt *statement = database_use(&disk->writer, ST_LOG_ADD);
	sqlite3_bind_int64(statement, 1, (int64_t)disk->log_seq);
	sqlite3_bind_int64(statement, 2, blob_checksum(STR_EMPTY, records));
	database_bind_blob(statement, 3, records);
	return database_run(&disk->writer, statement, e);
}

static bool log_trim(struct disk *disk, const struct sealing *due, uint64_t *needed, struct error *e)
{
	*needed = disk->log_oldest;
	if (!due->count)
		return true;
	*needed = log_needed(disk);
	sqlite3_stmt *statement = database_use(&disk->writer, ST_LOG_TRIM);
	sqlite3_bind_int64(statement, 1, (int64_t)*needed);
	return database_run(&disk->writer, statement, e);
}

static bool write_all(struct store *s, const struct sealing *due, uint64_t *needed, struct error *e)
{
	struct disk *disk = s->disk;

	if (!series_write(s, e) || !sets_write(disk, e) || !log_write(disk, e))
		return false;
	VEC_EACH (due, set)
		if (!set_seal(s, *set, e))
			return false;
	return log_trim(disk, due, needed, e) && database_do(&disk->writer, ST_COMMIT, e);
}

void loose_tidy(struct disk *disk)
{
	size_t kept = 0;

	for (size_t i = 0; i < disk->loose.count; i++)
		if (disk->loose.items[i]->count)
			disk->loose.items[kept++] = disk->loose.items[i];
	disk->loose.count = kept;
}

static void committed(struct store *s, struct sealing *due, uint64_t needed)
{
	struct disk *disk = s->disk;

	pthread_rwlock_wrlock(&s->lock);
	VEC_EACH (due, set) {
		set_sealed(s, *set);
		(*set)->marked = false;
	}
	if (due->count)
		loose_tidy(disk);
	pthread_rwlock_unlock(&s->lock);
	for (size_t i = disk->sets.count; i-- > 0 && (!disk->sets.items[i] || !disk->sets.items[i]->stored);)
		if (disk->sets.items[i])
			disk->sets.items[i]->stored = true;
	VEC_EACH (&disk->new_batches, first)
		VEC_PUSH(&disk->batches, *first);
	disk->series_stored = s->series_count;
	disk->log_oldest = needed;
	disk->log_written += disk->records.len;
	disk->log_seq++;
	records_begin(disk);
}

/* Nothing was written. What is in memory stays there, and is sealed whole when the file can be written again. */
static void degrade(struct store *s, struct sealing *due, const struct error *e)
{
	struct disk *disk = s->disk;

	database_do(&disk->writer, ST_ROLLBACK, NULL);
	VEC_EACH (due, set) {
		(*set)->marked = false;
		(*set)->pending.count = 0;
		for (uint32_t i = 0; i < (*set)->count; i++)
			(*set)->members[i]->flags &= (uint8_t)~SERIES_TAKEN;
	}
	arena_reset(&disk->arena);
	records_begin(disk);
	disk->why = *e;
	if (!disk->degraded) {
		char text[512];
		error_text(e, text, sizeof text);
		log_error("%s; samples are kept in memory until the store can be written again", text);
	}
	disk->degraded = true;
}

static size_t head_samples(const struct disk *disk)
{
	size_t count = disk->loose_samples;

	VEC_EACH (&disk->groups, g)
		count += (size_t)(*g)->rows * (*g)->set->count;
	return count;
}

/* Memory is no disk: beyond a limit the older half goes, and is counted. */
static void head_limit(struct store *s)
{
	struct disk *disk = s->disk;

	if (head_samples(disk) <= HEAD_MOST)
		return;
	pthread_rwlock_wrlock(&s->lock);
	VEC_EACH (&disk->loose, series) {
		size_t half = (*series)->count / 2;
		series_drop(*series, half);
		disk->loose_samples -= half;
		disk->dropped += half;
	}
	for (size_t i = 0; i < disk->groups.count; i++) {
		struct group *g = disk->groups.items[i];
		uint32_t half = g->rows / 2;
		disk->dropped += (uint64_t)half * g->set->count;
		group_forget(g, half);
	}
	pthread_rwlock_unlock(&s->lock);
}

static bool still_degraded(struct store *s, struct error *e)
{
	head_limit(s);
	if (++s->disk->degraded_commits % RETRY_COMMITS == 0)
		return false;
	if (e)
		*e = s->disk->why;
	return true;
}

bool disk_commit(struct store *s, struct error *e)
{
	struct disk *disk = s->disk;
	struct sealing due = { 0 };
	struct error local = { 0 };
	uint64_t needed;
	bool was_degraded = disk->degraded, all = was_degraded;

	e = e ? e : &local;
	if (disk->options.read_only)
		return true;
	if (was_degraded && still_degraded(s, e))
		return false;
	/* Records that did not fit in one row need no log when all is sealed at once. */
	all |= disk->records.overflowed;
	find_due(s, all, &due);
	if (!due.count && !disk->records.len && disk->series_stored == s->series_count)
		return true;
	bool ok = database_do(&disk->writer, ST_BEGIN, e) && write_all(s, &due, &needed, e);
	if (ok) {
		committed(s, &due, needed);
		disk->degraded = false;
		if (was_degraded)
			log_note("the store can be written again: what was kept in memory is in the file");
	} else {
		degrade(s, &due, e);
	}
	VEC_FREE(&due);
	return ok;
}

bool store_commit(struct store *s, struct error *e)
{
	if (!s->disk)
		return true;
	if (!disk_commit(s, e))
		return false;
	if (!s->disk->options.read_only) {
		disk_compact(s);
		disk_digest(s);
	}
	return true;
}
