/* Compacting: what was sealed in small chunks, as series that come one by one are, becomes few chunks of full size that end at hours: half
 * as many bytes of times and summaries, and a query reads fewer rows of the file. It is the end of a set that is compacted, so that the ids
 * of its chunks go on rising.
 *
 * Readers must find in the file what memory says. So the new chunks are written beside the old ones, which are marked as replaced in the
 * same transaction; then memory changes; then the old ones are deleted, now or when the file is opened again. */
#include "base/log.h"
#include "store/draft.h"

enum {
	SETS_A_CALL = 1024, /* that are looked at */
	CHUNKS_MOST = 64,
	FULL_MOST = 4,          /* of a full chunk's rows */
	SAMPLES_MOST = 1 << 20, /* at once: some 30 ms */
	GAP_MS_MOST = 2 * HOUR_MS,
	SIXTH_INTERVAL_MS = 60 * 1000 /* between samples: chunks end at every sixth hour, with more at half days */
};

static uint64_t span_ms(int64_t first_ms, int64_t last_ms)
{
	return (uint64_t)last_ms - (uint64_t)first_ms;
}

/* ---- what is due ---- */

/* Small chunks at the end of a set, one after the other in time and without digests, that make a large one together. */
static size_t chunks_due(const struct disk *disk, const struct set *set)
{
	const struct chunk *chunks = set->chunks.items;
	size_t front = set->digested > set->compacted ? set->digested : set->compacted, count = set->chunks.count, at = count;
	uint32_t rows = 0, full = disk->options.chunk_rows;

	for (; at > front && count - at < CHUNKS_MOST; at--) {
		const struct chunk *chunk = &chunks[at - 1], *next = chunk + 1;
		bool joins = at == count || (chunk->t_last < next->t_first && span_ms(chunk->t_last, next->t_first) <= GAP_MS_MOST);
		uint32_t all = rows + chunk->rows;
		if (!joins || !chunk_is_small(disk, chunk) || all > FULL_MOST * full || (uint64_t)all * set->count > SAMPLES_MOST)
			break;
		rows = all;
	}
	return rows >= full && count - at > 1 ? count - at : 0;
}

/* ---- the pieces that they become ---- */

struct piece {
	struct draft draft;
	int64_t end_ms; /* its last sample is not after that */
};

struct source { /* a chunk that is replaced */
	const struct chunk *chunk;
	struct times_list *lists;
	size_t list_count, start; /* rows of the main times before it */
};

struct run_on {       /* one member's samples in all of the chunks */
	int64_t *own; /* its times; NULL: the main ones, as far as it goes */
	double *v;
	size_t count;
};

struct compacting {
	struct store *store;
	struct set *set;
	struct source *sources;
	size_t count;
	int64_t *t; /* the main times: list 0 of one chunk after the other */
	size_t rows, rows_most;
	struct run_on *columns; /* of the set's members */
	VEC(struct piece) pieces;
	struct arena kept, section; /* until the end; while a section is read */
};

static bool list_fits(const struct times_list *list, const struct chunk *chunk)
{
	return list->count <= chunk->rows && list->t[0] >= chunk->t_first && list->t[list->count - 1] <= chunk->t_last;
}

static bool source_read(struct compacting *c, struct source *source, struct error *e)
{
	struct disk *disk = c->store->disk;

	pthread_mutex_lock(&disk->reader_lock);
	const struct times_list *lists = times_fetch(disk, source->chunk->id, &c->kept, &source->list_count, e);
	source->lists = lists && source->list_count ? arena_alloc(&c->kept, source->list_count * sizeof *lists) : NULL;
	for (size_t i = 0; source->lists && i < source->list_count; i++) {
		int64_t *t = arena_alloc(&c->kept, lists[i].count * sizeof *t);
		memcpy(t, lists[i].t, lists[i].count * sizeof *t);
		source->lists[i] = (struct times_list){ t, lists[i].count };
	}
	pthread_mutex_unlock(&disk->reader_lock);
	for (size_t i = 0; source->lists && i < source->list_count; i++)
		if (!list_fits(&source->lists[i], source->chunk))
			return database_damaged(disk->path, "a chunk has other times than it says", e);
	return source->lists || database_damaged(disk->path, "a chunk has no times", e);
}

static bool sources_read(struct compacting *c, struct error *e)
{
	for (size_t n = 0; n < c->count; n++) {
		struct source *source = &c->sources[n];
		if (!source_read(c, source, e))
			return false;
		source->start = c->rows;
		c->rows += source->lists[0].count;
		c->rows_most += source->chunk->rows;
	}
	c->t = arena_alloc(&c->kept, c->rows * sizeof *c->t);
	for (size_t n = 0; n < c->count; n++)
		memcpy(c->t + c->sources[n].start, c->sources[n].lists[0].t, c->sources[n].lists[0].count * sizeof *c->t);
	return true;
}

/* Where chunks may end. */
static int64_t period_ms(const struct compacting *c)
{
	uint64_t span = 0, steps = 0;

	for (size_t n = 0; n < c->count; n++) {
		span += span_ms(c->sources[n].chunk->t_first, c->sources[n].chunk->t_last);
		steps += c->sources[n].chunk->rows - 1;
	}
	uint64_t interval = steps ? span / steps : HOUR_MS;
	return HOUR_MS * (interval <= CUT_INTERVAL_MS ? 1 : interval <= SIXTH_INTERVAL_MS ? CUT_HOURS : 2 * CUT_HOURS);
}

/* The end of the period that t_ms lies in: a sample at a full hour is the last one of it. */
static int64_t period_end(int64_t t_ms, int64_t period)
{
	int64_t into = t_ms % period, end;

	return !into || __builtin_add_overflow(t_ms - into, into > 0 ? period : 0, &end) ? t_ms : end;
}

static void piece_begin(struct compacting *c, int64_t end_ms)
{
	struct disk *disk = c->store->disk;
	struct piece piece = { .end_ms = end_ms };

	draft_begin(&piece.draft, disk, c->set, &c->kept, c->sources[c->count - 1].chunk->sealed);
	VEC_PUSH(&c->pieces, piece);
}

/* The first time after t_ms, which is before its last one. */
static int64_t source_next(const struct source *source, int64_t t_ms)
{
	int64_t next = source->chunk->t_last;

	for (size_t i = 0; i < source->list_count; i++) {
		const struct times_list *list = &source->lists[i];
		size_t at = times_after(list->t, list->count, t_ms);
		next = at < list->count && list->t[at] < next ? list->t[at] : next;
	}
	return next;
}

static size_t source_rows_after(const struct source *source, int64_t t_ms)
{
	size_t rows = 0;

	for (size_t i = 0; i < source->list_count; i++) {
		size_t after = source->lists[i].count - times_after(source->lists[i].t, source->lists[i].count, t_ms);
		rows = after > rows ? after : rows;
	}
	return rows;
}

/* They end with periods, wherever that is, and with the source that fills them. Each has a sample: none begins but with one. */
static void pieces_plan(struct compacting *c)
{
	int64_t period = period_ms(c), cut = INT64_MIN, end;
	size_t rows = 0;

	for (size_t n = 0; n < c->count; n++) {
		const struct source *source = &c->sources[n];
		int64_t next = n + 1 < c->count ? source[1].chunk->t_first : INT64_MAX, last = source->chunk->t_last;
		for (int64_t t = source->chunk->t_first; (end = period_end(t, period)) < last; t = source_next(source, end)) {
			piece_begin(c, cut = end);
			rows = 0;
		}
		rows += source_rows_after(source, cut);
		if (next < INT64_MAX && (next > end || rows >= c->store->disk->options.chunk_rows)) {
			piece_begin(c, cut = next > end ? end : last);
			rows = 0;
		}
	}
	piece_begin(c, INT64_MAX);
}

/* ---- columns ---- */

static void run_on_add(struct compacting *c, struct run_on *x, const struct source *source, uint32_t list)
{
	const struct times_list *times = &source->lists[list];

	if (!x->own && (list || x->count != source->start)) {
		x->own = arena_alloc(&c->kept, c->rows_most * sizeof *x->own);
		memcpy(x->own, c->t, x->count * sizeof *x->own);
	}
	if (x->own)
		memcpy(x->own + x->count, times->t, times->count * sizeof *x->own);
	x->count += times->count;
}

static bool section_read(struct compacting *c, const struct source *source, uint32_t number, struct error *e)
{
	uint32_t count = c->set->starts[number + 1] - c->set->starts[number];
	struct run_on *columns = c->columns + c->set->starts[number];
	struct disk *disk = c->store->disk;
	struct section section;
	struct str summary, data;

	double **out = ARENA_ARRAY(&c->section, double *, count + 1);
	if (!section_fetch(disk, source->chunk->id, number, &summary, &data, e))
		return false;
	bool ok = section_open(&section, summary, source->lists, source->list_count, &c->section) && section.count == count;
	for (uint32_t i = 0; ok && i < count; i++)
		out[i] = section_list(&section, i) == SECTION_ABSENT ? NULL : columns[i].v + columns[i].count;
	ok = ok && section_values(&section, data, source->lists, out, &c->section);
	for (uint32_t i = 0; ok && i < count; i++)
		if (out[i])
			run_on_add(c, &columns[i], source, section_list(&section, i));
	arena_reset(&c->section);
	return ok || database_damaged(disk->path, "a section cannot be read", e);
}

static bool columns_read(struct compacting *c, struct error *e)
{
	struct disk *disk = c->store->disk;
	bool ok = true;

	c->columns = ARENA_ARRAY(&c->kept, struct run_on, c->set->count + 1);
	for (uint32_t i = 0; i < c->set->count; i++)
		c->columns[i].v = arena_alloc(&c->kept, c->rows_most * sizeof(double));
	pthread_mutex_lock(&disk->reader_lock);
	for (uint32_t k = 0; ok && k < c->set->section_count; k++)
		for (size_t n = 0; ok && n < c->count; n++)
			ok = section_read(c, &c->sources[n], k, e);
	pthread_mutex_unlock(&disk->reader_lock);
	return ok;
}

/* Its samples after after_ms. */
static bool piece_write(struct compacting *c, struct piece *piece, int64_t after_ms, struct error *e)
{
	struct set *set = c->set;
	struct column *columns = ARENA_ARRAY(&c->kept, struct column, set->count + 1);
	bool ok = true;

	for (uint32_t i = 0; i < set->count; i++) {
		const struct run_on *x = &c->columns[i];
		const int64_t *t = x->own ? x->own : c->t;
		size_t first = times_after(t, x->count, after_ms), end = times_after(t, x->count, piece->end_ms);
		if (end > first)
			columns[i] = draft_column(&piece->draft, i, t + first, x->v + first, end - first);
	}
	for (uint32_t k = 0; ok && k < set->section_count; k++)
		ok = draft_section(&piece->draft, k, columns + set->starts[k], e);
	return ok && draft_end(&piece->draft, e);
}

/* ---- the transaction ---- */

static bool chunk_replaced(struct disk *disk, int64_t id, struct error *e)
{
	sqlite3_stmt *statement = database_use(&disk->writer, ST_CHUNK_REPLACE);

	sqlite3_bind_int64(statement, 1, id);
	return database_run(&disk->writer, statement, e);
}

/* What the sources said that they had. */
static bool pieces_are_whole(const struct compacting *c, struct error *e)
{
	uint64_t samples = 0;
	bool empty = false;

	for (size_t n = 0; n < c->count; n++)
		samples += c->sources[n].chunk->samples;
	VEC_EACH (&c->pieces, piece) {
		samples -= piece->draft.chunk.samples;
		empty |= !piece->draft.chunk.samples;
	}
	return (!samples && !empty) || database_damaged(c->store->disk->path, "a chunk has other samples than it says", e);
}

/* One after the other, so that the rows of the file are written in the order of their keys: then its pages are full. */
static bool pieces_write(struct compacting *c, struct error *e)
{
	struct disk *disk = c->store->disk;
	int64_t after_ms = INT64_MIN;
	bool ok;

	fetch_begin(disk);
	ok = sources_read(c, e) && columns_read(c, e);
	fetch_end(disk);
	if (ok)
		pieces_plan(c);
	for (size_t p = 0; ok && p < c->pieces.count; p++) {
		ok = piece_write(c, &c->pieces.items[p], after_ms, e);
		after_ms = c->pieces.items[p].end_ms;
	}
	ok = ok && pieces_are_whole(c, e);
	for (size_t n = 0; ok && n < c->count; n++)
		ok = chunk_replaced(disk, c->sources[n].chunk->id, e);
	return ok;
}

static void pieces_take(struct compacting *c)
{
	struct set *set = c->set;

	for (size_t n = 0; n < c->count; n++)
		VEC_PUSH(&c->store->disk->replaced, c->sources[n].chunk->id);
	pthread_rwlock_wrlock(&c->store->lock);
	set->chunks.count -= c->count;
	VEC_EACH (&c->pieces, piece)
		set_add_chunk(set, &piece->draft.chunk);
	pthread_rwlock_unlock(&c->store->lock);
	set->compacted = set->chunks.count - 1; /* what follows may still make the last one larger */
}

static void set_compact(struct store *s, struct set *set, size_t count)
{
	struct compacting c = { .store = s, .set = set, .count = count };
	struct disk *disk = s->disk;
	struct error e = { 0 };

	arena_init(&c.kept);
	arena_init(&c.section);
	set_above(s, set);
	c.sources = ARENA_ARRAY(&c.kept, struct source, count);
	for (size_t n = 0; n < count; n++)
		c.sources[n].chunk = &set->chunks.items[set->chunks.count - count + n];
	if (database_do(&disk->writer, ST_BEGIN, &e) && pieces_write(&c, &e) && database_do(&disk->writer, ST_COMMIT, &e)) {
		pieces_take(&c);
	} else {
		database_do(&disk->writer, ST_ROLLBACK, NULL);
		set->compacted = set->chunks.count;
		log_warning("%s: small chunks stay as they are: %s", disk->path, e.message);
	}
	VEC_FREE(&c.pieces);
	arena_fini(&c.section);
	arena_fini(&c.kept);
}

/* Nobody reads them any more: who does began before memory changed, and has a view of the file of then. */
static void replaced_delete(struct disk *disk)
{
	bool ok = database_do(&disk->writer, ST_BEGIN, NULL);

	VEC_EACH (&disk->replaced, id)
		ok = ok && chunk_delete(disk, *id, NULL);
	ok = ok && database_do(&disk->writer, ST_COMMIT, NULL);
	if (ok)
		disk->replaced.count = 0;
	else
		database_do(&disk->writer, ST_ROLLBACK, NULL); /* the next time */
}

void disk_compact(struct store *s)
{
	struct disk *disk = s->disk;

	for (size_t tries = 0; tries < disk->sets.count && tries < SETS_A_CALL; tries++) {
		disk->compact_next = (disk->compact_next + 1) % disk->sets.count;
		struct set *set = disk->sets.items[disk->compact_next];
		size_t count = set ? chunks_due(disk, set) : 0;
		if (!count)
			continue;
		set_compact(s, set, count);
		break;
	}
	if (disk->replaced.count)
		replaced_delete(disk);
}
