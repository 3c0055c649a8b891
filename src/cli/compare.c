/* goodput compare: before and after, side by side, with a verdict. */
#include "cli/compare.h"

#include "base/file.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/page.h"

#include <stddef.h>

#define AT(field) offsetof(struct compare_arguments, field)
static const struct option_spec compare_options[] = {
	{ "goodput", 'g', OPTION_STRINGS, AT(goodput), .argument = "NAME:MS",
		.help = "Records: limits that a good request meets all of, as bench has them: --goodput ttft:500 tpot:50." },
	{ "policy", 0, OPTION_STRING, AT(policy), .argument = "FILE",
		.help = "What must not regress, and by how much (docs/formats/promotion.md); else the one for interactive use." },
	{ "a", 0, OPTION_STRING, AT(a), .argument = "NAME|LABEL=VALUE",
		.help = "Side A: a pool, target or engine of the window, or a selector {version=\"a\"} of a Prometheus; of records, a "
			"label (model, tenant, "
			"pool, group) and its value." },
	{ "b", 0, OPTION_STRING, AT(b), .argument = "NAME|LABEL=VALUE", .help = "Side B, likewise: a canary beside the rest." },
	{ "before", 0, OPTION_STRING, AT(before), .argument = "A..B",
		.help = "Window of side A, of a recording or a Prometheus: two times, or names of moments." },
	{ "after", 0, OPTION_STRING, AT(after), .argument = "A..B",
		.help = "Window of side B. One of the two alone is that of both sides." },
	{ "event", 0, OPTION_STRING, AT(event), .argument = "TIME|last|list",
		.help = "Before and after a change of capacity: an annotation (deploy, rollout, capacity) or targets that came or went, by "
			"its "
			"time, or the last one; any other time will do as well. Windows are chosen. list: what is known of the last 24 "
			"hours." },
	{ "settle", 0, OPTION_STRING, AT(settle), .argument = "DURATION",
		.help = "Of an event: the time behind it that belongs to neither side (3m)." },
	{ "length", 0, OPTION_STRING, AT(length), .argument = "DURATION", .help = "Of an event: how long the windows are at most (30m)." },
	{ "gpus", 0, OPTION_STRING, AT(gpus), .argument = "N", .help = "Of an event: GPUs of a replica, where no pool says it (gpus)." },
	{ "gpu-price", 0, OPTION_STRING, AT(gpu_price), .argument = "AMOUNT",
		.help = "Of an event: what a GPU costs in an hour, where no pool says it (gpu_price)." },
	{ "anyway", 0, OPTION_FLAG, AT(anyway), .help = "Judge although the sides are not comparable; the reasons are told all the same." },
	{ "html", 0, OPTION_STRING, AT(html), .argument = "FILE", .help = "Write a page with charts, complete in itself." },
	{ 0 },
};
#undef AT
static const struct option_table compare_tables[] = { { "What to compare", compare_options, 0 },
	SOURCE_TABLES(struct compare_arguments, source), GLOBAL_TABLE(struct compare_arguments), { 0 } };

/* ---- reading ---- */

static bool read_policy(struct comparison *c, struct error *e)
{
	const char *path = c->arguments->policy;
	struct str text;

	compare_policy_default(&c->policy);
	if (!path)
		return true;
	return file_read(&c->arena, path, 1 << 20, &text, e) && compare_policy_read(&c->policy, &c->arena, str_from(path), text, e);
}

/* Takes objectives out of the operands; what is left are files. */
static bool split_operands(struct comparison *c, const struct option_strings *operands, struct option_strings *files, struct error *e)
{
	slo_set_init(&c->slo);
	for (size_t i = 0; i < c->arguments->goodput.count; i++)
		if (!slo_set_parse(&c->slo, str_from(c->arguments->goodput.items[i]), e))
			return false;
	for (size_t i = 0; i < operands->count; i++)
		if (!slo_is_objective(str_from(operands->items[i])))
			VEC_PUSH(files, operands->items[i]);
		else if (!slo_set_parse(&c->slo, str_from(operands->items[i]), e))
			return false;
	return true;
}

static bool set_label(struct compare_side *side, const char *text, struct error *e)
{
	struct str label = str_from(text);
	ptrdiff_t at = str_find(label, '=');

	if (!text)
		return true;
	side->label_name = str_head(label, at > 0 ? (size_t)at : 0);
	side->label_value = str_skip(label, at > 0 ? (size_t)at + 1 : 0);
	if (at > 0 && (str_is(side->label_name, "model") || str_is(side->label_name, "tenant") || str_is(side->label_name, "pool") ||
			      str_is(side->label_name, "group")))
		return true;
	error_set(e, EXIT_USAGE, "\"%s\": of records, a side is LABEL=VALUE", text);
	error_hint(e, "labels are model, tenant, pool and group: --a pool=stable --b pool=canary");
	return false;
}

struct loaded {
	struct records runs[2 * COMPARE_RUNS_MAX];
	size_t count;
	struct compare_side a, b;
};

/* Files in turn: A B A B …; with labels each file is both sides. */
static bool load_sides(struct comparison *c, struct loaded *l, const struct option_strings *files, struct error *e)
{
	bool labels = c->arguments->a || c->arguments->b;

	if (!set_label(&l->a, c->arguments->a, e) || !set_label(&l->b, c->arguments->b, e))
		return false;
	if (files->count > (labels ? COMPARE_RUNS_MAX : 2 * COMPARE_RUNS_MAX) || (!labels && files->count % 2))
		return error_set(e, EXIT_USAGE, "records come in pairs, A B or A B A B: %zu files given, at most %d", files->count,
			2 * COMPARE_RUNS_MAX);
	for (size_t i = 0; i < files->count; i++) {
		struct records *r = &l->runs[l->count++];

		records_init(r);
		if (!records_load(r, &c->arena, files->items[i], e))
			return false;
		if (labels || i % 2 == 0)
			l->a.runs[l->a.run_count++] = r;
		if (labels || i % 2)
			l->b.runs[l->b.run_count++] = r;
	}
	return true;
}

static struct str side_name(struct comparison *c, const struct compare_side *side, const char *file, const char *label)
{
	struct str told = side->runs[0]->run.label;
	struct str name = arena_printf(&c->arena, "%s%s%s", label ? label : "", label ? " in " : "", file);

	if (told.len && !label)
		name = arena_printf(&c->arena, STR_FMT " (%s)", STR_ARG(told), file);
	if (side->run_count > 1)
		name = arena_printf(&c->arena, STR_FMT " and %zu more", STR_ARG(name), side->run_count - 1);
	return name;
}

static bool compare_records(struct comparison *c, struct loaded *l, const struct option_strings *files, struct error *e)
{
	if (!load_sides(c, l, files, e))
		return false;
	c->name_a = side_name(c, &l->a, files->items[0], c->arguments->a);
	c->name_b = side_name(c, &l->b, files->items[files->count > 1 ? 1 : 0], c->arguments->b);
	c->side_a = &l->a;
	c->side_b = &l->b;
	compare_sides(&l->a, &l->b, &(struct compare_options){ .slo = &c->slo, .policy = &c->policy, .any_mix = c->arguments->anyway },
		&c->arena, &c->result);
	return true;
}

/* ---- printing ---- */

static bool write_html(const struct comparison *c, struct error *e)
{
	struct buf out;
	bool ok;

	buf_init(&out, 64 << 20);
	compare_html(c, &out);
	ok = file_write(c->arguments->html, buf_str(&out), e);
	buf_fini(&out);
	return ok;
}

static int print(const struct comparison *c)
{
	int status = compare_exit_status(c->result.verdict);
	struct error e = { 0 };
	struct page page;

	if (c->arguments->html && !write_html(c, &e))
		return command_failed(&e);
	page_init(&page, (enum color_when)c->arguments->global.color);
	if (c->arguments->global.json) {
		compare_json(c, &page.out);
		status = page_output_document(&page, status);
	} else {
		compare_page(&page, c);
		status = page_output(&page, status);
	}
	page_fini(&page);
	return status;
}

static int print_list(const struct comparison *c)
{
	struct page page;
	int status;

	page_init(&page, (enum color_when)c->arguments->global.color);
	if (c->arguments->global.json)
		compare_event_list_json(&page.out, c->log);
	else
		compare_event_list(&page, c->log);
	status = c->arguments->global.json ? page_output_document(&page, EXIT_FINE) : page_output(&page, EXIT_FINE);
	page_fini(&page);
	return status;
}

static bool is_of_windows(const struct compare_arguments *a, const struct option_strings *files)
{
	return a->before || a->after || a->source.prometheus.url || (files->count && file_is_folder(files->items[0]));
}

static bool has_event_options(const struct compare_arguments *a)
{
	return a->settle || a->length || a->gpus || a->gpu_price;
}

/* What does not go together is refused: nothing is left out without a word. NULL: it does. */
static const char *faulty_event(const struct compare_arguments *a, const struct option_strings *files, const struct slo_set *slo)
{
	bool list = strcmp(a->event, "list") == 0;

	if (a->before || a->after || a->b)
		return "--event chooses the windows: --before, --after and --b do not go with it (--a names a pool)";
	if (!slo_set_is_empty(slo))
		return "objectives of a monitor are those of its pools (slo: in --config or --pools): --goodput does not go with "
		       "--event";
	if (list && (has_event_options(a) || a->a || a->policy || a->html || a->anyway))
		return "--event list compares nothing: only where to look and --json go with it";
	if (!files->count && !a->source.prometheus.url)
		return "of which fleet? a store, a recording, the address of a running serve, or --prometheus";
	return NULL;
}

static const char *faulty_usage(const struct compare_arguments *a, const struct option_strings *files, const struct slo_set *slo)
{
	if (a->event)
		return faulty_event(a, files, slo);
	if (has_event_options(a))
		return "--settle, --length, --gpus and --gpu-price are of --event";
	if (is_of_windows(a, files) && !a->before && !a->after && !(a->a && a->b))
		return "which windows? --before A..B --after C..D, --event last, or --a and --b for two parts of one";
	if (!is_of_windows(a, files) && files->count < (a->a && a->b ? 1 : 2))
		return "two files of records are wanted, A and B";
	return NULL;
}

static int compare_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	struct comparison *c = NEW(struct comparison);
	struct loaded *l = NEW(struct loaded);
	struct option_strings files = { 0 };
	struct error e = { 0 };
	const char *faulty;
	int status;

	c->arguments = arguments;
	arena_init(&c->arena);
	if (!split_operands(c, operands, &files, &e) || !read_policy(c, &e))
		status = command_failed(&e);
	else if ((faulty = faulty_usage(c->arguments, &files, &c->slo)))
		status = command_usage(self, faulty);
	else if (c->arguments->event)
		status = !compare_event(c, &files, &e) ? command_failed(&e) : c->log ? print_list(c) : print(c);
	else if (is_of_windows(c->arguments, &files))
		status = compare_windows(c, &files, &e) ? print(c) : command_failed(&e);
	else
		status = compare_records(c, l, &files, &e) ? print(c) : command_failed(&e);
	compare_event_close(c);
	for (size_t i = 0; i < l->count; i++)
		records_fini(&l->runs[i]);
	arena_fini(&c->arena);
	VEC_FREE(&files);
	mem_free(l);
	mem_free(c);
	return status;
}

const struct command command_compare = {
	.name = "compare",
	.summary = "before and after side by side, and whether to promote",
	.synopsis = (const char *const[]){ "[OPTIONS] A.jsonl B.jsonl [A2.jsonl B2.jsonl...]",
		"[OPTIONS] RUN.jsonl --a LABEL=VALUE --b LABEL=VALUE", "[OPTIONS] RECORDING --before A..B --after C..D",
		"[OPTIONS] --prometheus URL --before A..B --after C..D", "[OPTIONS] STORE|RECORDING|URL --event TIME|last|list", NULL },
	.description =
		"Compares two runs that goodput bench --records wrote, several of them in turn (A B A B), two windows of a "
		"recording or a Prometheus, or "
		"two parts of one (a canary). The same panels stand side by side with the change and its interval.\n\n"
		"It refuses, with the reason, when the two are no like for like: another mix of prompts, another cached share, "
		"another load, or a client "
		"that was the bottleneck. A checkpoint that only talks longer is judged.\n\n"
		"The verdict is that of a policy: what must not regress, and by how much. More tokens per second never buy a "
		"regression back. When the "
		"run was too short to tell, it says how long it would have to be. The same workload and seed on both sides see far "
		"smaller differences.\n\n"
		"With --event it looks at a change of capacity: what was told as an annotation, or targets that came or went for good. "
		"The windows before and after it are chosen (equal, without the time to settle, ending where other events or the data do), "
		"and the cost of what was done in them is told. What else changed in the meantime is named: it is no A against B.\n\n"
		"The exit status is 0 when it passes, 2 when it fails, 3 when it is inconclusive or not comparable.",
	.examples = (const struct example[]){ { "goodput compare before.jsonl after.jsonl --goodput ttft:500 tpot:50",
						      "Is the new setting worse anywhere?" },
		{ "goodput compare a1.jsonl b1.jsonl a2.jsonl b2.jsonl --policy batch.yaml --html report.html",
			"Runs in turn, a policy of your own, a page." },
		{ "goodput compare run.jsonl --a pool=stable --b pool=canary", "A canary in one run." },
		{ "goodput compare incident/ --before before --after after", "Two parts of a recording." },
		{ "goodput compare --prometheus http://prom:9090 --before 2026-01-15T02:00:00Z..2026-01-15T03:00:00Z --after "
		  "2026-01-15T04:00:00Z..2026-01-15T05:00:00Z",
			"Before and after a roll-out, as a Prometheus saw it." },
		{ "goodput compare goodput.db --event last --gpus 4 --gpu-price 2.5", "What did the last scaling bring, and cost?" },
		{ "goodput compare http://127.0.0.1:9470 --event list", "What a running serve knows of changes of capacity." },
		{ NULL, NULL } },
	.tables = compare_tables,
	.arguments_size = sizeof(struct compare_arguments),
	.run = compare_run,
};
