/* Targets and their clocks. */
#include "serve/daemon.h"

#include "base/clock.h"
#include "base/hash.h"

#include <stdlib.h>

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

	s->due_ms = now_ms - since + s->interval_ms;
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

static void on_timer_closed(uv_handle_t *handle)
{
	struct scrapee *s = handle->data;

	arena_fini(&s->arena);
	labels_unref(s->discovered);
	mem_free(s);
}

static void scrapee_close(struct scrapee *s)
{
	if (!s->busy)
		uv_close((uv_handle_t *)&s->timer, on_timer_closed);
}

static void on_ingest(struct gate_task *task)
{
	struct scrapee *s = (struct scrapee *)((char *)task - offsetof(struct scrapee, ingest));
	struct self *self = &s->daemon->self;

	s->busy = false;
	if (!s->target) {
		scrapee_close(s);
		return;
	}
	const struct scrape_record *r = fleet_ingest(&s->daemon->fleet, s->target, s->t_ms, STR_EMPTY, &s->answer);

	self->scrapes++;
	self->scrapes_failed += r->outcome != SCRAPE_OK && r->outcome != SCRAPE_EMPTY;
	self->samples += r->samples;
	self->samples_refused += r->duplicates;
	arena_reset(&s->arena);
}

static void on_fetched(void *context, struct http_answer *answer)
{
	struct scrapee *s = context;

	s->fetch = NULL;
	gate_write(&s->daemon->gate, &s->ingest, daemon_now(s->daemon));
}

static void scrape_begin(uv_timer_t *timer)
{
	struct scrapee *s = timer->data;
	struct scrape_options o = s->daemon->options->watch.scrape;
	int64_t now_ms = clock_now_ms();

	if (s->busy) {
		s->daemon->self.scrapes_skipped++;
		tick_set(s);
		return;
	}
	s->busy = true;
	s->t_ms = aligned(s, now_ms);
	s->daemon->self.scrape_late_s += now_ms > s->due_ms ? (double)(now_ms - s->due_ms) / 1000 : 0;
	o.timeout_ms = s->timeout_ms;
	scrape_request(&s->arena, s->target->url, &o, &s->request);
	s->fetch = fetcher_start(s->daemon->fetcher, &s->arena, &s->request, &s->answer, on_fetched, s);
	tick_set(s);
	if (!s->fetch)
		gate_write(&s->daemon->gate, &s->ingest, daemon_now(s->daemon));
}

/* ---- which targets ---- */

static void scrapee_add(struct daemon *d, const struct target *wanted)
{
	struct scrapee *s = NEW(struct scrapee);

	*s = (struct scrapee){ .daemon = d, .interval_ms = d->options->scrape_interval_ms, .ingest.run = on_ingest };
	s->timeout_ms = d->options->watch.scrape.timeout_ms ? d->options->watch.scrape.timeout_ms : 10000;
	if (s->timeout_ms > s->interval_ms)
		s->timeout_ms = s->interval_ms;
	s->target = fleet_add(&d->fleet, wanted->name, wanted->url, wanted->labels, NULL);
	s->discovered = labels_ref(wanted->labels);
	s->pool = arena_str(&d->arena, labels_get(wanted->labels, STR("job")));
	s->offset_ms = offset_of(s->target, s->interval_ms);
	arena_init(&s->arena);
	uv_timer_init(&d->loop, &s->timer);
	s->timer.data = s;
	tick_set(s);
	VEC_PUSH(&d->scrapees, s);
}

static bool same_target(const struct target *a, const struct target *b)
{
	return str_eq(a->url, b->url) && labels_eq(a->labels, b->labels);
}

static void scrapee_remove(struct daemon *d, size_t index)
{
	struct scrapee *s = d->scrapees.items[index];

	d->scrapees.items[index] = d->scrapees.items[--d->scrapees.count];
	uv_timer_stop(&s->timer);
	if (s->fetch) {
		fetch_cancel(s->fetch);
		s->fetch = NULL;
		s->busy = false;
	}
	if (!d->closing)
		fleet_remove(&d->fleet, s->target, clock_now_ms());
	s->target = NULL;
	scrapee_close(s);
}

void scraper_apply(struct daemon *d, struct watch *w)
{
	const struct fleet *wanted = &w->data.fleet;
	bool *known = mem_zalloc(wanted->targets.count + 1, sizeof *known);

	for (size_t i = d->scrapees.count; i-- > 0;) {
		bool keep = false;

		for (size_t k = 0; k < wanted->targets.count && !keep; k++)
			if (!known[k] && same_target(d->scrapees.items[i]->target, wanted->targets.items[k]))
				keep = known[k] = true;
		if (!keep)
			scrapee_remove(d, i);
	}
	for (size_t k = 0; k < wanted->targets.count; k++)
		if (!known[k])
			scrapee_add(d, wanted->targets.items[k]);
	mem_free(known);
}

void scraper_stop(struct daemon *d)
{
	while (d->scrapees.count)
		scrapee_remove(d, d->scrapees.count - 1);
	VEC_FREE(&d->scrapees);
}
