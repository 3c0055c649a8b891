/* goodput bench: a load, and what the client saw. */
#include "cli/bench.h"
#include "cli/bench_report.h"
#include "cli/commands.h"

#include "base/log.h"

static int bench_print(const struct bench *b, const struct bench_run *r)
{
	int status = bench_status(b, r);
	struct page page;

	page_init(&page, (enum color_when)b->a->global.color);
	if (b->a->global.json) {
		bench_json(b, r, &page.out);
		status = page_output_document(&page, status);
	} else {
		bench_page(&page, b, r);
		status = page_output(&page, status);
	}
	page_fini(&page);
	return status;
}

static int bench_once(struct bench *b)
{
	struct error e = { 0 };
	struct bench_run run;
	int status;

	if (!bench_measure(b, &run, &e))
		return command_failed(&e);
	status = bench_print(b, &run);
	if (run.records_error.set)
		status = command_failed(&run.records_error);
	if (!bench_files_write(b, &run, &e))
		status = command_failed(&e);
	bench_run_fini(&run);
	return status;
}

/* Options of a load, which bench report would ignore. */
static bool is_of_a_load(const struct bench_arguments *a)
{
	return a->sweep || a->save || a->prompts || a->concurrency || a->workload || a->rate || a->evaluation || a->metrics.count ||
	       a->thresholds || a->records || a->html || a->junit || a->record || a->prompts_file || a->base_url || a->host || a->port ||
	       a->model;
}

/* Nothing may stand between the server and the stamps; who relies on a proxy is told. */
static void say_proxy(const struct bench *b)
{
	const char *variable = endpoint_unused_proxy(b->endpoint);

	if (variable)
		log_warning("%s is set, and a load does not use it: requests go straight to %s (no_proxy exempts it for the others)",
			variable, endpoint_place(b->endpoint));
}

static int bench_command(const struct command *self, void *arguments, const struct option_strings *operands)
{
	struct bench_arguments *a = arguments;
	struct error e = { 0 };
	struct bench b;
	int status;

	bool is_report = operands->count && str_is(str_from(operands->items[0]), "report");

	if (is_report && is_of_a_load(a))
		return command_usage(
			self, "report sends and writes nothing: it takes --goodput, --duration, --by, --each, --price and --json");
	if (is_report)
		return bench_report(self, &(struct bench_report_options){ .global = &a->global,
						  .objectives = &a->goodput,
						  .operands = operands,
						  .by = &a->by,
						  .window_ms = a->duration_ms,
						  .price = a->price,
						  .each = a->each });
	if (a->by.count || a->each)
		return command_usage(self, "--by and --each are of bench report");
	if (!operands->count && !a->base_url && !a->host && !a->port)
		return command_usage(self, "which server? Name its URL");
	a->no_progress = a->no_progress || a->global.quiet;
	if (!bench_open(&b, a, operands, &e))
		return command_failed(&e);
	say_proxy(&b);
	if ((a->sweep && !bench_sweep_check(&b, &e)) || !bench_probe(&b, &e))
		status = command_failed(&e);
	else
		status = a->sweep ? bench_sweep(&b) : bench_once(&b);
	bench_close(&b);
	return status;
}

const struct command command_bench = {
	.name = "bench",
	.summary = "send a load to a server and say what its clients get",
	.synopsis = (const char *const[]){ "[OPTIONS] URL [--goodput NAME:MS...]", "[OPTIONS] --sweep URL --goodput NAME:MS...",
		"report FILE... [--goodput NAME:MS...]", NULL },
	.description =
		"Sends requests to an OpenAI-compatible server and records every request's timeline: when it was due, when it left, "
		"each delivery with "
		"the kernel's receive stamp, how it ended. Options have the names of vllm bench serve where it has one, and the "
		"limits of --goodput are "
		"in milliseconds as there.\n\n"
		"With --request-rate requests leave at their time whatever the server does, and latency also counts from the time "
		"that they were due. "
		"Failures count against goodput and are shown first; what the client itself did wrong is measured and said.\n\n"
		"TTFT is the time from submission to the first visible token (not the role chunk), TPOT (last - first) / (tokens - "
		"1), ITL the gaps "
		"between deliveries of all requests, E2E the time to the end of the answer.\n\n"
		"The load goes straight to the server: proxies of the environment (http_proxy, https_proxy) are not used for it, and "
		"it follows no redirects.\n\n"
		"report judges records of requests instead: the JSON Lines that --records wrote, or a table that someone else "
		"measured (a header line, tabs "
		"or commas; columns such as id, start_s, ttft_ms, e2e_ms, output_tokens, http_status, outcome), or what vllm bench "
		"serve --save-detailed wrote. --duration is then "
		"the window; else it is as the "
		"records say, or from the first request to the last end. Its status is 2 when none was good, 3 when none could be "
		"judged.\n\n"
		"The exit status is 0 when every request completed, 1 when some failed, 2 when all did, 3 when the client was the "
		"bottleneck.",
	.examples =
		(const struct example[]){
			{ "goodput bench http://localhost:8000 --request-rate 4 --duration 60s --goodput ttft:500 tpot:50",
				"A minute at 4 requests/s, and how many were good." },
			{ "goodput bench http://localhost:8000 -n 200 --max-concurrency 16", "200 requests, 16 at a time." },
			{ "goodput bench http://localhost:8000 --workload chat.yaml --records run.jsonl --html run.html",
				"A frozen workload, every timeline kept." },
			{ "goodput bench http://localhost:8000 --sweep --duration 60s --goodput ttft:500 tpot:50 --thresholds lines.yaml",
				"The highest rate that holds the limits, and red lines that follow from it." },
			{ "goodput bench http://localhost:8000 -r 4 -d 60s --eval questions.jsonl",
				"Are the answers still right under load?" },
			{ "goodput bench report requests.tsv --goodput ttft:500 tpot:50 e2el:10000 --duration 20s",
				"Requests that another tool measured, judged." },
			{ NULL, NULL } },
	.tables = bench_tables,
	.arguments_size = sizeof(struct bench_arguments),
	.operands = (const char *const[]){ "report", NULL },
	.files_too = true,
	.run = bench_command,
};
