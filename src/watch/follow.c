#include "watch/follow.h"

#include "base/clock.h"
#include "watch/pipeline.h"

struct follow {
	struct watch *watch;          /* NULL: not open */
	struct watch_options options; /* to open a Prometheus anew */
	int64_t window_ms;
	char window_text[64];
	struct moments moments;
	struct arena evidence_arena, report_arena;
	struct evidence evidence;
	bool has_evidence, gathered;
};

static struct watch *opened(const struct watch_options *options, struct error *e)
{
	struct watch *w = NEW(struct watch);

	if (watch_open(w, options, e))
		return w;
	mem_free(w);
	return NULL;
}

static void closed(struct watch *w)
{
	if (w)
		watch_close(w);
	mem_free(w);
}

struct follow *follow_new(const struct watch_options *options, int64_t window_ms, struct error *e)
{
	struct follow *f = NEW(struct follow);

	f->options = *options;
	f->window_ms = window_ms;
	duration_format(window_ms, f->window_text);
	f->options.window = f->options.at = f->options.since = f->options.against = NULL;
	arena_init(&f->evidence_arena);
	arena_init(&f->report_arena);
	f->watch = opened(&f->options, e);
	if (f->watch)
		return f;
	follow_free(f);
	return NULL;
}

static void evidence_drop(struct follow *f)
{
	if (f->has_evidence)
		evidence_fini(&f->evidence);
	f->has_evidence = false;
	arena_reset(&f->report_arena);
	arena_reset(&f->evidence_arena);
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	evidence_drop(f);
	closed(f->watch);
	VEC_FREE(&f->moments);
	arena_fini(&f->report_arena);
	arena_fini(&f->evidence_arena);
	mem_free(f);
}

enum watch_kind follow_kind(const struct follow *f)
{
	return f->watch->kind;
}

bool follow_goes_on(const struct follow *f)
{
	return f->watch->kind != WATCH_RECORDING && f->watch->kind != WATCH_PAGE;
}

/* ---- looking ---- */

static bool look_live(struct follow *f, struct error *e)
{
	struct watch *w = f->watch;
	int64_t now_ms;
	size_t answered;

	if (!live_round(w, !f->gathered, &answered))
		return true; /* it is a Prometheus */
	if (w->options.stop && *w->options.stop)
		return error_set(e, EXIT_INTERRUPTED, "interrupted");
	now_ms = clock_now_ms();
	fleet_forget(&w->data.fleet, now_ms - REPORT_HISTORY_MS);
	return store_retain(w->data.store, now_ms, e);
}

/* Are samples kept by somebody else, who goes on? */
static bool is_kept_elsewhere(const struct follow *f)
{
	return f->watch->kind == WATCH_REMOTE || f->watch->kind == WATCH_STORE;
}

/* A Prometheus or a store is opened anew: its fleet may be another one by now. */
static bool look_anew(struct follow *f, struct error *e)
{
	struct watch_options options = f->options;

	if (f->watch->kind == WATCH_REMOTE) {
		options.targets = NULL;
		options.target_count = 0;
		options.remote = f->watch->options.remote;
	}
	options.window = f->window_text;
	options.now_ms = clock_now_ms();
	struct watch *next = opened(&options, e);

	if (!next)
		return false;
	if (!watch_gather(next, e)) {
		closed(next);
		return false;
	}
	evidence_drop(f);
	if (options.remote.url) /* it may be the former watch's own */
		next->options.remote.url = arena_cstr(&next->arena, str_from(options.remote.url));
	closed(f->watch);
	f->watch = next;
	return true;
}

bool follow_look(struct follow *f, struct error *e)
{
	if (f->watch->kind == WATCH_LIVE) {
		evidence_drop(f);
		if (!look_live(f, e)) /* it may turn out to be a Prometheus */
			return false;
	}
	if (is_kept_elsewhere(f) && !look_anew(f, e))
		return false;
	if (!follow_goes_on(f) && !f->gathered && !watch_gather(f->watch, e))
		return false;
	f->gathered = true;
	f->moments.count = 0;
	fleet_moments(&f->watch->data.fleet, INT64_MIN, &f->moments);
	return true;
}

const int64_t *follow_moments(const struct follow *f, size_t *count)
{
	*count = f->moments.count;
	return f->moments.items;
}

struct str follow_moment_name(const struct follow *f, size_t moment)
{
	const struct recording *r = &f->watch->recording;

	for (size_t i = 0; i < r->moment_count; i++)
		if (r->moments[i].t_ms == f->moments.items[moment])
			return r->moments[i].when;
	return STR_EMPTY;
}

int64_t follow_pace_ms(const struct follow *f)
{
	return is_kept_elsewhere(f) ? f->watch->interval_ms : 0;
}

/* ---- judging ---- */

static bool evidence_make(struct follow *f, struct error *e)
{
	struct watch_data *d = &f->watch->data;
	int64_t from_ms = 0, to_ms = 0;

	if (f->has_evidence)
		return true;
	store_bounds(d->store, &from_ms, &to_ms);
	f->has_evidence = evidence_build(&f->evidence, &f->evidence_arena, &f->watch->catalog, &d->fleet, d->backend, from_ms, to_ms, e);
	return f->has_evidence;
}

const struct report *follow_judge(struct follow *f, size_t moment, bool brief, struct error *e)
{
	arena_reset(&f->report_arena);
	if (!evidence_make(f, e))
		return NULL;
	struct report_request request = report_request_at(f->moments.items, moment, f->window_ms);

	request.only_shown = brief;
	return report_new(&f->report_arena, &f->evidence, &request);
}
