#include "cli/arguments.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#include <stddef.h>

static const char *const color_choices[] = { "auto", "always", "never", NULL };

#define AT(field) offsetof(struct global_arguments, field)
#define PLAIN_OPTIONS                                                                                                                      \
	{ "color", 0, OPTION_CHOICE, AT(color), .argument = "WHEN", .choices = color_choices, .preset = "auto",                            \
		.help = "When to colour: auto means on a terminal, unless NO_COLOR is set." },                                             \
		{ "quiet", 'q', OPTION_FLAG, AT(quiet), .help = "No progress and no notes on standard error." },                           \
		{ "verbose", 'v', OPTION_FLAG, AT(verbose), .help = "Tell each request and what was gathered, on standard error." },       \
		{ "help", 'h', OPTION_FLAG, AT(help), .help = "Show this help." },                                                         \
		{ "version", 0, OPTION_FLAG, AT(version), .help = "Print the version." },                                                  \
	{                                                                                                                                  \
		0                                                                                                                          \
	}
const struct option_spec plain_options[] = { PLAIN_OPTIONS };
const struct option_spec global_options[] = {
	{ "json", 0, OPTION_FLAG, AT(json), .help = "Print one JSON document instead of text." },
	PLAIN_OPTIONS,
};
#undef AT

#define AT(field) offsetof(struct fleet_arguments, field)
const struct option_spec fleet_options[] = {
	{ "targets", 0, OPTION_STRING, AT(targets_file), .argument = "FILE",
		.help = "Read targets from FILE, one a line; # starts a comment." },
	{ "config", 0, OPTION_STRING, AT(config_file), .argument = "FILE",
		.help = "Read a goodput.yaml (or prometheus.yml): targets of its scrape_configs as they are discovered, pools, signals, "
			"findings." },
	{ 0 },
};
#undef AT

#define AT(field) offsetof(struct http_arguments, field)
const struct option_spec http_options[] = {
	{ "timeout", 0, OPTION_DURATION, AT(timeout_ms), .argument = "DURATION", .least = 1,
		.help = "Give up on a request after this time; else 10s for a scrape, 30s for a query." },
	{ "bearer-token-file", 0, OPTION_STRING, AT(token_file), .argument = "FILE",
		.help = "Send the token in FILE as Authorization: Bearer." },
	{ "ca-file", 0, OPTION_STRING, AT(ca_file), .argument = "FILE", .help = "Trust the certificates in FILE for https." },
	{ "insecure", 0, OPTION_FLAG, AT(insecure), .help = "Do not verify certificates." },
	{ "max-body", 0, OPTION_SIZE, AT(max_body), .argument = "SIZE", .preset = "64MiB",
		.help = "Refuse a page above this size, after decompression." },
	{ 0 },
};
#undef AT

#define AT(field) offsetof(struct prometheus_arguments, field)
const struct option_spec prometheus_options[] = {
	{ "prometheus", 0, OPTION_STRING, AT(url), .argument = "URL", .help = "Ask this Prometheus-compatible API instead of targets." },
	{ "match", 0, OPTION_STRING, AT(match), .argument = "SELECTOR", .help = "Only series that match, such as {job=\"vllm\"}." },
	{ "tenant", 0, OPTION_STRING, AT(tenant), .argument = "NAME", .help = "Send X-Scope-OrgID: NAME (Mimir, Cortex)." },
	{ "query-budget", 0, OPTION_DURATION, AT(budget_ms), .argument = "DURATION", .preset = "2m", .least = 1,
		.help = "Stop when all queries together have taken this long." },
	{ 0 },
};
#undef AT

#define AT(field) offsetof(struct catalog_arguments, field)
const struct option_spec catalog_options[] = {
	{ "catalog", 0, OPTION_STRINGS, AT(files), .argument = "FILE",
		.help = "Change or extend engines, signals and findings by a file in the format of catalog/." },
	{ "pools", 0, OPTION_STRING, AT(pools_file), .argument = "FILE", .help = "Read pools (roles, classes, SLOs) from FILE." },
	{ 0 },
};
#undef AT

bool source_is_named(const struct source_arguments *s, const struct option_strings *targets)
{
	return targets->count || s->fleet.targets_file || s->fleet.config_file || s->prometheus.url;
}

bool source_tell_silent(const struct watch *w)
{
	const struct fleet *f = &w->data.fleet;
	bool any = !f->targets.count;

	for (size_t i = 0; i < f->targets.count; i++) {
		const struct target *t = f->targets.items[i];
		const struct scrape_record *last = t->scrapes.count ? &t->scrapes.items[t->scrapes.count - 1] : NULL;

		if (!last || last->outcome == SCRAPE_OK || last->outcome == SCRAPE_PARTIAL ||
			(w->kind != WATCH_LIVE && w->kind != WATCH_PAGE))
			any = true;
		else
			log_warning(STR_FMT " gave no metrics (%s%s" STR_FMT "): %s", STR_ARG(t->name), scrape_outcome_name(last->outcome),
				last->detail.len ? ": " : "", STR_ARG(last->detail), scrape_outcome_advice(last->outcome));
	}
	return any;
}

bool http_to_options(const struct http_arguments *h, struct arena *arena, struct watch_options *o, struct error *e)
{
	struct str token;

	o->scrape = (struct scrape_options){
		.ca_file = h->ca_file, .insecure = h->insecure, .timeout_ms = h->timeout_ms, .max_bytes = h->max_body
	};
	if (!h->token_file)
		return true;
	if (!file_read(arena, h->token_file, 65536, &token, e))
		return false;
	token = str_trim(token);
	if (!token.len)
		return error_set(e, EXIT_BAD_INPUT, "%s: no token in it", h->token_file);
	if (str_find(token, '\n') >= 0)
		return error_set(e, EXIT_BAD_INPUT, "%s: a token has one line", h->token_file);
	o->scrape.bearer_token = arena_cstr(arena, token);
	return true;
}

bool source_to_options(const struct source_arguments *s, struct arena *arena, const struct option_strings *targets, struct watch_options *o,
	struct error *e)
{
	if (!s->prometheus.url && (s->prometheus.match || s->prometheus.tenant)) {
		error_set(e, EXIT_USAGE, "--%s is for --prometheus", s->prometheus.match ? "match" : "tenant");
		error_hint(e, "add --prometheus URL");
		return false;
	}
	if (s->prometheus.url && targets->count) {
		error_set(e, EXIT_USAGE, "--prometheus and the target \"%s\" at once", targets->items[0]);
		error_hint(e, "choose the Prometheus's targets with --match '{instance=\"...\"}'");
		return false;
	}
	*o = (struct watch_options){ .targets = targets->items,
		.target_count = targets->count,
		.targets_file = s->fleet.targets_file,
		.config_file = s->fleet.config_file,
		.pools_file = s->catalog.pools_file,
		.catalog_files = s->catalog.files.items,
		.catalog_file_count = s->catalog.files.count,
		.now_ms = clock_now_ms(),
		.stop = &command_stop };
	if (!http_to_options(&s->http, arena, o, e))
		return false;
	o->remote = (struct remote_options){ .url = s->prometheus.url,
		.match = s->prometheus.match,
		.tenant = s->prometheus.tenant,
		.bearer_token = o->scrape.bearer_token,
		.ca_file = s->http.ca_file,
		.insecure = s->http.insecure,
		.timeout_ms = s->http.timeout_ms,
		.budget_ms = s->prometheus.budget_ms,
		.stop = &command_stop };
	return true;
}
