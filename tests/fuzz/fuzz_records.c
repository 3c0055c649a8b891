/* fuzz_records: a file of request records, or a table of another tool's.
 *
 * It is refused with a place in it, or read; what was read is written as text that reads back the same, and can be judged. */
#include "slo/tally.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

static void write_all(const struct records *r, struct buf *out)
{
	records_write_run(out, &r->run);
	VEC_EACH (&r->requests, t)
		records_write(out, t);
}

static void judge(const struct records *r)
{
	struct slo_set set;
	struct tally t;

	slo_set_init(&set);
	set.general.limit_ms[SLO_TTFT] = 500;
	set.general.limit_ms[SLO_STALL] = 100;
	tally_init(&t);
	tally_records(&t, r, &(struct tally_options){ .slo = &set, .window_s = NAN });
	REQUIRE(t.total == r->requests.count && t.judged + t.left_out == t.total);
	REQUIRE(t.good <= t.complete && t.complete + t.failed + t.unsent == t.judged);
	tally_fini(&t);
}

/* Reads what was written, and writes it again. */
static void check_round_trip(const struct records *r)
{
	struct buf first, second;
	struct records back;
	struct arena arena;
	struct error e = { 0 };

	arena_init(&arena);
	buf_init(&first, 1 << 26);
	buf_init(&second, 1 << 26);
	records_init(&back);
	write_all(r, &first);
	REQUIRE(records_read(&back, &arena, STR("again"), buf_str(&first), &e));
	write_all(&back, &second);
	REQUIRE(str_eq(buf_str(&first), buf_str(&second)));
	records_fini(&back);
	buf_fini(&first);
	buf_fini(&second);
	arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct records r;
	struct arena arena;
	struct error e = { 0 };
	struct buf ignored;
	char *bytes = malloc(size + 1);

	REQUIRE(bytes);
	if (size)
		memcpy(bytes, data, size);
	struct str text = str_of(bytes, size);

	arena_init(&arena);
	buf_init(&ignored, 1 << 20);
	records_init(&r);
	bool is_table = size && data[0] != '{';
	bool is_vllm = !is_table && str_search(text, STR("ttfts")) >= 0;
	bool ok = is_vllm    ? records_read_vllm(&r, &arena, STR("input"), text, &e)
		  : is_table ? records_read_table(&r, &arena, STR("input"), text, &ignored, &e)
			     : records_read(&r, &arena, STR("input"), text, &e);

	REQUIRE(ok || e.set);
	if (ok) {
		judge(&r);
		if (!is_table)
			check_round_trip(&r);
	}
	records_fini(&r);
	buf_fini(&ignored);
	arena_fini(&arena);
	free(bytes);
	return 0;
}
