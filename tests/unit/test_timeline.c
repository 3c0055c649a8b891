/* Deliveries, the request record and its file. */
#include "base/base64.h"
#include "base/json_read.h"
#include "model/records.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>

static void test_deliveries_are_small(void **state)
{
	struct deliveries d = { 0 };

	deliveries_reset(&d, 0);
	for (int i = 0; i < 1000; i++)
		deliveries_add(&d, i * INT64_C(20000000), 1); /* 20 ms apart */
	assert_true(d.len <= 2 * 1000);
	deliveries_reset(&d, 0);
	for (int i = 0; i < 1000; i++)
		deliveries_add(&d, i * INT64_C(80000000), 1 + i % 100); /* 80 ms and several tokens */
	assert_true(d.len <= 3 * 1000);
	deliveries_reset(&d, 0);
	for (int i = 0; i < 100; i++)
		deliveries_add(&d, i * INT64_C(10000000000), 1); /* 10 s */
	assert_true(d.len <= 3 * 100);
	deliveries_fini(&d);
}

/* Steps are differences of rounded times: the error stays below half a unit however many there are. */
static void test_rounding_does_not_add_up(void **state)
{
	struct deliveries d = { 0 };
	struct delivery_cursor c;
	struct delivery one;

	deliveries_reset(&d, 12345);
	for (int64_t i = 0; i < 10000; i++)
		deliveries_add(&d, 12345 + i * 13337, (uint32_t)(i % 7));
	c = deliveries_begin(&d);
	for (int64_t i = 0; i < 10000; i++) {
		assert_true(deliveries_next(&c, &one));
		assert_true(llabs(one.t_ns - (12345 + i * 13337)) <= DELIVERY_UNIT_NS / 2);
		assert_int_equal(one.tokens, i % 7);
	}
	assert_false(deliveries_next(&c, &one));
	deliveries_add(&d, 0, 1); /* the past counts as the time before */
	assert_int_equal(d.count, 10001);
	deliveries_fini(&d);
}

static void test_deliveries_refused(void **state)
{
	static const struct str wrong[] = { { "\x80", 1 }, { "\x01", 1 }, { "\x01\x01", 2 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10 }, { "\x01\xff\xff\xff\xff\x7f", 6 } };
	struct deliveries d = { 0 };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_false(deliveries_load(&d, 0, wrong[i]));
	assert_true(deliveries_load(&d, 0, str_of("\x02\x03\x00", 3)));
	assert_int_equal(d.count, 2);
	deliveries_fini(&d);
}

static struct timeline sample(void)
{
	struct timeline t;

	timeline_init(&t);
	t.id = 42;
	t.intended_ns = 1000000001;
	t.submitted_ns = 1000250000;
	t.first_output_ns = 1200000000;
	t.first_content_ns = 1300000000;
	t.last_output_ns = 1500123456;
	t.completed_ns = t.closed_ns = 1600000000;
	t.prompt_tokens = 100;
	t.output_tokens = 7;
	t.basis = TOKENS_USAGE;
	t.outcome = TIMELINE_OK;
	t.http_status = 200;
	t.attempts = 2;
	t.evaluation = 1;
	t.temperature = 0.7;
	t.session = 3;
	t.turn = 2;
	t.notes = TIMELINE_MISSING_DONE | TIMELINE_DELIVERY_TOKENS;
	t.model = STR("m\"odel");
	t.request_id = STR("r-1");
	timeline_set_finish(&t, STR("stop"));
	deliveries_reset(&t.deliveries, t.submitted_ns);
	deliveries_add(&t.deliveries, t.first_output_ns, 3);
	deliveries_add(&t.deliveries, t.last_output_ns, 4);
	return t;
}

static void test_round_trip(void **state)
{
	struct timeline t = sample(), failed;
	struct records_run run;
	struct records back;
	struct arena arena;
	struct buf out, again;
	struct error e = { 0 };

	timeline_init(&failed);
	failed.outcome = TIMELINE_ERROR;
	failed.error = TIMELINE_HTTP_429;
	failed.http_status = 429;
	failed.retry_after_ms = 2000;
	timeline_set_message(&failed, STR("slow\ndown \xff \xe2\x82\xac"));
	records_run_init(&run);
	run.start_unix = 1790000000.25;
	run.window_start_ns = 0;
	run.window_end_ns = 60000000000;
	run.rate = 12.5;
	run.client_bound = true;
	run.client_reason = STR("lag");
	run.client_lag_p99_ms = 0.25;
	assert_true(records_fact_add(&run, STR("server.version"), STR("0.10.1 \"x\"")));
	buf_init(&out, 1 << 20);
	buf_init(&again, 1 << 20);
	arena_init(&arena);
	records_write_run(&out, &run);
	records_write(&out, &t);
	records_write(&out, &failed);
	records_init(&back);
	if (!records_read(&back, &arena, STR("f"), buf_str(&out), &e))
		fail_msg("%s (%s)", e.message, e.excerpt);
	assert_int_equal(back.requests.count, 2);
	assert_int_equal(back.cut_bytes, 0);
	assert_str(back.requests.items[0].model, "m\"odel");
	assert_str(records_fact(&back.run, "server.version"), "0.10.1 \"x\"");
	assert_int_equal(back.requests.items[0].last_output_ns, t.last_output_ns);
	assert_int_equal(back.requests.items[0].deliveries.start_ns, t.submitted_ns);
	assert_string_equal(back.requests.items[1].message, "slow down ? \xe2\x82\xac");
	records_write_run(&again, &back.run);
	records_write(&again, &back.requests.items[0]);
	records_write(&again, &back.requests.items[1]);
	assert_str(buf_str(&again), buf_cstr(&out));
	records_fini(&back);
	arena_fini(&arena);
	buf_fini(&out);
	buf_fini(&again);
	timeline_fini(&t);
}

#define RUN "{\"schema\":\"goodput.records/1\"}\n"
static void test_faults_have_places(void **state)
{
	static const struct {
		const char *text, *message;
		int line, column;
	} faults[] = {
		{ "", "no records: the file is empty", 0, 0 },
		{ "{\"id\":1}\n", "the first line must be the run's: {\"schema\":\"goodput.records/1\", ...}", 1, 1 },
		{ "{\"schema\":\"other/2\"}\n", "schema \"other/2\", and only goodput.records/1 is known", 1, 3 },
		{ RUN "{\"id\":1,\"outcome\":\"ok\",\"colour\":3}\n", "\"colour\" is no member of goodput.records/1", 2, 25 },
		{ RUN "{\"id\":1,\"id\":2}\n", "\"id\" stands twice in this line", 2, 10 },
		{ RUN "{\"outcome\":\"ok\"}\n", "the request has no id", 2, 1 },
		{ RUN "{\"id\":1,\"outcome\":\"error\"}\n", "outcome is error, and no error says which", 2, 1 },
		{ RUN "{\"id\":1,\"outcome\":\"fine\"}\n", "\"fine\" is no outcome that is known", 2, 19 },
		{ RUN "{\"id\":1,\"submitted\":5,\"first_output\":4.9}\n", "first_output is before submitted", 2, 1 },
		{ RUN "{\"id\":1,\"submitted\":\"5\"}\n", "a number is wanted", 2, 21 },
		{ RUN "{\"id\":1,\"deliveries\":\"A\"}\n", "the deliveries are not base64", 2, 22 },
		{ RUN "{\"id\":1,\"prompt_tokens\":-1}\n", "-1 is not between 0 and 4294967294", 2, 25 },
		{ RUN "{\"id\":1}\n{\"id\":2,\n{\"id\":3}\n", "the text ends inside a value", 3, 9 },
		{ RUN "[1]\n", "a line must be one JSON object", 2, 1 },
	};

	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		struct records r;
		struct arena arena;
		struct error e = { 0 };

		arena_init(&arena);
		records_init(&r);
		assert_false(records_read(&r, &arena, STR("file"), str_from(faults[i].text), &e));
		assert_string_equal(e.message, faults[i].message);
		assert_int_equal(e.line, faults[i].line);
		assert_int_equal(e.column, faults[i].column);
		records_fini(&r);
		arena_fini(&arena);
	}
}

/* Cut anywhere in its last line, a file gives all whole requests and says what it left out. */
static void test_cut_anywhere(void **state)
{
	struct timeline t = sample();
	struct buf out;

	buf_init(&out, 1 << 20);
	buf_add_cstr(&out, RUN);
	records_write(&out, &t);
	size_t first = out.len;

	records_write(&out, &t);
	for (size_t len = first; len <= out.len; len++) {
		struct records r;
		struct arena arena;
		struct error e = { 0 };

		arena_init(&arena);
		records_init(&r);
		if (!records_read(&r, &arena, STR("f"), str_of(out.ptr, len), &e))
			fail_msg("cut at %zu: %s", len, e.message);
		bool whole = len == first || len >= out.len - 1;

		assert_int_equal(r.requests.count, len >= out.len - 1 ? 2 : 1);
		assert_int_equal(r.cut_bytes, whole ? 0 : len - first);
		records_fini(&r);
		arena_fini(&arena);
	}
	buf_fini(&out);
	timeline_fini(&t);
}

static void test_definitions(void **state)
{
	struct timeline t = sample();

	assert_true(fabs(timeline_tpot_ms(&t) - 300.123456 / 6) < 1e-9);
	assert_true(fabs(timeline_ttft_ms(&t) - 199.75) < 1e-9);
	assert_true(fabs(timeline_ttft_due_ms(&t) - 199.999999) < 1e-9);
	t.output_tokens = 1;
	assert_true(isnan(timeline_tpot_ms(&t)));
	t.output_tokens = 7;
	t.notes |= TIMELINE_SEVERAL_CHOICES;
	assert_true(isnan(timeline_tpot_ms(&t)));
	timeline_fini(&t);
}

static void test_base64(void **state)
{
	static const char *const pairs[][2] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
		{ "foobar", "Zm9vYmFy" } };
	struct buf out;

	buf_init(&out, 100);
	for (int i = 0; i < 5; i++) {
		buf_reset(&out);
		base64_add(&out, str_from(pairs[i][0]));
		assert_str(buf_str(&out), pairs[i][1]);
		buf_reset(&out);
		assert_true(base64_read(str_from(pairs[i][1]), &out));
		assert_str(buf_str(&out), pairs[i][0]);
	}
	assert_false(base64_read(STR("Zg="), &out));
	assert_false(base64_read(STR("Zh=="), &out)); /* bits beyond the end */
	assert_false(base64_read(STR("Z=g="), &out));
	buf_fini(&out);
}

/* What the pull reader takes and refuses, each also with every prefix cut off, which must be refused. */
static void test_json_reader(void **state)
{
	static const char *const good[] = { "{}", "[]", "[1,-0,0.5e+10,1E2]", "{\"a\":[true,false,null],\"b\":{\"c\":\"\\u00e9\\n\"}}",
		"\"x\"" };
	static const char *const bad[] = { "", "{", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{a:1}", "[01]", "[1.]", "[.5]", "[1e]", "[+1]",
		"nul", "[1] 2", "\"\\x\"", "\"\\u12g4\"", "\"a\nb\"", "{\"a\":1,}", "[1}", "{\"a\":1]", "[tru]", "-" };
	struct json_reader r;
	struct buf out;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		for (size_t len = 0; len <= strlen(good[i]); len++) {
			json_reader_init(&r, str_of(good[i], len));
			json_read_skip(&r);
			assert_int_equal(json_read_end(&r), len == strlen(good[i]));
		}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		json_reader_init(&r, str_from(bad[i]));
		json_read_skip(&r);
		assert_false(json_read_end(&r));
	}
	buf_init(&out, 100);
	json_unescape(STR("a\\n\\u20ac\\ud83d\\ude00\\ud800x\\/"), &out);
	assert_str(buf_str(&out), "a\n\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbdx/");
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deliveries_are_small),
		cmocka_unit_test(test_rounding_does_not_add_up),
		cmocka_unit_test(test_deliveries_refused),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_faults_have_places),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_definitions),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_json_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
