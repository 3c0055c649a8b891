/* Windows of series folded from chunks and the head. What a series is in one window needs two of its samples: values are unpacked only
 * where a window begins or ends inside of a chunk, and only at those rows, unless the series fell or has gaps there.
 *
 * Series that are scraped together have equal times, and so windows of equal times, as long as each has every row of its set. One that has
 * not (another list of times, a stale marker, two sets) has times of its own from there on. */
#include "base/log.h"
#include "store/fold.h"
#include "store/internal.h"

#include <stdlib.h>

struct track { /* a series asked for */
	const struct series *series;
	struct fold_values values;
	struct fold_times *own; /* NULL: those of its set */
	struct part *part;      /* one that has it; NULL: none */
	uint32_t selections;    /* bits of those that it is in */
	bool odd;               /* its parts are not in order: to be read sample by sample */
};

struct part { /* a set with columns that are asked for */
	struct set *set;
	struct part *home;     /* of all parts that share series, one */
	struct track **wanted; /* by column */
	struct fold_times times;
	bool out_of_order;
	VEC(struct part *) parts; /* of a home */
	VEC(struct track *) tracks;
};

struct folding {
	const struct store *store;
	const struct fold_request *request;
	const struct series_windows *windows;
	bool falls;
	struct arena scratch, home, piece; /* for all, a home, a piece */
	struct track *tracks;
	size_t track_count;
	struct part **by_set;
	VEC(struct part *) homes;
	struct moves moves, own_moves;
	double *at; /* values at the places */
	uint64_t last_times;
	bool stopped;
};

struct piece { /* of a part: a chunk, or the rows of its group */
	struct part *part;
	const struct chunk *chunk; /* NULL: the group */
	int64_t t_first;
};

/* ---- which sets ---- */

/* Is there a window with a place between these times? */
static bool windows_meet(const struct series_windows *w, int64_t t_first, int64_t t_last)
{
	uint64_t behind = t_first > w->first_end_ms ? (uint64_t)t_first - (uint64_t)w->first_end_ms : 0, i = 0;

	if (behind && !w->step_ms)
		return false;
	if (behind)
		i = behind / (uint64_t)w->step_ms + (behind % (uint64_t)w->step_ms != 0);
	return i < w->count && w->first_end_ms + (int64_t)i * w->step_ms - w->range_ms < t_last;
}

static bool part_has_samples(const struct folding *f, const struct set *set)
{
	const struct group *g = set->group;

	VEC_EACH (&set->chunks, chunk)
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

/* ---- runs of one series ---- */

/* From here on its times are its own. */
static void track_part(struct folding *f, struct track *x, const struct part *part)
{
	if (x->own)
		return;
	x->own = fold_times_copy(&part->times, &f->home, f->windows->count);
	x->own->id = ++f->last_times;
}

/* The moves of a run of this series; NULL when they are not to be had. */
static const struct moves *track_moves(struct folding *f, struct track *x, const struct part *part, const struct run *run)
{
	if (!x->own)
		return part->out_of_order ? NULL : &f->moves;
	return moves_find(&f->own_moves, f->windows, x->own, run) == MOVES_FOUND ? &f->own_moves : NULL;
}

static void track_move(struct track *x, const struct part *part, const struct moves *m, const struct run *run, const double *at)
{
	fold_values_move(&x->values, x->own ? x->own : &part->times, m, run, at);
	if (x->own)
		fold_times_move(x->own, m, run);
}

static size_t strip_stale(int64_t *t, double *v, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (number_is_stale(v[i]))
			continue;
		t[kept] = t[i];
		v[kept++] = v[i];
	}
	return kept;
}

static bool has_stale(const double *v, size_t count)
{
	size_t stale = 0;

	for (size_t i = 0; i < count; i++)
		stale += number_is_stale(v[i]);
	return stale > 0;
}

/* A run of which all samples are at hand. `whole`: it has the times of the piece. `v` may be changed. */
static void track_samples(
	struct folding *f, struct track *x, const struct part *part, const int64_t *t, double *v, size_t count, bool whole)
{
	if (has_stale(v, count)) {
		int64_t *kept = arena_alloc(&f->piece, count * sizeof *kept);
		memcpy(kept, t, count * sizeof *kept);
		count = strip_stale(kept, v, count);
		t = kept;
		whole = false;
	}
	if (!whole)
		track_part(f, x, part);
	if (!count)
		return;
	struct run run = run_of(t, count);
	const struct moves *m = track_moves(f, x, part, &run);
	if (!m) {
		x->odd = true;
		return;
	}
	f->at[PLACE_FIRST] = v[0];
	f->at[PLACE_LAST] = v[count - 1];
	for (size_t i = 0; i < m->row_count; i++)
		f->at[PLACE_INNER + i] = v[m->rows[i]];
	track_move(x, part, m, &run, f->at);
	if (f->falls)
		fold_values_falls(&x->values, t, v, count);
}

/* ---- sections ---- */

enum need { NEED_ENDS, NEED_ROWS, NEED_ALL };

struct section_reading {
	struct folding *folding;
	struct part *part;
	uint32_t start; /* its first column in the set */
	struct section section;
	const struct times_list *lists;
	struct str packed;
};

/* What of this column must be unpacked. */
static enum need column_need(struct section_reading *r, uint32_t i)
{
	struct folding *f = r->folding;
	struct track *x = r->part->wanted[r->start + i];
	uint32_t list = section_list(&r->section, i);

	if (list)
		track_part(f, x, r->part);
	if (list == SECTION_ABSENT)
		return NEED_ENDS;
	struct column_summary summary = section_summary(&r->section, i);
	if (summary.gaps || (f->falls && summary.resets))
		return NEED_ALL;
	struct run run = run_of(r->lists[list].t, r->lists[list].count);
	const struct moves *m = track_moves(f, x, r->part, &run);
	if (!m || !m->row_count)
		return NEED_ENDS;
	return x->own ? NEED_ALL : NEED_ROWS;
}

static void column_from_ends(struct section_reading *r, uint32_t i, const double *rows)
{
	struct folding *f = r->folding;
	struct track *x = r->part->wanted[r->start + i];
	const struct times_list *list = &r->lists[section_list(&r->section, i)];
	struct column_summary summary = section_summary(&r->section, i);
	struct run run = run_of(list->t, list->count);
	const struct moves *m = track_moves(f, x, r->part, &run);

	if (!m) {
		x->odd = true;
		return;
	}
	f->at[PLACE_FIRST] = summary.first;
	f->at[PLACE_LAST] = summary.last;
	if (rows)
		memcpy(f->at + PLACE_INNER, rows, m->row_count * sizeof *rows);
	track_move(x, r->part, m, &run, f->at);
}

static bool columns_unpack(struct section_reading *r, enum need need, double **out)
{
	struct folding *f = r->folding;
	struct str data;

	if (need == NEED_ENDS)
		return true;
	for (uint32_t i = 0; i < r->section.count; i++) {
		uint32_t list = section_list(&r->section, i);
		const struct track *x = r->part->wanted[r->start + i];
		if (!x || list == SECTION_ABSENT || (need == NEED_ROWS && x->own))
			continue;
		out[i] = arena_alloc(&f->piece, (need == NEED_ROWS ? f->moves.row_count : r->lists[list].count) * sizeof **out);
	}
	if (!compressor_unpack(f->store->disk->unpacker, r->packed, &data))
		return false;
	return need == NEED_ALL ? section_values(&r->section, data, r->lists, out, &f->piece)
				: section_rows(&r->section, data, f->moves.rows, f->moves.row_count, out, &f->piece);
}

static bool section_fold(struct section_reading *r, const struct chunk *chunk, uint32_t number, size_t list_count, struct error *e)
{
	struct folding *f = r->folding;
	struct disk *disk = f->store->disk;
	uint32_t count = r->part->set->starts[number + 1] - r->part->set->starts[number];
	struct track **wanted = r->part->wanted + r->part->set->starts[number];
	enum need need = NEED_ENDS;
	struct str summary;

	r->start = r->part->set->starts[number];
	if (!section_fetch_packed(disk, chunk->id, number, &summary, &r->packed, e))
		return false;
	double **out = ARENA_ARRAY(&f->piece, double *, count + 1);
	if (!section_open(&r->section, summary, r->lists, list_count, &f->piece) || r->section.count != count)
		return database_damaged(disk->path, "a section cannot be read", e);
	for (uint32_t i = 0; i < count; i++) {
		enum need this = wanted[i] ? column_need(r, i) : NEED_ENDS;
		need = this > need ? this : need;
	}
	if (!columns_unpack(r, need, out))
		return database_damaged(disk->path, "a section cannot be read", e);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t list = section_list(&r->section, i);
		if (!wanted[i] || list == SECTION_ABSENT)
			continue;
		if (need == NEED_ALL)
			track_samples(f, wanted[i], r->part, r->lists[list].t, out[i], r->lists[list].count, list == 0);
		else
			column_from_ends(r, i, out[i]);
	}
	return true;
}

/* ---- pieces ---- */

/* The moves of those who have all of the piece's times. */
static void piece_moves(struct folding *f, struct part *part, const struct run *run)
{
	if (!part->out_of_order)
		part->out_of_order = moves_find(&f->moves, f->windows, &part->times, run) != MOVES_FOUND;
}

static void piece_done(struct folding *f, struct part *part, const struct run *run)
{
	if (!part->out_of_order)
		fold_times_move(&part->times, &f->moves, run);
}

static bool section_is_wanted(const struct part *part, uint32_t number)
{
	for (uint32_t i = part->set->starts[number]; i < part->set->starts[number + 1]; i++)
		if (part->wanted[i])
			return true;
	return false;
}

static bool chunk_fold(struct folding *f, struct part *part, const struct chunk *chunk, struct error *e)
{
	struct section_reading r = { .folding = f, .part = part };
	size_t list_count;

	struct times_list *lists = times_fetch(f->store->disk, chunk->id, &f->piece, &list_count, e);
	if (!lists || !list_count)
		return false;
	struct run run = run_of(lists[0].t, lists[0].count);
	r.lists = lists;
	piece_moves(f, part, &run);
	for (uint32_t k = 0; k < part->set->section_count; k++)
		if (section_is_wanted(part, k) && !section_fold(&r, chunk, k, list_count, e))
			return false;
	piece_done(f, part, &run);
	return true;
}

static void group_fold(struct folding *f, struct part *part)
{
	const struct group *g = part->set->group;
	const struct series_windows *w = f->windows;
	/* Rows in which no window has a part need no look. */
	uint32_t from = (uint32_t)times_after(g->t, g->rows, w->first_end_ms - w->range_ms);
	uint32_t to = (uint32_t)times_after(g->t, g->rows, w->first_end_ms + (int64_t)(w->count - 1) * w->step_ms);
	if (from >= to)
		return;
	int64_t *t = arena_alloc(&f->piece, (to - from) * sizeof *t);
	double *v = arena_alloc(&f->piece, (to - from) * sizeof *v);
	struct run run = run_of(g->t + from, to - from);

	piece_moves(f, part, &run);
	for (uint32_t i = 0; i < part->set->count; i++) {
		struct track *x = part->wanted[i];
		size_t count = 0;
		if (!x)
			continue;
		for (uint32_t row = from; row < to && x->series->group == g; row++) {
			if (!group_has(g, row, i))
				continue;
			t[count] = g->t[row];
			v[count++] = group_row(g, row)[i];
		}
		track_samples(f, x, part, t, v, count, count == to - from);
	}
	piece_done(f, part, &run);
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->t_first != y->t_first)
		return x->t_first < y->t_first ? -1 : 1;
	if (!x->chunk || !y->chunk)
		return !x->chunk - !y->chunk;
	return (x->chunk->id > y->chunk->id) - (x->chunk->id < y->chunk->id);
}

static void piece_fold(struct folding *f, const struct piece *piece)
{
	struct disk *disk = f->store->disk;
	struct error e = { 0 };

	if (piece->chunk) {
		pthread_mutex_lock(&disk->reader_lock);
		bool ok = chunk_fold(f, piece->part, piece->chunk, &e);
		pthread_mutex_unlock(&disk->reader_lock);
		/* Some of its columns may have moved. Read sample by sample, the chunk is left out, and that is logged. */
		for (uint32_t i = 0; !ok && i < piece->part->set->count; i++)
			if (piece->part->wanted[i])
				piece->part->wanted[i]->odd = true;
	} else {
		group_fold(f, piece->part);
	}
	arena_reset(&f->piece);
}

/* ---- homes ---- */

static struct piece *pieces_find(struct folding *f, const struct part *home, size_t *count)
{
	size_t most = 1;

	VEC_EACH (&home->parts, part)
		most += (*part)->set->chunks.count + 1;
	struct piece *pieces = arena_alloc(&f->home, most * sizeof *pieces);
	*count = 0;
	VEC_EACH (&home->parts, part) {
		const struct group *g = (*part)->set->group;
		VEC_EACH (&(*part)->set->chunks, chunk)
			if (windows_meet(f->windows, chunk->t_first, chunk->t_last))
				pieces[(*count)++] = (struct piece){ *part, chunk, chunk->t_first };
		if (g && g->rows && windows_meet(f->windows, g->t[0], g->t[g->rows - 1]))
			pieces[(*count)++] = (struct piece){ *part, NULL, g->t[0] };
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

static void loose_fold(struct folding *f, struct track *x)
{
	const struct series *series = x->series;

	if (!series->count || !windows_meet(f->windows, series->t[0], series->t[series->count - 1]))
		return;
	double *v = arena_alloc(&f->piece, series->count * sizeof *v);
	memcpy(v, series_values(series), series->count * sizeof *v);
	track_samples(f, x, x->part, series->t, v, series->count, false);
	arena_reset(&f->piece);
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
	const struct series_fold fold = { x->series->labels, times->count, times->t_first, times->t_last, times->id, x->values.first,
		x->values.last, x->values.falls.items, x->values.falls.count };

	for (size_t i = 0; i < f->request->count && !x->odd && !f->stopped; i++)
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
	VEC_EACH (&home->tracks, track)
		loose_fold(f, *track);
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

static void view_fold(struct folding *f, const struct series_view *view, uint32_t selections)
{
	struct track x = { .selections = selections };
	struct part part = { 0 };
	double *v = arena_alloc(&f->home, view->count * sizeof *v);
	const struct series shown = { .labels = view->labels };

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
		while (odd[at]->series->labels != views[i].labels)
			at++;
		view_fold(f, &views[i], odd[at]->selections);
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
