/* goodput top: the fleet, live, in a terminal. */
#include "tui/top.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/page.h"
#include "watch/follow.h"
#include "watch/local.h"
#include "web/report.h"

#include <langinfo.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

struct top_arguments {
	struct global_arguments global;
	struct source_arguments source;
	int64_t interval_ms, window_ms;
	bool once, no_mouse;
	int graph; /* enum graph_choice */
};
enum graph_choice { CHOICE_BRAILLE, CHOICE_BLOCK, CHOICE_PLAIN };

#define AT(field) offsetof(struct top_arguments, field)
static const char *const graph_choices[] = { "braille", "block", "plain", NULL };
static const struct option_spec look_options[] = {
	{ "interval", 'i', OPTION_DURATION, AT(interval_ms), .argument = "DURATION", .preset = "2s", .least = 500,
		.help = "Look this often. A Prometheus is asked no more often than it scrapes." },
	{ "window", 'w', OPTION_DURATION, AT(window_ms), .argument = "DURATION", .preset = "1m", .least = 1000,
		.help = "Rates and quantiles are of this long, and of what was seen so far while that is less." },
	{ "once", '1', OPTION_FLAG, AT(once),
		.help = "Print one frame as text and end with the verdict's exit status; also when standard output is no terminal." },
	{ "graph", 0, OPTION_CHOICE, AT(graph), .argument = "KIND", .choices = graph_choices, .preset = "block",
		.help = "What trends are drawn with." },
	{ "no-mouse", 0, OPTION_FLAG, AT(no_mouse), .help = "Leave the mouse to the terminal, to select text." },
	{ 0 },
};
#undef AT

static const struct option_table top_tables[] = { { "How to look", look_options, 0 }, SOURCE_TABLES(struct top_arguments, source),
	GLOBAL_TABLE(struct top_arguments), { 0 } };

/* Without anything named: what listens on this machine. */
static bool look_around(struct arena *arena, struct watch_options *o, struct error *e)
{
	struct local_found found;
	struct catalog catalog;

	if (!watch_catalog(&catalog, arena, o, e))
		return false;
	bool ok = local_find(arena, &catalog, &found, e);

	catalog_fini(&catalog);
	if (!ok)
		return false;
	if (found.serve) {
		o->remote.url = found.serve;
	} else {
		o->targets = found.targets;
		o->target_count = found.count;
	}
	for (size_t i = 0; i < found.count; i++)
		log_note("found an engine at %s", found.targets[i]);
	return true;
}

static const char *source_name(struct arena *arena, const struct watch_options *o, const struct top_arguments *a)
{
	if (o->remote.url)
		return o->remote.url;
	if (o->target_count == 1)
		return o->targets[0];
	if (o->target_count)
		return arena_printf(arena, "%zu targets", o->target_count).ptr;
	return a->source.fleet.config_file ? a->source.fleet.config_file : a->source.fleet.targets_file;
}

static int size_from(const char *variable, int otherwise)
{
	const char *text = getenv(variable);
	long value = text ? strtol(text, NULL, 10) : 0;

	return value > 0 && value < 1000 ? (int)value : otherwise;
}

static void once_size(int *rows, int *columns)
{
	struct winsize size = { 0 };
	bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col;

	*rows = size_from("LINES", known ? size.ws_row : 24);
	*columns = size_from("COLUMNS", known ? size.ws_col : 80);
}

static int run_once(struct follow *f, const struct top_options *options)
{
	struct error e = { 0 };
	struct buf out;
	int rows, columns, status = 0;

	once_size(&rows, &columns);
	buf_init(&out, 16 << 20);
	if (top_once(f, options, rows, columns, &out, &status, &e))
		status = command_output(buf_str(&out), status);
	else
		status = command_failed(&e);
	buf_fini(&out);
	return status;
}

static void document_print(const struct report *r, struct buf *out)
{
	struct json j = { .out = out };

	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR("goodput.top/1"));
	json_number(&j, "time", (double)r->window.to_ms / 1000);
	json_number(&j, "window_seconds", (double)(r->window.to_ms - r->window.from_ms) / 1000);
	report_print_verdict(&j, r);
	report_print_targets(&j, r);
	report_print_scopes(&j, r, NULL);
	report_print_findings(&j, r);
	json_close(&j, '}');
	buf_add_c(out, '\n');
}

/* One look and its document; of live targets the first look has no differences to tell, so it prints nothing when `quiet`. */
static bool document_look(struct follow *f, bool quiet, int *status, struct error *e)
{
	struct buf out;
	size_t count;

	if (!follow_look(f, e))
		return false;
	follow_moments(f, &count);
	const struct report *r = count ? follow_judge(f, count - 1, false, e) : NULL;

	if (!count)
		return error_set(e, EXIT_UNKNOWN, "there is nothing of an engine in it");
	if (!r)
		return false;
	*status = r->exit_status;
	if (quiet)
		return true;
	buf_init(&out, (size_t)1 << 31);
	document_print(r, &out);
	*status = command_output(buf_str(&out), *status);
	fflush(stdout);
	buf_fini(&out);
	return *status != EXIT_INTERNAL && !ferror(stdout); /* a reader that went away wants no more */
}

/* JSON Lines: a document a look, until Ctrl-C; with --once one. */
static int run_documents(struct follow *f, const struct top_arguments *a)
{
	struct error e = { 0 };
	int status = 0;
	int64_t due_ns = clock_monotonic_ns();

	for (size_t looks = 0; !command_stop; looks++) {
		bool live = follow_goes_on(f);

		if (!document_look(f, looks == 0 && follow_kind(f) == WATCH_LIVE, &status, &e))
			return e.message[0] ? command_failed(&e) : status;
		live = live && !(a->once && (looks || follow_kind(f) != WATCH_LIVE));
		if (!live)
			return status;
		due_ns += (a->interval_ms > follow_pace_ms(f) ? a->interval_ms : follow_pace_ms(f)) * 1000000;
		while (!command_stop && clock_monotonic_ns() < due_ns)
			nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
	}
	return a->once ? EXIT_INTERRUPTED : EXIT_FINE;
}

static int run_live(struct follow *f, const struct top_options *options)
{
	struct error e = { 0 };
	int ended = top_run(f, options, &e);

	if (ended < 0)
		return command_failed(&e);
	return ended ? 128 + ended : EXIT_FINE;
}

static int top_command(const struct command *self, void *arguments, const struct option_strings *targets)
{
	static const enum frame_graph graphs[] = {
		[CHOICE_BRAILLE] = GRAPH_BRAILLE, [CHOICE_BLOCK] = GRAPH_BLOCK, [CHOICE_PLAIN] = GRAPH_PLAIN
	};
	struct top_arguments *a = arguments;
	struct watch_options options;
	struct error e = { 0 };
	struct arena arena;
	struct follow *f = NULL;
	struct page page;
	int status;

	arena_init(&arena);
	if (source_to_options(&a->source, &arena, targets, &options, &e) &&
		(source_is_named(&a->source, targets) || look_around(&arena, &options, &e)))
		f = follow_new(&options, a->window_ms, &e);
	if (!f) {
		arena_fini(&arena);
		return command_failed(&e);
	}
	page_init(&page, (enum color_when)a->global.color); /* knows what the terminal can show */
	const struct top_options shown = { .source = source_name(&arena, &options, a),
		.interval_ms = a->interval_ms,
		.color = page.color,
		.ascii = !page.unicode,
		.mouse = !a->no_mouse,
		.graph = graphs[a->graph],
		.stop = &command_stop };

	if (a->global.json)
		status = run_documents(f, a);
	else if (a->once || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		status = run_once(f, &shown);
	else
		status = run_live(f, &shown);
	page_fini(&page);
	follow_free(f);
	arena_fini(&arena);
	return status;
}

const struct command command_top = {
	.name = "top",
	.summary = "watch a fleet live in the terminal",
	.synopsis = (const char *const[]){ "[OPTIONS] [TARGET...]", "[OPTIONS] --prometheus URL [--match SELECTOR]", "[OPTIONS] RECORDING",
		NULL },
	.description = "Shows the verdict, the findings with the first action, and a row for each replica, worst first; Enter opens one, ? "
		       "lists the keys.\n\n"
		       "Without a target it looks for engines on this machine's usual ports, then for a goodput serve. Live targets are "
		       "scraped every "
		       "--interval; a Prometheus or a goodput serve is asked as often as it scrapes; a recording is walked through with [ "
		       "and ].\n\n"
		       "--json prints a document a look (JSON Lines, schema goodput.top/1); with --once a single one.",
	.examples = (const struct example[]){ { "goodput top", "Engines on this machine." },
		{ "goodput top pod-a:8000 pod-b:8000", "Two replicas." },
		{ "goodput top --prometheus http://prom:9090 --match '{job=\"vllm\"}'", "The fleet that a Prometheus scrapes." },
		{ "goodput top incident/", "Walk through a recording." },
		{ "goodput top --json pod-a:8000 | jq -c .verdict", "A verdict every two seconds." }, { NULL, NULL } },
	.tables = top_tables,
	.arguments_size = sizeof(struct top_arguments),
	.run = top_command,
};
