/* Folding one piece: a chunk, a digest, or the rows of a group. */
#include "base/log.h"
#include "store/fold_read.h"

/* ---- runs of one series ---- */

void track_part(struct folding *f, struct track *x, const struct part *part)
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

void track_samples(struct folding *f, struct track *x, const struct part *part, const int64_t *t, double *v, size_t count, bool whole)
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
	uint8_t *needs; /* enum need, by column */
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
	/* Times that were parted by a gap long ago need the same rows as the others. */
	bool same = !x->own || (list == 0 && !r->part->out_of_order && m->row_count == f->moves.row_count &&
				       memcmp(m->rows, f->moves.rows, m->row_count * sizeof *m->rows) == 0);
	return same ? NEED_ROWS : NEED_ALL;
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
		if (!x || list == SECTION_ABSENT || (need == NEED_ROWS && r->needs[i] != NEED_ROWS))
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
	r->needs = ARENA_ARRAY(&f->piece, uint8_t, count + 1);
	for (uint32_t i = 0; i < count; i++) {
		r->needs[i] = wanted[i] ? (uint8_t)column_need(r, i) : NEED_ENDS;
		need = r->needs[i] > need ? r->needs[i] : need;
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

/* ---- digests ---- */

struct digest_reading {
	struct folding *folding;
	struct part *part;
	const struct digest_head *head;
	struct digest_section **sections; /* those that are wanted */
	uint64_t usable;                  /* bits of entries that need no look at their chunks */
};

static void entries_find(struct digest_reading *r)
{
	const struct series_windows *w = r->folding->windows;

	for (size_t i = 0; i < r->head->count; i++) {
		const struct digest_entry *entry = &r->head->entries[i];
		if (entry->plain && windows_meet(w, entry->t_first, entry->t_last) && !windows_cut(w, entry->t_first, entry->t_last))
			r->usable |= UINT64_C(1) << i;
	}
}

static bool sections_read(struct digest_reading *r, int64_t digest, struct error *e)
{
	struct folding *f = r->folding;
	const struct set *set = r->part->set;

	r->sections = ARENA_ARRAY(&f->piece, struct digest_section *, set->section_count + 1);
	for (uint32_t k = 0; r->usable && k < set->section_count; k++) {
		uint32_t start = set->starts[k], count = set->starts[k + 1] - start;
		if (!section_is_wanted(r->part, k))
			continue;
		r->sections[k] = digest_section_fetch(f->store->disk, digest, k, count, r->head, &f->piece, e);
		if (!r->sections[k])
			return false;
		for (uint32_t i = 0; i < count; i++)
			if (r->part->wanted[start + i])
				r->usable &= ~(r->sections[k]->columns[i].look | (f->falls ? r->sections[k]->columns[i].falls : 0));
	}
	return true;
}

static void entry_fold(struct digest_reading *r, size_t number)
{
	struct folding *f = r->folding;
	const struct digest_entry *entry = &r->head->entries[number];
	struct run run = { NULL, entry->t_first, entry->t_last, entry->rows };
	const struct set *set = r->part->set;

	piece_moves(f, r->part, &run);
	for (uint32_t k = 0; k < set->section_count; k++) {
		if (!r->sections[k])
			continue;
		for (uint32_t i = 0; i < r->sections[k]->count; i++) {
			struct track *x = r->part->wanted[set->starts[k] + i];
			const struct moves *m = x ? track_moves(f, x, r->part, &run) : NULL;
			if (m)
				track_move(x, r->part, m, &run, r->sections[k]->columns[i].ends + 2 * number);
			else if (x)
				x->odd = true;
		}
	}
	piece_done(f, r->part, &run);
}

/* The chunks of one digest. */
static bool digest_fold(struct folding *f, struct part *part, const struct chunk *chunks, size_t count, struct error *e)
{
	struct digest_reading r = { .folding = f, .part = part };
	struct disk *disk = f->store->disk;
	size_t next = 0;

	r.head = digest_fetch(disk, chunks->digest, &f->piece, e);
	if (!r.head)
		return false;
	entries_find(&r);
	if (!sections_read(&r, chunks->digest, e))
		return false;
	for (size_t i = 0; i < r.head->count; i++) {
		size_t end = next + r.head->entries[i].chunks;
		if (end > count)
			return database_damaged(disk->path, "a digest has other chunks", e);
		if (r.usable >> i & 1)
			entry_fold(&r, i);
		for (; next < end && !(r.usable >> i & 1); next++)
			if (windows_meet(f->windows, chunks[next].t_first, chunks[next].t_last) && !chunk_fold(f, part, &chunks[next], e))
				return false;
		next = end;
	}
	return true;
}

/* ---- rows of a group ---- */

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

/* ---- loose samples ---- */

/* All have them at the same times: what came one by one came together. */
static bool loose_is_even(const struct part *home)
{
	const struct series *first = home->tracks.items[0]->series;

	if (home->parts.count > 1 || !first->count)
		return false;
	VEC_EACH (&home->tracks, track) {
		const struct series *series = (*track)->series;
		if ((*track)->own || series->count != first->count || memcmp(series->t, first->t, first->count * sizeof *first->t) != 0)
			return false;
	}
	return true;
}

static void track_loose(struct folding *f, struct track *x, const struct part *part, bool whole)
{
	const struct series *series = x->series;

	if (!series->count || !windows_meet(f->windows, series->t[0], series->t[series->count - 1]))
		return;
	double *v = arena_alloc(&f->piece, series->count * sizeof *v);
	memcpy(v, series_values(series), series->count * sizeof *v);
	track_samples(f, x, part, series->t, v, series->count, whole);
	arena_reset(&f->piece);
}

void loose_fold(struct folding *f, struct part *home)
{
	const struct series *first = home->tracks.items[0]->series;
	bool even = loose_is_even(home) && windows_meet(f->windows, first->t[0], first->t[first->count - 1]);
	struct run run = even ? run_of(first->t, first->count) : (struct run){ 0 };

	if (even)
		piece_moves(f, home, &run);
	VEC_EACH (&home->tracks, track)
		track_loose(f, *track, even ? home : (*track)->part, even);
	if (even)
		piece_done(f, home, &run);
}

void piece_fold(struct folding *f, const struct piece *piece)
{
	struct disk *disk = f->store->disk;
	struct error e = { 0 };

	if (piece->chunk) {
		pthread_mutex_lock(&disk->reader_lock);
		bool ok = piece->chunk_count > 1 ? digest_fold(f, piece->part, piece->chunk, piece->chunk_count, &e)
						 : chunk_fold(f, piece->part, piece->chunk, &e);
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
