/* goodput bench --sweep: the highest rate that holds the limits.
 *
 * Rates double until one does not hold, then the gap is halved (geometrically) until it is narrower than a tenth. A rate holds when the
 * share of due requests that were good reaches --attainment; failures and requests cut off at the end count as not good, so an overloaded
 * server cannot hide behind the requests that it did not finish. */
#include "cli/bench.h"
#include "cli/tally_render.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { RUNS_MAX = 40 };
#define NARROW 1.1

struct sweep_step {
	double rate, offered, good_rate, attainment;
	double low; /* lower end of the attainment's interval */
	size_t judged, failed;
	double ttft_p99_ms, tpot_p99_ms, e2e_p99_ms, prompt_tokens, output_tokens;
	size_t engines;
	int binding;
	bool holds, client_bound, has_lost;
};

struct sweep {
	struct bench *b;
	double from, to, attainment;
	struct sweep_step steps[RUNS_MAX];
	size_t count;
	uint64_t salt;
};

/* ---- runs ---- */

static bool range_read(const char *rates, double *from, double *to, struct error *e)
{
	struct str text = str_from(rates);
	ptrdiff_t dots = str_search(text, STR(".."));

	if (dots < 0 || !number_parse(str_head(text, (size_t)dots), from) || !number_parse(str_skip(text, (size_t)dots + 2), to) ||
		!(*from >= 1e-3) || !(*to > *from) || *to > 1e6)
		return error_set(e, EXIT_USAGE, "--sweep-rates is FROM..TO in requests/s, such as 1..64, not \"%s\"", rates);
	return true;
}

bool bench_sweep_check(const struct bench *b, struct error *e)
{
	const struct bench_arguments *a = b->a;
	double from, to;

	if (slo_set_is_empty(&b->slo)) {
		error_set(e, EXIT_USAGE, "a sweep looks for the rate that holds limits, and there are none");
		error_hint(e, "--goodput ttft:500 tpot:50");
		return false;
	}
	if (!a->duration_ms) {
		error_set(e, EXIT_USAGE, "a sweep needs --duration: how long each rate is held");
		error_hint(e, "long enough for a queue to build up: --duration 60s");
		return false;
	}
	if (a->rate || a->ramp != RAMP_NONE || b->plan.arrivals.process == WORKLOAD_TRACE)
		return error_set(e, EXIT_USAGE, "a sweep chooses the rates itself: no --request-rate, ramp or trace times");
	return range_read(a->sweep_rates, &from, &to, e);
}

static void step_fill(struct sweep_step *step, const struct bench *b, const struct bench_run *r, double attainment)
{
	const struct tally *t = &r->tally;
	/* What was cut off at the end of a run that lasts as long as asked was not good. */
	size_t due = t->judged + t->cancelled;
	struct estimate share = share_estimate(t->good, due, 0.95);

	step->offered = t->window_s > 0 ? (double)due / t->window_s : NAN;
	step->good_rate = tally_goodput(t);
	step->attainment = due ? share.value : NAN;
	step->low = share.low;
	step->judged = due;
	step->failed = t->failed;
	step->ttft_p99_ms = tally_figure(t, TALLY_TTFT_DUE, 0.99, 0.95).value;
	step->tpot_p99_ms = tally_figure(t, TALLY_TPOT, 0.99, 0.95).value;
	step->e2e_p99_ms = tally_figure(t, TALLY_E2E_DUE, 0.99, 0.95).value;
	step->prompt_tokens = tally_mean(t, TALLY_PROMPT_TOKENS).value;
	step->output_tokens = tally_mean(t, TALLY_OUTPUT_TOKENS).value;
	step->engines = r->server ? server_watch_targets(r->server) : 1;
	step->binding = t->binding;
	step->client_bound = r->load.client_bound;
	step->holds = due && share.value >= attainment;
}

static void step_tell(const struct sweep_step *step)
{
	char number[4][32];

	number_phrase(step->rate, number[0]);
	number_phrase(step->attainment * 100, number[1]);
	number_phrase(step->ttft_p99_ms, number[2]);
	number_phrase(step->tpot_p99_ms, number[3]);
	log_note("%s/s: %s %% good of %zu, TTFT P99 %s ms, TPOT P99 %s ms: %s", number[0], number[1], step->judged, number[2], number[3],
		step->holds ? "holds" : "does not hold");
}

/* A run at a rate. False: stop (interrupted or failed); the step is not kept. */
static bool sweep_run(struct sweep *s, double rate, struct error *e)
{
	struct sweep_step *step = &s->steps[s->count];
	struct bench_run run;

	s->b->plan.arrivals.rate = rate;
	s->b->plan.arrivals.ramp_seconds = 0;
	s->b->plan.salt = s->salt + s->count; /* no run finds the last one's prompts in the cache */
	if (!workload_plan_check(s->b->workload, &s->b->plan, e) || !bench_measure(s->b, &run, e))
		return false;
	*step = (struct sweep_step){ .rate = rate };
	step_fill(step, s->b, &run, s->attainment);
	if (run.load.interrupted)
		error_set(e, EXIT_INTERRUPTED, "interrupted");
	else
		s->count++;
	if (!run.load.interrupted && !s->b->a->no_progress)
		step_tell(step);
	bench_run_fini(&run);
	return !e->set;
}

static double highest_held(const struct sweep *s)
{
	double best = NAN;

	for (size_t i = 0; i < s->count; i++)
		if (s->steps[i].holds && (isnan(best) || s->steps[i].rate > best))
			best = s->steps[i].rate;
	return best;
}

static double lowest_lost(const struct sweep *s)
{
	double worst = NAN;

	for (size_t i = 0; i < s->count; i++)
		if (!s->steps[i].holds && (isnan(worst) || s->steps[i].rate < worst))
			worst = s->steps[i].rate;
	return worst;
}

/* Up until one does not hold, then between. */
static bool sweep_search(struct sweep *s, struct error *e)
{
	while (s->count < RUNS_MAX) {
		double held = highest_held(s), lost = lowest_lost(s), next;

		if (!s->count)
			next = s->from;
		else if (isnan(held) || s->steps[s->count - 1].client_bound)
			return true; /* not even the lowest, or the client is at its end */
		else if (isnan(lost))
			next = fmin(held * 2, s->to);
		else if (lost / held > NARROW && held < lost)
			next = sqrt(held * lost);
		else
			return true;
		if (next == held)
			return true; /* the end of the range holds */
		if (!sweep_run(s, next, e))
			return false;
	}
	return true;
}

/* ---- what it says ---- */

static const struct sweep_step *step_of(const struct sweep *s, double rate)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->steps[i].rate == rate)
			return &s->steps[i];
	return NULL;
}

static void step_row(struct page *p, const struct sweep_step *step)
{
	const double values[] = { step->rate, step->good_rate, step->attainment * 100, step->ttft_p99_ms, step->tpot_p99_ms,
		step->e2e_p99_ms };
	enum style style = step->holds ? STYLE_PLAIN : STYLE_WARNING;
	char number[ARRAY_LEN(values)][32];

	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		number_phrase(values[i], number[i]);
	page_print(p, style, "%10s%10s%10s%9zu%12s%12s%12s  %s%s", number[0], number[1], number[2], step->failed, number[3], number[4],
		number[5],
		step->holds          ? "holds"
		: step->binding >= 0 ? slo_measure_name((enum slo_measure)step->binding)
				     : "",
		step->client_bound ? " CLIENT" : "");
	page_line(p);
}

static void knee_phrase(const struct sweep *s, struct buf *out)
{
	double held = highest_held(s), lost = lowest_lost(s);
	char most[32], least[32], from[32];

	number_phrase(held, most);
	number_phrase(lost, least);
	number_phrase(s->from, from);
	if (isnan(held))
		buf_printf(out, "not even %s requests/s hold the limits", from);
	else if (isnan(lost))
		buf_printf(out, "%s requests/s hold the limits, the most that was tried", most);
	else
		buf_printf(out, "%s requests/s hold the limits with %.1f %% good (95 %%: from %.1f); %s do not", most,
			step_of(s, held)->attainment * 100, step_of(s, held)->low * 100, least);
}

static void sweep_page(struct page *p, const struct sweep *s)
{
	struct buf text;

	page_print(p, STYLE_BOLD, "%10s%10s%10s%9s%12s%12s%12s", "rate/s", "good/s", "good %", "failed", "TTFT P99", "TPOT P99", "E2E P99");
	page_line(p);
	for (size_t i = 0; i < s->count; i++)
		step_row(p, &s->steps[i]);
	page_gap(p);
	buf_init(&text, 65536);
	knee_phrase(s, &text);
	page_field(p, "knee", isnan(highest_held(s)) ? STYLE_CRITICAL : STYLE_FINE, 12, buf_str(&text));
	buf_fini(&text);
}

static void sweep_json(const struct sweep *s, struct buf *out)
{
	struct json j = { .out = out };

	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR("goodput.sweep/1"));
	json_text(&j, "url", s->b->url);
	json_text(&j, "workload", str_from(workload_hash(s->b->workload)));
	json_number(&j, "attainment", s->attainment);
	json_number(&j, "holds", highest_held(s));
	json_number(&j, "does_not_hold", lowest_lost(s));
	json_open(&j, "steps", '[');
	for (size_t i = 0; i < s->count; i++) {
		const struct sweep_step *step = &s->steps[i];

		json_open(&j, NULL, '{');
		json_number(&j, "rate", step->rate);
		json_number(&j, "good_per_s", step->good_rate);
		json_number(&j, "attainment", step->attainment);
		json_number(&j, "attainment_low", step->low);
		json_integer(&j, "due", (int64_t)step->judged);
		json_integer(&j, "failed", (int64_t)step->failed);
		json_number(&j, "ttft_p99_ms", step->ttft_p99_ms);
		json_number(&j, "tpot_p99_ms", step->tpot_p99_ms);
		json_number(&j, "e2e_p99_ms", step->e2e_p99_ms);
		json_bool(&j, "holds", step->holds);
		json_bool(&j, "client_bottleneck", step->client_bound);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	buf_add_c(out, '\n');
}

static bool thresholds_save(const struct sweep *s, struct error *e)
{
	double held = highest_held(s);
	const struct sweep_step *step = step_of(s, held);
	struct bench_knee knee;

	if (!s->b->a->thresholds)
		return true;
	if (!step || isnan(step->prompt_tokens) || isnan(step->output_tokens))
		return error_set(e, EXIT_UNKNOWN, "no thresholds: %s",
			step ? "the server does not tell how long prompts and answers are" : "no rate held the limits");
	if (step->client_bound)
		return error_set(e, EXIT_UNKNOWN, "no thresholds: at the highest rate that held the client was the bottleneck");
	knee = (struct bench_knee){ held, step->engines, step->prompt_tokens, step->output_tokens, step->ttft_p99_ms, step->tpot_p99_ms,
		step->e2e_p99_ms };
	if (!bench_thresholds_write(s->b, &knee, e))
		return false;
	log_note("thresholds in %s: goodput check --catalog %s ...", s->b->a->thresholds, s->b->a->thresholds);
	return true;
}

int bench_sweep(struct bench *b)
{
	struct sweep s = { .b = b, .salt = b->plan.salt };
	struct error e = { 0 };
	struct page page;
	int status;
	bool ok;

	range_read(b->a->sweep_rates, &s.from, &s.to, NULL); /* both were checked with the others */
	number_parse(str_from(b->a->attainment), &s.attainment);
	ok = sweep_search(&s, &e);
	if (!s.count)
		return command_failed(&e);
	page_init(&page, (enum color_when)b->a->global.color);
	if (b->a->global.json)
		sweep_json(&s, &page.out);
	else
		sweep_page(&page, &s);
	status = !ok                                 ? command_failed(&e)
		 : isnan(highest_held(&s))           ? EXIT_CRITICAL
		 : s.steps[s.count - 1].client_bound ? EXIT_UNKNOWN
						     : EXIT_FINE;
	status = b->a->global.json ? page_output_document(&page, status) : page_output(&page, status);
	page_fini(&page);
	if (ok && !thresholds_save(&s, &e))
		status = command_failed(&e);
	return status;
}
