/* goodput bench: the files that the arguments ask for. */
#include "cli/bench.h"
#include "cli/tally_render.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "report/junit.h"
#include "report/run_report.h"
#include "report/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PERCENTILES_MAX = 16, FACTS_MAX = 16, FILE_MAX = 1 << 30 };

/* ---- checks, before any load ---- */

static bool percentiles_read(const char *text, double *values, size_t *count, struct error *e)
{
	struct str rest = str_from(text), part;

	*count = 0;
	while (str_split(&rest, ',', &part)) {
		if (*count == PERCENTILES_MAX || !number_parse(str_trim(part), &values[*count]) ||
			!(values[*count] > 0 && values[*count] < 100))
			return error_set(e, EXIT_USAGE, "--metric-percentiles is a list such as 50,99,99.9, not \"%s\"", text);
		++*count;
	}
	return true;
}

static bool metrics_check(const char *text, struct error *e)
{
	struct str rest = str_from(text), part;

	while (str_split(&rest, ',', &part))
		if (!str_is(part, "ttft") && !str_is(part, "tpot") && !str_is(part, "itl") && !str_is(part, "e2el"))
			return error_set(e, EXIT_USAGE, "--percentile-metrics is a list of ttft, tpot, itl, e2el, not \"%s\"", text);
	return true;
}

/* Before the load, not after it: may a file of this name be made? */
static bool output_check(const char *path, struct error *e)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	struct arena arena;

	if (!path)
		return true;
	if (file_is_folder(path))
		return error_set(e, EXIT_BAD_INPUT, "%s: cannot be written: %s", path, strerror(EISDIR));
	arena_init(&arena);
	const char *folder = slash ? arena_cstr(&arena, str_of(path, (size_t)(slash - path) + 1)) : ".";
	bool ok = access(folder, W_OK | X_OK) == 0 || access(path, W_OK) == 0 ||
		  error_set(e, EXIT_BAD_INPUT, "%s: cannot be written: %s", path, strerror(errno));

	arena_fini(&arena);
	return ok;
}

bool bench_files_check(const struct bench_arguments *a, struct error *e)
{
	double values[PERCENTILES_MAX], attainment;
	size_t count;

	if (!number_parse(str_from(a->attainment), &attainment) || !(attainment > 0 && attainment <= 1))
		return error_set(e, EXIT_USAGE, "--attainment is a share, such as 0.95, not \"%s\"", a->attainment);
	if (!a->save && (a->detailed || a->append || a->result_dir || a->result_file))
		return error_set(
			e, EXIT_USAGE, "--save-detailed, --append-result, --result-dir and --result-filename go with --save-result");
	for (size_t i = 0; i < a->metadata.count; i++)
		if (str_find(str_from(a->metadata.items[i]), '=') <= 0)
			return error_set(e, EXIT_USAGE, "--metadata is NAME=VALUE, not \"%s\"", a->metadata.items[i]);
	if (a->sweep && (a->records || a->html || a->junit || a->save || a->prompts_file || a->record)) {
		error_set(e, EXIT_USAGE,
			"a sweep is many runs: --records, --html, --junit, --save-result, --prompts and --record are of one");
		error_hint(e, "run the rate that it finds: --request-rate RATE");
		return false;
	}
	if (a->thresholds && !a->sweep)
		return error_set(e, EXIT_USAGE, "--thresholds follow from a --sweep");
	if (!a->scrape && (a->metrics.count || a->record))
		return error_set(e, EXIT_USAGE, "--metrics-url and --record are of the server's figures, which --no-scrape leaves alone");
	if (a->save && a->result_dir && !folder_make(a->result_dir, e))
		return false;
	if (!output_check(a->records, e) || !output_check(a->html, e) || !output_check(a->junit, e) || !output_check(a->prompts_file, e) ||
		!output_check(a->thresholds, e))
		return false;
	return percentiles_read(a->percentiles, values, &count, e) && metrics_check(a->percentile_metrics, e);
}

/* ---- vLLM's summary ---- */

static const char *const backend_names[] = { "openai-chat", "openai", "vllm", "openai-responses" };
static const char *const ramp_names[] = { NULL, "linear", "exponential" };

static struct str result_path(const struct bench *b, struct arena *arena)
{
	const struct bench_arguments *a = b->a;
	const char *folder = a->result_dir ? a->result_dir : ".";
	struct str model = b->load.model, rate = STR("inf");
	char stamp[32];
	time_t now = time(NULL);
	struct tm local;

	if (a->result_file)
		return arena_printf(arena, "%s/%s", folder, a->result_file);
	while (str_find(model, '/') >= 0)
		model = str_skip(model, (size_t)str_find(model, '/') + 1);
	if (b->plan.arrivals.process != WORKLOAD_CLOSED && b->plan.arrivals.process != WORKLOAD_TRACE)
		rate = arena_printf(arena, "%g", b->plan.arrivals.rate);
	localtime_r(&now, &local);
	strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
	if (b->plan.arrivals.concurrency)
		return arena_printf(arena, "%s/%s-" STR_FMT "qps-concurrency%u-" STR_FMT "-%s.json", folder,
			a->label ? a->label : backend_names[a->backend], STR_ARG(rate), b->plan.arrivals.concurrency, STR_ARG(model),
			stamp);
	return arena_printf(arena, "%s/%s-" STR_FMT "qps-" STR_FMT "-%s.json", folder, a->label ? a->label : backend_names[a->backend],
		STR_ARG(rate), STR_ARG(model), stamp);
}

static size_t metadata_facts(const struct bench *b, struct records_fact *facts)
{
	size_t count = 0;

	for (size_t i = 0; i < b->a->metadata.count && count < RECORDS_FACTS_MAX; i++) {
		struct str text = str_from(b->a->metadata.items[i]);
		size_t at = (size_t)str_find(text, '=');

		facts[count++] = (struct records_fact){ str_head(text, at), str_skip(text, at + 1) };
	}
	return count;
}

static bool file_append(const char *path, struct str text, struct error *e)
{
	FILE *file = fopen(path, "ae");
	bool ok = file && fwrite(text.ptr, 1, text.len, file) == text.len;

	if (file && fclose(file) != 0)
		ok = false;
	if (ok)
		return true;
	error_set(e, EXIT_INTERNAL, "cannot write: %s", strerror(errno));
	error_source(e, str_from(path));
	return false;
}

static bool summary_save(const struct bench *b, const struct bench_run *r, struct error *e)
{
	const struct bench_arguments *a = b->a;
	const struct workload_arrivals *arrivals = &b->plan.arrivals;
	bool has_rate = arrivals->process != WORKLOAD_CLOSED && arrivals->process != WORKLOAD_TRACE;
	struct records_fact facts[RECORDS_FACTS_MAX];
	double percentiles[PERCENTILES_MAX];
	struct summary_options o = { .backend = str_from(backend_names[a->backend]),
		.endpoint_type = str_from(backend_names[a->backend]),
		.model = b->load.model,
		.label = str_from(a->label ? a->label : ""),
		.metadata = facts,
		.metadata_count = metadata_facts(b, facts),
		.prompts = b->plan.requests,
		.rate = has_rate ? arrivals->rate : NAN,
		.burstiness = arrivals->process == WORKLOAD_GAMMA ? arrivals->burstiness : 1,
		.concurrency = arrivals->concurrency,
		.ramp = ramp_names[a->ramp],
		.ramp_from = arrivals->ramp_from,
		.ramp_to = arrivals->rate,
		.percentiles = percentiles,
		.metrics = str_from(a->percentile_metrics),
		.detailed = a->detailed };
	struct arena arena;
	struct buf out;
	struct str path;
	bool ok;

	if (!percentiles_read(a->percentiles, percentiles, &o.percentile_count, e))
		return false;
	arena_init(&arena);
	buf_init(&out, FILE_MAX);
	summary_write(&out, &r->records, &r->tally, &b->slo, &o);
	buf_add_c(&out, '\n');
	path = result_path(b, &arena);
	ok = a->append ? file_append(path.ptr, buf_str(&out), e) : file_write(path.ptr, buf_str(&out), e);
	buf_fini(&out);
	arena_fini(&arena);
	return ok;
}

/* ---- HTML ---- */

static void fact_add(struct run_fact *facts, size_t *count, struct arena *arena, const char *name, struct str value)
{
	if (*count < FACTS_MAX && value.len)
		facts[(*count)++] = (struct run_fact){ str_from(name), arena_str(arena, value) };
}

static size_t page_facts(const struct bench *b, const struct bench_run *r, struct arena *arena, struct run_fact *facts)
{
	static const char *const signals[] = { "ttft_mean", "tpot_mean", "e2e_mean", "queue_mean", "preemptions", "prefix_hit_rate" };
	size_t count = 0;
	struct buf text;
	char number[32];

	buf_init(&text, 65536);
	bench_arrivals_phrase(&b->plan, &text);
	fact_add(facts, &count, arena, "arrivals", buf_str(&text));
	fact_add(facts, &count, arena, "workload", str_from(workload_hash(b->workload)));
	number_phrase(r->load.lag_p99_ms, number);
	fact_add(facts, &count, arena, "read lag P99", arena_printf(arena, "%s ms", number));
	number_phrase(r->load.delay_p99_ms, number);
	if (!isnan(r->load.delay_p99_ms))
		fact_add(facts, &count, arena, "schedule delay P99", arena_printf(arena, "%s ms", number));
	for (size_t i = 0; r->server && i < ARRAY_LEN(signals); i++) {
		buf_reset(&text);
		if (server_watch_phrase(r->server, signals[i], &text))
			fact_add(facts, &count, arena, arena_printf(arena, "server: %s", signals[i]).ptr, buf_str(&text));
	}
	buf_fini(&text);
	return count;
}

static struct str page_verdict(const struct bench *b, const struct bench_run *r, struct arena *arena, enum html_tone *tone)
{
	const struct tally *t = &r->tally;
	char rate[32];

	*tone = HTML_WARNING;
	number_phrase(tally_goodput(t), rate);
	if (r->load.client_bound)
		return *tone = HTML_UNKNOWN, arena_printf(arena, "The client was the bottleneck: %s.", r->load.client_reason);
	if (r->load.interrupted)
		return *tone = HTML_UNKNOWN, arena_printf(arena, "Interrupted: %zu requests until then.", t->judged);
	if (slo_set_is_empty(&b->slo)) {
		*tone = t->failed ? HTML_WARNING : HTML_PLAIN;
		return arena_printf(arena, "%zu of %zu requests completed; no limits were set.", t->complete, t->judged);
	}
	*tone = t->good == t->judged && t->judged ? HTML_GOOD : HTML_WARNING;
	return arena_printf(arena, "%s good requests/s: %zu of %zu meet every limit%s%s.", rate, t->good, t->judged,
		t->binding >= 0 ? "; binding: " : "", t->binding >= 0 ? slo_measure_name((enum slo_measure)t->binding) : "");
}

static bool html_save(const struct bench *b, const struct bench_run *r, struct error *e)
{
	size_t count, *indices = bench_worst(b, r, &count);
	struct run_fact facts[FACTS_MAX];
	struct run_report report = { .records = &r->records, .tally = &r->tally, .slo = &b->slo, .worst = indices, .facts = facts };
	struct arena arena;
	struct tallies groups = { 0 };
	const struct tally_options options = { .slo = &b->slo, .window_s = r->tally.window_s };
	struct buf out;
	char when[40];
	bool ok;

	arena_init(&arena);
	time_format((int64_t)(r->load.start_unix * 1e3), when);
	report.title = arena_printf(&arena, "bench: " STR_FMT, STR_ARG(b->load.model));
	report.subtitle = arena_printf(&arena, "%s, " STR_FMT STR_FMT, when, STR_ARG(b->url), STR_ARG(b->load.path));
	report.verdict = page_verdict(b, r, &arena, &report.tone);
	report.worst_count = count;
	report.fact_count = page_facts(b, r, &arena, facts);
	tallies_by(&groups, &arena, &r->records, TALLY_BY_PROMPT, &options);
	report.groups = groups.items.items;
	report.group_count = groups.items.count;
	buf_init(&out, FILE_MAX);
	run_report_html(&out, &report);
	ok = file_write(b->a->html, buf_str(&out), e);
	buf_fini(&out);
	tallies_fini(&groups);
	arena_fini(&arena);
	mem_free(indices);
	return ok;
}

/* ---- JUnit ---- */

struct cases {
	struct arena arena;
	VEC(struct junit_case) items;
	double attainment; /* that a limit needs */
};

static void case_add(struct cases *c, struct str name, enum junit_result result, struct str message)
{
	VEC_PUSH(&c->items,
		(struct junit_case){
			.name = name, .class_name = STR("goodput.bench"), .seconds = NAN, .result = result, .message = message });
}

static void cases_limits(struct cases *c, const struct bench *b, const struct tally *t)
{
	for (int m = 0; m < SLO_MEASURES; m++) {
		double limit = b->slo.general.limit_ms[m];
		const char *name = slo_measure_name((enum slo_measure)m);
		size_t met = t->complete - t->missed[m];

		if (isnan(limit))
			continue;
		/* With its failures: a request that failed met nothing. */
		case_add(c, arena_printf(&c->arena, "%s:%g", name, limit),
			!t->judged                                         ? JUNIT_SKIPPED
			: (double)met >= c->attainment * (double)t->judged ? JUNIT_PASSED
									   : JUNIT_FAILED,
			arena_printf(&c->arena, "%zu of %zu requests meet %s %g ms, %.4g %% are wanted", met, t->judged, name, limit,
				c->attainment * 100));
	}
}

static void cases_make(struct cases *c, const struct bench *b, const struct bench_run *r)
{
	const struct tally *t = &r->tally;
	size_t wrong = t->failed + t->unsent;

	case_add(c, STR("requests complete"),
		!t->judged ? JUNIT_ERROR
		: wrong    ? JUNIT_FAILED
			   : JUNIT_PASSED,
		arena_printf(&c->arena, "%zu of %zu requests failed or were not sent", wrong, t->judged));
	cases_limits(c, b, t);
	if (b->has_evaluation)
		case_add(c, STR("evaluation"),
			!t->evaluated                         ? JUNIT_SKIPPED
			: t->evaluation_passed < t->evaluated ? JUNIT_FAILED
							      : JUNIT_PASSED,
			arena_printf(&c->arena, "%zu of %zu answers are right", t->evaluation_passed, t->evaluated));
	case_add(c, STR("client keeps up"), r->load.client_bound ? JUNIT_ERROR : JUNIT_PASSED, str_from(r->load.client_reason));
	if (r->load.interrupted)
		case_add(c, STR("run is whole"), JUNIT_ERROR, STR("interrupted"));
}

static bool junit_save(const struct bench *b, const struct bench_run *r, struct error *e)
{
	struct cases c = { 0 };
	struct buf out;
	bool ok;

	number_parse(str_from(b->a->attainment), &c.attainment);
	arena_init(&c.arena);
	buf_init(&out, FILE_MAX);
	cases_make(&c, b, r);
	junit_write(&out, STR("goodput bench"), r->load.start_unix, (double)r->load.last_end_ns / 1e9, c.items.items, c.items.count);
	ok = file_write(b->a->junit, buf_str(&out), e);
	buf_fini(&out);
	VEC_FREE(&c.items);
	arena_fini(&c.arena);
	return ok;
}

/* ---- bodies of the worst and failed requests: made again, since the workload is a pure function ---- */

static void body_line(const struct bench *b, const struct timeline *t, struct workload_request *scratch, struct buf *out)
{
	const struct evaluation_item *item = t->id >= LOAD_EVALUATION_ID ? &b->evaluation.items.items[t->id - LOAD_EVALUATION_ID] : NULL;

	if (!item && !workload_request_make(b->workload, &b->plan, t->id, t->turn, scratch))
		return;
	load_body(&b->load, scratch, item, out);
	buf_add_c(out, '\n');
}

static bool prompts_write(const struct bench *b, const struct bench_run *r, struct error *e)
{
	size_t count, *indices = bench_worst(b, r, &count);
	struct workload_request scratch;
	struct buf out;
	bool ok;

	workload_request_init(&scratch);
	buf_init(&out, FILE_MAX);
	for (size_t i = 0; i < count; i++)
		body_line(b, &r->load.requests.items[indices[i]], &scratch, &out);
	VEC_EACH (&r->load.requests, t)
		if (t->outcome == TIMELINE_ERROR)
			body_line(b, t, &scratch, &out);
	ok = file_write(b->a->prompts_file, buf_str(&out), e);
	buf_fini(&out);
	workload_request_fini(&scratch);
	mem_free(indices);
	return ok;
}

bool bench_files_write(const struct bench *b, const struct bench_run *r, struct error *e)
{
	const struct bench_arguments *a = b->a;

	return (!a->prompts_file || prompts_write(b, r, e)) && (!a->html || html_save(b, r, e)) && (!a->junit || junit_save(b, r, e)) &&
	       (!a->save || summary_save(b, r, e));
}
