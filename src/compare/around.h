/* around: which windows stand for "before" and "after" an event, without anybody choosing them. They are of equal length, as long as asked
 * for where they can be; the time that the fleet needs to settle is in neither; they end where another event, the data or many restarts do.
 */
#ifndef GOODPUT_COMPARE_AROUND_H
#define GOODPUT_COMPARE_AROUND_H

#include "base/buf.h"
#include "compare/capacity.h"

struct around_wish {
	int64_t settle_ms; /* left out behind an event: models load, caches fill; -1: AROUND_SETTLE_MS */
	int64_t length_ms; /* at most, of each window; 0: AROUND_LENGTH_MS */
};
enum { AROUND_SETTLE_MS = 3 * 60 * 1000, AROUND_LENGTH_MS = 30 * 60 * 1000, AROUND_SCRAPES_LEAST = 8 };

enum around_limit {
	AROUND_LENGTH, /* as long as wished */
	AROUND_EVENT,  /* another event is near */
	AROUND_DATA,   /* nothing was seen beyond it */
	AROUND_RESTART,
	AROUND_OTHER_SIDE /* the other window is shorter */
};
const char *around_limit_name(enum around_limit l); /* "length", "event", "data", "restart", "other-side" */

struct around_window {
	int64_t from_ms, to_ms; /* equal: there is none */
	enum around_limit limit;
	bool enough;     /* AROUND_SCRAPES_LEAST scrapes of each target at least */
	size_t restarts; /* of targets, inside: counters began anew and caches were empty */
};

struct around {
	struct around_window before, after;
	int64_t from_ms, to_ms;      /* the event, with others too near to be told from it */
	size_t events;               /* how many these are; 0: a moment that is none */
	int64_t settle_ms, least_ms; /* what was left out behind the event; what a window has at least to be of use */
	int64_t ready_ms;            /* when `after` will be long enough, if nothing else happens; 0: it is, or never will be */
};

void around_choose(struct around *w, const struct capacity_log *log, const struct capacity_event *event, const struct around_wish *wish);
/* Why a window is no longer, in words: "another event is near". */
const char *around_limit_text(enum around_limit l);

#endif
