#include "load/internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "slo/quantile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EPOCH_AHEAD_NS = 50000000, PROGRESS_NS = 250000000, LOOK_NS = 50000000, PROBE_TOKENS = 8 };
#define CLIENT_DELAY_MS 10.0
#define CLIENT_CPU_SHARE 0.9
enum { CLIENT_SAMPLES = 100, CLIENT_CPU_NS = 1000000000 }; /* and from so many, or so long, on */

int64_t load_now(const struct load *l)
{
	return clock_monotonic_ns() - l->epoch_ns;
}

/* ---- what starts next ---- */

/* How far the run is, 0 to 1, as the evaluation's items are spread over it. */
static double load_part_done(const struct load *l, int64_t now_ns)
{
	const struct load_options *o = l->options;
	int64_t at = l->is_open_loop ? l->last_due_ns : now_ns;

	if (o->plan->requests)
		return (double)l->starts / (double)o->plan->requests;
	return o->duration_ns ? (double)at / (double)o->duration_ns : 1;
}

static bool job_of_evaluation(struct load *l, int64_t now_ns, bool rest, struct job *job)
{
	const struct evaluation_set *set = l->options->evaluation;

	if (!set || l->evaluation_next == set->items.count)
		return false;
	if (!rest && load_part_done(l, now_ns) < ((double)l->evaluation_next + 0.5) / (double)set->items.count)
		return false;
	*job = (struct job){ .item = &set->items.items[l->evaluation_next++], .due_ns = l->last_due_ns };
	return true;
}

static bool job_of_workload(struct load *l, int64_t now_ns, struct job *job)
{
	uint64_t due;

	if (l->time_over || (!l->is_open_loop && now_ns >= l->starts_end_ns))
		return false;
	if (!workload_next_start(l->cursor, &job->number, &due)) {
		l->plan_over = true;
		return job_of_evaluation(l, now_ns, true, job);
	}
	l->time_over = (int64_t)due >= l->starts_end_ns;
	if (l->time_over)
		return false;
	job->due_ns = l->last_due_ns = (int64_t)due;
	job->item = NULL;
	l->starts++;
	return true;
}

bool load_next_job(struct load *l, int64_t now_ns, struct job *job)
{
	bool found;

	uv_mutex_lock(&l->mutex);
	found = job_of_evaluation(l, now_ns, false, job) || job_of_workload(l, now_ns, job);
	uv_mutex_unlock(&l->mutex);
	return found;
}

bool load_plan_over(struct load *l)
{
	bool over;

	uv_mutex_lock(&l->mutex);
	over = l->plan_over;
	uv_mutex_unlock(&l->mutex);
	return over;
}

/* ---- running ---- */

struct seen {
	int64_t at_ns;
	uint64_t first_outputs, first_output_us, output_tokens;
};

static void progress_tell(const struct load *l, struct seen *seen)
{
	struct load_progress p = { .elapsed_ns = load_now(l) };
	struct seen now = { .at_ns = p.elapsed_ns };
	double seconds = (double)(now.at_ns - seen->at_ns) / 1e9;

	for (unsigned i = 0; i < l->worker_count; i++) {
		struct worker_counts *c = &l->workers[i].counts;

		p.started += c->started;
		p.complete += c->complete;
		p.failed += c->failed;
		p.open += c->open;
		now.output_tokens += c->output_tokens;
		now.first_outputs += c->first_outputs;
		now.first_output_us += c->first_output_us;
	}
	p.output_tokens = now.output_tokens;
	p.token_rate = seconds > 0 ? (double)(now.output_tokens - seen->output_tokens) / seconds : 0;
	p.ttft_mean_ms = now.first_outputs > seen->first_outputs ? (double)(now.first_output_us - seen->first_output_us) /
									   (double)(now.first_outputs - seen->first_outputs) / 1e3
								 : NAN;
	*seen = now;
	l->options->on_progress(l->options->context, &p);
}

static void workers_stop(struct load *l)
{
	atomic_store(&l->stopping, true);
	for (unsigned i = 0; i < l->worker_count; i++)
		uv_async_send(&l->workers[i].wake);
}

/* The mutex is held. */
static void workers_wait(struct load *l)
{
	struct seen seen = { 0 };
	bool stopped = false;

	while (l->running) {
		uv_mutex_unlock(&l->mutex);
		if (l->options->on_progress && load_now(l) - seen.at_ns >= PROGRESS_NS)
			progress_tell(l, &seen);
		if (!stopped && l->options->stop && *l->options->stop) {
			stopped = true;
			workers_stop(l);
		}
		uv_mutex_lock(&l->mutex);
		if (l->running)
			uv_cond_timedwait(&l->ended, &l->mutex, LOOK_NS);
	}
}

/* False: a thread could not be made; those that were have ended. */
static bool workers_run(struct load *l, struct error *e)
{
	unsigned started = 0;

	l->epoch_ns = clock_monotonic_ns() + EPOCH_AHEAD_NS;
	l->running = l->worker_count;
	while (started < l->worker_count && worker_start(&l->workers[started], e))
		started++;
	if (started < l->worker_count)
		workers_stop(l);
	uv_mutex_lock(&l->mutex);
	l->running -= l->worker_count - started;
	workers_wait(l);
	uv_mutex_unlock(&l->mutex);
	for (unsigned i = 0; i < started; i++)
		uv_thread_join(&l->workers[i].thread);
	return started == l->worker_count;
}

static unsigned workers_wanted(const struct load_options *o)
{
	unsigned count = o->threads ? o->threads : uv_available_parallelism();
	uint32_t limit = o->plan->arrivals.concurrency;

	if (limit && limit < count)
		count = limit; /* a worker without a place would wait for ever */
	return count ? count : 1;
}

static bool load_init(struct load *l, const struct load_options *o, unsigned worker_count, struct error *e)
{
	*l = (struct load){ .options = o, .worker_count = worker_count, .is_open_loop = o->plan->arrivals.process != WORKLOAD_CLOSED };
	l->starts_end_ns = o->duration_ns ? o->duration_ns : INT64_MAX;
	uv_mutex_init(&l->mutex);
	uv_mutex_init(&l->writing);
	uv_cond_init(&l->ended);
	l->cursor = workload_cursor_new(o->workload, o->plan);
	l->workers = mem_zalloc(worker_count, sizeof *l->workers);
	for (unsigned i = 0; i < worker_count; i++)
		if (!worker_init(&l->workers[i], l, i, e)) {
			l->worker_count = i;
			return false;
		}
	return true;
}

static void load_fini(struct load *l)
{
	for (unsigned i = 0; i < l->worker_count; i++)
		worker_fini(&l->workers[i]);
	workload_cursor_free(l->cursor);
	mem_free(l->workers);
	uv_cond_destroy(&l->ended);
	uv_mutex_destroy(&l->mutex);
	uv_mutex_destroy(&l->writing);
}

/* ---- the result ---- */

static int64_t timeline_order(const struct timeline *t)
{
	return t->intended_ns != TIMELINE_NEVER ? t->intended_ns : t->submitted_ns;
}

static int by_time(const void *left, const void *right)
{
	const struct timeline *a = left, *b = right;
	int64_t x = timeline_order(a), y = timeline_order(b);

	return x != y ? (x < y ? -1 : 1) : (a->id > b->id) - (a->id < b->id);
}

static void result_take(struct load_result *r, struct worker *w)
{
	VEC_EACH (&w->done, t) {
		t->request_id = arena_str(&r->arena, t->request_id);
		if (t->closed_ns != TIMELINE_NEVER && t->closed_ns > r->last_end_ns)
			r->last_end_ns = t->closed_ns;
		VEC_PUSH(&r->requests, *t);
	}
	stream_health_add(&r->health, &w->health);
	if (w->cpu_share > r->cpu_share)
		r->cpu_share = w->cpu_share;
}

static double delay_p99_ms(const struct load_result *r)
{
	double *delays = mem_zalloc(r->requests.count + 1, sizeof *delays), p99;
	size_t count = 0;

	VEC_EACH (&r->requests, t)
		if (t->intended_ns != TIMELINE_NEVER && t->submitted_ns != TIMELINE_NEVER && !t->turn)
			delays[count++] = timeline_schedule_delay_ms(t);
	values_sort(delays, count);
	p99 = quantile_linear(delays, count, 0.99);
	mem_free(delays);
	return p99;
}

static void client_blame(struct load_result *r, const struct load *l)
{
	uint64_t local = 0;

	for (unsigned i = 0; i < l->worker_count; i++)
		local += l->workers[i].local_failures;
	r->client_bound = true;
	if (local)
		snprintf(r->client_reason, sizeof r->client_reason, "this machine had no sockets or ports left for %llu requests",
			(unsigned long long)local);
	else if (r->cpu_share > CLIENT_CPU_SHARE && r->last_end_ns > CLIENT_CPU_NS)
		snprintf(r->client_reason, sizeof r->client_reason, "a thread of the client was busy for %.0f %% of the time",
			r->cpu_share * 100);
	else if (r->delay_p99_ms > CLIENT_DELAY_MS && l->starts >= CLIENT_SAMPLES && !l->options->plan->arrivals.concurrency)
		snprintf(
			r->client_reason, sizeof r->client_reason, "1 request in 100 left %.0f ms or more after its time", r->delay_p99_ms);
	else if (r->lag_p99_ms > CLIENT_LAG_MS && r->health.reads >= CLIENT_SAMPLES)
		snprintf(r->client_reason, sizeof r->client_reason, "1 read in 100 came %.0f ms or more after the data", r->lag_p99_ms);
	else
		r->client_bound = false;
}

/* The time in which requests started: as told, but no longer than there were any to send. */
static int64_t window_end(const struct load_result *r, const struct load *l)
{
	int64_t told = l->options->duration_ns - l->options->cooldown_ns;

	if (!l->options->duration_ns)
		return r->last_end_ns;
	return (r->interrupted || l->plan_over) && r->last_end_ns < told ? r->last_end_ns : told;
}

static void result_fill(struct load_result *r, const struct load *l)
{
	const struct load_options *o = l->options;

	for (unsigned i = 0; i < l->worker_count; i++)
		result_take(r, &l->workers[i]);
	if (r->requests.count)
		qsort(r->requests.items, r->requests.count, sizeof *r->requests.items, by_time);
	r->threads = l->worker_count;
	r->interrupted = atomic_load(&l->stopping);
	r->window_start_ns = o->warmup_ns;
	r->window_end_ns = window_end(r, l);
	if (o->warmup_starts) /* the window begins with the first start that counts */
		VEC_EACH (&r->requests, t)
			if (!t->warmup && t->id < LOAD_EVALUATION_ID) {
				r->window_start_ns = timeline_order(t);
				break;
			}
	if (r->window_end_ns < r->window_start_ns)
		r->window_end_ns = r->window_start_ns;
	r->evaluation_unsent = o->evaluation ? o->evaluation->items.count - l->evaluation_next : 0;
	r->lag_p99_ms = (double)stream_lag_quantile(&r->health, 0.99) / 1e6;
	r->delay_p99_ms = l->is_open_loop ? delay_p99_ms(r) : NAN;
	client_blame(r, l);
}

bool load_run(const struct load_options *o, struct load_result *r, struct error *e)
{
	struct load l;
	bool ok = load_init(&l, o, workers_wanted(o), e);

	*r = (struct load_result){ 0 };
	arena_init(&r->arena);
	if (ok) {
		r->start_unix = (double)(clock_now_ms() + EPOCH_AHEAD_NS / 1000000) / 1e3;
		ok = workers_run(&l, e);
		result_fill(r, &l);
	}
	load_fini(&l);
	return ok;
}

void load_result_fini(struct load_result *r)
{
	VEC_EACH (&r->requests, t)
		timeline_fini(t);
	VEC_FREE(&r->requests);
	arena_fini(&r->arena);
}

/* ---- a probe ---- */

/* A call of a few tokens that leaves at the epoch, as all calls do: its times and the run's are of one beginning. */
static void probe_hold(struct worker *w, const struct load_options *o)
{
	struct call *call = worker_call(w);

	call_prepare(call, 0, 0, NULL, TIMELINE_NEVER);
	call->more = false;
	if (w->scratch.output_tokens > PROBE_TOKENS)
		w->scratch.output_tokens = PROBE_TOKENS;
	buf_reset(&call->body);
	load_body(o, &w->scratch, NULL, &call->body);
	call->due_ns = 0;
	w->over = true;
	w->held_starts++;
	worker_hold(w, call);
}

static void probe_take(struct worker *w, struct timeline *timeline)
{
	timeline_fini(timeline);
	timeline_init(timeline);
	if (w->done.count)
		*timeline = w->done.items[0];
	if (!w->done.count || timeline->outcome == TIMELINE_UNSENT) /* Ctrl-C before it left */
		timeline->outcome = TIMELINE_CANCELLED;
	timeline->request_id = STR_EMPTY; /* its text goes with the worker */
}

bool load_probe(const struct load_options *options, struct timeline *timeline, struct error *e)
{
	struct workload_plan plan = *options->plan;
	struct load_options o = *options;
	struct load l;
	bool ok;

	plan.salt ^= 0x70726f6265; /* a text of its own: the run's first prompt must not be in a prefix cache */
	plan.arrivals = (struct workload_arrivals){ .process = WORKLOAD_CLOSED, .concurrency = 1 };
	o.plan = &plan;
	o.evaluation = NULL;
	o.on_records = NULL;
	o.on_progress = NULL;
	o.retries = 0;
	o.grace_ns = -1; /* a run's end is none of a probe's: its time-outs are */
	o.duration_ns = o.warmup_ns = 0;
	ok = load_init(&l, &o, 1, e);
	if (ok) {
		probe_hold(l.workers, &o);
		ok = workers_run(&l, e);
		probe_take(l.workers, timeline);
	}
	load_fini(&l);
	return ok;
}
