#include "compare/capacity.h"

#include "base/map.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char annotation_metric[] = "goodput_annotation";

/* In intervals between scrapes. A vLLM restarts within five minutes, which are twenty intervals of Prometheus's usual 15 s. */
enum { CAME_FOR = 5, GONE_FOR = 20, BLIND_FROM = 6, FOLLOWS_WITHIN = 40 };

bool capacity_is_announced(const struct labels *annotation)
{
	static const char *const kinds[] = { "deploy", "rollout", "capacity" };
	struct str tags = labels_get(annotation, STR("tags")), kind = labels_get(annotation, STR("kind")), tag;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_is(kind, kinds[i]))
			return true;
	while (tags.len && str_split(&tags, ',', &tag))
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			if (str_is(str_trim(tag), kinds[i]))
				return true;
	return false;
}

/* ---- what is put together ---- */

struct times {
	int64_t *items;
	size_t count, cap;
};

struct span { /* of a target that answers */
	int64_t from_ms, to_ms;
	bool lasts; /* long enough to count */
};

struct change { /* a target came or went for good between two moments */
	int64_t from_ms, to_ms;
	struct str instance;
	bool came;
};

struct finder {
	struct arena *arena;
	const struct capacity_samples *in;
	struct capacity_log *log;
	VEC(struct capacity_stretch) stretches;
	VEC(struct span) spans; /* of all targets */
	VEC(struct change) changes;
	VEC(struct capacity_event) events;
	struct times restarts;
};

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void times_sort(struct times *t)
{
	if (t->count)
		qsort(t->items, t->count, sizeof *t->items, compare_times);
}

static void *kept(struct arena *arena, const void *items, size_t count, size_t size)
{
	void *copy = arena_zalloc(arena, count + 1, size);

	if (count)
		memcpy(copy, items, count * size);
	return copy;
}

/* ---- when anybody looked ---- */

/* A watch that begins sees its targets one by one: those of the first scrapes were there. */
static void find_whole(struct finder *f)
{
	for (size_t i = 0; i < f->in->up_count; i++) {
		const struct series_view *view = &f->in->up[i];

		VEC_EACH (&f->stretches, s) {
			size_t k = times_after(view->t, view->count, s->from_ms - 1);

			if (k < view->count && view->t[k] <= s->from_ms + CAME_FOR * f->log->interval_ms && view->t[k] > s->whole_ms)
				s->whole_ms = view->t[k];
		}
	}
}

static void find_stretches(struct finder *f)
{
	struct times all = { 0 }, gaps = { 0 };

	for (size_t i = 0; i < f->in->up_count; i++) {
		const struct series_view *view = &f->in->up[i];
		int64_t before_ms = 0;

		for (size_t k = 0; k < view->count; k++) {
			if (number_is_stale(view->v[k]))
				continue;
			VEC_PUSH(&all, view->t[k]);
			if (before_ms)
				VEC_PUSH(&gaps, view->t[k] - before_ms);
			before_ms = view->t[k];
		}
	}
	times_sort(&all);
	times_sort(&gaps);
	f->log->interval_ms = gaps.count ? gaps.items[gaps.count / 2] : 0;
	for (size_t i = 0; i < all.count; i++) {
		struct capacity_stretch *last = f->stretches.count ? &f->stretches.items[f->stretches.count - 1] : NULL;

		if (last && all.items[i] - last->to_ms <= BLIND_FROM * f->log->interval_ms)
			last->to_ms = all.items[i];
		else
			VEC_PUSH(&f->stretches, (struct capacity_stretch){ all.items[i], all.items[i], all.items[i] });
	}
	find_whole(f);
	VEC_FREE(&all);
	VEC_FREE(&gaps);
}

/* How much of a time somebody looked at. */
static int64_t seen_ms(const struct finder *f, int64_t from_ms, int64_t to_ms)
{
	int64_t sum = 0;

	VEC_EACH (&f->stretches, s) {
		int64_t from = s->from_ms > from_ms ? s->from_ms : from_ms, to = s->to_ms < to_ms ? s->to_ms : to_ms;

		sum += to > from ? to - from : 0;
	}
	return sum;
}

/* When a target that is first seen at t may have been looked at before: a scrape earlier, or when anybody was looking last. */
static int64_t looked_before(const struct finder *f, int64_t t_ms)
{
	int64_t earlier_ms = t_ms - f->log->interval_ms, found = t_ms;

	VEC_EACH (&f->stretches, s)
		if (s->from_ms <= earlier_ms)
			found = s->to_ms < earlier_ms ? s->to_ms : earlier_ms;
	return found;
}

/* ---- who answered when ---- */

static void find_spans(struct finder *f, const struct series_view *view)
{
	int64_t interval_ms = f->log->interval_ms;
	bool open = false;

	for (size_t k = 0; k < view->count; k++) {
		if (number_is_stale(view->v[k]) || !(view->v[k] > 0))
			continue;
		struct span *last = open ? &f->spans.items[f->spans.count - 1] : NULL;

		if (last && (view->t[k] - last->to_ms <= GONE_FOR * interval_ms ||
				    seen_ms(f, last->to_ms, view->t[k]) <= GONE_FOR * interval_ms))
			last->to_ms = view->t[k];
		else
			VEC_PUSH(&f->spans, (struct span){ view->t[k], view->t[k], false });
		open = true;
	}
}

/* Both ends of each span that are inside of what was seen. */
static void find_changes(struct finder *f, size_t first_span, struct str instance)
{
	int64_t interval_ms = f->log->interval_ms, newest_ms = f->stretches.items[f->stretches.count - 1].to_ms,
		oldest_ms = f->stretches.items[0].from_ms;

	for (size_t i = first_span; i < f->spans.count; i++) {
		struct span *s = &f->spans.items[i];

		s->lasts = seen_ms(f, s->from_ms, s->to_ms) >= CAME_FOR * interval_ms;
		if (!s->lasts)
			continue;
		if (s->from_ms > oldest_ms + CAME_FOR * interval_ms)
			VEC_PUSH(&f->changes, (struct change){ looked_before(f, s->from_ms), s->from_ms, instance, true });
		if (seen_ms(f, s->to_ms, newest_ms) > GONE_FOR * interval_ms)
			VEC_PUSH(&f->changes, (struct change){ s->to_ms, s->to_ms + interval_ms, instance, false });
	}
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->from_ms != y->from_ms ? (x->from_ms > y->from_ms) - (x->from_ms < y->from_ms) : str_cmp(x->instance, y->instance);
}

static void find_all_changes(struct finder *f)
{
	if (!f->stretches.count)
		return;
	for (size_t i = 0; i < f->in->up_count; i++) {
		size_t first = f->spans.count;

		find_spans(f, &f->in->up[i]);
		find_changes(f, first, labels_get(f->in->up[i].labels, STR("instance")));
	}
	if (f->changes.count)
		qsort(f->changes.items, f->changes.count, sizeof *f->changes.items, compare_changes);
}

static size_t up_at(const struct finder *f, int64_t t_ms)
{
	int64_t interval_ms = f->log->interval_ms;
	bool looked = false;
	size_t count = 0;

	VEC_EACH (&f->stretches, s)
		looked = looked || (s->from_ms - interval_ms <= t_ms && t_ms <= s->to_ms + interval_ms);
	VEC_EACH (&f->spans, s)
		count += s->lasts && s->from_ms <= t_ms && t_ms <= s->to_ms;
	return looked ? count : CAPACITY_UNKNOWN;
}

static void find_restarts(struct finder *f)
{
	for (size_t i = 0; i < f->in->start_count; i++) {
		const struct series_view *view = &f->in->starts[i];
		double before = NAN;

		for (size_t k = 0; k < view->count; k++) {
			if (number_is_stale(view->v[k]))
				continue;
			/* Some compute it from their age: it trembles by less than a second. */
			if (view->v[k] - before > 1)
				VEC_PUSH(&f->restarts, view->t[k]);
			before = view->v[k];
		}
	}
	times_sort(&f->restarts);
}

/* ---- events ---- */

/* Changes [first, end) happened together. */
static struct capacity_event event_of(struct finder *f, size_t first, size_t end)
{
	const struct change *changes = f->changes.items;
	struct str *names = ARENA_ARRAY(f->arena, struct str, end - first + 1);
	struct capacity_event e = { .t_ms = changes[first].from_ms, .from_ms = changes[first].from_ms, .came = names };
	size_t count = 0;

	for (size_t i = first; i < end; i++) {
		e.to_ms = changes[i].to_ms > e.to_ms ? changes[i].to_ms : e.to_ms;
		if (changes[i].came)
			names[count++] = changes[i].instance;
	}
	e.came_count = count;
	e.went = names + count;
	for (size_t i = first; i < end; i++)
		if (!changes[i].came)
			names[count++] = changes[i].instance;
	e.went_count = count - e.came_count;
	return e;
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static struct str change_text(struct arena *arena, const struct capacity_event *e)
{
	size_t came = e->came_count, went = e->went_count, both = came < went ? came : went;

	if (came == went)
		return arena_printf(arena, "%zu target%s replaced", came, plural(came));
	size_t more = (came > went ? came : went) - both;
	struct str text = arena_printf(arena, "%zu target%s %s", more, plural(more), came > went ? "more" : "fewer");

	return both ? arena_printf(arena, STR_FMT ", %zu replaced", STR_ARG(text), both) : text;
}

/* The event told last that the change may belong to; NULL: nobody told. */
static struct capacity_event *told_for(struct finder *f, const struct capacity_event *change)
{
	int64_t interval_ms = f->log->interval_ms;
	struct capacity_event *found = NULL;

	VEC_EACH (&f->events, e)
		if (e->told && change->from_ms >= e->from_ms - GONE_FOR * interval_ms &&
			change->from_ms <= e->to_ms + FOLLOWS_WITHIN * interval_ms && (!found || e->from_ms > found->from_ms))
			found = e;
	return found;
}

static void add_told(struct finder *f)
{
	for (size_t i = 0; i < f->in->annotation_count; i++) {
		const struct series_view *view = &f->in->annotations[i];

		if (!capacity_is_announced(view->labels))
			continue;
		for (size_t k = 0; k < view->count; k++) {
			if (number_is_stale(view->v[k]))
				continue;
			int64_t t_ms = view->t[k], end_ms = view->v[k] > 1 ? llround(view->v[k] * 1000) : t_ms;

			VEC_PUSH(&f->events, (struct capacity_event){ .t_ms = t_ms,
						     .from_ms = t_ms,
						     .to_ms = end_ms > t_ms ? end_ms : t_ms,
						     .text = labels_get(view->labels, STR("text")),
						     .tags = labels_get(view->labels, STR("tags")),
						     .pool = labels_get(view->labels, STR("pool")),
						     .told = true });
		}
	}
}

static void join(struct finder *f, struct capacity_event *told, const struct capacity_event *change)
{
	if (told->came_count || told->went_count) { /* a second wave */
		struct str *names = ARENA_ARRAY(
			f->arena, struct str, told->came_count + told->went_count + change->came_count + change->went_count + 1);
		size_t n = 0;

		for (size_t i = 0; i < told->came_count; i++)
			names[n++] = told->came[i];
		for (size_t i = 0; i < change->came_count; i++)
			names[n++] = change->came[i];
		told->came = names;
		for (size_t i = 0; i < told->went_count; i++)
			names[n++] = told->went[i];
		for (size_t i = 0; i < change->went_count; i++)
			names[n++] = change->went[i];
		told->came_count += change->came_count;
		told->went_count += change->went_count;
		told->went = names + told->came_count;
	} else {
		told->came = change->came;
		told->went = change->went;
		told->came_count = change->came_count;
		told->went_count = change->went_count;
	}
	told->from_ms = change->from_ms < told->from_ms ? change->from_ms : told->from_ms;
	told->to_ms = change->to_ms > told->to_ms ? change->to_ms : told->to_ms;
}

static void add_changes(struct finder *f)
{
	int64_t apart_ms = GONE_FOR * f->log->interval_ms;

	for (size_t first = 0, end; first < f->changes.count; first = end) {
		int64_t until_ms = f->changes.items[first].to_ms;

		for (end = first + 1; end < f->changes.count && f->changes.items[end].from_ms - until_ms <= apart_ms; end++)
			until_ms = f->changes.items[end].to_ms > until_ms ? f->changes.items[end].to_ms : until_ms;
		struct capacity_event e = event_of(f, first, end), *told = told_for(f, &e);

		e.text = change_text(f->arena, &e);
		if (told)
			join(f, told, &e);
		else
			VEC_PUSH(&f->events, e);
	}
}

static int compare_events(const void *a, const void *b)
{
	const struct capacity_event *x = a, *y = b;

	return x->from_ms != y->from_ms ? (x->from_ms > y->from_ms) - (x->from_ms < y->from_ms) : (x->t_ms > y->t_ms) - (x->t_ms < y->t_ms);
}

/* Restarts soon behind an event are part of it: an upgrade in place, where the names of targets stay. */
static void join_restarts(struct finder *f)
{
	size_t left = 0;

	for (size_t i = 0; i < f->restarts.count; i++) {
		int64_t t_ms = f->restarts.items[i], interval_ms = f->log->interval_ms;
		struct capacity_event *owner = NULL;

		VEC_EACH (&f->events, e)
			if (t_ms >= e->from_ms - interval_ms && t_ms <= e->to_ms + (e->told ? FOLLOWS_WITHIN : GONE_FOR) * interval_ms)
				owner = e;
		if (!owner)
			f->restarts.items[left++] = t_ms;
		else if (t_ms > owner->to_ms)
			owner->to_ms = t_ms;
	}
	f->restarts.count = left;
}

void capacity_find(struct capacity_log *log, struct arena *arena, const struct capacity_samples *samples)
{
	struct finder f = { .arena = arena, .in = samples, .log = log };

	*log = (struct capacity_log){ 0 };
	find_stretches(&f);
	find_all_changes(&f);
	find_restarts(&f);
	add_told(&f);
	add_changes(&f);
	if (f.events.count)
		qsort(f.events.items, f.events.count, sizeof *f.events.items, compare_events);
	join_restarts(&f);
	VEC_EACH (&f.events, e) {
		e->up_before = up_at(&f, e->from_ms);
		e->up_after = up_at(&f, e->to_ms);
	}
	log->events = kept(arena, f.events.items, f.events.count, sizeof *f.events.items);
	log->event_count = f.events.count;
	log->stretches = kept(arena, f.stretches.items, f.stretches.count, sizeof *f.stretches.items);
	log->stretch_count = f.stretches.count;
	log->restarts = kept(arena, f.restarts.items, f.restarts.count, sizeof *f.restarts.items);
	log->restart_count = f.restarts.count;
	VEC_FREE(&f.stretches);
	VEC_FREE(&f.spans);
	VEC_FREE(&f.changes);
	VEC_FREE(&f.events);
	VEC_FREE(&f.restarts);
}

/* ---- finding one ---- */

const struct capacity_event *capacity_last(const struct capacity_log *log)
{
	return log->event_count ? &log->events[log->event_count - 1] : NULL;
}

const struct capacity_event *capacity_at(const struct capacity_log *log, int64_t t_ms)
{
	const struct capacity_event *nearest = NULL;

	for (size_t i = 0; i < log->event_count; i++)
		if (llabs(log->events[i].t_ms - t_ms) <= 1000 &&
			(!nearest || llabs(log->events[i].t_ms - t_ms) < llabs(nearest->t_ms - t_ms)))
			nearest = &log->events[i];
	return nearest;
}

int64_t capacity_newest_ms(const struct capacity_log *log)
{
	return log->stretch_count ? log->stretches[log->stretch_count - 1].to_ms : 0;
}
