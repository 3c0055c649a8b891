#include "base/error.h"

#include <stdarg.h>
#include <string.h>

static bool is_harmless(uint32_t rune)
{
	return rune != STR_RUNE_INVALID && rune != 0x7f && (rune >= 0x20 || rune == '\t') && !(rune >= 0x80 && rune < 0xa0);
}

/* Copies s cut at a character boundary; control characters, which could drive a terminal, and bytes of no character become '?', byte by
 * byte (a tab stays). */
static void text_copy(char *to, size_t size, struct str s)
{
	size_t length = 0, step;
	uint32_t rune;

	for (; (step = str_rune(s, &rune)) && length + step < size; s = str_skip(s, step), length += step)
		if (is_harmless(rune))
			memcpy(to + length, s.ptr, step);
		else
			memset(to + length, '?', step);
	to[length] = '\0';
}

static void text_format(char *to, size_t size, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
static void text_format(char *to, size_t size, const char *format, va_list args)
{
	char whole[1024];
	int length = vsnprintf(whole, sizeof whole, format, args);
	size_t kept = length < 0 ? 0 : (size_t)length < sizeof whole ? (size_t)length : sizeof whole - 1;

	text_copy(to, size, str_of(whole, kept));
}

void error_clear(struct error *e)
{
	if (e)
		*e = (struct error){ 0 };
}

static void error_start(struct error *e, enum exit_status status, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
static void error_start(struct error *e, enum exit_status status, const char *format, va_list args)
{
	char message[sizeof e->message];

	/* The arguments may point into *e ("while reading %s", e->message), so it is formatted before it is cleared. */
	text_format(message, sizeof message, format, args);
	error_clear(e);
	e->set = true;
	e->status = status;
	memcpy(e->message, message, sizeof message);
}

bool error_set(struct error *e, enum exit_status status, const char *format, ...)
{
	va_list args;

	if (!e)
		return false;
	va_start(args, format);
	error_start(e, status, format, args);
	va_end(args);
	return false;
}

static size_t text_boundary_before(struct str s, size_t at)
{
	while (at && at < s.len && ((unsigned char)s.ptr[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/* The part of `line` around byte `at` that fits the excerpt, with "..." where it was cut. */
static void error_excerpt(struct error *e, struct str line, size_t at)
{
	enum { ROOM = 140, BEFORE = 90 };
	size_t from = 0, to = line.len;

	if (line.len > ROOM) {
		if (at > BEFORE)
			from = text_boundary_before(line, at - BEFORE);
		to = from + ROOM < line.len ? text_boundary_before(line, from + ROOM) : line.len;
	}
	const char *head = from ? "..." : "", *tail = to < line.len ? "..." : "";
	char cut[sizeof e->excerpt];
	int length = snprintf(cut, sizeof cut, "%s%.*s%s", head, (int)(to - from), line.len ? line.ptr + from : "", tail);

	text_copy(e->excerpt, sizeof e->excerpt, str_of(cut, (size_t)length));
	e->excerpt_column = (int)(at - from + strlen(head)) + 1;
}

bool error_at(struct error *e, struct str source, struct str text, size_t offset, const char *format, ...)
{
	va_list args;

	if (!e)
		return false;
	va_start(args, format);
	error_start(e, EXIT_BAD_INPUT, format, args);
	va_end(args);
	error_source(e, source);
	if (offset > text.len)
		offset = text.len;
	size_t start = 0;

	e->line = 1;
	for (size_t i = 0; i < offset; i++) {
		if (text.ptr[i] == '\n') {
			e->line++;
			start = i + 1;
		}
	}
	e->column = (int)(offset - start) + 1;
	struct str line = text.len ? str_skip(text, start) : text;
	ptrdiff_t end = str_find(line, '\n');

	if (end >= 0)
		line.len = (size_t)end;
	if (line.len && line.ptr[line.len - 1] == '\r' && offset - start < line.len)
		line.len--;
	/* A NUL byte would end the excerpt before the caret. */
	const char *nul = line.len ? memchr(line.ptr, '\0', line.len) : NULL;

	if (nul)
		line.len = (size_t)(nul - line.ptr);
	error_excerpt(e, line, offset - start < line.len ? offset - start : line.len);
	return false;
}

void error_source(struct error *e, struct str source)
{
	if (e)
		text_copy(e->source, sizeof e->source, source);
}

void error_hint(struct error *e, const char *format, ...)
{
	va_list args;

	if (!e)
		return;
	va_start(args, format);
	text_format(e->hint, sizeof e->hint, format, args);
	va_end(args);
}

void error_text(const struct error *e, char *text, size_t size)
{
	char position[32] = "";

	if (e->line && e->column)
		snprintf(position, sizeof position, "%d:%d: ", e->line, e->column);
	else if (e->line)
		snprintf(position, sizeof position, "%d: ", e->line);
	snprintf(text, size, "%s%s%s%s", e->source, !e->source[0] ? "" : position[0] ? ":" : ": ", position, e->message);
}

/* Under the excerpt, as wide as what is above it: tabs stay tabs, a wide character is two blanks. */
static void error_print_caret(const struct error *e, FILE *to)
{
	struct str before = str_head(str_from(e->excerpt), (size_t)e->excerpt_column - 1);

	fputs("  ", to);
	for (size_t at = 0; at < before.len;) {
		uint32_t rune;
		size_t length = str_rune(str_skip(before, at), &rune);

		if (rune == '\t')
			fputc('\t', to);
		else
			fprintf(to, "%*s", (int)str_columns(str_of(before.ptr + at, length)), "");
		at += length;
	}
	fputs("^\n", to);
}

void error_print(const struct error *e, FILE *to)
{
	char line[sizeof e->source + sizeof e->message + 40];

	error_text(e, line, sizeof line);
	fprintf(to, "goodput: %s\n", line);
	if (e->excerpt[0]) {
		fprintf(to, "  %s\n", e->excerpt);
		if (e->excerpt_column > 0)
			error_print_caret(e, to);
	}
	if (e->hint[0])
		fprintf(to, "  hint: %s\n", e->hint);
}
