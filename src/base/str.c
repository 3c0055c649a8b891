#include "base/str.h"

#include <stdint.h>

static unsigned char byte_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : (unsigned char)c;
}

int str_cmp(struct str a, struct str b)
{
	size_t common = a.len < b.len ? a.len : b.len;
	int order = common ? memcmp(a.ptr, b.ptr, common) : 0;

	if (order)
		return order;
	return a.len < b.len ? -1 : a.len > b.len;
}

bool str_eq_nocase(struct str a, struct str b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++) {
		if (byte_lower(a.ptr[i]) != byte_lower(b.ptr[i]))
			return false;
	}
	return true;
}

ptrdiff_t str_find(struct str s, char c)
{
	const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;

	return at ? at - s.ptr : -1;
}

ptrdiff_t str_search(struct str s, struct str needle)
{
	if (needle.len == 0)
		return 0;
	const char *at = s.len ? memmem(s.ptr, s.len, needle.ptr, needle.len) : NULL;

	return at ? at - s.ptr : -1;
}

static bool byte_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
	while (s.len && byte_is_blank(s.ptr[s.len - 1]))
		s.len--;
	while (s.len && byte_is_blank(*s.ptr)) {
		s.ptr++;
		s.len--;
	}
	return s;
}

bool str_split(struct str *rest, char separator, struct str *part)
{
	if (!rest->ptr)
		return false;
	ptrdiff_t at = str_find(*rest, separator);

	if (at < 0) {
		*part = *rest;
		*rest = STR_EMPTY;
		return true;
	}
	*part = str_of(rest->ptr, (size_t)at);
	*rest = str_of(rest->ptr + at + 1, rest->len - (size_t)at - 1);
	return true;
}

/* Unicode's table 3-7: the lead byte bounds the first continuation byte, which excludes overlong forms, surrogates and
 * everything above U+10FFFF. */
static size_t utf8_length(unsigned char lead, unsigned char *low, unsigned char *high)
{
	*low = 0x80;
	*high = 0xbf;
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if ((lead & 0xf0) == 0xe0) {
		if (lead == 0xe0)
			*low = 0xa0;
		if (lead == 0xed)
			*high = 0x9f;
		return 3;
	}
	if (lead >= 0xf0 && lead <= 0xf4) {
		if (lead == 0xf0)
			*low = 0x90;
		if (lead == 0xf4)
			*high = 0x8f;
		return 4;
	}
	return 0;
}

size_t str_rune(struct str s, uint32_t *rune)
{
	static const unsigned char lead_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	unsigned char low, high;

	*rune = STR_RUNE_INVALID;
	if (s.len == 0)
		return 0;
	const unsigned char *at = (const unsigned char *)s.ptr;
	size_t length = utf8_length(at[0], &low, &high);

	if (length == 0 || length > s.len)
		return 1;
	uint32_t value = at[0] & lead_bits[length];

	for (size_t i = 1; i < length; i++) {
		if (at[i] < low || at[i] > high)
			return 1;
		value = value << 6 | (at[i] & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	*rune = value;
	return length;
}

bool str_is_utf8(struct str s)
{
	size_t at = 0;

	while (at < s.len) {
		if (!(s.ptr[at] & 0x80)) {
			at++;
			continue;
		}
		uint32_t rune;
		size_t length = str_rune(str_skip(s, at), &rune);

		if (rune == STR_RUNE_INVALID)
			return false;
		at += length;
	}
	return true;
}

struct rune_range {
	uint32_t first, last;
};

/* Combining marks and format characters: the blocks that occur in names and messages, not the whole of Unicode. */
static const struct rune_range runes_combining[] = {
	{ 0x0300, 0x036f },
	{ 0x0483, 0x0489 },
	{ 0x0591, 0x05bd },
	{ 0x0610, 0x061a },
	{ 0x064b, 0x065f },
	{ 0x06d6, 0x06dc },
	{ 0x0900, 0x0902 },
	{ 0x093c, 0x093c },
	{ 0x0941, 0x0948 },
	{ 0x094d, 0x094d },
	{ 0x0e31, 0x0e31 },
	{ 0x0e34, 0x0e3a },
	{ 0x0e47, 0x0e4e },
	{ 0x1ab0, 0x1aff },
	{ 0x1dc0, 0x1dff },
	{ 0x200b, 0x200f },
	{ 0x202a, 0x202e },
	{ 0x2060, 0x2064 },
	{ 0x20d0, 0x20ff },
	{ 0x302a, 0x302d },
	{ 0x3099, 0x309a },
	{ 0xfe00, 0xfe0f },
	{ 0xfe20, 0xfe2f },
	{ 0xfeff, 0xfeff },
	{ 0xe0001, 0xe007f },
	{ 0xe0100, 0xe01ef },
};

/* East Asian Wide and Fullwidth, and emoji shown as pictures. */
static const struct rune_range runes_wide[] = {
	{ 0x1100, 0x115f },
	{ 0x231a, 0x231b },
	{ 0x2329, 0x232a },
	{ 0x23e9, 0x23ec },
	{ 0x23f0, 0x23f0 },
	{ 0x23f3, 0x23f3 },
	{ 0x25fd, 0x25fe },
	{ 0x2614, 0x2615 },
	{ 0x2648, 0x2653 },
	{ 0x267f, 0x267f },
	{ 0x2693, 0x2693 },
	{ 0x26a1, 0x26a1 },
	{ 0x26aa, 0x26ab },
	{ 0x26bd, 0x26be },
	{ 0x26c4, 0x26c5 },
	{ 0x26ce, 0x26ce },
	{ 0x26d4, 0x26d4 },
	{ 0x26ea, 0x26ea },
	{ 0x26f2, 0x26f3 },
	{ 0x26f5, 0x26f5 },
	{ 0x26fa, 0x26fa },
	{ 0x26fd, 0x26fd },
	{ 0x2705, 0x2705 },
	{ 0x270a, 0x270b },
	{ 0x2728, 0x2728 },
	{ 0x274c, 0x274c },
	{ 0x274e, 0x274e },
	{ 0x2753, 0x2755 },
	{ 0x2757, 0x2757 },
	{ 0x2795, 0x2797 },
	{ 0x27b0, 0x27b0 },
	{ 0x27bf, 0x27bf },
	{ 0x2b1b, 0x2b1c },
	{ 0x2b50, 0x2b50 },
	{ 0x2b55, 0x2b55 },
	{ 0x2e80, 0x303e },
	{ 0x3041, 0x33ff },
	{ 0x3400, 0x4dbf },
	{ 0x4e00, 0x9fff },
	{ 0xa000, 0xa4cf },
	{ 0xa960, 0xa97f },
	{ 0xac00, 0xd7a3 },
	{ 0xf900, 0xfaff },
	{ 0xfe10, 0xfe19 },
	{ 0xfe30, 0xfe6f },
	{ 0xff00, 0xff60 },
	{ 0xffe0, 0xffe6 },
	{ 0x16fe0, 0x18aff },
	{ 0x1b000, 0x1b2ff },
	{ 0x1f004, 0x1f004 },
	{ 0x1f0cf, 0x1f0cf },
	{ 0x1f18e, 0x1f18e },
	{ 0x1f191, 0x1f19a },
	{ 0x1f200, 0x1f320 },
	{ 0x1f32d, 0x1f335 },
	{ 0x1f337, 0x1f37c },
	{ 0x1f37e, 0x1f393 },
	{ 0x1f3a0, 0x1f3ca },
	{ 0x1f3cf, 0x1f3d3 },
	{ 0x1f3e0, 0x1f3f0 },
	{ 0x1f3f4, 0x1f3f4 },
	{ 0x1f3f8, 0x1f43e },
	{ 0x1f440, 0x1f440 },
	{ 0x1f442, 0x1f4fc },
	{ 0x1f4ff, 0x1f53d },
	{ 0x1f54b, 0x1f54e },
	{ 0x1f550, 0x1f567 },
	{ 0x1f57a, 0x1f57a },
	{ 0x1f595, 0x1f596 },
	{ 0x1f5a4, 0x1f5a4 },
	{ 0x1f5fb, 0x1f64f },
	{ 0x1f680, 0x1f6c5 },
	{ 0x1f6cc, 0x1f6cc },
	{ 0x1f6d0, 0x1f6d2 },
	{ 0x1f6d5, 0x1f6d7 },
	{ 0x1f6eb, 0x1f6ec },
	{ 0x1f6f4, 0x1f6fc },
	{ 0x1f7e0, 0x1f7eb },
	{ 0x1f90c, 0x1f93a },
	{ 0x1f93c, 0x1f945 },
	{ 0x1f947, 0x1f9ff },
	{ 0x1fa70, 0x1faff },
	{ 0x20000, 0x3fffd },
};

static bool rune_in(const struct rune_range *ranges, size_t count, uint32_t rune)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (rune > ranges[middle].last)
			low = middle + 1;
		else if (rune < ranges[middle].first)
			high = middle;
		else
			return true;
	}
	return false;
}

static size_t rune_columns(uint32_t rune)
{
	if (rune < 0x20 || rune == 0x7f)
		return 0;
	if (rune < 0x300 || rune == STR_RUNE_INVALID)
		return 1;
	if (rune_in(runes_combining, sizeof runes_combining / sizeof *runes_combining, rune))
		return 0;
	return rune_in(runes_wide, sizeof runes_wide / sizeof *runes_wide, rune) ? 2 : 1;
}

size_t str_columns(struct str s)
{
	size_t columns = 0;

	for (size_t at = 0; at < s.len;) {
		uint32_t rune;

		at += str_rune(str_skip(s, at), &rune);
		columns += rune_columns(rune);
	}
	return columns;
}

enum { DISTANCE_MAX = 255 };

size_t str_distance(struct str a, struct str b, size_t limit)
{
	size_t row[DISTANCE_MAX + 1];
	size_t difference = a.len > b.len ? a.len - b.len : b.len - a.len;

	if (str_eq(a, b))
		return 0;
	if (difference > limit || a.len > DISTANCE_MAX || b.len > DISTANCE_MAX)
		return limit + 1;
	for (size_t j = 0; j <= b.len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		size_t diagonal = row[0], least = row[0] = i;

		for (size_t j = 1; j <= b.len; j++) {
			size_t cost = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < cost)
				cost = row[j] + 1;
			if (row[j - 1] + 1 < cost)
				cost = row[j - 1] + 1;
			row[j] = cost;
			if (cost < least)
				least = cost;
		}
		if (least > limit)
			return limit + 1;
	}
	return row[b.len] > limit ? limit + 1 : row[b.len];
}
