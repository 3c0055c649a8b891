/* What the tests of the store on disk share: a store, the truth beside it, and comparing both. */
#ifndef GOODPUT_TEST_STORE_FIXTURE_H
#define GOODPUT_TEST_STORE_FIXTURE_H

#include "base/mem.h"
#include "base/number.h"
#include "store/store.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

static inline uint64_t next_random(struct fixture *f)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return f->random;
}

static inline int setup(void **state)
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

static inline int teardown(void **state)
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

static inline void open_store(struct fixture *f, const struct store_options *options)
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

static inline void remember(struct fixture *f, int i, int64_t t_ms, double v)
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

static inline void append_one(struct fixture *f, int i, int64_t t_ms, double v)
{
	struct sink *sink = store_sink(f->store);

	if (sink->ops->append(sink, f->series[i], t_ms, v) == APPEND_OK)
		remember(f, i, t_ms, v);
}

static inline void append_some(struct fixture *f, const int *which, int count, int64_t t_ms, const double *values)
{
	struct sink *sink = store_sink(f->store);
	struct series *row[SERIES];

	for (int i = 0; i < count; i++) {
		row[i] = f->series[which[i]];
		remember(f, which[i], t_ms, values[i]);
	}
	assert_int_equal(sink->ops->append_row(sink, row, values, (size_t)count, t_ms), 0);
}

static inline void commit(struct fixture *f)
{
	struct error e = { 0 };

	if (!store_commit(f->store, &e))
		error_print(&e, stderr);
	assert_false(e.set);
}

static inline void compare_window(struct fixture *f, int64_t from_ms, int64_t to_ms)
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

static inline void check_window_falls(
	const struct truth *x, int i, size_t first, size_t last, const struct series_fold *fold, size_t window)
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

static inline void check_window(const struct truth *x, int i, int64_t start, int64_t end, const struct series_fold *fold, size_t window)
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

static inline void check_windows(struct fold_check *c, int i, const struct series_fold *fold)
{
	const struct series_windows *w = c->w;

	for (size_t k = 0; k < w->count; k++) {
		int64_t end = w->first_end_ms + (int64_t)k * w->step_ms;
		check_window(&c->f->truth, i, end - w->range_ms, end, fold, k);
	}
}

static inline bool check_fold(void *context, const struct series_fold *fold)
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

static inline void compare_fold(struct fixture *f, const struct series_windows *w)
{
	struct fold_check c = { .f = f, .w = w };

	struct arena arena;
	arena_init(&arena);
	assert_true(store_fold(f->store, &arena, &(struct store_selection){ .context = &c }, 1, w, true, check_fold));
	arena_fini(&arena);
	for (int i = 0; i < SERIES; i++)
		if (!c.visited[i])
			check_windows(&c, i, NULL);
}

/* Short and long windows, over each other and apart, on and beside the times of samples. */
static inline void compare_folds(struct fixture *f)
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

/* ---- readers in threads of their own, while a test writes: they must never see less than before, nor samples out of order ---- */

struct reader {
	struct store *store;
	_Atomic bool stop, failed;
	_Atomic size_t selects;
};

static inline void *read_on(void *context)
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

enum { READERS = 2 };
struct reading {
	pthread_t threads[READERS];
	struct reader readers[READERS];
};

static inline void reading_begin(struct reading *r, struct store *store)
{
	for (int i = 0; i < READERS; i++) {
		r->readers[i] = (struct reader){ .store = store };
		assert_int_equal(pthread_create(&r->threads[i], NULL, read_on, &r->readers[i]), 0);
	}
}

static inline void reading_end(struct reading *r)
{
	for (int i = 0; i < READERS; i++) {
		while (!r->readers[i].selects) /* on a machine that has much to do */
			usleep(1000);
		r->readers[i].stop = true;
		pthread_join(r->threads[i], NULL);
		assert_false(r->readers[i].failed);
	}
}

static inline void told(void *context, const char *what)
{
	fprintf(stderr, "verify: %s\n", what);
}

static inline void verify(struct fixture *f)
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

static inline void compare_all(struct fixture *f)
{
	compare_window(f, INT64_MIN, INT64_MAX);
	compare_window(f, START_MS + 17 * STEP_MS, START_MS + 400 * STEP_MS);
	compare_window(f, START_MS + 100 * STEP_MS + 1, START_MS + 101 * STEP_MS - 1);
	compare_folds(f);
}

/* After a restart, and as another process sees it. */
static inline void compare_again(struct fixture *f, const struct store_options *options)
{
	compare_all(f);
	store_free(f->store);
	open_store(f, options);
	compare_all(f);
	verify(f);
}

static inline void sql(struct fixture *f, const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static inline int64_t sql_number(struct fixture *f, const char *query)
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

#endif
