/* goodput signals: the catalogue explained, and bound to what a fleet exports. */
#include "base/json.h"
#include "catalog/expression.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/page.h"
#include "cli/signals_bound.h"
#include "cli/signals_explain.h"

#include <stddef.h>
#include <stdio.h>

struct signals_arguments {
	struct global_arguments global;
	struct source_arguments source;
	const char *group;
	bool promql, coverage;
};

#define AT(field) offsetof(struct signals_arguments, field)
static const struct option_spec signals_options[] = {
	{ "group", 'g', OPTION_STRING, AT(group), .argument = "GROUP", .help = "Only signals of this group, such as latency or cache." },
	{ "promql", 0, OPTION_FLAG, AT(promql), .help = "Print each signal's PromQL for the engine and version of the targets." },
	{ "coverage", 0, OPTION_FLAG, AT(coverage),
		.help = "Print which metrics the targets export: present, absent, not enabled, not applicable, unknown to goodput." },
	{ 0 },
};
#undef AT
static const struct option_table signals_tables[] = { { "What to show", signals_options, 0 },
	SOURCE_TABLES(struct signals_arguments, source), GLOBAL_TABLE(struct signals_arguments), { 0 } };

static void list_text(struct page *p, const struct catalog *c, const struct signals_arguments *a)
{
	struct str group = STR_EMPTY;

	for (size_t i = 0; i < c->signals.count; i++) {
		const struct signal_spec *s = c->signals.items[i];

		if (a->group && !str_is(s->group, a->group))
			continue;
		if (!str_eq(s->group, group)) {
			page_add(p, s->group, STYLE_BOLD);
			page_line(p);
			group = s->group;
		}
		char label[64];
		struct buf text;

		buf_init(&text, 4096);
		buf_add(&text, s->title);
		if (s->unit.len)
			buf_printf(&text, ", " STR_FMT, STR_ARG(s->unit));
		snprintf(label, sizeof label, "  " STR_FMT, STR_ARG(s->id));
		page_field(p, label, STYLE_PLAIN, 30, buf_str(&text));
		buf_fini(&text);
	}
}

/* The operands: ids of signals and findings, and targets. */
struct asked {
	struct option_strings targets;
	VEC(const struct signal_spec *) signals;
	VEC(const struct finding_spec *) findings;
};

static bool looks_like_target(const char *operand)
{
	return strpbrk(operand, ":/.") || watch_is_file(operand);
}

static bool unknown_id(const struct catalog *c, const char *id, struct error *e)
{
	struct str nearest = catalog_nearest_signal(c, str_from(id));

	error_set(e, EXIT_USAGE, "no signal or finding is called \"%s\"", id);
	if (nearest.len)
		error_hint(e, "did you mean " STR_FMT "? goodput signals lists all", STR_ARG(nearest));
	else
		error_hint(e, "goodput signals lists all; a target is a URL, host:port, a page or a recording");
	return false;
}

static bool sort_operands(const struct catalog *c, const struct option_strings *operands, struct asked *asked, struct error *e)
{
	for (size_t i = 0; i < operands->count; i++) {
		const char *operand = operands->items[i];
		const struct signal_spec *signal = catalog_signal(c, operand);
		const struct finding_spec *finding = catalog_finding(c, operand);

		if (signal)
			VEC_PUSH(&asked->signals, signal);
		else if (finding)
			VEC_PUSH(&asked->findings, finding);
		else if (looks_like_target(operand))
			VEC_PUSH(&asked->targets, operand);
		else
			return unknown_id(c, operand, e);
	}
	return true;
}

static bool group_exists(const struct catalog *c, const char *group, struct error *e)
{
	char list[300] = "";

	for (size_t i = 0; i < c->signals.count; i++) {
		struct str name = c->signals.items[i]->group;
		size_t used = strlen(list);
		bool told = false;

		if (str_is(name, group))
			return true;
		for (size_t before = 0; before < i && !told; before++)
			told = str_eq(name, c->signals.items[before]->group);
		if (!told)
			snprintf(list + used, sizeof list - used, "%s" STR_FMT, used ? ", " : "", STR_ARG(name));
	}
	error_set(e, EXIT_USAGE, "no group \"%s\"", group);
	error_hint(e, "groups: %s", list);
	return false;
}

/* What would be ignored is refused. */
static bool combination_fits(const struct signals_arguments *a, const struct asked *asked, struct error *e)
{
	bool ids = asked->signals.count || asked->findings.count;

	if (a->promql && a->coverage)
		return error_set(e, EXIT_USAGE, "--promql or --coverage, not both");
	if (a->coverage && (a->group || ids))
		return error_set(e, EXIT_USAGE, "--coverage is about the metrics of targets: neither --group nor ids are for it");
	if (a->group && ids)
		return error_set(e, EXIT_USAGE, "--group or ids, not both");
	if (a->promql && asked->findings.count) {
		error_set(e, EXIT_USAGE, "\"" STR_FMT "\" is a finding: PromQL is of signals", STR_ARG(asked->findings.items[0]->id));
		error_hint(e, "goodput signals " STR_FMT " names those that it rests on", STR_ARG(asked->findings.items[0]->id));
		return false;
	}
	return true;
}

static void print_catalog_json(const struct catalog *c, const struct signals_arguments *a, const struct asked *asked, struct buf *out)
{
	struct json j = { .out = out };

	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR("goodput.signals/1"));
	json_open(&j, "signals", '[');
	for (size_t i = 0; i < c->signals.count; i++) {
		const struct signal_spec *s = c->signals.items[i];
		bool wanted = !asked->signals.count && !asked->findings.count;

		for (size_t k = 0; k < asked->signals.count; k++)
			wanted |= asked->signals.items[k] == s;
		if (wanted && (!a->group || str_is(s->group, a->group)))
			signal_json(&j, c, s);
	}
	json_close(&j, ']');
	if (asked->findings.count) {
		json_open(&j, "findings", '[');
		for (size_t i = 0; i < asked->findings.count; i++)
			finding_json(&j, asked->findings.items[i]);
		json_close(&j, ']');
	}
	json_close(&j, '}');
	buf_add_c(out, '\n');
}

static void print_catalog(const struct catalog *c, const struct signals_arguments *a, const struct asked *asked, struct page *p)
{
	if (a->global.json) {
		print_catalog_json(c, a, asked, &p->out);
		return;
	}
	for (size_t i = 0; i < asked->signals.count; i++)
		signal_explain(p, c, asked->signals.items[i]);
	for (size_t i = 0; i < asked->findings.count; i++)
		finding_explain(p, asked->findings.items[i]);
	if (!asked->signals.count && !asked->findings.count)
		list_text(p, c, a);
}

/* Against a fleet: PromQL bound to it, or coverage. */
static bool print_bound(struct watch *w, const struct signals_arguments *a, const struct asked *asked, struct page *p, struct error *e)
{
	const struct bound_request request = { .group = a->group, .signals = asked->signals.items, .signal_count = asked->signals.count };

	if (!watch_gather(w, e) || !watch_evidence(w, e))
		return false;
	if (a->promql)
		return bound_promql(p, w, &request, a->global.json, e);
	if (!source_tell_silent(w))
		return error_set(e, EXIT_UNREACHABLE, "no target gave metrics: there is no coverage to tell");
	bound_coverage(p, w, a->global.json);
	return true;
}

static bool signals_print(
	const struct signals_arguments *a, struct arena *arena, const struct option_strings *operands, struct page *p, struct error *e)
{
	struct asked asked = { 0 };
	struct watch_options options = { 0 };
	struct catalog catalog;
	struct watch w;
	bool ok, bound = a->promql || a->coverage;

	if (!watch_catalog(&catalog, arena,
		    &(struct watch_options){ .config_file = a->source.fleet.config_file,
			    .pools_file = a->source.catalog.pools_file,
			    .catalog_files = a->source.catalog.files.items,
			    .catalog_file_count = a->source.catalog.files.count },
		    e))
		return false;
	ok = (!a->group || group_exists(&catalog, a->group, e)) && sort_operands(&catalog, operands, &asked, e) &&
	     combination_fits(a, &asked, e);
	if (ok && bound && !source_is_named(&a->source, &asked.targets)) {
		ok = error_set(e, EXIT_USAGE, "--%s is about targets: none is named", a->promql ? "promql" : "coverage");
		error_hint(e, "add a target, a page, a recording or --prometheus URL");
	} else if (ok && !bound && asked.targets.count) {
		ok = error_set(e, EXIT_USAGE, "what about the target %s?", asked.targets.items[0]);
		error_hint(e, "add --promql or --coverage");
	} else if (ok && bound) {
		ok = source_to_options(&a->source, arena, &asked.targets, &options, e);
		/* One scrape shows all names. */
		options.only_samples = options.only_names = true;
		ok = ok && watch_open(&w, &options, e);
		if (ok) {
			/* The ids asked for belong to the first catalogue: same files, same indices. */
			ok = print_bound(&w, a, &asked, p, e);
			watch_close(&w);
		}
	} else if (ok) {
		print_catalog(&catalog, a, &asked, p);
	}
	VEC_FREE(&asked.targets);
	VEC_FREE(&asked.signals);
	VEC_FREE(&asked.findings);
	catalog_fini(&catalog);
	return ok;
}

static int signals_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	const struct signals_arguments *a = arguments;
	struct error e = { 0 };
	struct arena arena;
	struct page page;
	int status;

	arena_init(&arena);
	page_init(&page, (enum color_when)a->global.color);
	if (signals_print(a, &arena, operands, &page, &e))
		status = a->global.json ? page_output_document(&page, EXIT_FINE) : page_output(&page, EXIT_FINE);
	else
		status = command_failed(&e);
	page_fini(&page);
	arena_fini(&arena);
	return status;
}

const struct command command_signals = {
	.name = "signals",
	.summary = "list and explain signals; their PromQL and coverage on a fleet",
	.synopsis = (const char *const[]){ "[--group GROUP] [ID...]", "--promql [ID...] TARGET...", "--coverage TARGET...", NULL },
	.description = "Without operands: all figures that goodput knows. With ids of signals or findings: what each means, how it is "
		       "computed, and "
		       "which findings use it.\n\nWith --promql and a target, a page, a recording or --prometheus: the PromQL of each "
		       "signal, bound "
		       "to the engine and version found there, to copy into a dashboard. With --coverage: which metrics are exported.",
	.examples = (const struct example[]){ { "goodput signals --group latency", "All latency figures." },
		{ "goodput signals ttft_p99 kv-thrash", "What do a signal and a finding mean?" },
		{ "goodput signals --promql ttft_p99 localhost:8000", "The query for this server's version." },
		{ "goodput signals --coverage localhost:8000", "What does this server export, and what not?" }, { NULL, NULL } },
	.tables = signals_tables,
	.arguments_size = sizeof(struct signals_arguments),
	.run = signals_run,
};
