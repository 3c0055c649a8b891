/* discovery: the targets of jobs, found and found again while we run.
 *
 * Each way of finding targets (a file pattern, an HTTP address, DNS names, a Kubernetes API) is watched by a thread of its own; jobs with
 * equal entries share it. A thread only hands over groups of plain labels. Relabelling and all else happens in the caller's thread:
 *
 *   d = discovery_new(jobs, count, on_changed, context);   static targets are there at once
 *   if (discovery_update(d))                               when on_changed was called, or about once a second
 *           discovery_sync(d, &fleet, now_ms, &events);    targets that are new or gone
 *
 * What could not be found again stays as it was: a file that does not parse, a server that does not answer, removes no target. */
#ifndef GOODPUT_SCRAPE_DISCOVERY_H
#define GOODPUT_SCRAPE_DISCOVERY_H

#include "scrape/fleet.h"
#include "scrape/job.h"

/* One target of a job. */
struct discovered {
	const struct job *job;
	struct str url;        /* whole: scheme, address, path, parameters */
	struct labels *labels; /* after relabelling, without those that begin with "__" */
	int64_t interval_ms, timeout_ms;
	const struct label *before; /* labels before relabelling, sorted */
	size_t before_count;
	struct target *target; /* in the fleet, after discovery_sync */
};

struct discovered_job {
	const struct job *job;
	bool is_ready; /* every way of finding its targets succeeded once */
	const struct discovered *targets;
	size_t count;
	/* Dropped by relabelling: only `before` is set. */
	const struct discovered *dropped;
	size_t dropped_count;
	struct str error; /* the newest failure to find targets, or of a target that cannot be one; empty: none */
};

struct discovery;
/* The jobs must outlive it. `changed` (may be NULL) is called from other threads: use it for uv_async_send. */
struct discovery *discovery_new(const struct job *const *jobs, size_t count, void (*changed)(void *context), void *context);
/* Stops the threads; waits for one that is inside a DNS query (some seconds at most). */
void discovery_free(struct discovery *d);
/* Takes over what threads found. True when some job's targets may differ from before. The first call is always true. */
bool discovery_update(struct discovery *d);
/* Waits until every way of finding targets was tried once, at most so long, or until *stop (may be NULL). True when every job is ready. */
bool discovery_wait(struct discovery *d, int64_t timeout_ms, const volatile bool *stop);

/* Valid until the next discovery_update that returns true. */
size_t discovery_job_count(const struct discovery *d);
const struct discovered_job *discovery_job(const struct discovery *d, size_t i);

struct discovery_events {
	void (*added)(void *context, struct target *t);
	void (*removed)(void *context, struct target *t); /* before the target is freed; its series are ended at now_ms after it */
	void *context;
};
/* Makes the fleet's targets those of the jobs: adds, removes, and gives those that stay (same job name, URL and labels) their present job.
 * Targets without a job (named on the command line) are left alone; those of a job that is not ready yet are not removed. Nothing is
 * removed or added twice by a second call. `events` may be NULL. */
void discovery_sync(struct discovery *d, struct fleet *f, int64_t now_ms, const struct discovery_events *events);

#endif
