/* Results of `vllm bench serve --save-result --save-detailed`: one JSON object with parallel lists, in seconds.
 *
 * Its definitions stay what they are: a TTFT may be the role chunk's, a gap may hold several tokens, and an answer ends with its last chunk
 * that has choices. A failed request has a text in `errors`; one without choices is called a success there (TTFT 0, no tokens) and is empty
 * here. */
#include "base/json_read.h"
#include "model/records.h"

#include <math.h>

struct numbers {
	VEC(double) v;
};

struct result {
	struct json_reader json;
	struct buf scratch;
	struct arena *arena;
	struct numbers starts, ttfts, input_lens, output_lens;
	struct numbers gaps;  /* all lists of itls one behind the other */
	VEC(size_t) gap_ends; /* where each ends */
	VEC(struct str) errors;
	double duration_s, rate, concurrency;
	struct str model;
};

static void read_numbers(struct json_reader *r, struct numbers *to)
{
	double value;

	if (json_read_array(r))
		while (json_read_item(r) && json_read_double(r, &value))
			VEC_PUSH(&to->v, value);
}

static void read_gaps(struct result *v)
{
	if (!json_read_array(&v->json))
		return;
	while (json_read_item(&v->json)) {
		read_numbers(&v->json, &v->gaps);
		VEC_PUSH(&v->gap_ends, v->gaps.v.count);
	}
}

static struct str read_text(struct result *v)
{
	struct str raw;

	if (!json_read_string(&v->json, &raw, NULL))
		return STR_EMPTY;
	buf_reset(&v->scratch);
	json_unescape(raw, &v->scratch);
	return arena_str(v->arena, buf_str(&v->scratch));
}

static void read_errors(struct result *v)
{
	if (!json_read_array(&v->json))
		return;
	while (json_read_item(&v->json)) {
		struct str text = STR_EMPTY;

		if (!json_read_null(&v->json))
			text = read_text(v);
		VEC_PUSH(&v->errors, text);
	}
}

/* A number, or nothing ("inf", null). */
static void read_number(struct result *v, double *value)
{
	if (json_read_peek(&v->json) == JSON_KIND_NUMBER)
		json_read_double(&v->json, value);
	else
		json_read_skip(&v->json);
}

static void read_member(struct result *v, struct str key)
{
	if (str_is(key, "start_times"))
		read_numbers(&v->json, &v->starts);
	else if (str_is(key, "ttfts"))
		read_numbers(&v->json, &v->ttfts);
	else if (str_is(key, "input_lens"))
		read_numbers(&v->json, &v->input_lens);
	else if (str_is(key, "output_lens"))
		read_numbers(&v->json, &v->output_lens);
	else if (str_is(key, "itls"))
		read_gaps(v);
	else if (str_is(key, "errors"))
		read_errors(v);
	else if (str_is(key, "duration"))
		read_number(v, &v->duration_s);
	else if (str_is(key, "request_rate"))
		read_number(v, &v->rate);
	else if (str_is(key, "max_concurrency"))
		read_number(v, &v->concurrency);
	else if (str_is(key, "model_id") && json_read_peek(&v->json) == JSON_KIND_STRING)
		v->model = read_text(v);
	else
		json_read_skip(&v->json);
}

static bool is_count(double value)
{
	return value >= 0 && value < TIMELINE_UNKNOWN && value == floor(value);
}

static int64_t ns_of(double seconds)
{
	return llround(seconds * 1e9);
}

static void set_deliveries(const struct result *v, size_t i, struct timeline *t)
{
	double at = (double)t->first_output_ns;

	deliveries_reset(&t->deliveries, t->submitted_ns);
	deliveries_add(&t->deliveries, t->first_output_ns, 0);
	for (size_t k = i ? v->gap_ends.items[i - 1] : 0; k < v->gap_ends.items[i]; k++) {
		at += v->gaps.v.items[k] > 0 ? v->gaps.v.items[k] * 1e9 : 0;
		deliveries_add(&t->deliveries, llround(at), 0);
	}
	t->last_output_ns = t->completed_ns = t->closed_ns = llround(at);
}

static void set_request(const struct result *v, size_t i, double origin, struct timeline *t)
{
	bool failed = v->errors.count && v->errors.items[i].len;

	timeline_init(t);
	t->id = i;
	t->submitted_ns = v->starts.v.count ? ns_of(v->starts.v.items[i] - origin) : 0;
	t->prompt_tokens = (uint32_t)v->input_lens.v.items[i];
	t->model = v->model;
	if (failed || (v->ttfts.v.items[i] <= 0 && v->output_lens.v.items[i] == 0)) {
		t->outcome = TIMELINE_ERROR;
		t->error = failed ? TIMELINE_OTHER : TIMELINE_EMPTY;
		timeline_set_message(t, failed ? v->errors.items[i] : STR_EMPTY);
		return;
	}
	t->output_tokens = (uint32_t)v->output_lens.v.items[i];
	t->basis = TOKENS_ELSEWHERE;
	t->first_output_ns = t->submitted_ns + ns_of(v->ttfts.v.items[i]);
	set_deliveries(v, i, t);
}

/* One entry a request in every list that there is. */
static bool check_lists(const struct result *v, struct str source, struct error *e)
{
	size_t n = v->ttfts.v.count;

	if (!n || v->input_lens.v.count != n || v->output_lens.v.count != n || v->gap_ends.count != n ||
		(v->starts.v.count && v->starts.v.count != n) || (v->errors.count && v->errors.count != n)) {
		error_set(e, EXIT_BAD_INPUT, "no detailed result: input_lens, output_lens, ttfts and itls must be lists of one length");
		error_hint(e, "vllm bench serve writes them with --save-result --save-detailed");
		error_source(e, source);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		if (is_count(v->input_lens.v.items[i]) && is_count(v->output_lens.v.items[i]) && v->ttfts.v.items[i] >= 0 &&
			v->ttfts.v.items[i] < 1e6)
			continue;
		error_set(e, EXIT_BAD_INPUT, "entry %zu of input_lens, output_lens or ttfts is not what it should be", i);
		error_source(e, source);
		return false;
	}
	return true;
}

static void take_requests(const struct result *v, struct records *r)
{
	double origin = v->starts.v.count ? v->starts.v.items[0] : 0;

	VEC_EACH (&v->starts.v, start)
		origin = *start < origin ? *start : origin;
	for (size_t i = 0; i < v->ttfts.v.count; i++) {
		struct timeline t;

		set_request(v, i, origin, &t);
		VEC_PUSH(&r->requests, t);
	}
	r->run.rate = v->rate;
	if (v->concurrency >= 1 && is_count(v->concurrency))
		r->run.concurrency = (uint32_t)v->concurrency;
	if (v->duration_s > 0 && v->duration_s < 1e8) {
		r->run.window_start_ns = 0;
		r->run.window_end_ns = ns_of(v->duration_s);
	}
	records_fact_add(&r->run, STR("measured by"), STR("vllm bench serve"));
	if (v->model.len)
		records_fact_add(&r->run, STR("model"), v->model);
}

bool records_read_vllm(struct records *r, struct arena *arena, struct str source, struct str text, struct error *e)
{
	struct result v = { .arena = arena, .duration_s = NAN, .rate = NAN, .concurrency = NAN };
	struct str key;
	bool ok;

	buf_init(&v.scratch, text.len + 1);
	json_reader_init(&v.json, text);
	if (json_read_object(&v.json))
		while (json_read_member(&v.json, &key))
			read_member(&v, key);
	ok = json_read_end(&v.json);
	if (!ok)
		error_at(e, source, text, (size_t)((v.json.bad ? v.json.bad : text.ptr) - text.ptr), "%s",
			v.json.why ? v.json.why : "no JSON");
	ok = ok && check_lists(&v, source, e);
	if (ok)
		take_requests(&v, r);
	VEC_FREE(&v.starts.v);
	VEC_FREE(&v.ttfts.v);
	VEC_FREE(&v.input_lens.v);
	VEC_FREE(&v.output_lens.v);
	VEC_FREE(&v.gaps.v);
	VEC_FREE(&v.gap_ends);
	VEC_FREE(&v.errors);
	buf_fini(&v.scratch);
	return ok;
}
