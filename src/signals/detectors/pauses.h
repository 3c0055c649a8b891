/* pauses: do the gaps between tokens come with the collector's full collections? One pass over each target's scrapes, with running sums, so
 * that any part of the history costs two look-ups. Private to src/signals/detectors. */
#ifndef GOODPUT_SIGNALS_DETECTORS_PAUSES_H
#define GOODPUT_SIGNALS_DETECTORS_PAUSES_H

#include "signals/evaluate.h"

/* Sums over the intervals between scrapes in a part of the history. An interval counts only while tokens flowed. A freeze that a scrape
 * cuts in two shows its collection in one interval and its gaps in the next: both are looked at. */
struct pause_sums {
	double collections;             /* full ones */
	double gaps;                    /* between tokens, surely above 0.2 s, in intervals with a collection or right after */
	double all_gaps;                /* of that length, whenever */
	double decode_s;                /* all gaps together: over the time, how many streams there were (Little's law) */
	uint32_t with, with_gaps;       /* intervals with full collections; those of them with such gaps */
	uint32_t without, without_gaps; /* intervals without one and not right after one; those of them with such gaps */
};

struct pauses {
	bool made;
	size_t count;
	int64_t *t;              /* ends of the intervals */
	struct pause_sums *sums; /* of intervals [0, i): count + 1 */
};

/* What the intervals that end in (from, to] say. */
struct pause_story {
	struct pause_sums sums;
	int64_t first_hit_ms, last_hit_ms; /* 0: none */
	double interval_s;                 /* between full collections; NAN unless two intervals had some */
	double streams;                    /* running, on average; NAN when not known */
	double chance;                     /* of as many hits if gaps and collections had nothing to do with each other */
};

/* False where collections or gaps are not exported, or were never seen twice. */
bool pause_story_of(struct evaluation *ev, size_t target, int64_t from_ms, struct pause_story *story);

#endif
