/* Recordings and saved pages. */
#include "base/buf.h"
#include "base/file.h"
#include "expo/expo.h"
#include "watch/pipeline.h"

#include <math.h>
#include <sys/stat.h>

enum { PAGE_MAX = 256 << 20 };

bool recording_gather(struct watch *w, struct error *e)
{
	if (!recording_read(&w->data.fleet, &w->arena, w->options.targets[0], &w->recording, e))
		return false;
	for (size_t i = 0; i < w->recording.moment_count; i++)
		VEC_PUSH(&w->moments, w->recording.moments[i].t_ms);
	return spans_resolve(w, e);
}

/* ---- saved pages ---- */

/* When the pages were saved: --at, else the newest file's time, else now. */
static bool pages_time(const struct watch *w, int64_t *t_ms, struct error *e)
{
	const struct watch_options *o = &w->options;
	const struct moment_frame frame = { .now_ms = o->now_ms };
	struct stat s;

	*t_ms = 0;
	if (o->at)
		return moment_parse(&frame, "at", o->at, t_ms, e);
	for (size_t i = 0; i < o->target_count; i++)
		if (strcmp(o->targets[i], "-") != 0 && stat(o->targets[i], &s) == 0 && (int64_t)s.st_mtim.tv_sec * 1000 > *t_ms)
			*t_ms = (int64_t)s.st_mtim.tv_sec * 1000 + s.st_mtim.tv_nsec / 1000000;
	*t_ms = *t_ms ? *t_ms : o->now_ms;
	return true;
}

/* Does this series count from 0 at its process's start? */
static bool counts_from_start(const struct expo_series *s)
{
	struct str name = labels_name(s->labels);

	switch (s->type) {
	case METRIC_COUNTER: return !str_ends(name, STR("_created"));
	case METRIC_HISTOGRAM: return !str_ends(name, STR("_created"));
	case METRIC_SUMMARY: return str_ends(name, STR("_sum")) || str_ends(name, STR("_count"));
	case METRIC_UNKNOWN: return str_ends(name, STR("_total")) || str_ends(name, STR("_bucket"));
	default: return false;
	}
}

/* The page as it was when its process began: every counter 0, and no level but those that never change. */
static void page_at_start(const struct expo_page *page, struct buf *out)
{
	struct expo_writer writer = { .out = out, .format = EXPO_TEXT };
	struct str family = STR_EMPTY;

	for (size_t i = 0; i < page->sample_count; i++) {
		const struct expo_series *s = page->samples[i].series;
		bool constant = s->type == METRIC_INFO || str_is(labels_name(s->labels), "process_start_time_seconds");

		if (!constant && !counts_from_start(s))
			continue;
		if (!str_eq(s->family, family))
			expo_write_family(&writer, s->family, s->type, STR_EMPTY, STR_EMPTY);
		family = s->family;
		expo_write_sample(&writer, s->labels, constant ? page->samples[i].value : 0, EXPO_NO_TIME);
	}
}

static double start_of(const struct expo_page *page)
{
	double start = NAN;

	for (size_t i = 0; i < page->sample_count; i++) {
		const struct expo_series *s = page->samples[i].series;

		if (!str_is(labels_name(s->labels), "process_start_time_seconds") && !str_ends(labels_name(s->labels), STR("_created")))
			continue;
		/* The oldest of the dates of birth. */
		if (page->samples[i].value > 0 && !(start <= page->samples[i].value))
			start = page->samples[i].value;
	}
	return start;
}

/* Second fleet: the page at its process's start, and the page. */
static void lifetime_add(struct watch *w, const struct target *seen, struct str body, int64_t t_ms)
{
	struct expo_reader *reader = expo_reader_new();
	const struct expo_page *page = expo_read(reader, seen->name, body, expo_format_of(STR_EMPTY, body));
	double start_s = start_of(page);
	int64_t start_ms = start_s * 1000 < (double)t_ms ? (int64_t)(start_s * 1000) : 0;
	struct target *t = fleet_target(&w->lifetime.fleet, seen->name, STR_EMPTY, STR_EMPTY);
	struct buf at_start;

	w->start_known &= start_ms > 0;
	/* Without a date of birth the time between is a stand-in: shares, means and quantiles do not depend on it. */
	start_ms = start_ms > 0 ? start_ms : t_ms - 3600000;
	buf_init(&at_start, PAGE_MAX);
	page_at_start(page, &at_start);
	struct http_answer answer = { .status = 200, .start_ms = start_ms, .duration_s = NAN, .body = buf_str(&at_start) };

	if (at_start.len) {
		fleet_ingest(&w->lifetime.fleet, t, start_ms, STR_EMPTY, &answer);
		answer.body = body;
		answer.start_ms = t_ms;
		fleet_ingest(&w->lifetime.fleet, t, t_ms, STR_EMPTY, &answer);
	}
	if (start_ms < w->lifetime_span.window.from_ms)
		w->lifetime_span.window.from_ms = w->lifetime_span.window.history_ms = start_ms;
	buf_fini(&at_start);
	expo_reader_free(reader);
}

static bool page_gather(struct watch *w, const char *path, int64_t t_ms, struct error *e)
{
	struct fleet *f = &w->data.fleet;
	struct recording one;
	struct str body;

	if (!recording_read_page(f, &w->arena, path, t_ms, &one, e))
		return false;
	const struct target *t = f->targets.items[f->targets.count - 1];

	/* Standard input can be read only once: it has no second look. */
	if (strcmp(path, "-") == 0 || !scrape_answered(&t->scrapes.items[t->scrapes.count - 1]))
		return true;
	if (!file_read(&w->arena, path, PAGE_MAX, &body, e))
		return false;
	lifetime_add(w, t, body, t_ms);
	return true;
}

bool pages_gather(struct watch *w, struct error *e)
{
	const struct watch_options *o = &w->options;
	int64_t t_ms;

	if (o->window || o->since || o->against) {
		error_set(e, EXIT_USAGE, "--%s needs a history: a saved page is one scrape",
			o->window  ? "window"
			: o->since ? "since"
				   : "against");
		error_hint(e, "goodput record saves several");
		return false;
	}
	if (!pages_time(w, &t_ms, e))
		return false;
	data_init(&w->lifetime);
	w->start_known = true;
	w->lifetime_span = (struct watch_span){ { t_ms, t_ms, t_ms }, SPAN_SINCE_START, true };
	for (size_t i = 0; i < o->target_count; i++)
		if (!page_gather(w, o->targets[i], t_ms, e))
			return false;
	VEC_PUSH(&w->moments, t_ms);
	w->span = (struct watch_span){ { t_ms, t_ms, t_ms }, SPAN_LEVELS, false };
	if (!w->lifetime.fleet.targets.count)
		data_fini(&w->lifetime);
	return true;
}
