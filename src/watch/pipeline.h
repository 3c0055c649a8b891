/* pipeline: what the files of this folder share. Internal. */
#ifndef GOODPUT_WATCH_PIPELINE_H
#define GOODPUT_WATCH_PIPELINE_H

#include "watch/watch.h"

void data_init(struct watch_data *d);
void data_fini(struct watch_data *d);

/* config.c: the targets of scrape_configs, as discovery finds them now. */
bool config_targets(struct watch *w, struct error *e);

/* targets.c: what the operands are. */
bool targets_kind(const struct watch_options *o, enum watch_kind *kind, struct error *e);
bool targets_live(struct watch *w, struct error *e);

/* One gather each. They fill data.fleet, data.store and moments. */
bool live_gather(struct watch *w, struct error *e);
bool recording_gather(struct watch *w, struct error *e);
bool pages_gather(struct watch *w, struct error *e);
bool remote_gather(struct watch *w, struct error *e);
bool file_gather(struct watch *w, struct error *e); /* a store; remote.c too */
/* The address of a live target without its /metrics, when a Prometheus answers there; NULL otherwise. */
const char *live_prometheus(struct watch *w, const struct target *t);

/* lifetime.c: the page of a target as it was when its process began, and as it is now, in w->lifetime. */
void lifetime_add(struct watch *w, const struct target *seen, struct str body, int64_t t_ms);
/* Takes out of the lifetime report what two scrapes a life apart do not tell. */
void lifetime_judge(struct watch *w);

/* live.c: one round of scrapes, ingested; the first one probes cheap targets for several processes too. False when the one target turned
 * out to be a Prometheus: the kind is WATCH_REMOTE now, and nothing was kept. */
bool live_round(struct watch *w, bool first, size_t *answered);

/* turns.c: do several processes answer at an address in turn? */
struct turns;
struct turns *turns_new(size_t targets);
void turns_free(struct turns *t);
/* One more page of a target. Nothing is kept but what tells processes apart. */
void turns_add(struct turns *turns, size_t target, const struct http_answer *answer);
/* How many processes were told apart; 1 while there is no sign of a second. */
uint32_t turns_count(const struct turns *t, size_t target);

/* moments.c */
/* Rounds of scrapes from the fleet's log: a round ends where a target comes a second time. */
void moments_find(struct watch *w);
/* "A..B", "A", "5m" → a window. `end_ms` is what a lone duration ends at. */
struct moment_frame {
	const struct recording *recording; /* with named moments, or NULL */
	int64_t end_ms, now_ms;
};
bool window_parse(
	const struct moment_frame *frame, const char *option, const char *text, int64_t *from_ms, int64_t *to_ms, struct error *e);
bool moment_parse(const struct moment_frame *frame, const char *option, const char *text, int64_t *t_ms, struct error *e);
bool since_parse(const struct moment_frame *frame, const char *text, int64_t *from_ms, struct error *e);
/* Kind and moments of a window. */
enum span_kind span_kind_of(const struct watch *w, int64_t from_ms, int64_t to_ms);
/* The span of a recording or a live watch, from the options. */
bool spans_resolve(struct watch *w, struct error *e);

#endif
