/* str: a slice of bytes, passed by value. It never owns what it points at.
 * Not terminated: print it with STR_FMT / STR_ARG. {NULL, 0} is the empty slice and "absent" where a header says so. */
#ifndef GOODPUT_BASE_STR_H
#define GOODPUT_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *ptr;
	size_t len;
};

#define STR(literal) ((struct str){ "" literal, sizeof(literal) - 1 })
#define STR_EMPTY ((struct str){ NULL, 0 })
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)(s).len, (s).ptr ? (s).ptr : ""

static inline struct str str_of(const char *ptr, size_t len)
{
	return (struct str){ ptr, len };
}
static inline struct str str_from(const char *c_string)
{
	return str_of(c_string, c_string ? strlen(c_string) : 0);
}

static inline bool str_eq(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
static inline bool str_is(struct str a, const char *c_string)
{
	return str_eq(a, str_from(c_string));
}
static inline bool str_starts(struct str s, struct str prefix)
{
	return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}
static inline bool str_ends(struct str s, struct str suffix)
{
	return s.len >= suffix.len && (suffix.len == 0 || memcmp(s.ptr + s.len - suffix.len, suffix.ptr, suffix.len) == 0);
}
/* The slice from byte `from` to the end (empty when beyond it). */
static inline struct str str_skip(struct str s, size_t from)
{
	size_t step = from < s.len ? from : s.len;

	return step ? str_of(s.ptr + step, s.len - step) : s; /* C forbids even NULL + 0 */
}
static inline struct str str_head(struct str s, size_t len)
{
	return str_of(s.ptr, len < s.len ? len : s.len);
}

/* Byte order, as memcmp; a prefix sorts first. */
int str_cmp(struct str a, struct str b);
bool str_eq_nocase(struct str a, struct str b);
/* Index of the first `c`, or -1. */
ptrdiff_t str_find(struct str s, char c);
/* Index of the first occurrence of `needle`, or -1; an empty needle is found at 0. */
ptrdiff_t str_search(struct str s, struct str needle);
/* Without ASCII blanks (space, tab, CR, LF) at both ends. */
struct str str_trim(struct str s);
/* Takes the part of `*rest` before the next `separator` and moves `*rest` behind it. False when `*rest` is exhausted
 * (ptr NULL); "a,,b" gives three parts, "" gives one. */
bool str_split(struct str *rest, char separator, struct str *part);
/* The first code point of s; returns its length in bytes. An invalid byte gives STR_RUNE_INVALID and 1; 0 = s is empty. */
#define STR_RUNE_INVALID UINT32_MAX
size_t str_rune(struct str s, uint32_t *rune);
/* Valid UTF-8 (no surrogates, no overlong forms)? */
bool str_is_utf8(struct str s);
/* Number of terminal columns of a UTF-8 string (wide characters count 2, combining ones 0). */
size_t str_columns(struct str s);
/* Levenshtein distance in bytes, capped at `limit` + 1 (also when one is longer than 255 bytes). For "did you mean". */
size_t str_distance(struct str a, struct str b, size_t limit);

#endif
