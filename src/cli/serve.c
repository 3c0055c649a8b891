/* goodput serve: the monitor as a daemon. */
#include "serve/serve.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"

#include <stddef.h>

struct serve_arguments {
	struct global_arguments global;
	struct fleet_arguments fleet;
	struct prometheus_arguments prometheus;
	struct http_arguments http;
	struct catalog_arguments catalog;
	struct serve_options serve;
	const char *token_file;
	struct option_strings webhooks;
	size_t retention_size;
};

#define AT(field) offsetof(struct serve_arguments, field)
static const struct option_spec web_options[] = {
	{ "host", 0, OPTION_STRING, AT(serve.host), .argument = "ADDRESS", .preset = "127.0.0.1",
		.help = "Address to listen on. Beyond this machine only with --web-token-file, --tls-client-ca or --web-open." },
	{ "port", 'p', OPTION_INTEGER, AT(serve.port), .argument = "PORT", .preset = "9470", .least = 0, .help = "0 takes any free one." },
	{ "web-token-file", 0, OPTION_STRING, AT(token_file), .argument = "FILE",
		.help = "Ask clients for the token in FILE: Authorization: Bearer, or as the password of basic authentication." },
	{ "tls-cert", 0, OPTION_STRING, AT(serve.tls.cert), .argument = "FILE",
		.help = "Speak HTTPS with this certificate (PEM, with those that lead to a root). Read again at a reload." },
	{ "tls-key", 0, OPTION_STRING, AT(serve.tls.key), .argument = "FILE", .help = "The certificate's key." },
	{ "tls-client-ca", 0, OPTION_STRING, AT(serve.tls.client_ca), .argument = "FILE",
		.help = "Let only clients in that show a certificate of one of these." },
	{ "web-config-file", 0, OPTION_STRING, AT(serve.tls.file), .argument = "FILE",
		.help = "Take certificate and key from the tls_server_config of a file as Prometheus's --web.config.file has it." },
	{ "web-open", 0, OPTION_FLAG, AT(serve.open), .help = "Let everybody in who reaches --host." },
	{ "remote-write-receiver", 0, OPTION_FLAG, AT(serve.receive), .help = "Take samples by remote write 1.0 at /api/v1/write." },
	{ 0 },
};
static const struct option_spec store_options_list[] = {
	{ "store", 0, OPTION_STRING, AT(serve.store_path), .argument = "FILE",
		.help = "Keep samples in this file, made when it is not there. Without it they are in memory, until the end." },
	{ "retention", 0, OPTION_DURATION, AT(serve.store.retention_ms), .argument = "DURATION", .preset = "30d", .least = 0,
		.help = "Drop samples that are older; 0 keeps them." },
	{ "retention-size", 0, OPTION_SIZE, AT(retention_size), .argument = "SIZE",
		.help = "Drop the oldest samples beyond this size of --store; in memory: beyond this size of all samples, 1GiB where it is "
			"not said." },
	{ "durable", 0, OPTION_FLAG, AT(serve.store.durable_full),
		.help = "What --store has committed survives a power loss too, not only the end of the program." },
	{ 0 },
};
static const struct option_spec work_options[] = {
	{ "scrape-interval", 0, OPTION_DURATION, AT(serve.scrape_interval_ms), .argument = "DURATION", .preset = "15s", .least = 100,
		.help = "How often a named target is scraped; those of --config say it themselves." },
	{ "evaluation-interval", 0, OPTION_DURATION, AT(serve.evaluation_interval_ms), .argument = "DURATION", .preset = "15s",
		.least = 100, .help = "How often the signals are judged." },
	{ "window", 'w', OPTION_DURATION, AT(serve.window_ms), .argument = "DURATION", .preset = "5m", .least = 1000,
		.help = "The time over which signals are read." },
	{ "finding-alerts", 0, OPTION_FLAG, AT(serve.finding_alerts), .preset = "yes",
		.help = "Findings are alerts: in /api/v1/alerts, as ALERTS series, and sent as those of rule files are." },
	{ "webhook", 0, OPTION_STRINGS, AT(webhooks), .argument = "URL",
		.help = "POST alerts to this URL, in the form of Alertmanager's webhooks. Alertmanagers are of "
			"--config." },
	{ "webhook-repeat", 0, OPTION_DURATION, AT(serve.webhook_repeat_ms), .argument = "DURATION", .preset = "4h", .least = 0,
		.help = "Tell webhooks again of what still fires; 0 does not." },
	{ "query-timeout", 0, OPTION_DURATION, AT(serve.query_timeout_ms), .argument = "DURATION", .preset = "2m", .least = 1,
		.help = "End a query after this time." },
	{ "query-max-samples", 0, OPTION_INTEGER, AT(serve.query_samples), .argument = "N", .preset = "50000000", .least = 1,
		.help = "Refuse a query that holds more samples at once." },
	{ 0 },
};
static const struct option_spec backend_options[] = {
	{ "prometheus", 0, OPTION_STRING, AT(prometheus.url), .argument = "URL",
		.help = "Watch what this Prometheus-compatible API has, instead of scraping; queries go on to it." },
	{ "match", 0, OPTION_STRING, AT(prometheus.match), .argument = "SELECTOR",
		.help = "Of it, only series that match, such as {job=\"vllm\"}, for signals." },
	{ "tenant", 0, OPTION_STRING, AT(prometheus.tenant), .argument = "NAME", .help = "Send X-Scope-OrgID: NAME (Mimir, Cortex)." },
	{ "backend-requests", 0, OPTION_INTEGER, AT(serve.backend_requests), .argument = "N", .preset = "120", .least = 10,
		.help = "Make at most N requests a minute to it. A quarter is for signals alone; what is above is refused and counted." },
	{ 0 },
};
static const struct option_table serve_tables[] = { { "The API", web_options, 0 }, { "What it keeps", store_options_list, 0 },
	{ "What it does", work_options, 0 }, { "An existing Prometheus, Thanos, Mimir or VictoriaMetrics", backend_options, 0 },
	{ "Which targets, beside those named", fleet_options, AT(fleet) }, { "How to reach them", http_options, AT(http) },
	{ "Catalogue", catalog_options, AT(catalog) }, GLOBAL_TABLE(struct serve_arguments), { 0 } };
#undef AT

static bool read_token(struct serve_arguments *a, struct arena *arena, struct error *e)
{
	struct str token;

	if (!a->token_file)
		return true;
	if (!file_read(arena, a->token_file, 4096, &token, e))
		return false;
	token = str_trim(token);
	if (!token.len || str_find(token, '\n') >= 0)
		return error_set(e, EXIT_BAD_INPUT, "%s: a token is one line that is not empty", a->token_file);
	a->serve.token = arena_cstr(arena, token);
	return true;
}

static bool webhooks_are_urls(const struct option_strings *webhooks, struct error *e)
{
	for (size_t i = 0; i < webhooks->count; i++) {
		struct str url = str_from(webhooks->items[i]);

		if (str_starts(url, STR("http://")) || str_starts(url, STR("https://")))
			continue;
		error_set(e, EXIT_USAGE, "--webhook \"" STR_FMT "\" is no URL", STR_ARG(url));
		error_hint(e, "give it whole: --webhook http://host:port/path");
		return false;
	}
	return true;
}

static int serve_run_command(const struct command *self, void *arguments, const struct option_strings *targets)
{
	struct serve_arguments *a = arguments;
	const struct source_arguments source = { .fleet = a->fleet, .prometheus = a->prometheus, .http = a->http, .catalog = a->catalog };
	struct error e = { 0 };
	struct arena arena;

	if (!source_is_named(&source, targets) && !a->serve.receive)
		return command_usage(self, "what shall be watched? Name targets, or a file with --targets or --config, or let others write "
					   "with --remote-write-receiver");
	a->serve.webhooks = a->webhooks.items;
	a->serve.webhook_count = a->webhooks.count;
	a->serve.json = a->global.json;
	a->serve.store.retention_bytes = a->retention_size;
	arena_init(&arena);
	bool ok = webhooks_are_urls(&a->webhooks, &e) && source_to_options(&source, &arena, targets, &a->serve.watch, &e) &&
		  read_token(a, &arena, &e) && serve_run(&a->serve, &command_stop, &e);

	arena_fini(&arena);
	return ok ? EXIT_FINE : command_failed(&e);
}

const struct command command_serve = {
	.name = "serve",
	.summary = "watch a fleet all the time: scrape, judge, and answer as Prometheus does",
	.synopsis = (const char *const[]){ "[OPTIONS] TARGET...", "[OPTIONS] --config FILE", "[OPTIONS] --prometheus URL",
		"[OPTIONS] --remote-write-receiver", NULL },
	.description =
		"Scrapes the targets, keeps what they show, judges all signals again and again, shows a web page, and answers Prometheus's "
		"HTTP API: "
		"/api/v1/query, query_range, series, labels, label/NAME/values, metadata, targets, rules, alerts, status, format_query and "
		"parse_query, and /federate. Grafana, promtool and whatever speaks to a Prometheus can be pointed at it. Its own routes "
		"are under "
		"/api/goodput/v1: readings, findings, coverage, annotations, events.\n\n"
		"Of a configuration it takes targets (static, files, HTTP, DNS, Kubernetes) with their relabelling, rule files, "
		"Alertmanagers, "
		"remote write, and external labels. What it leaves out it says.\n\n"
		"/metrics shows the daemon itself; /-/healthy and /-/ready answer probes; POST to /-/reload or SIGHUP reads targets, "
		"configuration and catalogue again, without losing a sample. A configuration with an error changes nothing.\n\n"
		"SIGTERM and Ctrl-C end it when the answers in progress are out, at most 5 s later.",
	.examples = (const struct example[]){ { "goodput serve pod-a:8000 pod-b:8000",
						      "Watch two servers; page and API on http://127.0.0.1:9470." },
		{ "goodput serve --config prometheus.yml --store samples.goodput",
			"All that an existing configuration asks for; samples outlive a restart." },
		{ "promtool query instant http://127.0.0.1:9470 'sum(vllm:num_requests_waiting)'", "Ask it." }, { NULL, NULL } },
	.tables = serve_tables,
	.arguments_size = sizeof(struct serve_arguments),
	.run = serve_run_command,
};
