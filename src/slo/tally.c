#include "slo/tally.h"

#include <math.h>
#include <stdlib.h>

enum { HITCH_LEAST_MS = 50 };

void tally_init(struct tally *t)
{
	*t = (struct tally){ .window_s = NAN, .binding = -1 };
}

void tally_fini(struct tally *t)
{
	VEC_FREE(&t->errors);
	for (int f = 0; f < TALLY_FIGURES; f++)
		VEC_FREE(&t->figures[f].v);
}

static void add_value(struct tally *t, enum tally_figure f, double value)
{
	if (isnan(value))
		return;
	VEC_PUSH(&t->figures[f].v, value);
	t->figures[f].sum += value;
}

static void add_error(struct tally *t, const struct timeline *r)
{
	VEC_EACH (&t->errors, e)
		if (e->error == r->error && e->http_status == r->http_status) {
			e->count++;
			return;
		}
	struct tally_error made = { .error = r->error, .http_status = r->http_status, .count = 1, .example_id = r->id };

	memcpy(made.example, r->message, sizeof made.example);
	VEC_PUSH(&t->errors, made);
}

/* Gaps between deliveries: pooled, and those that are too long absolutely or for the stream's own pace. */
static void add_gaps(struct tally *t, const struct timeline *r, double stall_ms, double hitch_factor)
{
	struct delivery_cursor cursor = deliveries_begin(&r->deliveries);
	size_t first = t->figures[TALLY_GAP].v.count, stalls = 0, hitches = 0;
	VEC(double) own = { 0 };
	int64_t before = TIMELINE_NEVER;
	struct delivery d;

	for (; deliveries_next(&cursor, &d); before = d.t_ns) {
		if (r->notes & TIMELINE_DELIVERY_TOKENS)
			add_value(t, TALLY_TOKENS_PER_EVENT, d.tokens);
		if (before == TIMELINE_NEVER)
			continue;
		double gap = (double)(d.t_ns - before) / 1e6;

		add_value(t, TALLY_GAP, gap);
		VEC_PUSH(&own, gap);
	}
	values_sort(own.items, own.count);
	double median = quantile_linear(own.items, own.count, 0.5);

	for (size_t i = first; i < t->figures[TALLY_GAP].v.count; i++) {
		double gap = t->figures[TALLY_GAP].v.items[i];

		stalls += gap > stall_ms;
		hitches += gap > HITCH_LEAST_MS && gap > hitch_factor * median;
	}
	if (own.count)
		add_value(t, TALLY_MAX_GAP, own.items[own.count - 1]);
	t->stalls += stalls;
	t->stalled_requests += stalls > 0;
	t->hitches += hitches;
	t->hitched_requests += hitches > 0;
	VEC_FREE(&own);
}

static void add_tokens(struct tally *t, const struct timeline *r)
{
	t->basis[r->basis]++;
	if (r->prompt_tokens != TIMELINE_UNKNOWN) {
		t->prompt_told++;
		t->prompt_tokens += r->prompt_tokens;
		add_value(t, TALLY_PROMPT_TOKENS, r->prompt_tokens);
	}
	if (r->output_tokens != TIMELINE_UNKNOWN) {
		t->output_told++;
		t->output_tokens += r->output_tokens;
		add_value(t, TALLY_OUTPUT_TOKENS, r->output_tokens);
	}
	if (r->cached_tokens != TIMELINE_UNKNOWN) {
		t->cached_told++;
		t->cached_tokens += r->cached_tokens;
	}
}

static void add_complete(struct tally *t, const struct timeline *r, const struct tally_options *o)
{
	t->complete++;
	add_value(t, TALLY_TTFT, timeline_ttft_ms(r));
	add_value(t, TALLY_TTFT_CONTENT, timeline_content_ttft_ms(r));
	add_value(t, TALLY_TPOT, timeline_tpot_ms(r));
	add_value(t, TALLY_TPOT_AFTER_FIRST, timeline_tpot_after_first_ms(r));
	add_value(t, TALLY_E2E, timeline_e2e_ms(r));
	if (r->intended_ns != TIMELINE_NEVER) { /* in a closed loop nothing is due */
		add_value(t, TALLY_TTFT_DUE, timeline_ttft_due_ms(r));
		add_value(t, TALLY_E2E_DUE, timeline_e2e_due_ms(r));
	}
	add_value(t, TALLY_TTFT_LAST, timeline_ttft_last_ms(r));
	add_value(t, TALLY_E2E_LAST, timeline_e2e_last_ms(r));
	add_value(t, TALLY_TAIL, timeline_tail_ms(r));
	add_gaps(t, r, o->stall_ms > 0 ? o->stall_ms : 500, o->hitch_factor > 0 ? o->hitch_factor : 10);
	add_tokens(t, r);
	t->single_delivery += timeline_is_single_delivery(r);
	t->no_usage += (r->notes & TIMELINE_NO_USAGE) != 0;
	t->missing_done += (r->notes & TIMELINE_MISSING_DONE) != 0;
	t->several_models += (r->notes & TIMELINE_SEVERAL_MODELS) != 0;
	t->not_streamed += (r->notes & TIMELINE_NOT_STREAMED) != 0;
	t->ended_by_length += strcmp(r->finish, "length") == 0 || strcmp(r->finish, "incomplete") == 0;
	if (r->evaluation >= 0) {
		t->evaluated++;
		t->evaluation_passed += r->evaluation > 0;
	}
}

static void add_judgement(struct tally *t, const struct slo_judgement *j)
{
	t->good += j->verdict == SLO_GOOD;
	t->tpot_undefined += j->tpot_undefined;
	for (int m = 0; m < SLO_MEASURES; m++)
		t->missed[m] += j->missed >> m & 1;
	if (j->binding >= 0)
		t->bound[j->binding]++;
}

void tally_add(struct tally *t, const struct timeline *r, const struct tally_options *o)
{
	static const struct slo none = { { NAN, NAN, NAN, NAN } };
	struct slo_judgement j = slo_judge(o->slo ? slo_of(o->slo, r->pool) : &none, r);

	t->total++;
	t->attempts += r->outcome == TIMELINE_UNSENT ? 0 : r->attempts;
	t->retried += r->attempts > 1;
	if (j.verdict == SLO_LEFT_OUT) {
		t->left_out++;
		t->cancelled += r->outcome == TIMELINE_CANCELLED && !r->warmup;
		return;
	}
	t->judged++;
	add_value(t, TALLY_DELAY, timeline_schedule_delay_ms(r));
	if (r->outcome == TIMELINE_UNSENT)
		t->unsent++;
	if (r->outcome == TIMELINE_ERROR) {
		t->failed++;
		add_error(t, r);
		if (r->output_tokens != TIMELINE_UNKNOWN)
			t->partial_tokens += r->output_tokens;
	}
	if (timeline_is_complete(r))
		add_complete(t, r, o);
	add_judgement(t, &j);
}

static int more_errors(const void *a, const void *b)
{
	const struct tally_error *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : (int)x->error - (int)y->error;
}

static void values_drop(struct tally_values *values)
{
	values->v.count = 0;
	values->sum = 0;
}

void tally_finish(struct tally *t, double window_s)
{
	size_t most = 0;

	t->window_s = window_s;
	if (!t->retried) { /* they say what the others say */
		values_drop(&t->figures[TALLY_TTFT_LAST]);
		values_drop(&t->figures[TALLY_E2E_LAST]);
	}
	for (int f = 0; f < TALLY_FIGURES; f++)
		values_sort(t->figures[f].v.items, t->figures[f].v.count);
	for (int m = 0; m < SLO_MEASURES; m++)
		if (t->missed[m] > most) {
			most = t->missed[m];
			t->binding = m;
		}
	if (t->errors.count)
		qsort(t->errors.items, t->errors.count, sizeof *t->errors.items, more_errors);
}

static int64_t due_of(const struct timeline *r)
{
	return r->intended_ns != TIMELINE_NEVER ? r->intended_ns : r->submitted_ns;
}

double records_window_s(const struct records *r)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	if (r->run.window_start_ns != TIMELINE_NEVER && r->run.window_end_ns != TIMELINE_NEVER)
		return (double)(r->run.window_end_ns - r->run.window_start_ns) / 1e9;
	VEC_EACH (&r->requests, t) {
		int64_t end = t->completed_ns > t->closed_ns ? t->completed_ns : t->closed_ns;

		if (t->warmup || due_of(t) == TIMELINE_NEVER)
			continue;
		first = due_of(t) < first ? due_of(t) : first;
		last = end > last ? end : last;
	}
	return last > first ? (double)(last - first) / 1e9 : NAN;
}

void tally_records(struct tally *t, const struct records *r, const struct tally_options *o)
{
	VEC_EACH (&r->requests, request)
		tally_add(t, request, o);
	tally_finish(t, isnan(o->window_s) ? records_window_s(r) : o->window_s);
}
