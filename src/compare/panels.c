/* The panels: what is compared, and how the difference of two estimates is told. */
#include "base/number.h"
#include "compare/internal.h"

#include <math.h>

enum value {
	VALUE_TTFT, /* from the intended time where there is one */
	VALUE_TPOT,
	VALUE_E2E,
	VALUE_MAX_GAP,
	VALUE_OUTPUT_TOKENS,
	VALUE_PROMPT_TOKENS,
	VALUE_TOKENS_PER_EVENT,
	VALUE_GOOD,   /* share of judged */
	VALUE_ERROR,  /* share of judged */
	VALUE_LENGTH, /* share of completed */
	VALUE_EVALUATED,
	VALUE_GOOD_COUNT, /* rates: 1 for each */
	VALUE_COMPLETE_COUNT,
	VALUE_OUTPUT_COUNT,
	VALUE_DUE_COUNT,
	VALUE_PREEMPTIONS
};

const struct compare_spec compare_specs[] = {
	{ "ttft_p50", "TTFT P50", "ms", COMPARE_QUANTILE, VALUE_TTFT, 0.5, -1 },
	{ "ttft_p90", "TTFT P90", "ms", COMPARE_QUANTILE, VALUE_TTFT, 0.9, -1 },
	{ "ttft_p99", "TTFT P99", "ms", COMPARE_QUANTILE, VALUE_TTFT, 0.99, -1 },
	{ "ttft_mean", "TTFT mean", "ms", COMPARE_MEAN, VALUE_TTFT, 0, -1 },
	{ "tpot_p50", "TPOT P50", "ms", COMPARE_QUANTILE, VALUE_TPOT, 0.5, -1 },
	{ "tpot_p99", "TPOT P99", "ms", COMPARE_QUANTILE, VALUE_TPOT, 0.99, -1 },
	{ "tpot_mean", "TPOT mean", "ms", COMPARE_MEAN, VALUE_TPOT, 0, -1 },
	{ "max_gap_p50", "longest gap P50", "ms", COMPARE_QUANTILE, VALUE_MAX_GAP, 0.5, -1 },
	{ "max_gap_p99", "longest gap P99", "ms", COMPARE_QUANTILE, VALUE_MAX_GAP, 0.99, -1 },
	{ "e2e_p50", "E2E P50", "ms", COMPARE_QUANTILE, VALUE_E2E, 0.5, -1 },
	{ "e2e_p99", "E2E P99", "ms", COMPARE_QUANTILE, VALUE_E2E, 0.99, -1 },
	{ "goodput", "goodput", "share", COMPARE_SHARE, VALUE_GOOD, 0, 1 },
	{ "goodput_rps", "good requests", "1/s", COMPARE_RATE, VALUE_GOOD_COUNT, 0, 1 },
	{ "throughput_rps", "completed requests", "1/s", COMPARE_RATE, VALUE_COMPLETE_COUNT, 0, 1 },
	{ "output_tokens_per_s", "output tokens", "1/s", COMPARE_RATE, VALUE_OUTPUT_COUNT, 0, 1 },
	{ "offered_rps", "due requests", "1/s", COMPARE_RATE, VALUE_DUE_COUNT, 0, 0 },
	{ "error_share", "errors", "share", COMPARE_SHARE, VALUE_ERROR, 0, -1 },
	{ "length_share", "ended by length", "share", COMPARE_SHARE, VALUE_LENGTH, 0, -1 },
	{ "evaluation", "evaluation passed", "share", COMPARE_SHARE, VALUE_EVALUATED, 0, 1 },
	{ "preemptions", "preemptions per 1,000", "1", COMPARE_COUNT, VALUE_PREEMPTIONS, 0, -1 },
	{ "prompt_tokens_mean", "prompt length", "tokens", COMPARE_MEAN, VALUE_PROMPT_TOKENS, 0, 0 },
	{ "output_tokens_mean", "output length", "tokens", COMPARE_MEAN, VALUE_OUTPUT_TOKENS, 0, 0 },
	{ "tokens_per_event", "tokens of an event", "tokens", COMPARE_MEAN, VALUE_TOKENS_PER_EVENT, 0, 0 },
	{ 0 },
};

const struct compare_spec *compare_spec_find(struct str id)
{
	for (const struct compare_spec *s = compare_specs; s->id; s++)
		if (str_is(id, s->id))
			return s;
	return NULL;
}

const struct compare_panel *compare_panel(const struct compare_result *r, const char *id)
{
	for (size_t i = 0; i < r->panel_count; i++)
		if (strcmp(r->panels[i].spec->id, id) == 0)
			return &r->panels[i];
	return NULL;
}

/* ---- one request ---- */

static double longest_gap_ms(const struct timeline *t)
{
	struct delivery_cursor cursor = deliveries_begin(&t->deliveries);
	int64_t before = TIMELINE_NEVER, longest = -1;
	struct delivery d;

	for (; deliveries_next(&cursor, &d); before = d.t_ns)
		if (before != TIMELINE_NEVER && d.t_ns - before > longest)
			longest = d.t_ns - before;
	return longest < 0 ? NAN : (double)longest / 1e6;
}

static double count_or_unknown(uint32_t count)
{
	return count == TIMELINE_UNKNOWN ? NAN : count;
}

static double tokens_per_event(const struct timeline *t)
{
	if (!t->deliveries.count || t->output_tokens == TIMELINE_UNKNOWN || t->basis == TOKENS_EVENTS)
		return NAN;
	return (double)t->output_tokens / t->deliveries.count;
}

static double complete_value(enum value value, const struct timeline *t)
{
	switch (value) {
	case VALUE_TTFT: return timeline_ttft_due_ms(t);
	case VALUE_TPOT: return timeline_tpot_ms(t);
	case VALUE_E2E: return timeline_e2e_due_ms(t);
	case VALUE_MAX_GAP: return longest_gap_ms(t);
	case VALUE_OUTPUT_COUNT:
	case VALUE_OUTPUT_TOKENS: return count_or_unknown(t->output_tokens);
	case VALUE_PROMPT_TOKENS: return count_or_unknown(t->prompt_tokens);
	case VALUE_TOKENS_PER_EVENT: return tokens_per_event(t);
	case VALUE_LENGTH: return t->finish[0] ? strcmp(t->finish, "length") == 0 || strcmp(t->finish, "incomplete") == 0 : NAN;
	case VALUE_EVALUATED: return t->evaluation < 0 ? NAN : t->evaluation;
	case VALUE_COMPLETE_COUNT: return 1;
	default: return NAN;
	}
}

double compare_value(int value, const struct timeline *t, const struct slo_set *slo)
{
	bool judged = slo && !slo_set_is_empty(slo);

	switch ((enum value)value) {
	case VALUE_ERROR: return t->outcome == TIMELINE_ERROR || t->outcome == TIMELINE_UNSENT;
	case VALUE_DUE_COUNT: return 1;
	case VALUE_GOOD: return judged ? slo_judge(slo_of(slo, t->pool), t).verdict == SLO_GOOD : NAN;
	case VALUE_GOOD_COUNT: return judged && slo_judge(slo_of(slo, t->pool), t).verdict == SLO_GOOD ? 1 : NAN;
	default: return timeline_is_complete(t) ? complete_value((enum value)value, t) : NAN;
	}
}

/* ---- the difference ---- */

/* The root of two squares less what both have in common; NaN when one is. */
static double reach(double x, double y, double correlation)
{
	double square = x * x + y * y - 2 * correlation * x * y;

	return square < 0 ? 0 : sqrt(square);
}

/* MOVER: b - a from both intervals, with what is common to matched blocks taken off. Ends NaN where a side has none. */
static struct estimate difference(const struct estimate *a, const struct estimate *b, double correlation)
{
	struct estimate d = { b->value - a->value, NAN, NAN, a->count < b->count ? a->count : b->count };
	double down_b = b->value - b->low, up_a = a->high - a->value, up_b = b->high - b->value, down_a = a->value - a->low;

	d.low = d.value - reach(down_b, up_a, correlation);
	d.high = d.value + reach(up_b, down_a, correlation);
	return d;
}

static struct estimate logarithm(const struct estimate *e)
{
	return (struct estimate){ log(e->value), e->low > 0 ? log(e->low) : NAN, log(e->high), e->count };
}

static struct estimate relative_change(const struct estimate *a, const struct estimate *b, double correlation)
{
	if (!(a->value > 0) || !(b->value > 0))
		return (struct estimate){ NAN, NAN, NAN, a->count };
	struct estimate x = logarithm(a), y = logarithm(b), d = difference(&x, &y, correlation);

	return (struct estimate){ expm1(d.value), expm1(d.low), expm1(d.high), d.count };
}

/* `log_error`: of the logarithm of the ratio; not used for shares. */
static void set_change(struct compare_panel *p, double confidence, double log_error)
{
	double z = normal_quantile((1 + confidence) / 2), value = log(p->b.value / p->a.value), reach = z * log_error;

	if (p->spec->kind == COMPARE_SHARE) {
		p->change = difference(&p->a, &p->b, p->correlation);
		p->error = (p->change.high - p->change.low) / (2 * z);
		return;
	}
	p->change = (struct estimate){ expm1(value), expm1(value - reach), expm1(value + reach), p->a.count };
	p->error = log_error;
	if (!(p->a.value > 0) || !(p->b.value > 0)) /* no ratio */
		p->change = (struct estimate){ NAN, NAN, NAN, p->a.count };
}

static double log_error(const struct compare_panel *p, struct sample *a, struct sample *b, bool matched, double confidence)
{
	switch (p->spec->kind) {
	case COMPARE_QUANTILE: return sample_quantile_error(a, b, p->spec->q, matched, confidence);
	case COMPARE_MEAN:
		return sample_ratio_error(a, b, p->a.value * (double)a->v.count, p->b.value * (double)b->v.count, matched, confidence);
	case COMPARE_RATE: return sample_ratio_error(a, b, p->a.value * a->seconds, p->b.value * b->seconds, matched, confidence);
	case COMPARE_SHARE:
	case COMPARE_COUNT: break;
	}
	return NAN;
}

void panel_set_change(struct compare_panel *p, double confidence)
{
	p->change = p->spec->kind == COMPARE_SHARE ? difference(&p->a, &p->b, 0) : relative_change(&p->a, &p->b, 0);
	p->error = (p->change.high - p->change.low) / (2 * normal_quantile((1 + confidence) / 2));
}

/* A fact that counts, summed over the runs that tell it. */
struct counted {
	double events, requests;
};

static bool count_fact(const struct compare_side *side, const char *fact, struct counted *c)
{
	double value;

	*c = (struct counted){ 0 };
	if (side->label_name.len)
		return false; /* the server counted for everybody: which part is the label's, nobody knows */
	for (size_t i = 0; i < side->run_count; i++) {
		if (!number_parse(records_fact(&side->runs[i]->run, fact), &value))
			return false;
		c->events += value;
		VEC_EACH (&side->runs[i]->requests, t)
			c->requests += side_takes(side, t) && timeline_is_complete(t);
	}
	return c->requests > 0;
}

static struct estimate count_estimate(const struct counted *c)
{
	return (struct estimate){ c->events * 1000 / c->requests, NAN, NAN, (size_t)c->requests };
}

void panel_set_counts(struct compare_panel *p, double events_a, double requests_a, double events_b, double requests_b, double confidence)
{
	enum { BURSTS = 4 };
	double value = log((events_b + 0.5) / requests_b) - log((events_a + 0.5) / requests_a);
	double reach = normal_quantile((1 + confidence) / 2);

	p->error = sqrt(BURSTS / (events_a + 0.5) + BURSTS / (events_b + 0.5));
	p->change = (struct estimate){ 0, NAN, NAN, p->a.count };
	if (events_a > 0 || events_b > 0)
		p->change = (struct estimate){ expm1(value), expm1(value - reach * p->error), expm1(value + reach * p->error), p->a.count };
}

static bool make_from_facts(struct compare_panel *p, const struct panel_input *in, const char *fact, double confidence)
{
	struct counted a, b;

	if (!count_fact(in->a, fact, &a) || !count_fact(in->b, fact, &b))
		return false;
	p->a = count_estimate(&a);
	p->b = count_estimate(&b);
	panel_set_counts(p, a.events, a.requests, b.events, b.requests, confidence);
	return true;
}

static bool make_from_samples(struct compare_panel *p, const struct panel_input *in, struct sample *a, struct sample *b, double confidence)
{
	const struct compare_spec *spec = p->spec;

	sample_take(a, in->a, in->blocks_a, spec->value, in->slo);
	sample_take(b, in->b, in->blocks_b, spec->value, in->slo);
	if (!a->v.count || !b->v.count)
		return false;
	p->a = sample_estimate(a, spec, confidence, &p->effective_a);
	p->b = sample_estimate(b, spec, confidence, &p->effective_b);
	p->correlation = in->matched ? sample_correlation(a, b) : 0;
	set_change(p, confidence, log_error(p, a, b, in->matched, confidence));
	return true;
}

bool panel_make(struct compare_panel *p, const struct panel_input *in, const struct compare_spec *spec, double confidence)
{
	*p = (struct compare_panel){ .spec = spec };
	if (spec->kind == COMPARE_COUNT)
		return make_from_facts(p, in, "server.preemptions", confidence);
	struct sample a, b;

	sample_init(&a);
	sample_init(&b);
	bool made = make_from_samples(p, in, &a, &b, confidence);

	sample_fini(&a);
	sample_fini(&b);
	return made;
}
