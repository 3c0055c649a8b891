/* section: the columns of a chunk that are stored and read together. Internal to the store; pure: bytes in, bytes out.
 *
 * A chunk holds some series over some time. Its times are lists, mostly one that all its columns share; its columns lie in sections, so
 * that a histogram is read without the rest of the page. Of each column the summary says first, last and increase without the values.
 * docs/formats/store.md has the bytes. */
#ifndef GOODPUT_STORE_SECTION_H
#define GOODPUT_STORE_SECTION_H

#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { SECTION_COLUMNS_MAX = 4096, LIST_ROWS_MAX = 1 << 16, LISTS_MAX = 1 << 16 };

/* ---- times ---- */

struct times_list {
	const int64_t *t; /* strictly rising */
	uint32_t count;   /* 1 .. LIST_ROWS_MAX */
};

void times_pack(const struct times_list *lists, size_t count, struct buf *out);
/* The lists in the arena; NULL when damaged (times that do not rise included). */
struct times_list *times_unpack(struct str packed, struct arena *arena, size_t *count);

/* ---- columns ---- */

struct column {
	const double *v; /* as many as the list has times; NULL: none in this chunk */
	uint32_t list;   /* which times */
	bool above;      /* the bucket above the column before: they are alike */
};

/* What is known of a column without its values. Stale markers and NaN are no values to it. */
struct column_summary {
	double first, last; /* bit for bit what the first and last sample are */
	double increase;    /* what a counter gained, resets counted as new beginnings */
	bool resets;        /* it fell at least once */
	bool gaps;          /* it holds NaN or stale markers */
	bool constant;      /* all samples are the first */
};

/* What a summary says of these values. */
struct column_summary column_summarise(const double *v, size_t n);
void section_pack(const struct column *columns, size_t count, const struct times_list *lists, struct buf *summary, struct buf *data);

#define SECTION_ABSENT UINT32_MAX
struct section_column;
struct section {
	struct section_column *columns;
	size_t count;
};
/* Reads heads and summaries; in the arena. False: damaged. */
bool section_open(struct section *s, struct str summary, const struct times_list *lists, size_t list_count, struct arena *arena);
/* Which times, or SECTION_ABSENT: no samples in this chunk. */
uint32_t section_list(const struct section *s, size_t column);
struct column_summary section_summary(const struct section *s, size_t column);
/* Fills out[i] (as many values as its list has times) for each column i whose out[i] is not NULL. */
bool section_values(const struct section *s, struct str data, const struct times_list *lists, double *const *out, struct arena *arena);
/* The same, but only for these rows (rising) of list 0, in which the columns asked for must be. */
bool section_rows(
	const struct section *s, struct str data, const uint32_t *rows, size_t row_count, double *const *out, struct arena *arena);

#endif
