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
