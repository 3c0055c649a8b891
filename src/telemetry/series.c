/* How a series gets its cells: appended to the file, or taken over from what a predecessor left there; kept in memory while neither works.
 */
#include "telemetry/internal.h"
#include "telemetry/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RETRY_NS 1000000000

int64_t goodput_now_ns(int clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

enum goodput_file_kind goodput_family_file(const struct goodput_family *f)
{
	switch (f->kind) {
	case GOODPUT_COUNTER: return GOODPUT_FILE_COUNTER;
	case GOODPUT_HISTOGRAM: return GOODPUT_FILE_HISTOGRAM;
	case GOODPUT_SUMMARY: return GOODPUT_FILE_SUMMARY;
	default: return (enum goodput_file_kind)(GOODPUT_FILE_GAUGE + (unsigned)f->mode);
	}
}

static void tell(struct goodput_registry *r, const struct goodput_file *f)
{
	r->news = f->status;
	if (f->status)
		snprintf(r->news_text, sizeof r->news_text, "%s %s/%s: %s%s%s", f->doing, r->directory, f->name,
			goodput_status_text(f->status), f->system_error ? ": " : "", f->system_error ? strerror(f->system_error) : "");
	else
		snprintf(r->news_text, sizeof r->news_text, "%s/%s is written again", r->directory, f->name);
}

/* The outcome of an attempt to write; the first failure and the recovery are told. */
static int attempted(struct goodput_registry *r, struct goodput_file *f, int before, int status)
{
	f->status = status;
	if (status)
		f->retry_ns = goodput_now_ns(CLOCK_MONOTONIC) + RETRY_NS;
	if (!status != !before)
		tell(r, f);
	if (f->put_aside) {
		r->news = GOODPUT_IO;
		snprintf(r->news_text, sizeof r->news_text,
			"%s/%s of an earlier process with this pid was damaged: it is now %s.damaged, and its counts are not shown",
			r->directory, f->name, f->name);
		f->put_aside = false;
	}
	return status;
}

/* Gauges begin anew: what a predecessor of the same pid measured says nothing about this process. Sums go on, so that they never fall. */
static bool kept(enum goodput_file_kind kind)
{
	return kind < GOODPUT_FILE_GAUGE;
}

static void add_entry(struct goodput_text *batch, const struct goodput_text *key, unsigned value_size)
{
	static const char blanks[8] = "        ", zeros[16];
	const int32_t length = (int32_t)key->size;

	goodput_text_add(batch, &length, 4);
	goodput_text_add(batch, key->data, key->size);
	goodput_text_add(batch, blanks, 8 - (4 + key->size) % 8);
	goodput_text_add(batch, zeros, value_size);
}

/* Where each cell will be: offsets of adopted ones, else SIZE in the batch with `fresh` set. */
struct places {
	uint32_t *at;
	bool *fresh;
};

static int batch_make(struct goodput_series *s, struct goodput_file *f, struct goodput_text *batch, struct places *p)
{
	struct goodput_text key = { 0 };
	int status = GOODPUT_OK;

	for (unsigned i = 0; i < s->family->cells && !status; i++) {
		key.size = 0;
		goodput_key(&key, s, i);
		if (key.failed)
			status = GOODPUT_NO_MEMORY;
		else if (key.size > GOODPUT_KEY_MAX)
			status = GOODPUT_TOO_LARGE;
		else if (!(p->at[i] = f->adopted_count ? goodput_file_take(f, key.data, key.size) : 0)) {
			add_entry(batch, &key, f->value_size);
			p->at[i] = (uint32_t)batch->size - f->value_size;
			p->fresh[i] = true;
		}
	}
	goodput_text_fini(&key);
	return batch->failed ? GOODPUT_NO_MEMORY : status;
}

static void *cells_map(struct goodput_series *s, const struct goodput_file *f, const struct places *p, uint32_t base)
{
	const unsigned cells = s->family->cells;
	double **list = cells > 1 ? goodput_arena_take(&s->family->registry->arena, cells * sizeof *list) : NULL;

	if (cells == 1)
		return goodput_file_cell(f, p->at[0] + (p->fresh[0] ? base : 0));
	for (unsigned i = 0; list && i < cells; i++)
		list[i] = goodput_file_cell(f, p->at[i] + (p->fresh[i] ? base : 0));
	return list;
}

static void *cells_make(struct goodput_series *s, struct goodput_file *f, int *status)
{
	const unsigned cells = s->family->cells;
	struct goodput_text batch = { 0 };
	struct places p = { calloc(cells, sizeof *p.at), calloc(cells, sizeof *p.fresh) };
	uint32_t base = 0;
	void *slot = NULL;

	*status = p.at && p.fresh ? batch_make(s, f, &batch, &p) : GOODPUT_NO_MEMORY;
	if (!*status && batch.size)
		*status = goodput_file_append(f, batch.data, batch.size, &base);
	if (!*status && !(slot = cells_map(s, f, &p, base)))
		*status = GOODPUT_NO_MEMORY;
	goodput_text_fini(&batch);
	free(p.at);
	free(p.fresh);
	return slot;
}

double *goodput_series_pending(struct goodput_series *s)
{
	struct goodput_slots *slots = s->slots;

	if (!slots->pending)
		slots->pending = goodput_arena_take(&s->family->registry->arena, s->family->cells * sizeof(double));
	return slots->pending;
}

static void pending_move(struct goodput_series *s, void *slot)
{
	struct goodput_slots *slots = s->slots;
	const unsigned cells = s->family->cells;

	if (!slots->unsaved)
		return;
	if (s->family->kind == GOODPUT_GAUGE) {
		double *cell = slot;

		goodput_store(cell, slots->pending[0]);
		if (s->family->mode >= GOODPUT_GAUGE_MOSTRECENT)
			goodput_store(cell + 1, slots->pending_time);
	} else {
		for (unsigned i = 0; i < cells; i++)
			goodput_add_shared(cells == 1 ? slot : ((double **)slot)[i], slots->pending[i]);
	}
	memset(slots->pending, 0, cells * sizeof(double));
	slots->unsaved = 0;
}

/* New cells in the file, of no thread yet. */
static void *slot_make(struct goodput_series *s, int *status)
{
	struct goodput_registry *r = s->family->registry;
	const enum goodput_file_kind kind = goodput_family_file(s->family);
	struct goodput_file *f = &r->files[kind];
	const int before = f->status;
	void *slot = NULL;

	*status = before;
	if (before && goodput_now_ns(CLOCK_MONOTONIC) < f->retry_ns)
		return NULL;
	if (!f->segment_count)
		*status = goodput_file_open(f, r->directory, r->value_size, kept(kind));
	else
		*status = goodput_file_ours(f) ? GOODPUT_OK : goodput_file_reopen(f, r->directory);
	if (!*status)
		slot = cells_make(s, f, status);
	attempted(r, f, before, *status);
	return slot;
}

void *goodput_series_slot(struct goodput_series *s, int *status)
{
	uint32_t index;
	void *slot;

	goodput_thread_enter();
	index = goodput_thread_number < s->own ? goodput_thread_number : s->own;
	slot = atomic_load_explicit(&s->slots->slot[index], memory_order_relaxed);
	if (!slot && s->slots->spare) {
		slot = s->slots->spare;
		s->slots->spare = NULL;
	} else if (!slot) {
		slot = slot_make(s, status);
	}
	if (!slot)
		return NULL;
	pending_move(s, slot);
	atomic_store_explicit(&s->slots->slot[index], slot, memory_order_release);
	return slot;
}

void goodput_series_show(struct goodput_series *s)
{
	int status;

	/* A gauge's only cell belongs to all. */
	if (!s->own) {
		goodput_series_slot(s, &status);
		return;
	}
	if (!s->slots->spare)
		s->slots->spare = slot_make(s, &status);
	if (s->slots->spare)
		pending_move(s, s->slots->spare);
}

void goodput_series_flush(struct goodput_series *s)
{
	if (s->slots->unsaved)
		goodput_series_show(s);
}

/* What the cells of a slot that is no longer used hold waits in memory. */
static void slot_empty(struct goodput_series *s, void *slot)
{
	const struct goodput_family *f = s->family;
	double *pending = slot ? goodput_series_pending(s) : NULL;

	if (!pending)
		return;
	for (unsigned i = 0; i < f->cells; i++)
		pending[i] += goodput_load(f->cells == 1 ? slot : ((double **)slot)[i]);
	if (f->mode >= GOODPUT_GAUGE_MOSTRECENT)
		s->slots->pending_time = goodput_load((double *)slot + 1);
	s->slots->unsaved++;
}

static void begin_again(struct goodput_registry *r, enum goodput_file_kind kind)
{
	for (struct goodput_family *f = r->families; f; f = f->next) {
		if (goodput_family_file(f) != kind)
			continue;
		for (struct goodput_series *s = f->series; s; s = s->next) {
			for (uint32_t i = 0; i <= s->own; i++)
				slot_empty(s, atomic_exchange_explicit(&s->slots->slot[i], NULL, memory_order_relaxed));
			slot_empty(s, s->slots->spare);
			s->slots->spare = NULL;
		}
		for (struct goodput_series *s = f->series; s; s = s->next)
			goodput_series_show(s);
	}
}

unsigned goodput_registry_heal(struct goodput_registry *r)
{
	unsigned removed = 0;

	for (unsigned i = 0; i < GOODPUT_FILE_KINDS; i++) {
		struct goodput_file *f = &r->files[i], *stale;

		if (!f->segment_count || goodput_file_linked(f, r->directory))
			continue;
		removed++;
		stale = realloc(r->stale, (r->stale_count + 1) * sizeof *stale);
		if (!stale)
			continue;
		r->stale = stale;
		stale[r->stale_count++] = *f;
		f->fd = -1;
		f->segments = NULL;
		f->adopted = NULL;
		f->segment_count = f->adopted_count = 0;
		begin_again(r, (enum goodput_file_kind)i);
	}
	return removed;
}
