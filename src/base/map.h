/* map: open-addressing hash map from a byte string to a pointer. Keys are copied. Iteration order is insertion order
 * (removal leaves a hole that iteration skips). */
#ifndef GOODPUT_BASE_MAP_H
#define GOODPUT_BASE_MAP_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct map_entry {
	struct str key; /* '\0'-terminated; ptr NULL: removed */
	void *value;
	uint64_t hash;
};
struct map {
	struct map_entry *entries;
	uint32_t *slots;
	size_t count, live, cap, slot_count;
};

void map_init(struct map *m);
void map_fini(struct map *m);
void map_clear(struct map *m);
/* The value, or NULL. */
void *map_get(const struct map *m, struct str key);
/* The same for keys that come in the order in which they were put: the entry after the one found last, at `*at`, is tried first. */
void *map_get_after(const struct map *m, struct str key, size_t *at);
bool map_has(const struct map *m, struct str key);
/* The entry of the key, made with value NULL when new; `*made` (may be NULL) tells. Valid until the next put. */
struct map_entry *map_put(struct map *m, struct str key, bool *made);
void map_set(struct map *m, struct str key, void *value);
bool map_remove(struct map *m, struct str key);

#define MAP_EACH(m, entry)                                                                                                                 \
	for (struct map_entry *entry = (m)->entries; entry && entry != (m)->entries + (m)->count; entry++)                                 \
		if (entry->key.ptr)

#endif
