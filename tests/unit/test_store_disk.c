/* The store on disk: what was committed is there again, bit for bit. */
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "store/store.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

enum { SERIES = 60, STEP_MS = 5000 };
#define START_MS INT64_C(1768435200000)

/* What was appended, kept beside the store: each test compares with it. */
struct truth {
	struct labels *labels[SERIES];
	int64_t *t[SERIES];
	double *v[SERIES];
	size_t count[SERIES], cap[SERIES];
};

struct fixture {
	char folder[64], path[96];
	struct store *store;
	struct series *series[SERIES];
	struct truth truth;
	uint64_t random;
};

static uint64_t next_random(struct fixture *f)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return f->random;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	snprintf(f->folder, sizeof f->folder, "/tmp/goodput-store-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof f->path, "%s/s.db", f->folder);
	f->random = 0x9e3779b97f4a7c15ULL;
	for (int i = 0; i < SERIES; i++) {
		char name[64], le[16];
		snprintf(name, sizeof name, i < 20 ? "ttft_bucket" : i == 20 ? "ttft_count" : "m%d", i);
		snprintf(le, sizeof le, i == 19 ? "+Inf" : "%d", i);
		struct label pairs[] = { { LABEL_NAME, str_from(name) }, { STR("instance"), STR("a:8000") },
			{ STR("le"), i < 20 ? str_from(le) : STR("") } };
		f->truth.labels[i] = labels_new(pairs, 3);
	}
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char path[128];

	store_free(f->store);
	for (int i = 0; i < SERIES; i++) {
		labels_unref(f->truth.labels[i]);
		free(f->truth.t[i]);
		free(f->truth.v[i]);
	}
	for (const char *const *suffix = (const char *const[]){ "", "-wal", "-shm", NULL }; *suffix; suffix++) {
		snprintf(path, sizeof path, "%s%s", f->path, *suffix);
		unlink(path);
	}
	rmdir(f->folder);
	free(f);
	return 0;
}

static void open_store(struct fixture *f, const struct store_options *options)
{
	struct error e = { 0 };

	f->store = store_open(f->path, options, &e);
	if (!f->store)
		error_print(&e, stderr);
	assert_non_null(f->store);
	struct sink *sink = store_sink(f->store);
	for (int i = 0; i < SERIES && !options->read_only; i++)
		f->series[i] = sink->ops->series(sink, f->truth.labels[i], METRIC_COUNTER);
}

static void remember(struct fixture *f, int i, int64_t t_ms, double v)
{
	struct truth *x = &f->truth;

	if (x->count[i] == x->cap[i]) {
		x->cap[i] = x->cap[i] ? x->cap[i] * 2 : 64;
		x->t[i] = realloc(x->t[i], x->cap[i] * sizeof(int64_t));
		x->v[i] = realloc(x->v[i], x->cap[i] * sizeof(double));
	}
	x->t[i][x->count[i]] = t_ms;
	x->v[i][x->count[i]++] = v;
}

static void append_one(struct fixture *f, int i, int64_t t_ms, double v)
{
	struct sink *sink = store_sink(f->store);

	if (sink->ops->append(sink, f->series[i], t_ms, v) == APPEND_OK)
		remember(f, i, t_ms, v);
}

static void append_some(struct fixture *f, const int *which, int count, int64_t t_ms, const double *values)
{
	struct sink *sink = store_sink(f->store);
	struct series *row[SERIES];

	for (int i = 0; i < count; i++) {
		row[i] = f->series[which[i]];
		remember(f, which[i], t_ms, values[i]);
	}
	assert_int_equal(sink->ops->append_row(sink, row, values, (size_t)count, t_ms), 0);
}

static void commit(struct fixture *f)
{
	struct error e = { 0 };

	if (!store_commit(f->store, &e))
		error_print(&e, stderr);
	assert_false(e.set);
}

static void compare_window(struct fixture *f, int64_t from_ms, int64_t to_ms)
{
	struct arena arena;
	size_t count, expected_series = 0;

	arena_init(&arena);
	struct series_view *views = store_select(f->store, &arena, NULL, 0, from_ms, to_ms, &count);
	for (int i = 0; i < SERIES; i++) {
		size_t first = 0, last = f->truth.count[i];
		while (first < last && f->truth.t[i][first] < from_ms)
			first++;
		while (last > first && f->truth.t[i][last - 1] > to_ms)
			last--;
		if (first == last)
			continue;
		expected_series++;
		const struct series_view *view = NULL;
		for (size_t k = 0; k < count; k++)
			if (labels_eq(views[k].labels, f->truth.labels[i]))
				view = &views[k];
		assert_non_null(view);
		assert_int_equal(view->count, last - first);
		assert_memory_equal(view->t, f->truth.t[i] + first, view->count * sizeof *view->t);
		assert_memory_equal(view->v, f->truth.v[i] + first, view->count * sizeof *view->v);
	}
	assert_int_equal(count, expected_series);
	arena_fini(&arena);
}

/* ---- folds: as if each window were looked through sample by sample ---- */

struct fold_check {
	struct fixture *f;
	const struct series_windows *w;
	size_t visited[SERIES];
};

static void check_window_falls(const struct truth *x, int i, size_t first, size_t last, const struct series_fold *fold, size_t window)
{
	size_t k = 0;
	double before = x->v[i][first];

	while (k < fold->fall_count && fold->falls[k].t_ms <= x->t[i][first])
		k++;
	for (size_t s = first + 1; s <= last; s++) {
		if (number_is_stale(x->v[i][s]))
			continue;
		if (x->v[i][s] < before) {
			assert_true(k < fold->fall_count);
			assert_int_equal(fold->falls[k].t_ms, x->t[i][s]);
			assert_int_equal(number_bits(fold->falls[k].before), number_bits(before));
			k++;
		}
		before = x->v[i][s];
	}
	assert_true(k == fold->fall_count || fold->falls[k].t_ms > fold->t_last[window]);
}

static void check_window(const struct truth *x, int i, int64_t start, int64_t end, const struct series_fold *fold, size_t window)
{
	size_t count = 0, first = 0, last = 0;

	for (size_t s = 0; s < x->count[i]; s++) {
		if (x->t[i][s] <= start || x->t[i][s] > end || number_is_stale(x->v[i][s]))
			continue;
		first = count++ ? first : s;
		last = s;
	}
	assert_int_equal(fold ? fold->count[window] : 0, count);
	if (!count)
		return;
	assert_int_equal(fold->t_first[window], x->t[i][first]);
	assert_int_equal(fold->t_last[window], x->t[i][last]);
	assert_int_equal(number_bits(fold->first[window]), number_bits(x->v[i][first]));
	assert_int_equal(number_bits(fold->last[window]), number_bits(x->v[i][last]));
	check_window_falls(x, i, first, last, fold, window);
}

static void check_windows(struct fold_check *c, int i, const struct series_fold *fold)
{
	const struct series_windows *w = c->w;

	for (size_t k = 0; k < w->count; k++) {
		int64_t end = w->first_end_ms + (int64_t)k * w->step_ms;
		check_window(&c->f->truth, i, end - w->range_ms, end, fold, k);
	}
}

static bool check_fold(void *context, const struct series_fold *fold)
{
	struct fold_check *c = context;
	int i = 0;

	while (i < SERIES && !labels_eq(c->f->truth.labels[i], fold->labels))
		i++;
	assert_true(i < SERIES);
	assert_int_equal(c->visited[i]++, 0);
	check_windows(c, i, fold);
	return true;
}

static void compare_fold(struct fixture *f, const struct series_windows *w)
{
	struct fold_check c = { .f = f, .w = w };

	assert_true(store_fold(f->store, &(struct store_selection){ .context = &c }, 1, w, true, check_fold));
	for (int i = 0; i < SERIES; i++)
		if (!c.visited[i])
			check_windows(&c, i, NULL);
}

/* Short and long windows, over each other and apart, on and beside the times of samples. */
static void compare_folds(struct fixture *f)
{
	int64_t newest = START_MS;

	for (int i = 0; i < SERIES; i++)
		if (f->truth.count[i] && f->truth.t[i][f->truth.count[i] - 1] > newest)
			newest = f->truth.t[i][f->truth.count[i] - 1];
	for (int round = 0; round < 8; round++) {
		int64_t range = 1 + (int64_t)(next_random(f) % (round % 2 ? 12 : 300)) * STEP_MS,
			step = 1 + (int64_t)(next_random(f) % 40) * STEP_MS;
		struct series_windows w = { START_MS - 3 * STEP_MS + (int64_t)(next_random(f) % 3000), round == 7 ? 0 : step, range, 1 };
		if (round % 4 == 2) /* exactly at samples */
			w = (struct series_windows){ START_MS, STEP_MS * (1 + (int64_t)(next_random(f) % 70)),
				range / STEP_MS * STEP_MS + STEP_MS, 1 };
		w.count += round == 7 ? 0 : (size_t)((newest - START_MS) / (w.step_ms ? w.step_ms : 1)) % 500;
		compare_fold(f, &w);
	}
	compare_fold(f, &(struct series_windows){ newest + STEP_MS, 0, newest - START_MS + 3 * STEP_MS, 1 });
}

static void told(void *context, const char *what)
{
	fprintf(stderr, "verify: %s\n", what);
}

static void verify(struct fixture *f)
{
	struct error e = { 0 };
	struct store_verified result;
	struct store *s = store_open(f->path, &(struct store_options){ .read_only = true }, &e);

	if (!s)
		error_print(&e, stderr);
	assert_non_null(s);
	assert_true(store_verify(s, told, NULL, &result));
	store_free(s);
}

static void compare_all(struct fixture *f)
{
	compare_window(f, INT64_MIN, INT64_MAX);
	compare_window(f, START_MS + 17 * STEP_MS, START_MS + 400 * STEP_MS);
	compare_window(f, START_MS + 100 * STEP_MS + 1, START_MS + 101 * STEP_MS - 1);
	compare_folds(f);
}

/* After a restart, and as another process sees it. */
static void compare_again(struct fixture *f, const struct store_options *options)
{
	compare_all(f);
	store_free(f->store);
	open_store(f, options);
	compare_all(f);
	verify(f);
}

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

static void sql(struct fixture *f, const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static int64_t sql_number(struct fixture *f, const char *query)
{
	sqlite3 *handle;
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_open(f->path, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(handle, query, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	int64_t number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(handle);
	return number;
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

/* ---- other threads ---- */

struct reader {
	struct store *store;
	_Atomic bool stop, failed;
	size_t selects;
};

static void *read_on(void *context)
{
	struct reader *r = context;
	struct arena arena;
	size_t before = 0;

	arena_init(&arena);
	while (!r->stop) {
		size_t count, samples = 0;
		store_lock_read(r->store);
		struct series_view *views = store_select(r->store, &arena, NULL, 0, INT64_MIN, INT64_MAX, &count);
		for (size_t i = 0; i < count; i++) {
			samples += views[i].count;
			for (size_t k = 1; k < views[i].count; k++)
				if (views[i].t[k] <= views[i].t[k - 1])
					r->failed = true;
		}
		store_unlock_read(r->store);
		if (samples < before)
			r->failed = true;
		before = samples;
		r->selects++;
		arena_reset(&arena);
	}
	arena_fini(&arena);
	return NULL;
}

static void test_readers_beside_the_writer(void **state)
{
	struct fixture *f = *state;
	const struct store_options options = { .chunk_rows = 16 };
	pthread_t threads[2];
	struct reader readers[2];

	open_store(f, &options);
	for (int i = 0; i < 2; i++) {
		readers[i] = (struct reader){ .store = f->store };
		assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
	}
	append_rows(f, 0, 400);
	for (int i = 0; i < 2; i++) {
		readers[i].stop = true;
		pthread_join(threads[i], NULL);
		assert_false(readers[i].failed);
		assert_true(readers[i].selects > 0);
	}
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
		cmocka_unit_test_setup_teardown(test_folds_of_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_folds_of_days, setup, teardown),
		cmocka_unit_test_setup_teardown(test_digests_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged_digest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_folds_of_loose_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_older_is_refused_after_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_retention, setup, teardown),
		cmocka_unit_test_setup_teardown(test_retention_by_size, setup, teardown),
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
