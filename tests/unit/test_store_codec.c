/* Chunks as bytes: whatever values go in come out bit for bit; summaries say what they should; what is alike costs nothing. */
#include "base/mem.h"
#include "base/number.h"
#include "store/compress.h"
#include "store/deltas.h"
#include "store/section.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROWS_MOST = 400, COLUMNS_MOST = 24 };

static uint64_t seed = 88172645463325252ULL;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* ---- integers ---- */

static void pack_and_unpack(const int64_t *y, size_t n)
{
	uint8_t *packed = mem_alloc(deltas_room(n));
	int64_t *again = mem_zalloc(n, sizeof *again);
	struct deltas d;
	size_t size = (size_t)(deltas_pack(y, n, &d, packed) - packed);

	assert_true(size <= deltas_room(n));
	again[0] = y[0];
	assert_true(deltas_unpack(str_of((const char *)packed, size), d, again, n));
	assert_memory_equal(again, y, n * sizeof *y);
	/* Cut anywhere: refused, or other values, but nothing read outside (the sanitizers tell). */
	for (size_t cut = 0; cut < size; cut += 1 + size / 8) {
		char *part = mem_copy(packed, cut);
		deltas_unpack(str_of(part, cut), d, again, n);
		mem_free(part);
	}
	mem_free(packed);
	mem_free(again);
}

static void test_integers_come_back(void **state)
{
	static int64_t y[ROWS_MOST];

	for (int round = 0; round < 3000; round++) {
		size_t n = 1 + next_random() % ROWS_MOST;
		int width = (int)(next_random() % 65), rarely = (int)(next_random() % 6);
		uint64_t slope = next_random() % 3 ? 0 : next_random() >> (next_random() % 64);
		y[0] = (int64_t)(next_random() >> (next_random() % 64));
		for (size_t i = 1; i < n; i++) {
			uint64_t change = width ? next_random() >> (64 - width) : 0;
			bool falls = round % 2 && next_random() % 2;
			change = rarely && next_random() % (1u << rarely) ? 0 : falls ? 0 - change : change;
			y[i] = (int64_t)((uint64_t)y[i - 1] + change + slope);
		}
		pack_and_unpack(y, n);
	}
}

static void test_extreme_integers_come_back(void **state)
{
	const int64_t extremes[] = { INT64_MIN, INT64_MAX, 0, -1, 1, INT64_MIN + 1, INT64_MAX - 1, INT64_MIN, INT64_MIN, INT64_MAX };

	pack_and_unpack(extremes, ARRAY_LEN(extremes));
	pack_and_unpack(extremes, 1);
	pack_and_unpack(extremes, 2);
}

/* ---- sections ---- */

struct packed {
	struct buf summary, data;
};

static void section_there_and_back(
	const struct column *columns, size_t count, const struct times_list *lists, size_t list_count, struct packed *p)
{
	struct section section;
	struct arena arena;

	arena_init(&arena);
	buf_init(&p->summary, 1 << 26);
	buf_init(&p->data, 1 << 26);
	section_pack(columns, count, lists, &p->summary, &p->data);
	assert_true(section_open(&section, buf_str(&p->summary), lists, list_count, &arena));
	assert_int_equal(section.count, count);
	/* All at once, and each alone. */
	for (size_t only = 0; only <= count; only++) {
		double **out = ARENA_ARRAY(&arena, double *, count + 1);
		for (size_t i = 0; i < count; i++)
			if (columns[i].v && (only == count || i == only))
				out[i] = ARENA_ARRAY(&arena, double, lists[columns[i].list].count);
		assert_true(section_values(&section, buf_str(&p->data), lists, out, &arena));
		for (size_t i = 0; i < count; i++)
			if (out[i])
				assert_memory_equal(out[i], columns[i].v, lists[columns[i].list].count * sizeof(double));
	}
	for (size_t i = 0; i < count; i++) {
		assert_true((section_list(&section, i) == SECTION_ABSENT) == !columns[i].v);
		if (!columns[i].v)
			continue;
		struct column_summary says = section_summary(&section, i),
				      is = column_summarise(columns[i].v, lists[columns[i].list].count);
		assert_int_equal(number_bits(says.first), number_bits(is.first));
		assert_int_equal(number_bits(says.last), number_bits(is.last));
		assert_int_equal(number_bits(says.increase), number_bits(is.increase));
		assert_true(says.resets == is.resets && says.gaps == is.gaps);
	}
	arena_fini(&arena);
}

static void packed_fini(struct packed *p)
{
	buf_fini(&p->summary);
	buf_fini(&p->data);
}

static double random_value(int kind, double before)
{
	static const double specials[] = { 0.0, -0.0, 1.0 / 0.0, -1.0 / 0.0, 5e-324, -5e-324, 1.7976931348623157e308, 9007199254740991.0,
		9007199254740992.0, 9007199254740994.0, -9007199254740991.0, 1e-7, 0.1, 1e6, 999999.999999 };
	uint64_t r = next_random();

	switch (kind) {
	case 0: return (double)(r % 100000);
	case 1: return before + (double)(r % 6);
	case 2: return (double)(int64_t)(r % 2000000 - 1000000) / 1000;
	case 3: return number_from_bits(r);
	case 4: return specials[r % ARRAY_LEN(specials)];
	case 5: return before + (double)(r >> 11) / 9007199254740992.0;
	case 6: return r % 4 ? (double)(r % 9) : number_from_bits(0x7ff0000000000000ULL | (r >> 12) | 1); /* NaN payloads */
	default: return r % 30 ? before : r % 2 ? number_stale() : 0;
	}
}

static void test_values_come_back(void **state)
{
	static double v[COLUMNS_MOST][ROWS_MOST];
	static int64_t t[3][ROWS_MOST];

	for (int round = 0; round < 300; round++) {
		struct times_list lists[3];
		struct column columns[COLUMNS_MOST];
		size_t count = 1 + next_random() % COLUMNS_MOST;
		for (int k = 0; k < 3; k++)
			lists[k] = (struct times_list){ t[k], 1 + (uint32_t)(next_random() % ROWS_MOST) };
		for (size_t i = 0; i < count; i++) {
			int kind = (int)(next_random() % 8);
			uint32_t list = next_random() % 4 ? 0 : (uint32_t)(next_random() % 3);
			for (uint32_t k = 0; k < lists[list].count; k++)
				v[i][k] = random_value(kind, k ? v[i][k - 1] : 0);
			if (i && next_random() % 6 == 0 && columns[i - 1].v)
				memcpy(v[i], v[i - 1], sizeof v[i]);
			columns[i] = (struct column){ next_random() % 10 ? v[i] : NULL, list, next_random() % 2 };
		}
		struct packed p;
		section_there_and_back(columns, count, lists, 3, &p);
		packed_fini(&p);
	}
}

static void test_summaries(void **state)
{
	const double counter[] = { 5, 7, 7, 2, 3, 10 }, gaps[] = { 1, number_stale(), 4, number_nan(), 2 }, rising[] = { 1, 2, 4 };
	struct column_summary s = column_summarise(counter, 6);

	assert_true(s.first == 5 && s.last == 10 && s.resets && !s.gaps);
	assert_true(s.increase == 2 + 2 + 1 + 7); /* from 7 to 2: it began anew */
	s = column_summarise(gaps, 5);
	assert_true(s.gaps && s.resets && s.increase == 3 + 2);
	s = column_summarise(rising, 3);
	assert_true(!s.gaps && !s.resets && s.increase == 3);
}

/* Constants and columns that equal the one before have no data; a bucket that follows the one below needs none either. */
static void test_what_is_alike_is_free(void **state)
{
	static double constant[256], bucket[256], above[256];
	static int64_t t[256];
	const struct times_list list = { t, 256 };

	for (int i = 0; i < 256; i++) {
		constant[i] = 17.25;
		bucket[i] = (i ? bucket[i - 1] : 0) + (double)(next_random() % 1000);
		above[i] = bucket[i] + 12;
	}
	const struct column free_columns[] = { { constant, 0, false } }, one[] = { { bucket, 0, false } },
			    both[] = { { bucket, 0, false }, { above, 0, true }, { above, 0, false } };
	struct packed p, q;

	section_there_and_back(free_columns, 1, &list, 1, &p);
	assert_int_equal(p.data.len, 0);
	packed_fini(&p);
	section_there_and_back(one, 1, &list, 1, &p);
	section_there_and_back(both, 3, &list, 1, &q);
	assert_true(p.data.len > 200);
	assert_int_equal(p.data.len, q.data.len);
	packed_fini(&p);
	packed_fini(&q);
}

/* ---- times, blobs ---- */

static void test_times(void **state)
{
	static int64_t t[2][ROWS_MOST];
	struct arena arena;
	struct buf out;
	size_t count;

	arena_init(&arena);
	for (int i = 0; i < ROWS_MOST; i++) {
		t[0][i] = 1768435200000 + (int64_t)i * 5000;
		t[1][i] = i == 0 ? INT64_MIN : i == ROWS_MOST - 1 ? INT64_MAX : (int64_t)i * i - 70000;
	}
	const struct times_list lists[] = { { t[0], ROWS_MOST }, { t[1], ROWS_MOST }, { t[1], 1 } };
	buf_init(&out, 1 << 20);
	times_pack(lists, 3, &out);
	struct times_list *again = times_unpack(buf_str(&out), &arena, &count);
	assert_non_null(again);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_memory_equal(again[i].t, lists[i].t, lists[i].count * sizeof(int64_t));
	for (size_t cut = 0; cut < out.len; cut++)
		assert_null(times_unpack(str_of(out.ptr, cut), &arena, &count));
	/* Times that fall are damage. */
	buf_reset(&out);
	t[0][7] = 0;
	times_pack(lists, 1, &out);
	assert_null(times_unpack(buf_str(&out), &arena, &count));
	buf_fini(&out);
	arena_fini(&arena);
}

static void test_blobs(void **state)
{
	struct compressor *c = compressor_new(false);
	struct buf plain, packed;
	struct str again;

	buf_init(&plain, 1 << 20);
	buf_init(&packed, 1 << 20);
	for (int round = 0; round < 200; round++) {
		buf_reset(&plain);
		buf_reset(&packed);
		for (uint64_t n = next_random() % 3000; n; n--)
			buf_add_c(&plain, (char)(next_random() >> (round % 8 + 56)));
		compressor_pack(c, buf_str(&plain), &packed);
		assert_true(packed.len <= plain.len + 1);
		assert_true(compressor_unpack(c, buf_str(&packed), &again));
		assert_true(str_eq(again, buf_str(&plain)));
	}
	assert_false(compressor_unpack(c, STR(""), &again));
	assert_false(compressor_unpack(c, STR("\x02x"), &again));
	assert_false(compressor_unpack(c, STR("\x01\xff\xff\xff\x7fxyz"), &again));
	buf_fini(&plain);
	buf_fini(&packed);
	compressor_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integers_come_back),
		cmocka_unit_test(test_extreme_integers_come_back),
		cmocka_unit_test(test_values_come_back),
		cmocka_unit_test(test_summaries),
		cmocka_unit_test(test_what_is_alike_is_free),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_blobs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
