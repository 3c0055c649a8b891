#include "base/map.h"

#include "base/hash.h"
#include "base/mem.h"

enum { AHEAD = 4, AHEAD_BYTES = 320, CACHE_LINE = 64 };

/* A slot holds an index into entries plus one; 0 is free. A removed entry keeps its slot until the next rebuild, so that
 * probing goes on behind it. */

void map_init(struct map *m)
{
	*m = (struct map){ 0 };
}

static void map_free_keys(struct map *m)
{
	MAP_EACH (m, entry)
		mem_free((char *)entry->key.ptr);
}

void map_fini(struct map *m)
{
	map_free_keys(m);
	mem_free(m->entries);
	mem_free(m->slots);
	map_init(m);
}

void map_clear(struct map *m)
{
	map_free_keys(m);
	m->count = m->live = 0;
	if (m->slots)
		memset(m->slots, 0, m->slot_count * sizeof *m->slots);
}

static struct map_entry *map_find(const struct map *m, struct str key, uint64_t hash)
{
	if (!m->slot_count)
		return NULL;
	for (size_t slot = hash & (m->slot_count - 1);; slot = (slot + 1) & (m->slot_count - 1)) {
		uint32_t index = m->slots[slot];

		if (!index)
			return NULL;
		struct map_entry *entry = &m->entries[index - 1];

		if (entry->hash == hash && entry->key.ptr && str_eq(entry->key, key))
			return entry;
	}
}

void *map_get(const struct map *m, struct str key)
{
	const struct map_entry *entry = map_find(m, key, hash_bytes(key.ptr, key.len));

	return entry ? entry->value : NULL;
}

/* Keys that are asked for in order are cold in a large map: those of a few entries on are asked for from memory. */
static void map_prefetch(const struct map *m, size_t index)
{
	if (index >= m->count || !m->entries[index].key.ptr)
		return;
	for (size_t line = 0; line < m->entries[index].key.len && line < AHEAD_BYTES; line += CACHE_LINE)
		__builtin_prefetch(m->entries[index].key.ptr + line);
}

void *map_get_after(const struct map *m, struct str key, size_t *at)
{
	size_t next = *at + 1;

	if (next >= m->count || !m->entries[next].key.ptr || !str_eq(m->entries[next].key, key)) {
		const struct map_entry *entry = map_find(m, key, hash_bytes(key.ptr, key.len));
		if (!entry)
			return NULL;
		next = (size_t)(entry - m->entries);
	}
	*at = next;
	map_prefetch(m, next + AHEAD);
	return m->entries[next].value;
}

bool map_has(const struct map *m, struct str key)
{
	return map_find(m, key, hash_bytes(key.ptr, key.len)) != NULL;
}

static void map_place(struct map *m, uint32_t index)
{
	size_t slot = m->entries[index].hash & (m->slot_count - 1);

	while (m->slots[slot])
		slot = (slot + 1) & (m->slot_count - 1);
	m->slots[slot] = index + 1;
}

/* Closes the holes that removals left and makes room: at most half of the slots are ever in use. */
static void map_rebuild(struct map *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (m->entries[i].key.ptr)
			m->entries[kept++] = m->entries[i];
	}
	m->count = kept;
	size_t cap = 8;

	while (cap < kept + kept / 2 + 1)
		cap *= 2;
	if (cap > UINT32_MAX / 2)
		mem_exhausted(cap, sizeof *m->entries);
	m->cap = cap;
	m->entries = mem_resize(m->entries, cap, sizeof *m->entries);
	mem_free(m->slots);
	m->slot_count = cap * 2;
	m->slots = mem_zalloc(m->slot_count, sizeof *m->slots);
	for (uint32_t i = 0; i < kept; i++)
		map_place(m, i);
}

struct map_entry *map_put(struct map *m, struct str key, bool *made)
{
	uint64_t hash = hash_bytes(key.ptr, key.len);
	struct map_entry *entry = map_find(m, key, hash);

	if (made)
		*made = !entry;
	if (entry)
		return entry;
	if (m->count == m->cap)
		map_rebuild(m);
	uint32_t index = (uint32_t)m->count++;

	entry = &m->entries[index];
	*entry = (struct map_entry){ .key = str_of(mem_copy(key.ptr, key.len), key.len), .hash = hash };
	map_place(m, index);
	m->live++;
	return entry;
}

void map_set(struct map *m, struct str key, void *value)
{
	map_put(m, key, NULL)->value = value;
}

bool map_remove(struct map *m, struct str key)
{
	struct map_entry *entry = map_find(m, key, hash_bytes(key.ptr, key.len));

	if (!entry)
		return false;
	mem_free((char *)entry->key.ptr);
	entry->key = STR_EMPTY;
	entry->value = NULL;
	m->live--;
	return true;
}
