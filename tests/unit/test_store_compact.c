/* Compacting: small chunks become few, and nothing else changes: not for readers meanwhile, not after a kill in the midst of it. */
#include "store_fixture.h"

/* Series that come one by one are sealed after every tenth row, small chunks by half a full one. */
static const struct store_options options = { .chunk_rows = 48, .loose_samples = SERIES * 10 };

enum shape { EQUAL_TIMES, OWN_TIMES };

/* Counters; some of every sort of value. With times of their own some are missing for a while, and some come now and then only. */
static void loose_appended(struct fixture *f, enum shape shape, int from, int to)
{
	for (int step = from; step < to; step++) {
		for (int i = 0; i < SERIES; i++) {
			uint64_t r = next_random(f);
			bool missing = shape == OWN_TIMES && (i % 7 == 3 ? step % 11 : (step / 40) % 9 == i % 9);
			if (missing)
				continue;
			double v = i % 6 == 5 ? number_from_bits(r) : r % 500 == 0 ? number_stale() : (double)(step / (1 + i % 7));
			append_one(f, i, START_MS + (int64_t)step * STEP_MS + (shape == OWN_TIMES ? i % 5 : 0), v);
		}
		commit(f);
	}
}

static void test_few_chunks(void **state)
{

	struct fixture *f = *state;

	open_store(f, &options);
	loose_appended(f, EQUAL_TIMES, 0, 2400);
	/* 240 were sealed; three hours and a third of 720 rows, 48 or 50 rows each. */
	assert_in_range(sql_number(f, "SELECT count(*) FROM chunks"), 40, 64);
	assert_int_equal(sql_number(f, "SELECT count(*) FROM chunks WHERE set_id = 0"), 0);
	/* But the first one: it begins with the last sample of the half day before, which a digest had looked at. */
	assert_int_equal(sql_number(f, "SELECT count(*) FROM chunks WHERE (t_first - 1) / 3600000 != (t_last - 1) / 3600000"), 1);
	compare_again(f, &options);
	loose_appended(f, EQUAL_TIMES, 2400, 2900);
	compare_again(f, &options);
}

static void test_times_of_their_own(void **state)
{
	struct fixture *f = *state;

	open_store(f, &options);
	for (int step = 0; step < 2000; step += 500) {
		loose_appended(f, OWN_TIMES, step, step + 500);
		compare_all(f);
	}
	assert_in_range(sql_number(f, "SELECT count(*) FROM chunks"), 30, 80);
	compare_again(f, &options);
}

/* First in rows, then one by one, then in rows again: two sets have the same series. */
static void test_mixed_with_rows(void **state)
{
	struct fixture *f = *state;
	int which[SERIES];
	double values[SERIES];

	open_store(f, &options);
	for (int step = 0; step < 900; step++) {
		if (step / 100 % 2) {
			loose_appended(f, EQUAL_TIMES, step, step + 1);
			continue;
		}
		for (int i = 0; i < SERIES; i++) {
			which[i] = i;
			values[i] = (double)(step * i);
		}
		append_some(f, which, SERIES, START_MS + (int64_t)step * STEP_MS, values);
		commit(f);
	}
	compare_again(f, &options);
}

/* Few a day, hours between them: neither one chunk over all, nor the same work again and again. */
static void test_slow_series(void **state)
{
	struct fixture *f = *state;
	const struct store_options slow = { .chunk_rows = 48, .loose_samples = SERIES * 5 };

	open_store(f, &slow);
	for (int step = 0; step < 1200; step++) {
		for (int i = 0; i < SERIES; i++)
			append_one(f, i, START_MS + (int64_t)step * 300000 + (step > 600 ? INT64_C(86400000) : 0), step);
		commit(f);
	}
	int64_t before = sql_number(f, "SELECT max(id) FROM chunks");
	for (int i = 0; i < 50; i++)
		commit(f);
	assert_int_equal(sql_number(f, "SELECT max(id) FROM chunks"), before);
	assert_in_range(sql_number(f, "SELECT count(*) FROM chunks"), 12, 60);
	/* One was sealed over the day without samples. */
	assert_in_range(sql_number(f, "SELECT count(*) FROM chunks WHERE t_last - t_first > 43200000"), 0, 1);
	compare_again(f, &slow);
}

static void test_readers_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct reading reading;

	open_store(f, &options);
	loose_appended(f, OWN_TIMES, 0, 100);
	reading_begin(&reading, f->store);
	loose_appended(f, OWN_TIMES, 100, 500);
	reading_end(&reading);
	compare_all(f);
}

/* Killed after new chunks were written and before the old ones were deleted. */
static void test_old_ones_left(void **state)
{
	struct fixture *f = *state;

	open_store(f, &options);
	loose_appended(f, EQUAL_TIMES, 0, 300);
	store_free(f->store);
	f->store = NULL;
	int64_t sections = sql_number(f, "SELECT count(*) FROM sections");
	sql(f, "INSERT INTO sections SELECT ((SELECT max(id) + 1 FROM chunks) << 12) + (id & 4095), checksum, summary, data FROM sections"
	       " WHERE id >> 12 = (SELECT max(id) FROM chunks);"
	       "INSERT INTO chunks SELECT id + 1, 0, t_first, t_last, row_count, samples, sealed, times FROM chunks ORDER BY id DESC LIMIT "
	       "1");
	assert_true(sql_number(f, "SELECT count(*) FROM sections") > sections);
	verify(f);
	open_store(f, &(struct store_options){ .read_only = true });
	compare_all(f);
	store_free(f->store);
	open_store(f, &options);
	compare_all(f);
	commit(f);
	assert_int_equal(sql_number(f, "SELECT count(*) FROM chunks WHERE set_id = 0"), 0);
	assert_int_equal(sql_number(f, "SELECT count(*) FROM sections"), sections);
	loose_appended(f, EQUAL_TIMES, 300, 600);
	compare_again(f, &options);
}

/* What cannot be read cannot be compacted: it stays, and so does everything else. */
static void test_damaged_section(void **state)
{
	struct fixture *f = *state;
	struct arena arena;
	size_t count, samples = 0, expected = 0;

	open_store(f, &options);
	loose_appended(f, EQUAL_TIMES, 0, 15);
	assert_int_equal(sql_number(f, "SELECT count(*) FROM chunks"), 1);
	sql(f, "UPDATE sections SET checksum = checksum + 1 WHERE id = (SELECT min(id) FROM sections)");
	loose_appended(f, EQUAL_TIMES, 15, 300);
	assert_in_range(sql_number(f, "SELECT count(*) FROM chunks"), 6, 20);
	arena_init(&arena);
	struct series_view *views = store_select(f->store, &arena, NULL, 0, START_MS + 11 * STEP_MS, INT64_MAX, &count);
	for (size_t i = 0; i < count; i++)
		samples += views[i].count;
	for (int i = 0; i < SERIES; i++)
		expected += f->truth.count[i] - 11;
	assert_int_equal(count, SERIES);
	assert_int_equal(samples, expected);
	arena_fini(&arena);
}

/* Format 2 had no chunk that is replaced: there its set is one that is missing. */
static void test_older_format(void **state)
{
	struct fixture *f = *state;
	struct error e = { 0 };

	open_store(f, &options);
	loose_appended(f, EQUAL_TIMES, 0, 100);
	store_free(f->store);
	f->store = NULL;
	sql(f, "PRAGMA user_version = 2");
	open_store(f, &options);
	assert_int_equal(sql_number(f, "PRAGMA user_version"), 3);
	compare_all(f);
	store_free(f->store);
	sql(f, "PRAGMA user_version = 2; UPDATE chunks SET set_id = 0 WHERE id = (SELECT min(id) FROM chunks)");
	f->store = store_open(f->path, &(struct store_options){ .read_only = true }, &e);
	assert_null(f->store);
	assert_non_null(strstr(e.message, "damaged"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = { TEST(test_few_chunks), TEST(test_times_of_their_own), TEST(test_mixed_with_rows),
		TEST(test_slow_series), TEST(test_readers_meanwhile), TEST(test_old_ones_left), TEST(test_damaged_section),
		TEST(test_older_format) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
