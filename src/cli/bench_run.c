/* goodput bench: one measured run. */
#include "cli/bench.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

/* ---- records, written while the run goes on ---- */

struct records_file {
	FILE *file;
	bool failed;
	int error;
};

static void records_put(struct records_file *f, struct str text)
{
	if (!f->file || f->failed)
		return;
	if (fwrite(text.ptr, 1, text.len, f->file) != text.len || fflush(f->file) != 0) {
		f->failed = true;
		f->error = errno;
	}
}

static void records_head(struct records_file *f, const struct records_run *run)
{
	struct buf line;

	buf_init(&line, 1 << 20);
	records_write_run(&line, run);
	records_put(f, buf_str(&line));
	buf_fini(&line);
}

static bool records_open(struct records_file *f, const char *path, struct error *e)
{
	f->file = path ? fopen(path, "we") : NULL;
	if (!path || f->file)
		return true;
	error_set(e, EXIT_BAD_INPUT, "cannot write: %s", strerror(errno));
	error_source(e, str_from(path));
	return false;
}

static void records_close(struct records_file *f, const char *path, struct error *e)
{
	if (!f->file)
		return;
	if (fclose(f->file) != 0 && !f->failed)
		f->failed = true, f->error = errno;
	if (!f->failed)
		return;
	error_set(e, EXIT_INTERNAL, "cannot write: %s", strerror(f->error));
	error_source(e, str_from(path));
}

/* ---- progress ---- */

static void on_progress(void *context, const struct load_progress *p)
{
	char ttft[40] = "", rest[40] = "";

	if (!isnan(p->ttft_mean_ms))
		snprintf(ttft, sizeof ttft, ", TTFT %.0f ms", p->ttft_mean_ms);
	if (p->failed)
		snprintf(rest, sizeof rest, ", %llu failed", (unsigned long long)p->failed);
	log_progress("%3.0f s: %llu sent, %llu on their way, %llu done%s, %.0f tok/s%s", (double)p->elapsed_ns / 1e9,
		(unsigned long long)p->started, (unsigned long long)p->open, (unsigned long long)p->complete, rest, p->token_rate, ttft);
}

struct run_context {
	struct records_file records;
};

static void on_records(void *context, struct str lines)
{
	struct run_context *c = context;

	records_put(&c->records, lines);
}

/* ---- the run's facts ---- */

static void run_metadata(const struct bench *b, struct records_run *run)
{
	for (size_t i = 0; i < b->a->metadata.count; i++) {
		struct str text = str_from(b->a->metadata.items[i]);
		ptrdiff_t at = str_find(text, '=');

		if (at > 0)
			records_fact_add(run, str_head(text, (size_t)at), str_skip(text, (size_t)at + 1));
	}
}

static void run_describe(struct bench *b, struct records_run *run)
{
	const struct workload_arrivals *arrivals = &b->plan.arrivals;

	records_run_init(run);
	run->label = str_from(b->a->label ? b->a->label : "");
	run->target = b->url;
	run->workload = str_from(workload_hash(b->workload));
	run->workload_name = workload_name(b->workload);
	run->rate = arrivals->process == WORKLOAD_CLOSED || arrivals->process == WORKLOAD_TRACE ? NAN : arrivals->rate;
	run->concurrency = arrivals->concurrency ? arrivals->concurrency : TIMELINE_UNKNOWN;
	run->price_per_hour = b->price;
	run->start_unix = (double)clock_now_ms() / 1e3;
	records_fact_add(run, STR("model"), b->load.model);
	records_fact_add(run, STR("endpoint"), b->load.path);
	records_fact_add(run, STR("arrivals"), str_from(workload_process_names[arrivals->process]));
	records_fact_add(run, STR("seed"), arena_printf(&b->arena, "%llu", (unsigned long long)b->plan.seed));
	records_fact_add(run, STR("salt"), arena_printf(&b->arena, "%llu", (unsigned long long)b->plan.salt));
	run_metadata(b, run);
	bench_fingerprint(b, run);
}

static const struct {
	const char *signal, *fact;
} server_facts[] = { { "ttft_mean", "server.ttft_mean_s" }, { "tpot_mean", "server.tpot_mean_s" }, { "e2e_mean", "server.e2e_mean_s" },
	{ "queue_mean", "server.queue_mean_s" }, { "prefix_hit_rate", "server.prefix_hit_rate" }, { "preemptions", "server.preemptions" } };

static void run_server_facts(struct bench *b, const struct bench_run *r, struct records_run *run)
{
	for (size_t i = 0; r->server && i < ARRAY_LEN(server_facts); i++) {
		double value = server_watch_value(r->server, server_facts[i].signal);

		if (!isnan(value))
			records_fact_add(run, str_from(server_facts[i].fact), arena_printf(&b->arena, "%.9g", value));
	}
}

static void run_finish(struct bench *b, struct bench_run *r, struct records_run *run)
{
	const struct load_result *l = &r->load;

	run->start_unix = l->start_unix;
	run->window_start_ns = l->window_start_ns;
	run->window_end_ns = l->window_end_ns;
	run->client_lag_p99_ms = l->lag_p99_ms;
	run->schedule_delay_p99_ms = l->delay_p99_ms;
	run->client_cpu_share = l->cpu_share;
	run->client_bound = l->client_bound;
	run->client_reason = str_from(l->client_reason);
	run->partial = l->interrupted;
	run_server_facts(b, r, run);
}

static void run_judge(struct bench *b, struct bench_run *r)
{
	const struct tally_options o = { .slo = &b->slo, .window_s = NAN };
	double window_s = (double)(r->load.window_end_ns - r->load.window_start_ns) / 1e9;

	tally_init(&r->tally);
	VEC_EACH (&r->load.requests, t)
		tally_add(&r->tally, t, &o);
	tally_finish(&r->tally, window_s > 0 ? window_s : NAN);
}

bool bench_measure(struct bench *b, struct bench_run *r, struct error *e)
{
	struct run_context context = { 0 };
	bool ok;

	*r = (struct bench_run){ .target_rate = b->plan.arrivals.rate };
	if (!records_open(&context.records, b->a->records, e))
		return false;
	if (b->a->scrape && !(r->server = server_watch_start(b, e))) {
		records_close(&context.records, b->a->records, NULL);
		return false;
	}
	records_init(&r->records);
	run_describe(b, &r->records.run);
	records_head(&context.records, &r->records.run);
	b->load.context = &context;
	b->load.on_records = b->a->records ? on_records : NULL;
	b->load.on_progress = b->a->no_progress ? NULL : on_progress;
	ok = load_run(&b->load, &r->load, e);
	log_progress(NULL);
	if (r->server)
		server_watch_stop(r->server);
	if (ok) {
		run_finish(b, r, &r->records.run);
		records_head(&context.records, &r->records.run);
		r->records.requests.items = r->load.requests.items;
		r->records.requests.count = r->load.requests.count;
		run_judge(b, r);
	}
	records_close(&context.records, b->a->records, &r->records_error);
	if (!ok)
		bench_run_fini(r);
	return ok;
}

void bench_run_fini(struct bench_run *r)
{
	tally_fini(&r->tally);
	load_result_fini(&r->load);
	server_watch_free(r->server);
}

/* Failures are shown first and never exit 0: better numbers while failing must be impossible. */
int bench_status(const struct bench *b, const struct bench_run *r)
{
	const struct tally *t = &r->tally;

	if (r->load.interrupted)
		return EXIT_INTERRUPTED;
	if (!t->judged || !t->complete)
		return t->judged ? EXIT_CRITICAL : EXIT_UNKNOWN;
	if (r->load.client_bound)
		return EXIT_UNKNOWN;
	return t->failed || t->unsent ? EXIT_WARNING : EXIT_FINE;
}
