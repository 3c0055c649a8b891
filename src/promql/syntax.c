#include "promql/syntax.h"
#include "base/buf.h"

#include <stdio.h>

const char *promql_type_text(enum promql_type type)
{
	static const char *const names[] = { "scalar", "string", "instant vector", "range vector" };
	return names[type];
}

const struct promql_node *node_unwrap(const struct promql_node *n)
{
	while (n->kind == NODE_PAREN)
		n = n->inner;
	return n;
}

bool syntax_error(struct str query, size_t offset, struct error *e, const char *format, ...)
{
	char text[300];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return error_at(e, STR("query"), query, offset > query.len ? query.len : offset, "parse error: %s", text);
}

/* ---- strings, with Go's escapes ---- */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t utf8_encode(uint32_t rune, char *out)
{
	if (rune < 0x80) {
		out[0] = (char)rune;
		return 1;
	}
	size_t len = rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;
	for (size_t i = len; i-- > 1; rune >>= 6)
		out[i] = (char)(0x80 | (rune & 0x3f));
	out[0] = (char)((0xf0 << (4 - len)) | rune);
	return len;
}

/* `digits` characters of the base; -1 when there are fewer. */
static int64_t escape_number(struct str s, size_t at, size_t digits, int base)
{
	int64_t value = 0;
	if (at + digits > s.len)
		return -1;
	for (size_t i = at; i < at + digits; i++) {
		int digit = hex_value(s.ptr[i]);
		if (digit < 0 || digit >= base)
			return -1;
		value = value * base + digit;
	}
	return value;
}

static bool unquote_number(struct str s, size_t *at, char **out, char *why)
{
	char kind = s.ptr[*at];
	bool octal = kind >= '0' && kind <= '7', is_rune = kind == 'u' || kind == 'U';
	size_t digits = octal ? 3 : kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
	int64_t value = escape_number(s, octal ? *at : *at + 1, digits, octal ? 8 : 16);
	bool no_code_point = (octal && value > 255) || (is_rune && (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)));
	snprintf(why, SYNTAX_WHY,
		no_code_point ? "escape sequence is an invalid Unicode code point" : "illegal character in escape sequence");
	if (value < 0 || no_code_point)
		return false;
	*at += octal ? digits : digits + 1;
	if (is_rune)
		*out += utf8_encode((uint32_t)value, *out);
	else
		*(*out)++ = (char)value;
	return true;
}

static bool unquote_escape(struct str s, size_t *at, char **out, char *why)
{
	static const char letters[] = "abfnrtv\\'\"", values[] = "\a\b\f\n\r\t\v\\'\"";
	char c = *at < s.len ? s.ptr[*at] : '\0';
	const char *known = c ? strchr(letters, c) : NULL;
	if (known) {
		*(*out)++ = values[known - letters];
		(*at)++;
		return true;
	}
	if (c == 'x' || c == 'u' || c == 'U' || (c >= '0' && c <= '7'))
		return unquote_number(s, at, out, why);
	snprintf(why, SYNTAX_WHY, "unknown escape sequence U+%04X '%c'", (unsigned char)c, c >= ' ' && c < 127 ? c : '?');
	return false;
}

bool syntax_unquote(struct arena *arena, struct str quoted, struct str *value, char *why)
{
	struct str s = str_of(quoted.ptr + 1, quoted.len - 2);
	if (quoted.ptr[0] == '`') {
		*value = s;
		return true;
	}
	char *start = arena_alloc(arena, s.len + 1), *out = start;
	for (size_t at = 0; at < s.len;) {
		char c = s.ptr[at++];
		if (c != '\\')
			*out++ = c;
		else if (!unquote_escape(s, &at, &out, why))
			return false;
	}
	*value = str_of(start, (size_t)(out - start));
	return true;
}

/* Length of the valid UTF-8 sequence at the start, 0 when there is none. */
static size_t utf8_length(struct str s)
{
	unsigned char c = (unsigned char)s.ptr[0];
	size_t len = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	return len <= s.len && str_is_utf8(str_of(s.ptr, len)) ? len : 0;
}

void syntax_quote(struct str value, struct buf *out)
{
	static const char letters[] = "abfnrtv\\\"", values[] = "\a\b\f\n\r\t\v\\\"";
	buf_add_c(out, '"');
	for (size_t i = 0; i < value.len;) {
		unsigned char c = (unsigned char)value.ptr[i];
		const char *known = c ? strchr(values, c) : NULL;
		size_t len = utf8_length(str_skip(value, i));
		if (known)
			buf_printf(out, "\\%c", letters[known - values]);
		else if (c < 0x20 || c == 0x7f || !len)
			buf_printf(out, "\\x%02x", c);
		else
			buf_add(out, str_of(value.ptr + i, len));
		i += len && !known ? len : 1;
	}
	buf_add_c(out, '"');
}
