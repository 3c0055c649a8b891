/* event: a change of capacity with what was before and after it, from whatever has the samples: nobody chooses windows.
 *
 *   event_log      what happened in a time (capacity.h)
 *   event_compare  windows around one of these (around.h), both read (side.h) and compared (given.h), with what it cost
 *
 * Before and after is not A against B: whatever else changed in the meantime is in the difference too. The load's changes are named. */
#ifndef GOODPUT_COMPARE_EVENT_H
#define GOODPUT_COMPARE_EVENT_H

#include "base/json.h"
#include "compare/around.h"
#include "compare/side.h"
#include "promql/backend.h"

struct event_source {
	struct backend *backend;
	bool is_local; /* in this process: long alternations are compiled here */
	const struct catalog *catalog;
};

enum { EVENT_SEARCH_MS = 24 * 3600 * 1000, EVENT_NOTES_MAX = 12 };

/* What happened between two times. The samples of `up` are all read: a day of 64 targets at 15 s is 6 MB. */
bool event_log(
	struct capacity_log *log, struct arena *arena, const struct event_source *s, int64_t from_ms, int64_t to_ms, struct error *e);
/* Times to look at for an event at t: enough for both windows and neighbours. */
void event_reach(int64_t t_ms, const struct around_wish *wish, int64_t *from_ms, int64_t *to_ms);

struct event_question {
	struct str scope; /* pool, target or "fleet"; empty: the pool that the event is of, else the fleet */
	struct around_wish wish;
	struct side_rates rates;
	const struct compare_policy *policy;
	bool any_mix;
};

struct event_answer {
	struct capacity_event event;
	struct around windows;
	struct side before, after;
	struct given given;
	struct compare_result result;
	const char
		*scope_from; /* why this scope: "as asked", "as told", "the pool of the targets that came or went", "no pool of its own" */
	struct str notes[EVENT_NOTES_MAX]; /* sentences: what limits the windows, what else moved, what the cost rests on */
	size_t note_count;
};

/* `event` may be a moment that the log does not have. All in the arena. False with an error when the samples cannot be had; that there are
 * none is an answer. */
bool event_compare(struct event_answer *answer, struct arena *arena, const struct event_source *s, const struct capacity_log *log,
	const struct capacity_event *event, const struct event_question *q, struct error *e);

/* event_print.c: members of the object that is open: what `changes` of the API and compare --json say of an event. */
void event_print_event(struct json *j, const struct capacity_event *event);
void event_print_answer(struct json *j, const struct event_answer *answer);

#endif
