#include "cli/commands.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>

volatile bool command_stop;

const struct exit_meaning exit_meanings[] = {
	{ EXIT_FINE, "Fine." },
	{ EXIT_WARNING, "Warning." },
	{ EXIT_CRITICAL, "Critical." },
	{ EXIT_UNKNOWN, "Unknown: nothing could be judged, or part of the fleet did not answer and the rest is no worse than a warning." },
	{ EXIT_USAGE, "Wrong usage." },
	{ EXIT_BAD_INPUT, "A file, page or query cannot be read as what it should be." },
	{ EXIT_UNREACHABLE, "The server asked for data does not answer." },
	{ EXIT_INTERNAL, "Internal error." },
	{ EXIT_INTERRUPTED, "Interrupted." },
	{ 0, NULL },
};

const struct command *const commands[] = { &command_bench, &command_check, &command_collect, &command_compare, &command_demo,
	&command_query, &command_record, &command_rules, &command_serve, &command_signals, &command_sim, &command_store, &command_top,
	&command_workload, &command_completion, &command_man, &command_help, &command_version, NULL };

const struct command *command_find(struct str name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (str_is(name, (*c)->name))
			return *c;
	return NULL;
}

const char *command_nearest(struct str name)
{
	const char *nearest = NULL;
	size_t best = name.len > 4 ? 3 : 2;

	for (const struct command *const *c = commands; *c; c++) {
		size_t distance = str_distance(name, str_from((*c)->name), best);

		if (distance <= best && distance < name.len) {
			best = distance;
			nearest = (*c)->name;
		}
	}
	return nearest;
}

int command_failed(const struct error *e)
{
	log_progress(NULL);
	error_print(e, stderr);
	return e->status;
}

int command_usage(const struct command *c, const char *missing)
{
	struct buf text;

	buf_init(&text, 65536);
	buf_printf(&text, "goodput %s: %s\n", c->name, missing);
	help_usage(c, &text);
	buf_printf(&text, "\n  %s\n      %s\n\nMore: goodput %s --help\n", c->examples[0].command, c->examples[0].what, c->name);
	fputs(buf_cstr(&text), stderr);
	buf_fini(&text);
	return EXIT_USAGE;
}

int command_output(struct str text, int status)
{
	bool written = (!text.len || fwrite(text.ptr, 1, text.len, stdout) == text.len) && fflush(stdout) == 0;

	if (written || errno == EPIPE)
		return status;
	log_error("cannot write the result: %s", strerror(errno));
	return EXIT_INTERNAL;
}
