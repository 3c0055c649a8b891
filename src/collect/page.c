/* The merged families as text. Nearly all of a page is text that does not change, so it is copied; numbers are printed when they change. */
#include "base/number.h"
#include "collect/internal.h"

static void help_add(struct str help, bool quotes, struct buf *out)
{
	for (size_t i = 0; i < help.len; i++) {
		char c = help.ptr[i];

		if (c == '\\' || (c == '"' && quotes))
			buf_add_c(out, '\\');
		if (c == '\n')
			buf_add(out, STR("\\n"));
		else
			buf_add_c(out, c);
	}
}

static void head_add(struct str name, const char *suffix, const char *type, struct str help, enum collect_format format, struct buf *out)
{
	buf_add(out, STR("# HELP "));
	buf_add(out, name);
	buf_add_cstr(out, suffix);
	buf_add_c(out, ' ');
	help_add(help, format == COLLECT_OPENMETRICS, out);
	buf_add(out, STR("\n# TYPE "));
	buf_add(out, name);
	buf_add_cstr(out, suffix);
	buf_add_c(out, ' ');
	buf_add_cstr(out, type);
	buf_add_c(out, '\n');
}

static void family_head(const struct family *f, enum collect_format format, struct buf *out)
{
	bool text = format == COLLECT_TEXT;
	const char *type = text && f->type == TYPE_UNKNOWN ? "untyped" : file_type_name(f->type);

	head_add(f->name, text && f->type == TYPE_COUNTER ? "_total" : "", type, f->help, format, out);
}

static void line_print(struct line *line, double value, bool as_016, struct buf *out)
{
	uint64_t bits = number_bits(value);

	if (bits != line->bits || !line->number_len) {
		line->bits = bits;
		line->number_len = (uint8_t)collect_number(value, as_016, line->number);
		line->number[line->number_len++] = '\n';
	}
	char *at = out->ptr + out->len; /* room was reserved for the page */

	memcpy(at, line->text.ptr, line->text.len);
	memcpy(at + line->text.len, line->number, COLLECT_NUMBER_MAX);
	out->len += line->text.len + line->number_len;
}

static double line_value(const struct plan *p, const struct line *line)
{
	return line->kind == LINE_TOTAL ? p->totals.items[line->group] : p->values.items[line->cell];
}

static bool is_hidden(const struct plan *p, const struct line *line, const struct collect_options *o)
{
	return p->stamped && !o->show_unset && line->kind == LINE_VALUE && p->cells.items[line->cell].stamped &&
	       !(p->times.items[line->cell] > 0);
}

/* Samples named _created, _gcount and _gsum, as gauges behind their family. */
static void suffixes_print(struct plan *p, size_t from, size_t to, const struct family *f, const struct collect_options *o, struct buf *out)
{
	static const char *const names[] = { "_created", "_gcount", "_gsum" };

	for (int s = 0; s < 3; s++) {
		bool headed = false;

		for (size_t i = from; i < to; i++) {
			struct line *line = &p->lines.items[i];

			if (line->suffix != 'a' + s || is_hidden(p, line, o))
				continue;
			if (!headed)
				head_add(f->name, names[s], "gauge", f->help, COLLECT_TEXT, out);
			headed = true;
			line_print(line, line_value(p, line), o->as_016, out);
		}
	}
}

void plan_print(struct plan *p, enum collect_format format, const struct collect_options *o, struct buf *out)
{
	size_t head = 0;

	if (!p->lines.count || !buf_reserve(out, p->text_max + COLLECT_NUMBER_MAX))
		return;
	for (size_t i = 0; i < p->lines.count; i++) {
		struct line *line = &p->lines.items[i];
		bool apart = format == COLLECT_TEXT && line->suffix;

		if (line->kind == LINE_HEAD) {
			head = i;
			family_head(line->family, format, out);
		} else if (!apart && !is_hidden(p, line, o)) {
			line_print(line, line_value(p, line), o->as_016, out);
		}
		bool last = i + 1 == p->lines.count || p->lines.items[i + 1].kind == LINE_HEAD;

		if (last && format == COLLECT_TEXT && p->lines.items[head].family->has_suffixes)
			suffixes_print(p, head + 1, i + 1, p->lines.items[head].family, o, out);
	}
}

void collect_page_end(enum collect_format format, struct buf *out)
{
	if (format == COLLECT_OPENMETRICS)
		buf_add(out, STR("# EOF\n"));
}
