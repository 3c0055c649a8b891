/* Workloads: the file and its errors, arrivals against closed forms, requests that are the same everywhere. */
#include "base/sha256.h"
#include "unit.h"
#include "workload/content.h"
#include "workload/random.h"

#include <math.h>
#include <stdlib.h>

#define HEAD "goodput_workload: 1\n"

static struct workload *parsed(const char *text)
{
	struct error e = { 0 };
	struct workload *w = workload_parse(STR("w.yaml"), str_from(text), &e);

	if (!w)
		error_print(&e, stderr);
	assert_non_null(w);
	return w;
}

/* ---- random numbers ---- */

static void test_ln_and_exp(void **state)
{
	struct rng r = { 7 };

	for (int i = 0; i < 200000; i++) {
		double x = (rng_unit(&r) + 1e-9) * (i % 3 ? 1 : 1e6), y = (rng_unit(&r) - 0.5) * 100;

		assert_true(fabs(random_ln(x) - log(x)) <= 4e-16 * fabs(log(x)) + 1e-16);
		assert_true(fabs(random_exp(y) / exp(y) - 1) < 1e-14);
	}
	assert_true(random_ln(1) == 0);
	assert_true(random_exp(0) == 1);
	assert_true(random_exp(-1e4) == 0);
}

/* Mean and variance of many draws against what they must be, within five standard errors. */
static void check_moments(double sum, double squares, size_t n, double mean, double variance, double kurtosis)
{
	double got = sum / (double)n, spread = squares / (double)n - got * got;

	assert_true(fabs(got - mean) < 5 * sqrt(variance / (double)n));
	assert_true(fabs(spread / variance - 1) < 5 * sqrt((kurtosis - 1) / (double)n));
}

static void test_moments(void **state)
{
	static const double shapes[] = { 0.1, 0.5, 1, 2.5, 100 };
	struct rng r = { 11 };
	size_t n = 400000;

	for (size_t k = 0; k < ARRAY_LEN(shapes); k++) {
		double sum = 0, squares = 0;

		for (size_t i = 0; i < n; i++) {
			double x = random_gamma(&r, shapes[k]);

			assert_true(x >= 0 && isfinite(x));
			sum += x;
			squares += x * x;
		}
		check_moments(sum, squares, n, 1, 1 / shapes[k], 3 + 6 / shapes[k]);
	}
	double sum = 0, squares = 0, logs = 0;

	for (size_t i = 0; i < n; i++) {
		double x = random_normal(&r);

		sum += x;
		squares += x * x;
		logs += random_lognormal(&r, 800, 0.5);
	}
	check_moments(sum, squares, n, 0, 1, 3);
	assert_true(fabs(logs / (double)n - 800) < 5 * 400 / sqrt((double)n));
}

static void test_permutation(void **state)
{
	static const uint64_t counts[] = { 1, 2, 3, 5, 64, 1000, 19366 };

	for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
		uint8_t *seen = mem_zalloc(counts[k], 1);
		size_t fixed = 0;

		for (uint64_t i = 0; i < counts[k]; i++) {
			uint64_t at = random_permute(42, i, counts[k]);

			assert_true(at < counts[k] && !seen[at]);
			seen[at] = 1;
			fixed += at == i;
		}
		assert_true(counts[k] < 64 || fixed < 10);
		mem_free(seen);
	}
}

/* ---- arrivals ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Kolmogorov's distance between sorted values and a distribution function. */
static double distance(const double *values, size_t n, double (*cdf)(double))
{
	double worst = 0;

	for (size_t i = 0; i < n; i++) {
		double at = cdf(values[i]);

		worst = fmax(worst, fmax(fabs(at - (double)i / (double)n), fabs(at - (double)(i + 1) / (double)n)));
	}
	return worst;
}

static double exponential_cdf(double x)
{
	return 1 - exp(-x);
}

static double gamma2_cdf(double x) /* shape 2, mean 1 */
{
	return 1 - (1 + 2 * x) * exp(-2 * x);
}

static double gamma_half_cdf(double x) /* shape 1/2, mean 1: chi-square of one degree */
{
	return erf(sqrt(x / 2));
}

static const char *const plain = HEAD "arrivals: {process: poisson, rate: 5}\nmix: [{prompt: 100, output: 10}]\n";

static double *gaps_of(const struct workload *w, const struct workload_plan *plan, size_t n)
{
	struct workload_cursor *c = workload_cursor_new(w, plan);
	double *gaps = mem_zalloc(n, sizeof *gaps);
	uint64_t number, due, before = 0;

	for (size_t i = 0; i < n; i++) {
		assert_true(workload_next_start(c, &number, &due));
		assert_int_equal(number, i);
		gaps[i] = (double)(due - before) * 1e-9;
		before = due;
	}
	workload_cursor_free(c);
	return gaps;
}

static void check_intervals(enum workload_process process, double burstiness, double (*cdf)(double))
{
	struct workload *w = parsed(plain);
	struct workload_plan plan;
	size_t n = 20000;

	workload_plan_default(w, &plan);
	plan.arrivals.process = process;
	plan.arrivals.burstiness = burstiness;
	for (plan.seed = 0; plan.seed < 5; plan.seed++) {
		double *gaps = gaps_of(w, &plan, n);

		for (size_t i = 0; i < n; i++)
			gaps[i] *= 5;
		qsort(gaps, n, sizeof *gaps, by_value);
		assert_true(distance(gaps, n, cdf) < 1.95 / sqrt((double)n)); /* 0.1 % a seed */
		mem_free(gaps);
	}
	workload_free(w);
}

static void test_intervals(void **state)
{
	check_intervals(WORKLOAD_POISSON, 1, exponential_cdf);
	check_intervals(WORKLOAD_GAMMA, 1, exponential_cdf);
	check_intervals(WORKLOAD_GAMMA, 2, gamma2_cdf);
	check_intervals(WORKLOAD_GAMMA, 0.5, gamma_half_cdf);
}

/* The number of Poisson arrivals in windows: variance = mean. */
static void test_counts(void **state)
{
	struct workload *w = parsed(plain);
	struct workload_plan plan;
	double count[4000] = { 0 }, sum = 0, squares = 0;
	uint64_t number, due;

	workload_plan_default(w, &plan);
	struct workload_cursor *c = workload_cursor_new(w, &plan);

	while (workload_next_start(c, &number, &due) && due < UINT64_C(4000) * 1000000000)
		count[due / 1000000000]++;
	for (size_t i = 0; i < ARRAY_LEN(count); i++) {
		sum += count[i];
		squares += count[i] * count[i];
	}
	check_moments(sum, squares, ARRAY_LEN(count), 5, 5, 3.2);
	workload_cursor_free(c);
	workload_free(w);
}

static void check_ramp(bool exponential)
{
	struct workload *w = parsed(plain);
	struct workload_plan plan;
	uint64_t number, due, counted = 0;

	workload_plan_default(w, &plan);
	plan.arrivals = (struct workload_arrivals){
		.process = WORKLOAD_CONSTANT, .rate = 20, .ramp_from = 2, .ramp_seconds = 100, .ramp_exponential = exponential
	};
	plan.requests = 5000;
	struct workload_cursor *c = workload_cursor_new(w, &plan);

	while (workload_next_start(c, &number, &due)) {
		double t = (double)due * 1e-9, expected = exponential ? 100 / log(10) * 2 * (pow(10, fmin(t, 100) / 100) - 1)
								      : 2 * fmin(t, 100) + 18 * fmin(t, 100) * fmin(t, 100) / 200;

		expected += t > 100 ? 20 * (t - 100) : 0;
		assert_true(fabs(expected - (double)number) < 1e-5);
		counted++;
	}
	assert_int_equal(counted, 5000);
	workload_cursor_free(c);
	workload_free(w);
}

static void test_ramps(void **state)
{
	check_ramp(false);
	check_ramp(true);
}

static void test_constant(void **state)
{
	struct workload *w = parsed(HEAD "requests: 4\narrivals: {process: constant, rate: 4}\nmix: [{prompt: 3, output: 1}]\n");
	struct workload_plan plan;
	uint64_t number, due;

	workload_plan_default(w, &plan);
	struct workload_cursor *c = workload_cursor_new(w, &plan);

	for (uint64_t i = 0; i < 4; i++) {
		assert_true(workload_next_start(c, &number, &due));
		assert_int_equal(due, i * 250000000);
	}
	assert_false(workload_next_start(c, &number, &due));
	workload_cursor_free(c);
	workload_free(w);
}

static void test_trace_times(void **state)
{
	struct workload *w = parsed(
		HEAD "arrivals: {process: trace}\nrows:\n  order: shuffled\n  data: |\n    0 10 1\n    52000 20 2\n    98189 30 3\n");
	static const uint64_t due_us[] = { 0, 52000, 98189, 147284, 199284 };
	struct workload_request r;
	struct workload_plan plan;

	workload_request_init(&r);
	workload_plan_default(w, &plan);
	struct workload_cursor *c = workload_cursor_new(w, &plan);

	for (uint32_t i = 0; i < 3; i++) {
		assert_true(workload_next(c, &r));
		assert_int_equal(r.due_ns / 1000, due_us[i]);
		assert_int_equal(r.prompt_tokens, 10 * (i + 1)); /* times of the rows: never shuffled */
	}
	assert_false(workload_next(c, &r));
	workload_cursor_free(c);
	plan.requests = 5;
	plan.arrivals.speed = 2;
	c = workload_cursor_new(w, &plan);
	for (uint32_t i = 0; i < 5; i++) {
		assert_true(workload_next(c, &r));
		assert_true(llabs((long long)(r.due_ns - due_us[i] * 500)) <= 1000);
	}
	workload_cursor_free(c);
	workload_request_fini(&r);
	workload_free(w);
}

/* ---- requests ---- */

static const char *const mixed = HEAD "seed: 3\n"
				      "requests: 400\n"
				      "arrivals: {process: gamma, rate: 10, burstiness: 0.7}\n"
				      "sampling: {top_p: 0.9, temperature: 0.5, stop: [\"\\n\\n\"], ignore_eos: true}\n"
				      "mix:\n"
				      "  - {name: chat, share: 3, prompt: {mean: 400, cv: 0.8}, output: [20, 300]}\n"
				      "  - {name: code, share: 1, prompt: {buckets: [[1000, 1], [2000, 3]]}, output: 40}\n"
				      "prefix: {groups: 4, tokens: 128}\n"
				      "sessions: {turns: [1, 3], pause: 2.5}\n";

static void add_request(const struct workload_request *r, struct buf *out)
{
	buf_printf(out, "%llu %u %llu %u %u\n", (unsigned long long)r->number, r->turn, (unsigned long long)r->due_ns, r->prompt_tokens,
		r->output_tokens);
	for (uint32_t i = 0; i < r->message_count; i++) {
		workload_text(r, i, out);
		buf_add_c(out, '\n');
	}
}

static void requests_text(const struct workload *w, const struct workload_plan *plan, struct buf *out)
{
	struct workload_cursor *c = workload_cursor_new(w, plan);
	struct workload_request r;

	workload_request_init(&r);
	while (workload_next(c, &r)) {
		add_request(&r, out);
		for (uint32_t turn = 1; r.more; turn++) {
			assert_true(workload_request_make(w, plan, r.number, turn, &r));
			add_request(&r, out);
		}
	}
	workload_request_fini(&r);
	workload_cursor_free(c);
}

/* The bytes themselves: a change here is a change of the format, and makes every hash ever frozen mean something else. */
static void test_same_bytes_everywhere(void **state)
{
	struct workload *w = parsed(mixed);
	struct workload_plan plan;
	struct buf first, again;
	char digest[SHA256_TEXT];

	buf_init(&first, 1 << 28);
	buf_init(&again, 1 << 28);
	workload_plan_default(w, &plan);
	requests_text(w, &plan, &first);
	sha256_text(first.ptr, first.len, digest);
	assert_string_equal(digest, "524e6fa9ac5b318373385240f8c49b774a5888a68951e1ec779c3342e3281e1e");
	requests_text(w, &plan, &again);
	assert_true(str_eq(buf_str(&first), buf_str(&again)));
	buf_reset(&again);
	plan.salt = 99;
	requests_text(w, &plan, &again);
	assert_int_equal(again.len, first.len); /* the same lengths and times, other words */
	assert_false(str_eq(buf_str(&first), buf_str(&again)));
	buf_fini(&first);
	buf_fini(&again);
	workload_free(w);
}

static void test_request_anatomy(void **state)
{
	struct workload *w = parsed(mixed);
	struct workload_request r, next;
	struct workload_plan plan;
	struct buf text, earlier;
	uint32_t turns = 0;

	workload_request_init(&r);
	workload_request_init(&next);
	buf_init(&text, 1 << 20);
	buf_init(&earlier, 1 << 20);
	workload_plan_default(w, &plan);
	for (uint64_t number = 0; number < 100; number++) {
		assert_true(workload_request_make(w, &plan, number, 0, &r));
		assert_int_equal(r.message_count, 1);
		assert_int_equal(r.messages[0].tokens, r.prompt_tokens);
		buf_reset(&text);
		workload_text(&r, 0, &text);
		assert_int_equal(text.len, 4 * (size_t)r.prompt_tokens - 1);
		if (!r.more) {
			assert_false(workload_request_make(w, &plan, number, 1, &next));
			continue;
		}
		turns++;
		assert_int_equal(r.pause_ns, 2500000000);
		assert_true(workload_request_make(w, &plan, number, 1, &next));
		assert_int_equal(next.message_count, 3);
		assert_int_equal(next.messages[1].role, WORKLOAD_ASSISTANT);
		assert_int_equal(next.messages[1].tokens, r.output_tokens);
		assert_int_equal(next.prompt_tokens, r.prompt_tokens + r.output_tokens + next.messages[2].tokens);
		buf_reset(&earlier);
		workload_text(&next, 0, &earlier);
		assert_true(str_eq(buf_str(&text), buf_str(&earlier)));
	}
	assert_in_range(turns, 40, 90);
	assert_true(str_is(workload_sampling(w), "\"ignore_eos\":true,\"stop\":[\"\\n\\n\"],\"temperature\":0.5,\"top_p\":0.9"));
	buf_fini(&text);
	buf_fini(&earlier);
	workload_request_fini(&r);
	workload_request_fini(&next);
	workload_free(w);
}

/* Generated lengths against the frozen mix: shares of classes, bounds and means. */
static void test_marginals(void **state)
{
	struct workload *w = parsed(mixed);
	struct workload_request r;
	struct workload_plan plan;
	double chat = 0, prompts = 0, outputs = 0, low = 0, code = 0;
	size_t n = 40000;

	workload_request_init(&r);
	workload_plan_default(w, &plan);
	for (size_t i = 0; i < n; i++) {
		workload_request_make(w, &plan, i, 0, &r);
		if (str_is(r.group, "chat")) {
			chat++;
			prompts += r.prompt_tokens;
			outputs += r.output_tokens;
			assert_in_range(r.output_tokens, 20, 300);
		} else {
			code++;
			low += r.prompt_tokens <= 1000;
			assert_in_range(r.prompt_tokens, 1, 2000);
			assert_int_equal(r.output_tokens, 40);
		}
	}
	assert_true(fabs(chat / (double)n - 0.75) < 5 * sqrt(0.75 * 0.25 / (double)n));
	assert_true(fabs(low / code - 0.25) < 5 * sqrt(0.25 * 0.75 / code));
	assert_true(fabs(prompts / chat - 400) < 5 * 320 / sqrt(chat));
	assert_true(fabs(outputs / chat - 160) < 5 * 81.1 / sqrt(chat));
	workload_request_fini(&r);
	workload_free(w);
}

/* Two requests of a group share what the file says, and nothing more; contents for the engine model agree with the text. */
static void test_shared_beginnings(void **state)
{
	struct workload *w = parsed(
		HEAD "arrivals: {process: closed, concurrency: 2}\nmix: [{prompt: 160, output: 1}]\nprefix: {groups: 1, share: 0.5}\n");
	struct workload_request a, b;
	struct workload_plan plan;
	struct buf x, y;
	uint64_t ids[2][16];
	size_t same = 0;

	workload_request_init(&a);
	workload_request_init(&b);
	buf_init(&x, 1 << 20);
	buf_init(&y, 1 << 20);
	workload_plan_default(w, &plan);
	workload_request_make(w, &plan, 0, 0, &a);
	workload_request_make(w, &plan, 1, 0, &b);
	workload_text(&a, 0, &x);
	workload_text(&b, 0, &y);
	while (x.ptr[same] == y.ptr[same])
		same++;
	assert_in_range(same, 319, 323); /* 80 tokens of 4 bytes, the first of 3 and a blank after */
	assert_int_equal(workload_content_ids(&a, 16, ids[0], 16), 10);
	assert_int_equal(workload_content_ids(&b, 16, ids[1], 16), 10);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(ids[0][i] == ids[1][i], i < 5);
	plan.salt = 5;
	workload_request_make(w, &plan, 0, 0, &b);
	workload_content_ids(&b, 16, ids[1], 16);
	assert_true(ids[0][0] != ids[1][0]);
	buf_fini(&x);
	buf_fini(&y);
	workload_request_fini(&a);
	workload_request_fini(&b);
	workload_free(w);
}

static void test_rows(void **state)
{
	struct workload *w = parsed(HEAD "arrivals: {process: poisson, rate: 1}\nprompt: {format: token_ids, vocabulary: [5, 9]}\n"
					 "rows:\n  block: 512\n  data: |\n    # a remark\n    0 1200 5 - 0-2\n    10 700 6 7 0,9\n    "
					 "3000000 50 4 7\n    12 30 3\n");
	struct workload_request r;
	struct workload_plan plan;
	struct buf ids;
	size_t commas = 0;

	workload_request_init(&r);
	buf_init(&ids, 1 << 20);
	workload_plan_default(w, &plan);
	assert_int_equal(w->starts.count, 3);
	assert_true(workload_request_make(w, &plan, 1, 1, &r)); /* 700 + 6 of the answer + 50 */
	assert_int_equal(r.prompt_tokens, 756);
	assert_false(r.more);
	workload_token_ids(w, &r, &ids);
	for (size_t i = 0; i < ids.len; i++) {
		commas += ids.ptr[i] == ',';
		assert_true(ids.ptr[i] == ',' || (ids.ptr[i] >= '5' && ids.ptr[i] <= '9'));
	}
	assert_int_equal(commas, 755);
	workload_request_make(w, &plan, 0, 0, &r);
	uint64_t first = r.pieces[0].stream;

	assert_int_equal(r.piece_count, 3);
	assert_int_equal(r.pieces[2].to, 1200 - 1024);
	workload_request_make(w, &plan, 1, 0, &r);
	assert_true(r.pieces[0].stream == first && r.more && r.pause_ns == 3000000000);
	workload_request_make(w, &plan, 4, 0, &r); /* the second pass through the rows has contents of its own */
	assert_true(r.pieces[0].stream != first);
	buf_fini(&ids);
	workload_request_fini(&r);
	workload_free(w);
}

/* ---- files ---- */

static void check_round_trip(const char *text)
{
	struct workload *w = parsed(text), *again;
	struct error e = { 0 };
	struct buf out, twice;

	buf_init(&out, 1 << 20);
	buf_init(&twice, 1 << 20);
	content_write(w, &out);
	again = workload_parse(STR("out.yaml"), buf_str(&out), &e);
	if (!again)
		error_print(&e, stderr);
	assert_non_null(again);
	content_write(again, &twice);
	assert_true(str_eq(buf_str(&out), buf_str(&twice)));
	assert_string_equal(workload_hash(w), workload_hash(again));
	/* any change of what requests are made from is seen */
	for (size_t i = 0; i < out.len; i++) {
		char kept = out.ptr[i];

		if (kept < '0' || kept > '8' || i < 100)
			continue;
		out.ptr[i]++;
		struct workload *changed = workload_parse(STR("out.yaml"), buf_str(&out), &e);

		assert_null(changed);
		out.ptr[i] = kept;
	}
	buf_fini(&out);
	buf_fini(&twice);
	workload_free(w);
	workload_free(again);
}

static void test_written_and_read(void **state)
{
	check_round_trip(mixed);
	check_round_trip(plain);
	check_round_trip(
		HEAD "arrivals: {process: poisson, rate: 9.5, ramp_from: 1, ramp_seconds: 30, ramp: exponential, concurrency: 64}\n"
		     "prompt: {format: token_ids, vocabulary: [100, 400]}\n"
		     "rows:\n  order: shuffled\n  block: 512\n  data: |\n    0 1200 5 - 0-2\n    10 700 6 7 0,9-12\n    20 50 4 7\n");
	check_round_trip(HEAD "arrivals: {process: closed, concurrency: 8}\nprompt: {template_tokens: 9}\nsampling: {seed: 3}\n"
			      "mix: [{prompt: {mean: 100, cv: 0.25, most: 400}, output: {buckets: [[5, 1], [9, 2]], slope: "
			      "-0.25}}]\nprefix: {groups: 3, share: 0.25}\n");
}

/* The hash is of the meaning: form and remarks do not count, one token does. */
static void test_hash(void **state)
{
	struct workload *a = parsed(plain);
	struct workload *b =
		parsed("# by hand\nmix:\n- output: 10 # short\n  prompt: 100\narrivals:\n  rate: 5.0\ngoodput_workload: 1\nname: other\n");
	struct workload *c = parsed(HEAD "arrivals: {process: poisson, rate: 5}\nmix: [{prompt: 101, output: 10}]\n");

	assert_string_equal(workload_hash(a), workload_hash(b));
	assert_string_not_equal(workload_hash(a), workload_hash(c));
	assert_str(workload_name(b), "other");
	workload_free(a);
	workload_free(b);
	workload_free(c);
}

static void test_bad_files(void **state)
{
	static const struct {
		const char *text;
		int line, column;
		const char *message, *hint;
	} rows[] = {
		{ "mix: []\n", 1, 1, "goodput_workload: 1", "freeze" },
		{ "[1]\n", 1, 1, "no workload", "" },
		{ "goodput_workload: 2\n", 1, 19, "version 2", "" },
		{ HEAD "arrivls: {}\n", 2, 1, "unknown key \"arrivls\"", "arrivals" },
		{ HEAD "arrivals: {rate: -1}\n", 2, 18, "\"rate\"", "" },
		{ HEAD "arrivals: {rate: 0}\nmix: [{prompt: 1, output: 1}]\n", 2, 11, "a rate of 0 is impossible", "" },
		{ HEAD "mix: [{prompt: 1, output: 1}]\n", 1, 1, "a rate of 0 is impossible", "" },
		{ HEAD "arrivals: {process: uniform}\n", 2, 21, "cannot be \"uniform\"", "poisson" },
		{ HEAD "arrivals: {process: trace}\nmix: [{prompt: 1, output: 1}]\n", 2, 11, "need rows", "process" },
		{ HEAD "arrivals: {process: closed}\nmix: [{prompt: 1, output: 1}]\n", 2, 11, "concurrency of at least 1", "" },
		{ HEAD "arrivals: {rate: 1, burstiness: 2}\n", 2, 33, "gamma", "" },
		{ HEAD "arrivals: {rate: 1, ramp_from: 0, ramp_seconds: 5, ramp: exponential}\nmix: [{prompt: 1, output: 1}]\n", 2, 11,
			"exponential ramp", "linear" },
		{ HEAD "arrivals: {rate: 1, ramp_from: 0}\n", 2, 11, "ramp_seconds", "" },
		{ HEAD "arrivals: {rate: 1}\n", 1, 1, "neither rows nor a mix", "" },
		{ HEAD "mix: [{prompt: 0, output: 1}]\n", 2, 16, "a length is", "" },
		{ HEAD "mix: [{prompt: [5, 2], output: 1}]\n", 2, 16, "[least, most]", "" },
		{ HEAD "mix: [{prompt: {buckets: [[5, 1], [5, 1]]}, output: 1}]\n", 2, 35, "buckets must grow", "" },
		{ HEAD "mix: [{prompt: {mean: 5}, output: 1}]\n", 2, 16, "{mean, cv}", "" },
		{ HEAD "mix: [{prompt: 5}]\n", 2, 7, "\"output\" is missing", "" },
		{ HEAD "prefix: {groups: 2}\n", 2, 9, "one of them", "" },
		{ HEAD "sampling: {temprature: 1}\n", 2, 12, "unknown key", "temperature" },
		{ HEAD "sessions: {turns: 500}\n", 2, 19, "at most 200 turns", "" },
		{ HEAD "arrivals: {rate: 1}\nrows:\n  data: |\n    0 1 2\n    1 x 2\n", 6, 7, "prompt's length", "" },
		{ HEAD "arrivals: {rate: 1}\nrows:\n  data: |\n    0 1 2\n\n    5 1\n", 7, 5, "at least three fields", "" },
		{ HEAD "arrivals: {rate: 1}\nrows:\n  data: |\n    0 1 2 - 5-3\n", 5, 13, "backwards", "" },
		{ HEAD "arrivals: {rate: 1}\nrows:\n  data: |\n    9 1 2\n    0 1 2\n", 2, 11, "row 2 is earlier", "" },
		{ HEAD "arrivals: {rate: 1}\nrows:\n  data: |\n    0 1 2 - 5\n", 2, 11, "how many tokens a block has", "" },
		{ HEAD "hash: \"00\"\narrivals: {rate: 1}\nmix: [{prompt: 1, output: 1}]\n", 2, 7, "changed or cut", "freeze" },
		{ HEAD "arrivals: {rate: 1\n", 3, 1, "not valid YAML", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error e = { 0 };

		assert_null(workload_parse(STR("w.yaml"), str_from(rows[i].text), &e));
		if (e.line != rows[i].line || e.column != rows[i].column || !strstr(e.message, rows[i].message) ||
			!strstr(e.hint, rows[i].hint)) {
			error_print(&e, stderr);
			fail_msg("case %zu: %s", i, rows[i].text);
		}
		assert_int_equal(e.status, EXIT_BAD_INPUT);
	}
}

static void test_sha256(void **state)
{
	char text[SHA256_TEXT], many[200];

	sha256_text("", 0, text);
	assert_string_equal(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sha256_text("abc", 3, text);
	assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	memset(many, 'a', sizeof many);
	for (size_t n = 50; n < 70; n++) { /* around the end of a block: the padding takes one block or two */
		char last[SHA256_TEXT];

		memcpy(last, text, sizeof last);
		sha256_text(many, n, text);
		assert_string_not_equal(text, last);
	}
	sha256_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, text);
	assert_string_equal(text, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ln_and_exp),
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_permutation),
		cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_ramps),
		cmocka_unit_test(test_constant),
		cmocka_unit_test(test_trace_times),
		cmocka_unit_test(test_same_bytes_everywhere),
		cmocka_unit_test(test_request_anatomy),
		cmocka_unit_test(test_marginals),
		cmocka_unit_test(test_shared_beginnings),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_written_and_read),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_sha256),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
