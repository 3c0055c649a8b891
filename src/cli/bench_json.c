/* goodput bench --json: one document, goodput.bench/1. */
#include "base/json.h"
#include "cli/bench.h"
#include "cli/tally_render.h"

#include <math.h>

static void limits_write(struct json *j, const struct bench *b)
{
	if (slo_set_is_empty(&b->slo))
		return;
	json_open(j, "limits_ms", '{');
	for (int m = 0; m < SLO_MEASURES; m++)
		json_number(j, slo_measure_name((enum slo_measure)m), b->slo.general.limit_ms[m]);
	json_close(j, '}');
}

static void client_write(struct json *j, const struct load_result *l)
{
	json_open(j, "client", '{');
	json_bool(j, "bottleneck", l->client_bound);
	json_text_if(j, "reason", str_from(l->client_reason));
	json_number(j, "read_lag_p99_ms", l->lag_p99_ms);
	json_number(j, "schedule_delay_p99_ms", l->delay_p99_ms);
	json_number(j, "cpu_share", l->cpu_share);
	json_integer(j, "threads", l->threads);
	json_integer(j, "reads", (int64_t)l->health.reads);
	json_integer(j, "reads_without_stamp", (int64_t)l->health.unstamped);
	json_integer(j, "connections", (int64_t)l->health.opened);
	json_close(j, '}');
}

static void server_write(struct json *j, const struct bench_run *r)
{
	static const struct {
		const char *key, *signal;
		enum tally_figure figure;
	} sides[] = { { "ttft", "ttft_mean", TALLY_TTFT }, { "tpot", "tpot_mean", TALLY_TPOT }, { "e2e", "e2e_mean", TALLY_E2E } };
	const char *trouble = r->server ? server_watch_trouble(r->server) : "not asked";

	json_open(j, "server", '{');
	json_text_if(j, "unknown", str_from(trouble ? trouble : ""));
	for (size_t i = 0; !trouble && i < ARRAY_LEN(sides); i++) {
		double client = tally_mean(&r->tally, sides[i].figure).value, server = server_watch_value(r->server, sides[i].signal) * 1e3;

		json_open(j, sides[i].key, '{');
		json_number(j, "client_mean_ms", client);
		json_number(j, "server_mean_ms", server);
		json_number(j, "outside_ms", client - server);
		json_close(j, '}');
	}
	json_number(j, "queue_mean_ms", trouble ? NAN : server_watch_value(r->server, "queue_mean") * 1e3);
	json_number(j, "preemptions", trouble ? NAN : server_watch_value(r->server, "preemptions"));
	json_close(j, '}');
}

static void evaluation_write(struct json *j, const struct bench *b, const struct tally *t)
{
	if (!b->has_evaluation)
		return;
	struct estimate share = share_estimate(t->evaluation_passed, t->evaluated, 0.95);

	json_open(j, "evaluation", '{');
	json_integer(j, "items", (int64_t)b->evaluation.items.count);
	json_integer(j, "judged", (int64_t)t->evaluated);
	json_integer(j, "passed", (int64_t)t->evaluation_passed);
	estimate_json(j, "pass_rate", &share);
	json_close(j, '}');
}

void bench_json(const struct bench *b, const struct bench_run *r, struct buf *out)
{
	struct json j = { .out = out };
	const struct tally *t = &r->tally;

	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR("goodput.bench/1"));
	json_number(&j, "start", r->load.start_unix);
	json_text(&j, "url", b->url);
	json_text(&j, "endpoint", b->load.path);
	json_text(&j, "model", b->load.model);
	json_text_if(&j, "label", str_from(b->a->label ? b->a->label : ""));
	json_text(&j, "workload", str_from(workload_hash(b->workload)));
	json_integer(&j, "seed", (int64_t)b->plan.seed);
	json_integer(&j, "salt", (int64_t)b->plan.salt);
	json_text(&j, "arrivals", str_from(workload_process_names[b->plan.arrivals.process]));
	if (b->plan.arrivals.process != WORKLOAD_CLOSED && b->plan.arrivals.process != WORKLOAD_TRACE)
		json_number(&j, "rate", b->plan.arrivals.rate);
	if (b->plan.arrivals.concurrency)
		json_integer(&j, "concurrency", b->plan.arrivals.concurrency);
	json_number(&j, "duration_s", (double)r->load.last_end_ns / 1e9);
	json_bool(&j, "partial", r->load.interrupted);
	limits_write(&j, b);
	tally_json(&j, t, b->price);
	json_integer(&j, "cancelled", (int64_t)t->cancelled);
	evaluation_write(&j, b, t);
	server_write(&j, r);
	client_write(&j, &r->load);
	json_close(&j, '}');
	buf_add_c(out, '\n');
}
