/* store_writer: what tests/store/kill.py kills, and what checks the file afterwards.
 *
 *   store_writer write FILE [full]  goes on where the file ends: appends step after step, commits now and then, and prints each committed
 * step store_writer check FILE STEP    everything up to the file's end is there, bit for bit, and the end is not before STEP
 *
 * Which series a step has and what they are follows from the step alone: two targets whose pages change their shape, and loose series. */
#include "base/clock.h"
#include "base/hash.h"
#include "base/number.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	TARGETS = 2,
	PAGE = 60,
	LOOSE = 7,
	SERIES = TARGETS * PAGE + LOOSE,
	STEP_MS = 17000 /* hours and half days end while it runs */,
	CHUNK_ROWS = 48,
	LOOSE_SAMPLES = LOOSE * 8 /* small chunks, which are compacted */
};
#define START_MS INT64_C(1768435200000)

static uint64_t random_of(int64_t a, int64_t b)
{
	int64_t key[2] = { a, b };

	return hash_bytes(key, sizeof key);
}

static bool is_loose(int i)
{
	return i >= TARGETS * PAGE;
}

/* Some series of a page come and go; so do loose ones. */
static bool is_there(int i, int64_t step)
{
	return is_loose(i) ? random_of(i, step) % 3 != 0 : i % 5 || random_of(i, step / 29) % 6 != 0;
}

static double value_of(int i, int64_t step)
{
	uint64_t r = random_of(i + 1000, step);

	switch (i % 6) {
	case 0: return number_from_bits(r);
	case 1: return (double)(r % 9) / 8;
	case 2: return r % 20 ? (double)(step / 7) : number_stale();
	case 3: return (double)(step * (i + 1)) + 0.1;
	default: return (double)(step * (i % 4 + 1));
	}
}

static struct labels *labels_of(int i)
{
	char name[32], target[32];
	struct label pairs[] = { { LABEL_NAME, str_of(name, (size_t)snprintf(name, sizeof name, "m%d", i % PAGE)) },
		{ STR("instance"), str_of(target, (size_t)snprintf(target, sizeof target, "t%d", i / PAGE)) } };

	return labels_new(pairs, 2);
}

static int64_t last_step(const struct store *s)
{
	int64_t oldest_ms, newest_ms;

	return store_bounds(s, &oldest_ms, &newest_ms) ? (newest_ms - START_MS) / STEP_MS : -1;
}

static struct store *open_or_die(const char *path, const struct store_options *options)
{
	struct error e = { 0 };
	struct store *s = store_open(path, options, &e);

	if (s)
		return s;
	error_print(&e, stderr);
	exit(1);
}

static int run_write(const char *path, bool full)
{
	const struct store_options options = { .chunk_rows = CHUNK_ROWS, .loose_samples = LOOSE_SAMPLES, .durable_full = full };
	int64_t begin = clock_monotonic_ns();
	struct store *s = open_or_die(path, &options);
	struct sink *sink = store_sink(s);
	struct series *all[SERIES];
	struct error e = { 0 };

	printf("ready %.1f\n", (double)(clock_monotonic_ns() - begin) / 1e6);
	fflush(stdout);
	for (int i = 0; i < SERIES; i++) {
		struct labels *labels = labels_of(i);
		all[i] = sink->ops->series(sink, labels, METRIC_COUNTER);
		labels_unref(labels);
	}
	for (int64_t step = last_step(s) + 1;; step++) {
		int64_t t_ms = START_MS + step * STEP_MS;
		for (int target = 0; target < TARGETS; target++) {
			struct series *row[PAGE];
			double values[PAGE];
			size_t count = 0;
			for (int i = target * PAGE; i < (target + 1) * PAGE; i++) {
				if (!is_there(i, step))
					continue;
				row[count] = all[i];
				values[count++] = value_of(i, step);
			}
			if (sink->ops->append_row(sink, row, values, count, t_ms))
				return 1;
		}
		for (int i = TARGETS * PAGE; i < SERIES; i++)
			if (is_there(i, step) && sink->ops->append(sink, all[i], t_ms, value_of(i, step)) != APPEND_OK)
				return 1;
		if (random_of(-1, step) % 3)
			continue;
		if (!store_commit(s, &e)) {
			error_print(&e, stderr);
			return 1;
		}
		printf("%lld\n", (long long)step);
		fflush(stdout);
	}
}

static void told(void *context, const char *what)
{
	fprintf(stderr, "store_writer: %s\n", what);
}

static size_t check_series(const struct series_view *views, size_t count, int i, int64_t last)
{
	struct labels *labels = labels_of(i);
	const struct series_view *view = NULL;
	size_t at = 0, wrong = 0;

	for (size_t k = 0; k < count; k++)
		if (labels_eq(views[k].labels, labels))
			view = &views[k];
	for (int64_t step = 0; step <= last; step++) {
		if (!is_there(i, step))
			continue;
		bool same = view && at < view->count && view->t[at] == START_MS + step * STEP_MS &&
			    number_bits(view->v[at]) == number_bits(value_of(i, step));
		if (!same && !wrong++)
			fprintf(stderr, "store_writer: series %d: step %lld is missing or differs\n", i, (long long)step);
		at++;
	}
	if (view && at < view->count)
		wrong++;
	labels_unref(labels);
	return wrong;
}

static int run_check(const char *path, int64_t acknowledged)
{
	struct store *s = open_or_die(path, &(struct store_options){ .read_only = true });
	int64_t last = last_step(s);
	struct store_verified verified;
	struct arena arena;
	size_t count, wrong = 0;

	arena_init(&arena);
	struct series_view *views = store_select(s, &arena, NULL, 0, INT64_MIN, INT64_MAX, &count);
	for (int i = 0; i < SERIES; i++)
		wrong += check_series(views, count, i, last);
	arena_fini(&arena);
	bool whole = store_verify(s, told, NULL, &verified);
	store_free(s);
	if (last < acknowledged)
		fprintf(stderr, "store_writer: step %lld was acknowledged, the last one is %lld\n", (long long)acknowledged,
			(long long)last);
	printf("%lld\n", (long long)last);
	return whole && !wrong && last >= acknowledged ? 0 : 1;
}

int main(int argc, char **argv)
{
	int64_t step;

	if (argc >= 3 && strcmp(argv[1], "write") == 0)
		return run_write(argv[2], argc > 3 && strcmp(argv[3], "full") == 0);
	if (argc == 4 && strcmp(argv[1], "check") == 0 && number_parse_i64(str_from(argv[3]), &step))
		return run_check(argv[2], step);
	fprintf(stderr, "usage: store_writer write FILE [full] | check FILE STEP\n");
	return 64;
}
