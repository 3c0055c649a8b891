/* Who is told of alerts: the configuration's Alertmanagers, wherever discovery finds them, and the webhooks of the command line. */
#include "serve/daemon.h"

#include "base/log.h"

struct receivers {
	struct arena arena;
	VEC(struct receiver) items;
};

static void add_alertmanager(struct receivers *all, const struct discovered *t)
{
	struct receiver r = { .kind = RECEIVER_ALERTMANAGER };
	struct error e = { 0 };

	r.request = (struct http_request){ .url = arena_cstr(&all->arena, t->url), .timeout_ms = t->job->timeout_ms, .follow = true };
	if (access_request(&t->job->access, NULL, &all->arena, &r.request, &e))
		VEC_PUSH(&all->items, r);
	else
		log_warning("Alertmanager " STR_FMT ": %s", STR_ARG(t->url), e.message);
}

static void add_webhooks(struct receivers *all, const struct serve_options *o)
{
	for (size_t i = 0; i < o->webhook_count; i++) {
		struct receiver r = { .kind = RECEIVER_WEBHOOK, .name = STR("goodput"), .repeat_ms = o->webhook_repeat_ms };

		r.request = (struct http_request){ .url = o->webhooks[i], .follow = true };
		VEC_PUSH(&all->items, r);
	}
}

void alerting_sync(struct daemon *d, bool always)
{
	struct generation *g = d->generation;
	struct receivers all = { 0 };

	if (!(g->alertmanagers && discovery_update(g->alertmanagers)) && !always)
		return;
	arena_init(&all.arena);
	for (size_t i = 0; g->alertmanagers && i < discovery_job_count(g->alertmanagers); i++) {
		const struct discovered_job *job = discovery_job(g->alertmanagers, i);

		for (size_t k = 0; k < job->count; k++)
			add_alertmanager(&all, &job->targets[k]);
	}
	add_webhooks(&all, d->options);
	notifier_set_receivers(d->notifier, all.items.items, all.items.count);
	VEC_FREE(&all.items);
	arena_fini(&all.arena);
}
