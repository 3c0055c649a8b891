/* fuzz_workload: workload files, and traces.
 *
 * What is read can be written and read again with the same hash; its requests have the lengths that they say, turn after turn, and due
 * times never go back. A trace that is read can be frozen, and what was frozen can be read. */
#include "workload/freeze.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

enum { STARTS = 8, TURNS = 4, TOKENS = 20000 };

static void check_request(const struct workload *w, const struct workload_request *r)
{
	uint64_t tokens = 0;
	struct buf text;

	buf_init(&text, 1 << 20);
	for (uint32_t i = 0; i < r->message_count; i++) {
		tokens += r->messages[i].tokens + workload_template_tokens(w);
		if (r->messages[i].tokens > TOKENS)
			continue;
		buf_reset(&text);
		workload_text(r, i, &text);
		REQUIRE(text.len == 4 * (size_t)r->messages[i].tokens - 1);
	}
	REQUIRE(tokens == r->prompt_tokens && r->output_tokens > 0);
	buf_fini(&text);
}

static void check_requests(const struct workload *w)
{
	struct workload_request r;
	struct workload_plan plan;
	uint64_t before = 0;

	workload_plan_default(w, &plan);
	REQUIRE(workload_plan_check(w, &plan, NULL));
	struct workload_cursor *c = workload_cursor_new(w, &plan);

	workload_request_init(&r);
	for (int i = 0; i < STARTS && workload_next(c, &r); i++) {
		REQUIRE(r.due_ns >= before);
		before = r.due_ns;
		check_request(w, &r);
		for (uint32_t turn = 1; turn < TURNS && r.more; turn++) {
			REQUIRE(workload_request_make(w, &plan, r.number, turn, &r));
			check_request(w, &r);
		}
	}
	workload_request_fini(&r);
	workload_cursor_free(c);
}

static void check_round_trip(const struct workload *w)
{
	struct error e = { 0 };
	struct buf out;

	buf_init(&out, SIZE_MAX / 2);
	content_write(w, &out);
	struct workload *again = workload_parse(STR("again"), buf_str(&out), &e);

	REQUIRE(again && !strcmp(workload_hash(again), workload_hash(w)));
	workload_free(again);
	buf_fini(&out);
}

static void check_trace(struct str text)
{
	const struct freeze_options options = { .prompt_most = 5000, .limit = 100 };
	struct error e = { 0 };
	struct trace trace;
	struct arena arena;

	arena_init(&arena);
	if (trace_parse(&arena, STR("trace"), text, &trace, &e)) {
		struct workload *w = freeze_trace(&trace, STR("trace"), &options, &e);

		REQUIRE(w);
		if (!trace.timed)
			w->plan.arrivals = (struct workload_arrivals){ .process = WORKLOAD_CLOSED, .concurrency = 1 };
		if (content_finish(w, &e)) {
			check_round_trip(w);
			check_requests(w);
		}
		workload_free(w);
	}
	arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = str_of((const char *)data, size);
	struct error e = { 0 };
	struct workload *w = workload_parse(STR("w"), text, &e);

	REQUIRE(w ? !e.set : e.set && e.status == EXIT_BAD_INPUT);
	if (w) {
		check_round_trip(w);
		check_requests(w);
	}
	workload_free(w);
	check_trace(text);
	return 0;
}
