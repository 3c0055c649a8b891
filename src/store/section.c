#include "store/section.h"

#include "base/mem.h"
#include "base/number.h"
#include "store/deltas.h"

#include <math.h>

/* How values become integers. Each is exact: a column that a form would change takes the next one. */
enum mode { MODE_INTEGER, MODE_DECIMAL /* times a power of ten */, MODE_BITS /* the bits of the double */ };
enum { HEAD_BELOW = 1 << 2, HEAD_SECOND = 1 << 3, HEAD_FORM = 4, HEAD_IRREGULAR = 1 << 6, HEAD_LISTED = 1 << 7 };
enum { IRREGULAR_RESETS = 1, IRREGULAR_GAPS = 2 };
enum { DECIMALS_MAX = 6, FORM_ABSENT = 3, MODE_NONE = 3 };

static const double powers[DECIMALS_MAX + 1] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6 };
static const double exact_limit = 9007199254740992.0; /* 2^53 */

/* ---- times ---- */

void times_pack(const struct times_list *lists, size_t count, struct buf *out)
{
	uint8_t *at = (uint8_t *)buf_reserve(out, VARINT_MAX), *start = at;

	if (!at)
		return;
	out->len += (size_t)(put_varint(at, count) - start);
	for (size_t i = 0; i < count; i++) {
		struct deltas d;
		size_t n = lists[i].count;
		start = (uint8_t *)buf_reserve(out, deltas_room(n) + 3 * VARINT_MAX + 1);
		if (!start)
			return;
		/* The length stands before the bytes: they are packed behind the room for it, then moved up. */
		at = put_varint(put_varint(start, n), zigzag(lists[i].t[0]));
		uint8_t *head = at++, *packed = at + VARINT_MAX;
		size_t size = (size_t)(deltas_pack(lists[i].t, n, &d, packed) - packed);
		*head = (uint8_t)(d.form << 1 | d.second);
		at = put_varint(at, size);
		memmove(at, packed, size);
		out->len += (size_t)(at + size - start);
	}
}

static bool list_unpack(struct bytes *b, struct arena *arena, struct times_list *list)
{
	uint64_t n = get_varint(b);
	int64_t first = unzigzag(get_varint(b));
	uint8_t head = get_u8(b);
	struct str packed = get_slice(b, get_varint(b));

	if (b->bad || !n || n > LIST_ROWS_MAX || head > (DELTAS_BLOCKS << 1 | 1))
		return false;
	int64_t *t = arena_alloc(arena, n * sizeof *t);
	t[0] = first;
	if (!deltas_unpack(packed, (struct deltas){ head >> 1, head & 1 }, t, n))
		return false;
	for (size_t i = 1; i < n; i++)
		if (t[i] <= t[i - 1])
			return false;
	*list = (struct times_list){ t, (uint32_t)n };
	return true;
}

struct times_list *times_unpack(struct str packed, struct arena *arena, size_t *count)
{
	struct bytes b = bytes_of(packed);
	uint64_t n = get_varint(&b);

	if (b.bad || n > LISTS_MAX || n > bytes_left(&b))
		return NULL;
	struct times_list *lists = ARENA_ARRAY(arena, struct times_list, n + 1);
	for (size_t i = 0; i < n; i++)
		if (!list_unpack(&b, arena, &lists[i]))
			return NULL;
	*count = n;
	return b.at == b.end ? lists : NULL;
}

/* ---- values and integers ---- */

static bool integers_of(const double *v, size_t n, int64_t *y)
{
	for (size_t i = 0; i < n; i++) {
		if (!(fabs(v[i]) < exact_limit))
			return false;
		y[i] = (int64_t)v[i];
		if (number_bits((double)y[i]) != number_bits(v[i])) /* -0 is none */
			return false;
	}
	return true;
}

static bool decimals_of(const double *v, size_t n, int scale, int64_t *y)
{
	for (size_t i = 0; i < n; i++) {
		double scaled = v[i] * powers[scale];
		if (!(fabs(scaled) < exact_limit))
			return false;
		y[i] = llrint(scaled);
		if (number_bits((double)y[i] / powers[scale]) != number_bits(v[i]))
			return false;
	}
	return true;
}

static enum mode column_integers(const double *v, size_t n, int64_t *y, int *scale)
{
	*scale = 0;
	if (integers_of(v, n, y))
		return MODE_INTEGER;
	for (*scale = 1; *scale <= DECIMALS_MAX; ++*scale)
		if (decimals_of(v, n, *scale, y))
			return MODE_DECIMAL;
	for (size_t i = 0; i < n; i++)
		y[i] = (int64_t)number_bits(v[i]);
	return MODE_BITS;
}

static double value_of(int64_t y, enum mode mode, int scale)
{
	if (mode == MODE_BITS)
		return number_from_bits((uint64_t)y);
	return mode == MODE_INTEGER ? (double)y : (double)y / powers[scale];
}

static void values_of(const int64_t *y, size_t n, enum mode mode, int scale, double *v)
{
	if (mode == MODE_BITS)
		memcpy(v, y, n * sizeof *v);
	else if (mode == MODE_INTEGER)
		for (size_t i = 0; i < n; i++)
			v[i] = (double)y[i];
	else
		for (size_t i = 0; i < n; i++)
			v[i] = (double)y[i] / powers[scale];
}

struct column_summary column_summarise(const double *v, size_t n)
{
	struct column_summary s = { .first = v[0], .last = v[n - 1] };
	double before = NAN;

	for (size_t i = 0; i < n; i++) {
		if (isnan(v[i])) {
			s.gaps = true;
			continue;
		}
		if (v[i] < before) {
			s.resets = true;
			s.increase += v[i];
		} else if (before == before) {
			s.increase += v[i] - before;
		}
		before = v[i];
	}
	/* Without a fall the increase is this, and need not be stored. */
	if (!s.resets && !s.gaps)
		s.increase = s.last - s.first;
	return s;
}

/* ---- writing ---- */

struct packing { /* one column while it is packed */
	struct buf *summary, *data;
	int64_t *y, *previous, *difference;
	int previous_mode; /* enum mode, or MODE_NONE */
	int previous_scale;
};

static uint8_t *put_first(uint8_t *at, int64_t first, enum mode mode)
{
	return mode == MODE_BITS ? put_u64(at, (uint64_t)first) : put_varint(at, zigzag(first));
}

static void column_pack_summary(struct packing *p, const struct column *c, size_t n, uint8_t head, enum mode mode, int scale)
{
	struct column_summary s = column_summarise(c->v, n);
	uint8_t *start = (uint8_t *)buf_reserve(p->summary, 8 * VARINT_MAX), *at = start;

	if (!at)
		return;
	if (s.resets || s.gaps)
		head |= HEAD_IRREGULAR;
	*at++ = head;
	if (head & HEAD_LISTED)
		at = put_varint(at, c->list);
	if (mode == MODE_DECIMAL)
		*at++ = (uint8_t)scale;
	at = put_first(at, p->y[0], mode);
	at = put_varint(at, zigzag((int64_t)((uint64_t)p->y[n - 1] - (uint64_t)p->y[0])));
	if (head & HEAD_IRREGULAR) {
		*at++ = (uint8_t)((s.resets ? IRREGULAR_RESETS : 0) | (s.gaps ? IRREGULAR_GAPS : 0));
		at = put_u64(at, number_bits(s.increase));
	}
	p->summary->len += (size_t)(at - start);
}

static struct deltas column_pack_data(struct packing *p, const int64_t *y, size_t n)
{
	struct deltas d = { DELTAS_NONE, false };
	uint8_t *start = (uint8_t *)buf_reserve(p->data, deltas_room(n) + VARINT_MAX);

	if (!start)
		return d;
	uint8_t *packed = start + VARINT_MAX;
	size_t size = (size_t)(deltas_pack(y, n, &d, packed) - packed);
	if (d.form == DELTAS_NONE)
		return d;
	uint8_t *at = put_varint(start, size);
	memmove(at, packed, size);
	p->data->len += (size_t)(at + size - start);
	return d;
}

static void column_pack(struct packing *p, const struct column *c, const struct column *before, size_t n)
{
	int scale;

	if (!c->v) {
		buf_add_c(p->summary, (char)(FORM_ABSENT << HEAD_FORM));
		p->previous_mode = MODE_NONE;
		return;
	}
	enum mode mode = column_integers(c->v, n, p->y, &scale);
	const int64_t *y = p->y;
	uint8_t head = (uint8_t)mode;
	bool comparable = before && before->list == c->list && p->previous_mode == mode && p->previous_scale == scale;

	if (comparable && ((c->above && mode == MODE_INTEGER) || memcmp(p->y, p->previous, n * sizeof *y) == 0)) {
		head |= HEAD_BELOW;
		for (size_t i = 0; i < n; i++)
			p->difference[i] = (int64_t)((uint64_t)p->y[i] - (uint64_t)p->previous[i]);
		y = p->difference;
	}
	struct deltas d = column_pack_data(p, y, n);
	head |= (uint8_t)(d.form << HEAD_FORM) | (d.second ? HEAD_SECOND : 0) | (c->list ? HEAD_LISTED : 0);
	column_pack_summary(p, c, n, head, mode, scale);
	p->previous_mode = mode;
	p->previous_scale = scale;
	int64_t *swap = p->y;
	p->y = p->previous;
	p->previous = swap;
}

void section_pack(const struct column *columns, size_t count, const struct times_list *lists, struct buf *summary, struct buf *data)
{
	struct packing p = { .summary = summary, .data = data, .previous_mode = MODE_NONE };
	size_t longest = 1;

	for (size_t i = 0; i < count; i++)
		if (columns[i].v)
			longest = lists[columns[i].list].count > longest ? lists[columns[i].list].count : longest;
	int64_t *room = mem_resize(NULL, longest, 3 * sizeof *room);
	p.y = room;
	p.previous = room + longest;
	p.difference = room + 2 * longest;
	uint8_t *at = (uint8_t *)buf_reserve(summary, VARINT_MAX);
	if (at)
		summary->len += (size_t)(put_varint(at, count) - at);
	for (size_t i = 0; i < count; i++)
		column_pack(&p, &columns[i], i ? &columns[i - 1] : NULL, columns[i].v ? lists[columns[i].list].count : 0);
	mem_free(room);
}

/* ---- reading ---- */

struct section_column {
	uint8_t head, scale;
	uint32_t list, count; /* count: samples */
	int64_t first, last;
	double increase;
	bool resets, gaps;
};

static bool column_open(struct bytes *b, const struct times_list *lists, size_t list_count, struct section_column *c)
{
	uint64_t list;

	c->head = get_u8(b);
	if (c->head == FORM_ABSENT << HEAD_FORM && !b->bad) {
		c->list = SECTION_ABSENT;
		return true;
	}
	list = c->head & HEAD_LISTED ? get_varint(b) : 0;
	enum mode mode = c->head & 3;
	c->scale = mode == MODE_DECIMAL ? get_u8(b) : 0;
	if (b->bad || mode > MODE_BITS || (c->head >> HEAD_FORM & 3) > DELTAS_BLOCKS || list >= list_count || c->scale > DECIMALS_MAX)
		return false;
	c->list = (uint32_t)list;
	c->count = lists[list].count;
	c->first = mode == MODE_BITS ? (int64_t)get_u64(b) : unzigzag(get_varint(b));
	c->last = (int64_t)((uint64_t)c->first + (uint64_t)unzigzag(get_varint(b)));
	c->increase = value_of(c->last, mode, c->scale) - value_of(c->first, mode, c->scale);
	if (c->head & HEAD_IRREGULAR) {
		uint8_t what = get_u8(b);
		c->resets = what & IRREGULAR_RESETS;
		c->gaps = what & IRREGULAR_GAPS;
		c->increase = number_from_bits(get_u64(b));
	}
	return !b->bad;
}

static bool column_follows(const struct section_column *c, const struct section_column *before)
{
	return before && before->list != SECTION_ABSENT && before->list == c->list && (before->head & 3) == (c->head & 3) &&
	       before->scale == c->scale;
}

bool section_open(struct section *s, struct str summary, const struct times_list *lists, size_t list_count, struct arena *arena)
{
	struct bytes b = bytes_of(summary);
	uint64_t count = get_varint(&b);

	if (b.bad || count > SECTION_COLUMNS_MAX || count > bytes_left(&b))
		return false;
	s->columns = ARENA_ARRAY(arena, struct section_column, count + 1);
	s->count = count;
	for (size_t i = 0; i < count; i++) {
		struct section_column *c = &s->columns[i];
		if (!column_open(&b, lists, list_count, c) || (c->head & HEAD_BELOW && !column_follows(c, i ? c - 1 : NULL)))
			return false;
	}
	return b.at == b.end;
}

uint32_t section_list(const struct section *s, size_t column)
{
	return s->columns[column].list;
}

struct column_summary section_summary(const struct section *s, size_t column)
{
	const struct section_column *c = &s->columns[column];
	enum mode mode = c->head & 3;

	return (struct column_summary){ value_of(c->first, mode, c->scale), value_of(c->last, mode, c->scale), c->increase, c->resets,
		c->gaps, (c->head >> HEAD_FORM & 3) == DELTAS_NONE && !(c->head & HEAD_BELOW) };
}

static bool column_has_data(const struct section_column *c)
{
	return (c->head >> HEAD_FORM & 3) != DELTAS_NONE;
}

/* What is packed of one column: its integers, or how they differ from those of the column before. */
static bool column_unpack(const struct section_column *c, struct str packed, int64_t *y)
{
	bool below = c->head & HEAD_BELOW;
	struct deltas d = { c->head >> HEAD_FORM & 3, c->head & HEAD_SECOND };
	uint64_t last = (uint64_t)c->last - (below ? (uint64_t)c[-1].last : 0);

	y[0] = (int64_t)((uint64_t)c->first - (below ? (uint64_t)c[-1].first : 0));
	return deltas_unpack(packed, d, y, c->count) && (uint64_t)y[c->count - 1] == last;
}

static void add_all(int64_t *y, const int64_t *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = (int64_t)((uint64_t)y[i] + (uint64_t)x[i]);
}

/* Columns [0, end) are gone through; one that nobody asked for is read only where one that is asked for stands on it. */
static size_t columns_end(const struct section *s, double *const *out)
{
	size_t end = s->count;

	while (end && !out[end - 1])
		end--;
	return end;
}

/* Rows of the longest column, at least 1: what a buffer for any of them holds. */
static size_t longest_column(const struct section *s)
{
	size_t longest = 1;

	for (size_t i = 0; i < s->count; i++)
		longest = s->columns[i].count > longest ? s->columns[i].count : longest;
	return longest;
}

static bool column_needed(const struct section *s, size_t i, size_t end, double *const *out)
{
	bool needed = out[i];

	for (size_t k = i + 1; !needed && k < end && s->columns[k].head & HEAD_BELOW; k++)
		needed = out[k];
	return needed;
}

bool section_values(const struct section *s, struct str data, const struct times_list *lists, double *const *out, struct arena *arena)
{
	struct bytes b = bytes_of(data);
	size_t longest = longest_column(s), end = columns_end(s, out);
	int64_t *y = arena_alloc(arena, longest * 2 * sizeof *y), *previous = y + longest;
	for (size_t i = 0; i < end; i++) {
		const struct section_column *c = &s->columns[i];
		if (c->list == SECTION_ABSENT)
			continue;
		struct str packed = column_has_data(c) ? get_slice(&b, get_varint(&b)) : STR_EMPTY;
		if (b.bad)
			return false;
		if (!column_needed(s, i, end, out))
			continue;
		if (!column_unpack(c, packed, y))
			return false;
		if (c->head & HEAD_BELOW)
			add_all(y, previous, c->count);
		if (out[i])
			values_of(y, c->count, c->head & 3, c->scale, out[i]);
		int64_t *swap = y;
		y = previous;
		previous = swap;
	}
	return end < s->count || b.at == b.end;
}

/* `picked` holds the rows of the column before, and then those of this one. */
static bool column_pick(
	const struct section_column *c, struct str packed, int64_t *y, const uint32_t *rows, size_t row_count, int64_t *picked)
{
	if (!(c->head & HEAD_BELOW))
		memset(picked, 0, row_count * sizeof *picked);
	if (!column_has_data(c)) { /* constant, or at a constant distance */
		uint64_t step = (uint64_t)c->first - (c->head & HEAD_BELOW ? (uint64_t)c[-1].first : 0);
		for (size_t k = 0; k < row_count; k++)
			picked[k] = (int64_t)((uint64_t)picked[k] + step);
		return (uint64_t)c->last - (c->head & HEAD_BELOW ? (uint64_t)c[-1].last : 0) == step;
	}
	if (!column_unpack(c, packed, y))
		return false;
	for (size_t k = 0; k < row_count; k++)
		picked[k] = (int64_t)((uint64_t)picked[k] + (uint64_t)y[rows[k]]);
	return true;
}

bool section_rows(const struct section *s, struct str data, const uint32_t *rows, size_t row_count, double *const *out, struct arena *arena)
{
	struct bytes b = bytes_of(data);
	size_t longest = longest_column(s), end = columns_end(s, out);
	int64_t *y = arena_alloc(arena, longest * sizeof *y), *picked = arena_alloc(arena, (row_count + 1) * sizeof *picked);
	for (size_t i = 0; i < end; i++) {
		const struct section_column *c = &s->columns[i];
		if (c->list == SECTION_ABSENT)
			continue;
		struct str packed = column_has_data(c) ? get_slice(&b, get_varint(&b)) : STR_EMPTY;
		if (b.bad)
			return false;
		if (!column_needed(s, i, end, out))
			continue;
		if (rows[row_count - 1] >= c->count || !column_pick(c, packed, y, rows, row_count, picked))
			return false;
		if (out[i])
			values_of(picked, row_count, c->head & 3, c->scale, out[i]);
	}
	return end < s->count || b.at == b.end;
}
