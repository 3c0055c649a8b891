#include "cli/command.h"

#include <stdio.h>

enum { OPTION_COLUMN = 28 };

/* Columns on the screen; a STICKY is a blank. */
static int word_width(struct str word)
{
	int width = (int)str_columns(word);

	for (size_t i = 0; i < word.len; i++)
		width += word.ptr[i] == STICKY;
	return width;
}

void text_wrap(struct buf *out, struct str text, int columns, int indent, int at)
{
	struct str rest = text, word;
	bool first = true;

	while (str_split(&rest, ' ', &word)) {
		int width = word_width(word);

		if (!word.len)
			continue;
		if (!first && at + 1 + width > columns) {
			buf_add_c(out, '\n');
			buf_add_repeat(out, ' ', (size_t)indent);
			at = indent;
		} else if (!first) {
			buf_add_c(out, ' ');
			at++;
		}
		for (size_t i = 0; i < word.len; i++)
			buf_add_c(out, word.ptr[i] == STICKY ? ' ' : word.ptr[i]);
		at += width;
		first = false;
	}
	buf_add_c(out, '\n');
}

static void paragraphs(struct buf *out, const char *text, int columns)
{
	struct str rest = str_from(text);

	while (rest.len) {
		ptrdiff_t end = str_search(rest, STR("\n\n"));

		text_wrap(out, end < 0 ? rest : str_head(rest, (size_t)end), columns, 0, 0);
		rest = end < 0 ? STR_EMPTY : str_skip(rest, (size_t)end + 2);
		buf_add_c(out, '\n');
	}
}

void help_usage(const struct command *c, struct buf *out)
{
	for (size_t i = 0; c->synopsis[i]; i++)
		buf_printf(out, "%s goodput %s%s%s\n", i ? "      " : "usage:", c->name, c->synopsis[i][0] ? " " : "", c->synopsis[i]);
}

static void help_examples(const struct example *examples, struct buf *out, int columns)
{
	for (const struct example *x = examples; x->command; x++) {
		buf_printf(out, "  %s\n      ", x->command);
		text_wrap(out, str_from(x->what), columns, 6, 6);
	}
	buf_add_c(out, '\n');
}

/* "  -w, --window DURATION" */
static void option_head(const struct option_spec *o, struct buf *out)
{
	if (o->letter)
		buf_printf(out, "  -%c, --%s", o->letter, o->name);
	else
		buf_printf(out, "      --%s", o->name);
	if (o->type == OPTION_CHOICE)
		for (int i = 0; o->choices[i]; i++)
			buf_printf(out, "%c%s", i ? '|' : ' ', o->choices[i]);
	else if (o->argument)
		buf_printf(out, " %s", o->argument);
}

static void help_option(const struct option_spec *o, struct buf *out, int columns)
{
	struct buf text;
	size_t start = out->len;

	option_head(o, out);
	int at = (int)(out->len - start);

	if (at + 2 > OPTION_COLUMN) {
		buf_add_c(out, '\n');
		at = 0;
	}
	buf_add_repeat(out, ' ', (size_t)(OPTION_COLUMN - at));
	buf_init(&text, 4096);
	buf_add_cstr(&text, o->help);
	if (o->preset)
		buf_printf(&text, " (default %s)", o->preset);
	if (o->type == OPTION_STRINGS)
		buf_add_cstr(&text, " Can be given again.");
	text_wrap(out, buf_str(&text), columns, OPTION_COLUMN, OPTION_COLUMN);
	buf_fini(&text);
}

static void help_exit(struct buf *out, int columns)
{
	buf_add_cstr(out, "Exit status:\n");
	for (const struct exit_meaning *m = exit_meanings; m->meaning; m++) {
		buf_printf(out, "  %3d  ", m->status);
		text_wrap(out, str_from(m->meaning), columns, 7, 7);
	}
}

void help_command(const struct command *c, struct buf *out, int columns)
{
	help_usage(c, out);
	buf_add_c(out, '\n');
	paragraphs(out, c->description, columns);
	buf_add_cstr(out, "Examples:\n");
	help_examples(c->examples, out, columns);
	for (const struct option_table *table = c->tables; table->title; table++) {
		buf_printf(out, "%s:\n", table->title);
		for (const struct option_spec *o = table->options; o->name; o++)
			help_option(o, out, columns);
		buf_add_c(out, '\n');
	}
	help_exit(out, columns);
}

void help_overview(struct buf *out, int columns)
{
	buf_add_cstr(out, "goodput tells whether LLM servers do useful work, why not, what to do first.\n\n"
			  "  goodput check localhost:8000                what is wrong with this server?\n"
			  "  goodput check --prometheus http://prom:9090 with the fleet that it scrapes?\n\n"
			  "Commands:\n");
	for (const struct command *const *c = commands; *c; c++) {
		buf_printf(out, "  %-12s ", (*c)->name);
		text_wrap(out, str_from((*c)->summary), columns, 15, 15);
	}
	buf_add_cstr(out, "\nA target is a URL, host:port, a saved page (- is standard input), a recording.\n"
			  "More: goodput COMMAND --help, or man goodput-COMMAND.\n");
}
