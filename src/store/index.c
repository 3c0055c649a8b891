#include "store/index.h"

#include <stdlib.h>

void index_init(struct index *x)
{
	*x = (struct index){ 0 };
	map_init(&x->names);
}

static void pair_free(struct pair *pair)
{
	if (!pair)
		return;
	VEC_FREE(&pair->stretches);
	mem_free(pair);
}

void index_fini(struct index *x)
{
	VEC_EACH (&x->pairs, pair)
		pair_free(*pair);
	MAP_EACH (&x->names, name) {
		map_fini(name->value);
		mem_free(name->value);
	}
	map_fini(&x->names);
	VEC_FREE(&x->pairs);
	VEC_FREE(&x->free_pairs);
	VEC_FREE(&x->lists);
	VEC_FREE(&x->starts);
}

/* ---- series in ---- */

static struct pair *pair_make(struct index *x, struct str name, struct str value)
{
	struct pair *pair = NEW(struct pair);

	pair->name = name;
	pair->value = value;
	if (x->free_pairs.count) {
		pair->number = x->free_pairs.items[--x->free_pairs.count];
		x->pairs.items[pair->number] = pair;
	} else {
		pair->number = (uint32_t)x->pairs.count;
		VEC_PUSH(&x->pairs, pair);
	}
	return pair;
}

/* The keys of the maps are the text; they stay where they are. */
static struct pair *pair_of(struct index *x, const struct label *label)
{
	struct map_entry *name = map_put(&x->names, label->name, NULL);
	if (!name->value) {
		name->value = NEW(struct map);
		map_init(name->value);
	}
	struct map_entry *value = map_put(name->value, label->value, NULL);
	if (!value->value)
		value->value = pair_make(x, name->key, value->key);
	return value->value;
}

static void pair_add(struct pair *pair, uint32_t id)
{
	struct stretch *last = pair->stretches.count ? &pair->stretches.items[pair->stretches.count - 1] : NULL;

	if (last && last->first + last->count == id)
		last->count++;
	else
		VEC_PUSH(&pair->stretches, (struct stretch){ id, 1 });
}

/* By a quarter: these are the large arrays. */
#define VEC_PUSH_CLOSE(v, x)                                                                                                               \
	do {                                                                                                                               \
		if ((v)->count == (v)->cap) {                                                                                              \
			(v)->cap += (v)->cap / 4 + 16;                                                                                     \
			(v)->items = mem_resize((v)->items, (v)->cap, sizeof *(v)->items);                                                 \
		}                                                                                                                          \
		(v)->items[(v)->count++] = (x);                                                                                            \
	} while (0)

/* Mostly the series before has the same label with the same value in the same place. */
uint32_t index_add(struct index *x, const struct labels *labels)
{
	uint32_t id = x->series_count;
	size_t before = id ? index_label_count(x, id - 1) : 0;

	VEC_PUSH_CLOSE(&x->starts, (uint32_t)x->lists.count);
	x->series_count++;
	for (uint32_t i = 0; i < labels->count; i++) {
		const struct label *label = &labels->items[i];
		struct pair *pair = i < before ? x->pairs.items[x->lists.items[x->starts.items[id - 1] + i]] : NULL;
		if (!pair || !str_eq(pair->value, label->value) || !str_eq(pair->name, label->name))
			pair = pair_of(x, label);
		pair_add(pair, id);
		VEC_PUSH_CLOSE(&x->lists, pair->number);
	}
	return id;
}

/* ---- the labels of a series ---- */

size_t index_label_count(const struct index *x, uint32_t id)
{
	return (id + 1 < x->series_count ? x->starts.items[id + 1] : x->lists.count) - x->starts.items[id];
}

const struct pair *index_pair(const struct index *x, uint32_t id, size_t nth)
{
	return x->pairs.items[x->lists.items[x->starts.items[id] + nth]];
}

bool index_has(const struct index *x, uint32_t id, const struct labels *labels)
{
	if (index_label_count(x, id) != labels->count)
		return false;
	for (uint32_t i = 0; i < labels->count; i++) {
		const struct pair *pair = index_pair(x, id, i);
		if (!str_eq(pair->value, labels->items[i].value) || !str_eq(pair->name, labels->items[i].name))
			return false;
	}
	return true;
}

static struct str text_copy(char **at, struct str s)
{
	struct str copy = str_of(*at, s.len);

	memcpy(*at, s.ptr, s.len + 1); /* keys of maps end with a zero */
	*at += s.len + 1;
	return copy;
}

struct labels *index_labels(const struct index *x, struct arena *arena, uint32_t id, uint64_t hash)
{
	size_t count = index_label_count(x, id), text = 0;

	for (size_t i = 0; i < count; i++)
		text += index_pair(x, id, i)->name.len + index_pair(x, id, i)->value.len + 2;
	struct labels *l = arena_alloc(arena, sizeof *l + count * sizeof l->items[0] + text);
	char *at = (char *)(l->items + count);
	for (size_t i = 0; i < count; i++) {
		const struct pair *pair = index_pair(x, id, i);
		l->items[i].name = text_copy(&at, pair->name);
		l->items[i].value = text_copy(&at, pair->value);
	}
	l->hash = hash;
	l->count = (uint32_t)count;
	l->refs = LABELS_IN_ARENA;
	return l;
}

struct str index_value(const struct index *x, uint32_t id, struct str name)
{
	for (size_t i = 0; i < index_label_count(x, id); i++)
		if (str_eq(index_pair(x, id, i)->name, name))
			return index_pair(x, id, i)->value;
	return STR_EMPTY;
}

/* ---- series out ---- */

/* Those of a stretch that stay are a stretch again. */
static void pair_forget(struct pair *pair, const uint32_t *before)
{
	size_t kept = 0;

	for (size_t i = 0; i < pair->stretches.count; i++) {
		struct stretch stretch = pair->stretches.items[i], *last = kept ? &pair->stretches.items[kept - 1] : NULL;
		stretch.count = before[stretch.first + stretch.count] - before[stretch.first];
		stretch.first = before[stretch.first];
		if (last && stretch.count && last->first + last->count == stretch.first)
			last->count += stretch.count;
		else if (stretch.count)
			pair->stretches.items[kept++] = stretch;
	}
	pair->stretches.count = kept;
	VEC_TIGHTEN(&pair->stretches);
}

static void lists_forget(struct index *x, const uint32_t *before)
{
	size_t at = 0;
	uint32_t kept = 0;

	for (uint32_t id = 0; id < x->series_count; id++) {
		uint32_t start = x->starts.items[id];
		size_t count = index_label_count(x, id);
		if (before[id + 1] == before[id])
			continue;
		memmove(x->lists.items + at, x->lists.items + start, count * sizeof *x->lists.items);
		x->starts.items[kept++] = (uint32_t)at;
		at += count;
	}
	x->starts.count = x->series_count = kept;
	x->lists.count = at;
	VEC_TIGHTEN(&x->lists);
	VEC_TIGHTEN(&x->starts);
}

static void pair_drop(struct index *x, struct pair *pair)
{
	struct map *values = map_get(&x->names, pair->name);

	x->pairs.items[pair->number] = NULL;
	VEC_PUSH(&x->free_pairs, pair->number);
	map_remove(values, pair->value);
	if (!values->live) {
		map_fini(values);
		mem_free(values);
		map_remove(&x->names, pair->name);
	}
	pair_free(pair);
}

void index_forget(struct index *x, const uint32_t *before)
{
	lists_forget(x, before);
	for (size_t i = 0; i < x->pairs.count; i++) {
		struct pair *pair = x->pairs.items[i];
		if (!pair)
			continue;
		pair_forget(pair, before);
		if (!pair->stretches.count)
			pair_drop(x, pair);
	}
}

static const struct pair *pair_find(const struct index *x, struct str name, struct str value)
{
	const struct map *values = map_get(&x->names, name);
	return values ? map_get(values, value) : NULL;
}

/* ---- sets of ids as bits: unions of many postings, and what is not wanted ---- */

struct id_set {
	uint64_t *words;
	size_t word_count;
};

static struct id_set id_set_new(const struct index *x, struct arena *arena)
{
	size_t word_count = ((size_t)x->series_count + 63) / 64;
	return (struct id_set){ ARENA_ARRAY(arena, uint64_t, word_count + 1), word_count };
}

static void id_set_add(struct id_set *set, const struct pair *pair)
{
	for (size_t i = 0; pair && i < pair->stretches.count; i++) {
		struct stretch stretch = pair->stretches.items[i];
		while (stretch.count) {
			uint32_t bit = stretch.first % 64, bits = stretch.count < 64 - bit ? stretch.count : 64 - bit;
			set->words[stretch.first / 64] |= (~UINT64_C(0) >> (64 - bits)) << bit;
			stretch.first += bits;
			stretch.count -= bits;
		}
	}
}

static bool id_set_has(const struct id_set *set, uint32_t id)
{
	return set->words[id / 64] >> (id % 64) & 1;
}

/* The series whose value of the label exists and for which the matcher says `wanted`. The matcher stretches once per distinct value, not
 * once per series; an alternation of literals only looks its values up. */
static struct id_set id_set_of_matcher(const struct index *x, struct arena *arena, const struct matcher *m, bool wanted)
{
	struct id_set set = id_set_new(x, arena);
	const struct str *literals = NULL;
	size_t literal_count = m->re ? regex_literals(m->re, &literals) : 0;
	if (literal_count && wanted == (m->op == MATCH_RE)) {
		for (size_t i = 0; i < literal_count; i++)
			id_set_add(&set, pair_find(x, m->name, literals[i]));
		return set;
	}
	const struct map *values = map_get(&x->names, m->name);
	if (values)
		MAP_EACH (values, value)
			if (matcher_matches(m, value->key) == wanted)
				id_set_add(&set, value->value);
	return set;
}

/* ---- select ---- */

struct candidates {
	const uint32_t *ids;
	size_t count;
};

/* First stretch at or after `from` that ends after the id; gallops, as the next hit is usually near. */
static size_t stretches_seek(const struct pair *pair, size_t from, uint32_t id)
{
	const struct stretch *stretches = pair->stretches.items;
	size_t count = pair->stretches.count, step = 1, low = from;
	while (low + step < count && stretches[low + step].first <= id) {
		low += step;
		step *= 2;
	}
	size_t high = low + step < count ? low + step : count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (stretches[middle].first + stretches[middle].count <= id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct candidates candidates_intersect(struct arena *arena, struct candidates c, const struct pair *pair)
{
	uint32_t *kept = ARENA_ARRAY(arena, uint32_t, c.count + 1);
	size_t count = 0, at = 0;
	for (size_t i = 0; i < c.count; i++) {
		if (c.ids[i] >= pair->stretches.items[at].first + pair->stretches.items[at].count)
			at = stretches_seek(pair, at, c.ids[i]);
		if (at == pair->stretches.count)
			break;
		if (pair->stretches.items[at].first <= c.ids[i])
			kept[count++] = c.ids[i];
	}
	return (struct candidates){ kept, count };
}

static size_t pair_size(const struct pair *pair)
{
	size_t count = 0;
	for (size_t i = 0; i < pair->stretches.count; i++)
		count += pair->stretches.items[i].count;
	return count;
}

static struct candidates candidates_of(struct arena *arena, const struct pair *pair)
{
	struct candidates c = { 0 };
	uint32_t *ids = arena_alloc(arena, (pair_size(pair) + 1) * sizeof *ids);
	for (size_t i = 0; i < pair->stretches.count; i++)
		for (uint32_t k = 0; k < pair->stretches.items[i].count; k++)
			ids[c.count++] = pair->stretches.items[i].first + k;
	c.ids = ids;
	return c;
}

static struct candidates candidates_filter(struct arena *arena, struct candidates c, const struct id_set *set, bool wanted)
{
	uint32_t *kept = ARENA_ARRAY(arena, uint32_t, c.count + 1);
	size_t count = 0;
	for (size_t i = 0; i < c.count; i++)
		if (id_set_has(set, c.ids[i]) == wanted)
			kept[count++] = c.ids[i];
	return (struct candidates){ kept, count };
}

static struct candidates candidates_all(const struct index *x, struct arena *arena)
{
	uint32_t *ids = ARENA_ARRAY(arena, uint32_t, (size_t)x->series_count + 1);
	for (uint32_t id = 0; id < x->series_count; id++)
		ids[id] = id;
	return (struct candidates){ ids, x->series_count };
}

static bool matcher_is_lookup(const struct matcher *m)
{
	return m->op == MATCH_EQ && m->value.len > 0;
}

/* The rarest value asked for by equality: everything else only has to be checked on its series. NULL = none; false = no series has it. */
static bool rarest_pair(const struct index *x, const struct matcher *matchers, size_t matcher_count, const struct pair **rarest)
{
	size_t least = SIZE_MAX;
	*rarest = NULL;
	for (size_t i = 0; i < matcher_count; i++) {
		if (!matcher_is_lookup(&matchers[i]))
			continue;
		const struct pair *pair = pair_find(x, matchers[i].name, matchers[i].value);
		if (!pair)
			return false;
		size_t size = pair_size(pair);
		if (size < least) {
			*rarest = pair;
			least = size;
		}
	}
	return true;
}

/* A matcher that accepts the empty string also accepts series without the label, so it can only take away. */
static struct candidates candidates_narrow(const struct index *x, struct arena *arena, struct candidates c, const struct matcher *m)
{
	bool accepts_absent = matcher_matches(m, STR(""));
	struct id_set set = id_set_of_matcher(x, arena, m, !accepts_absent);
	return candidates_filter(arena, c, &set, !accepts_absent);
}

const uint32_t *index_select(
	const struct index *x, struct arena *arena, const struct matcher *matchers, size_t matcher_count, size_t *count)
{
	const struct pair *rarest;
	*count = 0;
	if (!rarest_pair(x, matchers, matcher_count, &rarest))
		return NULL;
	struct candidates c = rarest ? candidates_of(arena, rarest) : candidates_all(x, arena);
	for (size_t i = 0; i < matcher_count && c.count; i++) {
		if (!matcher_is_lookup(&matchers[i])) {
			c = candidates_narrow(x, arena, c, &matchers[i]);
			continue;
		}
		const struct pair *pair = pair_find(x, matchers[i].name, matchers[i].value);
		if (pair != rarest)
			c = candidates_intersect(arena, c, pair);
	}
	*count = c.count;
	return c.ids;
}
