/* bytes: little cursors for writing and reading packed bytes. Internal to the store.
 *
 * A writer's room is made before (no check while writing); a reader never leaves its slice: what is missing reads as 0 and sets `bad`. */
#ifndef GOODPUT_STORE_BYTES_H
#define GOODPUT_STORE_BYTES_H

#include "base/buf.h"
#include "base/str.h"

#include <string.h>

enum { VARINT_MAX = 10 };

static inline uint64_t zigzag(int64_t x)
{
	return (uint64_t)x << 1 ^ (uint64_t)(x >> 63);
}
static inline int64_t unzigzag(uint64_t u)
{
	return (int64_t)(u >> 1 ^ (0 - (u & 1)));
}
static inline uint8_t *put_varint(uint8_t *at, uint64_t u)
{
	while (u >= 0x80) {
		*at++ = (uint8_t)(u | 0x80);
		u >>= 7;
	}
	*at++ = (uint8_t)u;
	return at;
}
static inline size_t varint_size(uint64_t u)
{
	return u ? (size_t)(63 - __builtin_clzll(u)) / 7 + 1 : 1;
}
static inline uint8_t *put_u64(uint8_t *at, uint64_t u)
{
	memcpy(at, &u, sizeof u); /* little-endian hosts only: checked in database.c */
	return at + sizeof u;
}

struct bytes {
	const uint8_t *at, *end;
	bool bad;
};

static inline struct bytes bytes_of(struct str s)
{
	/* C forbids even NULL + 0. */
	return (struct bytes){ (const uint8_t *)s.ptr, s.len ? (const uint8_t *)s.ptr + s.len : (const uint8_t *)s.ptr, false };
}
static inline size_t bytes_left(const struct bytes *b)
{
	return (size_t)(b->end - b->at);
}
static inline uint8_t get_u8(struct bytes *b)
{
	if (b->at == b->end) {
		b->bad = true;
		return 0;
	}
	return *b->at++;
}
static inline uint64_t get_varint(struct bytes *b)
{
	if (b->at != b->end && *b->at < 0x80)
		return *b->at++;
	uint64_t u = 0;
	for (int shift = 0; shift < 64 && b->at != b->end; shift += 7) {
		uint8_t c = *b->at++;
		u |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			return u;
	}
	b->bad = true;
	return 0;
}
static inline uint64_t get_u64(struct bytes *b)
{
	uint64_t u;
	if (bytes_left(b) < sizeof u) {
		b->bad = true;
		b->at = b->end;
		return 0;
	}
	memcpy(&u, b->at, sizeof u);
	b->at += sizeof u;
	return u;
}
static inline struct str get_slice(struct bytes *b, uint64_t size)
{
	if (size > bytes_left(b)) {
		b->bad = true;
		b->at = b->end;
		return STR_EMPTY;
	}
	struct str s = str_of((const char *)b->at, size);
	b->at += size;
	return s;
}

#endif
