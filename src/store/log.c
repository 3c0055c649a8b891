/* The log: what was appended since the last commit, as records in one row of the file. Rows of a group stand as differences to the row
 * before; after a group is sealed its next record stands by itself, so that rows of the log that are covered by chunks can go. */
#include "base/number.h"
#include "store/bytes.h"
#include "store/internal.h"

#include <math.h>

uint32_t series_key(struct disk *disk, uint32_t id)
{
	while (disk->keys.count <= id)
		VEC_PUSH(&disk->keys, disk->next_key++);
	return disk->keys.items[id];
}

/* Exactly an integer below 2^53; -0 is none. */
static inline bool integer_of(double v, int64_t *i)
{
	if (!(fabs(v) < 9007199254740992.0))
		return false;
	*i = (int64_t)v;
	return number_bits((double)*i) == number_bits(v);
}

/* Keys come in the order of their series, mostly. */
struct series *series_of_key(const struct store *s, uint64_t key)
{
	struct disk *disk = s->disk;
	size_t low = 0, high = disk->keys.count, next = disk->key_hint + 1;

	if (next < high && disk->keys.items[next] == key)
		low = high = next;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (disk->keys.items[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == disk->keys.count || disk->keys.items[low] != key)
		return NULL;
	disk->key_hint = low;
	return series_at(s, low);
}

/* ---- writing ---- */

static inline uint8_t *put_value(uint8_t *at, double value, double before)
{
	int64_t a, b;

	if (integer_of(value, &a) && integer_of(before, &b))
		return put_varint(at, zigzag(a - b) << 1);
	*at++ = 1;
	return put_varint(at, zigzag((int64_t)(number_bits(value) - number_bits(before))));
}

static uint8_t *put_row(uint8_t *at, const double *values, const double *last, size_t count)
{
	size_t unchanged = 0;

	for (size_t i = 0; i < count; i++) {
		if (number_bits(values[i]) == number_bits(last[i])) {
			unchanged++;
			continue;
		}
		at = put_varint(at, unchanged);
		at = put_value(at, values[i], last[i]);
		unchanged = 0;
	}
	return unchanged ? put_varint(at, unchanged) : at;
}

void record_row(struct disk *disk, struct group *g, const double *values, int64_t t_ms, const uint64_t *absent)
{
	size_t count = g->set->count, words = group_words(g);

	if (disk->degraded)
		return;
	uint8_t *start = (uint8_t *)buf_reserve(&disk->records, 1 + 2 * VARINT_MAX + words * 8 + count * (2 * VARINT_MAX + 1) + VARINT_MAX),
		*at = start;
	if (!at)
		return;
	if (g->fresh)
		memset(g->last, 0, count * sizeof *g->last);
	*at++ = (uint8_t)(RECORD_ROW | (g->fresh ? RECORD_FRESH : 0) | (absent ? RECORD_ABSENT : 0));
	at = put_varint(at, g->set->number);
	at = put_varint(at, zigzag(g->fresh ? t_ms : (int64_t)((uint64_t)t_ms - (uint64_t)g->newest_ms)));
	if (absent) {
		memcpy(at, absent, words * sizeof *absent);
		at += words * sizeof *absent;
	}
	at = put_row(at, values, g->last, count);
	g->fresh = false;
	disk->records.len += (size_t)(at - start);
}

void records_begin(struct disk *disk)
{
	buf_reset(&disk->records);
	disk->record_t_ms = 0;
	disk->record_key = 0;
}

void record_loose(struct disk *disk, const struct series *series, int64_t t_ms, double value)
{
	if (disk->degraded)
		return;
	uint8_t *start = (uint8_t *)buf_reserve(&disk->records, 5 * VARINT_MAX), *at = start;
	if (!at)
		return;
	uint64_t key = series_key(disk, series->id);
	/* What comes from one target has one time, and comes in the order in which it was first seen. */
	bool next = key == disk->record_key + 1 && t_ms == disk->record_t_ms;
	*at++ = (uint8_t)(RECORD_LOOSE | (next ? RECORD_NEXT : 0));
	if (!next) {
		at = put_varint(at, key);
		at = put_varint(at, zigzag((int64_t)((uint64_t)t_ms - (uint64_t)disk->record_t_ms)));
	}
	at = put_value(at, value, 0);
	disk->record_key = key;
	disk->record_t_ms = t_ms;
	disk->records.len += (size_t)(at - start);
}

/* ---- reading ---- */

static inline double get_value(struct bytes *b, double before)
{
	uint64_t u = get_varint(b);
	int64_t i;

	if (u & 1)
		return number_from_bits(number_bits(before) + (uint64_t)unzigzag(get_varint(b)));
	if (!integer_of(before, &i))
		b->bad = true;
	else
		i = (int64_t)((uint64_t)i + (uint64_t)unzigzag(u >> 1));
	return b->bad ? 0 : (double)i;
}

static bool get_row(struct bytes *b, double *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t unchanged = get_varint(b);
		if (b->bad || unchanged > count - i)
			return false;
		i += unchanged;
		if (i < count)
			values[i] = get_value(b, values[i]);
	}
	return !b->bad;
}

static size_t absent_count(const uint64_t *absent, size_t words)
{
	size_t count = 0;

	for (size_t i = 0; i < words; i++)
		count += (size_t)__builtin_popcountll(absent[i]);
	return count;
}

struct row_record {
	uint8_t kind;
	struct set *set;
	int64_t t_ms; /* absolute when fresh, else since the row before */
	uint64_t *absent;
	size_t missing;
	double *values;
};

/* Reads the record; its values start from `before`, or 0 when it is fresh. */
static bool get_row_record(struct disk *disk, struct bytes *b, struct row_record *r)
{
	uint64_t number = get_varint(b);

	r->t_ms = unzigzag(get_varint(b));
	if (b->bad || number >= disk->sets.count || !disk->sets.items[number])
		return false;
	r->set = disk->sets.items[number];
	const struct group *g = r->set->group;
	size_t count = r->set->count, words = (count + 63) / 64;
	if (r->kind & RECORD_ABSENT) {
		struct str bits = get_slice(b, words * sizeof *r->absent);
		r->absent = arena_zalloc(&disk->arena, words + 1, sizeof *r->absent);
		if (bits.len)
			memcpy(r->absent, bits.ptr, bits.len);
		/* Bits behind the last column are always set. */
		if (count % 64)
			r->absent[words - 1] |= ~UINT64_C(0) << count % 64;
		r->missing = absent_count(r->absent, words) - (words * 64 - count);
	}
	r->values = arena_zalloc(&disk->arena, count + 1, sizeof *r->values);
	if (!(r->kind & RECORD_FRESH) && g)
		memcpy(r->values, g->last, count * sizeof *r->values);
	return get_row(b, r->values, count);
}

static bool replay_row(struct store *s, struct bytes *b, uint8_t kind, uint64_t seq)
{
	struct disk *disk = s->disk;
	struct row_record r = { .kind = kind };
	bool fresh = kind & RECORD_FRESH;

	if (!get_row_record(disk, b, &r))
		return false;
	struct group *g = r.set->group;
	/* Chunks have it; also when it continues rows that are gone from the log. */
	if (seq <= r.set->sealed || (!fresh && (!g || !g->rows)))
		return true;
	g = g ? g : group_new(s, r.set);
	int64_t t_ms = fresh ? r.t_ms : (int64_t)((uint64_t)r.t_ms + (uint64_t)g->newest_ms);
	if (g->rows && t_ms <= g->newest_ms)
		return false;
	/* A cut is where it was when it was written: there the record stands by itself. */
	if (fresh)
		group_cut(disk, g, t_ms, seq);
	memcpy(group_room(g), r.values, r.set->count * sizeof *r.values);
	g->fresh = false;
	group_push(s, g, t_ms, r.absent, r.set->count - r.missing);
	g->log_first = g->rows == 1 ? seq : g->log_first;
	g->log_last = seq;
	return true;
}

/* The last row of the log that chunks of any of its sets cover. */
static uint64_t series_sealed(const struct disk *disk, const struct series *series)
{
	uint64_t sealed = 0;

	for (uint32_t p = series->place; p != NO_PLACE; p = disk->places.items[p].next) {
		const struct set *set = disk->sets.items[disk->places.items[p].set];
		if (set && set->sealed > sealed)
			sealed = set->sealed;
	}
	return sealed;
}

static bool replay_loose(struct store *s, struct bytes *b, uint8_t kind, uint64_t seq)
{
	struct disk *disk = s->disk;
	bool next = kind & RECORD_NEXT;
	uint64_t key = next ? disk->record_key + 1 : get_varint(b);
	int64_t t_ms = (int64_t)((uint64_t)disk->record_t_ms + (uint64_t)(next ? 0 : unzigzag(get_varint(b))));
	double value = get_value(b, 0);

	disk->record_key = key;
	disk->record_t_ms = t_ms;
	struct series *series = b->bad ? NULL : series_of_key(s, key);
	if (!series)
		return false;
	if (seq <= series_sealed(disk, series))
		return true;
	if (series->group) {
		series->flags |= SERIES_DETACHED;
		series->group->misfit = true;
	}
	series_ask(s, series, t_ms);
	if (series_append(series, t_ms, value) != APPEND_OK)
		return false;
	loose_note(disk, series, t_ms);
	if (disk->loose_samples == 1)
		disk->loose_log_first = seq;
	store_count(s, t_ms, 1);
	return true;
}

bool log_replay(struct store *s, uint64_t seq, struct str records, struct error *e)
{
	struct disk *disk = s->disk;
	struct bytes b = bytes_of(records);
	bool ok = true;

	records_begin(disk);
	while (ok && b.at != b.end) {
		uint8_t kind = get_u8(&b);
		if (kind & RECORD_ROW)
			ok = replay_row(s, &b, kind, seq);
		else
			ok = (kind & ~RECORD_NEXT) == RECORD_LOOSE && replay_loose(s, &b, kind, seq);
		arena_reset(&disk->arena);
	}
	records_begin(disk);
	return ok || database_damaged(disk->path, "a row of the log cannot be read", e);
}
