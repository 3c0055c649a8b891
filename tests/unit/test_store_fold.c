/* Folding: windows of series without their samples are what a look at every sample gives, from chunks, digests and the head. */
#include "store_fixture.h"

/* Counters as a server has them: most steady or rising, now and then a restart (a stale row, then from zero), a member that is missing for
 * a while, one that comes alone. Most chunks have nothing special, so that windows are made of summaries. */
struct fleet {
	double last[SERIES];
	int missing;
	uint64_t rarely; /* one in so many rows is special */
};

static void fleet_step(struct fixture *f, struct fleet *fleet, int64_t t_ms)
{
	int which[SERIES], count = 0;
	double values[SERIES], *last = fleet->last;
	uint64_t r = next_random(f) % fleet->rarely;

	if (r == 0 || r == 1)
		fleet->missing = r ? -1 : (int)(next_random(f) % SERIES);
	for (int i = 0; i < SERIES; i++) {
		uint64_t change = next_random(f);
		if (r == 2)
			last[i] = 0;
		else if (i % 3)
			last[i] += i % 6 == 1 ? (double)(change % 9) / 8 : (double)(change % 3);
		if (i % 20 == 7 && change % (fleet->rarely * 3) == 0)
			last[i] /= 2;
		if (i == fleet->missing)
			continue;
		which[count] = i;
		values[count++] = r == 2 ? number_stale() : last[i];
	}
	append_some(f, which, count, t_ms, values);
	if (fleet->missing >= 0 && r % 7 == 0)
		append_one(f, fleet->missing, t_ms + 1, last[fleet->missing]);
}

static void test_folds_of_counters(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 48 };
	struct fleet fleet = { .missing = -1, .rarely = 100 };

	open_store(f, &options);
	for (int step = 0; step < 2600; step++) {
		int64_t t_ms = START_MS + (int64_t)step * STEP_MS;
		fleet_step(f, &fleet, t_ms);
		if (step % 2)
			commit(f);
		if (step % 650 == 649) {
			/* What was read before must not hide chunks that are newer. */
			compare_window(f, t_ms - 500 * STEP_MS, t_ms - 100 * STEP_MS);
			compare_folds(f);
		}
	}
	compare_again(f, &options);
}

/* Days: chunks end at full hours, and digests have what half days of them say. */
static void compare_days(struct fixture *f, int64_t newest)
{
	enum { HOUR = 3600000 };
	size_t hours = (size_t)((newest - START_MS) / HOUR);

	for (int64_t range = 1; range < 30; range = range * 2 + 1) {
		compare_fold(f, &(struct series_windows){ START_MS + HOUR, HOUR, range * HOUR, hours + 1 });
		compare_fold(f, &(struct series_windows){ START_MS + 5 * HOUR, 3 * HOUR, range * HOUR + 7777, hours / 3 });
	}
	compare_fold(f, &(struct series_windows){ START_MS, 7 * HOUR, HOUR, hours / 7 });
	compare_fold(f, &(struct series_windows){ newest, 0, newest - START_MS + 1, 1 });
}

static void days_appended(struct fixture *f, struct fleet *fleet, int from, int to)
{
	for (int step = from; step < to; step++) {
		fleet_step(f, fleet, START_MS + (int64_t)step * 20000);
		commit(f);
	}
}

static void test_folds_of_days(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 64 };
	struct fleet fleet = { .missing = -1, .rarely = 2500 };

	open_store(f, &options);
	days_appended(f, &fleet, 0, 6000);
	int64_t written = sql_number(f, "SELECT count(*) FROM digests");
	assert_true(written >= 2);
	/* Nearly all chunks begin and end in one hour. */
	assert_true(sql_number(f, "SELECT count(*) FROM chunks WHERE (t_first - 1) / 3600000 != (t_last - 1) / 3600000") <=
		    sql_number(f, "SELECT count(*) FROM chunks") / 10);
	compare_days(f, START_MS + INT64_C(6000) * 20000);
	compare_again(f, &options);
	days_appended(f, &fleet, 6000, 9000);
	assert_true(sql_number(f, "SELECT count(*) FROM digests") > written);
	compare_days(f, START_MS + INT64_C(9000) * 20000);
	verify(f);
	store_free(f->store);
	open_store(f, &(struct store_options){ .chunk_rows = 64, .retention_ms = 24 * 3600000 });
	compare_days(f, START_MS + INT64_C(9000) * 20000);
	written = sql_number(f, "SELECT count(*) FROM digests");
	for (int i = 0; i < 100; i++)
		assert_true(store_retain(f->store, START_MS + INT64_C(9000) * 20000, NULL));
	verify(f);
	assert_true(sql_number(f, "SELECT count(*) FROM digests") < written);
	assert_int_equal(sql_number(f, "SELECT count(*) FROM digest_sections WHERE id >> 12 NOT IN (SELECT id FROM digests)"), 0);
}

/* What is read is the digest: one that lies is believed, and told by verify. */
static void test_digests_are_read(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 64 };
	struct fleet fleet = { .missing = -1, .rarely = 1000000 };
	struct error e = { 0 };
	struct store_verified result;

	open_store(f, &options);
	days_appended(f, &fleet, 0, 2700);
	store_free(f->store);
	f->store = NULL;
	assert_int_equal(sql_number(f, "SELECT count(*) FROM digests"), 1);
	sql(f, "DELETE FROM sections WHERE id >> 12 IN (SELECT id - 3 FROM digests)");
	open_store(f, &options);
	compare_fold(f, &(struct series_windows){ START_MS + 3600000, 3600000, 3600000, 12 });
	store_free(f->store);
	f->store = store_open(f->path, &(struct store_options){ .read_only = true }, &e);
	assert_non_null(f->store);
	assert_false(store_verify(f->store, NULL, NULL, &result));
}

static void fault_seen(void *context, const char *what)
{
	*(bool *)context |= strstr(what, "digest") != NULL;
}

static void test_damaged_digest(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 64 };
	struct fleet fleet = { .missing = -1, .rarely = 1000000 };
	struct error e = { 0 };
	struct store_verified result;
	bool seen = false;

	open_store(f, &options);
	days_appended(f, &fleet, 0, 2700);
	store_free(f->store);
	sql(f, "UPDATE digest_sections SET data = substr(data, 1, length(data) - 1) || x'55' WHERE id & 4095 = 0");
	f->store = store_open(f->path, &(struct store_options){ .read_only = true }, &e);
	assert_non_null(f->store);
	assert_false(store_verify(f->store, fault_seen, &seen, &result));
	assert_true(seen);
	/* The chunks have it all. */
	compare_fold(f, &(struct series_windows){ START_MS + 3600000, 3600000, 3600000, 12 });
}

/* Each series with times of its own, in one set. */
static void test_folds_of_loose_counters(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 50 };

	open_store(f, &options);
	for (int step = 0; step < 500; step++) {
		for (int i = 0; i < SERIES; i++)
			if (i % 2 || step % 40 != i % 40)
				append_one(f, i, START_MS + (int64_t)step * STEP_MS + i % 5, (double)(step / (1 + i % 7)));
		commit(f);
	}
	compare_again(f, &options);
}

/* A file of format 1 has no digests: it is read as it is, and raised when it is written. */
static void test_older_format(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 64 };
	struct fleet fleet = { .missing = -1, .rarely = 1000 };

	open_store(f, &options);
	days_appended(f, &fleet, 0, 2700);
	store_free(f->store);
	sql(f, "DROP TABLE digests; DROP TABLE digest_sections; PRAGMA user_version = 1");
	open_store(f, &(struct store_options){ .read_only = true });
	compare_days(f, START_MS + INT64_C(2700) * 20000);
	assert_int_equal(sql_number(f, "PRAGMA user_version"), 1);
	store_free(f->store);
	open_store(f, &options);
	assert_int_equal(sql_number(f, "PRAGMA user_version"), 3);
	commit(f);
	assert_int_equal(sql_number(f, "SELECT count(*) FROM digests"), 1);
	compare_days(f, START_MS + INT64_C(2700) * 20000);
	compare_again(f, &options);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = { TEST(test_folds_of_counters), TEST(test_folds_of_days), TEST(test_digests_are_read),
		TEST(test_damaged_digest), TEST(test_folds_of_loose_counters), TEST(test_older_format) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
