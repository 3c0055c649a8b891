/* The store on disk: what was committed is there again, bit for bit. */
#include "base/file.h"
#include "store_fixture.h"

#include <signal.h>
#include <sys/resource.h>

/* Integers, decimals, noise and every kind of special. */
static double adversarial(struct fixture *f, int i, double before)
{
	static const double specials[] = { 0.0, -0.0, 1.0 / 0.0, -1.0 / 0.0, 5e-324, 1.7976931348623157e308, 9007199254740992.0,
		9007199254740993.0, -9007199254740991.0, 0.1 };
	uint64_t r = next_random(f);

	switch (i % 7) {
	case 0: return before + (double)(r % 5);
	case 1: return before + (double)(r % 1000) / 100;
	case 2: return number_from_bits(next_random(f)); /* NaN payloads too */
	case 3: return specials[r % ARRAY_LEN(specials)];
	case 4: return r % 10 ? before : (double)(r % 7);
	case 5: return before + (double)(r >> 11) / 9007199254740992.0;
	default: return r % 3 ? number_stale() : number_from_bits(0x7ff0000000000000ULL | (r & 0xfffff) | 1);
	}
}

static void append_rows(struct fixture *f, int from, int to)
{
	static double last[SERIES];
	int which[SERIES];

	for (int step = from; step < to; step++) {
		double values[SERIES];
		for (int i = 0; i < SERIES; i++) {
			which[i] = i;
			last[i] = adversarial(f, i, step ? last[i] : 0);
			if (i < 21) { /* a histogram */
				values[i] = last[i] = i ? values[i - 1] + (double)(step / (i + 1)) : step;
				continue;
			}
			values[i] = last[i];
		}
		append_some(f, which, SERIES, START_MS + (int64_t)step * STEP_MS + (step % 9 == 0 ? 3 : 0), values);
		if (step % 3 == 0)
			commit(f);
	}
	commit(f);
}

static void test_rows_survive(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 64 };

	open_store(f, &options);
	append_rows(f, 0, 500);
	compare_again(f, &options);
	append_rows(f, 500, 700);
	compare_again(f, &options);
	assert_int_equal(store_sample_count(f->store), 700 * SERIES);
}

static void test_loose_survive(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 50 };

	open_store(f, &options);
	for (int step = 0; step < 400; step++) {
		for (int i = 0; i < SERIES; i++)
			if (next_random(f) % 3)
				append_one(f, i, START_MS + (int64_t)step * STEP_MS + i % 4, adversarial(f, i, step));
		if (step % 5 == 0)
			commit(f);
	}
	commit(f);
	compare_again(f, &options);
}

/* Pages that change their shape, series that come and go, rows and single samples of the same series. */
static void test_mixture_survives(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 40 };

	open_store(f, &options);
	int64_t t_ms = START_MS;
	for (int round = 0; round < 150; round++) {
		int which[SERIES], count = 0;
		bool rows = next_random(f) % 4;
		for (int i = 0; i < SERIES; i++)
			if (next_random(f) % 8 || round % 7 == 0)
				which[count++] = i;
		for (int step = 0; step < 1 + (int)(next_random(f) % 30); step++) {
			double values[SERIES];
			t_ms += STEP_MS;
			for (int i = 0; i < count; i++)
				values[i] = adversarial(f, which[i], step);
			if (rows)
				append_some(f, which, count, t_ms, values);
			for (int i = 0; i < count && !rows; i++)
				append_one(f, which[i], t_ms, values[i]);
			if (next_random(f) % 3 == 0)
				commit(f);
		}
		if (next_random(f) % 5 == 0) {
			commit(f);
			store_free(f->store);
			open_store(f, &options);
			compare_window(f, INT64_MIN, INT64_MAX);
			compare_folds(f);
		}
	}
	commit(f);
	compare_again(f, &options);
}

/* A page of a histogram whose upper buckets are full and of figures that stand still: an answer holds one column of each. */
static void test_equal_columns_are_held_once(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 64 };
	enum { ROWS = 300, BUCKETS = 20, FULL = 15 };
	int which[SERIES];
	struct arena arena;
	struct matcher all;
	struct error e = { 0 };
	size_t count;

	open_store(f, &options);
	for (int step = 0; step < ROWS; step++) {
		double values[SERIES];
		for (int i = 0; i < SERIES; i++) {
			which[i] = i;
			values[i] = i <= BUCKETS ? step * (i < FULL ? i : FULL) : i % 3;
		}
		append_some(f, which, SERIES, START_MS + (int64_t)step * STEP_MS, values);
	}
	commit(f);
	compare_window(f, INT64_MIN, INT64_MAX);
	compare_window(f, START_MS + 10 * STEP_MS, START_MS + 250 * STEP_MS);
	arena_init(&arena);
	assert_true(matcher_init(&all, STR("__name__"), MATCH_NE, STR(""), &e));
	store_select(f->store, &arena, &all, 1, INT64_MIN, INT64_MAX, &count);
	assert_int_equal(count, SERIES);
	/* Times, the buckets that differ and the full ones; three values that stand still are among them or stand beside. */
	assert_true(arena.total < (1 + FULL + 1 + 3) * ROWS * sizeof(double) + 64 * 1024 / 8);
	matcher_fini(&all);
	arena_fini(&arena);
}

static void test_older_is_refused_after_restart(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 64 };

	open_store(f, &options);
	append_rows(f, 0, 300);
	store_free(f->store);
	open_store(f, &options);
	struct sink *sink = store_sink(f->store);
	int64_t newest = f->truth.t[0][299];
	assert_int_equal(sink->ops->append(sink, f->series[0], newest - 1, 1), APPEND_OUT_OF_ORDER);
	assert_int_equal(sink->ops->append(sink, f->series[0], newest, f->truth.v[0][299]), APPEND_SAME);
	assert_int_equal(sink->ops->append(sink, f->series[0], newest, -1), APPEND_DUPLICATE);
	struct store_stats stats;
	store_stats(f->store, &stats);
	assert_int_equal(stats.refused, 2);
	compare_all(f);
}

static void test_retention(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 32, .retention_ms = 100 * STEP_MS };
	struct error e = { 0 };

	open_store(f, &options);
	append_rows(f, 0, 600);
	int64_t now = START_MS + 600 * STEP_MS, oldest, newest;
	for (int i = 0; i < 10; i++)
		assert_true(store_retain(f->store, now, &e));
	assert_true(store_bounds(f->store, &oldest, &newest));
	assert_true(oldest >= now - 140 * STEP_MS && oldest <= now - 100 * STEP_MS);
	compare_window(f, oldest, INT64_MAX);
	store_free(f->store);
	open_store(f, &options);
	compare_window(f, oldest, INT64_MAX);
	verify(f);
}

static void test_retention_by_size(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 32, .retention_bytes = 400000 };
	struct error e = { 0 };
	struct store_stats stats;

	open_store(f, &options);
	append_rows(f, 0, 3000);
	for (int i = 0; i < 10; i++)
		assert_true(store_retain(f->store, 0, &e));
	store_stats(f->store, &stats);
	assert_true(stats.file_bytes - stats.free_bytes <= 400000);
	assert_true(stats.chunks > 0);
	int64_t oldest, newest;
	assert_true(store_bounds(f->store, &oldest, &newest));
	compare_window(f, oldest, INT64_MAX);
	verify(f);
}

/* Series of one set end at different times. After opening only the end of the set's chunk is known; who comes between is let in, from the log
 * and from the sink, and who is too old is not. */
static void test_newest_of_each_is_known_again(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 10 };
	struct sink *sink;

	open_store(f, &options);
	for (int step = 0; step < 19; step++)
		for (int i = 30; i < 50; i++)
			if (step < i - 30 || i < 32)
				append_one(f, i, START_MS + step * STEP_MS, adversarial(f, i, step));
	commit(f);
	commit(f);
	/* Loose, behind the end of the chunk and before it. */
	for (int i = 32; i < 50; i++)
		for (int step = i - 30; step < 22; step += 2)
			append_one(f, i, START_MS + step * STEP_MS + 1, adversarial(f, i, step));
	commit(f);
	compare_again(f, &options);
	store_free(f->store);
	open_store(f, &options);
	sink = store_sink(f->store);
	assert_int_equal(sink->ops->append(sink, f->series[30], START_MS + 18 * STEP_MS, 1e99), APPEND_DUPLICATE);
	for (int i = 30; i < 50; i++) {
		int64_t newest = f->truth.t[i][f->truth.count[i] - 1];
		double value = f->truth.v[i][f->truth.count[i] - 1];
		assert_int_equal(sink->ops->append(sink, f->series[i], newest, value), APPEND_SAME);
		assert_int_equal(sink->ops->append(sink, f->series[i], newest - 1, value), APPEND_OUT_OF_ORDER);
		append_one(f, i, newest + 1, 5);
		assert_int_equal(f->truth.t[i][f->truth.count[i] - 1], newest + 1);
	}
	commit(f);
	compare_again(f, &options);
}

/* The same for what is in chunks only. */
static void test_newest_of_sealed_is_known_again(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 1 };
	struct sink *sink;

	open_store(f, &options);
	for (int step = 0; step < 3; step++) {
		for (int i = 30; i < 50; i++)
			for (int k = 0; k < i - 29; k++)
				append_one(f, i, START_MS + (step * 40 + k) * STEP_MS, i + k);
		commit(f);
	}
	store_free(f->store);
	open_store(f, &options);
	sink = store_sink(f->store);
	for (int i = 30; i < 50; i++) {
		int64_t newest = f->truth.t[i][f->truth.count[i] - 1];
		assert_int_equal(sink->ops->append(sink, f->series[i], newest - 1, 0), APPEND_OUT_OF_ORDER);
		assert_int_equal(sink->ops->append(sink, f->series[i], newest, -1), APPEND_DUPLICATE);
		append_one(f, i, newest + 1, 5);
		assert_int_equal(f->truth.t[i][f->truth.count[i] - 1], newest + 1);
	}
	compare_again(f, &options);
}

/* ---- other threads ---- */

static void test_readers_beside_the_writer(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 16 };
	struct reading reading;

	open_store(f, &options);
	reading_begin(&reading, f->store);
	append_rows(f, 0, 400);
	reading_end(&reading);
	compare_all(f);
}

/* ---- files that are not as they should be ---- */

static void refused(struct fixture *f, bool read_only, const char *message)
{
	struct error e = { 0 };
	struct store *s = store_open(f->path, &(struct store_options){ .read_only = read_only }, &e);

	assert_null(s);
	assert_true(e.set && *e.hint);
	if (str_search(str_from(e.message), str_from(message)) < 0)
		fail_msg("wanted \"%s\", got \"%s\"", message, e.message);
}

static void test_foreign_files(void **state)
{
	struct fixture *f = *state;
	struct error e = { 0 };

	assert_true(file_write(f->path,
		STR("this is a text file, and long enough to be taken for more than an empty one\n"
		    "this is a text file, and long enough to be taken for more than an empty one\n"),
		&e));
	refused(f, false, "no SQLite file");
	refused(f, true, "no SQLite file");
	unlink(f->path);
	sql(f, "CREATE TABLE theirs (x)");
	refused(f, false, "another program");
	refused(f, true, "another program");
}

static void test_newer_format(void **state)
{
	struct fixture *f = *state;

	open_store(f, &(struct store_options){ 0 });
	store_free(f->store);
	f->store = NULL;
	sql(f, "PRAGMA user_version = 7");
	refused(f, false, "newer goodput");
	refused(f, true, "newer goodput");
}

static void test_locked(void **state)
{
	struct fixture *f = *state;

	open_store(f, &(struct store_options){ 0 });
	append_rows(f, 0, 10);
	refused(f, false, "another goodput writes");
	verify(f); /* reading is possible */
}

static void test_unwritable(void **state)
{
	struct fixture *f = *state;

	snprintf(f->path, sizeof f->path, "%s/none/s.db", f->folder);
	refused(f, false, "cannot open");
}

/* A byte changed: told by verify, left out of answers, all else is there. */
static void test_damage_is_told(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 32 };
	struct error e = { 0 };
	struct store_verified result;

	open_store(f, &options);
	append_rows(f, 0, 200);
	store_free(f->store);
	f->store = NULL;
	sql(f, "UPDATE sections SET data = zeroblob(length(data)) WHERE id = (SELECT min(id) FROM sections)");
	struct store *s = store_open(f->path, &(struct store_options){ .read_only = true }, &e);
	assert_non_null(s);
	assert_false(store_verify(s, NULL, NULL, &result));
	assert_int_equal(result.faults, 1);
	store_free(s);
	sql(f, "UPDATE log SET records = zeroblob(20)");
	s = store_open(f->path, &(struct store_options){ .read_only = true }, &e);
	assert_non_null(s);
	assert_false(store_verify(s, NULL, NULL, &result));
	store_free(s);
	refused(f, false, "damaged");
}

static void test_full_disk(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 64 };
	struct rlimit limit, small;
	struct error e = { 0 };
	struct store_stats stats;

	open_store(f, &options);
	append_rows(f, 0, 100);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	small = limit;
	small.rlim_cur = 4096;
	setrlimit(RLIMIT_FSIZE, &small);
	int which[SERIES];
	double values[SERIES];
	for (int step = 100; step < 200; step++) {
		for (int i = 0; i < SERIES; i++) {
			which[i] = i;
			values[i] = adversarial(f, i, step);
		}
		append_some(f, which, SERIES, START_MS + (int64_t)step * STEP_MS, values);
		error_clear(&e);
		assert_false(store_commit(f->store, &e));
		assert_true(e.set);
	}
	store_stats(f->store, &stats);
	assert_true(stats.degraded && *stats.degraded_why);
	compare_all(f);
	setrlimit(RLIMIT_FSIZE, &limit);
	bool recovered = false;
	for (int i = 0; i < 10 && !recovered; i++)
		recovered = store_commit(f->store, &e);
	assert_true(recovered);
	store_stats(f->store, &stats);
	assert_false(stats.degraded);
	assert_int_equal(stats.dropped, 0);
	compare_all(f);
	append_rows(f, 200, 260);
	compare_again(f, &options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows_survive, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loose_survive, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mixture_survives, setup, teardown),
		cmocka_unit_test_setup_teardown(test_equal_columns_are_held_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_older_is_refused_after_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_retention, setup, teardown),
		cmocka_unit_test_setup_teardown(test_retention_by_size, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newest_of_each_is_known_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newest_of_sealed_is_known_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_readers_beside_the_writer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newer_format, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unwritable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
