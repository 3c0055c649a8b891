/* goodput collect: a directory of multi-process metric files as one page. */
#include "cli/collect.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cli/arguments.h"
#include "cli/commands.h"

#include <stddef.h>
#include <stdio.h>

enum { PAGE_MAX = 1 << 30, MEMORY = 64 << 20 /* of a plan for a large directory */, GRACE_MS = 60000 /* the preset of --grace */ };

#define AT(field) offsetof(struct collect_arguments, field)
static const char *const formats[] = { "text", "openmetrics", NULL };
static const char *const releases[] = { "newest", "0.16", NULL };

static const struct option_spec page_options[] = {
	{ "listen", 0, OPTION_STRING, AT(listen), .argument = "ADDRESS",
		.help = "Serve the page at http://ADDRESS/metrics until interrupted: HOST:PORT, or :PORT for this machine only." },
	{ "format", 0, OPTION_CHOICE, AT(format), .argument = "FORMAT", .choices = formats, .preset = "text",
		.help = "Of the page on standard output: text or openmetrics. --listen answers with what the client asks for." },
	{ "as", 0, OPTION_CHOICE, AT(as), .argument = "RELEASE", .choices = releases, .preset = "newest",
		.help = "Release of prometheus_client whose order of samples and exponents the page has: newest, or 0.16 (to 0.23)." },
	{ "own-metrics", 0, OPTION_FLAG, AT(own_metrics), .preset = "yes", .help = "Add goodput_collect_*, which show the faults." },
	{ "show-unset", 0, OPTION_FLAG, AT(collect.show_unset),
		.help = "Print 0 for a mostrecent gauge that was never set; Python prints nothing." },
	{ "grace", 0, OPTION_DURATION, AT(collect.grace_ms), .argument = "DURATION", .preset = "60s", .least = 0,
		.help = "With --listen: how long a directory may stay empty at the start before /metrics is 503." },
	{ 0 },
};
static const struct option_spec life_options[] = {
	{ "fold", 0, OPTION_FLAG, AT(fold),
		.help = "With --listen: join the files of dead writers, so that sums stay and files do not pile up. Needs their process "
			"ids "
			"(the same container, or shareProcessNamespace) and the right to write in DIR." },
	{ "force", 0, OPTION_FLAG, AT(force), .help = "Of init, clean, mark-dead and fold: also where a process may still write." },
	{ 0 },
};
static const struct option_table collect_tables[] = { { "The page", page_options, 0 }, { "A pod's life", life_options, 0 },
	{ "Common options", plain_options, offsetof(struct collect_arguments, global) }, { 0 } };
#undef AT

/* ---- faults as messages ---- */

static void fault_log(const struct collect_fault *f)
{
	if (f->status == EXIT_FINE)
		log_note("%s: %s", f->kind, f->text);
	else
		log_warning("%s: %s", f->kind, f->text);
}

static bool log_knows(struct collect_log *log, const char *text)
{
	for (size_t i = 0; i < log->count; i++)
		if (strcmp(log->items[i].text, text) == 0) {
			log->items[i].seen = true;
			return true;
		}
	return false;
}

void collect_log_report(struct collect_log *log, const struct collect_report *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < log->count; i++)
		log->items[i].seen = false;
	for (size_t i = 0; i < r->fault_count; i++) {
		char name[200];

		/* Texts may hold figures that change: a fault is its kind and its file. */
		snprintf(name, sizeof name, "%s%s%s", r->faults[i].kind, *r->faults[i].file && !r->faults[i].is_group ? ": " : "",
			r->faults[i].is_group ? "" : r->faults[i].file);
		if (log_knows(log, name))
			continue;
		fault_log(&r->faults[i]);
		VEC_PUSH(log, (__typeof__(log->items[0])){ mem_copy(name, strlen(name)), true });
	}
	for (size_t i = 0; i < log->count; i++) {
		if (log->items[i].seen) {
			log->items[kept++] = log->items[i];
			continue;
		}
		log_note("over: %s", log->items[i].text);
		mem_free(log->items[i].text);
	}
	log->count = kept;
}

void collect_log_fini(struct collect_log *log)
{
	for (size_t i = 0; i < log->count; i++)
		mem_free(log->items[i].text);
	VEC_FREE(log);
}

/* ---- one page ---- */

static int collect_once(const struct collect_arguments *a, const char *path)
{
	struct collect_options options = a->collect;
	struct buf page;

	options.grace_ms = 0;
	struct collector *c = collector_new(path, &options);
	const struct collect_report *r = collector_scrape(c);

	buf_init(&page, PAGE_MAX);
	for (size_t i = 0; i < r->fault_count; i++)
		fault_log(&r->faults[i]);
	collector_page(c, (enum collect_format)a->format, &page);
	if (a->own_metrics)
		collector_own_page(c, &page);
	collect_page_end((enum collect_format)a->format, &page);
	struct error e = { 0 };
	int status;

	if (page.overflowed) {
		error_set(&e, EXIT_UNKNOWN, "the page of %s is above 1 GiB: nothing is printed", path);
		status = command_failed(&e);
	} else {
		status = command_output(buf_str(&page), (int)collect_status(r));
	}
	buf_fini(&page);
	collector_free(c);
	return status;
}

/* An option that would do nothing is refused. NULL: all are used. */
static const char *useless_option(const struct collect_arguments *a)
{
	if (a->fold && !a->listen)
		return "--fold is for --listen; once: goodput collect fold DIR";
	if (a->collect.grace_ms != GRACE_MS && !a->listen)
		return "--grace is for --listen";
	if (a->format != COLLECT_TEXT && a->listen)
		return "--format is for a page on standard output; --listen answers with what the client asks for";
	return NULL;
}

static int collect_run_command(const struct command *self, void *arguments, const struct option_strings *operands)
{
	struct collect_arguments *a = arguments;

	int status = collect_action(self, a, operands);

	if (status >= 0)
		return status;
	if (useless_option(a))
		return command_usage(self, useless_option(a));
	if (operands->count > 1 && command_nearest_action(self, operands->items[0]))
		return command_unknown_action(self, operands->items[0]);
	if (operands->count != 1)
		return command_usage(
			self, operands->count ? "one directory at a time" : "which directory? The one that PROMETHEUS_MULTIPROC_DIR names");
	a->collect.as_016 = a->as == 1;
	mem_keep(MEMORY);
	return a->listen ? collect_listen(a, operands->items[0]) : collect_once(a, operands->items[0]);
}

const struct command command_collect = {
	.name = "collect",
	.summary = "merge a directory of multi-process metric files, and tell its faults",
	.synopsis = (const char *const[]){ "[OPTIONS] DIR", "[OPTIONS] --listen ADDRESS DIR", "init DIR", "clean DIR",
		"mark-dead DIR PID...", "fold DIR", NULL },
	.description = "DIR is what PROMETHEUS_MULTIPROC_DIR names: vLLM's API servers, gunicorn's workers and others keep their metrics "
		       "there, one file for "
		       "each kind of metric and process. The page is the one that Python's MultiProcessCollector makes of the same files "
		       "in byte order of "
		       "their names, whichever release wrote them, and goodput_collect_* behind it.\n\n"
		       "A file that cannot be read costs that file, not the page. Every fault is a metric (goodput_collect_fault), a "
		       "message, and the exit "
		       "status: 1 for faults beside which the page holds, 2 for a full disk, 3 when nothing could be read. The exporter "
		       "answers 503 when "
		       "nothing could be read; /metrics/collector has goodput_collect_* in any case, /-/healthy the faults in words.\n\n"
		       "init makes DIR before the server starts, removes files of an earlier run, and fails when no file can be made in "
		       "it; clean wipes it "
		       "afterwards; mark-dead removes the live gauges of processes that ended, as Python's mark_process_dead does; fold "
		       "joins the files of "
		       "processes that ended, crash-safe, without a sum that falls. None of them touches what a living process writes.",
	.examples = (const struct example[]){ { "goodput collect /run/metrics", "The page on standard output, faults on standard error." },
		{ "goodput collect --listen :9471 /run/metrics", "An exporter beside the server." },
		{ "goodput collect init /run/metrics && vllm serve MODEL --api-server-count 4", "A clean directory before the start." },
		{ "goodput collect mark-dead /run/metrics 4711", "From gunicorn's child_exit, for example." }, { NULL, NULL } },
	.tables = collect_tables,
	.arguments_size = sizeof(struct collect_arguments),
	.operands = (const char *const[]){ "init", "clean", "mark-dead", "fold", NULL },
	.files_too = true,
	.run = collect_run_command,
};
