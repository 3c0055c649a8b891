/* The daemon's life: start, housekeeping, end. */
#include "serve/daemon.h"

#include "base/clock.h"
#include "base/log.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	HOUSEKEEPING_MS = 200,
	KEEP_ALIVE_MS = 15000,
	GRACE_MS = 5000, /* for answers in progress when it ends */
	READING_MOST = 8,
};

/* ---- end ---- */

static void close_begin(struct daemon *d)
{
	d->closing = true;
	d->closing_since_ms = daemon_now(d);
	log_note("ending: %zu requests are being answered", d->call_count);
	server_stop(d->server);
	events_close(d);
	scraper_stop(d);
	uv_timer_stop(&d->evaluation);
	uv_timer_stop(&d->rules_timer);
	uv_signal_stop(&d->hangup);
}

static void handles_close(struct daemon *d)
{
	uv_handle_t *const handles[] = { (uv_handle_t *)&d->housekeeping, (uv_handle_t *)&d->evaluation, (uv_handle_t *)&d->rules_timer,
		(uv_handle_t *)&d->commit_soon, (uv_handle_t *)&d->hangup, (uv_handle_t *)&d->changed };

	notifier_close(d->notifier);
	fetcher_close(d->fetcher);
	for (size_t i = 0; i < ARRAY_LEN(handles); i++)
		uv_close(handles[i], NULL);
}

static void close_rest(struct daemon *d)
{
	server_close(d->server);
	handles_close(d);
}

/* Answers in progress get their time; then queries are ended. */
static void close_go_on(struct daemon *d)
{
	bool late = daemon_now(d) - d->closing_since_ms > GRACE_MS;

	bool at_work = d->call_count || d->judging || d->ruling || mirroring_is_busy(d);

	if (late) {
		calls_cancel(d);
		passings_cancel(d);
	}
	if (!at_work && (late || (!d->receipts.count && !server_connections(d->server))))
		close_rest(d);
}

/* ---- housekeeping ---- */

static void on_housekeeping(uv_timer_t *timer)
{
	struct daemon *d = timer->data;

	if (d->closing) {
		close_go_on(d);
		return;
	}
	if (*d->stop) {
		close_begin(d);
		return;
	}
	keeping_look(d);
	if (daemon_now(d) - d->kept_alive_ms >= KEEP_ALIVE_MS) {
		d->kept_alive_ms = daemon_now(d);
		events_keep_alive(d);
	}
}

static void on_evaluation(uv_timer_t *timer)
{
	struct daemon *d = timer->data;

	if (d->mirroring)
		mirroring_start(d);
	else
		judge_start(d);
}

static void on_sync(struct gate_task *task)
{
	struct daemon *d = (struct daemon *)((char *)task - offsetof(struct daemon, sync));

	d->syncing = false;
	if (d->closing)
		return;
	scraper_sync(d);
	alerting_sync(d, false);
}

static void on_changed(uv_async_t *handle)
{
	struct daemon *d = handle->data;

	if (d->syncing || d->closing)
		return;
	d->syncing = true;
	gate_write(&d->gate, &d->sync, daemon_now(d));
}

static void on_hangup(uv_signal_t *handle, int number)
{
	daemon_reload(handle->data, NULL);
}

/* ---- start ---- */

static bool is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static bool listen_on(struct daemon *d, struct error *e)
{
	const struct serve_options *o = d->options;
	struct server_options options = { .host = o->host, .port = (int)o->port, .max_connections = 1024, .idle_timeout_ms = 120000 };
	const struct server_handler handler = {
		.on_request = request_answer, .on_gone = request_gone, .on_refused = request_refused, .context = d
	};

	if (!web_tls_read(&o->tls, &options.tls, &d->asks_clients, e))
		return false;
	d->secure = options.tls != NULL;
	if (!is_loopback(o->host) && !o->token && !d->asks_clients && !o->open) {
		tls_context_free(options.tls);
		error_set(e, EXIT_USAGE, "--host %s would show everything to everybody who reaches this machine", o->host);
		error_hint(e, "give --web-token-file FILE or --tls-client-ca FILE, or --web-open when that is what you want");
		return false;
	}
	if (!is_loopback(o->host) && o->token && !d->secure)
		log_warning("the token goes over the network as it is: --tls-cert and --tls-key would hide it");
	d->server = server_new(&d->loop, &options, &handler, e);
	return d->server != NULL;
}

static void timers_start(struct daemon *d)
{
	uint64_t every = (uint64_t)d->options->evaluation_interval_ms;

	uv_timer_start(&d->housekeeping, on_housekeeping, HOUSEKEEPING_MS, HOUSEKEEPING_MS);
	uv_timer_start(&d->evaluation, on_evaluation, every, every);
	uv_timer_start(&d->rules_timer, ruling_look, 1, 0);
	uv_signal_start(&d->hangup, on_hangup, SIGHUP);
}

static void daemon_init(struct daemon *d, const struct serve_options *options, const volatile bool *stop)
{
	*d = (struct daemon){ .options = options, .stop = stop, .start_ms = clock_now_ms(), .config_ok = true };
	d->limits = promql_defaults;
	d->limits.timeout_ms = options->query_timeout_ms;
	d->limits.max_samples = (size_t)options->query_samples;
	if (!getcwd(d->folder, sizeof d->folder))
		d->folder[0] = '\0';
	arena_init(&d->arena);
	gate_init(&d->gate, READING_MOST);
	self_init(&d->self);
	uv_loop_init(&d->loop);
	uv_timer_init(&d->loop, &d->housekeeping);
	uv_timer_init(&d->loop, &d->evaluation);
	uv_timer_init(&d->loop, &d->rules_timer);
	uv_timer_init(&d->loop, &d->commit_soon);
	d->commit_soon.data = d;
	uv_signal_init(&d->loop, &d->hangup);
	uv_async_init(&d->loop, &d->changed, on_changed);
	d->sync.run = on_sync;
	d->housekeeping.data = d->evaluation.data = d->rules_timer.data = d->hangup.data = d->changed.data = d;
	d->fetcher = fetcher_new(&d->loop);
	d->notifier = notifier_new(&d->loop, d->fetcher, &rules_defaults);
}

static void daemon_fini(struct daemon *d)
{
	judgement_free(d->judgement);
	sending_close(d);
	generation_free(d->generation);
	if (d->store) {
		remote_receiver_free(d->receiver);
		fleet_fini(&d->fleet);
		mirroring_close(d);
		tee_free(d->tee);
		backend_free(d->backend);
		store_free(d->store);
	}
	VEC_FREE(&d->receipts);
	self_fini(&d->self);
	arena_fini(&d->arena);
	uv_loop_close(&d->loop);
}

static void greet(const struct daemon *d)
{
	const char *url = d->options->watch.remote.url;

	if (url)
		log_note("watching through %s, asked at most %lld times a minute; page and API on %s://%s:%d", url,
			(long long)d->options->backend_requests, daemon_scheme(d), server_host(d->server), server_port(d->server));
	else
		log_note("watching %zu target%s; page and API on %s://%s:%d", d->scrapees.count, d->scrapees.count == 1 ? "" : "s",
			daemon_scheme(d), server_host(d->server), server_port(d->server));
}

bool serve_run(const struct serve_options *options, const volatile bool *stop, struct error *e)
{
	struct daemon *d = NEW(struct daemon);

	setenv("UV_THREADPOOL_SIZE", "12", 0); /* readers, and room for libuv's own */
	mallopt(M_ARENA_MAX, 1);              /* queries take large blocks and give them back: a heap for each worker would keep them all */
	mallopt(M_MMAP_THRESHOLD, 256 << 10); /* ... and what is large goes back to the system at once, whatever lies behind it */
	signal(SIGPIPE, SIG_IGN);
	daemon_init(d, options, stop);
	bool ok = keeping_open(d, e) && listen_on(d, e);

	if (ok && !generation_load(d, e)) {
		ok = false;
		server_close(d->server);
	}
	if (ok) {
		timers_start(d);
		greet(d);
		if (options->json) {
			printf("{\"schema\":\"goodput.serve/1\",\"url\":\"%s://%s:%d\"}\n", daemon_scheme(d), server_host(d->server),
				server_port(d->server));
			fflush(stdout);
		}
	} else {
		handles_close(d);
	}
	uv_run(&d->loop, UV_RUN_DEFAULT);
	daemon_fini(d);
	mem_free(d);
	return ok;
}
