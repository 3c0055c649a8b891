/* Rows as text: "time_us prompt output [session [blocks]]" a line. */
#include "base/number.h"
#include "workload/content.h"

enum { ROWS_MAX = 20000000, IDS_MAX = 1 << 22 };

struct rows_reader {
	struct workload *w;
	struct str text, line;
	size_t *offset;
	struct error *e;
	VEC(uint64_t) ids;
};

static bool bad(struct rows_reader *r, const char *at, const char *what)
{
	*r->offset = (size_t)(at - r->text.ptr);
	return error_set(r->e, EXIT_BAD_INPUT, "%s", what);
}

static bool whole_number(struct str text, int64_t most, uint64_t *value)
{
	int64_t v;

	if (!text.len || text.ptr[0] < '0' || text.ptr[0] > '9' || !number_parse_i64(text, &v) || v > most)
		return false;
	*value = (uint64_t)v;
	return true;
}

/* The next blank-separated field; ptr NULL when there is none. */
static struct str field_next(struct str *rest)
{
	size_t start = 0, end;

	while (start < rest->len && (rest->ptr[start] == ' ' || rest->ptr[start] == '\t'))
		start++;
	for (end = start; end < rest->len && rest->ptr[end] != ' ' && rest->ptr[end] != '\t';)
		end++;
	struct str field = end > start ? str_of(rest->ptr + start, end - start) : STR_EMPTY;

	*rest = str_skip(*rest, end);
	return field;
}

static bool read_ids(struct rows_reader *r, struct workload_row *row, struct str text)
{
	struct str rest = text, part, first;
	uint64_t low, high;

	r->ids.count = 0;
	while (str_split(&rest, ',', &part)) {
		struct str range = part;

		str_split(&range, '-', &first);
		if (!whole_number(first, INT64_MAX, &low) || (range.ptr && !whole_number(range, INT64_MAX, &high)))
			return bad(r, part.ptr, "blocks are numbers and ranges with commas: 0-13,20");
		high = range.ptr ? high : low;
		if (high < low || high - low >= IDS_MAX || r->ids.count + (high - low) >= IDS_MAX)
			return bad(r, part.ptr, "this range of blocks runs backwards or is far too long");
		for (uint64_t id = low; id <= high; id++)
			VEC_PUSH(&r->ids, id);
	}
	uint64_t *ids = ARENA_ARRAY(&r->w->arena, uint64_t, r->ids.count);

	memcpy(ids, r->ids.items, r->ids.count * sizeof *ids);
	row->ids = ids;
	row->id_count = (uint32_t)r->ids.count;
	return true;
}

static bool read_row(struct rows_reader *r, struct str line)
{
	struct str rest = line, field[5];
	struct workload_row row = { 0 };
	uint64_t prompt, output, session = 0;

	for (size_t i = 0; i < ARRAY_LEN(field); i++)
		field[i] = field_next(&rest);
	if (!field[2].ptr)
		return bad(r, line.ptr, "a row has at least three fields: time_us prompt output");
	if (field_next(&rest).ptr)
		return bad(r, rest.ptr, "a row has at most five fields: time_us prompt output session blocks");
	if (!whole_number(field[0], INT64_C(1) << 50, &row.time_us))
		return bad(r, field[0].ptr, "the time is no number of microseconds");
	if (!whole_number(field[1], WORKLOAD_TOKENS_MAX, &prompt) || !prompt)
		return bad(r, field[1].ptr, "the prompt's length is no number of tokens from 1 to 10000000");
	if (!whole_number(field[2], WORKLOAD_TOKENS_MAX, &output) || !output)
		return bad(r, field[2].ptr, "the output's length is no number of tokens from 1 to 10000000");
	if (field[3].ptr && !str_is(field[3], "-") && (!whole_number(field[3], UINT32_MAX, &session) || !session))
		return bad(r, field[3].ptr, "the session is no number from 1, nor \"-\" for none");
	if (field[4].ptr && !read_ids(r, &row, field[4]))
		return false;
	row.prompt = (uint32_t)prompt;
	row.output = (uint32_t)output;
	row.session = (uint32_t)session;
	if (r->w->rows.count >= ROWS_MAX)
		return bad(r, line.ptr, "more than 20000000 rows");
	VEC_PUSH(&r->w->rows, row);
	return true;
}

bool rows_parse(struct workload *w, struct str text, size_t *offset, struct error *e)
{
	struct rows_reader r = { .w = w, .text = text, .offset = offset, .e = e };
	struct str rest = text, line;
	bool ok = true;

	while (ok && str_split(&rest, '\n', &line))
		ok = !str_trim(line).len || str_trim(line).ptr[0] == '#' ||
		     read_row(&r, str_head(line, line.len - str_ends(line, STR("\r"))));
	VEC_FREE(&r.ids);
	return ok;
}

static void write_ids(const struct workload_row *row, struct buf *out)
{
	for (uint32_t i = 0, last; i < row->id_count; i = last + 1) {
		for (last = i; last + 1 < row->id_count && row->ids[last + 1] == row->ids[last] + 1;)
			last++;
		buf_add_c(out, i ? ',' : ' ');
		buf_add_i64(out, (int64_t)row->ids[i]);
		if (last > i) {
			buf_add_c(out, '-');
			buf_add_i64(out, (int64_t)row->ids[last]);
		}
	}
}

void rows_write(const struct workload *w, const char *indent, struct buf *out)
{
	VEC_EACH (&w->rows, row) {
		buf_add_cstr(out, indent);
		buf_add_i64(out, (int64_t)row->time_us);
		buf_add_c(out, ' ');
		buf_add_i64(out, row->prompt);
		buf_add_c(out, ' ');
		buf_add_i64(out, row->output);
		if (row->session) {
			buf_add_c(out, ' ');
			buf_add_i64(out, row->session);
		} else if (row->id_count) {
			buf_add_cstr(out, " -");
		}
		write_ids(row, out);
		buf_add_c(out, '\n');
	}
}
