/* goodput check: one diagnosis. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/render.h"

#include <stddef.h>

enum fail_on { FAIL_ON_UNKNOWN, FAIL_ON_WARNING, FAIL_ON_CRITICAL, FAIL_ON_NEVER };

struct check_arguments {
	struct global_arguments global;
	struct source_arguments source;
	const char *window, *at, *since, *against;
	bool all, markdown;
	int fail_on; /* enum fail_on */
};

#define AT(field) offsetof(struct check_arguments, field)
static const struct option_spec when_options[] = {
	{ "window", 'w', OPTION_STRING, AT(window), .argument = "DURATION|A..B",
		.help = "Judge this window. Live: time between the first and the last scrape (10s). Prometheus: the time before the end "
			"(5m). "
			"Recording: from moment A to moment B, by name or time; A alone is all moments called A or A.*" },
	{ "at", 0, OPTION_STRING, AT(at), .argument = "TIME",
		.help = "Judge this moment of the past: a time, an age such as -2h, or a moment's name." },
	{ "since", 0, OPTION_STRING, AT(since), .argument = "TIME", .help = "Judge from this time or age (1h) to the end." },
	{ "against", 0, OPTION_STRING, AT(against), .argument = "A..B", .help = "Show each reading's change against this window." },
	{ 0 },
};
static const char *const fail_on_choices[] = { "unknown", "warning", "critical", "never", NULL };
static const struct option_spec output_options[] = {
	{ "all", 'a', OPTION_FLAG, AT(all), .help = "Show everything: all findings, actions, readings, targets and coverage." },
	{ "markdown", 0, OPTION_FLAG, AT(markdown), .help = "Print Markdown, for a ticket." },
	{ "fail-on", 0, OPTION_CHOICE, AT(fail_on), .argument = "VERDICT", .choices = fail_on_choices, .preset = "unknown",
		.help = "The mildest verdict that gives an exit status other than 0." },
	{ 0 },
};
#undef AT

static const struct option_table check_tables[] = { { "What to judge", when_options, 0 }, { "What to print", output_options, 0 },
	SOURCE_TABLES(struct check_arguments, source), GLOBAL_TABLE(struct check_arguments), { 0 } };

static int exit_by_choice(int status, enum fail_on mildest)
{
	switch (mildest) {
	case FAIL_ON_UNKNOWN: return status;
	case FAIL_ON_WARNING: return status == EXIT_UNKNOWN ? EXIT_FINE : status;
	case FAIL_ON_CRITICAL: return status == EXIT_CRITICAL ? status : EXIT_FINE;
	case FAIL_ON_NEVER: break;
	}
	return EXIT_FINE;
}

static int check_print(const struct check_arguments *a, const struct watch *w)
{
	int status = exit_by_choice(w->report->exit_status, (enum fail_on)a->fail_on);
	const struct render_options options = { .all = a->all };
	struct page page;

	page_init(&page, (enum color_when)a->global.color);
	if (a->global.json) {
		render_json(w, &page.out);
		status = page_output_document(&page, status);
	} else if (a->markdown) {
		render_markdown(w, &options, &page.out);
		status = page_output_document(&page, status);
	} else {
		render_text(&page, w, &options);
		status = page_output(&page, status);
	}
	page_fini(&page);
	return status;
}

static int check_run(const struct command *self, void *arguments, const struct option_strings *targets)
{
	struct check_arguments *a = arguments;
	struct watch_options options;
	struct error e = { 0 };
	struct watch w;
	struct arena arena;
	int status;

	if (!source_is_named(&a->source, targets))
		return command_usage(
			self, "what shall be checked? Name a target, a recording, a saved page or a store, or give --prometheus URL");
	if (a->global.json && a->markdown)
		return command_usage(self, "--json or --markdown, not both");
	if (a->window && (a->since || (a->at && strstr(a->window, ".."))))
		return command_usage(self, a->since ? "--window or --since, not both" : "--window A..B says when: no --at with it");
	arena_init(&arena);
	if (!source_to_options(&a->source, &arena, targets, &options, &e)) {
		arena_fini(&arena);
		return command_failed(&e);
	}
	options.window = a->window;
	options.at = a->at;
	options.since = a->since;
	options.against = a->against;
	if (!watch_open(&w, &options, &e)) {
		arena_fini(&arena);
		return command_failed(&e);
	}
	if (watch_gather(&w, &e) && watch_report(&w, &e))
		status = check_print(a, &w);
	else
		status = command_failed(&e);
	watch_close(&w);
	arena_fini(&arena);
	return status;
}

const struct command command_check = {
	.name = "check",
	.summary = "say what is wrong with a fleet, and what to do first",
	.synopsis = (const char *const[]){ "[OPTIONS] TARGET...", "[OPTIONS] --prometheus URL [--match SELECTOR]",
		"[OPTIONS] RECORDING [--window A..B]", "[OPTIONS] PAGE.prom", "[OPTIONS] STORE [--at TIME]", NULL },
	.description =
		"Prints one diagnosis: a verdict, findings with their evidence and first actions, and the figures behind them.\n\n"
		"A TARGET is a URL, host:port or host; its /metrics page is scraped twice, --window apart. A RECORDING is a folder that "
		"goodput record made. A PAGE is a saved /metrics page (- reads standard input): it shows levels, and counters since their "
		"start; what needs two scrapes is unknown. A STORE is the file that goodput serve writes, at its newest sample or --at a "
		"time; it is read only, also while it is being written. A folder of multi-process metric files (PROMETHEUS_MULTIPROC_DIR; "
		"multiproc:DIR where it may be empty) is read as goodput collect does, twice. A URL that turns out to be a Prometheus is "
		"asked as with --prometheus.\n\n"
		"A figure that cannot be known is shown as unknown, with the reason; a bound is shown as a bound.",
	.examples = (const struct example[]){ { "goodput check localhost:8000", "Diagnose one vLLM server." },
		{ "goodput check --prometheus http://prom:9090 --match '{job=\"vllm\"}'", "Diagnose the fleet that a Prometheus scrapes." },
		{ "goodput check --prometheus http://prom:9090 --at 2026-01-15T03:10:00Z", "What was wrong last night at ten past three?" },
		{ "goodput check incident/ --window before --against after", "Two parts of a recording against each other." },
		{ "goodput check pod-a:8000 pod-b:8000 --json | jq .verdict", "For scripts." }, { NULL, NULL } },
	.tables = check_tables,
	.arguments_size = sizeof(struct check_arguments),
	.run = check_run,
};
