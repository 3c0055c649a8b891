#include "model/labels.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>

/* Layout: struct labels, items[count], then every name and value in order, each with its '\0'. The hash is that of the
 * text block, so one call does. */

enum { LABELS_ON_STACK = 64 };

/* All pointers are into the caller's array, so of equal names the one given later sorts later. */
static int pair_order(const void *a, const void *b)
{
	const struct label *left = *(const struct label *const *)a, *right = *(const struct label *const *)b;
	int order = str_cmp(left->name, right->name);

	return order ? order : left < right ? -1 : left > right;
}

/* Most callers hand the pairs in sorted or nearly so: then insertion is one comparison a pair. */
static void pairs_sort(const struct label **pairs, size_t count)
{
	if (count > LABELS_ON_STACK) {
		qsort(pairs, count, sizeof *pairs, pair_order);
		return;
	}
	for (size_t i = 1; i < count; i++) {
		const struct label *pair = pairs[i];
		size_t at = i;

		for (; at > 0 && str_cmp(pairs[at - 1]->name, pair->name) > 0; at--)
			pairs[at] = pairs[at - 1];
		pairs[at] = pair;
	}
}

/* Keeps the last of equal names, then drops empty values. Returns how many remain. */
static size_t pairs_settle(const struct label **pairs, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count && str_eq(pairs[i]->name, pairs[i + 1]->name))
			continue;
		if (pairs[i]->value.len)
			pairs[kept++] = pairs[i];
	}
	return kept;
}

static struct str text_append(char **at, struct str s)
{
	char *copy = *at;

	if (s.len)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = '\0';
	*at += s.len + 1;
	return str_of(copy, s.len);
}

static struct labels *labels_assemble(const struct label *const *pairs, size_t count)
{
	size_t text_size = 0;

	for (size_t i = 0; i < count; i++)
		text_size += pairs[i]->name.len + pairs[i]->value.len + 2;
	struct labels *l = mem_alloc(sizeof *l + count * sizeof l->items[0] + text_size);
	char *text = (char *)(l->items + count), *at = text;

	for (size_t i = 0; i < count; i++) {
		l->items[i].name = text_append(&at, pairs[i]->name);
		l->items[i].value = text_append(&at, pairs[i]->value);
	}
	l->hash = hash_bytes(text, text_size);
	l->count = (uint32_t)count;
	l->refs = 1;
	return l;
}

struct labels *labels_new(const struct label *pairs, size_t count)
{
	const struct label *small[LABELS_ON_STACK];
	const struct label **order = count > LABELS_ON_STACK ? mem_resize(NULL, count, sizeof *order) : small;

	for (size_t i = 0; i < count; i++)
		order[i] = &pairs[i];
	pairs_sort(order, count);
	struct labels *l = labels_assemble(order, pairs_settle(order, count));

	if (order != small)
		mem_free(order);
	return l;
}

/* The count of references is the one part that changes; everything a reader sees is constant. */
struct labels *labels_ref(const struct labels *l)
{
	struct labels *held = (struct labels *)l;

	if (held->refs == LABELS_IN_ARENA)
		return labels_new(held->items, held->count);
	held->refs++;
	return held;
}

void labels_unref(const struct labels *l)
{
	struct labels *held = (struct labels *)l;

	if (held && held->refs != LABELS_IN_ARENA && --held->refs == 0)
		mem_free(held);
}

bool labels_eq(const struct labels *a, const struct labels *b)
{
	if (a == b)
		return true;
	if (a->hash != b->hash || a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		if (!str_eq(a->items[i].name, b->items[i].name) || !str_eq(a->items[i].value, b->items[i].value))
			return false;
	}
	return true;
}

int labels_cmp(const struct labels *a, const struct labels *b)
{
	uint32_t common = a->count < b->count ? a->count : b->count;

	for (uint32_t i = 0; i < common; i++) {
		int order = str_cmp(a->items[i].name, b->items[i].name);

		if (!order)
			order = str_cmp(a->items[i].value, b->items[i].value);
		if (order)
			return order;
	}
	return a->count < b->count ? -1 : a->count > b->count;
}

/* A series has some ten labels: going through them beats a binary search, and the order ends it early. */
struct str labels_get(const struct labels *l, struct str name)
{
	for (uint32_t i = 0; i < l->count; i++) {
		int order = str_cmp(l->items[i].name, name);

		if (order == 0)
			return l->items[i].value;
		if (order > 0)
			break;
	}
	return STR_EMPTY;
}

static void print_quoted(struct buf *out, struct str s)
{
	static const char hex[] = "0123456789abcdef";

	buf_add_c(out, '"');
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (c == '"' || c == '\\') {
			buf_add_c(out, '\\');
			buf_add_c(out, c);
		} else if (c == '\n') {
			buf_add(out, STR("\\n"));
		} else if (c == '\t') {
			buf_add(out, STR("\\t"));
		} else if (c == '\r') {
			buf_add(out, STR("\\r"));
		} else if ((unsigned char)c < 0x20 || c == 0x7f) {
			char escape[] = { '\\', 'x', hex[(unsigned char)c >> 4], hex[c & 15] };

			buf_add(out, str_of(escape, sizeof escape));
		} else {
			buf_add_c(out, c);
		}
	}
	buf_add_c(out, '"');
}

bool label_name_is_classic(struct str name, bool metric)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c == ':' && metric);

		if (!letter && !(i > 0 && c >= '0' && c <= '9'))
			return false;
	}
	return name.len > 0;
}

void label_print_name(struct str name, struct buf *out)
{
	if (label_name_is_classic(name, false))
		buf_add(out, name);
	else
		print_quoted(out, name);
}

void label_print_value(struct str value, struct buf *out)
{
	print_quoted(out, value);
}

void labels_print(const struct labels *l, struct buf *out)
{
	struct str metric = labels_name(l);
	bool bare = metric.len && label_name_is_classic(metric, true);
	const char *separator = "{";

	if (bare)
		buf_add(out, metric);
	if (bare && l->count == 1)
		return;
	if (metric.len && !bare) {
		buf_add_c(out, '{');
		print_quoted(out, metric);
		separator = ",";
	}
	for (uint32_t i = 0; i < l->count; i++) {
		if (str_eq(l->items[i].name, LABEL_NAME))
			continue;
		buf_add_cstr(out, separator);
		label_print_name(l->items[i].name, out);
		buf_add_c(out, '=');
		print_quoted(out, l->items[i].value);
		separator = ",";
	}
	if (*separator == '{')
		buf_add_c(out, '{');
	buf_add_c(out, '}');
}

void labels_builder_init(struct labels_builder *b, const struct labels *from)
{
	b->count = 0;
	b->overflowed = false;
	if (!from)
		return;
	b->overflowed = from->count > ARRAY_LEN(b->items);
	b->count = b->overflowed ? ARRAY_LEN(b->items) : from->count;
	memcpy(b->items, from->items, b->count * sizeof b->items[0]);
}

static size_t builder_find(const struct labels_builder *b, struct str name)
{
	size_t i = 0;

	while (i < b->count && !str_eq(b->items[i].name, name))
		i++;
	return i;
}

void labels_builder_set(struct labels_builder *b, struct str name, struct str value)
{
	size_t at = builder_find(b, name);

	if (value.len == 0) {
		labels_builder_remove(b, name);
	} else if (at < b->count) {
		b->items[at].value = value;
	} else if (b->count == ARRAY_LEN(b->items)) {
		b->overflowed = true;
	} else {
		b->items[b->count++] = (struct label){ name, value };
	}
}

/* Closes the gap rather than moving the last one in, so that sorted stays sorted. */
void labels_builder_remove(struct labels_builder *b, struct str name)
{
	size_t at = builder_find(b, name);

	if (at == b->count)
		return;
	b->count--;
	memmove(&b->items[at], &b->items[at + 1], (b->count - at) * sizeof b->items[0]);
}

struct str labels_builder_get(const struct labels_builder *b, struct str name)
{
	size_t at = builder_find(b, name);

	return at < b->count ? b->items[at].value : STR_EMPTY;
}

struct labels *labels_builder_build(const struct labels_builder *b)
{
	return labels_new(b->items, b->count);
}
