#include "tui/frame.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <wchar.h>

void frame_init(struct frame *f, int rows, int columns)
{
	*f = (struct frame){ .rows = rows, .columns = columns, .graph = GRAPH_BLOCK };
	f->cells = mem_zalloc((size_t)rows * (size_t)columns, sizeof *f->cells);
	frame_clear(f);
}

void frame_fini(struct frame *f)
{
	mem_free(f->cells);
	f->cells = NULL;
}

void frame_clear(struct frame *f)
{
	for (int i = 0; i < f->rows * f->columns; i++)
		f->cells[i] = (struct frame_cell){ ' ', TUI_PLAIN, 0 };
}

static struct frame_cell *cell_at(struct frame *f, int row, int column)
{
	return row >= 0 && row < f->rows && column >= 0 && column < f->columns ? &f->cells[row * f->columns + column] : NULL;
}

/* What stands for a character where the terminal has no UTF-8. */
static uint32_t ascii_of(uint32_t rune)
{
	static const struct {
		uint32_t rune;
		char ascii;
	} table[] = { { 0xb7, '|' }, { 0x2013, '-' }, { 0x2014, '-' }, { 0x2018, '\'' }, { 0x2019, '\'' }, { 0x201c, '"' }, { 0x201d, '"' },
		{ 0x2026, '~' }, { 0x2192, '>' }, { 0x2264, '<' }, { 0x2265, '>' }, { 0xd7, 'x' }, { 0xb5, 'u' }, { 0x3bc, 'u' },
		{ 0x25cf, '*' }, { 0x25b2, '!' }, { 0x25cb, 'o' }, { 0x2715, 'x' }, { 0x2500, '-' }, { 0x2588, '#' }, { 0x2591, '.' } };

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].rune == rune)
			return (uint32_t)table[i].ascii;
	return '?';
}

static int rune_width(const struct frame *f, uint32_t *rune)
{
	if (*rune < 0x20 || (*rune >= 0x7f && *rune < 0xa0) || *rune == STR_RUNE_INVALID)
		*rune = '?';
	if (*rune < 0x80)
		return 1;
	if (f->ascii) {
		*rune = ascii_of(*rune);
		return 1;
	}
	int width = wcwidth((wchar_t)*rune);

	if (width < 0) {
		/* The locale does not know it. */
		*rune = '?';
		return 1;
	}
	return width;
}

/* Writes one character; returns its width, 0 when it does not fit. */
static int put(struct frame *f, int row, int column, int room, enum tui_style style, uint32_t rune)
{
	int width = rune_width(f, &rune);
	struct frame_cell *cell = cell_at(f, row, column);

	if (!width || width > room || !cell || (width == 2 && !cell_at(f, row, column + 1)))
		return 0;
	*cell = (struct frame_cell){ rune, (uint8_t)style, cell->selected };
	if (width == 2)
		cell[1] = (struct frame_cell){ 0, (uint8_t)style, cell->selected };
	return width;
}

int frame_text(struct frame *f, int row, int column, int width, enum tui_style style, struct str text)
{
	bool fits = (int)str_columns(text) <= width;
	int used = 0, room = fits ? width : width - 1;

	if (column + width > f->columns) {
		width = f->columns - column;
		return width > 0 ? frame_text(f, row, column, width, style, text) : 0;
	}
	if (width <= 0)
		return 0;
	while (text.len) {
		uint32_t rune;
		size_t length = str_rune(text, &rune), shown = rune;
		uint32_t probe = (uint32_t)shown;

		if (rune_width(f, &probe) > room - used)
			break;
		used += put(f, row, column + used, room - used, style, rune);
		text = str_skip(text, length);
	}
	if (!fits)
		used += put(f, row, column + used, width - used, style, 0x2026);
	return used;
}

int frame_print(struct frame *f, int row, int column, int width, enum tui_style style, const char *format, ...)
{
	struct buf text;
	va_list args;

	buf_init(&text, 65536);
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	int used = frame_text(f, row, column, width, style, buf_str(&text));

	buf_fini(&text);
	return used;
}

void frame_right(struct frame *f, int row, int column, int width, enum tui_style style, struct str text)
{
	int columns = (int)str_columns(text), shift = columns < width ? width - columns : 0;

	frame_text(f, row, column + shift, width - shift, style, text);
}

/* How many bytes of the text go on a line of this width: up to the last blank that fits. */
static size_t line_length(struct str text, int width)
{
	size_t at = 0, fits = 0;
	int used = 0;

	while (at < text.len) {
		uint32_t rune;
		size_t length = str_rune(str_skip(text, at), &rune);

		used += (int)str_columns(str_of(text.ptr + at, length));
		if (rune == ' ')
			fits = at;
		if (used > width)
			return fits ? fits : at ? at : length;
		at += length;
	}
	return text.len;
}

int frame_wrap(struct frame *f, int row, int column, int width, int rows, enum tui_style style, struct str text)
{
	int used = 0;

	for (text = str_trim(text); text.len && used < rows && width > 0; used++) {
		size_t length = used + 1 < rows ? line_length(text, width) : text.len;

		frame_text(f, row + used, column, width, style, str_head(text, length));
		text = str_trim(str_skip(text, length));
	}
	return used;
}

void frame_row_style(struct frame *f, int row, enum tui_style style)
{
	for (int column = 0; cell_at(f, row, column); column++)
		cell_at(f, row, column)->style = (uint8_t)style;
}

void frame_row_select(struct frame *f, int row)
{
	for (int column = 0; cell_at(f, row, column); column++)
		cell_at(f, row, column)->selected = 1;
}

/* ---- graphs ---- */

static double top_of(const float *values, size_t count, double ceiling)
{
	double top = ceiling;

	for (size_t i = 0; i < count; i++)
		if (isfinite(values[i]) && values[i] > top)
			top = values[i];
	return top;
}

/* 1 to `steps`; 0 for nothing known. */
static int step_of(float value, double top, int steps)
{
	if (!isfinite(value))
		return 0;
	int step = top > 0 ? 1 + (int)((double)value / top * (steps - 1) + 0.5) : 1;

	return step < 1 ? 1 : step > steps ? steps : step;
}

/* Dots of one braille column from the bottom, left and right. */
static uint32_t braille(int left, int right)
{
	static const uint8_t dots[2][5] = { { 0, 0x40, 0x44, 0x46, 0x47 }, { 0, 0x80, 0xa0, 0xb0, 0xb8 } };

	return 0x2800 + dots[0][left] + dots[1][right];
}

void frame_spark(struct frame *f, int row, int column, int width, enum tui_style style, const float *values, size_t count, double ceiling)
{
	static const char plain[] = " _.-=+*#@";
	int per_cell = f->graph == GRAPH_BRAILLE ? 2 : 1;
	size_t room = (size_t)(width > 0 ? width : 0) * (size_t)per_cell, start = count > room ? count - room : 0;
	double top = top_of(values + start, count - start, ceiling);
	int offset = width - (int)((count - start + (size_t)per_cell - 1) / (size_t)per_cell);

	for (size_t i = start; i < count; i += (size_t)per_cell) {
		uint32_t rune;

		if (f->ascii || f->graph == GRAPH_PLAIN)
			rune = (uint32_t)plain[step_of(values[i], top, 8)];
		else if (f->graph == GRAPH_BLOCK)
			rune = step_of(values[i], top, 8) ? 0x2580 + (uint32_t)step_of(values[i], top, 8) : ' ';
		else
			rune = braille(step_of(values[i], top, 4), i + 1 < count ? step_of(values[i + 1], top, 4) : 0);
		put(f, row, column + offset + (int)((i - start) / (size_t)per_cell), 1, style, rune);
	}
}

void frame_gauge(struct frame *f, int row, int column, int width, enum tui_style style, double share)
{
	int full = isfinite(share) ? (int)(share * width + 0.5) : 0;

	for (int i = 0; i < width; i++)
		put(f, row, column + i, 1, i < full ? style : TUI_DIM,
			i < full                  ? (f->graph == GRAPH_PLAIN ? '#' : 0x2588)
			: f->graph == GRAPH_PLAIN ? '.'
						  : 0x2591);
}

/* ---- as text ---- */

void frame_export(const struct frame *f, struct buf *out)
{
	for (int row = 0; row < f->rows; row++) {
		const struct frame_cell *cells = &f->cells[row * f->columns];
		int end = f->columns;

		while (end && cells[end - 1].rune == ' ')
			end--;
		for (int i = 0; i < end; i++)
			if (cells[i].rune)
				buf_add_rune(out, cells[i].rune);
		buf_add_c(out, '\n');
	}
}
