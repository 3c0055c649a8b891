/* goodput: finds the command, parses its options, runs it. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define SAME_INTERRUPT_NS INT64_C(500000000)

/* The first Ctrl-C asks to stop, the second ends at once. timeout(1) and some runners send one to the process and one to its group: what
 * comes within half a second is the first. */
static void on_interrupt(int number)
{
	static volatile int64_t first_ns;
	int64_t now_ns = clock_monotonic_ns();

	if (!command_stop)
		first_ns = now_ns;
	command_stop = true;
	if (now_ns - first_ns < SAME_INTERRUPT_NS)
		return;
	signal(number, SIG_DFL);
	raise(number);
}

static int unknown_command(struct str name)
{
	struct error e = { 0 };
	const char *nearest = command_nearest(name);

	error_set(&e, EXIT_USAGE, "unknown command \"" STR_FMT "\"", STR_ARG(name));
	if (nearest)
		error_hint(&e, "did you mean goodput %s?", nearest);
	else if (str_find(name, ':') >= 0 || str_find(name, '/') >= 0 || file_exists(name.ptr))
		error_hint(&e, "to diagnose it: goodput check " STR_FMT, STR_ARG(name));
	else
		error_hint(&e, "goodput help lists the commands");
	return command_failed(&e);
}

static int print_overview(int status)
{
	struct buf text;

	buf_init(&text, 65536);
	help_overview(&text, 80);
	if (status == EXIT_USAGE)
		fputs(buf_cstr(&text), stderr);
	else
		status = command_output(buf_str(&text), status);
	buf_fini(&text);
	return status;
}

static int print_help(const struct command *c)
{
	struct buf text;
	int columns = terminal_columns(stdout);

	buf_init(&text, 1 << 20);
	help_command(c, &text, columns < 80 ? columns : 80);
	int status = command_output(buf_str(&text), EXIT_FINE);

	buf_fini(&text);
	return status;
}

static int run(const struct command *c, const struct global_arguments *before, char **argv, size_t count)
{
	struct arena arena;
	struct error e = { 0 };
	struct option_strings operands = { 0 };
	char who[64];
	int status;

	arena_init(&arena);
	snprintf(who, sizeof who, "goodput %s", c->name);
	void *arguments = arena_zalloc(&arena, 1, c->arguments_size);
	struct global_arguments *global = arguments; /* the first member of all */

	options_preset(c->tables, arguments);
	*global = *before;
	if (!options_parse(c->tables, arguments, who, argv, count, false, NULL, &operands, &e)) {
		status = command_failed(&e);
	} else if (global->json && !option_find(c->tables, STR("json"))) {
		error_set(&e, EXIT_USAGE, "goodput %s prints no JSON document", c->name);
		status = command_failed(&e);
	} else if (global->help) {
		status = print_help(c);
	} else if (global->version) {
		status = command_version.run(&command_version, arguments, &operands);
	} else {
		log_set_level(global->quiet ? LOG_WARNING : global->verbose ? LOG_DEBUG : LOG_NOTE);
		status = c->run(c, arguments, &operands);
		log_progress(NULL);
	}
	options_free(c->tables, arguments);
	VEC_FREE(&operands);
	arena_fini(&arena);
	return status;
}

/* A file or socket must not get the number of a stream that was closed (goodput ... >&-): what is meant for one would go into the other.
 * Nothing can be written to what stands there instead, so a result that is lost is still told. */
static void streams_hold(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_NOCTTY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	static const struct option_table before_command[] = { { "Common options", global_options, 0 }, { 0 } };
	struct global_arguments global = { 0 };
	struct error e = { 0 };
	size_t used;

	streams_hold();
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, on_interrupt);
	signal(SIGTERM, on_interrupt);
	options_preset(before_command, &global);
	if (!options_parse(before_command, &global, "goodput", argv + 1, (size_t)argc - 1, true, &used, NULL, &e))
		return command_failed(&e);
	if (argc - 1 == (int)used) {
		if (global.version)
			return command_version.run(&command_version, &global, &(struct option_strings){ 0 });
		return print_overview(global.help ? EXIT_FINE : EXIT_USAGE);
	}
	const struct command *c = command_find(str_from(argv[used + 1]));

	return c ? run(c, &global, argv + used + 2, (size_t)argc - used - 2) : unknown_command(str_from(argv[used + 1]));
}
