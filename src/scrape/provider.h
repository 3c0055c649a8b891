/* provider: one thread that finds targets in one way, and the hand-over of what it found. Inside of discovery only. */
#ifndef GOODPUT_SCRAPE_PROVIDER_H
#define GOODPUT_SCRAPE_PROVIDER_H

#include "scrape/job.h"

#include <pthread.h>
#include <stdatomic.h>

/* Groups that one answer gave. Immutable once published; shared by threads. */
struct harvest {
	struct arena arena;
	struct groups groups;
	atomic_int refs;
};
struct harvest *harvest_new(void);
struct harvest *harvest_ref(struct harvest *h);
void harvest_unref(struct harvest *h);
bool harvest_eq(const struct harvest *a, const struct harvest *b);

/* What a provider knows: one harvest per source (file, DNS name). */
struct yield {
	VEC(struct harvest *) items;
};
void yield_clear(struct yield *y);

struct provider {
	const struct sd *sd;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	bool runs;
	volatile bool stop;
	volatile bool interrupted; /* whatever is being waited for: because it stops, or for the thread's own reasons */
	struct yield fresh;        /* published and not yet taken */
	bool is_fresh, succeeded, tried;
	char error[400]; /* of the last try; empty: it succeeded */
	bool error_changed;
	void (*changed)(void *context);
	void *context;
	/* The caller's side. */
	struct yield taken;
	bool is_ready, was_tried;
	char taken_error[400];
};
struct provider *provider_new(const struct sd *sd, void (*changed)(void *), void *context);
/* Tells the thread to end; provider_free does too, and waits for it. */
void provider_stop(struct provider *p);
void provider_free(struct provider *p);
/* True when there was something new. */
bool provider_take(struct provider *p);

static inline bool provider_stopped(const struct provider *p)
{
	return __atomic_load_n(&p->stop, __ATOMIC_RELAXED);
}

/* For the threads. Publishing what was published before changes nothing. `error`: what of it could not be found again; NULL: nothing. */
void provider_publish(struct provider *p, const struct yield *y, const char *error);
void provider_fail(struct provider *p, const char *why);
/* Sleeps; false when it is time to stop. */
bool provider_sleep(struct provider *p, int64_t ms);

void provider_run_files(struct provider *p);
void provider_run_http(struct provider *p);
void provider_run_dns(struct provider *p);
void provider_run_kubernetes(struct provider *p);

#endif
