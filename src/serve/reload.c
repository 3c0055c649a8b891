/* The configuration, read at the start and again when asked: all of it or nothing. */
#include "serve/daemon.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>

struct reload {
	struct gate_task write;
	struct daemon *daemon;
	struct exchange *exchange; /* who asked; or NULL */
};

static void on_changed(void *context)
{
	struct daemon *d = context;

	uv_async_send(&d->changed);
}

bool generation_load(struct daemon *d, struct error *e)
{
	char url[160];

	snprintf(url, sizeof url, "%s://%s:%d", daemon_scheme(d), server_host(d->server), server_port(d->server));
	struct tls_context *tls;
	bool asks_clients;

	/* Certificates are renewed; whether there are any stays as it was when the port was opened. */
	if (!web_tls_read(&d->options->tls, &tls, &asks_clients, e))
		return false;
	struct generation *g = generation_read(d->options, url, !d->generation, e);

	if (!g || (d->asks_clients && !asks_clients)) {
		tls_context_free(tls);
		if (g)
			error_set(e, EXIT_BAD_INPUT, "clients were asked for certificates, and are no more: that takes a restart");
		generation_free(g);
		return false;
	}
	if (tls)
		server_set_tls(d->server, tls);
	if (g->config)
		config_log_notes(g->config);
	/* The report in use speaks of the old catalogue. */
	judgement_drop(d);
	if (d->generation) {
		d->generation->t_ms = g->t_ms; /* of its end */
		generation_take_over(g, d->generation);
	}
	g->older = d->generation;
	d->generation = g;
	d->config_ok = true;
	generation_start(g, !d->mirroring, on_changed, d);
	sending_sync(d);
	scraper_sync(d);
	notifier_set_options(d->notifier, &g->rules_options);
	alerting_sync(d, true);
	if (g->older)
		generation_retire(g->older, d->mirroring != NULL);
	return true;
}

static void reload_answer(struct reload *r, bool ok, const struct error *e)
{
	struct daemon *d = r->daemon;
	char text[900], body[1000];

	if (!r->exchange)
		return;
	exchange_set_user(r->exchange, NULL);
	self_count_request(&d->self, "/-/reload", ok ? 200 : 500, 0, 0);
	if (ok) {
		exchange_answer(r->exchange, 200, "text/plain; charset=utf-8", NULL, STR(""));
		return;
	}
	error_text(e, text, sizeof text);
	int len = snprintf(body, sizeof body, "failed to reload config: %s\n", text);

	exchange_answer(r->exchange, 500, "text/plain; charset=utf-8", NULL, str_of(body, (size_t)len));
}

static void on_write(struct gate_task *task)
{
	struct reload *r = (struct reload *)((char *)task - offsetof(struct reload, write));
	struct daemon *d = r->daemon;
	struct error e = { 0 };
	bool ok = generation_load(d, &e);

	d->self.reloads++;
	if (ok) {
		log_note("configuration read again: %zu targets", d->scrapees.count);
	} else {
		d->self.reloads_failed++;
		d->config_ok = false;
		error_print(&e, stderr);
		log_warning("the configuration stays as it was");
	}
	reload_answer(r, ok, &e);
	d->reloading = NULL;
	mem_free(r);
}

void daemon_reload(struct daemon *d, struct exchange *x)
{
	if (d->reloading) {
		if (x)
			exchange_answer(x, 503, "text/plain; charset=utf-8", "Retry-After: 1\r\n", STR("a reload is on its way\n"));
		return;
	}
	struct reload *r = NEW(struct reload);

	*r = (struct reload){ .write.run = on_write, .daemon = d, .exchange = x };
	d->reloading = r;
	if (x)
		exchange_set_user(x, r);
	gate_write(&d->gate, &r->write, daemon_now(d));
}

bool reload_gone(struct daemon *d, struct exchange *x)
{
	if (!d->reloading || d->reloading->exchange != x)
		return false;
	d->reloading->exchange = NULL;
	return true;
}
