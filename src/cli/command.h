/* command: what a subcommand is, and the list of all. A new one is a table entry and a run function; help, completion and man page follow.
 */
#ifndef GOODPUT_CLI_COMMAND_H
#define GOODPUT_CLI_COMMAND_H

#include "base/buf.h"
#include "cli/options.h"

struct example {
	const char *command, *what; /* command NULL ends a list */
};

/* Options that every command has; the first member of every command's arguments. */
enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
struct global_arguments {
	bool json, quiet, verbose, help, version;
	int color; /* enum color_when */
};
extern const struct option_spec plain_options[];  /* of commands that print no JSON document */
extern const struct option_spec global_options[]; /* of those that do: --json too */

struct command {
	const char *name, *summary;
	const char *const *synopsis; /* what follows "goodput NAME", one a form; NULL-terminated */
	const char *description;     /* paragraphs, separated by an empty line */
	const struct example *examples;
	const struct option_table *tables;
	size_t arguments_size;
	const char *const *operands; /* fixed words that an operand can be, for completion; NULL: files */
	bool operand_is_command;     /* operands are names of commands */
	bool files_too;              /* `operands` are of the first place, where a file may be too; files follow */
	int (*run)(const struct command *self, void *arguments, const struct option_strings *operands);
};

/* NULL-terminated, in the order of the overview. */
extern const struct command *const commands[];
const struct command *command_find(struct str name);
/* The name of a command that is written nearly so; NULL: none is near. */
const char *command_nearest(struct str name);

/* help.c */
void help_overview(struct buf *out, int columns);
void help_command(const struct command *c, struct buf *out, int columns);
void help_usage(const struct command *c, struct buf *out);
/* A blank at which no line is broken: "60 s" stays together. It is printed as a blank. */
#define STICKY '\x1f'
/* Appends `text` wrapped to `columns`; lines after the first are indented by `indent` (the first is where the cursor is, `at`). */
void text_wrap(struct buf *out, struct str text, int columns, int indent, int at);

/* manual.c: mdoc source. NULL: goodput(1). */
void manual_print(const struct command *c, struct buf *out);

/* completion.c */
enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH };
void completion_print(enum shell shell, struct buf *out);

/* What every command says of its exit status, for help and man pages: pairs of number and meaning. */
struct exit_meaning {
	int status;
	const char *meaning;
};
extern const struct exit_meaning exit_meanings[]; /* ends with meaning NULL */

/* Missing operands: says what is needed and how to call it; returns EXIT_USAGE. */
int command_usage(const struct command *c, const char *missing);
/* The first word is none of the command's actions (`operands`): says so, and which is near; returns EXIT_USAGE. */
int command_unknown_action(const struct command *c, const char *word);
const char *command_nearest_action(const struct command *c, const char *word); /* NULL: none is near */
/* Prints the error and returns its status. */
int command_failed(const struct error *e);
/* Writes to standard output. A reader that went away is no error; a full disk is. Returns `status` or EXIT_INTERNAL. */
int command_output(struct str text, int status);

/* Standard output is a pipe, socket or terminal at whose other end nobody is any more. */
bool command_reader_gone(void);

/* Set by Ctrl-C. */
extern volatile bool command_stop;

#endif
