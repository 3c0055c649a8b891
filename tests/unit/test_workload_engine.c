/* The engine model serves workloads: its prefix cache finds what the workload shares. */
#include "engine_probe.h"
#include "workload/profile.h"

#include <math.h>

enum { BLOCK = 16 };

static void ignore(void *context, const struct engine_event *event) {}

static struct engine *large_engine(void)
{
	struct engine_config c;
	struct error e = { 0 };

	engine_config_default(&c);
	c.block_size = BLOCK;
	c.max_model_len = 200000;
	c.num_gpu_blocks = 4000000;
	c.prefix_caching = true;
	c.cost = (struct step_cost){ probe_second, NULL, 0 };
	if (!engine_config_check(&c, &e))
		error_print(&e, stderr);
	return engine_new(&c, ignore, NULL);
}

/* Share of prompt tokens found in the cache, one request after the other. */
static double hit_share(const struct workload *w, uint64_t count, double *expected)
{
	struct engine *engine = large_engine();
	struct workload_request r;
	struct workload_plan plan;
	struct engine_state s;
	struct arena arena;
	struct workload_profile p;

	arena_init(&arena);
	workload_request_init(&r);
	workload_plan_default(w, &plan);
	profile_make(&arena, w, count, &p);
	*expected = p.shared;
	for (uint64_t i = 0; i < count; i++) {
		assert_true(workload_request_make(w, &plan, i, 0, &r));
		uint64_t *ids = ARENA_ARRAY(&arena, uint64_t, r.prompt_tokens / BLOCK + 1);
		size_t n = workload_content_ids(&r, BLOCK, ids, r.prompt_tokens / BLOCK + 1);
		struct engine_request q = { .id = i,
			.arrival = engine_now(engine),
			.prompt_tokens = r.prompt_tokens,
			.output_tokens = 2,
			.content = { .ids = ids, .id_count = (uint32_t)n, .id_tokens = BLOCK, .tokens = (uint32_t)n * BLOCK } };

		assert_true(engine_submit(engine, &q) != 0);
		assert_true(engine_drain(engine));
	}
	engine_state(engine, &s);
	double share = (double)s.counters->prefix_hits / (double)s.counters->prefix_queries;

	engine_free(engine);
	workload_request_fini(&r);
	arena_fini(&arena);
	return share;
}

static void check(const char *text, double share)
{
	struct error e = { 0 };
	struct workload *w = workload_parse(STR("w"), str_from(text), &e);
	double expected;

	if (!w)
		error_print(&e, stderr);
	assert_non_null(w);
	double found = hit_share(w, 1500, &expected);

	/* a cache of whole blocks loses up to one of them a request */
	assert_true(found <= expected + 1e-9 && found > expected - (double)BLOCK / 500);
	assert_true(fabs(expected - share) < 0.01);
	workload_free(w);
}

static void test_hit_share(void **state)
{
	check("goodput_workload: 1\narrivals: {rate: 5}\nmix: [{prompt: {mean: 1000, cv: 0.4, least: 500}, output: 9}]\nprefix: {groups: "
	      "6, share: 0.4}\n",
		0.4);
	check("goodput_workload: 1\narrivals: {rate: 5}\nmix: [{prompt: 2000, output: 9}]\nprefix: {groups: 3, tokens: 512}\n", 0.255);
	check("goodput_workload: 1\narrivals: {rate: 5}\nmix: [{prompt: 1000, output: 9}]\n", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_hit_share) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
