#include "cli/commands.h"

#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

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

/* The nearest of the words that were looked at, as long as one is near. */
struct nearest {
	struct str name;
	size_t best;
	const char *word;
};

static struct nearest nearest_to(struct str name)
{
	return (struct nearest){ name, name.len > 4 ? 3 : 2, NULL };
}

static void nearest_look(struct nearest *n, const char *word)
{
	size_t distance = str_distance(n->name, str_from(word), n->best);

	if (distance <= n->best && distance < n->name.len) {
		n->best = distance;
		n->word = word;
	}
}

const char *command_nearest(struct str name)
{
	struct nearest nearest = nearest_to(name);

	for (const struct command *const *c = commands; *c; c++)
		nearest_look(&nearest, (*c)->name);
	return nearest.word;
}

const char *command_nearest_action(const struct command *c, const char *word)
{
	struct nearest nearest = nearest_to(str_from(word));

	for (const char *const *action = c->operands; action && *action; action++)
		nearest_look(&nearest, *action);
	return nearest.word;
}

int command_unknown_action(const struct command *c, const char *word)
{
	const char *nearest = command_nearest_action(c, word);
	struct error e = { 0 };
	struct buf all;

	buf_init(&all, 1000);
	for (const char *const *action = c->operands; *action; action++)
		buf_printf(&all, "%s%s", all.len ? ", " : "", *action);
	error_set(&e, EXIT_USAGE, "%s: unknown action \"%s\"", c->name, word);
	if (nearest)
		error_hint(&e, "did you mean goodput %s %s? It knows %s", c->name, nearest, buf_cstr(&all));
	else
		error_hint(&e, "it knows %s: goodput %s --help", buf_cstr(&all), c->name);
	buf_fini(&all);
	return command_failed(&e);
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

bool command_reader_gone(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

int command_output(struct str text, int status)
{
	bool written = (!text.len || fwrite(text.ptr, 1, text.len, stdout) == text.len) && fflush(stdout) == 0;

	if (written || errno == EPIPE)
		return status;
	log_error("cannot write the result: %s", strerror(errno));
	return EXIT_INTERNAL;
}
