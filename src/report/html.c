#include "report/internal.h"

const char *html_tone_class(enum html_tone tone)
{
	switch (tone) {
	case HTML_GOOD: return "good";
	case HTML_WARNING: return "warning";
	case HTML_BAD: return "bad";
	case HTML_UNKNOWN: return "unknown";
	case HTML_PLAIN: break;
	}
	return "plain";
}

static bool is_allowed(uint32_t rune)
{
	return rune != STR_RUNE_INVALID && rune != 0xfffe && rune != 0xffff &&
	       (rune >= 0xa0 || (rune >= 0x20 && rune < 0x7f) || rune == '\n' || rune == '\t');
}

void html_text(struct buf *out, struct str text)
{
	uint32_t rune;

	for (size_t size; (size = str_rune(text, &rune)) > 0; text = str_skip(text, size)) {
		switch (rune) {
		case '&': buf_add_cstr(out, "&amp;"); continue;
		case '<': buf_add_cstr(out, "&lt;"); continue;
		case '>': buf_add_cstr(out, "&gt;"); continue;
		case '"': buf_add_cstr(out, "&quot;"); continue;
		case '\'': buf_add_cstr(out, "&#39;"); continue;
		default: break;
		}
		if (is_allowed(rune))
			buf_add(out, str_head(text, size));
		else
			buf_add_cstr(out, "\xef\xbf\xbd");
	}
}

/* ---- the page ---- */

void html_open(struct buf *out, struct str title, struct str subtitle)
{
	buf_add_cstr(out,
		"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>");
	html_text(out, title);
	buf_add_cstr(out, "</title>\n<style>\n");
	buf_add_cstr(out, report_style);
	buf_add_cstr(out, "</style>\n</head>\n<body>\n<main>\n<h1>");
	html_text(out, title);
	buf_add_cstr(out, "</h1>\n");
	if (subtitle.len) {
		buf_add_cstr(out, "<p class=\"sub\">");
		html_text(out, subtitle);
		buf_add_cstr(out, "</p>\n");
	}
}

void html_verdict(struct buf *out, enum html_tone tone, struct str text)
{
	buf_printf(out, "<p class=\"verdict %s\">", html_tone_class(tone));
	html_text(out, text);
	buf_add_cstr(out, "</p>\n");
}

void html_section_open(struct buf *out, struct str heading)
{
	buf_add_cstr(out, "<section>\n<h2>");
	html_text(out, heading);
	buf_add_cstr(out, "</h2>\n");
}

void html_section_close(struct buf *out)
{
	buf_add_cstr(out, "</section>\n");
}

void html_paragraph(struct buf *out, struct str text)
{
	buf_add_cstr(out, "<p class=\"note\">");
	html_text(out, text);
	buf_add_cstr(out, "</p>\n");
}

void html_close(struct buf *out)
{
	buf_add_cstr(out, "</main>\n<footer>Made by goodput. This page loads nothing.</footer>\n</body>\n</html>\n");
}

/* ---- tables ---- */

static void table_head(struct buf *out, const struct html_table *t)
{
	buf_add_cstr(out, "<thead><tr>");
	for (size_t i = 0; i < t->column_count; i++) {
		buf_add_cstr(out, t->columns[i].number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">");
		html_text(out, str_from(t->columns[i].name));
		buf_add_cstr(out, "</th>");
	}
	buf_add_cstr(out, "</tr></thead>\n");
}

static void table_row(struct buf *out, const struct html_table *t, size_t row)
{
	enum html_tone tone = t->tones ? t->tones[row] : HTML_PLAIN;

	buf_printf(out, tone == HTML_PLAIN ? "<tr>" : "<tr class=\"%s\">", html_tone_class(tone));
	for (size_t i = 0; i < t->column_count; i++) {
		bool number = t->columns[i].number, toned = tone != HTML_PLAIN && i + 1 == t->column_count;

		if (number || toned)
			buf_printf(out, "<td class=\"%s%s%s\">", number ? "n" : "", number && toned ? " " : "", toned ? "tone" : "");
		else
			buf_add_cstr(out, "<td>");
		html_text(out, t->cells[row * t->column_count + i]);
		buf_add_cstr(out, "</td>");
	}
	buf_add_cstr(out, "</tr>\n");
}

void html_table(struct buf *out, const struct html_table *t)
{
	buf_add_cstr(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
	html_text(out, t->caption.len ? t->caption : STR("figures"));
	buf_add_cstr(out, "\"><table>\n");
	if (t->caption.len) {
		buf_add_cstr(out, "<caption>");
		html_text(out, t->caption);
		buf_add_cstr(out, "</caption>\n");
	}
	table_head(out, t);
	buf_add_cstr(out, "<tbody>\n");
	for (size_t row = 0; row < t->row_count; row++)
		table_row(out, t, row);
	buf_add_cstr(out, "</tbody></table></div>\n");
}

/* ---- pieces of drawings ---- */

void svg_line(struct buf *out, const char *style, double x1, double y1, double x2, double y2)
{
	buf_printf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", style, x1, y1, x2, y2);
}

void svg_text(struct buf *out, const char *style, const char *anchor, double x, double y, struct str text)
{
	buf_printf(out, "<text%s%s%s text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", *style ? " class=\"" : "", style, *style ? "\"" : "",
		anchor, x, y);
	html_text(out, text);
	buf_add_cstr(out, "</text>");
}
