#include "report/summary.h"

#include "base/json.h"

#include <math.h>
#include <time.h>

struct values {
	VEC(double) v;
	double sum;
};

/* What vLLM's tool takes from its requests. */
struct sums {
	struct values ttft, tpot, itl, e2el; /* ms */
	size_t complete, failed, good;
	uint64_t input, output;
	int64_t first_ns, last_ns;
	VEC(uint32_t) chunks, open; /* in each second since first_ns */
	bool inexact;               /* output counted from events */
};

static void value_add(struct values *to, double value)
{
	if (isnan(value))
		return;
	VEC_PUSH(&to->v, value);
	to->sum += value;
}

static int64_t end_of(const struct timeline *t)
{
	return t->completed_ns != TIMELINE_NEVER ? t->completed_ns : t->closed_ns;
}

static bool counts(const struct timeline *t)
{
	return !t->warmup && t->submitted_ns != TIMELINE_NEVER && t->outcome != TIMELINE_CANCELLED && t->outcome != TIMELINE_UNSENT;
}

static void find_span(struct sums *s, const struct records *r)
{
	s->first_ns = INT64_MAX;
	s->last_ns = INT64_MIN;
	VEC_EACH (&r->requests, t) {
		if (!counts(t))
			continue;
		s->first_ns = t->submitted_ns < s->first_ns ? t->submitted_ns : s->first_ns;
		s->last_ns = end_of(t) > s->last_ns ? end_of(t) : s->last_ns;
	}
}

static size_t second_of(const struct sums *s, int64_t t_ns)
{
	return t_ns > s->first_ns ? (size_t)((t_ns - s->first_ns) / 1000000000) : 0;
}

/* As vLLM: by chunk, and by second in which a request was open. */
static void add_seconds(struct sums *s, const struct timeline *t)
{
	struct delivery_cursor cursor = deliveries_begin(&t->deliveries);
	struct delivery d;

	for (size_t i = second_of(s, t->submitted_ns); i <= second_of(s, end_of(t)) && i < s->open.count; i++)
		s->open.items[i]++;
	while (deliveries_next(&cursor, &d))
		if (second_of(s, d.t_ns) < s->chunks.count)
			s->chunks.items[second_of(s, d.t_ns)]++;
}

static void add_gaps(struct sums *s, const struct timeline *t)
{
	struct delivery_cursor cursor = deliveries_begin(&t->deliveries);
	int64_t before = TIMELINE_NEVER;
	struct delivery d;

	for (; deliveries_next(&cursor, &d); before = d.t_ns)
		if (before != TIMELINE_NEVER)
			value_add(&s->itl, (double)(d.t_ns - before) / 1e6);
}

/* vLLM's end of a request is its last chunk with text. */
static double last_output_ms(const struct timeline *t)
{
	int64_t end = t->last_output_ns != TIMELINE_NEVER ? t->last_output_ns : end_of(t);

	return end == TIMELINE_NEVER ? NAN : (double)(end - t->submitted_ns) / 1e6;
}

static void add_request(struct sums *s, const struct timeline *t, const struct slo_set *slo)
{
	if (!counts(t))
		return;
	add_seconds(s, t);
	if (!timeline_is_complete(t)) {
		s->failed++;
		return;
	}
	s->complete++;
	s->input += t->prompt_tokens == TIMELINE_UNKNOWN ? 0 : t->prompt_tokens;
	s->output += t->output_tokens == TIMELINE_UNKNOWN ? 0 : t->output_tokens;
	s->inexact |= t->basis == TOKENS_EVENTS;
	value_add(&s->ttft, timeline_ttft_ms(t));
	value_add(&s->tpot, timeline_tpot_ms(t));
	value_add(&s->e2el, last_output_ms(t));
	add_gaps(s, t);
	s->good += slo && slo_judge(slo_of(slo, t->pool), t).verdict == SLO_GOOD;
}

static void sums_make(struct sums *s, const struct records *r, const struct slo_set *slo)
{
	*s = (struct sums){ 0 };
	find_span(s, r);
	for (size_t i = 0; s->last_ns > s->first_ns && i <= second_of(s, s->last_ns); i++) {
		VEC_PUSH(&s->chunks, 0);
		VEC_PUSH(&s->open, 0);
	}
	VEC_EACH (&r->requests, t)
		add_request(s, t, slo);
	struct values *const all[] = { &s->ttft, &s->tpot, &s->itl, &s->e2el };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		values_sort(all[i]->v.items, all[i]->v.count);
}

static void sums_fini(struct sums *s)
{
	VEC_FREE(&s->ttft.v);
	VEC_FREE(&s->tpot.v);
	VEC_FREE(&s->itl.v);
	VEC_FREE(&s->e2el.v);
	VEC_FREE(&s->chunks);
	VEC_FREE(&s->open);
}

/* ---- writing ---- */

static void number_or_null(struct json *j, const char *key, double value)
{
	if (isfinite(value))
		json_number(j, key, value);
	else
		json_null(j, key);
}

static double most_of(const uint32_t *values, size_t count)
{
	uint32_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

static double deviation(const struct values *v)
{
	double n = (double)v->v.count, mean = v->sum / n, sum = 0;

	VEC_EACH (&v->v, value)
		sum += (*value - mean) * (*value - mean);
	return n ? sqrt(sum / n) : NAN;
}

static void write_metric(struct json *j, const struct values *v, const char *name, const struct summary_options *o)
{
	static const double usual = 99;
	const double *percentiles = o->percentile_count ? o->percentiles : &usual;
	size_t count = o->percentile_count ? o->percentile_count : 1;
	char key[80], digits[32];

	if (str_search(o->metrics, str_from(name)) < 0)
		return;
	snprintf(key, sizeof key, "mean_%s_ms", name);
	number_or_null(j, key, v->v.count ? v->sum / (double)v->v.count : NAN);
	snprintf(key, sizeof key, "median_%s_ms", name);
	number_or_null(j, key, quantile_linear(v->v.items, v->v.count, 0.5));
	snprintf(key, sizeof key, "std_%s_ms", name);
	number_or_null(j, key, deviation(v));
	for (size_t i = 0; i < count; i++) {
		snprintf(digits, sizeof digits, "%.10g", percentiles[i]);
		snprintf(key, sizeof key, "p%s_%s_ms", digits, name);
		number_or_null(j, key, quantile_linear(v->v.items, v->v.count, percentiles[i] / 100));
	}
}

static void write_date(struct json *j, double start_unix)
{
	time_t seconds = isfinite(start_unix) ? (time_t)start_unix : 0;
	char text[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof text, "%Y%m%d-%H%M%S", &tm);
	json_text(j, "date", str_from(text));
}

static void text_or_null(struct json *j, const char *key, struct str text)
{
	if (text.len)
		json_text(j, key, text);
	else
		json_null(j, key);
}

static void write_asked(struct json *j, const struct summary_options *o, size_t requests)
{
	json_text(j, "endpoint_type", o->endpoint_type);
	json_text(j, "backend", o->backend);
	text_or_null(j, "label", o->label);
	json_text(j, "model_id", o->model);
	json_text(j, "tokenizer_id", o->tokenizer.len ? o->tokenizer : o->model);
	json_integer(j, "num_prompts", (int64_t)(o->prompts ? o->prompts : requests));
	for (size_t i = 0; i < o->metadata_count; i++) {
		char key[128];

		snprintf(key, sizeof key, STR_FMT, STR_ARG(str_head(o->metadata[i].name, sizeof key - 1)));
		json_text(j, key, o->metadata[i].value);
	}
	if (isfinite(o->rate))
		json_number(j, "request_rate", o->rate);
	else
		json_text(j, "request_rate", STR("inf"));
	json_number(j, "burstiness", o->burstiness);
	if (o->concurrency)
		json_integer(j, "max_concurrency", o->concurrency);
	else
		json_null(j, "max_concurrency");
	if (o->ramp) {
		json_text(j, "ramp_up_strategy", str_from(o->ramp));
		json_number(j, "ramp_up_start_rps", o->ramp_from);
		json_number(j, "ramp_up_end_rps", o->ramp_to);
	}
}

static void write_totals(struct json *j, const struct sums *s, double seconds, bool judged)
{
	json_number(j, "duration", seconds);
	json_integer(j, "completed", (int64_t)s->complete);
	json_integer(j, "failed", (int64_t)s->failed);
	json_integer(j, "total_input_tokens", (int64_t)s->input);
	json_integer(j, "total_output_tokens", (int64_t)s->output);
	number_or_null(j, "request_throughput", (double)s->complete / seconds);
	number_or_null(j, "request_goodput", judged ? (double)s->good / seconds : NAN);
	number_or_null(j, "output_throughput", (double)s->output / seconds);
	number_or_null(j, "total_token_throughput", (double)(s->input + s->output) / seconds);
	json_number(j, "max_output_tokens_per_s", most_of(s->chunks.items, s->chunks.count));
	json_number(j, "max_concurrent_requests", most_of(s->open.items, s->open.count));
	json_number(j, "rtfx", 0);
}

static void write_ours(struct json *j, const struct records *r, const struct tally *t, const struct sums *s)
{
	json_open(j, "goodput", '{');
	json_text(j, "schema", STR("goodput.summary/1"));
	json_text(j, "ttft",
		STR("to the first visible output; vllm bench serve takes the first chunk with a choice, which may be the role alone"));
	json_bool(j, "tokens_exact", !s->inexact);
	json_number(j, "window", t->window_s);
	json_integer(j, "judged", (int64_t)t->judged);
	json_integer(j, "good", (int64_t)t->good);
	json_number(j, "request_goodput", tally_goodput(t));
	json_number(j, "attainment", tally_attainment(t).value);
	json_number(j, "p99_ttft_due_ms", tally_figure(t, TALLY_TTFT_DUE, 0.99, 0.95).value);
	json_number(j, "p99_e2e_due_ms", tally_figure(t, TALLY_E2E_DUE, 0.99, 0.95).value);
	json_number(j, "p99_schedule_delay_ms", tally_figure(t, TALLY_DELAY, 0.99, 0.95).value);
	json_bool(j, "client_bound", r->run.client_bound);
	json_bool(j, "partial", r->run.partial);
	json_text_if(j, "workload", r->run.workload);
	json_close(j, '}');
}

/* ---- details ---- */

typedef void detail(struct json *j, const struct timeline *t);

static void detail_input(struct json *j, const struct timeline *t)
{
	json_integer(j, NULL, t->prompt_tokens == TIMELINE_UNKNOWN ? 0 : t->prompt_tokens);
}

static void detail_output(struct json *j, const struct timeline *t)
{
	json_integer(j, NULL, timeline_is_complete(t) && t->output_tokens != TIMELINE_UNKNOWN ? t->output_tokens : 0);
}

static void seconds_or_zero(struct json *j, double ms)
{
	json_number(j, NULL, isfinite(ms) ? ms / 1e3 : 0); /* vLLM has zeros where nothing came; "errors" tells */
}

static void detail_ttft(struct json *j, const struct timeline *t)
{
	seconds_or_zero(j, timeline_ttft_ms(t));
}

static void detail_latency(struct json *j, const struct timeline *t)
{
	seconds_or_zero(j, timeline_is_complete(t) ? last_output_ms(t) : NAN);
}

static void detail_start(struct json *j, const struct timeline *t)
{
	json_number(j, NULL, (double)t->submitted_ns / 1e9);
}

static void detail_error(struct json *j, const struct timeline *t)
{
	struct str name = str_from(timeline_error_name(t->error));

	json_text(j, NULL, timeline_is_complete(t) ? STR_EMPTY : *t->message ? str_from(t->message) : name);
}

static void detail_gaps(struct json *j, const struct timeline *t)
{
	struct delivery_cursor cursor = deliveries_begin(&t->deliveries);
	int64_t before = TIMELINE_NEVER;
	struct delivery d;

	json_open(j, NULL, '[');
	for (; deliveries_next(&cursor, &d); before = d.t_ns)
		if (before != TIMELINE_NEVER)
			json_number(j, NULL, (double)(d.t_ns - before) / 1e9);
	json_close(j, ']');
}

static void write_details(struct json *j, const struct records *r)
{
	static const struct {
		const char *key;
		detail *write;
	} lists[] = { { "input_lens", detail_input }, { "output_lens", detail_output }, { "ttfts", detail_ttft }, { "itls", detail_gaps },
		{ "latencies", detail_latency }, { "start_times", detail_start }, { "errors", detail_error } };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		json_open(j, lists[i].key, '[');
		VEC_EACH (&r->requests, t) {
			if (counts(t))
				lists[i].write(j, t);
		}
		json_close(j, ']');
	}
}

void summary_write(
	struct buf *out, const struct records *r, const struct tally *t, const struct slo_set *slo, const struct summary_options *o)
{
	struct json j = { .out = out };
	struct sums s;

	sums_make(&s, r, slo);
	double seconds = s.last_ns > s.first_ns ? (double)(s.last_ns - s.first_ns) / 1e9 : 0;

	json_open(&j, NULL, '{');
	write_date(&j, r->run.start_unix);
	write_asked(&j, o, r->requests.count);
	write_totals(&j, &s, seconds, slo && !slo_set_is_empty(slo));
	write_metric(&j, &s.ttft, "ttft", o);
	write_metric(&j, &s.tpot, "tpot", o);
	write_metric(&j, &s.itl, "itl", o);
	write_metric(&j, &s.e2el, "e2el", o);
	write_ours(&j, r, t, &s);
	if (o->detailed)
		write_details(&j, r);
	json_close(&j, '}');
	sums_fini(&s);
}
