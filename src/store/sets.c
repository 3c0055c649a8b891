/* Sets: which series a chunk holds, in which order and in which sections. */
#include "base/hash.h"
#include "base/number.h"
#include "store/internal.h"

#include <math.h>
#include <stdlib.h>

/* A section is read as a whole: small enough that little is read in vain, large enough that a row of the file is worth its overhead. */
enum { SECTION_LEAST = 16, SECTION_MOST = 128, SECTION_OTHER = 8 };

enum rank { RANK_BUCKET, RANK_COUNT /* like the bucket of +Inf */, RANK_OTHER };

struct sort_key {
	struct series *series;
	const struct labels *labels;
	struct str base; /* of a histogram: without its suffix */
	enum rank rank;
	double le;
};

static struct sort_key sort_key_of(const struct store *s, struct arena *arena, struct series *series)
{
	const struct labels *labels = series_labels(s, arena, series);
	struct str name = labels_name(labels), le = labels_get(labels, STR("le"));
	struct sort_key k = { .series = series, .labels = labels, .base = name, .rank = RANK_OTHER };

	if (str_ends(name, STR("_bucket")) && le.len && number_parse(le, &k.le) && !isnan(k.le)) {
		k.base.len -= sizeof "_bucket" - 1;
		k.rank = RANK_BUCKET;
	} else if (str_ends(name, STR("_count")) && !le.len) {
		k.base.len -= sizeof "_count" - 1;
		k.rank = RANK_COUNT;
		k.le = INFINITY;
	}
	return k;
}

/* The labels that tell one histogram of a name from another. */
static int compare_children(const struct labels *a, const struct labels *b)
{
	uint32_t i = 0, k = 0;

	for (;; i++, k++) {
		while (i < a->count && (str_eq(a->items[i].name, LABEL_NAME) || str_is(a->items[i].name, "le")))
			i++;
		while (k < b->count && (str_eq(b->items[k].name, LABEL_NAME) || str_is(b->items[k].name, "le")))
			k++;
		if (i == a->count || k == b->count)
			return (i < a->count) - (k < b->count);
		int order = str_cmp(a->items[i].name, b->items[k].name);
		order = order ? order : str_cmp(a->items[i].value, b->items[k].value);
		if (order)
			return order;
	}
}

static int compare_keys(const void *left, const void *right)
{
	const struct sort_key *a = left, *b = right;
	int order = (a->rank == RANK_OTHER) - (b->rank == RANK_OTHER);

	order = order ? order : str_cmp(a->base, b->base);
	order = order ? order : compare_children(a->labels, b->labels);
	if (!order && a->le != b->le)
		order = a->le < b->le ? -1 : 1;
	order = order ? order : (int)a->rank - (int)b->rank;
	return order ? order : labels_cmp(a->labels, b->labels);
}

static bool is_above(const struct sort_key *k, const struct sort_key *before)
{
	return k->rank != RANK_OTHER && before->rank == RANK_BUCKET && str_eq(k->base, before->base) &&
	       compare_children(k->labels, before->labels) == 0;
}

static bool section_ends(const struct sort_key *k, const struct sort_key *next, size_t size)
{
	bool other = k->rank == RANK_OTHER;

	if (is_above(next, k))
		return false;
	if (other != (next->rank == RANK_OTHER))
		return true;
	return other ? size >= SECTION_OTHER : size >= SECTION_MOST || (size >= SECTION_LEAST && !str_eq(k->base, next->base));
}

/* ---- the sets of a store ---- */

static uint64_t hash_of(struct series *const *members, size_t count)
{
	return hash_bytes(members, count * sizeof(struct series *));
}

static struct str hash_key(const uint64_t *hash)
{
	return str_of((const char *)hash, sizeof *hash);
}

static uint32_t place_make(struct disk *disk, struct place place)
{
	uint32_t number = disk->free_place;

	if (number == NO_PLACE) {
		VEC_PUSH(&disk->places, place);
		return (uint32_t)disk->places.count - 1;
	}
	disk->free_place = disk->places.items[number].next;
	disk->places.items[number] = place;
	return number;
}

static struct set *set_make(struct store *s, uint32_t number, struct series *const *members, size_t count)
{
	struct disk *disk = s->disk;
	struct set *set = NEW(struct set);

	set->number = number;
	set->count = (uint32_t)count;
	set->members = mem_resize(NULL, count, sizeof *set->members);
	memcpy(set->members, members, count * sizeof *members);
	set->starts = mem_zalloc(count + 1, sizeof *set->starts);
	set->hash = hash_of(members, count);
	while (disk->sets.count <= number)
		VEC_PUSH(&disk->sets, NULL);
	disk->sets.items[number] = set;
	map_set(&disk->set_numbers, hash_key(&set->hash), set);
	for (uint32_t i = 0; i < count; i++) {
		members[i]->place = place_make(disk, (struct place){ number, i, members[i]->place });
	}
	return set;
}

static struct set *set_find(struct store *s, struct series *const *members, size_t count)
{
	uint64_t hash = hash_of(members, count);
	struct set *set = map_get(&s->disk->set_numbers, hash_key(&hash));

	return set && set->count == count && memcmp(set->members, members, count * sizeof *members) == 0 ? set : NULL;
}

struct set *set_of(struct store *s, struct series **members, size_t count)
{
	struct sort_key *keys = mem_zalloc(count, sizeof *keys);
	struct arena arena;

	arena_init(&arena);
	for (size_t i = 0; i < count; i++)
		keys[i] = sort_key_of(s, &arena, members[i]);
	qsort(keys, count, sizeof *keys, compare_keys);
	for (size_t i = 0; i < count; i++)
		members[i] = keys[i].series;
	struct set *set = set_find(s, members, count);
	if (!set) {
		set = set_make(s, (uint32_t)s->disk->sets.count, members, count);
		set->section_count = 1;
		set->above = mem_zalloc(count, sizeof *set->above);
		for (uint32_t i = 1; i < count; i++) {
			set->above[i] = is_above(&keys[i], &keys[i - 1]);
			/* The number of a section has SECTION_BITS bits: the last one takes what is left, as far as a section can. */
			if (section_ends(&keys[i - 1], &keys[i], i - set->starts[set->section_count - 1]))
				set->starts[set->section_count++] = i;
		}
		set->starts[set->section_count] = (uint32_t)count;
	}
	mem_free(keys);
	arena_fini(&arena);
	return set;
}

struct set *set_restore(
	struct store *s, uint32_t number, struct series *const *members, size_t count, const uint32_t *starts, size_t section_count)
{
	struct set *set = set_make(s, number, members, count);

	memcpy(set->starts, starts, (section_count + 1) * sizeof *starts);
	set->section_count = (uint32_t)section_count;
	set->stored = true;
	return set;
}

/* Not before somebody writes: most sets of a file that is opened are of targets that are gone. */
const bool *set_above(const struct store *s, struct set *set)
{
	struct sort_key before;
	struct arena arena;

	if (set->above)
		return set->above;
	set->above = mem_zalloc(set->count + 1, sizeof *set->above);
	arena_init(&arena);
	for (uint32_t i = 0; i < set->count; i++) {
		struct sort_key k = sort_key_of(s, &arena, set->members[i]);
		set->above[i] = i > 0 && is_above(&k, &before);
		before = k;
	}
	arena_fini(&arena);
	return set->above;
}

/* ---- chunks ---- */

void set_add_chunk(struct set *set, const struct chunk *chunk)
{
	if (set->chunks.count && set->chunks.items[set->chunks.count - 1].t_last >= chunk->t_first)
		set->unordered = true;
	VEC_PUSH(&set->chunks, *chunk);
}

/* How many chunks in front end before t_ms, or (begins) begin at it or before. */
static size_t chunks_before(const struct set *set, int64_t t_ms, bool begins)
{
	size_t low = 0, high = set->chunks.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct chunk *chunk = &set->chunks.items[middle];
		if (begins ? chunk->t_first <= t_ms : chunk->t_last < t_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct chunk_range set_chunks(const struct set *set, int64_t from_ms, int64_t to_ms)
{
	const struct chunk *chunks = set->chunks.items;

	if (!set->chunks.count)
		return (struct chunk_range){ NULL, NULL };
	if (set->unordered)
		return (struct chunk_range){ chunks, chunks + set->chunks.count };
	size_t first = chunks_before(set, from_ms, false), end = chunks_before(set, to_ms, true);
	return (struct chunk_range){ chunks + first, chunks + (end > first ? end : first) };
}

void set_free(struct set *set)
{
	if (!set)
		return;
	mem_free(set->members);
	mem_free(set->above);
	mem_free(set->starts);
	VEC_FREE(&set->chunks);
	VEC_FREE(&set->pending);
	mem_free(set);
}
