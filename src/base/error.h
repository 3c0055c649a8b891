/* error: an error as a value: what happened, where, why, how to fix.
 * Functions that can fail take `struct error *e` last and return false, NULL or a negative number after filling it.
 * The texts live inside the object, so an error can be copied and kept. */
#ifndef GOODPUT_BASE_ERROR_H
#define GOODPUT_BASE_ERROR_H

#include "base/str.h"

#include <stdbool.h>
#include <stdio.h>

enum exit_status { /* DESIGN.md, Commands */
	EXIT_FINE = 0,
	EXIT_WARNING = 1,
	EXIT_CRITICAL = 2,
	EXIT_UNKNOWN = 3,
	EXIT_USAGE = 64,
	EXIT_BAD_INPUT = 65,
	EXIT_UNREACHABLE = 69,
	EXIT_INTERNAL = 70,
	EXIT_INTERRUPTED = 130
};

struct error {
	bool set;
	enum exit_status status; /* what the process exits with if nobody handles it */
	int line, column;        /* 1-based; 0 = no position. The column counts bytes */
	char source[160];        /* file, URL, "query" ... */
	char message[320];       /* one sentence without a final stop */
	char hint[320];          /* how to fix; may be empty */
	char excerpt[200];       /* the line of text with the error; may be empty */
	int excerpt_column;      /* 1-based caret position in the excerpt; 0 = none */
};

void error_clear(struct error *e);
/* Each set function returns false, so that `return error_set(...)` reads well. `e` may be NULL. */
bool error_set(struct error *e, enum exit_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* An error in text: finds line, column and excerpt of the byte `offset` of `text`. */
bool error_at(struct error *e, struct str source, struct str text, size_t offset, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
void error_source(struct error *e, struct str source);
void error_hint(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "goodput: source:line:column: message", then excerpt with caret, then "  hint: ..." */
void error_print(const struct error *e, FILE *to);
/* The same first line without "goodput: " into `text`. */
void error_text(const struct error *e, char *text, size_t size);

#endif
