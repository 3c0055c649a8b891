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

static uint32_t keys_add(struct keys *k, size_t slot, struct str text, uint64_t hash, const char **why, bool *foreign)
{
	struct str copy = arena_str(&k->arena, text);
	struct key_parts parts;

	*why = key_parse(&k->arena, copy, k->items.items[k->items.count - 1], &parts);
	*foreign = parts.foreign;
	if (*why)
		return 0;
	struct key *key = ARENA_NEW(&k->arena, struct key);

	*key = (struct key){
		.text = copy, .sample = parts.sample, .help = parts.help, .labels = parts.labels, .label_count = parts.label_count
	};
	key->plain = parts.plain;
	key->family = family_of(k, parts.family);
	for (uint32_t i = 0; i < key->label_count; i++) {
		if (!str_is(key->labels[i].name, "le"))
			continue;
		key->has_edge = true;
		if (!number_parse(str_trim(key->labels[i].value), &key->edge))
			key->edge = NAN;
	}
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
