/* Moments and windows: what people call a time, and what it is. */
#include "base/clock.h"
#include "watch/pipeline.h"

#include <stdlib.h>

/* ---- rounds of scrapes ---- */

struct shot {
	int64_t t_ms;
	size_t target;
};

static int shot_compare(const void *a, const void *b)
{
	const struct shot *x = a, *y = b;

	if (x->t_ms != y->t_ms)
		return x->t_ms < y->t_ms ? -1 : 1;
	return x->target < y->target ? -1 : x->target > y->target;
}

void fleet_moments(const struct fleet *f, int64_t from_ms, struct moments *moments)
{
	VEC(struct shot) shots = { 0 };
	size_t *last_round = mem_zalloc(f->targets.count + 1, sizeof *last_round), round = 0;

	for (size_t i = 0; i < f->targets.count; i++)
		VEC_EACH (&f->targets.items[i]->scrapes, record)
			if (record->t_ms >= from_ms)
				VEC_PUSH(&shots, (struct shot){ record->t_ms, i });
	if (shots.count)
		qsort(shots.items, shots.count, sizeof *shots.items, shot_compare);
	for (size_t i = 0; i < shots.count; i++) {
		const struct shot *s = &shots.items[i];

		if (!round || last_round[s->target] == round) {
			round++;
			VEC_PUSH(moments, s->t_ms);
		}
		last_round[s->target] = round;
		moments->items[moments->count - 1] = s->t_ms;
	}
	VEC_FREE(&shots);
	mem_free(last_round);
}

void moments_find(struct watch *w)
{
	fleet_moments(&w->data.fleet, INT64_MIN, &w->moments);
}

/* ---- names and times ---- */

/* Moments called NAME or NAME.*: the first and the last. False when there is none. */
static bool named_group(const struct recording *r, struct str name, int64_t *first_ms, int64_t *last_ms)
{
	bool any = false;

	for (size_t i = 0; r && i < r->moment_count; i++) {
		struct str when = r->moments[i].when;

		if (!name.len || !str_starts(when, name) || (when.len > name.len && when.ptr[name.len] != '.'))
			continue;
		*first_ms = any ? *first_ms : r->moments[i].t_ms;
		*last_ms = r->moments[i].t_ms;
		any = true;
	}
	return any;
}

static bool ends_parse(
	const struct moment_frame *frame, const char *option, struct str text, int64_t *first_ms, int64_t *last_ms, struct error *e)
{
	if (named_group(frame->recording, text, first_ms, last_ms))
		return true;
	if (frame->recording) {
		ptrdiff_t i = recording_find(frame->recording, text, e);

		if (i >= 0)
			*first_ms = *last_ms = frame->recording->moments[i].t_ms;
		return i >= 0;
	}
	if (!time_parse(text, frame->now_ms, first_ms)) {
		error_set(e, EXIT_USAGE, "--%s: \"" STR_FMT "\" is no time", option, STR_ARG(text));
		error_hint(e, "such as 2026-01-15T03:10:00Z, 1768446600, -2h or now");
		return false;
	}
	*last_ms = *first_ms;
	return true;
}

bool moment_parse(const struct moment_frame *frame, const char *option, const char *text, int64_t *t_ms, struct error *e)
{
	int64_t first_ms;

	return ends_parse(frame, option, str_from(text), &first_ms, t_ms, e);
}

bool since_parse(const struct moment_frame *frame, const char *text, int64_t *from_ms, struct error *e)
{
	enum { TIME_FROM_S = 100000000 };
	int64_t length_ms, last_ms;

	if (!named_group(frame->recording, str_from(text), from_ms, &last_ms) && duration_parse(str_from(text), &length_ms) &&
		length_ms / 1000 < TIME_FROM_S) {
		*from_ms = frame->end_ms - length_ms;
		return true;
	}
	/* A bare number of three years and more is Unix time. */
	return ends_parse(frame, "since", str_from(text), from_ms, &last_ms, e);
}

bool window_parse(const struct moment_frame *frame, const char *option, const char *text, int64_t *from_ms, int64_t *to_ms, struct error *e)
{
	struct str whole = str_from(text);
	ptrdiff_t dots = str_search(whole, STR(".."));
	int64_t length_ms, unused;

	if (dots >= 0) {
		if (!ends_parse(frame, option, str_head(whole, (size_t)dots), from_ms, &unused, e) ||
			!ends_parse(frame, option, str_skip(whole, (size_t)dots + 2), &unused, to_ms, e))
			return false;
		if (*from_ms <= *to_ms)
			return true;
		error_set(e, EXIT_USAGE, "--%s %s: it ends before it begins", option, text);
		return false;
	}
	if (named_group(frame->recording, whole, from_ms, to_ms))
		return true;
	if (duration_parse(whole, &length_ms)) {
		*to_ms = frame->end_ms;
		*from_ms = frame->end_ms - length_ms;
		return true;
	}
	return ends_parse(frame, option, whole, from_ms, to_ms, e);
}

/* ---- spans ---- */

enum span_kind span_kind_of(const struct watch *w, int64_t from_ms, int64_t to_ms)
{
	size_t count = 0;

	VEC_EACH (&w->moments, moment)
		count += *moment >= from_ms && *moment <= to_ms;
	return from_ms == to_ms ? SPAN_LEVELS : count <= 2 ? SPAN_PAIR : SPAN_WHOLE;
}

static void span_set(const struct watch *w, struct watch_span *span, int64_t from_ms, int64_t to_ms)
{
	int64_t first_ms = w->moments.items[0];

	from_ms = from_ms < first_ms ? first_ms : from_ms;
	to_ms = to_ms < from_ms ? from_ms : to_ms;
	span->window = (struct window){ from_ms, to_ms, first_ms };
	span->kind = span_kind_of(w, from_ms, to_ms);
}

bool spans_resolve(struct watch *w, struct error *e)
{
	const struct watch_options *o = &w->options;
	bool live = w->kind == WATCH_LIVE;
	struct moment_frame frame = { .recording = live ? NULL : &w->recording, .now_ms = o->now_ms };
	int64_t from_ms, to_ms;

	if (!w->moments.count)
		return error_set(e, EXIT_BAD_INPUT, "there is no scrape in it");
	from_ms = w->moments.items[0];
	frame.end_ms = to_ms = w->moments.items[w->moments.count - 1];
	if (live && (o->at || o->since || o->against)) {
		error_set(e, EXIT_USAGE, "--%s needs a history: a live target has none", o->at ? "at" : o->since ? "since" : "against");
		error_hint(e, "record it first (goodput record), or ask a Prometheus (--prometheus URL)");
		return false;
	}
	if (o->at) {
		if (!moment_parse(&frame, "at", o->at, &to_ms, e))
			return false;
		frame.end_ms = from_ms = to_ms;
	}
	if (o->since && !since_parse(&frame, o->since, &from_ms, e))
		return false;
	if (!live && o->window && !window_parse(&frame, "window", o->window, &from_ms, &to_ms, e))
		return false;
	span_set(w, &w->span, from_ms, to_ms);
	w->span.asked = o->at || (o->window && !live);
	if (o->against && !window_parse(&frame, "against", o->against, &from_ms, &to_ms, e))
		return false;
	if (o->against)
		span_set(w, &w->reference, from_ms, to_ms);
	return true;
}
