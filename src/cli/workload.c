/* goodput workload: freezes load profiles, shows and compares them. */
#include "base/file.h"
#include "cli/commands.h"
#include "cli/workload_freeze.h"
#include "cli/workload_page.h"

#include <stddef.h>

#define AT(field) offsetof(struct workload_arguments, field)
static const char *const over_choices[] = { "cut", "drop", NULL };
static const char *const spread_choices[] = { "no", "evenly", "at-random", NULL }; /* enum freeze_spread */
static const char *const process_choices[] = { "as-is", "closed", "constant", "poisson", "gamma", "trace",
	NULL }; /* + enum workload_process */
static const char *const ramp_choices[] = { "linear", "exponential", NULL };
static const char *const format_choices[] = { "as-is", "chat", "completion", "token-ids", NULL }; /* + enum workload_format */

static const struct option_spec freeze_options_list[] = {
	{ "output", 'o', OPTION_STRING, AT(output), .argument = "FILE",
		.help = "Write the workload here, and show it; else it is printed." },
	{ "name", 0, OPTION_STRING, AT(name), .argument = "TEXT", .help = "A name for people; it is not part of the hash." },
	{ "from", 0, OPTION_DURATION, AT(from_ms), .argument = "DURATION",
		.help = "Trace: leave out what came earlier than this after its start." },
	{ "to", 0, OPTION_DURATION, AT(to_ms), .argument = "DURATION", .help = "Trace: leave out what came at this time or later." },
	{ "limit", 0, OPTION_INTEGER, AT(limit), .argument = "N", .least = 1, .help = "Trace: keep the first N requests of what is left." },
	{ "max-prompt", 0, OPTION_INTEGER, AT(prompt_most), .argument = "TOKENS", .least = 1,
		.help = "Trace: no prompt is longer than this." },
	{ "max-output", 0, OPTION_INTEGER, AT(output_most), .argument = "TOKENS", .least = 1,
		.help = "Trace: no answer is longer than this." },
	{ "over", 0, OPTION_CHOICE, AT(over), .argument = "WHAT", .choices = over_choices, .preset = "cut",
		.help = "Trace: cut what is longer, or drop the request." },
	{ "spread", 0, OPTION_CHOICE, AT(spread), .argument = "HOW", .choices = spread_choices, .preset = "no",
		.help = "Trace: send requests of one time apart, over the time to the next (Mooncake's clock ticks every 3 s)." },
	{ 0 },
};
static const struct option_spec load_options_list[] = {
	{ "arrivals", 0, OPTION_CHOICE, AT(process), .argument = "PROCESS", .choices = process_choices, .preset = "as-is",
		.help = "How requests come. Without it --request-rate means poisson (gamma with --burstiness), --max-concurrency alone "
			"closed." },
	{ "request-rate", 0, OPTION_STRING, AT(rate), .argument = "RATE", .help = "Requests (sessions) a second." },
	{ "burstiness", 0, OPTION_STRING, AT(burstiness), .argument = "SHAPE",
		.help = "Shape of gamma intervals: below 1 burstier than Poisson." },
	{ "max-concurrency", 0, OPTION_STRING, AT(concurrency), .argument = "N",
		.help = "Requests open at any time; of an open loop the most." },
	{ "speed", 0, OPTION_STRING, AT(speed), .argument = "FACTOR", .help = "Times of a trace: 2 is twice as fast." },
	{ "ramp-up-strategy", 0, OPTION_CHOICE, AT(ramp), .argument = "SHAPE", .choices = ramp_choices, .preset = "linear",
		.help = "How the rate grows to --request-rate." },
	{ "ramp-up-start-rps", 0, OPTION_STRING, AT(ramp_from), .argument = "RATE", .help = "The rate at the start of the ramp." },
	{ "ramp-up-time", 0, OPTION_DURATION, AT(ramp_ms), .argument = "DURATION", .least = 1, .help = "How long the ramp is." },
	{ "num-prompts", 0, OPTION_STRING, AT(requests), .argument = "N", .help = "Requests (sessions) until it is over; 0: no end." },
	{ "seed", 0, OPTION_STRING, AT(seed), .argument = "N", .help = "Other requests and times of the same kind." },
	{ "format", 0, OPTION_CHOICE, AT(format), .argument = "FORMAT", .choices = format_choices, .preset = "as-is",
		.help = "Prompts as chats, as text completions, or as token ids (exact lengths on every model)." },
	{ "template-tokens", 0, OPTION_STRING, AT(template_tokens), .argument = "N",
		.help = "Tokens that the server's chat template adds to a message; prompts are shorter by it." },
	{ "temperature", 0, OPTION_STRING, AT(temperature), .argument = "T", .help = "Sampling temperature." },
	{ "top-p", 0, OPTION_STRING, AT(top_p), .argument = "P", .help = "Nucleus sampling." },
	{ "natural-ends", 0, OPTION_FLAG, AT(no_ignore_eos),
		.help = "Let answers end where the model ends them: ignore_eos is not sent, and output lengths are only limits." },
	{ 0 },
};
static const struct option_spec metric_options_list[] = {
	{ "window", 'w', OPTION_STRING, AT(window), .argument = "DURATION|A..B",
		.help = "Metrics: over this window, as in goodput check." },
	{ "at", 0, OPTION_STRING, AT(at), .argument = "TIME", .help = "Metrics: at this moment of the past." },
	{ "since", 0, OPTION_STRING, AT(since), .argument = "TIME", .help = "Metrics: from this time to the end." },
	{ "scope", 0, OPTION_STRING, AT(scope), .argument = "NAME", .preset = "fleet", .help = "Metrics: of this pool or target." },
	{ 0 },
};
#undef AT

static const struct option_table workload_tables[] = { { "freeze: what to keep", freeze_options_list, 0 },
	{ "freeze: the load", load_options_list, 0 }, { "freeze: from metrics", metric_options_list, 0 },
	SOURCE_TABLES(struct workload_arguments, source), GLOBAL_TABLE(struct workload_arguments), { 0 } };

/* ---- freeze ---- */

static int freeze_print(const struct workload_arguments *a, const struct workload *w)
{
	struct error e = { 0 };
	struct buf out;
	int status;

	buf_init(&out, SIZE_MAX / 2);
	content_write(w, &out);
	if (!a->output)
		status = command_output(buf_str(&out), EXIT_FINE);
	else if (file_write(a->output, buf_str(&out), &e))
		status = workload_show(w, a->output, &a->global);
	else
		status = command_failed(&e);
	buf_fini(&out);
	return status;
}

static int freeze_run(const struct command *self, const struct workload_arguments *a, const struct option_strings *from)
{
	struct error e = { 0 };
	struct workload *w;
	struct arena arena;
	int status;

	if (!source_is_named(&a->source, from))
		return command_usage(self, "from what? A trace, a workload, a target, a recording, or --prometheus URL");
	if (a->global.json && !a->output)
		return command_usage(self, "--json describes the workload; it is written with --output FILE");
	arena_init(&arena);
	w = workload_freeze(a, &arena, from, &e);
	status = w ? freeze_print(a, w) : command_failed(&e);
	workload_free(w);
	arena_fini(&arena);
	return status;
}

/* ---- the command ---- */

static int show_run(const struct workload_arguments *a, const char *path)
{
	struct error e = { 0 };
	struct workload *w = workload_read(path, &e);
	int status = w ? workload_show(w, path, &a->global) : command_failed(&e);

	workload_free(w);
	return status;
}

static int diff_run(const struct workload_arguments *a, const char *const *paths)
{
	struct error e = { 0 };
	struct workload *x = workload_read(paths[0], &e), *y = x ? workload_read(paths[1], &e) : NULL;
	int status = y ? workload_diff(x, y, paths, &a->global) : command_failed(&e);

	workload_free(x);
	workload_free(y);
	return status;
}

/* Options of freeze, given to show or diff. */
static bool options_given(const struct workload_arguments *a)
{
	struct workload_arguments fresh = { 0 };

	options_preset(workload_tables, &fresh);
	fresh.global = a->global;
	return memcmp(a, &fresh, sizeof fresh) != 0;
}

static int workload_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	const struct workload_arguments *a = arguments;
	const struct option_strings rest = { operands->items + 1, operands->count ? operands->count - 1 : 0, 0 };
	const char *word = operands->count ? operands->items[0] : "";

	if (!strcmp(word, "freeze"))
		return freeze_run(self, a, &rest);
	if (!*word)
		return command_usage(self, "the first word is freeze, show or diff");
	if (strcmp(word, "show") != 0 && strcmp(word, "diff") != 0)
		return command_unknown_action(self, word);
	if (options_given(a))
		return command_usage(self, "show and diff take the common options only");
	if (!strcmp(word, "show"))
		return rest.count == 1 ? show_run(a, rest.items[0]) : command_usage(self, "show which workload? One file");
	return rest.count == 2 ? diff_run(a, rest.items) : command_usage(self, "diff which workloads? Two files");
}

static const char *const workload_words[] = { "freeze", "show", "diff", NULL };

const struct command command_workload = {
	.name = "workload",
	.summary = "freeze a load profile; show one; compare two",
	.synopsis = (const char *const[]){ "freeze [OPTIONS] TRACE|WORKLOAD|TARGET...", "freeze [OPTIONS] --prometheus URL",
		"show WORKLOAD", "diff WORKLOAD WORKLOAD", NULL },
	.description = "A workload is a file (YAML) that fixes what goodput bench sends: lengths of prompts and answers and how they go "
		       "together, shared "
		       "beginnings, turns, arrivals, sampling. The same file and seed give the same bytes on every machine; its hash names "
		       "them.\n\n"
		       "freeze makes one: from a trace (Azure's and BurstGPT's CSV, Mooncake's JSON lines, vLLM's detailed results, "
		       "ShareGPT, run records), "
		       "from metrics (a target, a recording, a saved page, a Prometheus), or from a workload whose load is changed or that "
		       "was written by hand. "
		       "What a source cannot tell, as metrics cannot tell which prompts have long answers, is written into the file.\n\n"
		       "show prints what its requests look like. diff says how far two are apart and whether results on one can be "
		       "compared with results "
		       "on the other: 0 when they can, 3 when not.",
	.examples = (const struct example[]){ { "goodput workload freeze AzureLLMInferenceTrace_conv.csv -o conv.yaml",
						      "A day's trace, with its own times." },
		{ "goodput workload freeze conv.yaml --request-rate 8 -o conv8.yaml", "The same mix at 8 requests a second, Poisson." },
		{ "goodput workload freeze conversation_trace.jsonl --spread evenly --max-prompt 30000 -o mooncake.yaml",
			"Prefix sharing and all; bursts of a coarse clock sent apart." },
		{ "goodput workload freeze --prometheus http://prom:9090 --window 1h -o live.yaml",
			"What the fleet served in the last hour." },
		{ "goodput workload diff conv.yaml live.yaml", "Is the benchmark still like the traffic?" }, { NULL, NULL } },
	.tables = workload_tables,
	.arguments_size = sizeof(struct workload_arguments),
	.operands = workload_words,
	.files_too = true,
	.run = workload_run,
};
