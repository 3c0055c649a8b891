/* store_writer: what tests/store/kill.py kills, and what checks the file afterwards.
 *
 *   store_writer write FILE [full] [churn]   goes on where the file ends: appends step after step, commits now and then, and prints each
 *                                            committed step
 *   store_writer check FILE STEP [churn]     everything up to the file's end is there, bit for bit, and the end is not before STEP
 *
 * Which series a step has and what they are follows from the step alone: two targets whose pages change their shape, and loose series. With
 * churn all of them are replaced again and again, and retention drops what is older than three hours: the store forgets series all the
 * time. What retention may have dropped need not be there. */
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
	LOOSE_SAMPLES = LOOSE * 8, /* small chunks, which are compacted */
	EPOCH_STEPS = 40,          /* with churn: steps that series live */
	RETAIN_STEPS = 15,
	RETENTION_MS = 3 * 3600 * 1000,
};
#define START_MS INT64_C(1768435200000)

struct plan {
	bool full, churn;
};

static int64_t epoch_of(const struct plan *plan, int64_t step)
{
	return plan->churn ? step / EPOCH_STEPS : 0;
}

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

static struct labels *labels_of(int i, int64_t epoch)
{
	char name[32], target[32], life[32];
	struct label pairs[] = { { LABEL_NAME, str_of(name, (size_t)snprintf(name, sizeof name, "m%d", i % PAGE)) },
		{ STR("epoch"), str_of(life, (size_t)snprintf(life, sizeof life, "%lld", (long long)epoch)) },
		{ STR("instance"), str_of(target, (size_t)snprintf(target, sizeof target, "t%d", i / PAGE)) } };

	return labels_new(pairs, 3);
}

static int64_t time_of(int64_t step)
{
	return START_MS + step * STEP_MS;
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

/* ---- writing ---- */

static void series_of(struct sink *sink, int64_t epoch, struct series **all)
{
	for (int i = 0; i < SERIES; i++) {
		struct labels *labels = labels_of(i, epoch);
		all[i] = sink->ops->series(sink, labels, METRIC_COUNTER);
		labels_unref(labels);
	}
}

static bool write_step(struct sink *sink, struct series *const *all, int64_t step)
{
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
		if (sink->ops->append_row(sink, row, values, count, time_of(step)))
			return false;
	}
	for (int i = TARGETS * PAGE; i < SERIES; i++)
		if (is_there(i, step) && sink->ops->append(sink, all[i], time_of(step), value_of(i, step)) != APPEND_OK)
			return false;
	return true;
}

static int run_write(const char *path, const struct plan *plan)
{
	const struct store_options options = { .chunk_rows = CHUNK_ROWS,
		.loose_samples = LOOSE_SAMPLES,
		.durable_full = plan->full,
		.retention_ms = plan->churn ? RETENTION_MS : 0 };
	int64_t begin = clock_monotonic_ns();
	struct store *s = open_or_die(path, &options);
	struct sink *sink = store_sink(s);
	struct series *all[SERIES];
	struct error e = { 0 };
	bool ok = true;

	printf("ready %.1f\n", (double)(clock_monotonic_ns() - begin) / 1e6);
	fflush(stdout);
	int64_t first = last_step(s) + 1;
	for (int64_t step = first; ok; step++) {
		if (step == first || plan->churn) /* forgotten series have no pointer */
			series_of(sink, epoch_of(plan, step), all);
		ok = write_step(sink, all, step);
		if (plan->churn && step % RETAIN_STEPS == 0)
			ok = ok && store_retain(s, time_of(step), &e);
		/* With churn always: rows that nothing follows are sealed after 7,200 commits, and forgotten after that. */
		if (!plan->churn && random_of(-1, step) % 3)
			continue;
		ok = ok && store_commit(s, &e);
		if (ok)
			printf("%lld\n", (long long)step);
		fflush(stdout);
	}
	error_print(&e, stderr);
	return 1;
}

/* ---- checking ---- */

static void told(void *context, const char *what)
{
	fprintf(stderr, "store_writer: %s\n", what);
}

static bool is_view_of(const struct series_view *view, int i, int64_t epoch)
{
	struct labels *labels = labels_of(i, epoch);
	bool same = labels_eq(view->labels, labels);

	labels_unref(labels);
	return same;
}

/* Samples before required_ms may be missing. How many steps are not as they should be. */
static size_t check_series(const struct series_view *view, int i, int64_t first, int64_t end, int64_t required_ms)
{
	size_t at = 0, wrong = 0;

	for (int64_t step = first; step < end; step++) {
		if (!is_there(i, step))
			continue;
		bool there = view && at < view->count && view->t[at] == time_of(step),
		     same = there && number_bits(view->v[at]) == number_bits(value_of(i, step));
		at += there;
		if (same || (!there && time_of(step) < required_ms))
			continue;
		if (!wrong++)
			fprintf(stderr, "store_writer: series %d: step %lld is missing or differs\n", i, (long long)step);
	}
	return wrong + (view && at < view->count);
}

static size_t check_epoch(const struct store *s, const struct plan *plan, int64_t epoch, int64_t last, int64_t required_ms)
{
	int64_t first = plan->churn ? epoch * EPOCH_STEPS : 0, end = plan->churn ? first + EPOCH_STEPS : last + 1;
	char text[32];
	struct error e = { 0 };
	struct matcher matcher;
	struct arena arena;
	size_t count, wrong = 0;

	snprintf(text, sizeof text, "%lld", (long long)epoch);
	matcher_init(&matcher, STR("epoch"), MATCH_EQ, str_from(text), &e);
	arena_init(&arena);
	struct series_view *views = store_select(s, &arena, &matcher, 1, INT64_MIN, INT64_MAX, &count);
	for (int i = 0; i < SERIES; i++) {
		const struct series_view *view = NULL;
		for (size_t k = 0; k < count; k++)
			if (is_view_of(&views[k], i, epoch))
				view = &views[k];
		wrong += check_series(view, i, first, end < last + 1 ? end : last + 1, required_ms);
	}
	arena_fini(&arena);
	matcher_fini(&matcher);
	return wrong;
}

static int run_check(const char *path, int64_t acknowledged, const struct plan *plan)
{
	struct store *s = open_or_die(path, &(struct store_options){ .read_only = true });
	int64_t last = last_step(s);
	/* Retention may have gone by a step that was not committed. */
	int64_t required_ms = plan->churn ? time_of(last + RETAIN_STEPS) - RETENTION_MS : INT64_MIN;
	struct store_verified verified;
	size_t wrong = 0;

	for (int64_t epoch = epoch_of(plan, last); epoch >= 0; epoch--)
		wrong += check_epoch(s, plan, epoch, last, required_ms);
	bool whole = store_verify(s, told, NULL, &verified);
	size_t series = store_series_count(s);
	store_free(s);
	if (last < acknowledged)
		fprintf(stderr, "store_writer: step %lld was acknowledged, the last one is %lld\n", (long long)acknowledged,
			(long long)last);
	printf("%lld %zu\n", (long long)last, series);
	return whole && !wrong && last >= acknowledged ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct plan plan = { 0 };
	bool is_write = argc >= 3 && strcmp(argv[1], "write") == 0;
	int words = is_write ? 3 : 4;
	int64_t step = 0;

	for (int i = words; i < argc; i++) {
		plan.full |= strcmp(argv[i], "full") == 0;
		plan.churn |= strcmp(argv[i], "churn") == 0;
	}
	if (is_write)
		return run_write(argv[2], &plan);
	if (argc >= 4 && strcmp(argv[1], "check") == 0 && number_parse_i64(str_from(argv[3]), &step))
		return run_check(argv[2], step, &plan);
	fprintf(stderr, "usage: store_writer write FILE [full] [churn] | check FILE STEP [churn]\n");
	return 64;
}
