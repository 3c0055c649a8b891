/* Commands about goodput itself: help, man, completion, version. */
#include "base/file.h"
#include "catalog/catalog.h"
#include "cli/commands.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <uv.h>

struct about_arguments {
	struct global_arguments global;
};
static const struct option_table about_tables[] = { { "Common options", plain_options, 0 }, { 0 } };
static const struct option_table version_tables[] = { { "Common options", global_options, 0 }, { 0 } };
static const char *const shell_names[] = { "bash", "zsh", "fish", NULL };

static int print_with(void (*print)(const struct command *, struct buf *), const struct command *c)
{
	struct buf text;

	buf_init(&text, 4 << 20);
	print(c, &text);
	int status = command_output(buf_str(&text), EXIT_FINE);

	buf_fini(&text);
	return status;
}

/* The command that an operand names; NULL with *status set when it is none. */
static const struct command *command_named(const char *name, int *status)
{
	const struct command *c = command_find(str_from(name));
	const char *nearest = c ? NULL : command_nearest(str_from(name));
	struct error e = { 0 };

	if (c)
		return c;
	error_set(&e, EXIT_USAGE, "no command \"%s\"", name);
	if (nearest)
		error_hint(&e, "did you mean %s?", nearest);
	else
		error_hint(&e, "goodput help lists the commands");
	*status = command_failed(&e);
	return NULL;
}

static void help_print(const struct command *c, struct buf *out)
{
	int columns = terminal_columns(stdout) < 80 ? terminal_columns(stdout) : 80;

	if (c)
		help_command(c, out, columns);
	else
		help_overview(out, columns);
}

static int about_run(const struct option_strings *operands, void (*print)(const struct command *, struct buf *))
{
	int status = EXIT_FINE;
	const struct command *c = operands->count ? command_named(operands->items[0], &status) : NULL;

	return status ? status : print_with(print, c);
}

static int help_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	return operands->count > 1 ? command_usage(self, "one command at a time") : about_run(operands, help_print);
}

static int man_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	return operands->count > 1 ? command_usage(self, "one command at a time") : about_run(operands, manual_print);
}

static int completion_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	struct buf text;

	if (operands->count != 1)
		return command_usage(self, "for which shell: bash, zsh or fish?");
	for (int i = 0; shell_names[i]; i++) {
		if (strcmp(operands->items[0], shell_names[i]) != 0)
			continue;
		buf_init(&text, 4 << 20);
		completion_print((enum shell)i, &text);
		int status = command_output(buf_str(&text), EXIT_FINE);

		buf_fini(&text);
		return status;
	}
	return command_usage(self, "only bash, zsh and fish are known");
}

/* "vLLM 0.32, SGLang 0.5.9": how far the catalogue was checked. */
static void version_engines(struct buf *out, bool json)
{
	struct catalog catalog;
	struct error e = { 0 };
	bool first = true;

	if (!catalog_init(&catalog, NULL, 0, &e)) {
		command_failed(&e);
		return;
	}
	VEC_EACH (&catalog.engines, engine) {
		const struct engine_spec *spec = *engine;

		if (spec->exporter || !spec->checked_up_to.len)
			continue;
		if (json) {
			buf_add_cstr(out, first ? "" : ",");
			buf_add_json(out, spec->id);
			buf_add_c(out, ':');
			buf_add_json(out, spec->checked_up_to);
		} else {
			buf_printf(out, "%s" STR_FMT " " STR_FMT, first ? "" : ", ", STR_ARG(spec->title), STR_ARG(spec->checked_up_to));
		}
		first = false;
	}
	catalog_fini(&catalog);
}

static int version_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	const struct about_arguments *a = arguments;
	const char *curl = curl_version_info(CURLVERSION_NOW)->version;
	struct buf text;

	if (operands->count)
		return command_usage(self, "it takes no operands");
	buf_init(&text, 65536);
	if (a->global.json) {
		buf_printf(&text,
			"{\"schema\":\"goodput.version/1\",\"version\":\"%s\",\"libraries\":{\"libcurl\":\"%s\",\"libuv\":\"%s\","
			"\"jansson\":\"%s\"},\"checked_up_to\":{",
			GOODPUT_VERSION, curl, uv_version_string(), JANSSON_VERSION);
		version_engines(&text, true);
		buf_add_cstr(&text, "}}\n");
	} else {
		struct buf engines;

		buf_init(&engines, 65536);
		version_engines(&engines, false);
		buf_printf(&text, "goodput %s\nlibcurl %s, libuv %s, jansson %s\ncatalogue checked up to ", GOODPUT_VERSION, curl,
			uv_version_string(), JANSSON_VERSION);
		text_wrap(&text, buf_str(&engines), terminal_columns(stdout) < 80 ? terminal_columns(stdout) : 80, 2, 24);
		buf_fini(&engines);
	}
	int status = command_output(buf_str(&text), EXIT_FINE);

	buf_fini(&text);
	return status;
}

const struct command command_completion = {
	.name = "completion",
	.summary = "print a completion script for bash, zsh or fish",
	.synopsis = (const char *const[]){ "bash|zsh|fish", NULL },
	.description = "Prints a script that completes commands, options and their values. It is made from the same tables as the help.",
	.examples = (const struct example[]){ { "source <(goodput completion bash)", "Completes in this bash." },
		{ "goodput completion zsh > ~/.zfunc/_goodput", "For zsh, in a folder of $fpath." },
		{ "goodput completion fish > ~/.config/fish/completions/goodput.fish", "For fish." }, { NULL, NULL } },
	.tables = about_tables,
	.arguments_size = sizeof(struct about_arguments),
	.operands = shell_names,
	.run = completion_run,
};

const struct command command_man = {
	.name = "man",
	.summary = "print the man page of goodput or of a command",
	.synopsis = (const char *const[]){ "[COMMAND]", NULL },
	.description = "Prints the source (mdoc) of a man page. Installed pages are read with man goodput-check and so on.",
	.examples = (const struct example[]){ { "goodput man check | man -l -", "Reads the page of check without installing it." },
		{ NULL, NULL } },
	.tables = about_tables,
	.arguments_size = sizeof(struct about_arguments),
	.operand_is_command = true,
	.run = man_run,
};

const struct command command_help = {
	.name = "help",
	.summary = "show the commands, or how to use one",
	.synopsis = (const char *const[]){ "[COMMAND]", NULL },
	.description = "Without a command: the list of commands. With one: what goodput COMMAND --help prints.",
	.examples = (const struct example[]){ { "goodput help check", "How to use check." }, { NULL, NULL } },
	.tables = about_tables,
	.arguments_size = sizeof(struct about_arguments),
	.operand_is_command = true,
	.run = help_run,
};

const struct command command_version = {
	.name = "version",
	.summary = "print the version, and how far the catalogue was checked",
	.synopsis = (const char *const[]){ "", NULL },
	.description =
		"Prints the version of goodput and of its libraries, and up to which version of each engine the catalogue was checked.",
	.examples = (const struct example[]){ { "goodput version", "The version." }, { NULL, NULL } },
	.tables = version_tables,
	.arguments_size = sizeof(struct about_arguments),
	.operands = (const char *const[]){ NULL },
	.run = version_run,
};
