/* What is kept: committed once a second, cut to its retention once a minute, the log of scrapes too. */
#include "serve/daemon.h"

#include "base/clock.h"
#include "base/log.h"

/* Without a file: what samples may take of memory where nobody says how much. */
#define MEMORY_BYTES (UINT64_C(1) << 30)

enum {
	COMMIT_MS = 1000,
	RETAIN_MS = 60000,
	LOG_KEPT_MS = 3600000, /* of scrapes, in which signals look for what happened when */
};

static void tell_change(struct daemon *d, bool ok, const struct error *e)
{
	if (ok == !d->degraded)
		return;
	d->degraded = !ok;
	if (ok) {
		log_note("the store is written again");
	} else {
		error_print(e, stderr);
		log_warning("the store is not written: samples are kept in memory meanwhile");
	}
}

static void on_commit(struct gate_task *task)
{
	struct daemon *d = (struct daemon *)((char *)task - offsetof(struct daemon, commit));
	struct error e = { 0 };

	d->committing = false;
	sending_commit(d); /* first, so that nothing in the store is missing there */
	bool ok = store_commit(d->store, &e);

	tell_change(d, ok, &e);
	receiving_committed(d, ok);
	if (daemon_now(d) - d->retained_ms < RETAIN_MS)
		return;
	d->retained_ms = daemon_now(d);
	fleet_forget(&d->fleet, clock_now_ms() - LOG_KEPT_MS);
	if (!store_retain(d->store, clock_now_ms(), &e))
		log_warning("old samples were not dropped: %s", e.message);
}

static void commit_ask(struct daemon *d)
{
	if (d->committing)
		return;
	d->committed_ms = daemon_now(d);
	d->committing = true;
	d->commit.run = on_commit;
	gate_write(&d->gate, &d->commit, daemon_now(d));
}

void keeping_look(struct daemon *d)
{
	if (daemon_now(d) - d->committed_ms < COMMIT_MS)
		return;
	notifier_keep(d->notifier);
	commit_ask(d);
}

void keeping_commit_soon(uv_timer_t *timer)
{
	commit_ask(timer->data);
}

bool keeping_open(struct daemon *d, struct error *e)
{
	const char *path = d->options->store_path;

	d->store = path ? store_open(path, &d->options->store, e) : store_new();
	if (!path)
		store_set_retention(d->store, d->options->store.retention_ms,
			d->options->store.retention_bytes ? d->options->store.retention_bytes : MEMORY_BYTES);
	if (!d->store)
		return false;
	d->backend = backend_embedded_new(d->store);
	d->tee = tee_new(store_sink(d->store));
	d->receiver = remote_receiver_new(tee_sink(d->tee));
	if (path)
		notifier_keep_in(d->notifier, arena_printf(&d->arena, "%s.outbox", path).ptr);
	if (d->options->watch.remote.url)
		return mirroring_open(d, e);
	d->judged_store = d->store;
	d->judged_backend = d->rules_backend = d->backend;
	fleet_init(&d->fleet, tee_sink(d->tee));
	return true;
}
