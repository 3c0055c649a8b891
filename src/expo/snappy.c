#include "expo/snappy.h"

#include "base/mem.h"

/* A tag byte's low two bits. */
enum { TAG_LITERAL, TAG_COPY_11, TAG_COPY_16, TAG_COPY_32 };

enum { FRAGMENT = 1 << 16, HASH_BITS = 14, MATCH_LEAST = 4, COPY_MOST = 64, TAIL = 15 };

static bool corrupt(struct error *e, const char *why)
{
	return error_set(e, EXIT_BAD_INPUT, "snappy: corrupt input: %s", why);
}

static bool read_length(struct str *rest, size_t *length)
{
	*length = 0;
	for (unsigned shift = 0; shift < 35 && rest->len; shift += 7) {
		unsigned char byte = (unsigned char)rest->ptr[0];
		*rest = str_skip(*rest, 1);
		*length |= (size_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return *length <= UINT32_MAX;
	}
	return false;
}

static size_t load_le(const unsigned char *at, size_t count)
{
	size_t value = 0;
	for (size_t i = 0; i < count; i++)
		value |= (size_t)at[i] << (8 * i);
	return value;
}

/* A copy may overlap what it makes: "abab..." from an offset of 2. */
static void copy_within(char *to, size_t offset, size_t length)
{
	const char *from = to - offset;
	if (offset >= length) {
		memcpy(to, from, length);
		return;
	}
	for (size_t i = 0; i < length; i++)
		to[i] = from[i];
}

/* What one tag says: a literal (offset 0) or a copy, and how many bytes it takes itself. */
struct element {
	size_t length, offset, head;
};

static bool read_element(struct str rest, struct element *el)
{
	const unsigned char *at = (const unsigned char *)rest.ptr;
	unsigned kind = at[0] & 3, upper = at[0] >> 2;
	size_t extra = kind == TAG_LITERAL ? (upper >= 60 ? upper - 59 : 0) : kind == TAG_COPY_32 ? 4 : kind;
	if (rest.len < 1 + extra)
		return false;
	el->head = 1 + extra;
	el->length = upper + 1;
	el->offset = 0;
	switch (kind) {
	case TAG_LITERAL: el->length = extra ? load_le(at + 1, extra) + 1 : el->length; return true;
	case TAG_COPY_11:
		el->length = (upper & 7) + 4;
		el->offset = (size_t)(upper >> 3) << 8 | at[1];
		return el->offset > 0;
	default: el->offset = load_le(at + 1, extra); return el->offset > 0;
	}
}

bool snappy_decode(struct str block, size_t max, struct buf *out, struct error *e)
{
	size_t length, done = 0;
	if (!read_length(&block, &length))
		return corrupt(e, "no length");
	if (length > max)
		return error_set(e, EXIT_BAD_INPUT, "snappy: the decompressed size of %zu bytes is above the limit of %zu", length, max);
	/* A copy of 64 bytes takes 3: what claims to become much more than that is no block. */
	if (length > 64 * block.len)
		return corrupt(e, "it cannot become as long as it says");
	char *to = buf_reserve(out, length);
	if (!to)
		return error_set(e, EXIT_BAD_INPUT, "snappy: the decompressed size of %zu bytes is above the limit", length);
	while (block.len) {
		struct element el;
		if (!read_element(block, &el))
			return corrupt(e, "it breaks off");
		block = str_skip(block, el.head);
		if (el.length > length - done)
			return corrupt(e, "longer than it says");
		if (el.offset > done || (!el.offset && el.length > block.len))
			return corrupt(e, el.offset ? "a copy from before its beginning" : "it breaks off");
		if (el.offset) {
			copy_within(to + done, el.offset, el.length);
		} else {
			memcpy(to + done, block.ptr, el.length);
			block = str_skip(block, el.length);
		}
		done += el.length;
	}
	if (done != length)
		return corrupt(e, "shorter than it says");
	out->len += length;
	return true;
}

static void put_length(struct buf *out, size_t length)
{
	for (; length >= 0x80; length >>= 7)
		buf_add_c(out, (char)(length | 0x80));
	buf_add_c(out, (char)length);
}

static void put_literal(struct buf *out, const char *text, size_t length)
{
	if (!length)
		return;
	size_t n = length - 1;
	if (n < 60) {
		buf_add_c(out, (char)(n << 2));
	} else {
		int bytes = n < 1 << 8 ? 1 : n < 1 << 16 ? 2 : n < 1 << 24 ? 3 : 4;
		buf_add_c(out, (char)((59 + bytes) << 2));
		for (int i = 0; i < bytes; i++)
			buf_add_c(out, (char)(n >> (8 * i)));
	}
	buf_add(out, str_of(text, length));
}

static void put_copy(struct buf *out, size_t offset, size_t length)
{
	while (length) {
		/* No rest of fewer than 4, which would need the long form too. */
		size_t part = length > COPY_MOST + 3 ? COPY_MOST : length > COPY_MOST ? COPY_MOST - 4 : length;
		if (part >= 4 && part <= 11 && offset < 2048) {
			buf_add_c(out, (char)(TAG_COPY_11 | (part - 4) << 2 | (offset >> 8) << 5));
			buf_add_c(out, (char)offset);
		} else {
			buf_add_c(out, (char)(TAG_COPY_16 | (part - 1) << 2));
			buf_add_c(out, (char)offset);
			buf_add_c(out, (char)(offset >> 8));
		}
		length -= part;
	}
}

static uint32_t load32(const char *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof value);
	return value;
}

static size_t slot_of(const char *at)
{
	return load32(at) * 0x1e35a7bdU >> (32 - HASH_BITS);
}

static size_t match_length(const char *a, const char *b, const char *end)
{
	const char *from = b;
	while (b < end && *a == *b) {
		a++;
		b++;
	}
	return (size_t)(b - from);
}

/* Greedy; steps grow where nothing repeats, so that noise costs little. */
static void encode_fragment(const char *text, size_t length, uint16_t *table, struct buf *out)
{
	const char *at = text, *pending = text, *end = text + length;
	memset(table, 0, sizeof *table << HASH_BITS);
	for (size_t misses = 32; length >= TAIL && at + TAIL < end;) {
		size_t slot = slot_of(at);
		const char *before = text + table[slot];
		table[slot] = (uint16_t)(at - text);
		if (before >= at || load32(before) != load32(at)) {
			at += misses++ >> 5;
			continue;
		}
		size_t matched = MATCH_LEAST + match_length(before + MATCH_LEAST, at + MATCH_LEAST, end);
		put_literal(out, pending, (size_t)(at - pending));
		put_copy(out, (size_t)(at - before), matched);
		at += matched;
		pending = at;
		misses = 32;
	}
	put_literal(out, pending, (size_t)(end - pending));
}

void snappy_encode(struct str text, struct buf *out)
{
	uint16_t *table = mem_alloc(sizeof *table << HASH_BITS);
	put_length(out, text.len);
	for (size_t done = 0; done < text.len; done += FRAGMENT)
		encode_fragment(text.ptr + done, text.len - done < FRAGMENT ? text.len - done : FRAGMENT, table, out);
	mem_free(table);
}
