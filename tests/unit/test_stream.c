/* What the recorded streams do not show: several models, cancellation, limits, Retry-After as a date, an object used again. */
#include "openai/stream.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>

struct fed {
	struct timeline t;
	struct openai_stream s;
};

static void begin(struct fed *f, const struct openai_stream_options *options)
{
	timeline_init(&f->t);
	f->t.submitted_ns = 0;
	f->s = (struct openai_stream){ 0 };
	openai_stream_begin(&f->s, options, &f->t);
}

static void feed(struct fed *f, const char *text, int64_t ms)
{
	openai_stream_feed(&f->s, str_from(text), ms * 1000000);
}

static void end(struct fed *f)
{
	openai_stream_fini(&f->s);
	timeline_fini(&f->t);
}

#define CHUNK(model, text) "data: {\"model\":\"" model "\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define FINISH "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define DONE "data: [DONE]\n\n"

static void test_models(void **state)
{
	const struct openai_stream_options asked = { .asked_model = STR("a") };
	struct fed f;

	begin(&f, &asked);
	feed(&f, CHUNK("a", "x") CHUNK("a", "y") CHUNK("b", "z") FINISH DONE, 10);
	openai_stream_end(&f.s, OPENAI_END_BODY, 11000000);
	assert_int_equal(f.t.outcome, TIMELINE_OK);
	assert_int_equal(f.t.notes & (TIMELINE_SEVERAL_MODELS | TIMELINE_OTHER_MODEL), TIMELINE_SEVERAL_MODELS);
	end(&f);
	begin(&f, &asked);
	feed(&f, CHUNK("b", "x") FINISH DONE, 10);
	openai_stream_end(&f.s, OPENAI_END_BODY, 11000000);
	assert_int_equal(f.t.notes & (TIMELINE_SEVERAL_MODELS | TIMELINE_OTHER_MODEL), TIMELINE_OTHER_MODEL);
	end(&f);
}

static void test_cancelled(void **state)
{
	struct fed f;

	begin(&f, &(struct openai_stream_options){ 0 });
	feed(&f, CHUNK("a", "x"), 10);
	openai_stream_end(&f.s, OPENAI_END_CANCELLED, 20000000);
	assert_int_equal(f.t.outcome, TIMELINE_CANCELLED);
	assert_int_equal(f.t.error, TIMELINE_NO_ERROR);
	assert_int_equal(f.t.output_tokens, 1);
	end(&f);
	/* over before the run ended: it counts */
	begin(&f, &(struct openai_stream_options){ 0 });
	feed(&f, CHUNK("a", "x") FINISH DONE, 10);
	assert_true(openai_stream_is_over(&f.s));
	feed(&f, CHUNK("a", "ghost"), 15);
	openai_stream_end(&f.s, OPENAI_END_CANCELLED, 20000000);
	assert_int_equal(f.t.outcome, TIMELINE_OK);
	assert_true(f.t.notes & TIMELINE_AFTER_DONE);
	assert_int_equal(f.t.last_output_ns, 10000000);
	end(&f);
}

static void test_event_limit(void **state)
{
	struct fed f;

	begin(&f, &(struct openai_stream_options){ .event_max = 100 });
	feed(&f, CHUNK("a", "0123456789012345678901234567890123456789012345678901234567890123456789"), 10);
	openai_stream_end(&f.s, OPENAI_END_BODY, 20000000);
	assert_int_equal(f.t.error, TIMELINE_MALFORMED);
	assert_int_equal(f.t.bad_events, 1);
	end(&f);
}

static int64_t retry_after(const char *text, bool in_ms)
{
	struct fed f;
	int64_t got;

	begin(&f, &(struct openai_stream_options){ 0 });
	openai_stream_head(&f.s,
		&(struct openai_head){
			.status = 429, .retry_after = str_from(text), .retry_after_in_ms = in_ms, .now_unix = 1445412480 - 90 },
		5);
	got = f.t.retry_after_ms;
	end(&f);
	return got;
}

static void test_retry_after(void **state)
{
	assert_int_equal(retry_after("2", false), 2000);
	assert_int_equal(retry_after(" 1.5 ", false), 1500);
	assert_int_equal(retry_after("250", true), 250);
	assert_int_equal(retry_after("Wed, 21 Oct 2015 07:28:00 GMT", false), 90000);
	assert_int_equal(retry_after("Wed, 21 Oct 2014 07:28:00 GMT", false), 0); /* past */
	assert_int_equal(retry_after("soon", false), -1);
	assert_int_equal(retry_after("-3", false), -1);
	assert_int_equal(retry_after("", false), -1);
}

/* A whole answer after a stream that was cut: nothing of the first is left in the second. */
static void test_used_again(void **state)
{
	struct fed f;

	begin(&f, &(struct openai_stream_options){ 0 });
	feed(&f, CHUNK("a", "x") CHUNK("a", "y") "data: {\"choi", 10);
	openai_stream_end(&f.s, OPENAI_END_RESET, 20000000);
	assert_int_equal(f.t.error, TIMELINE_RESET);
	for (int i = 0; i < 3; i++) {
		timeline_reset(&f.t);
		f.t.submitted_ns = 0;
		openai_stream_begin(&f.s, &(struct openai_stream_options){ 0 }, &f.t);
		feed(&f, CHUNK("b", "1") CHUNK("b", "2") CHUNK("b", "3") FINISH DONE, 30);
		openai_stream_end(&f.s, OPENAI_END_BODY, 31000000);
		assert_int_equal(f.t.outcome, TIMELINE_OK);
		assert_int_equal(f.t.output_tokens, 3);
		assert_int_equal(f.t.notes, TIMELINE_NO_USAGE);
	}
	end(&f);
}

/* What the response said comes before what the connection did. */
static void test_cut_error_page(void **state)
{
	struct fed f;

	begin(&f, &(struct openai_stream_options){ 0 });
	openai_stream_head(&f.s, &(struct openai_head){ .status = 503, .content_type = STR("text/html"), .now_unix = NAN }, 5);
	feed(&f, "<html>Bad", 10);
	openai_stream_end(&f.s, OPENAI_END_CUT, 20000000);
	assert_int_equal(f.t.error, TIMELINE_HTTP_5XX);
	assert_int_equal(f.t.completed_ns, TIMELINE_NEVER);
	assert_string_equal(f.t.message, "a web page: <html>Bad");
	end(&f);
	begin(&f, &(struct openai_stream_options){ 0 });
	openai_stream_fail(&f.s, TIMELINE_DNS, STR("no such host"), 5);
	assert_int_equal(f.t.outcome, TIMELINE_ERROR);
	assert_int_equal(f.t.http_status, 0);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_models),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_event_limit),
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_used_again),
		cmocka_unit_test(test_cut_error_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
