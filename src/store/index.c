#include "store/index.h"

#include <stdlib.h>

void index_init(struct index *x)
{
	*x = (struct index){ 0 };
	map_init(&x->names);
}

void index_fini(struct index *x)
{
	MAP_EACH (&x->names, name) {
		struct map *values = name->value;
		MAP_EACH (values, value) {
			struct postings *p = value->value;
			VEC_FREE(&p->ids);
			mem_free(p);
		}
		map_fini(values);
		mem_free(values);
	}
	map_fini(&x->names);
}

static struct postings *postings_of(struct index *x, const struct label *label)
{
	struct map_entry *name = map_put(&x->names, label->name, NULL);
	if (!name->value) {
		name->value = NEW(struct map);
		map_init(name->value);
	}
	struct map_entry *value = map_put(name->value, label->value, NULL);
	if (!value->value)
		value->value = NEW(struct postings);
	return value->value;
}

uint32_t index_add(struct index *x, const struct labels *labels)
{
	uint32_t id = x->series_count++;
	for (uint32_t i = 0; i < labels->count; i++)
		VEC_PUSH(&postings_of(x, &labels->items[i])->ids, id);
	return id;
}

static const struct postings *postings_find(const struct index *x, struct str name, struct str value)
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

static void id_set_add(struct id_set *set, const struct postings *p)
{
	for (size_t i = 0; p && i < p->ids.count; i++)
		set->words[p->ids.items[i] / 64] |= UINT64_C(1) << (p->ids.items[i] % 64);
}

static bool id_set_has(const struct id_set *set, uint32_t id)
{
	return set->words[id / 64] >> (id % 64) & 1;
}

/* The series whose value of the label exists and for which the matcher says `wanted`. The matcher runs once per distinct value, not once
 * per series; an alternation of literals only looks its values up. */
static struct id_set id_set_of_matcher(const struct index *x, struct arena *arena, const struct matcher *m, bool wanted)
{
	struct id_set set = id_set_new(x, arena);
	const struct str *literals = NULL;
	size_t literal_count = m->re ? regex_literals(m->re, &literals) : 0;
	if (literal_count && wanted == (m->op == MATCH_RE)) {
		for (size_t i = 0; i < literal_count; i++)
			id_set_add(&set, postings_find(x, m->name, literals[i]));
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

/* First position at or after `from` with ids[position] >= id; gallops, as the next hit is usually near. */
static size_t ids_seek(const uint32_t *ids, size_t count, size_t from, uint32_t id)
{
	size_t step = 1, low = from;
	while (low + step < count && ids[low + step] < id) {
		low += step;
		step *= 2;
	}
	size_t high = low + step < count ? low + step : count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct candidates candidates_intersect(struct arena *arena, struct candidates c, const struct postings *p)
{
	uint32_t *kept = ARENA_ARRAY(arena, uint32_t, c.count + 1);
	size_t count = 0, at = 0;
	for (size_t i = 0; i < c.count; i++) {
		at = ids_seek(p->ids.items, p->ids.count, at, c.ids[i]);
		if (at == p->ids.count)
			break;
		if (p->ids.items[at] == c.ids[i])
			kept[count++] = c.ids[i];
	}
	return (struct candidates){ kept, count };
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
static bool rarest_postings(const struct index *x, const struct matcher *matchers, size_t matcher_count, const struct postings **rarest)
{
	*rarest = NULL;
	for (size_t i = 0; i < matcher_count; i++) {
		if (!matcher_is_lookup(&matchers[i]))
			continue;
		const struct postings *p = postings_find(x, matchers[i].name, matchers[i].value);
		if (!p)
			return false;
		if (!*rarest || p->ids.count < (*rarest)->ids.count)
			*rarest = p;
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
	const struct postings *rarest;
	*count = 0;
	if (!rarest_postings(x, matchers, matcher_count, &rarest))
		return NULL;
	struct candidates c = rarest ? (struct candidates){ rarest->ids.items, rarest->ids.count } : candidates_all(x, arena);
	for (size_t i = 0; i < matcher_count && c.count; i++) {
		if (!matcher_is_lookup(&matchers[i])) {
			c = candidates_narrow(x, arena, c, &matchers[i]);
			continue;
		}
		const struct postings *p = postings_find(x, matchers[i].name, matchers[i].value);
		if (p != rarest)
			c = candidates_intersect(arena, c, p);
	}
	*count = c.count;
	return c.ids;
}
