/* answer: the columns that a selection hands out, each held once. Internal to the store.
 *
 * Most columns of a page stand still, or go along with the bucket below them, and all have the same times: of a histogram of twenty buckets
 * perhaps five differ. */
#ifndef GOODPUT_STORE_ANSWER_H
#define GOODPUT_STORE_ANSWER_H

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

enum { ANSWER_STILL = 64 };
struct answer_column {
	const void *words; /* of 8 bytes each; in the arena */
	size_t count;
};
struct answer {
	struct arena *arena;
	struct answer_column times, before;       /* what was kept last */
	struct answer_column still[ANSWER_STILL]; /* columns of one value, by its hash */
};

/* The column in the arena of the answer: a copy, or the one that it has. Columns that are alike come one after the other. */
int64_t *answer_times(struct answer *a, const int64_t *t, size_t count);
double *answer_values(struct answer *a, const double *v, size_t count);

#endif
