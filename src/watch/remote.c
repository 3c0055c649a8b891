/* A fleet that an existing Prometheus scrapes, or that `goodput serve` has scraped into its store, copied (mirror.h). From there on nothing
 * differs from a live watch. */
#include "base/clock.h"
#include "base/log.h"
#include "watch/mirror.h"
#include "watch/pipeline.h"

#include <stdlib.h>

enum { WINDOW_MS = 300000, MARGIN_MS = 300000 };

struct fetch {
	struct watch *w;
	struct backend *b;
	struct error *e;
	struct moment_frame frame;
	int64_t from_ms, to_ms;                     /* the window asked for */
	int64_t reference_from_ms, reference_to_ms; /* 0: none */
	int64_t oldest_ms;                          /* of what is fetched */
};

static const char *source_name(const struct watch *w)
{
	return w->file ? w->options.targets[0] : w->options.remote.url;
}

/* Of a store: its newest sample, whenever it was written. */
static int64_t newest_ms(const struct watch *w)
{
	int64_t oldest, newest;

	return w->file && store_bounds(w->file, &oldest, &newest) && newest < w->options.now_ms ? newest : w->options.now_ms;
}

static bool times_resolve(struct fetch *f)
{
	const struct watch_options *o = &f->w->options;

	f->frame.now_ms = o->now_ms;
	f->to_ms = newest_ms(f->w);
	if (o->at && !moment_parse(&f->frame, "at", o->at, &f->to_ms, f->e))
		return false;
	f->frame.end_ms = f->to_ms;
	f->from_ms = f->to_ms - WINDOW_MS;
	if (o->since && !since_parse(&f->frame, o->since, &f->from_ms, f->e))
		return false;
	if (o->window && !window_parse(&f->frame, "window", o->window, &f->from_ms, &f->to_ms, f->e))
		return false;
	if (o->against && !window_parse(&f->frame, "against", o->against, &f->reference_from_ms, &f->reference_to_ms, f->e))
		return false;
	if (f->from_ms > f->to_ms)
		return error_set(f->e, EXIT_USAGE, "the window ends before it begins");
	f->oldest_ms = f->from_ms - MARGIN_MS;
	if (f->reference_from_ms && f->reference_from_ms - MARGIN_MS < f->oldest_ms)
		f->oldest_ms = f->reference_from_ms - MARGIN_MS;
	return true;
}

/* ---- the window ---- */

static int interval_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The median of the targets' scrape intervals. */
static int64_t interval_of(const struct fleet *fleet)
{
	VEC(int64_t) all = { 0 };
	int64_t median = 0;

	VEC_EACH (&fleet->targets, t)
		if (target_interval_ms(*t) > 0)
			VEC_PUSH(&all, target_interval_ms(*t));
	if (all.count) {
		qsort(all.items, all.count, sizeof *all.items, interval_compare);
		median = all.items[all.count / 2];
	}
	VEC_FREE(&all);
	return median;
}

/* The window begins and ends with a scrape where there is one near: what was really seen is what is said. */
static struct window window_fit(const struct watch *w, int64_t from_ms, int64_t to_ms)
{
	int64_t first_ms = w->moments.items[0], slack_ms = w->interval_ms + w->interval_ms / 2, newest_ms = 0;

	VEC_EACH (&w->moments, moment)
		if (*moment <= to_ms)
			newest_ms = *moment;
	if (newest_ms > from_ms && to_ms - newest_ms <= slack_ms)
		to_ms = newest_ms;
	if (from_ms == to_ms)
		return (struct window){ from_ms, to_ms, first_ms < from_ms ? first_ms : from_ms };
	if (first_ms > from_ms && first_ms < to_ms)
		from_ms = first_ms;
	return (struct window){ from_ms, to_ms, first_ms < from_ms ? first_ms : from_ms };
}

static bool spans_fit(struct fetch *f)
{
	struct watch *w = f->w;

	moments_find(w);
	w->interval_ms = interval_of(&w->data.fleet);
	if (!w->moments.count) {
		error_set(f->e, EXIT_UNKNOWN, "%s has nothing of an LLM server in that window%s%s", source_name(w),
			w->options.remote.match ? " that matches " : "", w->options.remote.match ? w->options.remote.match : "");
		if (w->file)
			error_hint(f->e, "goodput store stats %s tells what it has", source_name(w));
		else
			error_hint(f->e, "goodput query 'count by (job) (up)' --prometheus %s lists its jobs", source_name(w));
		return false;
	}
	w->span.window = window_fit(w, f->from_ms, f->to_ms);
	w->span.kind = span_kind_of(w, w->span.window.from_ms, w->span.window.to_ms);
	/* A window with two ends is asked about alone, as of a recording. */
	w->span.asked = w->options.window && strstr(w->options.window, "..");
	if (!f->reference_from_ms)
		return true;
	w->reference.window = window_fit(w, f->reference_from_ms, f->reference_to_ms);
	w->reference.kind = span_kind_of(w, w->reference.window.from_ms, w->reference.window.to_ms);
	return true;
}

static bool fleet_fetch(struct fetch *f)
{
	struct watch *w = f->w;
	const struct mirror_span span = { f->oldest_ms, f->to_ms, f->e };
	struct mirror *m = mirror_new(false);
	struct mirror_batch batch;

	mirror_point(m, f->b, w->file != NULL, &w->catalog);
	log_progress("asking %s for the fleet and its samples", source_name(w));
	bool ok = mirror_fetch(m, &w->arena, &span, &batch);

	if (ok)
		mirror_apply(m, &w->data.fleet, &w->arena, &batch);
	mirror_free(m);
	return ok && spans_fit(f);
}

static bool fetch_all(struct watch *w, struct error *e)
{
	struct fetch f = { .w = w, .b = w->remote, .e = e };

	if (!times_resolve(&f))
		return false;
	w->span.window = (struct window){ f.from_ms, f.to_ms, f.from_ms };
	if (w->options.only_samples && !w->options.only_names)
		return true;
	bool ok = fleet_fetch(&f);

	log_progress(NULL);
	return ok;
}

bool remote_gather(struct watch *w, struct error *e)
{
	struct fetch f = { .w = w, .e = e };

	/* What was typed wrong is told before anybody is asked. */
	if (!times_resolve(&f))
		return false;
	w->remote = backend_remote_new(&w->options.remote, e);
	return w->remote && fetch_all(w, e);
}

bool file_gather(struct watch *w, struct error *e)
{
	const struct store_options options = { .read_only = true };

	w->file = store_open(w->options.targets[0], &options, e);
	if (!w->file)
		return false;
	w->remote = backend_embedded_new(w->file);
	return fetch_all(w, e);
}
