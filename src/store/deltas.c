#include "store/deltas.h"

#include <math.h>

/* A token is one byte: how many unchanged values stand before the change, and which change. Small changes are named in it, others follow
 * as a varint; so does what a longer run has more. */
enum { GAP_MORE = 31, CHANGE_MORE = 7 };
/* Blocks begin with what is taken off each difference. A block begins with a byte: how wide its fields are, or the parameter of a Rice code
 * (quotient in unary, rest in k bits), which is shorter where small differences are frequent. Where none falls the sign needs no bit. */
enum { BLOCK = 32, WIDTH_MOST = 64, RICE_MOST = 24, BLOCK_HEAD_MOST = WIDTH_MOST + 1 + RICE_MOST, BLOCK_RISING = 0x80 };

size_t deltas_room(size_t n)
{
	return n * (1 + 2 * VARINT_MAX) + 64;
}

static int64_t minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int width_of(uint64_t u)
{
	return u ? 64 - __builtin_clzll(u) : 0;
}

/* What i adds: the difference, or how it differs from the one before. */
static inline int64_t step_at(const int64_t *y, size_t i, bool second)
{
	int64_t d = minus(y[i], y[i - 1]);
	return second && i > 1 ? minus(d, minus(y[i - 1], y[i - 2])) : d;
}

/* ---- tokens ---- */

static uint8_t *pack_tokens(const int64_t *y, size_t n, bool second, uint8_t *at)
{
	size_t gap = 0;

	for (size_t i = 1; i < n; i++) {
		uint64_t u = zigzag(step_at(y, i, second));

		if (!u) {
			gap++;
			continue;
		}
		uint8_t change = u <= CHANGE_MORE ? (uint8_t)(u - 1) : CHANGE_MORE;
		*at++ = (uint8_t)((gap < GAP_MORE ? gap : GAP_MORE) << 3 | change);
		if (gap >= GAP_MORE)
			at = put_varint(at, gap - GAP_MORE);
		if (change == CHANGE_MORE)
			at = put_varint(at, u);
		gap = 0;
	}
	return at;
}

/* Values until the next change go on as they were: the same, or with the same slope. */
static int64_t *fill(int64_t *at, size_t count, int64_t value, int64_t slope)
{
	if (slope)
		for (size_t i = 0; i < count; i++)
			at[i] = value = plus(value, slope);
	else
		for (size_t i = 0; i < count; i++)
			at[i] = value;
	return at + count;
}

static bool unpack_tokens(struct bytes b, bool second, int64_t *y, size_t n)
{
	int64_t *at = y + 1, *end = y + n, slope = 0;

	while (b.at != b.end) {
		uint8_t token = *b.at++;
		uint64_t gap = token >> 3, u = (uint64_t)(token & 7) + 1;

		if (gap == GAP_MORE)
			gap += get_varint(&b);
		if (u == CHANGE_MORE + 1)
			u = get_varint(&b);
		if (b.bad || gap >= (uint64_t)(end - at))
			return false;
		at = fill(at, gap, at[-1], slope);
		int64_t change = unzigzag(u);
		if (second)
			change = slope = plus(slope, change);
		*at = plus(at[-1], change);
		at++;
	}
	fill(at, (size_t)(end - at), at[-1], slope);
	return true;
}

/* ---- bits ---- */

struct bit_writer {
	uint8_t *at;
	uint64_t held;
	int bits; /* below 8 between calls */
};

static void put_bits(struct bit_writer *w, uint64_t u, int width)
{
	if (width > 32) {
		put_bits(w, u & UINT32_MAX, 32);
		put_bits(w, u >> 32, width - 32);
		return;
	}
	w->held |= u << w->bits;
	for (w->bits += width; w->bits >= 8; w->bits -= 8, w->held >>= 8)
		*w->at++ = (uint8_t)w->held;
}

struct bit_reader {
	const uint8_t *at, *end;
	uint64_t held;
	int bits;
	bool bad;
};

static inline bool reader_has_room(const struct bit_reader *r)
{
	return r->end - r->at >= 8;
}

/* At least 56 bits, or all that is left. */
static inline void refill(struct bit_reader *r)
{
	if (reader_has_room(r)) {
		uint64_t next;
		memcpy(&next, r->at, sizeof next);
		r->held |= next << r->bits;
		r->at += (63 - r->bits) >> 3;
		r->bits |= 56;
		return;
	}
	for (; r->bits <= 56 && r->at != r->end; r->bits += 8)
		r->held |= (uint64_t)*r->at++ << r->bits;
}

static inline uint64_t get_bits(struct bit_reader *r, int width) /* at most 32 */
{
	if (r->bits < width)
		refill(r);
	if (r->bits < width) {
		r->bad = true;
		return 0;
	}
	uint64_t u = r->held & ((UINT64_C(1) << width) - 1);
	r->held >>= width;
	r->bits -= width;
	return u;
}

static inline uint64_t get_wide(struct bit_reader *r, int width)
{
	if (width <= 32)
		return get_bits(r, width);
	uint64_t low = get_bits(r, 32);
	return low | get_bits(r, width - 32) << 32;
}

static inline uint64_t get_unary(struct bit_reader *r)
{
	uint64_t count = 0;

	for (;;) {
		if (r->bits < 32)
			refill(r);
		uint64_t seen = r->bits ? r->held & (~UINT64_C(0) >> (64 - r->bits)) : 0;
		if (seen) {
			int zeros = __builtin_ctzll(seen);
			r->held = zeros == 63 ? 0 : r->held >> (zeros + 1);
			r->bits -= zeros + 1;
			return count + (uint64_t)zeros;
		}
		if (r->at == r->end) {
			r->bad = true;
			return 0;
		}
		count += (uint64_t)r->bits;
		r->held = 0;
		r->bits = 0;
	}
}

/* ---- blocks ---- */

struct block {
	uint64_t u[BLOCK]; /* differences without sign: as they are, or in zigzag */
	size_t count;
	uint8_t head;
	size_t bits;
};

static size_t rice_bits(const struct block *b, int k)
{
	size_t bits = b->count * (size_t)(k + 1);

	for (size_t i = 0; i < b->count; i++) {
		if (b->u[i] >> k > 1 << 12)
			return SIZE_MAX;
		bits += b->u[i] >> k;
	}
	return bits;
}

static void block_take(struct block *b, const int64_t *y, size_t from, size_t n, bool second, int64_t base)
{
	uint64_t all = 0, signs = 0;
	double sum = 0;

	b->count = n - from < BLOCK ? n - from : BLOCK;
	for (size_t i = 0; i < b->count; i++) {
		b->u[i] = (uint64_t)minus(step_at(y, from + i, second), base);
		signs |= b->u[i] >> 63;
	}
	for (size_t i = 0; i < b->count; i++) {
		b->u[i] = signs ? zigzag((int64_t)b->u[i]) : b->u[i];
		all |= b->u[i];
		sum += (double)b->u[i];
	}
	double mean = sum / (double)b->count;
	int width = width_of(all), best = mean < 1e18 ? width_of((uint64_t)mean) : WIDTH_MOST;
	b->head = (uint8_t)(width | (signs ? 0 : BLOCK_RISING));
	b->bits = 8 + (size_t)width * b->count;
	for (int k = best > 1 ? best - 2 : 0; k <= best && k <= RICE_MOST; k++) {
		size_t bits = rice_bits(b, k);
		if (bits == SIZE_MAX || 8 + bits >= b->bits)
			continue;
		b->bits = 8 + bits;
		b->head = (uint8_t)((WIDTH_MOST + 1 + k) | (signs ? 0 : BLOCK_RISING));
	}
}

static void put_rice(struct bit_writer *w, uint64_t u, int k)
{
	uint64_t quotient = u >> k;

	for (; quotient >= 24; quotient -= 24)
		put_bits(w, 0, 24);
	put_bits(w, UINT64_C(1) << quotient, (int)quotient + 1);
	put_bits(w, u & ((UINT64_C(1) << k) - 1), k);
}

static uint8_t *pack_blocks(const int64_t *y, size_t n, bool second, int64_t base, uint8_t *at)
{
	struct bit_writer w = { .at = put_varint(at, zigzag(base)) };
	struct block b;

	for (size_t from = 1; from < n; from += BLOCK) {
		block_take(&b, y, from, n, second, base);
		int kind = b.head & ~BLOCK_RISING;
		put_bits(&w, b.head, 8);
		for (size_t i = 0; i < b.count; i++) {
			if (kind > WIDTH_MOST)
				put_rice(&w, b.u[i], kind - WIDTH_MOST - 1);
			else
				put_bits(&w, b.u[i], kind);
		}
	}
	if (w.bits)
		*w.at++ = (uint8_t)w.held;
	return w.at;
}

static int64_t change_of(uint64_t u, bool rising, int64_t base)
{
	return plus(rising ? (int64_t)u : unzigzag(u), base);
}

/* As many values of a Rice code as are sure to be followed by as many bytes as one refill takes; returns how many. The state is in
 * registers here, and the sum goes along with the next value's bits. */
static inline size_t unpack_rice_fast(struct bit_reader *reader, int64_t *y, size_t count, int k, bool rising, int64_t base)
{
	const uint8_t *at = reader->at, *last = reader->end - 8;
	uint64_t held = reader->held, mask = (UINT64_C(1) << k) - 1;
	int bits = reader->bits;
	int64_t value = y[-1];
	size_t i = 0;

	for (; i < count && at <= last; i++) {
		uint64_t next;
		memcpy(&next, at, sizeof next);
		held |= next << bits;
		at += (63 - bits) >> 3;
		bits |= 56;
		int zeros = held ? __builtin_ctzll(held) : 64;
		if (__builtin_expect(zeros + 1 + k > bits, 0))
			break;
		held = held >> zeros >> 1;
		uint64_t u = (uint64_t)zeros << k | (held & mask);
		held >>= k;
		bits -= zeros + 1 + k;
		y[i] = value = plus(value, change_of(u, rising, base));
	}
	reader->at = at;
	reader->held = held;
	reader->bits = bits;
	return i;
}

/* A block of order 1; y[-1] is the value before. */
static bool unpack_block(struct bit_reader *r, int64_t *y, size_t count, int head, int64_t base)
{
	bool rising = head & BLOCK_RISING;
	int kind = head & ~BLOCK_RISING, k = kind - WIDTH_MOST - 1;
	int64_t value = y[-1];
	size_t i = 0;

	if (kind > BLOCK_HEAD_MOST)
		return false;
	for (; kind <= WIDTH_MOST && i < count; i++)
		y[i] = value = plus(value, change_of(get_wide(r, kind), rising, base));
	if (i < count && reader_has_room(r))
		i = rising ? unpack_rice_fast(r, y, count, k, true, base) : unpack_rice_fast(r, y, count, k, false, base);
	value = i ? y[i - 1] : value;
	for (; i < count; i++) {
		uint64_t quotient = get_unary(r);
		y[i] = value = plus(value, change_of(quotient << k | get_bits(r, k), rising, base));
	}
	return !r->bad;
}

static bool unpack_blocks(struct bytes in, bool second, int64_t *y, size_t n)
{
	int64_t base = unzigzag(get_varint(&in)), bent[BLOCK + 1] = { 0 };
	struct bit_reader r = { .at = in.at, .end = in.end, .bad = in.bad };

	for (size_t from = 1; from < n; from += BLOCK) {
		size_t count = n - from < BLOCK ? n - from : BLOCK;
		int head = (int)get_bits(&r, 8);
		/* Of order 2: first the differences. */
		if (r.bad || !unpack_block(&r, second ? bent + 1 : y + from, count, head, base))
			return false;
		for (size_t i = 0; second && i < count; i++)
			y[from + i] = plus(y[from + i - 1], bent[i + 1]);
		bent[0] = second ? bent[count] : 0;
	}
	return r.at == r.end && r.bits < 8;
}

/* ---- choice ---- */

struct shape {                        /* of the differences */
	double mean, deviation, bend; /* bend: mean size of the differences of differences */
	size_t token_bytes, bent_token_bytes;
	bool none;
};

static size_t token_bytes(int64_t d)
{
	uint64_t u = zigzag(d);

	return u > CHANGE_MORE ? 1 + varint_size(u) : u != 0;
}

static struct shape shape_of(const int64_t *y, size_t n)
{
	struct shape s = { .none = true };

	for (size_t i = 1; i < n; i++) {
		int64_t d = step_at(y, i, false), bend = step_at(y, i, true);
		s.none &= !d;
		s.mean += (double)d;
		s.bend += fabs((double)bend);
		s.token_bytes += token_bytes(d);
		s.bent_token_bytes += token_bytes(bend);
	}
	s.mean /= (double)(n - 1);
	for (size_t i = 1; i < n; i++)
		s.deviation += fabs((double)step_at(y, i, false) - s.mean);
	s.bend /= (double)(n - 1);
	s.deviation /= (double)(n - 1);
	return s;
}

static size_t block_bytes(const int64_t *y, size_t n, bool second, int64_t base)
{
	struct block b;
	size_t bits = 0;

	for (size_t from = 1; from < n; from += BLOCK) {
		block_take(&b, y, from, n, second, base);
		bits += b.bits;
	}
	return (bits + 7) / 8 + varint_size(zigzag(base));
}

uint8_t *deltas_pack(const int64_t *y, size_t n, struct deltas *d, uint8_t *at)
{
	*d = (struct deltas){ DELTAS_NONE, false };
	if (n < 2)
		return at;
	struct shape s = shape_of(y, n);
	if (s.none)
		return at;
	/* Differences of noise are noisier: order 2 is for slopes. */
	d->second = s.bend < 0.6 * s.deviation;
	int64_t base = !d->second && fabs(s.mean) > 2 * s.deviation && fabs(s.mean) < 1e18 ? (int64_t)s.mean : 0;
	size_t tokens = d->second ? s.bent_token_bytes : s.token_bytes;
	/* Deflate takes about a fifth off tokens, nothing off bits. */
	d->form = tokens * 6 < n || tokens * 4 < block_bytes(y, n, d->second, base) * 5 ? DELTAS_TOKENS : DELTAS_BLOCKS;
	return d->form == DELTAS_TOKENS ? pack_tokens(y, n, d->second, at) : pack_blocks(y, n, d->second, base, at);
}

bool deltas_unpack(struct str packed, struct deltas d, int64_t *y, size_t n)
{
	switch (d.form) {
	case DELTAS_NONE: fill(y + 1, n - 1, y[0], 0); return packed.len == 0;
	case DELTAS_TOKENS: return unpack_tokens(bytes_of(packed), d.second, y, n);
	case DELTAS_BLOCKS: return unpack_blocks(bytes_of(packed), d.second, y, n);
	}
	return false;
}
