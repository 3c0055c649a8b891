/* slow: the replica of a pool that is slow beside its peers. Private to src/signals/detectors. */
#ifndef GOODPUT_SIGNALS_DETECTORS_SLOW_H
#define GOODPUT_SIGNALS_DETECTORS_SLOW_H

#include "signals/evaluate.h"

struct slow {
	const struct scope *scope; /* NULL: nobody */
	const char *title;         /* of what is slow */
	double value, peers;       /* seconds; peers: their median */
	int64_t since_ms;          /* where the first span that shows it begins; 0: there is no earlier one than the window */
};

/* The slowest target of the pool that is slow by the figures of the evaluation's window. */
struct slow slow_replica(struct evaluation *ev, const struct scope *pool);

#endif
