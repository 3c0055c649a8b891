/* Constants in templates, as Go writes them. */
#include "base/number.h"
#include "rules/template_parse.h"

#include <ctype.h>

static bool take_hexadecimal(struct template_parser *p, int digits, uint32_t *value)
{
	*value = 0;
	for (; digits; digits--, p->at++) {
		char c = template_peek(p);

		if (!isxdigit((unsigned char)c))
			return false;
		*value = *value * 16 + (uint32_t)(isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10);
	}
	return true;
}

/* Behind the backslash. */
static bool take_escape(struct template_parser *p, struct buf *out)
{
	static const char from[] = "abfnrtv\\\"'", to[] = "\a\b\f\n\r\t\v\\\"'";
	char c = template_peek(p);
	const char *found = c ? strchr(from, c) : NULL;
	uint32_t rune;

	if (found) {
		p->at++;
		buf_add_c(out, to[found - from]);
		return true;
	}
	if (c != 'x' && c != 'u' && c != 'U')
		return false;
	p->at++;
	if (!take_hexadecimal(p, c == 'x' ? 2 : c == 'u' ? 4 : 8, &rune) || rune > 0x10ffff)
		return false;
	if (c == 'x')
		buf_add_c(out, (char)rune);
	else
		buf_add_rune(out, rune);
	return true;
}

bool template_take_quoted(struct template_parser *p, char quote, struct str *value)
{
	size_t start = p->at++;
	struct buf text;
	bool ok = true;

	buf_init(&text, 1 << 20);
	while (ok && p->at < p->text.len && template_peek(p) != quote && template_peek(p) != '\n') {
		char c = p->text.ptr[p->at++];

		if (c == '\\')
			ok = take_escape(p, &text);
		else
			buf_add_c(&text, c);
	}
	if (!ok)
		template_fail(p, p->at, "unknown escape in a quoted text");
	else if (template_peek(p) != quote)
		ok = template_fail(p, start, "unterminated quoted text");
	*value = arena_str(p->arena, buf_str(&text));
	buf_fini(&text);
	p->at++;
	return ok;
}

bool template_take_raw(struct template_parser *p, struct str *value)
{
	ptrdiff_t end = str_find(str_skip(p->text, p->at + 1), '`');

	if (end < 0)
		return template_fail(p, p->at, "unterminated raw quoted text");
	*value = str_of(p->text.ptr + p->at + 1, (size_t)end);
	p->at += (size_t)end + 2;
	return true;
}

bool template_take_character(struct template_parser *p, struct operand *o)
{
	struct str text;
	uint32_t rune;
	size_t start = p->at;

	if (!template_take_quoted(p, '\'', &text))
		return false;
	if (!text.len || str_rune(text, &rune) != text.len || rune == STR_RUNE_INVALID)
		return template_fail(p, start, "a character constant holds one character; quote texts with \"");
	o->kind = OPERAND_INTEGER;
	o->integer = rune;
	return true;
}

bool template_take_number(struct template_parser *p, struct operand *o)
{
	size_t start = p->at;

	while (p->at < p->text.len && (template_is_word(template_peek(p)) || template_peek(p) == '.' ||
					      ((template_peek(p) == '+' || template_peek(p) == '-') &&
						      (p->at == start || tolower((unsigned char)p->text.ptr[p->at - 1]) == 'e'))))
		p->at++;
	struct str text = str_of(p->text.ptr + start, p->at - start);

	if (number_parse_i64(text, &o->integer)) {
		o->kind = OPERAND_INTEGER;
		return true;
	}
	o->kind = OPERAND_NUMBER;
	return number_parse(text, &o->number) || template_fail(p, start, "bad number syntax: \"" STR_FMT "\"", STR_ARG(text));
}
