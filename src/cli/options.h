/* options: one table per command is the single source of parsing, --help, shell completion and man pages (as git's parse-options).
 *
 * GNU style: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, flags joined (-qv), --no-flag, options and operands in any order, "--" ends
 * options, "-" is an operand. Abbreviated names are refused, so that a new option never changes what a script means. */
#ifndef GOODPUT_CLI_OPTIONS_H
#define GOODPUT_CLI_OPTIONS_H

#include "base/error.h"
#include "base/vec.h"

#include <stdint.h>

enum option_type {       /* the field it fills */
	OPTION_FLAG,     /* bool */
	OPTION_STRING,   /* const char *, of argv; NULL when not given */
	OPTION_STRINGS,  /* struct option_strings; given again it adds */
	OPTION_INTEGER,  /* int64_t */
	OPTION_DURATION, /* int64_t, ms; at most 100 years, so that nanoseconds fit */
	OPTION_SIZE,     /* size_t, bytes: 200000, 64k, 64KiB, 1MB, 1GiB: k, M, G are powers of 1024 */
	OPTION_CHOICE    /* int: index in `choices` */
};

struct option_strings {
	const char **items;
	size_t count, cap;
};

struct option_spec {
	const char *name; /* without "--"; NULL ends a table */
	char letter;      /* 0: none */
	enum option_type type;
	size_t offset;              /* of the field in the table's struct */
	const char *argument;       /* "DURATION", "FILE" (completed as files), ...; NULL for flags */
	const char *const *choices; /* NULL-terminated */
	const char *preset;         /* default as one would type it; NULL: the zero value */
	int64_t least;              /* of integers and durations */
	const char *help;
};

/* Tables are shared: each fills a struct that commands embed at `offset`. */
struct option_table {
	const char *title; /* heading in the help: "Where the data is"; NULL ends a list of tables */
	const struct option_spec *options;
	size_t offset;
};

/* Fills in the presets. The structs must be zero. */
void options_preset(const struct option_table *tables, void *arguments);
/* Parses argv[0..count). Operands go to `operands`. With `leading`, stops at the first operand and returns what is left in `*used`.
 * False with a message (exit 64) that names the nearest option. `who` is "goodput check", for the hint. */
bool options_parse(const struct option_table *tables, void *arguments, const char *who, char **argv, size_t count, bool leading,
	size_t *used, struct option_strings *operands, struct error *e);
/* Frees the lists of OPTION_STRINGS. */
void options_free(const struct option_table *tables, void *arguments);
/* The option of this name; NULL when the tables have none. */
const struct option_spec *option_find(const struct option_table *tables, struct str name);

#define OPTIONS_EACH(tables, table, option)                                                                                                \
	for (const struct option_table *table = (tables); table->title; table++)                                                           \
		for (const struct option_spec *option = table->options; option->name; option++)

#endif
