/* Tallies of groups: one for each value of a key. */
#include "base/map.h"
#include "base/mem.h"
#include "slo/tally.h"

#include <math.h>
#include <stdlib.h>

static const char *const key_names[TALLY_KEYS] = { "model", "tenant", "pool", "group", "prompt", "temperature" };

/* Upper ends of the bands of prompt lengths, exclusive. */
static const struct {
	uint32_t below;
	const char *name; /* sorts by length: names are for people, order is the table's */
} bands[] = {
	{ 128, "prompt < 128" },
	{ 512, "prompt 128-511" },
	{ 2048, "prompt 512-2047" },
	{ 8192, "prompt 2048-8191" },
	{ 32768, "prompt 8192-32767" },
	{ TIMELINE_UNKNOWN, "prompt >= 32768" },
};

const char *tally_key_name(enum tally_key key)
{
	return key_names[key];
}

bool tally_key_find(struct str name, enum tally_key *key)
{
	for (int i = 0; i < TALLY_KEYS; i++)
		if (str_is(name, key_names[i])) {
			*key = (enum tally_key)i;
			return true;
		}
	return false;
}

static struct str band_name(uint32_t tokens)
{
	size_t i = 0;

	if (tokens == TIMELINE_UNKNOWN)
		return STR("prompt length not told");
	while (tokens >= bands[i].below)
		i++;
	return str_from(bands[i].name);
}

static struct str value_of(const struct timeline *t, enum tally_key key, struct arena *arena)
{
	switch (key) {
	case TALLY_BY_MODEL: return t->model;
	case TALLY_BY_TENANT: return t->tenant;
	case TALLY_BY_POOL: return t->pool;
	case TALLY_BY_GROUP: return t->group;
	case TALLY_BY_PROMPT: return band_name(t->prompt_tokens);
	case TALLY_BY_TEMPERATURE: return isnan(t->temperature) ? STR_EMPTY : arena_printf(arena, "temperature %g", t->temperature);
	case TALLY_KEYS: break;
	}
	return STR_EMPTY;
}

static double order_of(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(bands); i++)
		if (str_is(name, bands[i].name))
			return (double)i;
	return (double)ARRAY_LEN(bands);
}

static int by_name(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;
	double first = order_of(x->name), second = order_of(y->name);

	return first != second ? (first > second) - (first < second) : str_cmp(x->name, y->name);
}

void tallies_by(struct tallies *out, struct arena *arena, const struct records *r, enum tally_key key, const struct tally_options *o)
{
	double window_s = isnan(o->window_s) ? records_window_s(r) : o->window_s;
	struct map index;

	map_init(&index);
	*out = (struct tallies){ 0 };
	VEC_EACH (&r->requests, request) {
		struct str name = value_of(request, key, arena);
		bool made;

		if (!name.len)
			name = arena_printf(arena, "%s not told", key_names[key]);
		struct map_entry *entry = map_put(&index, name, &made);

		if (made) {
			struct tally t;

			tally_init(&t);
			t.name = name;
			VEC_PUSH(&out->items, t);
			entry->value = (void *)(uintptr_t)out->items.count;
		}
		tally_add(&out->items.items[(uintptr_t)entry->value - 1], request, o);
	}
	VEC_EACH (&out->items, t)
		tally_finish(t, window_s);
	if (out->items.count)
		qsort(out->items.items, out->items.count, sizeof *out->items.items, by_name);
	map_fini(&index);
}

void tallies_fini(struct tallies *t)
{
	VEC_EACH (&t->items, tally)
		tally_fini(tally);
	VEC_FREE(&t->items);
}
