#include "base/hash.h"
#include "promql/evaluate.h"

void groups_init(struct groups *g, struct evaluation *ev, const struct str *labels, size_t label_count, bool only, bool without_name)
{
	*g = (struct groups){ .ev = ev, .labels = labels, .label_count = label_count, .only = only, .without_name = without_name };
}

/* Does a label of the column take part when all but some are compared? */
static bool counts(const struct groups *g, const struct column *c, struct str name)
{
	if (g->without_name && str_eq(name, LABEL_NAME))
		return false;
	if (c->nameless && !g->ev->delayed && label_names_metric(name))
		return false;
	for (size_t i = 0; i < g->label_count; i++)
		if (str_eq(g->labels[i], name))
			return false;
	return true;
}

static uint64_t key_hash(const struct groups *g, const struct column *c)
{
	uint64_t hash = 0;
	if (g->only) {
		for (size_t i = 0; i < g->label_count; i++) {
			struct str value = column_label(g->ev, c, g->labels[i]);
			hash = hash_seeded(value.ptr ? value.ptr : "", value.len, hash + i);
		}
		return hash;
	}
	for (uint32_t i = 0; c->labels && i < c->labels->count; i++) {
		const struct label *l = &c->labels->items[i];
		if (counts(g, c, l->name)) {
			hash = hash_seeded(l->name.ptr, l->name.len, hash);
			hash = hash_seeded(l->value.ptr, l->value.len, hash);
		}
	}
	return hash;
}

/* The next label that takes part, from *at on; NULL at the end. */
static const struct label *next_label(const struct groups *g, const struct column *c, uint32_t *at)
{
	while (c->labels && *at < c->labels->count) {
		const struct label *l = &c->labels->items[(*at)++];
		if (counts(g, c, l->name))
			return l;
	}
	return NULL;
}

static bool key_equal(const struct groups *g, const struct column *a, const struct column *b)
{
	if (g->only) {
		for (size_t i = 0; i < g->label_count; i++)
			if (!str_eq(column_label(g->ev, a, g->labels[i]), column_label(g->ev, b, g->labels[i])))
				return false;
		return true;
	}
	for (uint32_t at_a = 0, at_b = 0;;) {
		const struct label *la = next_label(g, a, &at_a), *lb = next_label(g, b, &at_b);
		if (!la || !lb)
			return la == lb;
		if (!str_eq(la->name, lb->name) || !str_eq(la->value, lb->value))
			return false;
	}
}

static void groups_grow(struct groups *g)
{
	size_t cap = g->cap ? g->cap * 2 : 16;
	const struct column **first = arena_alloc(g->ev->arena, cap * sizeof *first);
	uint64_t *hashes = arena_alloc(g->ev->arena, cap * sizeof *hashes);
	if (g->count) {
		memcpy(first, g->first, g->count * sizeof *first);
		memcpy(hashes, g->hashes, g->count * sizeof *hashes);
	}
	g->first = first;
	g->hashes = hashes;
	g->cap = cap;
	g->slot_count = cap * 2;
	g->slots = ARENA_ARRAY(g->ev->arena, uint32_t, g->slot_count);
	for (size_t i = 0; i < g->count; i++) {
		size_t at = hashes[i] & (g->slot_count - 1);
		while (g->slots[at])
			at = (at + 1) & (g->slot_count - 1);
		g->slots[at] = (uint32_t)i + 1;
	}
}

size_t groups_put(struct groups *g, const struct column *c)
{
	if (g->count == g->cap)
		groups_grow(g);
	uint64_t hash = key_hash(g, c);
	size_t at = hash & (g->slot_count - 1);
	for (; g->slots[at]; at = (at + 1) & (g->slot_count - 1)) {
		size_t group = g->slots[at] - 1;
		if (g->hashes[group] == hash && key_equal(g, g->first[group], c))
			return group;
	}
	g->slots[at] = (uint32_t)g->count + 1;
	g->first[g->count] = c;
	g->hashes[g->count] = hash;
	return g->count++;
}

const struct labels *groups_labels(struct groups *g, const struct promql_node *n, size_t group)
{
	const struct column *c = g->first[group];
	struct labels_builder b;
	labels_builder_init(&b, NULL);
	for (size_t i = 0; g->only && i < g->label_count; i++)
		labels_builder_set(&b, g->labels[i], column_label(g->ev, c, g->labels[i]));
	uint32_t at = 0;
	for (const struct label *l; !g->only && (l = next_label(g, c, &at));)
		labels_builder_set(&b, l->name, l->value);
	return labels_build(g->ev, n, &b);
}
