/* index: the labels of series, and which series carry which label value. Internal to the store.
 *
 * Series have ids 0, 1, 2 ... in the order of their birth, so that every list of ids is sorted by being appended to. When some are
 * forgotten the others move up, in the same order. A label with a value, a pair, has a number; the labels of a series are a list of such
 * numbers. */
#ifndef GOODPUT_STORE_INDEX_H
#define GOODPUT_STORE_INDEX_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/matcher.h"

struct stretch { /* of ids, one after the other */
	uint32_t first, count;
};
struct pair {                          /* one value of one label */
	struct str name, value;        /* the index's own text */
	VEC(struct stretch) stretches; /* the ids of the series that have it, rising: those of a page have most of their labels in common */
	uint32_t number;
};
struct index {
	struct map names;         /* label name -> struct map of value -> struct pair */
	VEC(struct pair *) pairs; /* by number; NULL: it is free */
	VEC(uint32_t) free_pairs; /* numbers */
	VEC(uint32_t) lists;      /* numbers of the pairs of each series, one series after the other */
	VEC(uint32_t) starts;     /* by id: where its list begins */
	uint32_t series_count;
};

void index_init(struct index *x);
void index_fini(struct index *x);
/* Gives the next id to a series of these labels. */
uint32_t index_add(struct index *x, const struct labels *labels);
/* Forgets series: `before[id]` is how many of those with smaller ids stay, up to id series_count, and the new id of one that stays. */
void index_forget(struct index *x, const uint32_t *before);

/* The labels of a series, sorted by name. */
size_t index_label_count(const struct index *x, uint32_t id);
const struct pair *index_pair(const struct index *x, uint32_t id, size_t nth);
bool index_has(const struct index *x, uint32_t id, const struct labels *labels);
/* All of it in the arena, the text too. `hash`: that of the labels, as index_add had them. */
struct labels *index_labels(const struct index *x, struct arena *arena, uint32_t id, uint64_t hash);
/* The value, or {NULL, 0}; the index's own text. */
struct str index_value(const struct index *x, uint32_t id, struct str name);

/* Sorted ids of the series that match all matchers, in the arena. */
const uint32_t *index_select(
	const struct index *x, struct arena *arena, const struct matcher *matchers, size_t matcher_count, size_t *count);

#endif
