/* Reading tab-separated files. */
#include "validate.h"

#include "base/file.h"
#include "base/number.h"

#include <ctype.h>
#include <math.h>

static struct str *split_line(struct arena *arena, struct str line, size_t count)
{
	struct str *cells = ARENA_ARRAY(arena, struct str, count), cell;
	size_t i = 0;

	while (i < count && str_split(&line, '\t', &cell))
		cells[i++] = cell;
	return cells;
}

bool tsv_read(struct arena *arena, const char *path, struct tsv *tsv, struct error *e)
{
	struct str text, line;

	*tsv = (struct tsv){ .path = path };
	if (!file_read(arena, path, 64 << 20, &text, e))
		return false;
	if (!str_split(&text, '\n', &line) || line.len == 0)
		return error_set(e, EXIT_BAD_INPUT, "%s is empty: a header line is expected", path);
	tsv->name_count = 1;
	for (size_t i = 0; i < line.len; i++)
		tsv->name_count += line.ptr[i] == '\t';
	tsv->names = split_line(arena, line, tsv->name_count);
	while (str_split(&text, '\n', &line))
		if (line.len)
			VEC_PUSH(&tsv->rows, split_line(arena, line, tsv->name_count));
	return true;
}

static ptrdiff_t column(const struct tsv *tsv, const char *name)
{
	for (size_t i = 0; i < tsv->name_count; i++)
		if (str_is(tsv->names[i], name))
			return (ptrdiff_t)i;
	return -1;
}

bool tsv_has(const struct tsv *tsv, const char *name)
{
	return column(tsv, name) >= 0;
}

struct str tsv_text(const struct tsv *tsv, size_t row, const char *name)
{
	ptrdiff_t at = column(tsv, name);

	return at < 0 ? STR_EMPTY : str_trim(tsv->rows.items[row][at]);
}

double tsv_number(const struct tsv *tsv, size_t row, const char *name)
{
	double value;

	return number_parse(tsv_text(tsv, row, name), &value) ? value : NAN;
}

double note_number(struct str notes, const char *key)
{
	ptrdiff_t at = str_search(notes, str_from(key));
	struct str rest = str_skip(notes, at < 0 ? notes.len : (size_t)at + strlen(key));
	size_t length = 0;
	double value;

	while (rest.len && (rest.ptr[0] == ' ' || rest.ptr[0] == '='))
		rest = str_skip(rest, 1);
	while (length < rest.len && (isdigit((unsigned char)rest.ptr[length]) || rest.ptr[length] == '.'))
		length++;
	return number_parse(str_head(rest, length), &value) ? value : NAN;
}

double note_before(struct str notes, const char *word)
{
	ptrdiff_t end = str_search(notes, str_from(word)), start;
	double value;

	if (end <= 0)
		return NAN;
	for (start = end; start > 0 && notes.ptr[start - 1] >= '0' && notes.ptr[start - 1] <= '9'; start--)
		;
	return number_parse(str_of(notes.ptr + start, (size_t)(end - start)), &value) ? value : NAN;
}
