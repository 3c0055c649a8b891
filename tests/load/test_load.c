/* The load generator from inside: what a run or a probe leaves in its timelines. */
#include "load/load.h"
#include "odd_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* A load of one path of the odd server. */
struct case_of_load {
	struct load_options options;
	struct workload_plan plan;
	struct endpoint *endpoint;
	struct workload *workload;
};

static void case_open(struct case_of_load *c, void **state, const char *path)
{
	static const char mix[] =
		"goodput_workload: 1\nname: small\narrivals: {process: closed, concurrency: 1}\nmix:\n- {prompt: 8, output: 8}\n";
	struct error e = { 0 };
	char url[64];

	snprintf(url, sizeof url, "http://127.0.0.1:%d", odd_server_port(*state));
	c->endpoint = endpoint_new(&(struct endpoint_options){ .url = url }, &e);
	c->workload = workload_parse(STR("mix"), str_from(mix), &e);
	assert_false(e.set);
	workload_plan_default(c->workload, &c->plan);
	c->plan.requests = 3;
	c->options = (struct load_options){ .endpoint = c->endpoint,
		.path = str_from(path),
		.model = STR("m"),
		.request_prefix = STR("t-"),
		.workload = c->workload,
		.plan = &c->plan,
		.grace_ns = -1,
		.threads = 1 };
}

static void case_close(struct case_of_load *c)
{
	endpoint_free(c->endpoint);
	workload_free(c->workload);
}

/* All times of a probe count from one beginning. */
static void test_probe_times(void **state)
{
	struct case_of_load c;
	struct timeline t;
	struct error e = { 0 };

	case_open(&c, state, "/answer");
	timeline_init(&t);
	assert_true(load_probe(&c.options, &t, &e));
	assert_int_equal(t.outcome, TIMELINE_OK);
	assert_true(t.submitted_ns >= 0);
	assert_true(t.sent_ns >= t.submitted_ns);
	assert_true(t.headers_ns >= t.submitted_ns);
	assert_true(t.closed_ns >= t.headers_ns);
	timeline_fini(&t);
	case_close(&c);
}

static void test_run_times(void **state)
{
	struct case_of_load c;
	struct load_result r;
	struct error e = { 0 };

	case_open(&c, state, "/answer");
	assert_true(load_run(&c.options, &r, &e));
	assert_int_equal(r.requests.count, 3);
	VEC_EACH (&r.requests, t) {
		assert_int_equal(t->outcome, TIMELINE_OK);
		assert_true(t->submitted_ns >= 0 && t->headers_ns >= t->submitted_ns && t->closed_ns >= t->headers_ns);
	}
	load_result_fini(&r);
	case_close(&c);
}

/* Ctrl-C before the probe has left. */
static void test_probe_stopped(void **state)
{
	volatile bool stop = true;
	struct case_of_load c;
	struct timeline t;
	struct error e = { 0 };

	case_open(&c, state, "/nothing");
	c.options.stop = &stop;
	timeline_init(&t);
	assert_true(load_probe(&c.options, &t, &e));
	assert_int_equal(t.outcome, TIMELINE_CANCELLED);
	timeline_fini(&t);
	case_close(&c);
}

static int server_open(void **state)
{
	*state = odd_server_new(NULL);
	return 0;
}

static int server_close(void **state)
{
	odd_server_free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_probe_times), cmocka_unit_test(test_run_times),
		cmocka_unit_test(test_probe_stopped) };

	return cmocka_run_group_tests(tests, server_open, server_close);
}
