#include "scrape/rows.h"

#include "base/map.h"
#include "base/number.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

/* One table while it is read. Cells point into the text, so their offset is known for errors. */
enum { COLUMNS_MAX = 64 };

struct column_rule {
	const char *name;
	bool required;
};

struct table {
	struct arena *arena;
	struct str source, text, rest;
	const struct column_rule *rules;
	size_t rule_count;
	int place[16];                 /* rule → column of the file; -1 = absent */
	struct str cells[COLUMNS_MAX]; /* of the current line */
	size_t columns;
	struct str line_text;
	int line;
	struct error *e;
};

static size_t table_offset(const struct table *t, struct str cell)
{
	return (size_t)(cell.ptr - t->text.ptr);
}

#define TABLE_ERROR(t, cell, ...) error_at((t)->e, (t)->source, (t)->text, table_offset((t), (cell)), __VA_ARGS__)

/* Splits the next line that is not empty. False at the end. *too_many tells that it has more than COLUMNS_MAX cells. */
static bool table_line(struct table *t, bool *too_many)
{
	while (str_split(&t->rest, '\n', &t->line_text)) {
		t->line++;
		if (str_ends(t->line_text, STR("\r")))
			t->line_text.len--;
		if (str_trim(t->line_text).len == 0)
			continue;
		struct str rest = t->line_text, cell;
		t->columns = 0;
		*too_many = false;
		while (str_split(&rest, '\t', &cell)) {
			*too_many = t->columns == COLUMNS_MAX;
			if (*too_many)
				break;
			t->cells[t->columns++] = cell;
		}
		return true;
	}
	return false;
}

static const char *rule_near(const struct table *t, struct str name)
{
	for (size_t r = 0; r < t->rule_count; r++)
		if (t->place[r] < 0 && str_distance(name, str_from(t->rules[r].name), 2) <= 2)
			return t->rules[r].name;
	return NULL;
}

/* Columns that nobody knows are allowed, except those that look like a slip in a known name. */
static bool header_place(struct table *t)
{
	for (size_t r = 0; r < t->rule_count; r++) {
		t->place[r] = -1;
		for (size_t c = 0; c < t->columns; c++) {
			if (!str_is(t->cells[c], t->rules[r].name))
				continue;
			if (t->place[r] >= 0)
				return TABLE_ERROR(t, t->cells[c], "column \"%s\" is there twice", t->rules[r].name);
			t->place[r] = (int)c;
		}
	}
	for (size_t c = 0; c < t->columns; c++) {
		bool known = false;
		for (size_t r = 0; r < t->rule_count; r++)
			known |= t->place[r] == (int)c;
		const char *near = known ? NULL : rule_near(t, t->cells[c]);
		if (near)
			return TABLE_ERROR(t, t->cells[c], "no such column \"" STR_FMT "\"; did you mean \"%s\"?",
				STR_ARG(str_head(t->cells[c], 60)), near);
	}
	return true;
}

static bool header_complete(struct table *t)
{
	for (size_t r = 0; r < t->rule_count; r++) {
		if (!t->rules[r].required || t->place[r] >= 0)
			continue;
		struct buf names;
		buf_init(&names, 300);
		for (size_t i = 0; i < t->rule_count; i++)
			buf_printf(&names, "%s%s%s", i ? ", " : "", t->rules[i].name, t->rules[i].required ? "" : " (optional)");
		TABLE_ERROR(t, t->line_text, "no column \"%s\"", t->rules[r].name);
		error_hint(t->e, "the first line names the columns, with tabs between them: %s", buf_cstr(&names));
		buf_fini(&names);
		return false;
	}
	return true;
}

static bool table_open(struct table *t)
{
	if (memchr(t->text.len ? t->text.ptr : "", '\0', t->text.len))
		return error_at(t->e, t->source, t->text, strnlen(t->text.ptr, t->text.len), "a zero byte: this is no text file");
	if (!str_is_utf8(t->text)) {
		error_set(t->e, EXIT_BAD_INPUT, "not UTF-8 text");
		error_source(t->e, t->source);
		return false;
	}
	t->rest = str_starts(t->text, STR("\xef\xbb\xbf")) ? str_skip(t->text, 3) : t->text;
	bool too_many = false;
	if (t->text.len == 0 || !table_line(t, &too_many)) {
		error_set(t->e, EXIT_BAD_INPUT, "the file is empty");
		error_source(t->e, t->source);
		return false;
	}
	if (too_many)
		return TABLE_ERROR(t, t->line_text, "more than %d columns", COLUMNS_MAX);
	return header_place(t) && header_complete(t);
}

/* The next row. False at the end and on errors (then t->e is set). */
static bool table_row(struct table *t, size_t header_columns, bool *failed)
{
	bool too_many = false;
	*failed = false;
	if (!table_line(t, &too_many))
		return false;
	if (too_many || t->columns != header_columns) {
		*failed = true;
		TABLE_ERROR(t, t->line_text, "this row has %zu%s columns, the first line has %zu", t->columns, too_many ? " or more" : "",
			header_columns);
		return false;
	}
	return true;
}

/* The cell of a rule; empty when the column is absent. "-" means none everywhere. */
static struct str table_cell(const struct table *t, size_t rule)
{
	if (t->place[rule] < 0)
		return str_of(t->line_text.ptr, 0);
	struct str cell = t->cells[t->place[rule]];
	return str_is(cell, "-") ? str_of(cell.ptr, 0) : cell;
}

static bool cell_time(const struct table *t, size_t rule, int64_t *t_ms)
{
	struct str cell = table_cell(t, rule);
	double seconds;
	/* The last moment that a four-digit year can name; more is a time in milliseconds. */
	if (!number_parse(cell, &seconds) || !isfinite(seconds))
		return TABLE_ERROR(t, cell, "column \"%s\": \"" STR_FMT "\" is no time in Unix seconds", t->rules[rule].name,
			STR_ARG(str_head(cell, 60)));
	if (seconds < 0 || seconds > 253402300799.0)
		return TABLE_ERROR(t, cell, "column \"%s\": " STR_FMT " is no time in Unix seconds (milliseconds?)", t->rules[rule].name,
			STR_ARG(str_head(cell, 60)));
	*t_ms = llround(seconds * 1000);
	return true;
}

static bool cell_status(const struct table *t, size_t rule, int *status)
{
	struct str cell = table_cell(t, rule);
	int64_t value;
	if (!number_parse_i64(cell, &value) || value < 0 || value > 999)
		return TABLE_ERROR(t, cell, "column \"%s\": \"" STR_FMT "\" is no HTTP status (0 = no answer)", t->rules[rule].name,
			STR_ARG(str_head(cell, 60)));
	*status = (int)value;
	return true;
}

static bool cell_number(const struct table *t, size_t rule, double *value)
{
	struct str cell = table_cell(t, rule);
	*value = NAN;
	if (cell.len == 0)
		return true;
	if (!number_parse(cell, value) || !isfinite(*value) || *value < 0)
		return TABLE_ERROR(t, cell, "column \"%s\": \"" STR_FMT "\" is no number from 0 up (- = unknown)", t->rules[rule].name,
			STR_ARG(str_head(cell, 60)));
	return true;
}

static bool cell_name(const struct table *t, size_t rule, struct str *name)
{
	*name = table_cell(t, rule);
	return name->len > 0 || TABLE_ERROR(t, *name, "column \"%s\" is empty", t->rules[rule].name);
}

/* A body must be inside the recording's folder: a recording comes from somebody else. */
static bool cell_file(const struct table *t, size_t rule, struct str *file)
{
	*file = table_cell(t, rule);
	struct str rest = *file, part;
	if (file->len == 0)
		return true;
	if (file->ptr[0] == '/')
		return TABLE_ERROR(t, *file, "the file is outside the recording's folder");
	while (str_split(&rest, '/', &part))
		if (str_is(part, ".."))
			return TABLE_ERROR(t, *file, "the file is outside the recording's folder");
	return true;
}

static bool cell_failure(const struct table *t, size_t rule, int status, enum http_failure *failure)
{
	struct str cell = table_cell(t, rule);
	*failure = status == 0 ? HTTP_TIMEOUT : HTTP_OK;
	if (cell.len == 0)
		return true;
	for (enum http_failure f = HTTP_OK; f <= HTTP_OTHER; f++) {
		if (!str_is(cell, http_failure_name(f)))
			continue;
		if (f == HTTP_OK && status == 0)
			return TABLE_ERROR(
				t, cell, "column \"%s\": ok, but http_status 0 says that there was no answer", t->rules[rule].name);
		*failure = f;
		return true;
	}
	struct buf names;
	buf_init(&names, 300);
	for (enum http_failure f = HTTP_OK; f <= HTTP_OTHER; f++)
		buf_printf(&names, "%s%s", f ? ", " : "", http_failure_name(f));
	TABLE_ERROR(t, cell, "column \"%s\": \"" STR_FMT "\" is no failure", t->rules[rule].name, STR_ARG(str_head(cell, 60)));
	error_hint(t->e, "one of %s, or - for none", buf_cstr(&names));
	buf_fini(&names);
	return false;
}

enum { WHEN, TARGET, TIME, FILE_NAME, STATUS, CONTENT_TYPE, DURATION, FAILURE };
static const struct column_rule scrape_columns[] = {
	[WHEN] = { "when", false },
	[TARGET] = { "target", true },
	[TIME] = { "time_unix", true },
	[FILE_NAME] = { "file", true },
	[STATUS] = { "http_status", true },
	[CONTENT_TYPE] = { "content_type", false },
	[DURATION] = { "duration_s", false },
	[FAILURE] = { "error", false },
};

static bool scrape_row_read(struct table *t, struct scrape_row *row)
{
	row->line = t->line;
	row->when = table_cell(t, WHEN);
	row->content_type = table_cell(t, CONTENT_TYPE);
	if (!cell_name(t, TARGET, &row->target) || !cell_time(t, TIME, &row->t_ms) || !cell_file(t, FILE_NAME, &row->file) ||
		!cell_status(t, STATUS, &row->status) || !cell_number(t, DURATION, &row->duration_s) ||
		!cell_failure(t, FAILURE, row->status, &row->failure))
		return false;
	row->file_offset = table_offset(t, row->file);
	return true;
}

/* Is this target's scrape there already? By name of the moment and by time. */
static bool row_is_repeated(struct table *t, struct map *seen, const struct scrape_row *row)
{
	for (int by_time = 0; by_time < 2; by_time++) {
		if (!by_time && row->when.len == 0)
			continue;
		struct str key = by_time ? arena_printf(t->arena, STR_FMT "\t%lld", STR_ARG(row->target), (long long)row->t_ms)
					 : arena_printf(t->arena, STR_FMT "\t\t" STR_FMT, STR_ARG(row->target), STR_ARG(row->when));
		bool made;
		struct map_entry *entry = map_put(seen, key, &made);
		if (!made) {
			int line = *(int *)entry->value;
			struct str what = table_cell(t, by_time ? TIME : WHEN);
			TABLE_ERROR(t, what, "a second scrape of target \"" STR_FMT "\" at " STR_FMT "; the first is in line %d",
				STR_ARG(str_head(row->target, 60)), STR_ARG(str_head(what, 60)), line);
			return true;
		}
		int *line = arena_alloc(t->arena, sizeof *line);
		*line = row->line;
		entry->value = line;
	}
	return false;
}

/* Rows stand in the order of the scrapes, which is what tells a clock that went back. A table with the newest first is told by its names,
 * which fall with the times. */
static bool newest_come_first(const struct scrape_row *rows, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (rows[i].t_ms > rows[i - 1].t_ms)
			return false;
	return count > 1 && rows[0].t_ms > rows[count - 1].t_ms && str_cmp(rows[0].when, rows[count - 1].when) >= 0;
}

static void rows_copy(struct scrape_row *to, const struct scrape_row *from, size_t count)
{
	bool turned = newest_come_first(from, count);
	for (size_t i = 0; i < count; i++)
		to[i] = from[turned ? count - 1 - i : i];
}

struct scrape_row *scrape_rows_parse(struct arena *arena, struct str source, struct str text, size_t *count, struct error *e)
{
	struct table t = { arena, source, text, .rules = scrape_columns, .rule_count = ARRAY_LEN(scrape_columns), .e = e };
	if (!table_open(&t))
		return NULL;
	size_t header_columns = t.columns;
	VEC(struct scrape_row) rows = { 0 };
	struct map seen;
	bool failed;
	map_init(&seen);
	while (table_row(&t, header_columns, &failed)) {
		struct scrape_row row = { 0 };
		failed = !scrape_row_read(&t, &row) || row_is_repeated(&t, &seen, &row);
		if (failed)
			break;
		VEC_PUSH(&rows, row);
	}
	map_fini(&seen);
	if (!failed && rows.count == 0) {
		failed = true;
		error_set(e, EXIT_BAD_INPUT, "only a header: no scrape is recorded");
		error_source(e, source);
	}
	struct scrape_row *kept = NULL;
	if (!failed) {
		kept = arena_alloc(arena, rows.count * sizeof *kept);
		rows_copy(kept, rows.items, rows.count);
		*count = rows.count;
	}
	VEC_FREE(&rows);
	return kept;
}

enum { LIMIT_TARGET, LIMIT_BYTES };
static const struct column_rule limit_columns[] = {
	[LIMIT_TARGET] = { "target", true },
	[LIMIT_BYTES] = { "memory_limit_bytes", true },
};

/* limits.tsv and health.tsv are short: a row at most per line, counted before. */
static size_t line_count(struct str text)
{
	size_t lines = 1;
	for (size_t i = 0; i < text.len; i++)
		lines += text.ptr[i] == '\n';
	return lines;
}

struct limit_row *limit_rows_parse(struct arena *arena, struct str source, struct str text, size_t *count, struct error *e)
{
	struct table t = { arena, source, text, .rules = limit_columns, .rule_count = ARRAY_LEN(limit_columns), .e = e };
	if (!table_open(&t))
		return NULL;
	size_t header_columns = t.columns;
	struct limit_row *rows = ARENA_ARRAY(arena, struct limit_row, line_count(text));
	bool failed;
	*count = 0;
	while (table_row(&t, header_columns, &failed)) {
		struct limit_row *row = &rows[(*count)++];
		row->line = t.line;
		if (!cell_name(&t, LIMIT_TARGET, &row->target) || !cell_number(&t, LIMIT_BYTES, &row->memory_limit_bytes))
			return NULL;
		row->target_offset = table_offset(&t, row->target);
	}
	return failed ? NULL : rows;
}

enum { HEALTH_TIME, HEALTH_STATUS, HEALTH_TARGET, HEALTH_PATH };
static const struct column_rule health_columns[] = {
	[HEALTH_TIME] = { "time_unix", true },
	[HEALTH_STATUS] = { "http_status", true },
	[HEALTH_TARGET] = { "target", false },
	[HEALTH_PATH] = { "path", false }, /* which path was asked; every row counts as health */
};

static int health_compare(const void *a, const void *b)
{
	const struct health_row *x = a, *y = b;
	if (x->t_ms != y->t_ms)
		return x->t_ms < y->t_ms ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

struct health_row *health_rows_parse(struct arena *arena, struct str source, struct str text, size_t *count, struct error *e)
{
	struct table t = { arena, source, text, .rules = health_columns, .rule_count = ARRAY_LEN(health_columns), .e = e };
	if (!table_open(&t))
		return NULL;
	size_t header_columns = t.columns;
	struct health_row *rows = ARENA_ARRAY(arena, struct health_row, line_count(text));
	bool failed;
	*count = 0;
	while (table_row(&t, header_columns, &failed)) {
		struct health_row *row = &rows[(*count)++];
		row->line = t.line;
		row->target = table_cell(&t, HEALTH_TARGET);
		row->target_offset = table_offset(&t, row->target);
		if (!cell_time(&t, HEALTH_TIME, &row->t_ms) || !cell_status(&t, HEALTH_STATUS, &row->status))
			return NULL;
	}
	if (failed)
		return NULL;
	qsort(rows, *count, sizeof *rows, health_compare);
	return rows;
}
