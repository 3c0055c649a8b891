/* Reading: windows of series put together from chunks and the head. Set by set, so that a section is read once for all its columns. */
#include "base/log.h"
#include "store/answer.h"
#include "store/internal.h"

#include <stdlib.h>

/* ---- gathering ---- */

struct gather { /* one series asked for */
	const struct series *series;
	int64_t *t;
	double *v;
	size_t count, cap;
	struct touch *only; /* the one set that it is in; NULL: several, or none */
	bool shared;        /* t is that of its set: equal as far as it goes */
	bool kept;
};

/* One set with columns that are asked for. Sets that share series make a cluster: they are read together. */
struct touch {
	struct set *set;
	struct gather **wanted; /* by column */
	int64_t *t;             /* the times of its main list in the window so far */
	size_t rows, cap;
	struct touch *leader; /* of the cluster; itself: it is the leader */
	struct touch *next;   /* in the cluster, behind its leader */
};

/* Memory that clusters use in turn: what is read is kept in the answer without what is the same twice. A cluster that does not fit is read
 * into the answer as it is. */
enum { ROOM_LARGEST = 128 << 20 };
struct room {
	char *bytes;
	size_t size, used;
	bool open;
};

struct reading {
	const struct store *store;
	struct arena *arena, scratch;
	struct arena chunk; /* what is needed while a chunk is read */
	struct room room;
	struct arena parted; /* while a cluster is read: what only some of its series need */
	struct gather *gathers;
	struct touch **by_set;
	VEC(struct touch *) touched;
	int64_t from_ms, to_ms;
};

static bool chunk_in_window(const struct reading *r, const struct chunk *chunk)
{
	return chunk->t_last >= r->from_ms && chunk->t_first <= r->to_ms;
}

struct span {
	size_t from, count;
};

static struct span window_of(const struct reading *r, const struct times_list *list)
{
	size_t from = r->from_ms == INT64_MIN ? 0 : times_after(list->t, list->count, r->from_ms - 1);
	size_t to = times_after(list->t, list->count, r->to_ms);

	return (struct span){ from, to > from ? to - from : 0 };
}

/* How many samples in the window a series can have of this chunk: of one that is there in part the times tell, as memory is made for all.
 */
static uint32_t chunk_rows(struct reading *r, const struct chunk *chunk)
{
	struct disk *disk = r->store->disk;
	struct error e = { 0 };
	size_t count = 0;
	uint32_t rows = 0;

	if (!chunk_in_window(r, chunk) || (chunk->t_first >= r->from_ms && chunk->t_last <= r->to_ms))
		return chunk_in_window(r, chunk) ? chunk->rows : 0;
	pthread_mutex_lock(&disk->reader_lock);
	const struct times_list *lists = times_fetch(disk, chunk->id, &r->chunk, &count, &e);
	for (size_t i = 0; lists && i < count; i++) {
		size_t inside = window_of(r, &lists[i]).count;
		rows = inside > rows ? (uint32_t)inside : rows;
	}
	pthread_mutex_unlock(&disk->reader_lock);
	arena_reset(&r->chunk);
	return rows; /* none when it cannot be read: then it is left out */
}

static struct touch *touch_of(struct reading *r, uint32_t number)
{
	struct touch *touch = r->by_set[number];

	if (touch)
		return touch;
	touch = r->by_set[number] = ARENA_NEW(&r->scratch, struct touch);
	touch->set = r->store->disk->sets.items[number];
	touch->wanted = ARENA_ARRAY(&r->scratch, struct gather *, touch->set->count);
	struct chunk_range chunks = set_chunks(touch->set, r->from_ms, r->to_ms);
	for (const struct chunk *chunk = chunks.first; chunk != chunks.end; chunk++)
		touch->cap += chunk_rows(r, chunk);
	if (touch->set->group && touch->set->group->rows)
		touch->cap += window_of(r, &(struct times_list){ touch->set->group->t, touch->set->group->rows }).count;
	touch->leader = touch;
	VEC_PUSH(&r->touched, touch);
	return touch;
}

static struct touch *leader_of(struct touch *touch)
{
	while (touch->leader != touch)
		touch = touch->leader = touch->leader->leader;
	return touch;
}

static void gather_begin(struct reading *r, struct gather *g)
{
	const struct disk *disk = r->store->disk;
	struct touch *first = NULL;
	size_t sets = 0;

	if (g->series->count)
		g->cap = window_of(r, &(struct times_list){ g->series->t, g->series->count }).count;
	for (uint32_t p = g->series->place; p != NO_PLACE; p = disk->places.items[p].next) {
		struct touch *touch = disk->sets.items[disk->places.items[p].set] ? touch_of(r, disk->places.items[p].set) : NULL;
		if (!touch || !touch->cap)
			continue;
		touch->wanted[disk->places.items[p].column] = g;
		g->cap += touch->cap;
		first = first ? first : touch;
		leader_of(touch)->leader = leader_of(first);
		sets++;
	}
	g->only = sets == 1 ? first : NULL;
	g->shared = sets == 1;
}

/* ---- memory ---- */

static void *room_take(struct reading *r, size_t count)
{
	size_t size = count * sizeof(double);

	if (!r->room.open)
		return arena_alloc(r->arena, size);
	r->room.used += size;
	return r->room.bytes + r->room.used - size;
}

static void room_open(struct reading *r, size_t count)
{
	struct room *room = &r->room;
	size_t size = count * sizeof(double);

	room->used = 0;
	room->open = size <= ROOM_LARGEST;
	if (!room->open || size <= room->size)
		return;
	mem_free(room->bytes);
	room->bytes = mem_alloc(room->size = size);
}

static size_t gather_needs(const struct gather *g)
{
	return g->shared ? g->cap : 2 * g->cap;
}

static void gather_room(struct reading *r, struct gather *g)
{
	if (!g->cap)
		return;
	g->t = g->shared ? g->only->t : room_take(r, g->cap);
	g->v = room_take(r, g->cap);
}

/* Every series of the cluster once. */
static void cluster_room(struct reading *r, struct touch *leader)
{
	size_t needed = 0;

	for (struct touch *touch = leader; touch; touch = touch->next) {
		needed += touch->cap;
		for (uint32_t i = 0; i < touch->set->count; i++) /* a series is counted for each of its sets: more than enough */
			needed += touch->wanted[i] ? gather_needs(touch->wanted[i]) : 0;
	}
	room_open(r, needed);
	for (struct touch *touch = leader; touch; touch = touch->next) {
		touch->t = room_take(r, touch->cap);
		for (uint32_t i = 0; i < touch->set->count; i++)
			if (touch->wanted[i] && !touch->wanted[i]->v)
				gather_room(r, touch->wanted[i]);
	}
}

/* From here on its times are its own. */
static void gather_part(struct reading *r, struct gather *g)
{
	if (!g->shared)
		return;
	int64_t *own = arena_alloc(r->room.open ? &r->parted : r->arena, g->cap * sizeof *own);
	if (g->count)
		memcpy(own, g->t, g->count * sizeof *own);
	g->t = own;
	g->shared = false;
}

static void gather_times(struct reading *r, struct gather *g, size_t before, const int64_t *t, size_t count, bool main)
{
	/* Shared times hold as long as it has every row of the set up to here. */
	if (g->shared && (!main || g->count != before))
		gather_part(r, g);
	if (!g->shared)
		memcpy(g->t + g->count, t, count * sizeof *t);
}

/* ---- chunks ---- */

/* The columns of a section that are asked for go to the end of what their series have: at once, or, of those that are there in part, the
 * part. */
static bool section_read(struct reading *r, struct touch *touch, const struct chunk *chunk, uint32_t number, const struct times_list *lists,
	size_t list_count, size_t before, struct error *e)
{
	struct set *set = touch->set;
	uint32_t start = set->starts[number], count = set->starts[number + 1] - start;
	struct disk *disk = r->store->disk;
	struct section section;
	struct str summary, data;
	bool ok;

	if (!section_fetch(disk, chunk->id, number, &summary, &data, e))
		return false;
	double **out = ARENA_ARRAY(&r->chunk, double *, count + 1);
	ok = section_open(&section, summary, lists, list_count, &r->chunk) && section.count == count;
	for (uint32_t i = 0; ok && i < count; i++) {
		uint32_t list = section_list(&section, i);
		struct gather *g = touch->wanted[start + i];
		if (!g || list == SECTION_ABSENT)
			continue;
		size_t inside = window_of(r, &lists[list]).count, all = lists[list].count;
		if (inside && inside <= g->cap - g->count)
			out[i] = inside == all ? g->v + g->count : arena_alloc(&r->chunk, all * sizeof **out);
	}
	ok = ok && section_values(&section, data, lists, out, &r->chunk);
	for (uint32_t i = 0; ok && i < count; i++) {
		if (!out[i])
			continue;
		uint32_t list = section_list(&section, i);
		struct gather *g = touch->wanted[start + i];
		struct span span = window_of(r, &lists[list]);
		if (span.count < lists[list].count)
			memcpy(g->v + g->count, out[i] + span.from, span.count * sizeof *out[i]);
		gather_times(r, g, before, lists[list].t + span.from, span.count, list == 0);
		g->count += span.count;
	}
	return ok || database_damaged(disk->path, "a section cannot be read", e);
}

static bool section_is_wanted(const struct touch *touch, uint32_t number)
{
	for (uint32_t i = touch->set->starts[number]; i < touch->set->starts[number + 1]; i++)
		if (touch->wanted[i])
			return true;
	return false;
}

static bool chunk_read(struct reading *r, struct touch *touch, const struct chunk *chunk, struct error *e)
{
	size_t list_count, before = touch->rows;
	bool ok;

	struct times_list *lists = times_fetch(r->store->disk, chunk->id, &r->chunk, &list_count, e);
	ok = lists && list_count;
	if (ok) {
		struct span span = window_of(r, &lists[0]);
		ok = span.count <= touch->cap - touch->rows ||
		     database_damaged(r->store->disk->path, "a chunk has more rows than it says", e);
		if (ok && span.count)
			memcpy(touch->t + before, lists[0].t + span.from, span.count * sizeof *touch->t);
		touch->rows += ok ? span.count : 0;
	}
	for (uint32_t k = 0; ok && k < touch->set->section_count; k++)
		if (section_is_wanted(touch, k))
			ok = section_read(r, touch, chunk, k, lists, list_count, before, e);
	arena_reset(&r->chunk);
	return ok;
}

/* ---- head ---- */

/* In some row. */
static bool column_is_absent(const struct group *g, uint32_t column, struct span span)
{
	for (size_t row = span.from; g->absent && row < span.from + span.count; row++)
		if (!group_has(g, (uint32_t)row, column))
			return true;
	return false;
}

static void group_read(struct reading *r, struct touch *touch)
{
	const struct group *g = touch->set->group;

	if (!g || !g->rows)
		return;
	const struct times_list list = { g->t, g->rows };
	struct span span = window_of(r, &list);
	size_t before = touch->rows;
	if (!span.count)
		return;
	memcpy(touch->t + before, g->t + span.from, span.count * sizeof *touch->t);
	touch->rows += span.count;
	for (uint32_t i = 0; span.count && i < touch->set->count; i++) {
		struct gather *x = touch->wanted[i];
		if (!x || x->series->group != g)
			continue;
		if (!column_is_absent(g, i, span)) {
			for (size_t row = 0; row < span.count; row++)
				x->v[x->count + row] = group_row(g, span.from + row)[i];
			gather_times(r, x, before, g->t + span.from, span.count, true);
			x->count += span.count;
			continue;
		}
		gather_part(r, x);
		for (size_t row = span.from; row < span.from + span.count; row++) {
			if (!group_has(g, (uint32_t)row, i))
				continue;
			x->t[x->count] = g->t[row];
			x->v[x->count++] = group_row(g, row)[i];
		}
	}
}

static void loose_read(struct reading *r, struct gather *g)
{
	const struct series *series = g->series;

	if (!series->count)
		return;
	const struct times_list list = { series->t, series->count };
	struct span span = window_of(r, &list);
	if (!span.count)
		return;
	gather_part(r, g);
	memcpy(g->t + g->count, series->t + span.from, span.count * sizeof *g->t);
	memcpy(g->v + g->count, series_values(series) + span.from, span.count * sizeof *g->v);
	g->count += span.count;
}

/* ---- order ---- */

struct sample {
	int64_t t;
	double v;
};

static int compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return (x->t > y->t) - (x->t < y->t);
}

/* A series that changed its set has its parts set by set: then they are brought into order. */
static void gather_order(struct reading *r, struct gather *g)
{
	size_t i = 1, kept = 0;

	if (g->shared)
		return;
	while (i < g->count && g->t[i] > g->t[i - 1])
		i++;
	if (i >= g->count)
		return;
	struct sample *samples = arena_alloc(&r->parted, g->count * sizeof *samples);
	for (i = 0; i < g->count; i++)
		samples[i] = (struct sample){ g->t[i], g->v[i] };
	qsort(samples, g->count, sizeof *samples, compare_samples);
	for (i = 0; i < g->count; i++) {
		if (kept && samples[i].t == g->t[kept - 1])
			continue;
		g->t[kept] = samples[i].t;
		g->v[kept++] = samples[i].v;
	}
	g->count = kept;
}

/* ---- clusters ---- */

static void touch_read(struct reading *r, struct touch *touch)
{
	struct disk *disk = r->store->disk;

	struct chunk_range chunks = set_chunks(touch->set, r->from_ms, r->to_ms);
	for (const struct chunk *chunk = chunks.first; chunk != chunks.end; chunk++) {
		struct error e = { 0 };
		if (!chunk_in_window(r, chunk))
			continue;
		pthread_mutex_lock(&disk->reader_lock);
		bool ok = chunk_read(r, touch, chunk, &e);
		pthread_mutex_unlock(&disk->reader_lock);
		if (!ok)
			log_error("%s: %s: a chunk is left out of an answer", disk->path, e.message);
	}
	group_read(r, touch);
}

static void gather_finish(struct reading *r, struct gather *g, struct answer *answer)
{
	loose_read(r, g);
	gather_order(r, g);
	g->kept = true;
	if (!r->room.open || !g->count)
		return;
	g->t = answer_times(answer, g->t, g->count);
	g->v = answer_values(answer, g->v, g->count);
}

static void cluster_read(struct reading *r, struct touch *leader)
{
	struct answer answer = { .arena = r->arena };

	cluster_room(r, leader);
	for (struct touch *touch = leader; touch; touch = touch->next)
		touch_read(r, touch);
	for (struct touch *touch = leader; touch; touch = touch->next)
		for (uint32_t i = 0; i < touch->set->count; i++)
			if (touch->wanted[i] && !touch->wanted[i]->kept)
				gather_finish(r, touch->wanted[i], &answer);
	arena_reset(&r->parted);
	r->room.open = false;
}

static void clusters_read(struct reading *r)
{
	VEC_EACH (&r->touched, touch) {
		struct touch *leader = leader_of(*touch);
		if (leader == *touch)
			continue;
		(*touch)->next = leader->next;
		leader->next = *touch;
	}
	VEC_EACH (&r->touched, touch)
		if ((*touch)->leader == *touch)
			cluster_read(r, *touch);
}

/* Of series that are in no set. */
static void loose_alone(struct reading *r, struct gather *g)
{
	gather_room(r, g);
	loose_read(r, g);
}

struct series_view *disk_select(
	const struct store *s, struct arena *arena, const uint32_t *ids, size_t id_count, int64_t from_ms, int64_t to_ms, size_t *count)
{
	struct reading r = { .store = s, .arena = arena, .from_ms = from_ms, .to_ms = to_ms };
	struct series_view *views = arena_alloc(arena, (id_count + 1) * sizeof *views);

	arena_init(&r.scratch);
	arena_init(&r.chunk);
	arena_init(&r.parted);
	r.gathers = ARENA_ARRAY(&r.scratch, struct gather, id_count + 1);
	r.by_set = ARENA_ARRAY(&r.scratch, struct touch *, s->disk->sets.count + 1);
	fetch_begin(s->disk);
	for (size_t i = 0; i < id_count; i++) {
		r.gathers[i].series = series_at(s, ids[i]);
		gather_begin(&r, &r.gathers[i]);
	}
	clusters_read(&r);
	fetch_end(s->disk);
	*count = 0;
	for (size_t i = 0; i < id_count; i++) {
		struct gather *g = &r.gathers[i];
		if (g->cap && !g->kept)
			loose_alone(&r, g);
		if (g->count)
			views[(*count)++] = (struct series_view){ series_labels(s, arena, g->series), g->t, g->v, g->count };
	}
	VEC_FREE(&r.touched);
	mem_free(r.room.bytes);
	arena_fini(&r.parted);
	arena_fini(&r.chunk);
	arena_fini(&r.scratch);
	return views;
}
