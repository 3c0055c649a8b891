/* Traces of all formats, what freezing does to them, and profiles against brute force. */
#include "unit.h"
#include "workload/freeze.h"
#include "workload/profile.h"

#include <math.h>

static struct arena arena;

static int set_up(void **state)
{
	arena_init(&arena);
	return 0;
}

static int tear_down(void **state)
{
	arena_fini(&arena);
	return 0;
}

static struct trace parsed(const char *text)
{
	struct error e = { 0 };
	struct trace t;

	if (!trace_parse(&arena, STR("trace"), str_from(text), &t, &e)) {
		error_print(&e, stderr);
		fail();
	}
	return t;
}

static void row_is(const struct workload_row *r, uint64_t time_us, uint32_t prompt, uint32_t output)
{
	assert_int_equal(r->time_us, time_us);
	assert_int_equal(r->prompt, prompt);
	assert_int_equal(r->output, output);
}

#define MOONCAKE                                                                                                                           \
	"{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 5, \"hash_ids\": [0, 1, 2]}\n"                                      \
	"{\"timestamp\": 0, \"input_length\": 1000, \"output_length\": 6, \"hash_ids\": [0, 9]}\n"                                         \
	"{\"timestamp\": 3000, \"input_length\": 600, \"output_length\": 7, \"hash_ids\": [0, 9]}\n"                                       \
	"{\"timestamp\": 3000, \"input_length\": 10, \"output_length\": 8, \"hash_ids\": [5]}\n"                                           \
	"{\"timestamp\": 3000, \"input_length\": 20, \"output_length\": 9, \"hash_ids\": [6]}\n"

static void test_formats(void **state)
{
	struct trace t =
		parsed("TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 23:59:59.9799600,4808,10\r\n2023-11-17 00:00:00.0781490,0,8");

	assert_string_equal(t.kind, "azure");
	assert_int_equal(t.count, 2);
	assert_int_equal(t.raised, 1);
	row_is(&t.rows[0], 0, 4808, 10);
	row_is(&t.rows[1], 98189, 1, 8);
	t = parsed("2024-05-10 00:00:00.009930+00:00,10,20\n2024-05-10 00:00:01+00:00,11,21\n"); /* no header; 2024's times */
	row_is(&t.rows[1], 990070, 11, 21);
	t = parsed("Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
		   "Type\n5,s,1,GPT-4,472,18,490,x\n45,s,1,GPT-4,7,0,7,x\n"
		   "118.5,s,1,GPT-4,417,276,693,x\n");
	assert_string_equal(t.kind, "burstgpt");
	assert_int_equal(t.count, 2);
	assert_int_equal(t.failed, 1);
	row_is(&t.rows[1], 113500000, 417, 276);
	t = parsed(MOONCAKE);
	assert_int_equal(t.block, 512);
	row_is(&t.rows[2], 3000000, 600, 7);
	assert_int_equal(t.rows[2].id_count, 2);
	assert_int_equal(t.rows[2].ids[1], 9);
	t = parsed("{\"request_throughput\":1,\"input_lens\":[10,20,0],\"output_lens\":[5,6,0],\"start_times\":[100.5,100.25,101],"
		   "\"errors\":[\"\",\"\",\"boom\"]}");
	assert_string_equal(t.kind, "vllm-result");
	assert_int_equal(t.failed, 1);
	row_is(&t.rows[0], 0, 20, 6);
	row_is(&t.rows[1], 250000, 10, 5);
	t = parsed("[{\"conversations\":[{\"from\":\"human\",\"value\":\"12345678\"},{\"from\":\"gpt\",\"value\":\"123456789\"},{\"from\":"
		   "\"human\",\"value\":\"1\"},"
		   "{\"from\":\"gpt\",\"value\":\"12\"}]},{\"messages\":[{\"role\":\"user\",\"content\":\"abcd\"},{\"role\":\"assistant\","
		   "\"content\":\"e\"}]}]");
	assert_true(t.estimated && !t.timed);
	assert_int_equal(t.count, 3);
	row_is(&t.rows[0], 0, 2, 3);
	assert_int_equal(t.rows[1].session, t.rows[0].session);
	assert_true(t.rows[2].session != t.rows[1].session);
	t = parsed("{\"schema\":\"goodput.records/"
		   "1\"}\n{\"id\":0,\"due\":12.5,\"submitted\":13,\"first_output\":20,\"last_output\":40,\"completed\":41,"
		   "\"prompt_tokens\":100,\"output_tokens\":9,\"outcome\":\"ok\"}\n{\"id\":1,\"submitted\":5,\"completed\":6,\"outcome\":"
		   "\"error\",\"error\":\"http_5xx\"}\n");
	assert_string_equal(t.kind, "records");
	assert_int_equal(t.count, 1);
	assert_int_equal(t.failed, 1);
	row_is(&t.rows[0], 0, 100, 9);
}

#define RECORD(id, session, turn, sent, end, prompt, output)                                                                               \
	"{\"id\":" #id ",\"session\":" #session ",\"turn\":" #turn ",\"submitted\":" #sent ",\"first_output\":" #sent                      \
	",\"last_output\":" #end ",\"completed\":" #end ",\"prompt_tokens\":" #prompt ",\"output_tokens\":" #output                        \
	",\"outcome\":\"ok\"}\n"

/* Turns: what each adds, and the pause before it; a turn whose turn before failed has no known history. */
static void test_turns_of_records(void **state)
{
	struct trace t = parsed("{\"schema\":\"goodput.records/1\"}\n" RECORD(0, 4, 0, 100, 300, 50, 20) RECORD(1, 5, 0, 150, 200, 40, 10)
			RECORD(0, 4, 1, 1300, 1400, 95, 30) RECORD(0, 4, 2, 1450, 1500, 130, 5) RECORD(1, 5, 2, 900, 950, 90, 10));

	assert_int_equal(t.count, 4);
	assert_int_equal(t.failed, 1);
	row_is(&t.rows[0], 0, 50, 20);
	row_is(&t.rows[1], 50000, 40, 10);
	row_is(&t.rows[2], 1000000, 25, 30);
	row_is(&t.rows[3], 50000, 5, 5);
	assert_true(!t.rows[1].follows && t.rows[2].follows && t.rows[2].session == t.rows[0].session);
}

static void test_errors(void **state)
{
	static const struct {
		const char *text;
		int line, column;
		const char *message;
	} rows[] = {
		{ "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,4808\n", 2, 1, "three fields" },
		{ "TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,1\n", 2, 1, "no time" },
		{ "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,-4,1\n", 2, 21, "ContextTokens" },
		{ "2023-11-16 18:17:03,4,1\n2023-11-16 18:17:02,4,1\n", 2, 1, "earlier" },
		{ "{\"timestamp\": 0, \"input_length\": 7, \"output_length\": 1}\n{\"timestamp\": 1, \"input_length\": 7.5}\n", 2, 1,
			"input_length" },
		{ "{\"timestamp\": 0, \"input_length\": 7, \"output_length\": 1}\n{\"timestamp\": 1, \"inp", 2, 0, "" },
		{ "{\"request_throughput\": 5, \"completed\": 3}", 1, 1, "input_lens" },
		{ "{\"input_lens\": [1, 2], \"output_lens\": [3]}", 1, 1, "entry 1" },
		{ "[{\"id\": 4}]", 1, 1, "entry 0" },
		{ "[{\"id\": 4]", 1, 0, "" },
		{ "", 0, 0, "no requests" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error e = { 0 };
		struct trace t;

		assert_false(trace_parse(&arena, STR("trace"), str_from(rows[i].text), &t, &e));
		if (e.line != rows[i].line || (rows[i].column && e.column != rows[i].column) || !strstr(e.message, rows[i].message)) {
			error_print(&e, stderr);
			fail_msg("case %zu", i);
		}
	}
}

/* ---- freezing ---- */

static struct workload *frozen(const char *text, struct freeze_options o)
{
	struct trace t = parsed(text);
	struct error e = { 0 };
	struct workload *w = freeze_trace(&t, STR("file"), &o, &e);

	if (!w || !content_finish(w, &e)) {
		error_print(&e, stderr);
		fail();
	}
	return w;
}

static bool remarked(const struct workload *w, const char *words)
{
	VEC_EACH (&w->source.remarks, remark) {
		if (str_search(*remark, str_from(words)) >= 0)
			return true;
	}
	return false;
}

static void test_limits(void **state)
{
	struct workload *w = frozen(MOONCAKE, (struct freeze_options){ .prompt_most = 600 });

	assert_int_equal(w->rows.count, 5);
	assert_int_equal(w->rows.items[0].prompt, 600);
	assert_int_equal(w->rows.items[0].id_count, 2);
	assert_true(remarked(w, "2 requests were longer than the limits and were cut"));
	workload_free(w);
	w = frozen(MOONCAKE, (struct freeze_options){ .prompt_most = 600, .drop_longer = true });
	assert_int_equal(w->rows.count, 3);
	assert_true(remarked(w, "2 requests were longer than the limits and were left out"));
	assert_true(remarked(w, "3 of 5"));
	workload_free(w);
	w = frozen(MOONCAKE, (struct freeze_options){ .from_us = 1000000, .to_us = 4000000, .limit = 2 });
	assert_int_equal(w->rows.count, 2);
	row_is(&w->rows.items[0], 2000000, 600, 7);
	workload_free(w);
}

/* A window is of starts; a turn that is dropped takes the rest of its session with it. */
static void test_sessions_are_whole(void **state)
{
	static const char *const text = "{\"schema\":\"goodput.records/1\"}\n" RECORD(0, 4, 0, 100, 300, 50, 20) RECORD(0, 4, 1, 310, 320,
		95, 30) RECORD(1, 5, 0, 5000, 5100, 40, 10) RECORD(1, 5, 1, 5200, 5300, 2000, 10) RECORD(1, 5, 2, 5400, 5500, 2020, 10);
	struct workload *w = frozen(text, (struct freeze_options){ .to_us = 1000000 });

	assert_int_equal(w->rows.count, 2);
	assert_int_equal(w->starts.count, 1);
	workload_free(w);
	w = frozen(text, (struct freeze_options){ .from_us = 1000000, .prompt_most = 500, .drop_longer = true });
	assert_int_equal(w->rows.count, 1);
	row_is(&w->rows.items[0], 3900000, 40, 10);
	workload_free(w);
	w = frozen(text, (struct freeze_options){ 0 });
	assert_int_equal(w->starts.count, 2);
	assert_int_equal(w->rows.items[3].next, 4);
	workload_free(w);
}

static void test_spread(void **state)
{
	struct workload *w = frozen(MOONCAKE, (struct freeze_options){ 0 });

	assert_true(remarked(w, "only 2 different times"));
	workload_free(w);
	w = frozen(MOONCAKE, (struct freeze_options){ .spread = FREEZE_EVENLY });
	static const uint64_t even[] = { 0, 1500000, 3000000, 4000000, 5000000 };

	for (size_t i = 0; i < 5; i++)
		assert_int_equal(w->rows.items[i].time_us, even[i]);
	assert_true(remarked(w, "spread evenly"));
	workload_free(w);
	w = frozen(MOONCAKE, (struct freeze_options){ .spread = FREEZE_AT_RANDOM, .seed = 4 });
	for (size_t i = 1; i < 5; i++)
		assert_true(w->rows.items[i].time_us >= w->rows.items[i - 1].time_us);
	assert_in_range(w->rows.items[1].time_us, 1, 2999999);
	workload_free(w);
}

static void test_no_times(void **state)
{
	struct trace t = parsed("[{\"messages\":[{\"role\":\"user\",\"content\":\"abcd\"},{\"role\":\"assistant\",\"content\":\"e\"}]}]");
	struct error e = { 0 };
	struct workload *w = freeze_trace(&t, STR("file"), &(struct freeze_options){ 0 }, &e);

	assert_false(content_finish(w, &e)); /* nobody said when they come */
	w->plan.arrivals.rate = 2;
	assert_true(content_finish(w, &e));
	assert_true(remarked(w, "estimates"));
	workload_free(w);
	assert_null(freeze_trace(&t, STR("file"), &(struct freeze_options){ .from_us = 5 }, &e));
}

static void test_marginals(void **state)
{
	static const struct length_bucket prompt[] = { { 100, 10 }, { 200, 30 }, { 400, 0 } }, output[] = { { 10, 1 } };
	struct freeze_marginals m = { .prompt = prompt,
		.prompt_count = 3,
		.output = output,
		.output_count = 1,
		.rate = 4,
		.prompt_mean = 120,
		.output_mean = NAN,
		.cached_share = 0.4 };
	struct workload_profile p;
	struct error e = { 0 };
	struct workload *w = freeze_marginals(&m, STR("pod-a"), &e);

	assert_true(content_finish(w, &e));
	assert_true(remarked(w, "do not tell which prompts had long answers"));
	assert_false(remarked(w, "contradict")); /* 126 without a slope, 109 to 142 with one */
	profile_make(&arena, w, 0, &p);
	assert_true(fabs(p.shared - 0.4) < 0.01); /* by share of each prompt, but for rounding and the first of each group */
	assert_true(p.rate == 4 && p.interval_cv == 1);
	assert_in_range(p.prompt.sorted[p.requests - 1], 190, 200);
	assert_true(fabs(p.prompt.mean - 120) < 5 * 50 / sqrt((double)p.requests));
	size_t low = 0;

	while (p.prompt.sorted[low] <= 100)
		low++;
	assert_true(
		fabs((double)low / (double)p.requests - 0.25) < 5 * sqrt(0.25 * 0.75 / (double)p.requests)); /* buckets keep their shares */
	workload_free(w);
	m.prompt_mean = 50;
	w = freeze_marginals(&m, STR("pod-a"), &e);
	assert_true(remarked(w, "the mean was 50 tokens") && remarked(w, "contradict"));
	workload_free(w);
	m.prompt_count = 0;
	assert_null(freeze_marginals(&m, STR("pod-a"), &e));
}

/* ---- statistics ---- */

static void test_distances(void **state)
{
	static const uint32_t a[] = { 1, 2, 3, 4 }, b[] = { 3, 4, 5, 6 }, c[] = { 1, 1, 9 };

	assert_true(profile_ks(a, 4, a, 4) == 0);
	assert_true(profile_ks(a, 4, b, 4) == 0.5);
	assert_true(profile_wasserstein(a, 4, b, 4) == 2);
	assert_true(profile_wasserstein(a, 4, a, 4) == 0);
	assert_true(fabs(profile_ks(a, 4, c, 3) - (2.0 / 3 - 0.25)) < 1e-12);
	assert_true(fabs(profile_wasserstein(a, 4, c, 3) - (5.0 / 12 + 2.0 / 12 + 1.0 / 12 + 5.0 / 3)) < 1e-12);
	/* ties have the mean of their ranks: 1.5 1.5 3 against 1 2 3 */
	static const uint32_t x[] = { 5, 5, 7 }, y[] = { 1, 2, 3 }, z[] = { 3, 2, 1 }, flat[] = { 4, 4, 4 };

	assert_true(fabs(profile_rank_correlation(x, y, 3) - sqrt(0.75)) < 1e-12);
	assert_true(profile_rank_correlation(y, z, 3) == -1);
	assert_true(isnan(profile_rank_correlation(y, flat, 3)));
}

static void test_profile_of_blocks(void **state)
{
	struct workload *w = frozen(MOONCAKE, (struct freeze_options){ 0 });
	struct workload_profile p;

	profile_make(&arena, w, 0, &p);
	assert_true(p.whole && p.starts == 5);
	/* row 2: block 0 of 512; row 3: blocks 0 and 9, 600 tokens of which 88 in the second: all seen */
	assert_true(fabs(p.shared - (512.0 + 600) / (1100 + 1000 + 600 + 10 + 20)) < 1e-12);
	assert_true(profile_quantile(&p, &p.prompt, 0.5) == 600);
	workload_free(w);
}

static void test_comparing(void **state)
{
	static const char *const text =
		"goodput_workload: 1\narrivals: {rate: 5}\nmix: [{prompt: {mean: %d, cv: 0.5}, output: [%d, 100]}]\n";
	static const struct {
		int prompt, output;
		bool fair;
	} rows[] = { { 500, 50, true }, { 520, 50, false }, { 500, 60, false } };
	struct workload_profile base, other;
	struct profile_diff d;
	char file[200];
	struct error e;

	snprintf(file, sizeof file, text, 500, 50);
	struct workload *a = workload_parse(STR("a"), str_from(file), &e);

	profile_make(&arena, a, 0, &base);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(file, sizeof file, text, rows[i].prompt, rows[i].output);
		struct workload *b = workload_parse(STR("b"), str_from(file), &e);

		b->plan.seed = 77; /* other draws of the same kind are comparable */
		assert_true(content_finish(b, &e));
		profile_make(&arena, b, 0, &other);
		profile_compare(a, &base, b, &other, &d);
		assert_int_equal(d.fair, rows[i].fair);
		assert_false(d.same);
		if (rows[i].prompt == 520)
			assert_true(fabs(d.prompt_shift - 20) < 8);
		workload_free(b);
	}
	workload_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_turns_of_records),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_sessions_are_whole),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_no_times),
		cmocka_unit_test(test_marginals),
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_profile_of_blocks),
		cmocka_unit_test(test_comparing),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
