#include "base/buf.h"

#include "base/mem.h"
#include "base/number.h"

#include <stdio.h>

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = max };
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->overflowed = false;
}

void buf_fini(struct buf *b)
{
	mem_free(b->ptr);
	*b = (struct buf){ .max = b->max };
}

/* One byte above cap is always there, so that buf_cstr never fails. */
static void buf_grow(struct buf *b, size_t needed)
{
	size_t cap = b->cap < 128 ? 256 : b->cap * 2;

	if (cap < needed)
		cap = needed;
	if (cap > b->max)
		cap = b->max;
	b->ptr = mem_resize(b->ptr, cap + 1, 1);
	b->cap = cap;
}

char *buf_reserve(struct buf *b, size_t size)
{
	if (size <= b->cap - b->len && b->ptr && !b->overflowed)
		return b->ptr + b->len;
	if (b->overflowed || size > b->max || b->len > b->max - size) {
		b->overflowed = true;
		return NULL;
	}
	buf_grow(b, b->len + size);
	return b->ptr + b->len;
}

void buf_add(struct buf *b, struct str s)
{
	char *at = s.len ? buf_reserve(b, s.len) : NULL;

	if (!at)
		return;
	memcpy(at, s.ptr, s.len);
	b->len += s.len;
}

void buf_add_c(struct buf *b, char c)
{
	char *at = buf_reserve(b, 1);

	if (!at)
		return;
	*at = c;
	b->len++;
}

void buf_add_cstr(struct buf *b, const char *s)
{
	buf_add(b, str_from(s));
}

void buf_add_repeat(struct buf *b, char c, size_t count)
{
	char *at = count ? buf_reserve(b, count) : NULL;

	if (!at)
		return;
	memset(at, c, count);
	b->len += count;
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
	va_list again;

	va_copy(again, args);
	/* The spare byte behind cap takes the '\0'. */
	size_t room = b->ptr && !b->overflowed ? b->cap - b->len + 1 : 0;
	int length = vsnprintf(room ? b->ptr + b->len : NULL, room, format, args);

	if (length > 0 && (size_t)length < room) {
		b->len += (size_t)length;
	} else if (length > 0) {
		char *at = buf_reserve(b, (size_t)length);

		if (at) {
			vsnprintf(at, (size_t)length + 1, format, again);
			b->len += (size_t)length;
		}
	}
	va_end(again);
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(b, format, args);
	va_end(args);
}

void buf_add_i64(struct buf *b, int64_t value)
{
	char text[24], *at = text + sizeof text;
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

	do {
		*--at = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (value < 0)
		*--at = '-';
	buf_add(b, str_of(at, (size_t)(text + sizeof text - at)));
}

void buf_add_double(struct buf *b, double value)
{
	char text[32];
	size_t length = number_format(value, text);

	buf_add(b, str_of(text, length));
}

static bool json_is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void buf_add_rune(struct buf *b, uint32_t rune)
{
	if (rune < 0x80) {
		buf_add_c(b, (char)rune);
	} else if (rune < 0x800) {
		buf_add_c(b, (char)(0xc0 | rune >> 6));
		buf_add_c(b, (char)(0x80 | (rune & 63)));
	} else if (rune < 0x10000) {
		buf_add_c(b, (char)(0xe0 | rune >> 12));
		buf_add_c(b, (char)(0x80 | (rune >> 6 & 63)));
		buf_add_c(b, (char)(0x80 | (rune & 63)));
	} else {
		buf_add_c(b, (char)(0xf0 | rune >> 18));
		buf_add_c(b, (char)(0x80 | (rune >> 12 & 63)));
		buf_add_c(b, (char)(0x80 | (rune >> 6 & 63)));
		buf_add_c(b, (char)(0x80 | (rune & 63)));
	}
}

static void buf_add_json_ascii(struct buf *b, unsigned char c)
{
	static const char escapes[] = "btn\0fr"; /* from 8, '\b', on */

	if (c == '"' || c == '\\') {
		buf_add_c(b, '\\');
		buf_add_c(b, (char)c);
	} else if (c >= '\b' && c <= '\r' && escapes[c - '\b']) {
		buf_add_c(b, '\\');
		buf_add_c(b, escapes[c - '\b']);
	} else {
		buf_printf(b, "\\u%04x", c);
	}
}

void buf_add_json(struct buf *b, struct str s)
{
	buf_add_c(b, '"');
	for (size_t at = 0; at < s.len;) {
		size_t run = at;

		while (run < s.len && json_is_plain((unsigned char)s.ptr[run]))
			run++;
		buf_add(b, str_of(s.ptr + at, run - at));
		at = run;
		if (at == s.len)
			break;
		uint32_t rune;
		size_t length = str_rune(str_skip(s, at), &rune);

		if (rune < 0x80)
			buf_add_json_ascii(b, (unsigned char)rune);
		else if (rune == STR_RUNE_INVALID)
			buf_add(b, STR("\xef\xbf\xbd"));
		else
			buf_add(b, str_of(s.ptr + at, length));
		at += length;
	}
	buf_add_c(b, '"');
}

const char *buf_cstr(struct buf *b)
{
	if (!b->ptr)
		return "";
	b->ptr[b->len] = '\0';
	return b->ptr;
}
