/* Live targets: rounds of scrapes. */
#include "base/clock.h"
#include "base/log.h"
#include "net/http.h"
#include "scrape/metric_files.h"
#include "watch/mirror.h"
#include "watch/pipeline.h"

#include <stdio.h>
#include <time.h>

enum {
	WINDOW_MS = 10000,      /* without --window */
	LONG_WINDOW_MS = 30000, /* above: scrapes in between too, */
	GAP_MS = 15000,         /* at most this far apart */
	PROBES = 2,             /* extra scrapes at the start: do several processes answer here? */
	PROBE_BYTES = 4 << 20,  /* of pages that are cheap to fetch again */
};
static const double probe_s = 1; /* likewise */

static void scrape_fleet(struct watch *w, struct arena *arena, const struct fleet *f, struct http_answer *answers)
{
	struct http_client *client = http_client_new();

	scrape_all(client, arena, f, &w->options.scrape, answers, w->options.stop);
	http_client_free(client);
}

void watch_scrape(struct watch *w, struct arena *arena, struct http_answer *answers)
{
	scrape_fleet(w, arena, &w->data.fleet, answers);
}

static bool stopped(const struct watch *w)
{
	return w->options.stop && *w->options.stop;
}

bool watch_wait(const struct watch *w, int64_t until_ns, const char *what)
{
	for (int64_t left; (left = until_ns - clock_monotonic_ns()) > 0 && !stopped(w);) {
		int64_t step = left < 100000000 ? left : 100000000;

		log_progress("%s %lld s", what, (long long)((left + 999999999) / 1000000000));
		nanosleep(&(struct timespec){ 0, (long)step }, NULL);
	}
	log_progress(NULL);
	return !stopped(w);
}

static bool interrupted(const struct watch *w, size_t done, size_t rounds, struct error *e)
{
	if (!stopped(w))
		return false;
	error_set(e, EXIT_INTERRUPTED, "interrupted after %zu of %zu scrapes: nothing was judged", done, rounds);
	return true;
}

/* `answered`: how many targets gave something to read. */
static void round_ingest(struct watch *w, struct turns *turns, size_t *answered)
{
	struct fleet *f = &w->data.fleet;
	struct arena arena;

	arena_init(&arena);
	struct http_answer *answers = ARENA_ARRAY(&arena, struct http_answer, f->targets.count);

	watch_scrape(w, &arena, answers);
	*answered = 0;
	for (size_t i = 0; i < f->targets.count && !stopped(w); i++) {
		const struct scrape_record *record = fleet_ingest(f, f->targets.items[i], answers[i].start_ms, STR_EMPTY, &answers[i]);

		*answered += scrape_answered(record);
		if (turns)
			turns_add(turns, i, &answers[i]);
	}
	arena_fini(&arena);
}

static bool is_cheap(const struct target *t)
{
	const struct scrape_record *last = &t->scrapes.items[t->scrapes.count - 1];

	return scrape_answered(last) && last->duration_s < probe_s && last->bytes < PROBE_BYTES;
}

/* Scrapes cheap targets again at once. These pages are only looked at for the process behind them. */
static void probe_turns(struct watch *w, struct turns *turns)
{
	struct fleet *f = &w->data.fleet, cheap = { 0 };
	VEC(size_t) indices = { 0 };
	struct arena arena;

	for (int probe = 0; probe < PROBES && !stopped(w); probe++) {
		cheap.targets.count = indices.count = 0;
		for (size_t i = 0; i < f->targets.count; i++) {
			if (!is_cheap(f->targets.items[i]) || turns_count(turns, i) > 1)
				continue;
			VEC_PUSH(&cheap.targets, f->targets.items[i]);
			VEC_PUSH(&indices, i);
		}
		arena_init(&arena);
		struct http_answer *answers = ARENA_ARRAY(&arena, struct http_answer, indices.count + 1);

		scrape_fleet(w, &arena, &cheap, answers);
		for (size_t i = 0; i < indices.count && !stopped(w); i++)
			turns_add(turns, indices.items[i], &answers[i]);
		arena_fini(&arena);
	}
	VEC_FREE(&cheap.targets);
	VEC_FREE(&indices);
}

/* ---- a Prometheus instead of an engine ---- */

static bool shows_engine(struct watch *w)
{
	size_t count;
	struct str *names = store_label_values(w->data.store, &w->arena, LABEL_NAME, NULL, 0, &count);
	bool shows = false;

	for (size_t i = 0; i < count && !shows; i++)
		shows = is_engine_name(&w->catalog, names[i]);
	return shows;
}

const char *live_prometheus(struct watch *w, const struct target *t)
{
	struct remote_options remote = w->options.remote;
	enum scrape_outcome outcome;
	struct str url = t->url;

	if (!t->scrapes.count || target_is_metric_files(t)) /* none: interrupted */
		return NULL;
	outcome = t->scrapes.items[t->scrapes.count - 1].outcome;
	/* Whoever does not answer at all is not asked twice. */
	if (outcome != SCRAPE_OK && outcome != SCRAPE_NOT_FOUND && outcome != SCRAPE_HTML && outcome != SCRAPE_REDIRECT &&
		outcome != SCRAPE_EMPTY)
		return NULL;
	if (outcome == SCRAPE_OK && shows_engine(w))
		return NULL;
	if (str_ends(url, STR("/metrics")))
		url = str_head(url, url.len - 8);
	remote.url = arena_cstr(&w->arena, url);
	remote.timeout_ms = w->options.scrape.timeout_ms;
	return backend_remote_probe(&remote) ? remote.url : NULL;
}

/* Does the only target turn out to be a Prometheus? Then it is asked as one. */
static bool becomes_remote(struct watch *w)
{
	const char *url = w->data.fleet.targets.count == 1 ? live_prometheus(w, w->data.fleet.targets.items[0]) : NULL;

	if (!url)
		return false;
	log_note("%s is a Prometheus, not an engine: asking it for the fleet that it scrapes, as --prometheus %s does", url, url);
	w->options.remote.url = url;
	w->kind = WATCH_REMOTE;
	data_fini(&w->data);
	data_init(&w->data);
	return true;
}

static void turns_keep(struct watch *w, const struct turns *turns)
{
	for (size_t i = 0; i < w->data.fleet.targets.count; i++)
		w->data.fleet.targets.items[i]->turns = turns_count(turns, i);
}

/* Pages are read for the processes behind them once: that they take turns does not change while a fleet is followed. */
bool live_round(struct watch *w, bool first, size_t *answered)
{
	struct turns *turns = first ? turns_new(w->data.fleet.targets.count) : NULL;

	round_ingest(w, turns, answered);
	bool live = !first || !becomes_remote(w);

	if (first && live) {
		probe_turns(w, turns);
		turns_keep(w, turns);
	}
	if (turns)
		turns_free(turns);
	return live;
}

/* ---- rounds ---- */

static bool window_length(const struct watch *w, int64_t *length_ms, struct error *e)
{
	const char *text = w->options.window;

	*length_ms = w->options.only_samples ? 0 : WINDOW_MS;
	if (!text || (duration_parse(str_from(text), length_ms) && *length_ms > 0))
		return true;
	error_set(e, EXIT_USAGE, "--window %s: for live targets it is the time to watch, such as 10s or 1m", text);
	return false;
}

static bool more_rounds(struct watch *w, struct turns *turns, int64_t start_ns, int64_t length_ms, size_t rounds, struct error *e)
{
	size_t targets = w->data.fleet.targets.count, answered;

	for (size_t round = 1; round < rounds; round++) {
		char what[96];

		snprintf(what, sizeof what, "scrape %zu of %zu of %zu target%s in", round + 1, rounds, targets, targets == 1 ? "" : "s");
		watch_wait(w, start_ns + length_ms * 1000000 / (int64_t)(rounds - 1) * (int64_t)round, what);
		if (interrupted(w, round, rounds, e))
			return false;
		round_ingest(w, turns, &answered);
		if (interrupted(w, round, rounds, e))
			return false;
	}
	return true;
}

static bool rounds_gather(struct watch *w, struct turns *turns, int64_t length_ms, struct error *e)
{
	size_t rounds = !length_ms ? 1 : length_ms <= LONG_WINDOW_MS ? 2 : (size_t)((length_ms + GAP_MS - 1) / GAP_MS) + 1;
	int64_t start_ns = clock_monotonic_ns();
	size_t answered;

	log_progress("scrape 1 of %zu of %zu targets", rounds, w->data.fleet.targets.count);
	round_ingest(w, turns, &answered);
	if (interrupted(w, 0, rounds, e))
		return false;
	if (!w->options.only_live && becomes_remote(w))
		return remote_gather(w, e);
	if (turns)
		probe_turns(w, turns);
	/* Nobody answers: waiting would not change that. */
	if (answered && !more_rounds(w, turns, start_ns, length_ms, rounds, e))
		return false;
	log_progress(NULL);
	if (turns)
		turns_keep(w, turns);
	moments_find(w);
	return spans_resolve(w, e);
}

bool live_gather(struct watch *w, struct error *e)
{
	int64_t length_ms;

	if (!window_length(w, &length_ms, e))
		return false;
	struct turns *turns = w->options.only_samples ? NULL : turns_new(w->data.fleet.targets.count);
	bool ok = rounds_gather(w, turns, length_ms, e);

	if (turns)
		turns_free(turns);
	return ok;
}
