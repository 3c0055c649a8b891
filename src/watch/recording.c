/* Recordings and saved pages. */
#include "base/file.h"
#include "watch/pipeline.h"

#include <math.h>
#include <sys/stat.h>

enum { PAGE_MAX = 64 << 20 }; /* as of a scraped one */

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

static bool page_fits(const char *path, size_t most, struct error *e)
{
	struct stat s;

	if (stat(path, &s) != 0 || s.st_size <= 0 || (size_t)s.st_size <= most)
		return true;
	error_set(e, EXIT_BAD_INPUT, "%s: a page of %lld bytes is above the limit of %zu", path, (long long)s.st_size, most);
	error_hint(e, "--max-body SIZE allows more, at about 25 bytes of memory for each");
	return false;
}

/* The page goes into the fleet; `body` is it. Standard input can be read only once. */
static bool page_read(struct watch *w, const char *path, int64_t t_ms, struct str *body, struct error *e)
{
	struct http_answer answer = { .failure = HTTP_OK, .status = 200, .start_ms = t_ms, .duration_s = NAN };
	struct fleet *f = &w->data.fleet;
	struct recording one;

	size_t most = w->options.scrape.max_bytes ? w->options.scrape.max_bytes : PAGE_MAX;

	if (!page_fits(path, most, e) || !file_read(&w->arena, path, most, body, e))
		return false;
	if (strcmp(path, "-") != 0)
		return recording_read_page(f, &w->arena, path, t_ms, &one, e);
	answer.body = *body;
	fleet_ingest(f, fleet_target(f, STR("stdin"), STR_EMPTY, STR_EMPTY), t_ms, STR_EMPTY, &answer);
	return true;
}

static bool page_gather(struct watch *w, const char *path, int64_t t_ms, struct error *e)
{
	struct str body;

	if (!page_read(w, path, t_ms, &body, e))
		return false;
	const struct target *t = w->data.fleet.targets.items[w->data.fleet.targets.count - 1];

	if (scrape_answered(&t->scrapes.items[t->scrapes.count - 1]))
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
