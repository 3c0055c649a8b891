/* fuzz_recording: the tables of a recording. Input: the bytes of scrapes.tsv.
 *
 * - Either rows or an error with a message and a place in the text; never both.
 * - Rows stand in the order of the table, or all the other way round; their files stay inside the folder, their numbers in range.
 * - The rows written as a table again read back the same. */
#include "base/buf.h"
#include "base/number.h"
#include "scrape/rows.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

static void check_error(const struct error *e, struct str text)
{
	size_t lines = 1;
	for (size_t i = 0; i < text.len; i++)
		lines += text.ptr[i] == '\n';
	REQUIRE(e->set && e->message[0] && e->source[0]);
	REQUIRE(e->line >= 0 && (size_t)e->line <= lines && e->column >= 0);
}

static void check_row(const struct scrape_row *row)
{
	struct str rest = row->file, part;
	REQUIRE(row->target.len > 0);
	REQUIRE(row->t_ms >= 0 && row->status >= 0 && row->status <= 999);
	REQUIRE(isnan(row->duration_s) || (row->duration_s >= 0 && isfinite(row->duration_s)));
	REQUIRE(row->failure >= HTTP_OK && row->failure <= HTTP_OTHER);
	REQUIRE(row->status != 0 || row->failure != HTTP_OK);
	REQUIRE(row->file.len == 0 || row->file.ptr[0] != '/');
	while (str_split(&rest, '/', &part))
		REQUIRE(!str_is(part, ".."));
}

static void check_order(const struct scrape_row *rows, size_t count)
{
	bool turned = count > 1 && rows[0].line > rows[1].line;
	for (size_t i = 1; i < count; i++)
		REQUIRE(turned ? rows[i].line < rows[i - 1].line : rows[i].line > rows[i - 1].line);
	REQUIRE(!turned || rows[0].t_ms < rows[count - 1].t_ms); /* only a table that falls in time is turned */
}

static void cell_add(struct buf *out, struct str cell)
{
	buf_add_c(out, '\t');
	buf_add(out, cell.len ? cell : STR("-"));
}

static void table_write(const struct scrape_row *rows, size_t count, struct buf *out)
{
	buf_add_cstr(out, "duration_s\twhen\ttarget\ttime_unix\tfile\thttp_status\tcontent_type\terror\n");
	for (size_t i = 0; i < count; i++) {
		if (isnan(rows[i].duration_s))
			buf_add_c(out, '-');
		else
			buf_add_double(out, rows[i].duration_s);
		cell_add(out, rows[i].when);
		cell_add(out, rows[i].target);
		buf_printf(out, "\t%lld.%03d", (long long)(rows[i].t_ms / 1000), (int)(rows[i].t_ms % 1000));
		cell_add(out, rows[i].file);
		buf_printf(out, "\t%d", rows[i].status);
		cell_add(out, rows[i].content_type);
		buf_printf(out, "\t%s\n", http_failure_name(rows[i].failure));
	}
}

static void compare(const struct scrape_row *a, const struct scrape_row *b)
{
	REQUIRE(str_eq(a->when, b->when) && str_eq(a->target, b->target) && str_eq(a->file, b->file));
	REQUIRE(str_eq(a->content_type, b->content_type));
	REQUIRE(a->t_ms == b->t_ms && a->status == b->status && a->failure == b->failure);
	REQUIRE((isnan(a->duration_s) && isnan(b->duration_s)) || a->duration_s == b->duration_s);
}

static void write_and_read(struct arena *arena, const struct scrape_row *rows, size_t count)
{
	struct buf out;
	struct error e;
	size_t again_count = 0;
	buf_init(&out, 64 << 20);
	table_write(rows, count, &out);
	struct scrape_row *again = scrape_rows_parse(arena, STR("again"), buf_str(&out), &again_count, &e);
	REQUIRE(again && again_count == count);
	for (size_t i = 0; i < count; i++)
		compare(&rows[i], &again[i]);
	buf_fini(&out);
}

static void read_others(struct arena *arena, struct str text)
{
	struct error e;
	size_t count = 0;
	error_clear(&e);
	if (!limit_rows_parse(arena, STR("limits.tsv"), text, &count, &e))
		check_error(&e, text);
	error_clear(&e);
	struct health_row *rows = health_rows_parse(arena, STR("health.tsv"), text, &count, &e);
	if (!rows)
		check_error(&e, text);
	for (size_t i = 1; rows && i < count; i++)
		REQUIRE(rows[i - 1].t_ms <= rows[i].t_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	struct error e;
	size_t count = 0;
	char *bytes = malloc(size + !size); /* in its own block, so that reading beyond it is seen */
	REQUIRE(bytes);
	memcpy(bytes, data, size);
	struct str text = str_of(bytes, size);
	arena_init(&arena);
	error_clear(&e);
	struct scrape_row *rows = scrape_rows_parse(&arena, STR("scrapes.tsv"), text, &count, &e);
	if (rows) {
		REQUIRE(!e.set && count > 0);
		for (size_t i = 0; i < count; i++)
			check_row(&rows[i]);
		check_order(rows, count);
		write_and_read(&arena, rows, count);
	} else {
		check_error(&e, text);
	}
	read_others(&arena, text);
	arena_fini(&arena);
	free(bytes);
	return 0;
}
