/* trends: histories of a gauge with running sums, so that a straight line through any part of them costs two look-ups. Built once for the
 * whole evidence, whichever moment asks first: without this a recording of a thousand moments would be walked a thousand times. */
#ifndef GOODPUT_SIGNALS_DETECTORS_TRENDS_H
#define GOODPUT_SIGNALS_DETECTORS_TRENDS_H

#include "signals/evaluate.h"

enum trend_kind { TREND_IDLE_KV, TREND_RSS, TREND_LOAD, TREND_KIND_COUNT };

/* Sums over points [0, i). Times in seconds after the first point. */
struct trend_sums {
	double x, y, xx, xy, yy;
};
struct trend {
	bool made;
	size_t count;
	int64_t *t;
	double *v;
	struct trend_sums *sums; /* count + 1 */
};
struct pauses;
struct trends {
	struct trend (*of)[TREND_KIND_COUNT]; /* by scheduler */
	struct pauses *pauses;                /* by target; detectors/pauses.c */
};

/* A line through the points with from <= t <= to. */
struct fit {
	size_t count;
	double first, last, elapsed_s; /* of the points used */
	double slope;                  /* per second */
	bool rises;                    /* slope above 0, significant at 95 % (two-sided t-test) */
};

/* IDLE_KV: KV usage at scrapes with nothing running or waiting, one for each idle spell in which the engine had worked since the last one.
 * RSS: resident memory. LOAD: requests running. */
struct pauses *trends_pauses(struct evaluation *ev, size_t target);
const struct trend *trend_of(struct evaluation *ev, size_t scheduler, enum trend_kind kind);
struct fit trend_fit(const struct trend *t, int64_t from_ms, int64_t to_ms);

#endif
