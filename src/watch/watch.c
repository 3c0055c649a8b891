#include "watch/watch.h"

#include "base/file.h"
#include "base/log.h"
#include "signals/findings.h"
#include "watch/config.h"
#include "watch/pipeline.h"

enum { MOMENTS_JUDGED = 64 };

const char *span_kind_name(enum span_kind kind)
{
	static const char *const names[] = { "levels", "pair", "whole", "since-start" };

	return names[kind];
}

bool watch_is_file(const char *target)
{
	return strcmp(target, "-") == 0 || file_exists(target);
}

void data_init(struct watch_data *d)
{
	*d = (struct watch_data){ .store = store_new(), .has_fleet = true };
	fleet_init(&d->fleet, store_sink(d->store));
	d->backend = backend_embedded_new(d->store);
}

void data_fini(struct watch_data *d)
{
	if (!d->has_fleet)
		return;
	if (d->has_evidence)
		evidence_fini(&d->evidence);
	fleet_fini(&d->fleet);
	backend_free(d->backend);
	store_free(d->store);
	*d = (struct watch_data){ 0 };
}

bool watch_catalog(struct catalog *c, struct arena *arena, const struct watch_options *o, struct error *e)
{
	const char **files = ARENA_ARRAY(arena, const char *, o->catalog_file_count + 2);
	size_t count = 0;

	/* What is named more directly comes later and wins. */
	if (o->config_file)
		files[count++] = o->config_file;
	for (size_t i = 0; i < o->catalog_file_count; i++)
		files[count++] = o->catalog_files[i];
	if (o->pools_file)
		files[count++] = o->pools_file;
	if (!catalog_init(c, files, count, e))
		return false;
	if (catalog_check_detectors(c, detector_names, e))
		return true;
	catalog_fini(c);
	return false;
}

static bool open_source(struct watch *w, struct error *e)
{
	if (!targets_kind(&w->options, &w->kind, e))
		return false;
	if (w->kind != WATCH_LIVE)
		return true;
	return targets_live(w, e) && config_targets(w, e);
}

static bool nothing_to_watch(const struct watch *w, struct error *e)
{
	if (w->kind != WATCH_LIVE || w->data.fleet.targets.count)
		return false;
	error_set(e, EXIT_USAGE, "there is no target to look at");
	if (w->options.targets_file)
		error_hint(e, "%s lists none: one a line, such as pod-a:8000", w->options.targets_file);
	else if (w->options.config_file)
		error_hint(e, "%s has no scrape_configs with targets that can be asked directly", w->options.config_file);
	return true;
}

bool watch_open(struct watch *w, const struct watch_options *options, struct error *e)
{
	*w = (struct watch){ .options = *options };
	arena_init(&w->arena);
	data_init(&w->data);
	w->has_catalog = watch_catalog(&w->catalog, &w->arena, options, e);
	if (w->has_catalog && open_source(w, e) && !nothing_to_watch(w, e))
		return true;
	watch_close(w);
	return false;
}

void watch_close(struct watch *w)
{
	data_fini(&w->lifetime);
	data_fini(&w->data);
	config_free(w->config);
	if (w->has_catalog)
		catalog_fini(&w->catalog);
	backend_free(w->remote);
	store_free(w->file);
	VEC_FREE(&w->moments);
	arena_fini(&w->arena);
}

static bool gather(struct watch *w, struct error *e)
{
	switch (w->kind) {
	case WATCH_LIVE: return live_gather(w, e);
	case WATCH_RECORDING: return recording_gather(w, e);
	case WATCH_PAGE: return pages_gather(w, e);
	case WATCH_STORE: return file_gather(w, e);
	case WATCH_REMOTE: return remote_gather(w, e);
	}
	return false;
}

bool watch_gather(struct watch *w, struct error *e)
{
	if (!gather(w, e))
		return false;
	log_debug("%zu targets, %zu moments, %zu series, %zu samples", w->data.fleet.targets.count, w->moments.count,
		store_series_count(w->data.store), store_sample_count(w->data.store));
	return true;
}

static bool data_evidence(struct watch *w, struct watch_data *d, struct error *e)
{
	int64_t from_ms = 0, to_ms = 0;

	if (d->has_evidence)
		return true;
	store_bounds(d->store, &from_ms, &to_ms);
	d->has_evidence = evidence_build(&d->evidence, &w->arena, &w->catalog, &d->fleet, d->backend, from_ms, to_ms, e);
	return d->has_evidence;
}

bool watch_evidence(struct watch *w, struct error *e)
{
	return data_evidence(w, &w->data, e);
}

static struct report *report_of(
	struct watch *w, struct watch_data *d, const struct watch_span *span, const struct window *reference, struct error *e)
{
	const int64_t ends[] = { span->window.from_ms, span->window.to_ms };
	struct report_request request = { .moments = w->moments.items,
		.moment_count = w->moments.count,
		.max_moments = MOMENTS_JUDGED,
		.shown = span->window,
		.only_shown = span->asked,
		.reference = reference };

	if (span->kind == SPAN_SINCE_START) {
		request.moments = ends;
		request.moment_count = ARRAY_LEN(ends);
		request.only_shown = true;
	} else {
		/* Moments of the span only. */
		while (request.moment_count && request.moments[0] < span->window.from_ms) {
			request.moments++;
			request.moment_count--;
		}
		while (request.moment_count && request.moments[request.moment_count - 1] > span->window.to_ms)
			request.moment_count--;
	}
	return data_evidence(w, d, e) ? report_new(&w->arena, &d->evidence, &request) : NULL;
}

bool watch_report(struct watch *w, struct error *e)
{
	bool compared = w->options.against != NULL;

	w->report = report_of(w, &w->data, &w->span, compared ? &w->reference.window : NULL, e);
	if (w->report && w->lifetime.has_fleet)
		w->lifetime_report = report_of(w, &w->lifetime, &w->lifetime_span, NULL, e);
	if (w->lifetime_report)
		lifetime_judge(w);
	return w->report && (!w->lifetime.has_fleet || w->lifetime_report);
}
