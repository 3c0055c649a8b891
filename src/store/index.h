/* index: which series carry which label value. Internal to the store.
 *
 * Series have ids 0, 1, 2 ... in the order of their birth and never go away, so that every list of ids is sorted by being appended to. */
#ifndef GOODPUT_STORE_INDEX_H
#define GOODPUT_STORE_INDEX_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/matcher.h"

struct postings { /* the ids of the series with one value of one label */
	VEC(uint32_t) ids;
};
struct index {
	struct map names; /* label name -> struct map of value -> struct postings */
	uint32_t series_count;
};

void index_init(struct index *x);
void index_fini(struct index *x);
/* Gives the next id to a series of these labels. */
uint32_t index_add(struct index *x, const struct labels *labels);
/* Sorted ids of the series that match all matchers; in the arena or the index's own. */
const uint32_t *index_select(
	const struct index *x, struct arena *arena, const struct matcher *matchers, size_t matcher_count, size_t *count);

#endif
