/* goodput record: scrapes of a fleet, saved in a folder that check and tests replay. */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "scrape/classify.h"

#include <stddef.h>
#include <stdio.h>

struct record_arguments {
	struct global_arguments global;
	struct fleet_arguments fleet;
	struct http_arguments http;
	int64_t every_ms, length_ms;
	bool redact;
};

#define AT(field) offsetof(struct record_arguments, field)
static const struct option_spec record_options[] = {
	{ "every", 0, OPTION_DURATION, AT(every_ms), .argument = "DURATION", .preset = "15s", .least = 100,
		.help = "Time between scrapes." },
	{ "for", 0, OPTION_DURATION, AT(length_ms), .argument = "DURATION", .preset = "5m", .least = 0,
		.help = "Stop after this time (0: one scrape of each target); Ctrl-C stops earlier and keeps what was saved." },
	{ "redact", 0, OPTION_FLAG, AT(redact), .preset = "yes",
		.help = "Replace label values that name models, hosts, users or paths, the same value always by the same word. On by "
			"default; "
			"--no-redact saves pages byte for byte." },
	{ 0 },
};
static const struct option_table record_tables[] = { { "What to record", record_options, 0 },
	{ "Which targets, beside those named", fleet_options, AT(fleet) }, { "How to reach them", http_options, AT(http) },
	{ "Common options", plain_options, AT(global) }, { 0 } };
#undef AT

struct recording_run {
	struct watch *w;
	struct recorder *recorder;
	size_t rounds, pages, answered;
};

static bool record_round(struct recording_run *run, struct error *e)
{
	const struct fleet *f = &run->w->data.fleet;
	struct scrape_class what;
	struct arena arena;
	struct str when;
	bool ok = true;

	arena_init(&arena);
	struct http_answer *answers = ARENA_ARRAY(&arena, struct http_answer, f->targets.count);

	watch_scrape(run->w, &arena, answers);
	when = arena_printf(&arena, "t%zu", run->rounds);
	for (size_t i = 0; ok && i < f->targets.count && !command_stop; i++) {
		ok = recorder_add(run->recorder, when, f->targets.items[i]->name, &answers[i], e);
		run->pages++;
		scrape_classify(&answers[i], &what);
		run->answered += what.outcome == SCRAPE_OK;
	}
	run->rounds++;
	arena_fini(&arena);
	return ok;
}

static bool record_rounds(struct recording_run *run, const struct record_arguments *a, struct error *e)
{
	int64_t start = clock_monotonic_ns(), end = start + a->length_ms * 1000000;

	for (;;) {
		int64_t next = start + (int64_t)run->rounds * a->every_ms * 1000000;
		char what[80];

		snprintf(what, sizeof what, "recording: %zu scrapes saved, next in", run->pages);
		if ((run->rounds && next > end) || !watch_wait(run->w, next, what))
			return true;
		if (!record_round(run, e))
			return false;
		if (command_stop)
			return true;
	}
}

static int record_end(const struct recording_run *run, const char *folder, const char *redaction)
{
	log_progress(NULL);
	log_note("%s%zu scrape%s in %zu round%s saved in %s, %zu with a page", command_stop ? "interrupted: " : "", run->pages,
		run->pages == 1 ? "" : "s", run->rounds, run->rounds == 1 ? "" : "s", folder, run->answered);
	if (!run->answered) {
		log_warning("no target answered with a page: goodput check %s says why", folder);
		return command_stop ? EXIT_INTERRUPTED : EXIT_UNREACHABLE;
	}
	log_note("%s", redaction);
	log_note("next: goodput check %s", folder);
	return command_stop ? EXIT_INTERRUPTED : EXIT_FINE;
}

static int record_to(struct watch *w, const struct record_arguments *a, const char *folder)
{
	const struct recorder_options options = { .redact = a->redact };
	struct recording_run run = { .w = w };
	struct error e = { 0 };
	struct buf redaction;
	bool ok;

	run.recorder = recorder_new(folder, &options, &e);
	if (!run.recorder)
		return command_failed(&e);
	buf_init(&redaction, 65536);
	ok = record_rounds(&run, a, &e);
	recorder_summary(run.recorder, &redaction);
	ok = recorder_close(run.recorder, ok ? &e : NULL) && ok;
	int status = ok ? record_end(&run, folder, buf_cstr(&redaction)) : command_failed(&e);

	buf_fini(&redaction);
	return status;
}

static int record_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	const struct record_arguments *a = arguments;
	struct watch_options options;
	struct error e = { 0 };
	struct arena arena;
	struct watch w;
	int status;

	if (!operands->count)
		return command_usage(self, "where to? Name a folder, then the targets");
	if (operands->count == 1 && !a->fleet.targets_file && !a->fleet.config_file)
		return command_usage(self, "which targets? Name them after the folder, or give --targets FILE");
	arena_init(&arena);
	options = (struct watch_options){ .targets = operands->items + 1,
		.target_count = operands->count - 1,
		.targets_file = a->fleet.targets_file,
		.config_file = a->fleet.config_file,
		.now_ms = clock_now_ms(),
		.only_samples = true,
		.only_live = true,
		.stop = &command_stop };
	if (http_to_options(&a->http, &arena, &options, &e) && watch_open(&w, &options, &e)) {
		status = record_to(&w, a, operands->items[0]);
		watch_close(&w);
	} else {
		status = command_failed(&e);
	}
	arena_fini(&arena);
	return status;
}

const struct command command_record = {
	.name = "record",
	.summary = "save scrapes of a fleet as a folder that check replays",
	.synopsis = (const char *const[]){ "[OPTIONS] DIR TARGET...", NULL },
	.description =
		"Scrapes the targets again and again and saves each page, with its time and how the target answered. goodput check DIR "
		"diagnoses the recording, anywhere and at any time.\n\nPages are redacted unless --no-redact is given. At the end it says "
		"what was replaced, and which labels were left as they are: look whether one of them tells more than it may.",
	.examples = (const struct example[]){ { "goodput record incident/ pod-a:8000 pod-b:8000",
						      "Record two servers for five minutes, every 15 seconds." },
		{ "goodput record night/ --targets fleet.txt --every 30s --for 8h", "A whole night." }, { NULL, NULL } },
	.tables = record_tables,
	.arguments_size = sizeof(struct record_arguments),
	.run = record_run,
};
