/* Which family a value belongs to, and which sample: the rules of MultiProcessCollector, worked out once for a set of files and entries.
 * A family's type and help are those of the file that names it first; its gauge mode that of the last gauge file that has it. */
#include "base/hash.h"
#include "collect/internal.h"

#include <stdlib.h>

void plan_init(struct plan *p)
{
	*p = (struct plan){ 0 };
	arena_init(&p->arena);
}

void plan_fini(struct plan *p)
{
	arena_fini(&p->arena);
	VEC_FREE(&p->groups);
	VEC_FREE(&p->cells);
	VEC_FREE(&p->lines);
	VEC_FREE(&p->values);
	VEC_FREE(&p->times);
	VEC_FREE(&p->totals);
	VEC_FREE(&p->order);
	VEC_FREE(&p->group_order);
	mem_free(p->slots);
}

/* ---- families ---- */

/* Processes of one program make their series in one order, so files of one kind are mostly alike. */
static bool repeats(const struct metric_file *f, const struct metric_file *before)
{
	return before && f->name.type == before->name.type && f->name.mode == before->name.mode &&
	       f->entries.count == before->entries.count &&
	       (!f->entries.count || memcmp(f->entries.items, before->entries.items, f->entries.count * sizeof *f->entries.items) == 0);
}

static void families_find(struct plan *p, struct keys *keys, struct metric_file *f, const struct metric_file *before)
{
	struct family *last = NULL;

	f->repeats = repeats(f, before);
	if (f->repeats)
		return;
	VEC_EACH (&f->entries, e) {
		const struct key *key = keys->items.items[e->key];
		struct family *family = key->family;

		if (family == last)
			continue;
		last = family;
		if (family->plan != p->number) {
			*family = (struct family){
				.name = family->name, .names = family->names, .plan = p->number, .type = f->name.type, .help = key->help
			};
			if (p->last)
				p->last->next = family;
			else
				p->first = family;
			p->last = family;
		}
		if (f->name.type == TYPE_GAUGE)
			family->mode = f->name.mode;
	}
}

/* ---- cells ---- */

static char *put(char *to, struct str s)
{
	if (s.len)
		memcpy(to, s.ptr, s.len);
	return to + s.len;
}

/* A value with its escapes: at most twice as long. */
static char *put_value(char *to, struct str value)
{
	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];

		if (c == '\\' || c == '"' || c == '\n')
			*to++ = '\\';
		*to++ = c == '\n' ? 'n' : c;
	}
	return to;
}

/* "name{a=\"b\"} "; the labels with one left out, or one given another value, which goes where its name belongs. */
struct sample_text {
	struct str name, without;
	struct label with; /* name.ptr NULL: none */
};

static char *put_label(char *to, const struct label *l, bool plain, bool *printed)
{
	*to++ = *printed ? ',' : '{';
	*printed = true;
	to = put(to, l->name);
	*to++ = '=';
	*to++ = '"';
	to = plain ? put(to, l->value) : put_value(to, l->value);
	*to++ = '"';
	return to;
}

/* Room for a text that stays until the next plan if text_keep is told so. */
static char *text_room(struct plan *p, size_t size)
{
	enum { CHUNK = 1 << 15 };

	if (size > (size_t)(p->text_end - p->text_at)) {
		size_t chunk = size > CHUNK ? size : CHUNK;

		p->text_at = arena_alloc(&p->arena, chunk);
		p->text_end = p->text_at + chunk;
	}
	return p->text_at;
}

static void text_keep(struct plan *p, struct str text)
{
	p->text_at += text.len;
}

/* Families share label sets. */
static bool is_printed(const struct plan *p, const struct sample_text *t, const struct key *key)
{
	return p->printed.len && key->labels == p->printed_labels && !t->with.name.ptr && str_eq(t->without, p->printed_without);
}

/* Into text_room. */
static struct str sample_print(struct plan *p, const struct sample_text *t, const struct key *key)
{
	bool pending = t->with.name.ptr != NULL, printed = false;
	/* A label is never longer than in the key's text, but for escapes. */
	size_t most = t->name.len + 2 * (t->with.value.len + key->text.len) + p->printed.len + 16;
	char *from = text_room(p, most), *to = put(from, t->name);

	if (is_printed(p, t, key))
		return str_of(from, (size_t)(put(to, p->printed) - from));
	for (uint32_t i = 0; i < key->label_count; i++) {
		const struct label *l = &key->labels[i];

		if (pending && str_cmp(t->with.name, l->name) <= 0) {
			to = put_label(to, &t->with, false, &printed);
			pending = false;
		}
		if (!str_eq(l->name, t->without) && !str_eq(l->name, t->with.name))
			to = put_label(to, l, key->plain, &printed);
	}
	if (pending)
		to = put_label(to, &t->with, false, &printed);
	if (printed)
		*to++ = '}';
	*to++ = ' ';
	return str_of(from, (size_t)(to - from));
}

/* Empty, with room for so many cells. */
static void slots_reset(struct plan *p, size_t cells)
{
	size_t count = p->slot_count ? p->slot_count : 1024;

	while (count < 2 * cells)
		count *= 2;
	if (count == p->slot_count) {
		memset(p->slots, 0, count * sizeof *p->slots);
		return;
	}
	mem_free(p->slots);
	p->slots = mem_zalloc(count, sizeof *p->slots);
	p->slot_count = count;
}

static void slots_grow(struct plan *p)
{
	slots_reset(p, p->slot_count);
	for (uint32_t i = 1; i < p->cells.count; i++) {
		size_t slot = p->cells.items[i].hash & (p->slot_count - 1);

		while (p->slots[slot])
			slot = (slot + 1) & (p->slot_count - 1);
		p->slots[slot] = i;
	}
}

static uint32_t text_hash(const struct family *family, struct str text)
{
	return (uint32_t)hash_seeded(text.ptr, text.len, (uintptr_t)family);
}

/* The slot of the cell with this text in the family; an empty one when there is none. Groups are cells too: their text has no name. */
static uint32_t *slot_of(struct plan *p, const struct family *family, struct str text, uint32_t hash)
{
	if (p->cells.count * 2 >= p->slot_count)
		slots_grow(p);
	size_t slot = hash & (p->slot_count - 1);

	while (p->slots[slot]) {
		const struct cell *c = &p->cells.items[p->slots[slot]];

		if (c->hash == hash && c->family == family && str_eq(c->text, text))
			break;
		slot = (slot + 1) & (p->slot_count - 1);
	}
	return &p->slots[slot];
}

/* `text` must stay. */
static uint32_t cell_new(struct plan *p, struct family *family, struct str text, uint32_t hash, uint32_t *slot)
{
	uint32_t index = *slot = (uint32_t)p->cells.count;

	VEC_PUSH(&p->cells, (struct cell){ .text = text, .family = family, .hash = hash });
	return index;
}

/* Buckets of a histogram come one after the other: is this key of the group of the one before? */
static bool is_of_last_group(const struct plan *p, const struct family *family, const struct sample_text *t, const struct key *key)
{
	const struct key *last = p->last_key;

	if (!last || last->family != family || t->with.name.ptr || p->last_with || last->label_count != key->label_count)
		return false;
	for (uint32_t i = 0; last->labels != key->labels && i < key->label_count; i++) {
		const struct label *a = &last->labels[i], *b = &key->labels[i];

		if (!str_eq(a->name, b->name) || (!str_eq(a->value, b->value) && !str_eq(a->name, t->without)))
			return false;
	}
	return true;
}

/* `labels`: its text, if that was printed already and stays. */
static uint32_t group_of(struct plan *p, struct family *family, const struct sample_text *t, const struct key *key, struct str labels)
{
	struct sample_text nameless = *t;

	if (is_of_last_group(p, family, t, key))
		return p->last_group;
	p->last_key = key;
	p->last_with = t->with.name.ptr != NULL;

	nameless.name = STR_EMPTY;
	struct str text = labels.len ? labels : sample_print(p, &nameless, key);
	uint32_t hash = text_hash(family, text), *slot = slot_of(p, family, text, hash);

	if (*slot)
		return p->last_group = p->cells.items[*slot].group;
	uint32_t group = p->last_group = (uint32_t)p->groups.count;

	if (!labels.len)
		text_keep(p, text);
	uint32_t index = cell_new(p, family, text, hash, slot);

	p->cells.items[index].group = group;
	VEC_PUSH(&p->groups, (struct group){ .family = family, .labels = text });
	if (family->last_group)
		p->groups.items[family->last_group].next = group;
	else
		family->first_group = group;
	family->last_group = group;
	return group;
}

static void group_add(struct plan *p, uint32_t group, uint32_t index)
{
	struct group *g = &p->groups.items[group];

	if (g->last_cell)
		p->cells.items[g->last_cell].next = index;
	else
		g->first_cell = index;
	g->last_cell = index;
}

static void bucket_init(struct plan *p, uint32_t index, uint32_t group, double edge, uint32_t turn)
{
	struct group *g = &p->groups.items[group];
	struct cell *c = &p->cells.items[index];

	c->kind = CELL_BUCKET;
	c->edge = edge;
	c->next = g->first_bucket;
	g->first_bucket = index;
	if (!g->buckets++)
		g->bucket_turn = turn;
}

static uint32_t cell_of(struct plan *p, const struct metric_file *f, const struct key *key, bool *made)
{
	struct family *family = key->family;
	bool gauge = family->type == TYPE_GAUGE, aggregated = gauge && family->mode != MODE_ALL;
	bool bucket = family->type == TYPE_HISTOGRAM && key->has_edge;
	struct sample_text text = { .name = key->sample }, grouped;
	char number[COLLECT_NUMBER_MAX];

	if (aggregated)
		text.without = STR("pid");
	else if (f->name.type == TYPE_GAUGE)
		text.with = (struct label){ STR("pid"), f->name.pid_label };
	grouped = text;
	if (bucket) {
		if (!family->bucket_name.ptr)
			family->bucket_name = arena_printf(&p->arena, STR_FMT "_bucket", STR_ARG(family->name));
		grouped.without = STR("le");
		text.name = family->bucket_name;
		/* A number: 1, 1.0 and 1e0 are one edge. */
		text.with = (struct label){ STR("le"), str_of(number, collect_number(key->edge + 0.0, p->as_016, number)) };
	}
	struct str printed = sample_print(p, &text, key);
	uint32_t hash = text_hash(family, printed), *slot = slot_of(p, family, printed, hash), index = *slot;

	*made = !index;
	if (index)
		return index;
	text_keep(p, printed);
	index = cell_new(p, family, printed, hash, slot);
	struct str labels = bucket ? STR_EMPTY : str_skip(printed, key->sample.len);

	if (!text.with.name.ptr) {
		p->printed_labels = key->labels;
		p->printed_without = text.without;
		p->printed = labels;
	}
	uint32_t group = group_of(p, family, &grouped, key, labels);

	p->cells.items[index].group = group;
	p->cells.items[index].stamped = gauge && family->mode == MODE_MOSTRECENT;
	p->stamped = p->stamped || p->cells.items[index].stamped;
	if (bucket)
		bucket_init(p, index, group, key->edge, (uint32_t)p->cells.count);
	else
		group_add(p, group, index);
	return index;
}

static enum entry_op op_of(const struct family *family, bool first)
{
	if (family->type != TYPE_GAUGE || family->mode == MODE_SUM)
		return OP_ADD;
	if (family->mode == MODE_MOSTRECENT)
		return OP_NEWEST;
	return family->mode == MODE_ALL || first ? OP_SET : family->mode == MODE_MIN ? OP_MIN : OP_MAX;
}

static void cells_find(struct plan *p, struct keys *keys, struct metric_file *f, const struct metric_file *before)
{
	uint32_t count = (uint32_t)f->entries.count;

	if (f->repeats && before->only_adds && !before->by_pid) {
		f->cells = before->cells;
		f->ops = before->ops;
		f->only_adds = true;
		f->by_pid = false;
		return;
	}
	uint32_t *cells = arena_alloc(&p->arena, count * sizeof *cells);
	uint8_t *ops = arena_alloc(&p->arena, count * sizeof *ops);

	f->cells = cells;
	f->ops = ops;
	f->only_adds = true;
	f->by_pid = false;
	for (uint32_t i = 0; i < count; i++) {
		struct key *key = keys->items.items[f->entries.items[i].key];
		bool by_pid = f->name.type == TYPE_GAUGE && !(key->family->type == TYPE_GAUGE && key->family->mode != MODE_ALL),
		     made = false;

		key->seen = p->number;
		/* Where the process does not matter, one key is one cell. */
		if (by_pid || key->plan != p->number) {
			key->cell = cell_of(p, f, key, &made);
			key->plan = by_pid ? 0 : p->number;
		}
		cells[i] = key->cell;
		ops[i] = (uint8_t)op_of(key->family, made);
		f->only_adds = f->only_adds && ops[i] == OP_ADD;
		f->by_pid = f->by_pid || by_pid;
	}
}

/* ---- lines ---- */

/* What stands behind the family's name in "name_created{...} ", where the classic text lists it as a family of its own. */
static char suffix_of(const struct family *family, struct str text)
{
	struct str rest = str_skip(text, family->name.len);
	size_t len = 0;

	/* Most end there, or go on as "_total", "_sum", "_bucket". */
	if (rest.len < 2 || rest.ptr[0] != '_' || (rest.ptr[1] != 'c' && rest.ptr[1] != 'g') || !str_starts(text, family->name))
		return 0;
	while (len < rest.len && rest.ptr[len] != '{' && rest.ptr[len] != ' ')
		len++;
	rest = str_head(rest, len);
	return str_is(rest, "_created") ? 'a' : str_is(rest, "_gcount") ? 'b' : str_is(rest, "_gsum") ? 'c' : 0;
}

static void line_add(struct plan *p, enum line_kind kind, struct str text, uint32_t cell, uint32_t group)
{
	struct line line = { .kind = (uint8_t)kind, .text = text, .cell = cell, .group = group };

	line.suffix = cell ? suffix_of(p->cells.items[cell].family, text) : 0;
	if (line.suffix)
		p->cells.items[cell].family->has_suffixes = true;
	p->text_max += text.len + COLLECT_NUMBER_MAX + 1;
	VEC_PUSH(&p->lines, line);
}

static void value_line(struct plan *p, uint32_t index)
{
	const struct cell *c = &p->cells.items[index];

	line_add(p, p->groups.items[c->group].count_cell == index ? LINE_TOTAL : LINE_VALUE, c->text, index, c->group);
}

/* Nearly all come in order, as programs make them. */
static void numbers_sort(uint32_t *items, size_t count, int (*order)(const void *, const void *, void *), void *data)
{
	for (size_t i = 1; i < count; i++)
		if (order(&items[i - 1], &items[i], data) > 0) {
			qsort_r(items, count, sizeof *items, order, data);
			return;
		}
}

static int by_edge(const void *a, const void *b, void *cells)
{
	double x = ((const struct cell *)cells)[*(const uint32_t *)a].edge, y = ((const struct cell *)cells)[*(const uint32_t *)b].edge;

	return (x > y) - (x < y);
}

static int by_number(const void *a, const void *b, void *nothing)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	(void)nothing;
	return (x > y) - (x < y);
}

static void bucket_lines(struct plan *p, uint32_t index)
{
	struct group *g = &p->groups.items[index];

	p->order.count = 0;
	VEC_RESERVE(&p->order, g->buckets);
	for (uint32_t i = g->first_bucket; i; i = p->cells.items[i].next) /* the last one seen is the first of the chain */
		p->order.items[g->buckets - ++p->order.count] = i;
	numbers_sort(p->order.items, p->order.count, by_edge, p->cells.items);
	for (size_t i = 0; i < p->order.count; i++) {
		line_add(p, LINE_BUCKET, p->cells.items[p->order.items[i]].text, p->order.items[i], index);
		p->lines.items[p->lines.count - 1].first = i == 0;
	}
	if (g->buckets && !g->count_cell)
		line_add(p, LINE_TOTAL, g->count_text, 0, index);
}

/* The text of a group's `_count`, and the stored sample of that name, which it takes the place of. */
static void count_find(struct plan *p, uint32_t index)
{
	struct group *g = &p->groups.items[index];

	if (!g->buckets)
		return;
	char *from = text_room(p, g->family->name.len + strlen("_count") + g->labels.len);

	g->count_text = str_of(from, (size_t)(put(put(put(from, g->family->name), STR("_count")), g->labels) - from));
	text_keep(p, g->count_text);
	g->count_cell = *slot_of(p, g->family, g->count_text, text_hash(g->family, g->count_text));
}

static int by_turn(const void *a, const void *b, void *groups)
{
	const struct group *x = &((const struct group *)groups)[*(const uint32_t *)a],
			   *y = &((const struct group *)groups)[*(const uint32_t *)b];
	uint64_t turn_x = x->first_cell ? x->first_cell : (1ULL << 32) + x->bucket_turn;
	uint64_t turn_y = y->first_cell ? y->first_cell : (1ULL << 32) + y->bucket_turn;

	return (turn_x > turn_y) - (turn_x < turn_y);
}

/* Label set by label set, in order of first sight; those that have buckets only at the end. */
static void grouped_lines(struct plan *p, const struct family *family)
{
	size_t from = p->group_order.count = 0;

	for (uint32_t g = family->first_group; g; g = p->groups.items[g].next)
		VEC_PUSH(&p->group_order, g);
	numbers_sort(p->group_order.items, p->group_order.count, by_turn, p->groups.items);
	for (; from < p->group_order.count; from++) {
		uint32_t g = p->group_order.items[from];

		for (uint32_t i = p->groups.items[g].first_cell; i; i = p->cells.items[i].next)
			value_line(p, i);
		bucket_lines(p, g);
	}
}

static int by_bucket(const void *a, const void *b, void *groups)
{
	const struct group *all = groups;
	uint32_t x = all[*(const uint32_t *)a].bucket_turn, y = all[*(const uint32_t *)b].bucket_turn;

	return (x > y) - (x < y);
}

/* All that are no buckets in order of first sight, then the histograms. */
static void flat_lines(struct plan *p, const struct family *family)
{
	p->order.count = p->group_order.count = 0;
	for (uint32_t g = family->first_group; g; g = p->groups.items[g].next) {
		VEC_PUSH(&p->group_order, g);
		for (uint32_t i = p->groups.items[g].first_cell; i; i = p->cells.items[i].next)
			VEC_PUSH(&p->order, i);
	}
	numbers_sort(p->order.items, p->order.count, by_number, NULL);
	VEC_EACH (&p->order, index)
		value_line(p, *index);
	numbers_sort(p->group_order.items, p->group_order.count, by_bucket, p->groups.items);
	VEC_EACH (&p->group_order, g)
		bucket_lines(p, *g);
}

static void lines_find(struct plan *p)
{
	p->lines.count = 0;
	VEC_RESERVE(&p->lines, p->cells.count + p->groups.count + 64);
	p->text_max = 0;
	for (uint32_t g = 1; g < p->groups.count; g++)
		count_find(p, g);
	for (struct family *family = p->first; family; family = family->next) {
		line_add(p, LINE_HEAD, STR_EMPTY, 0, 0);
		p->lines.items[p->lines.count - 1].family = family;
		/* A backslash, quote or line end is two bytes; three times for samples that get a head of their own. */
		p->text_max += 4 * (3 * family->name.len + 2 * family->help.len + 64);
		if (p->as_016)
			flat_lines(p, family);
		else
			grouped_lines(p, family);
	}
}

void plan_build(struct plan *p, struct keys *keys, struct metric_file *const *files, size_t count, bool as_016)
{
	p->number++;
	p->as_016 = as_016;
	p->first = p->last = NULL;
	p->stamped = false;
	p->last_key = NULL;
	p->printed_labels = NULL;
	p->printed = STR_EMPTY;
	arena_reset(&p->arena);
	p->text_at = p->text_end = NULL;
	p->groups.count = p->cells.count = 0;
	VEC_PUSH(&p->groups, (struct group){ 0 });
	VEC_RESERVE(&p->cells, 2 * keys->items.count + 64);
	VEC_RESERVE(&p->groups, keys->items.count + 64);
	VEC_PUSH(&p->cells, (struct cell){ 0 });
	slots_reset(p, 2 * keys->items.count); /* groups are cells too */
	for (size_t i = 0; i < count; i++)
		families_find(p, keys, files[i], i ? files[i - 1] : NULL);
	for (size_t i = 0; i < count; i++)
		cells_find(p, keys, files[i], i ? files[i - 1] : NULL);
	lines_find(p);
	VEC_RESERVE(&p->values, p->cells.count);
	VEC_RESERVE(&p->times, p->cells.count);
	VEC_RESERVE(&p->totals, p->groups.count);
	p->family_count = 0;
	for (struct family *family = p->first; family; family = family->next)
		p->family_count++;
}
