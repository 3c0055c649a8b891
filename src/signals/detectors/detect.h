/* detect: what the detectors share. Private to src/signals/detectors. */
#ifndef GOODPUT_SIGNALS_DETECTORS_DETECT_H
#define GOODPUT_SIGNALS_DETECTORS_DETECT_H

#include "signals/findings.h"
#include "signals/window.h"

#include <math.h>

#define SCOPE_EACH(ev, s, of_kind)                                                                                                         \
	for (struct scope *s = (ev)->scopes; s != (ev)->scopes + (ev)->scope_count; s++)                                                   \
		if (s->kind == (of_kind))

static inline bool has_window(const struct evaluation *ev)
{
	return ev->window.from_ms < ev->window.to_ms;
}
static inline struct target_evidence *target_evidence(struct evaluation *ev, size_t target)
{
	return &ev->evidence->targets.items[target];
}
static inline struct str target_name(const struct evaluation *ev, size_t target)
{
	return ev->evidence->targets.items[target].target->name;
}
/* Did the target answer the newest scrape? */
bool target_answers(struct evaluation *ev, size_t target);
/* Where the target's history begins: a restart begins anew. */
int64_t history_start(struct evaluation *ev, size_t target);
bool scope_has_target(const struct scope *s, size_t target);
/* The engine's or GPU's own scope, else its target's. */
struct scope *scope_of_scheduler(struct evaluation *ev, size_t scheduler);
struct scope *scope_of_target(struct evaluation *ev, size_t target);
struct scope *fleet_scope(struct evaluation *ev);

/* A signal's number at a scope: false when it is unknown or no number; a bound gives its known end. */
bool number_at(struct evaluation *ev, const struct scope *s, const char *signal, double *value);
/* Newest level of a gauge at one scheduler; false when unknown. */
bool gauge_at(struct evaluation *ev, size_t scheduler, const char *metric, double *value);
/* count(metric) at a scope, as an expression gives it. */
struct reading count_at(struct evaluation *ev, const struct scope *s, const char *metric);
struct reading share_above_at(struct evaluation *ev, const struct scope *s, const char *metric, double bound);
/* The counter's values at the scope at a moment, since the processes began, of label values that start so ("": all). 0 where none is shown.
 */
double counter_total(struct evaluation *ev, const struct scope *s, const char *metric, const char *label, const char *start, int64_t t_ms);
/* Is the metric exported somewhere in the scope under today's bindings? */
bool is_exported(struct evaluation *ev, const struct scope *s, const char *metric);

/* Median of the known values but one; NAN when there is none. `room` is for `count` numbers. */
double median_of_others(const double *values, const bool *known, size_t count, size_t without, double *room);
/* From so many peers on their spread is known; with fewer a replica must be further off. */
enum { PEERS_FOR_SPREAD = 4 };
size_t count_others(const bool *known, size_t count, size_t without);
/* How far the others lie from their own median, as a median. `room` is for twice `count` numbers. */
double spread_of_others(const double *values, const bool *known, size_t count, size_t without, double median, double *room);

/* A list of words for a detail: "a, b, c and 4 more". */
struct wording {
	struct buf text;
	size_t count;
};
enum { WORDING_MAX = 6 };
void wording_init(struct wording *w);
void wording_add(struct wording *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The text in the arena; empty when nothing was added. The wording is gone. */
struct str wording_end(struct wording *w, struct arena *arena);

/* Named by src/signals/detectors/detectors.c; each file holds one idea. */
void objectives_publish(struct evaluation *ev);
void progress_publish(struct evaluation *ev);
void progress_raise(struct evaluation *ev);
void scrapes_publish(struct evaluation *ev);
void scrapes_raise(struct evaluation *ev);
void names_raise(struct evaluation *ev);
void ranks_raise(struct evaluation *ev);
void quantiles_raise(struct evaluation *ev);
void replicas_publish(struct evaluation *ev);
void replicas_raise(struct evaluation *ev);
void leaks_publish(struct evaluation *ev);
void leaks_raise(struct evaluation *ev);
void collector_publish(struct evaluation *ev);
void collector_raise(struct evaluation *ev);
void losses_raise(struct evaluation *ev);
void mix_publish(struct evaluation *ev);
void mix_raise(struct evaluation *ev);
void cache_publish(struct evaluation *ev);
void speculation_publish(struct evaluation *ev);
void speculation_raise(struct evaluation *ev);
void lora_publish(struct evaluation *ev);
void transfers_raise(struct evaluation *ev);
void gpu_raise(struct evaluation *ev);

#endif
