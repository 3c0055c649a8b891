/* Completion scripts for three shells, from the same tables as the help. */
#include "cli/command.h"

static bool takes_files(const struct option_spec *o)
{
	return o->argument && (strcmp(o->argument, "FILE") == 0 || strcmp(o->argument, "DIR") == 0);
}

/* Text inside single quotes. `colon` escapes ':', which zsh's specifications end a field with. */
static void quoted(struct buf *out, const char *text, bool colon)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_add_cstr(out, "'\\''");
		else if (colon && (*text == ':' || *text == '[' || *text == ']'))
			buf_printf(out, "\\%c", *text);
		else
			buf_add_c(out, *text);
	}
}

static void words(struct buf *out, const char *const *list)
{
	for (size_t i = 0; list[i]; i++)
		buf_printf(out, "%s%s", i ? " " : "", list[i]);
}

/* The words that an operand of the command can be; nothing when operands are files. */
static bool operand_words(struct buf *out, const struct command *c)
{
	if (c->operand_is_command)
		for (const struct command *const *other = commands; *other; other++)
			buf_printf(out, "%s%s", other == commands ? "" : " ", (*other)->name);
	else if (c->operands)
		words(out, c->operands);
	return c->operand_is_command || c->operands;
}

static void bash_values(struct buf *out, const struct command *c)
{
	OPTIONS_EACH(c->tables, table, o)
	{
		if (o->type == OPTION_FLAG)
			continue;
		buf_printf(out, "\t%s,--%s", c->name, o->name);
		if (o->letter)
			buf_printf(out, "|%s,-%c", c->name, o->letter);
		if (o->type == OPTION_CHOICE) {
			buf_add_cstr(out, ") COMPREPLY=($(compgen -W '");
			words(out, o->choices);
			buf_add_cstr(out, "' -- \"$cur\")); return ;;\n");
		} else {
			buf_printf(out, ") %sreturn ;;\n", takes_files(o) ? "COMPREPLY=($(compgen -f -- \"$cur\")); " : "");
		}
	}
}

static void bash_options(struct buf *out, const struct command *c)
{
	buf_printf(out, "\t%s) options='", c->name);
	OPTIONS_EACH(c->tables, table, o)
	buf_printf(out, "--%s ", o->name);
	buf_add_cstr(out, "' operands='");
	operand_words(out, c);
	buf_printf(out, "'%s ;;\n", c->files_too ? " files=1" : "");
}

static void completion_bash(struct buf *out)
{
	buf_add_cstr(out, "# bash completion of goodput\n_goodput()\n{\n"
			  "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= options= operands= files= i\n"
			  "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
			  "\t\t[[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }\n\tdone\n"
			  "\tCOMPREPLY=()\n\tcase $command,$prev in\n");
	for (const struct command *const *c = commands; *c; c++)
		bash_values(out, *c);
	buf_add_cstr(out, "\tesac\n\tcase $command in\n");
	for (const struct command *const *c = commands; *c; c++)
		bash_options(out, *c);
	buf_add_cstr(out, "\t'') operands='");
	for (const struct command *const *c = commands; *c; c++)
		buf_printf(out, "%s ", (*c)->name);
	buf_add_cstr(out, "' options='");
	for (const struct option_spec *o = global_options; o->name; o++)
		buf_printf(out, "--%s ", o->name);
	buf_add_cstr(out, "' ;;\n\tesac\n"
			  "\tif [[ $cur == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
			  "\telif [[ $operands ]]; then\n\t\tCOMPREPLY=($(compgen -W \"$operands\" -- \"$cur\"))\n"
			  "\t\t[[ ! $files ]] || { compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- \"$cur\")); }\n"
			  "\telse\n\t\tcompopt -o filenames 2>/dev/null\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\tfi\n}\n"
			  "complete -F _goodput goodput\n");
}

static void zsh_option(struct buf *out, const struct option_spec *o)
{
	buf_printf(out, "\t\t\t'%s--%s%s[", o->type == OPTION_STRINGS ? "*" : "", o->name, o->type == OPTION_FLAG ? "" : "=");
	quoted(out, o->help, true);
	buf_add_c(out, ']');
	if (o->type == OPTION_CHOICE) {
		buf_printf(out, ":%s:(", o->name);
		words(out, o->choices);
		buf_add_c(out, ')');
	} else if (o->argument) {
		buf_printf(out, ":%s:%s", o->argument, takes_files(o) ? "_files" : "");
	}
	buf_add_cstr(out, "' \\\n");
}

static void completion_zsh(struct buf *out)
{
	buf_add_cstr(out, "#compdef goodput\n_goodput()\n{\n\tlocal -a commands\n\tcommands=(\n");
	for (const struct command *const *c = commands; *c; c++) {
		buf_printf(out, "\t\t'%s:", (*c)->name);
		quoted(out, (*c)->summary, true);
		buf_add_cstr(out, "'\n");
	}
	buf_add_cstr(out, "\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
			  "\tshift words\n\t((CURRENT--))\n\tcase $words[1] in\n");
	for (const struct command *const *c = commands; *c; c++) {
		buf_printf(out, "\t%s)\n\t\t_arguments -S \\\n", (*c)->name);
		OPTIONS_EACH((*c)->tables, table, o)
		zsh_option(out, o);
		if ((*c)->files_too) {
			buf_add_cstr(out, "\t\t\t'1:operand:{_alternative \"words:word:(");
			operand_words(out, *c);
			buf_add_cstr(out, ")\" \"files:file:_files\"}' \\\n\t\t\t'*:file:_files'\n\t\t;;\n");
			continue;
		}
		buf_add_cstr(out, "\t\t\t'*:target:");
		if (!(*c)->operand_is_command && !(*c)->operands) {
			buf_add_cstr(out, "_files'\n\t\t;;\n");
			continue;
		}
		buf_add_c(out, '(');
		operand_words(out, *c);
		buf_add_cstr(out, ")'\n\t\t;;\n");
	}
	buf_add_cstr(out, "\tesac\n}\n_goodput \"$@\"\n");
}

static void fish_option(struct buf *out, const struct command *c, const struct option_spec *o)
{
	buf_printf(out, "complete -c goodput -n '__fish_seen_subcommand_from %s' -l %s", c->name, o->name);
	if (o->letter)
		buf_printf(out, " -s %c", o->letter);
	if (o->type == OPTION_CHOICE) {
		buf_add_cstr(out, " -x -a '");
		words(out, o->choices);
		buf_add_c(out, '\'');
	} else if (o->type != OPTION_FLAG) {
		buf_add_cstr(out, takes_files(o) ? " -r -F" : " -x");
	}
	buf_add_cstr(out, " -d \"");
	for (const char *t = o->help; *t; t++)
		buf_printf(out, "%s%c", strchr("\"$\\", *t) ? "\\" : "", *t);
	buf_add_cstr(out, "\"\n");
}

static void completion_fish(struct buf *out)
{
	buf_add_cstr(out, "# fish completion of goodput\n");
	for (const struct command *const *c = commands; *c; c++) {
		buf_printf(out, "complete -c goodput -f -n __fish_use_subcommand -a %s -d \"%s\"\n", (*c)->name, (*c)->summary);
		OPTIONS_EACH((*c)->tables, table, o)
		fish_option(out, *c, o);
		if (!(*c)->operand_is_command && !(*c)->operands)
			continue;
		buf_printf(out, "complete -c goodput%s -n '__fish_seen_subcommand_from %s' -a '", (*c)->files_too ? "" : " -f", (*c)->name);
		operand_words(out, *c);
		buf_add_cstr(out, "'\n");
	}
}

void completion_print(enum shell shell, struct buf *out)
{
	static void (*const shells[])(struct buf *) = { completion_bash, completion_zsh, completion_fish };

	shells[shell](out);
}
