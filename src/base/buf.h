/* buf: a growing byte builder with a maximum and a sticky error. A chain of appends is checked once, at the end. */
#ifndef GOODPUT_BASE_BUF_H
#define GOODPUT_BASE_BUF_H

#include "base/str.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

struct buf {
	char *ptr;
	size_t len, cap, max;
	bool overflowed; /* an append did not fit under max: it and all later ones were dropped whole */
};

void buf_init(struct buf *b, size_t max);
void buf_reset(struct buf *b); /* empty, error cleared, memory kept */
void buf_fini(struct buf *b);

void buf_add(struct buf *b, struct str s);
void buf_add_c(struct buf *b, char c);
void buf_add_cstr(struct buf *b, const char *s);
void buf_add_repeat(struct buf *b, char c, size_t count);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list args);
void buf_add_i64(struct buf *b, int64_t value);
/* Shortest decimal that reads back as the same double; see number.h for the two styles. */
void buf_add_double(struct buf *b, double value);
/* One code point as UTF-8. */
void buf_add_rune(struct buf *b, uint32_t rune);
/* s as a JSON string with quotes; invalid UTF-8 becomes U+FFFD. */
void buf_add_json(struct buf *b, struct str s);
/* Room for at least `size` more bytes; NULL when that is above max. Then set b->len. */
char *buf_reserve(struct buf *b, size_t size);

static inline struct str buf_str(const struct buf *b)
{
	return str_of(b->ptr, b->len);
}
/* '\0'-terminated view, valid until the next append. */
const char *buf_cstr(struct buf *b);

#endif
