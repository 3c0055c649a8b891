/* Targets and their clocks. */
#include "serve/daemon.h"

#include "base/clock.h"
#include "base/hash.h"
#include "scrape/metric_files.h"

#include <stdio.h>
#include <stdlib.h>

/* Longer than any request of a target: until then one on its way may refer to how it was configured. */
enum { RETIRED_MS = 300000 };
/* Answers of one target that wait for the gate. */
enum { WAITING_MOST = 4 };

static void scrape_begin(uv_timer_t *timer);

/* ---- ticks ---- */

/* Targets are spread over the interval by what they are, so that a restart does not move them. */
static int64_t offset_of(const struct target *t, int64_t interval_ms)
{
	uint64_t hash = t->labels->hash ^ hash_bytes(t->url.ptr, t->url.len);

	return (int64_t)(hash % (uint64_t)interval_ms);
}

static void tick_set(struct scrapee *s)
{
	int64_t now_ms = clock_now_ms(), since = (now_ms - s->offset_ms) % s->interval_ms;

	int64_t due_ms = now_ms - since + s->interval_ms;

	/* Timers may fire a moment early: the tick that was just served is not the next one. */
	if (due_ms == s->due_ms)
		due_ms += s->interval_ms;
	s->due_ms = due_ms;
	uv_update_time(&s->daemon->loop);
	uv_timer_start(&s->timer, scrape_begin, (uint64_t)(s->due_ms - now_ms), 0);
}

/* A start that is nearly on the tick is written down as on it: equal distances are what chunks store best. */
static int64_t aligned(const struct scrapee *s, int64_t now_ms)
{
	int64_t tolerance = s->interval_ms / 100 < 2 ? s->interval_ms / 100 : 2;

	return llabs(now_ms - s->due_ms) <= tolerance ? s->due_ms : now_ms;
}

/* ---- one scrape ---- */

static void scrape_free(struct scrape *c)
{
	c->scrapee->scrapes--;
	arena_fini(&c->arena);
	mem_free(c);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct scrapee *s = handle->data;

	if (s->discovered)
		labels_unref(s->discovered);
	mem_free(s);
}

static void scrapee_close(struct scrapee *s)
{
	if (!s->scrapes)
		uv_close((uv_handle_t *)&s->timer, on_timer_closed);
}

static void on_ingest(struct gate_task *task)
{
	struct scrape *c = (struct scrape *)((char *)task - offsetof(struct scrape, ingest));
	struct scrapee *s = c->scrapee;
	struct self *self = &s->daemon->self;

	if (s->target) {
		const struct scrape_record *r = fleet_ingest(&s->daemon->fleet, s->target, c->t_ms, STR_EMPTY, &c->answer);

		self->scrapes++;
		self->scrapes_failed += r->outcome != SCRAPE_OK && r->outcome != SCRAPE_EMPTY;
		self->samples += r->samples;
		self->samples_refused += r->duplicates;
	}
	scrape_free(c);
	if (!s->target)
		scrapee_close(s);
}

static void on_fetched(void *context, struct http_answer *answer)
{
	struct scrape *c = context;

	c->scrapee->fetch = NULL;
	c->scrapee->fetching = NULL;
	gate_write(&c->scrapee->daemon->gate, &c->ingest, daemon_now(c->scrapee->daemon));
}

/* What has been answered may wait for the gate while the next one is asked for: in the order in which they came. */
static void scrape_begin(uv_timer_t *timer)
{
	struct scrapee *s = timer->data;
	struct scrape_options o = s->daemon->options->watch.scrape;
	int64_t now_ms = clock_now_ms();
	struct error e = { 0 };

	if (s->fetch || s->scrapes >= WAITING_MOST) {
		s->daemon->self.scrapes_skipped++;
		tick_set(s);
		return;
	}
	struct scrape *c = NEW(struct scrape);

	*c = (struct scrape){ .scrapee = s, .t_ms = aligned(s, now_ms), .ingest.run = on_ingest };
	arena_init(&c->arena);
	s->scrapes++;
	s->daemon->self.scrape_late_s += now_ms > s->due_ms ? (double)(now_ms - s->due_ms) / 1000 : 0;
	o.timeout_ms = s->timeout_ms;
	if (target_is_metric_files(s->target)) {
		metric_files_scrape(s->target, &c->arena, &c->answer);
	} else if (target_request(&c->arena, s->target, &o, &c->request, &e)) {
		s->fetch = fetcher_start(s->daemon->fetcher, &c->arena, &c->request, &c->answer, on_fetched, c);
		s->fetching = s->fetch ? c : NULL;
	} else {
		c->answer = (struct http_answer){ .failure = HTTP_OTHER, .start_ms = now_ms };
		snprintf(c->answer.detail, sizeof c->answer.detail, "%.250s", e.message);
	}
	tick_set(s);
	if (!s->fetch)
		gate_write(&s->daemon->gate, &c->ingest, daemon_now(s->daemon));
}

/* ---- which targets ---- */

static struct scrapee *scrapee_new(struct daemon *d, struct target *t)
{
	struct scrapee *s = NEW(struct scrapee);

	*s = (struct scrapee){ .daemon = d, .target = t };
	uv_timer_init(&d->loop, &s->timer);
	s->timer.data = s;
	VEC_PUSH(&d->scrapees, s);
	return s;
}

/* As its job says now; `before` are its labels before relabelling. */
static void scrapee_set(struct scrapee *s, int64_t interval_ms, int64_t timeout_ms, struct labels *before, struct str pool)
{
	int64_t most_ms = s->daemon->options->watch.scrape.timeout_ms;

	s->timeout_ms = most_ms ? most_ms : timeout_ms ? timeout_ms : 10000;
	if (s->timeout_ms > interval_ms)
		s->timeout_ms = interval_ms;
	if (s->discovered)
		labels_unref(s->discovered);
	s->discovered = before;
	s->pool = pool;
	if (s->interval_ms == interval_ms)
		return;
	s->interval_ms = interval_ms;
	s->offset_ms = offset_of(s->target, interval_ms);
	tick_set(s);
}

static struct scrapee *scrapee_of(const struct daemon *d, const struct target *t, size_t *index)
{
	for (size_t i = 0; i < d->scrapees.count; i++)
		if (d->scrapees.items[i]->target == t) {
			*index = i;
			return d->scrapees.items[i];
		}
	return NULL;
}

/* The target itself is the caller's. */
static void scrapee_remove(struct daemon *d, size_t index)
{
	struct scrapee *s = d->scrapees.items[index];

	d->scrapees.items[index] = d->scrapees.items[--d->scrapees.count];
	uv_timer_stop(&s->timer);
	if (s->fetch) {
		fetch_cancel(s->fetch);
		scrape_free(s->fetching);
		s->fetch = NULL;
		s->fetching = NULL;
	}
	s->target = NULL;
	judgement_drop(d);
	scrapee_close(s);
}

static void on_removed(void *context, struct target *t)
{
	size_t index;

	if (scrapee_of(context, t, &index))
		scrapee_remove(context, index);
}

static void sync_discovered(struct daemon *d)
{
	const struct discovery *found = d->generation->discovery;
	size_t index;

	for (size_t i = 0; i < discovery_job_count(found); i++) {
		const struct discovered_job *job = discovery_job(found, i);

		for (size_t k = 0; k < job->count; k++) {
			const struct discovered *t = &job->targets[k];
			struct scrapee *s = scrapee_of(d, t->target, &index);

			if (!t->target)
				continue;
			scrapee_set(s ? s : scrapee_new(d, t->target), t->interval_ms, t->timeout_ms,
				labels_new(t->before, t->before_count), job->job->name);
		}
	}
}

static bool is_named(const struct generation *g, const struct target *t)
{
	VEC_EACH (&g->named, named)
		if (str_eq(named->name, t->name) && str_eq(named->url, t->url))
			return true;
	return false;
}

static void sync_named(struct daemon *d)
{
	size_t index;

	for (size_t i = d->scrapees.count; i-- > 0;) {
		struct target *t = d->scrapees.items[i]->target;

		if (t->job || is_named(d->generation, t))
			continue;
		scrapee_remove(d, i);
		fleet_remove(&d->fleet, t, clock_now_ms());
	}
	VEC_EACH (&d->generation->named, named) {
		struct target *t = fleet_target(&d->fleet, named->name, named->url, STR_EMPTY);

		if (!scrapee_of(d, t, &index))
			scrapee_set(scrapee_new(d, t), d->options->scrape_interval_ms, 0, labels_ref(t->labels), STR("named"));
	}
}

void scraper_sync(struct daemon *d)
{
	const struct discovery_events events = { .removed = on_removed, .context = d };
	struct generation *g = d->generation;

	sync_named(d);
	if (g->discovery && discovery_update(g->discovery)) {
		discovery_sync(g->discovery, &d->fleet, clock_now_ms(), &events);
		sync_discovered(d);
	}
	if (!mirroring_is_busy(d))
		generation_forget(g, &d->fleet, clock_now_ms() - RETIRED_MS);
	if (!d->judgement)
		judge_start(d);
}

void scraper_stop(struct daemon *d)
{
	while (d->scrapees.count)
		scrapee_remove(d, d->scrapees.count - 1);
	VEC_FREE(&d->scrapees);
}
