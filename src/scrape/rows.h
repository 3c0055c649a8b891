/* rows: the tables of a recording (scrapes.tsv, limits.tsv, health.tsv) as values. Sans-IO: text in, rows or one positioned error out.
 * A table is UTF-8 lines of columns between tabs; the first line names the columns, which may be in any order. */
#ifndef GOODPUT_SCRAPE_ROWS_H
#define GOODPUT_SCRAPE_ROWS_H

#include "base/arena.h"
#include "base/error.h"
#include "net/http.h"

struct scrape_row {
	struct str when; /* may be empty */
	struct str target;
	int64_t t_ms;
	struct str file;         /* relative, inside the folder; empty = no body */
	int status;              /* 0 = no answer */
	struct str content_type; /* may be empty */
	double duration_s;       /* NAN when unknown */
	enum http_failure failure;
	int line;           /* in the table */
	size_t file_offset; /* of the file's name in the text, for errors */
};
struct limit_row {
	struct str target;
	double memory_limit_bytes;
	int line;
	size_t target_offset;
};
struct health_row {
	struct str target; /* empty when the table has no such column */
	int64_t t_ms;
	int status;
	int line;
	size_t target_offset; /* of the row when there is no such column */
};

/* Rows in the arena, in the order of the table (turned when the newest come first), so that a clock that went back shows; slices borrow
 * from `text`. `source` names the file in errors. NULL with an error; an empty table (header only) is an error too, except of limits and
 * health, where it is an array of zero rows. */
struct scrape_row *scrape_rows_parse(struct arena *arena, struct str source, struct str text, size_t *count, struct error *e);
struct limit_row *limit_rows_parse(struct arena *arena, struct str source, struct str text, size_t *count, struct error *e);
struct health_row *health_rows_parse(struct arena *arena, struct str source, struct str text, size_t *count, struct error *e);

#endif
