#include "cli/page.h"

#include "base/file.h"
#include "base/log.h"

#include <langinfo.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE_MAX ((size_t)1 << 31) /* a document of a thousand replicas has 60 MB */

static bool environment_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static bool color_wanted(enum color_when when)
{
	const char *terminal = getenv("TERM");

	if (when != COLOR_AUTO)
		return when == COLOR_ALWAYS;
	return isatty(STDOUT_FILENO) && !environment_set("NO_COLOR") && terminal && strcmp(terminal, "dumb") != 0;
}

void page_init(struct page *p, enum color_when when)
{
	int columns = isatty(STDOUT_FILENO) || environment_set("COLUMNS") ? terminal_columns(stdout) : 80;

	buf_init(&p->out, PAGE_MAX);
	p->columns = columns < 40 ? 40 : columns > 120 ? 120 : columns;
	p->color = color_wanted(when);
	p->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

void page_fini(struct page *p)
{
	buf_fini(&p->out);
}

static const char *style_code(enum style style)
{
	switch (style) {
	case STYLE_BOLD: return "1";
	case STYLE_DIM: return "2";
	case STYLE_CRITICAL: return "1;31";
	case STYLE_WARNING: return "1;33";
	case STYLE_INFO: return "1;36";
	case STYLE_FINE: return "1;32";
	case STYLE_UNKNOWN: return "1;35";
	case STYLE_PLAIN: break;
	}
	return NULL;
}

static void add_clean(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		/* C1 controls are two bytes in UTF-8: C2 80 to C2 9F. */
		bool c1 = c == 0xc2 && i + 1 < text.len && (unsigned char)text.ptr[i + 1] < 0xa0;

		buf_add_c(out, (c < 0x20 && c != STICKY) || c == 0x7f || c1 ? '?' : (char)c);
		i += c1;
	}
}

void page_add(struct page *p, struct str text, enum style style)
{
	const char *code = p->color ? style_code(style) : NULL;

	if (code)
		buf_printf(&p->out, "\033[%sm", code);
	add_clean(&p->out, text);
	if (code)
		buf_add_cstr(&p->out, "\033[0m");
}

void page_print(struct page *p, enum style style, const char *format, ...)
{
	struct buf text;
	va_list args;

	buf_init(&text, 1 << 20);
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	page_add(p, buf_str(&text), style);
	buf_fini(&text);
}

void page_line(struct page *p)
{
	buf_add_c(&p->out, '\n');
}

void page_gap(struct page *p)
{
	if (p->out.len && !str_ends(buf_str(&p->out), STR("\n\n")))
		page_line(p);
}

void page_field(struct page *p, const char *label, enum style style, int indent, struct str text)
{
	struct buf clean;
	int width = (int)str_columns(str_from(label));

	page_add(p, str_from(label), style);
	if (*label && width + 1 > indent) {
		page_line(p);
		width = 0;
	}
	buf_add_repeat(&p->out, ' ', (size_t)(indent - width));
	buf_init(&clean, 1 << 20);
	add_clean(&clean, text);
	text_wrap(&p->out, buf_str(&clean), p->columns, indent, indent);
	buf_fini(&clean);
}

/* Replaces what a terminal without UTF-8 cannot show. */
static void ascii_only(struct str text, struct buf *out)
{
	static const struct {
		uint32_t rune;
		const char *text;
	} table[] = { { 0xb7, "|" }, { 0x2013, "-" }, { 0x2014, "-" }, { 0x2018, "'" }, { 0x2019, "'" }, { 0x201c, "\"" }, { 0x201d, "\"" },
		{ 0x2026, "..." }, { 0x2192, "->" }, { 0x2264, "<=" }, { 0x2265, ">=" }, { 0x2248, "~" }, { 0xd7, "x" }, { 0xb5, "u" },
		{ 0x3bc, "u" }, { 0x2212, "-" }, { 0xa0, " " } };

	while (text.len) {
		uint32_t rune;
		size_t length = str_rune(text, &rune), i = 0;

		while (i < ARRAY_LEN(table) && table[i].rune != rune)
			i++;
		if (rune < 0x80)
			buf_add_c(out, (char)rune);
		else
			buf_add_cstr(out, i < ARRAY_LEN(table) ? table[i].text : "?");
		text = str_skip(text, length);
	}
}

/* Half a document would be read as a whole one. */
static int output_whole(const struct buf *text, int status)
{
	if (!text->overflowed)
		return command_output(buf_str(text), status);
	log_error("the result is larger than %zu bytes: ask about fewer targets", text->max);
	return EXIT_INTERNAL;
}

int page_output_document(struct page *p, int status)
{
	return output_whole(&p->out, status);
}

int page_output(struct page *p, int status)
{
	struct buf plain;

	if (p->unicode || p->out.overflowed)
		return output_whole(&p->out, status);
	buf_init(&plain, PAGE_MAX);
	ascii_only(buf_str(&p->out), &plain);
	status = output_whole(&plain, status);
	buf_fini(&plain);
	return status;
}
