/* Folding from disk: which sets have the series, their pieces in order of time, and those that can only be read sample by sample. */
#include "store/fold_read.h"

#include <stdlib.h>

/* ---- which sets ---- */

static struct chunk_range windows_chunks(const struct series_windows *w, const struct set *set)
{
	return set_chunks(set, w->first_end_ms - w->range_ms, w->first_end_ms + (int64_t)(w->count - 1) * w->step_ms);
}

static bool part_has_samples(const struct folding *f, const struct set *set)
{
	const struct group *g = set->group;

	struct chunk_range chunks = windows_chunks(f->windows, set);
	for (const struct chunk *chunk = chunks.first; chunk != chunks.end; chunk++)
		if (windows_meet(f->windows, chunk->t_first, chunk->t_last))
			return true;
	return g && g->rows && windows_meet(f->windows, g->t[0], g->t[g->rows - 1]);
}

static struct part *part_of(struct folding *f, uint32_t number)
{
	struct set *set = f->store->disk->sets.items[number];
	struct part *part = f->by_set[number];

	if (part || !set)
		return part && part->wanted ? part : NULL;
	part = f->by_set[number] = ARENA_NEW(&f->scratch, struct part);
	part->set = set;
	part->home = part;
	if (!part_has_samples(f, set))
		return NULL;
	part->wanted = ARENA_ARRAY(&f->scratch, struct track *, set->count);
	return part;
}

static struct part *home_of(struct part *part)
{
	while (part->home != part)
		part = part->home = part->home->home;
	return part;
}

static void track_begin(struct folding *f, struct track *x)
{
	const struct disk *disk = f->store->disk;

	for (uint32_t p = x->series->place; p != NO_PLACE; p = disk->places.items[p].next) {
		struct part *part = part_of(f, disk->places.items[p].set);
		if (!part)
			continue;
		part->wanted[disk->places.items[p].column] = x;
		if (x->part)
			home_of(part)->home = home_of(x->part);
		x->part = part;
	}
	x->odd = !x->part && x->series->count;
}

/* Homes in the order of their first series. */
static void homes_find(struct folding *f)
{
	for (size_t i = 0; i < f->track_count; i++) {
		if (!f->tracks[i].part)
			continue;
		struct part *home = home_of(f->tracks[i].part);
		if (!home->tracks.count)
			VEC_PUSH(&f->homes, home);
		VEC_PUSH(&home->tracks, &f->tracks[i]);
	}
	for (size_t i = 0; i < f->store->disk->sets.count; i++)
		if (f->by_set[i] && f->by_set[i]->wanted)
			VEC_PUSH(&home_of(f->by_set[i])->parts, f->by_set[i]);
}

/* ---- pieces in order of time ---- */

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->t_first != y->t_first)
		return x->t_first < y->t_first ? -1 : 1;
	if (!x->chunk || !y->chunk)
		return !x->chunk - !y->chunk;
	return (x->chunk->id > y->chunk->id) - (x->chunk->id < y->chunk->id);
}

/* ---- homes ---- */

static bool others_between(const struct part *home, const struct part *but, int64_t t_first, int64_t t_last)
{
	VEC_EACH (&home->parts, part) {
		const struct group *g = (*part)->set->group;
		if (*part == but)
			continue;
		struct chunk_range chunks = set_chunks((*part)->set, t_first, t_last);
		for (const struct chunk *chunk = chunks.first; chunk != chunks.end; chunk++)
			if (chunk->t_first <= t_last && chunk->t_last >= t_first)
				return true;
		if (g && g->rows && g->t[0] <= t_last && g->t[g->rows - 1] >= t_first)
			return true;
	}
	return false;
}

/* How many chunks from this one on are all of one digest, and can be read as such: 1, if not. */
static size_t digest_chunks(const struct folding *f, const struct part *home, const struct part *part, const struct chunk *first)
{
	const struct chunk *last = first;

	if (f->windows->range_ms < HOUR_MS || !first->digest || first->nth)
		return 1;
	while (last->id != first->digest)
		last++;
	return home->parts.count > 1 && others_between(home, part, first->t_first, last->t_last) ? 1 : (size_t)(last - first) + 1;
}

static struct piece *pieces_find(struct folding *f, const struct part *home, size_t *count)
{
	size_t most = 1;

	VEC_EACH (&home->parts, part) {
		struct chunk_range chunks = windows_chunks(f->windows, (*part)->set);
		most += (size_t)(chunks.end - chunks.first) + 1;
	}
	struct piece *pieces = arena_alloc(&f->home, most * sizeof *pieces);
	*count = 0;
	VEC_EACH (&home->parts, part) {
		const struct group *g = (*part)->set->group;
		struct chunk_range chunks = windows_chunks(f->windows, (*part)->set);
		size_t n;
		for (const struct chunk *chunk = chunks.first; chunk < chunks.end; chunk += n) {
			n = digest_chunks(f, home, *part, chunk);
			if (windows_meet(f->windows, chunk->t_first, chunk[n - 1].t_last))
				pieces[(*count)++] = (struct piece){ *part, chunk, n, chunk->t_first };
		}
		if (g && g->rows && windows_meet(f->windows, g->t[0], g->t[g->rows - 1]))
			pieces[(*count)++] = (struct piece){ *part, NULL, 0, g->t[0] };
	}
	if (home->parts.count > 1)
		qsort(pieces, *count, sizeof *pieces, compare_pieces);
	return pieces;
}

static void home_begin(struct folding *f, struct part *home)
{
	size_t windows = f->windows->count;

	VEC_EACH (&home->parts, part) {
		fold_times_init(&(*part)->times, &f->home, f->windows);
		(*part)->times.id = ++f->last_times;
	}
	VEC_EACH (&home->tracks, track) {
		fold_values_init(&(*track)->values, &f->home, windows);
		/* Of two sets: neither has all of its times. */
		if (home->parts.count > 1)
			track_part(f, *track, (*track)->part);
	}
}

static void track_end(struct folding *f, struct track *x)
{
	const struct fold_times *times = x->own ? x->own : &x->part->times;
	size_t windows = f->windows->count;

	if (x->odd || f->stopped)
		return;
	fold_values_end(&x->values, times, windows);
	if (x->own)
		fold_times_end(x->own, windows);
}

static void track_visit(struct folding *f, const struct track *x)
{
	const struct fold_times *times = x->own ? x->own : &x->part->times;
	if (x->odd || f->stopped)
		return;
	const struct labels *labels = series_labels(f->store, f->request->arena, x->series);
	const struct series_fold fold = { labels, times->count, times->t_first, times->t_last, times->id, x->values.first, x->values.last,
		x->values.falls.items, x->values.falls.count };

	for (size_t i = 0; i < f->request->count && !f->stopped; i++)
		if (x->selections >> i & 1)
			f->stopped = !f->request->visit(f->request->selections[i].context, &fold);
}

static void home_fold(struct folding *f, struct part *home)
{
	size_t piece_count;

	home_begin(f, home);
	const struct piece *pieces = pieces_find(f, home, &piece_count);
	for (size_t i = 0; i < piece_count; i++)
		piece_fold(f, &pieces[i]);
	loose_fold(f, home);
	VEC_EACH (&home->tracks, track)
		track_end(f, *track);
	VEC_EACH (&home->parts, part)
		fold_times_end(&(*part)->times, f->windows->count);
	VEC_EACH (&home->tracks, track) {
		track_visit(f, *track);
		fold_values_fini(&(*track)->values);
	}
	arena_reset(&f->home);
}

/* ---- those that are read sample by sample ---- */

static void view_fold(struct folding *f, const struct series_view *view, const struct track *odd)
{
	struct track x = { .selections = odd->selections };
	struct part part = { 0 };
	double *v = arena_alloc(&f->home, view->count * sizeof *v);
	const struct series shown = { .id = odd->series->id, .hash = odd->series->hash };

	memcpy(v, view->v, view->count * sizeof *v);
	x.series = &shown;
	x.part = &part;
	fold_times_init(&part.times, &f->home, f->windows);
	part.times.id = ++f->last_times;
	fold_values_init(&x.values, &f->home, f->windows->count);
	track_part(f, &x, &part);
	track_samples(f, &x, &part, view->t, v, view->count, false);
	track_end(f, &x);
	track_visit(f, &x);
	fold_values_fini(&x.values);
	arena_reset(&f->home);
	arena_reset(&f->piece);
}

/* Views come in the order of the ids, but one without samples is left out. */
static void odd_fold(struct folding *f)
{
	const struct series_windows *w = f->windows;
	uint32_t *ids = arena_alloc(&f->scratch, (f->track_count + 1) * sizeof *ids);
	struct track **odd = arena_alloc(&f->scratch, (f->track_count + 1) * sizeof *odd);
	size_t id_count = 0, count = 0, at = 0;

	for (size_t i = 0; i < f->track_count; i++) {
		if (!f->tracks[i].odd)
			continue;
		odd[id_count] = &f->tracks[i];
		ids[id_count++] = f->tracks[i].series->id;
	}
	if (!id_count)
		return;
	struct series_view *views = disk_select(f->store, &f->scratch, ids, id_count, w->first_end_ms - w->range_ms + 1,
		w->first_end_ms + (int64_t)(w->count - 1) * w->step_ms, &count);
	for (size_t i = 0; i < count && !f->stopped; i++) {
		while (!index_has(&f->store->index, odd[at]->series->id, views[i].labels))
			at++;
		view_fold(f, &views[i], odd[at]);
	}
}

/* The selections' series, each once, by id. */
static void tracks_find(struct folding *f)
{
	const struct fold_request *q = f->request;
	size_t most = 1, at[STORE_SELECTIONS_MAX] = { 0 };

	for (size_t i = 0; i < q->count; i++)
		most += q->id_counts[i];
	f->tracks = ARENA_ARRAY(&f->scratch, struct track, most);
	for (;;) {
		uint32_t next = UINT32_MAX;
		for (size_t i = 0; i < q->count; i++)
			if (at[i] < q->id_counts[i] && q->ids[i][at[i]] < next)
				next = q->ids[i][at[i]];
		if (next == UINT32_MAX)
			return;
		struct track *x = &f->tracks[f->track_count++];
		x->series = series_at(f->store, next);
		for (size_t i = 0; i < q->count; i++) {
			if (at[i] == q->id_counts[i] || q->ids[i][at[i]] != next)
				continue;
			x->selections |= UINT32_C(1) << i;
			at[i]++;
		}
	}
}

static void folding_fini(struct folding *f)
{
	for (size_t i = 0; i < f->store->disk->sets.count; i++) {
		if (!f->by_set[i])
			continue;
		VEC_FREE(&f->by_set[i]->parts);
		VEC_FREE(&f->by_set[i]->tracks);
	}
	VEC_FREE(&f->homes);
	arena_fini(&f->piece);
	arena_fini(&f->home);
	arena_fini(&f->scratch);
}

void disk_fold(const struct store *s, const struct fold_request *request)
{
	const struct series_windows *windows = request->windows;
	struct folding f = { .store = s, .request = request, .windows = windows, .falls = request->falls };

	if (!windows->count)
		return;
	arena_init(&f.scratch);
	arena_init(&f.home);
	arena_init(&f.piece);
	f.by_set = ARENA_ARRAY(&f.scratch, struct part *, s->disk->sets.count + 1);
	f.at = arena_alloc(&f.scratch, (windows->count + 1) * 2 * sizeof *f.at);
	moves_init(&f.moves, &f.scratch, windows->count);
	moves_init(&f.own_moves, &f.scratch, windows->count);
	tracks_find(&f);
	for (size_t i = 0; i < f.track_count; i++)
		track_begin(&f, &f.tracks[i]);
	homes_find(&f);
	fetch_begin(s->disk);
	VEC_EACH (&f.homes, home)
		if (!f.stopped)
			home_fold(&f, *home);
	if (!f.stopped)
		odd_fold(&f);
	fetch_end(s->disk);
	folding_fini(&f);
}
