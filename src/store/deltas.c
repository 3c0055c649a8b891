#include "store/deltas.h"

/* A token is one byte: how many unchanged values stand before the change, and which change. Small changes are named in it, others follow
 * as a varint; so does what a longer run has more. */
enum { GAP_MORE = 31, CHANGE_MORE = 7, BLOCK = 32 };

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

/* ---- choice ---- */

struct cost {
	size_t widths, tokens, bits;
	bool none;
};

static struct cost cost_of(const int64_t *y, size_t n, bool second)
{
	struct cost c = { .none = true };
	size_t gap = 0;
	int widest = 0;

	for (size_t i = 1; i < n; i++) {
		uint64_t u = zigzag(step_at(y, i, second));
		int width = width_of(u);

		c.widths += (size_t)width;
		widest = width > widest ? width : widest;
		if ((i - 1) % BLOCK == BLOCK - 1 || i == n - 1) {
			c.bits += 1 + ((size_t)widest * ((i - 1) % BLOCK + 1) + 7) / 8;
			widest = 0;
		}
		if (!u) {
			gap++;
			continue;
		}
		c.none = false;
		c.tokens += 1 + (gap >= GAP_MORE ? varint_size(gap - GAP_MORE) : 0) + (u > CHANGE_MORE ? varint_size(u) : 0);
		gap = 0;
	}
	return c;
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

/* ---- bit fields: blocks of 32 of one width ---- */

static uint8_t *pack_block(const int64_t *y, size_t from, size_t count, bool second, uint8_t *at)
{
	uint64_t all = 0;
	unsigned __int128 held = 0;
	int held_bits = 0;

	for (size_t i = 0; i < count; i++)
		all |= zigzag(step_at(y, from + i, second));
	int width = width_of(all);
	*at++ = (uint8_t)width;
	for (size_t i = 0; i < count; i++) {
		held |= (unsigned __int128)zigzag(step_at(y, from + i, second)) << held_bits;
		held_bits += width;
		for (; held_bits >= 8; held_bits -= 8, held >>= 8)
			*at++ = (uint8_t)held;
	}
	if (held_bits)
		*at++ = (uint8_t)held;
	return at;
}

static bool unpack_block(struct bytes *b, int width, size_t count, uint64_t *u)
{
	struct bytes in = bytes_of(get_slice(b, ((uint64_t)width * count + 7) / 8));
	unsigned __int128 held = 0;
	int held_bits = 0;
	uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;

	if (b->bad)
		return false;
	for (size_t i = 0; i < count; i++) {
		while (held_bits < width) {
			held |= (unsigned __int128)*in.at++ << held_bits;
			held_bits += 8;
		}
		u[i] = (uint64_t)held & mask;
		held >>= width;
		held_bits -= width;
	}
	return true;
}

static bool unpack_bits(struct bytes b, bool second, int64_t *y, size_t n)
{
	int64_t slope = 0;

	for (size_t from = 1; from < n; from += BLOCK) {
		uint64_t u[BLOCK];
		size_t count = n - from < BLOCK ? n - from : BLOCK;
		int width = get_u8(&b);

		if (b.bad || width > 64 || !unpack_block(&b, width, count, u))
			return false;
		for (size_t i = 0; i < count; i++) {
			int64_t change = unzigzag(u[i]);
			if (second)
				change = slope = plus(slope, change);
			y[from + i] = plus(y[from + i - 1], change);
		}
	}
	return b.at == b.end;
}

/* ---- both ---- */

uint8_t *deltas_pack(const int64_t *y, size_t n, struct deltas *d, uint8_t *at)
{
	struct cost first = cost_of(y, n, false);

	*d = (struct deltas){ DELTAS_NONE, false };
	if (first.none)
		return at;
	struct cost second = cost_of(y, n, true);
	d->second = second.widths * 10 < first.widths * 9;
	const struct cost *c = d->second ? &second : &first;
	/* Tokens repeat, so that deflate still shortens them; the noise in bit fields does not. */
	d->form = c->bits * 4 < c->tokens * 3 ? DELTAS_BITS : DELTAS_TOKENS;
	if (d->form == DELTAS_TOKENS)
		return pack_tokens(y, n, d->second, at);
	for (size_t from = 1; from < n; from += BLOCK)
		at = pack_block(y, from, n - from < BLOCK ? n - from : BLOCK, d->second, at);
	return at;
}

bool deltas_unpack(struct str packed, struct deltas d, int64_t *y, size_t n)
{
	if (d.form == DELTAS_NONE) {
		fill(y + 1, n - 1, y[0], 0);
		return packed.len == 0;
	}
	return d.form == DELTAS_TOKENS ? unpack_tokens(bytes_of(packed), d.second, y, n) : unpack_bits(bytes_of(packed), d.second, y, n);
}
