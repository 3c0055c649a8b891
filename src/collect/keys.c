/* Every distinct key text ever seen, read once. */
#include "base/hash.h"
#include "base/number.h"
#include "collect/internal.h"

#include <math.h>

void keys_init(struct keys *k)
{
	*k = (struct keys){ 0 };
	arena_init(&k->arena);
	map_init(&k->families);
	VEC_PUSH(&k->items, NULL);
}

void keys_fini(struct keys *k)
{
	VEC_FREE(&k->items);
	mem_free(k->slots);
	mem_free(k->hashes);
	map_fini(&k->families);
	arena_fini(&k->arena);
}

static void keys_grow(struct keys *k)
{
	size_t slots = k->slot_count ? k->slot_count * 2 : 1024;

	mem_free(k->slots);
	k->slots = mem_zalloc(slots, sizeof *k->slots);
	k->slot_count = slots;
	k->hash_cap = slots / 2 + 1;
	k->hashes = mem_resize(k->hashes, k->hash_cap, sizeof *k->hashes);
	VEC_RESERVE(&k->items, k->hash_cap);
	for (uint32_t i = 1; i < k->items.count; i++) {
		size_t slot = k->hashes[i] & (slots - 1);

		while (k->slots[slot])
			slot = (slot + 1) & (slots - 1);
		k->slots[slot] = i;
	}
}

static struct family *family_of(struct keys *k, struct str name)
{
	/* Series of a family are made one after the other. */
	if (k->last_family && str_eq(k->last_family->name, name))
		return k->last_family;
	struct map_entry *entry = map_put(&k->families, name, NULL);

	if (!entry->value) {
		struct family *f = ARENA_NEW(&k->arena, struct family);

		f->name = arena_str(&k->arena, name);
		entry->value = f;
	}
	return k->last_family = entry->value;
}

/* The key that followed the one whose names the key before has, or that one itself: programs make all families of a label set and then
 * those of the next, or all label sets of a family. 0: neither. */
static uint32_t alike_of(const struct keys *k, struct str text)
{
	uint32_t last = (uint32_t)k->items.count - 1, guess = last ? k->items.items[k->items.items[last]->like]->next : 0;

	if (guess && key_is_alike(k->items.items[guess], text))
		return guess;
	return last && key_is_alike(k->items.items[last], text) ? last : 0;
}

/* Of a key that is not alike to what was guessed. */
static uint32_t like_of(const struct keys *k, struct key *key)
{
	enum { SIBLINGS = 8 /* looked at: a family has one to three names */ };
	struct family *family = key->family;
	uint32_t index = family->names, itself = (uint32_t)k->items.count;

	for (int i = 0; index && i < SIBLINGS; i++, index = k->items.items[index]->sibling)
		if (key_is_alike(k->items.items[index], key->text))
			return index;
	if (key->plain) {
		key->sibling = family->names;
		family->names = itself;
	}
	return itself;
}

static void edge_find(struct key *key, const struct key *before)
{
	if (before && key->labels == before->labels) {
		key->has_edge = before->has_edge;
		key->edge = before->edge;
		return;
	}
	for (uint32_t i = 0; i < key->label_count; i++) {
		if (!str_is(key->labels[i].name, "le"))
			continue;
		key->has_edge = true;
		if (!number_parse(str_trim(key->labels[i].value), &key->edge))
			key->edge = NAN;
	}
}

static uint32_t keys_add(struct keys *k, size_t slot, struct str text, uint64_t hash, const char **why, bool *foreign)
{
	size_t taken = k->arena.total;
	struct key *key = arena_alloc(&k->arena, sizeof *key + text.len);
	struct str copy = str_of(memcpy(key + 1, text.ptr, text.len), text.len);
	const struct key *before = k->items.items[k->items.count - 1];
	uint32_t alike = alike_of(k, copy);
	struct key_parts parts;

	*why = key_parse(&k->arena, copy, before, k->items.items[alike], &parts);
	*foreign = parts.foreign;
	if (*why) {
		k->refused += k->arena.total - taken;
		return 0;
	}
	*key = (struct key){ .text = copy,
		.sample = parts.sample,
		.help = parts.help,
		.labels = parts.labels,
		.label_count = parts.label_count,
		.plain = parts.plain,
		.head = parts.head,
		.tail = parts.tail };
	key->family = alike ? k->items.items[alike]->family : family_of(k, parts.family);
	key->like = alike ? alike : like_of(k, key);
	edge_find(key, before);
	k->slots[slot] = (uint32_t)k->items.count;
	k->hashes[k->items.count] = hash;
	VEC_PUSH(&k->items, key);
	return k->slots[slot];
}

uint32_t keys_find(struct keys *k, struct str text, const char **why, bool *foreign)
{
	uint64_t hash = hash_bytes(text.ptr, text.len);

	if (k->items.count * 2 >= k->slot_count)
		keys_grow(k);
	for (size_t slot = hash & (k->slot_count - 1);; slot = (slot + 1) & (k->slot_count - 1)) {
		uint32_t index = k->slots[slot];

		if (!index)
			return keys_add(k, slot, text, hash, why, foreign);
		if (k->hashes[index] == hash && str_eq(k->items.items[index]->text, text))
			return index;
	}
}
