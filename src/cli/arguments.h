/* arguments: options that several commands share, and what they become. */
#ifndef GOODPUT_CLI_ARGUMENTS_H
#define GOODPUT_CLI_ARGUMENTS_H

#include "cli/command.h"
#include "watch/watch.h"

struct fleet_arguments {
	const char *targets_file, *config_file;
};
struct http_arguments {
	const char *token_file, *ca_file;
	bool insecure;
	int64_t timeout_ms;
	size_t max_body;
};
struct prometheus_arguments {
	const char *url, *match, *tenant;
	int64_t budget_ms;
};
struct catalog_arguments {
	struct option_strings files;
	const char *pools_file;
};
extern const struct option_spec fleet_options[], http_options[], prometheus_options[], catalog_options[];

/* All that says where figures come from; a command embeds it and lists its tables with SOURCE_TABLES. */
struct source_arguments {
	struct fleet_arguments fleet;
	struct http_arguments http;
	struct prometheus_arguments prometheus;
	struct catalog_arguments catalog;
};
#define SOURCE_TABLES(type, member)                                                                                                        \
	{ "Which targets, beside those named", fleet_options, offsetof(type, member.fleet) },                                              \
		{ "An existing Prometheus, Thanos, Mimir or VictoriaMetrics", prometheus_options, offsetof(type, member.prometheus) },     \
		{ "How to reach them", http_options, offsetof(type, member.http) },                                                        \
	{                                                                                                                                  \
		"Catalogue", catalog_options, offsetof(type, member.catalog)                                                               \
	}
#define GLOBAL_TABLE(type)                                                                                                                 \
	{                                                                                                                                  \
		"Common options", global_options, offsetof(type, global)                                                                   \
	}

/* Reads the token file into the arena. */
bool source_to_options(const struct source_arguments *s, struct arena *arena, const struct option_strings *targets, struct watch_options *o,
	struct error *e);
bool http_to_options(const struct http_arguments *h, struct arena *arena, struct watch_options *o, struct error *e);
/* Warns of each live target and saved page that gave nothing at its last scrape, with the reason. False when none of them gave anything. */
bool source_tell_silent(const struct watch *w);
/* Was anything named to look at? */
bool source_is_named(const struct source_arguments *s, const struct option_strings *targets);

#endif
