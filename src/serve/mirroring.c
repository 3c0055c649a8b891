/* serve --prometheus: in place of scrapes, what is new in an existing Prometheus is copied again and again, as much of it as signals look
 * at. The copies are in a store of their own, which is made anew every quarter of an hour from what is still looked at. */
#include "serve/daemon.h"

#include "base/clock.h"
#include "base/log.h"
#include "serve/bounded.h"
#include "watch/mirror.h"

enum {
	FIRST_MS = 10 * 60 * 1000,      /* what is asked for at the start */
	KEPT_MS = 30 * 60 * 1000,       /* what signals look back on */
	RENEW_MS = 15 * 60 * 1000,      /* between one store and the next */
	LOOK_AGAIN_MS = 5 * 60 * 1000,  /* between one look at which jobs and names there are and the next */
	OVERLAP_MS = 20 * 1000,         /* samples show up when their scrape is over, and in some engines later */
	GONE_MS = 10 * 60 * 1000,       /* a target without a scrape for so long is no target any more */
	BEHIND_MOST_MS = 10 * 60 * 1000 /* after a failure for longer, what lies between is left out */
};

struct mirroring {
	struct daemon *daemon;
	struct load *load;
	struct backend *rules; /* for rule files */
	struct backend *asked; /* for the signals */
	struct mirror *mirror;
	const struct generation *generation; /* whose catalogue the mirror was pointed at */
	int64_t looked_ms, made_ms, fetched_ms;
	uint64_t rounds, rounds_failed;
	double rounds_s;
	/* the round on its way */
	bool busy;
	uv_work_t work;
	struct gate_task apply;
	struct arena arena;
	struct mirror_span span;
	struct mirror_batch batch;
	struct error error;
	int64_t start_ns;
	bool ok;
};

bool mirroring_open(struct daemon *d, struct error *e)
{
	struct mirroring *m = NEW(struct mirroring);
	struct remote_options options = d->options->watch.remote;
	struct error why = { 0 };

	options.budget_ms = 0; /* of a single run; here it is requests that are counted */
	options.timeout_ms = options.timeout_ms ? options.timeout_ms : 10000;
	m->daemon = d;
	d->mirroring = m;
	m->load = load_new((size_t)d->options->backend_requests);
	m->asked = bounded_new(m->load, LOAD_SIGNALS, &options);
	m->rules = bounded_new(m->load, LOAD_RULES, &options);
	m->mirror = mirror_new(true);
	m->made_ms = clock_now_ms();
	arena_init(&m->arena);
	d->judged_store = store_new();
	d->judged_backend = backend_embedded_new(d->judged_store);
	d->rules_backend = m->rules;
	fleet_init(&d->fleet, store_sink(d->judged_store));
	/* Nobody may be there yet; but what was typed wrong is told now. */
	if (!bounded_open(m->asked, &why) && why.status != EXIT_UNREACHABLE) {
		*e = why;
		return false;
	}
	if (why.set)
		log_warning("%s: %s; it is asked again", options.url, why.message);
	return true;
}

void mirroring_close(struct daemon *d)
{
	struct mirroring *m = d->mirroring;

	if (!m)
		return;
	if (m->rounds)
		log_note("%llu requests were made to %s", (unsigned long long)load_requests(m->load), d->options->watch.remote.url);
	mirror_free(m->mirror);
	backend_free(m->asked);
	backend_free(m->rules);
	load_free(m->load);
	arena_fini(&m->arena);
	backend_free(d->judged_backend);
	store_free(d->judged_store);
	mem_free(m);
}

bool mirroring_is_busy(const struct daemon *d)
{
	return d->mirroring && d->mirroring->busy;
}

struct load *mirroring_load(struct daemon *d)
{
	return d->mirroring->load;
}

/* ---- what a round leaves ---- */

static void targets_drop(struct mirroring *m, int64_t before_ms)
{
	struct fleet *f = &m->daemon->fleet;

	for (size_t i = f->targets.count; i-- > 0;) {
		struct target *t = f->targets.items[i];

		if (!mirror_has_gone(m->mirror, t) && t->scrapes.count && t->scrapes.items[t->scrapes.count - 1].t_ms >= before_ms)
			continue;
		judgement_drop(m->daemon);
		mirror_forget(m->mirror, t);
		t->scrapes.count = 0; /* it has no series of ours to end */
		fleet_remove(f, t, before_ms);
	}
}

/* What is still looked at moves to another store; label sets that are only in the old one, and those that the backend remembers, go. */
static void store_renew(struct mirroring *m, int64_t now_ms)
{
	struct daemon *d = m->daemon;
	struct store *fresh = store_new();
	struct sink *sink = store_sink(fresh);
	struct arena arena;
	size_t count;

	arena_init(&arena);
	struct series_view *views = store_select(d->judged_store, &arena, NULL, 0, now_ms - KEPT_MS, INT64_MAX, &count);

	for (size_t i = 0; i < count; i++) {
		struct series *s = sink->ops->series(sink, views[i].labels, METRIC_UNKNOWN);

		for (size_t k = 0; k < views[i].count; k++)
			sink->ops->append(sink, s, views[i].t[k], views[i].v[k]);
	}
	arena_fini(&arena);
	fleet_set_sink(&d->fleet, sink);
	judgement_drop(d); /* it points into the old one */
	backend_free(d->judged_backend);
	store_free(d->judged_store);
	d->judged_store = fresh;
	d->judged_backend = backend_embedded_new(fresh);
	bounded_renew(m->asked);
	bounded_renew(m->rules);
	m->looked_ms = 0;
	m->made_ms = now_ms;
}

static void told(struct mirroring *m)
{
	struct daemon *d = m->daemon;
	char why[500];

	if (!m->ok) {
		m->rounds_failed++;
		snprintf(why, sizeof why, "%s: %s", d->options->watch.remote.url, m->error.message);
		judge_blind(d, why);
	} else if (!d->fleet.targets.count) {
		snprintf(why, sizeof why, "%s has nothing of an LLM server%s%s", d->options->watch.remote.url,
			d->options->watch.remote.match ? " that matches " : "",
			d->options->watch.remote.match ? d->options->watch.remote.match : "");
		judge_blind(d, why);
	} else {
		judge_start(d);
	}
}

/* A write. */
static void on_apply(struct gate_task *task)
{
	struct mirroring *m = (struct mirroring *)((char *)task - offsetof(struct mirroring, apply));
	int64_t now_ms = clock_now_ms();

	m->busy = false;
	m->rounds++;
	m->rounds_s += (double)(clock_monotonic_ns() - m->start_ns) / 1e9;
	if (m->ok) {
		mirror_apply(m->mirror, &m->daemon->fleet, &m->arena, &m->batch);
		m->fetched_ms = m->span.to_ms;
		targets_drop(m, now_ms - GONE_MS);
	}
	if (now_ms - m->made_ms >= RENEW_MS)
		store_renew(m, now_ms);
	arena_reset(&m->arena);
	if (!m->daemon->closing)
		told(m);
}

/* ---- a round ---- */

static void on_work(uv_work_t *work)
{
	struct mirroring *m = work->data;

	m->ok = mirror_fetch(m->mirror, &m->arena, &m->span, &m->batch);
}

static void after_work(uv_work_t *work, int status)
{
	struct mirroring *m = work->data;

	gate_write(&m->daemon->gate, &m->apply, daemon_now(m->daemon));
}

static int64_t from_of(const struct mirroring *m, int64_t now_ms)
{
	if (!m->fetched_ms)
		return now_ms - FIRST_MS;
	return m->fetched_ms - OVERLAP_MS > now_ms - BEHIND_MOST_MS ? m->fetched_ms - OVERLAP_MS : now_ms - BEHIND_MOST_MS;
}

void mirroring_start(struct daemon *d)
{
	struct mirroring *m = d->mirroring;
	int64_t now_ms = clock_now_ms();

	if (m->busy || d->closing || d->reloading)
		return;
	if (m->generation != d->generation || now_ms - m->looked_ms >= LOOK_AGAIN_MS) {
		m->generation = d->generation;
		mirror_point(m->mirror, m->asked, false, &d->generation->catalog);
		m->looked_ms = now_ms;
	}
	m->busy = true;
	error_clear(&m->error);
	m->span = (struct mirror_span){ from_of(m, now_ms), now_ms, &m->error };
	m->start_ns = clock_monotonic_ns();
	m->apply.run = on_apply;
	m->work.data = m;
	uv_queue_work(&d->loop, &m->work, on_work, after_work);
}

void mirroring_print(const struct daemon *d, struct buf *out)
{
	struct mirroring *m = d->mirroring;

	if (!m)
		return;
	load_print(m->load, out);
	buf_printf(out,
		"# HELP goodput_backend_rounds_total Times that what is new was asked for.\n# TYPE goodput_backend_rounds_total counter\n"
		"goodput_backend_rounds_total %llu\n"
		"# HELP goodput_backend_rounds_failed_total Of them, those without an answer.\n"
		"# TYPE goodput_backend_rounds_failed_total counter\ngoodput_backend_rounds_failed_total %llu\n"
		"# HELP goodput_backend_round_duration_seconds_total Time that they took.\n"
		"# TYPE goodput_backend_round_duration_seconds_total counter\ngoodput_backend_round_duration_seconds_total ",
		(unsigned long long)m->rounds, (unsigned long long)m->rounds_failed);
	buf_add_double(out, m->rounds_s);
	buf_printf(out,
		"\n# HELP goodput_backend_up 1 when the newest round had an answer.\n# TYPE goodput_backend_up gauge\n"
		"goodput_backend_up %d\n",
		m->rounds && m->ok);
}
