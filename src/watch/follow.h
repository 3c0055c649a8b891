/* follow: a fleet looked at again and again, for whoever shows it live: terminal, page.
 *
 *   follow_look   what is there now: live targets are scraped once, a Prometheus or a store is asked; a recording or a page is read
 *                 the first time
 *   follow_judge  the report over the window that ends at one of the moments seen
 *
 * Live samples are kept in memory for the history that onsets and trends look back to. One thread at a time. */
#ifndef GOODPUT_WATCH_FOLLOW_H
#define GOODPUT_WATCH_FOLLOW_H

#include "watch/watch.h"

struct follow;

/* `window_ms`: what is judged ends at a moment and is this long, and never shorter than the gap to the moment before. The options' own
 * window, at, since and against are not for this. NULL with an error. */
struct follow *follow_new(const struct watch_options *options, int64_t window_ms, struct error *e);
void follow_free(struct follow *f);

/* False with an error when nothing could be gathered; what was there stays. A live target that does not answer is no error: the report
 * tells. */
bool follow_look(struct follow *f, struct error *e);
/* WATCH_LIVE turns into WATCH_REMOTE at the first look when the one target is a Prometheus (or a goodput serve). */
enum watch_kind follow_kind(const struct follow *f);
/* Will a later look find more? Not of a recording or a page. */
bool follow_goes_on(const struct follow *f);
/* How many seconds apart looks make sense: a Prometheus has nothing new between its scrapes. In ms; 0: no limit. */
int64_t follow_pace_ms(const struct follow *f);

/* Times of the rounds seen, rising. Valid until the next look. */
const int64_t *follow_moments(const struct follow *f, size_t *count);
/* The name that a recording gives to a moment; empty elsewhere. */
struct str follow_moment_name(const struct follow *f, size_t moment);
/* The report at a moment, whole (findings of all that came before, with onset) or `brief` (the readings of its window alone). Valid until
 * the next call of follow_judge or follow_look. */
const struct report *follow_judge(struct follow *f, size_t moment, bool brief, struct error *e);

#endif
