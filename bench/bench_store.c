/* bench_store: a fleet's scrapes from standard input into a store on disk, then queries from it.
 *
 * Input: "replicas series\n", for each series of each replica its labels as text lines ("name\tkey\tvalue...\n"), then rows: the replica as
 * 32 bits, the time as 64, the values as doubles. Appending and committing (once a second of the rows' time) are measured by themselves. */
#include "base/clock.h"
#include "base/number.h"
#include "promql/promql.h"
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct fleet {
	int replicas, series;
	struct series **rows; /* replica by replica */
	struct series **own;  /* up and scrape_*, loose */
};

enum { OWN = 5, LINE = 4096, ROUNDS = 7 };

static const char *const own_names[OWN] = { "up", "scrape_duration_seconds", "scrape_samples_scraped",
	"scrape_samples_post_metric_relabeling", "scrape_series_added" };

static void die(const char *what)
{
	fprintf(stderr, "bench_store: %s\n", what);
	exit(1);
}

static struct series *series_of(struct sink *sink, char *line)
{
	struct label pairs[32];
	struct str rest = str_trim(str_from(line)), part;
	size_t count = 0;

	for (bool name = true; str_split(&rest, '\t', &part); name = !name) {
		if (!count) {
			pairs[count++] = (struct label){ LABEL_NAME, part };
			name = false;
		} else if (name) {
			pairs[count].name = part;
		} else {
			pairs[count++].value = part;
		}
	}
	struct labels *labels = labels_new(pairs, count);
	struct series *series = sink->ops->series(sink, labels, METRIC_COUNTER);
	labels_unref(labels);
	return series;
}

static void fleet_read(struct fleet *f, struct sink *sink)
{
	char line[LINE];

	if (!fgets(line, sizeof line, stdin) || sscanf(line, "%d %d", &f->replicas, &f->series) != 2)
		die("no head");
	f->rows = calloc((size_t)f->replicas * (size_t)f->series, sizeof *f->rows);
	f->own = calloc((size_t)f->replicas * OWN, sizeof *f->own);
	for (int i = 0; i < f->replicas * f->series; i++) {
		if (!fgets(line, sizeof line, stdin))
			die("too few series");
		f->rows[i] = series_of(sink, line);
	}
	for (int i = 0; i < f->replicas * OWN; i++) {
		snprintf(line, sizeof line, "%s\tinstance\t%d\tjob\tvllm", own_names[i % OWN], i / OWN);
		f->own[i] = series_of(sink, line);
	}
}

static int64_t fleet_append(const struct fleet *f, struct store *s, size_t *samples)
{
	struct sink *sink = store_sink(s);
	double *values = calloc((size_t)f->series, sizeof *values);
	int64_t t_ms, committed = 0, cpu = 0, worst = 0;
	int32_t replica;
	struct error e = { 0 };

	while (fread(&replica, sizeof replica, 1, stdin) == 1) {
		if (fread(&t_ms, sizeof t_ms, 1, stdin) != 1 ||
			fread(values, sizeof *values, (size_t)f->series, stdin) != (size_t)f->series)
			die("a row breaks off");
		int64_t begin = clock_cpu_ns();
		if (sink->ops->append_row(sink, f->rows + replica * f->series, values, (size_t)f->series, t_ms))
			die("refused");
		for (int i = 0; i < OWN; i++)
			sink->ops->append(sink, f->own[replica * OWN + i], t_ms,
				i == 0   ? 1
				: i == 1 ? (double)(t_ms % 977) / 1e4
					 : f->series);
		*samples += (size_t)f->series + OWN;
		if (t_ms / 1000 > committed) {
			int64_t before = clock_monotonic_ns();
			if (!store_commit(s, &e)) {
				error_print(&e, stderr);
				die("no commit");
			}
			committed = t_ms / 1000;
			worst = clock_monotonic_ns() - before > worst ? clock_monotonic_ns() - before : worst;
		}
		cpu += clock_cpu_ns() - begin;
	}
	store_commit(s, &e);
	printf("longest_commit_ms\t%.1f\n", (double)worst / 1e6);
	free(values);
	return cpu;
}

static double resident_mb(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return (double)pages * 4096 / 1e6;
}

static const struct {
	const char *name, *query;
	int range_s, step_s;
} queries[] = {
	{ "p99_by_le_6h", "histogram_quantile(0.99, sum(rate(vllm:time_to_first_token_seconds_bucket[5m])) by (le))", 21600, 60 },
	{ "p99_by_le_instance_6h", "histogram_quantile(0.99, sum(rate(vllm:time_to_first_token_seconds_bucket[5m])) by (le, instance))",
		21600, 60 },
	{ "success_ratio_6h",
		"sum(rate(vllm:request_success_total{finished_reason=\"stop\"}[5m]))/sum(rate(vllm:request_success_total[5m]))", 21600,
		60 },
	{ "p99_by_le_30d", "histogram_quantile(0.99, sum(rate(vllm:time_to_first_token_seconds_bucket[1h])) by (le))", 30 * 86400, 3600 },
	{ "p99_by_le_instance_30d", "histogram_quantile(0.99, sum(rate(vllm:time_to_first_token_seconds_bucket[1h])) by (le, instance))",
		30 * 86400, 3600 },
	{ "success_ratio_30d",
		"sum(rate(vllm:request_success_total{finished_reason=\"stop\"}[1h]))/sum(rate(vllm:request_success_total[1h]))", 30 * 86400,
		3600 },
	/* Windows that begin and end inside of chunks; and such that leave most of them out. */
	{ "p99_by_le_30d_uneven", "histogram_quantile(0.99, sum(rate(vllm:time_to_first_token_seconds_bucket[1h] offset 7m)) by (le))",
		30 * 86400, 3600 },
	{ "p99_by_le_30d_5m", "histogram_quantile(0.99, sum(rate(vllm:time_to_first_token_seconds_bucket[5m])) by (le))", 30 * 86400,
		3600 },
	{ "p99_by_le_now", "histogram_quantile(0.99, sum(rate(vllm:time_to_first_token_seconds_bucket[5m])) by (le))", 0, 0 },
};

/* All, or the one of this name. */
static void run_queries(struct store *s, const char *only, int rounds)
{
	struct backend *backend = backend_embedded_new(s);
	struct arena arena;
	int64_t oldest, newest;

	arena_init(&arena);
	store_bounds(s, &oldest, &newest);
	for (size_t q = 0; q < sizeof queries / sizeof *queries; q++) {
		if (only ? strcmp(only, queries[q].name) != 0 : queries[q].range_s * INT64_C(1000) > newest - oldest + 7200000)
			continue;
		double best = INFINITY, best_select = INFINITY, most = -INFINITY;
		for (int round = 0; round < rounds; round++) {
			struct promql_value value;
			struct error e = { 0 };
			struct matcher m;
			size_t count;
			struct str query = str_from(queries[q].query);
			/* Long ranges end at a full hour, as dashboards round them. */
			int64_t end = queries[q].step_s < 3600 ? newest : newest / 3600000 * 3600000,
				from = end - queries[q].range_s * INT64_C(1000);
			arena_reset(&arena); /* of the reading below, which no query does */
			int64_t begin = clock_cpu_ns();
			bool ok = queries[q].range_s ? backend->ops->query_range(backend, &arena, query, from, end,
							       queries[q].step_s * INT64_C(1000), &value, &e)
						     : backend->ops->query(backend, &arena, query, newest, &value, &e);
			if (!ok) {
				error_print(&e, stderr);
				die("no answer");
			}
			best = fmin(best, (double)(clock_cpu_ns() - begin) / 1e6);
			for (size_t i = 0; i < value.count; i++)
				most = fmax(most, value.type == PROMQL_VECTOR ? value.elements[i].value
									      : value.series[i].v[value.series[i].count - 1]);
			if (queries[q].range_s > 86400)
				continue;
			/* What of it was reading. */
			matcher_init(&m, LABEL_NAME, MATCH_EQ,
				q == 2 ? STR("vllm:request_success_total") : STR("vllm:time_to_first_token_seconds_bucket"), &e);
			arena_reset(&arena);
			begin = clock_cpu_ns();
			store_select(s, &arena, &m, 1, queries[q].range_s ? from - 300000 : newest - 300000, newest, &count);
			best_select = fmin(best_select, (double)(clock_cpu_ns() - begin) / 1e6);
			matcher_fini(&m);
		}
		printf("%s_cpu_ms\t%.2f\n%s_value\t%.17g\n", queries[q].name, best, queries[q].name, most);
		if (isfinite(best_select))
			printf("%s_select_cpu_ms\t%.2f\n", queries[q].name, best_select);
	}
	arena_fini(&arena);
	backend_free(backend);
}

/* ---- a month ---- */

enum { MONTH_BUCKETS = 23, MONTH_REASONS = 5, MONTH_SERIES = MONTH_BUCKETS + 1 + MONTH_REASONS, MONTH_STEP_MS = 5000 };
#define MONTH_START_MS INT64_C(1768435200000)

static const char *const month_bounds[MONTH_BUCKETS] = { "0.001", "0.005", "0.01", "0.02", "0.04", "0.06", "0.08", "0.1", "0.25", "0.5",
	"0.75", "1.0", "2.5", "5.0", "7.5", "10.0", "20.0", "40.0", "80.0", "160.0", "640.0", "2560.0", "+Inf" };
static const char *const month_reasons[MONTH_REASONS] = { "stop", "length", "abort", "error", "repetition" };

static struct series *month_series(struct sink *sink, int replica, int i)
{
	char line[LINE];

	if (i <= MONTH_BUCKETS)
		snprintf(line, sizeof line, "vllm:time_to_first_token_seconds_%s\tinstance\t%d\tjob\tvllm\tmodel_name\tm%s%s",
			i < MONTH_BUCKETS ? "bucket" : "count", replica, i < MONTH_BUCKETS ? "\tle\t" : "",
			i < MONTH_BUCKETS ? month_bounds[i] : "");
	else
		snprintf(line, sizeof line, "vllm:request_success_total\tfinished_reason\t%s\tinstance\t%d\tjob\tvllm\tmodel_name\tm",
			month_reasons[i - MONTH_BUCKETS - 1], replica);
	return series_of(sink, line);
}

static uint32_t month_random(void)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(state >> 33);
}

/* Requests of one step; every replica restarts about once a week. */
static void month_row(double *values)
{
	int requests = (int)(month_random() % 40);

	if (month_random() % (86400 * 7 / 5) == 0)
		memset(values, 0, MONTH_SERIES * sizeof *values);
	for (int i = 0; i < requests; i++) {
		uint32_t r = month_random();
		int bucket = 6 + (int)(r % 4 + r / 8 % 4 + (r / 64 % 32 ? 0 : 3));
		for (int b = bucket; b <= MONTH_BUCKETS; b++)
			values[b]++;
		values[MONTH_BUCKETS + 1 + (r / 2048 % 8 ? 0 : r / 16384 % 20 ? 1 : r / 262144 % 4 ? 2 : 3)]++;
	}
}

/* 29 series of each of 64 replicas, every 5 s for so many days: those that the queries of long ranges ask for. */
static void month_make(struct store *s, int days)
{
	enum { REPLICAS = 64 };
	static double values[REPLICAS][MONTH_SERIES];
	struct series *rows[REPLICAS][MONTH_SERIES];
	struct sink *sink = store_sink(s);
	struct error e = { 0 };
	int64_t cpu = 0, samples = 0;

	for (int r = 0; r < REPLICAS; r++)
		for (int i = 0; i < MONTH_SERIES; i++)
			rows[r][i] = month_series(sink, r, i);
	for (int64_t step = 0; step < days * INT64_C(86400000) / MONTH_STEP_MS; step++) {
		for (int r = 0; r < REPLICAS; r++)
			month_row(values[r]);
		int64_t begin = clock_cpu_ns();
		for (int r = 0; r < REPLICAS; r++)
			sink->ops->append_row(sink, rows[r], values[r], MONTH_SERIES, MONTH_START_MS + step * MONTH_STEP_MS + r * 70);
		if (!store_commit(s, &e)) {
			error_print(&e, stderr);
			die("no commit");
		}
		cpu += clock_cpu_ns() - begin;
		samples += (int64_t)REPLICAS * MONTH_SERIES;
	}
	printf("month_samples\t%lld\nmonth_append_ns_a_sample\t%.2f\nmonth_resident_mb\t%.1f\n", (long long)samples,
		(double)cpu / (double)samples, resident_mb());
}

/* Makes the file if it is not there, and asks it. */
static int month(const char *path, int days)
{
	const struct store_options options = { 0 }, reading = { .read_only = true };
	struct error e = { 0 };

	if (!store_is(path)) {
		struct store *s = store_open(path, &options, &e);
		if (s)
			month_make(s, days);
		store_free(s);
	}
	int64_t begin = clock_cpu_ns();
	struct store *s = e.set ? NULL : store_open(path, &reading, &e);
	if (!s) {
		error_print(&e, stderr);
		return 1;
	}
	struct store_stats stats;
	store_stats(s, &stats);
	printf("month_open_cpu_ms\t%.1f\nmonth_file_bytes\t%llu\n", (double)(clock_cpu_ns() - begin) / 1e6,
		(unsigned long long)stats.file_bytes);
	run_queries(s, NULL, ROUNDS);
	store_free(s);
	return 0;
}

int main(int argc, char **argv)
{
	struct fleet f = { 0 };
	struct error e = { 0 };
	struct store_stats stats;
	const struct store_options options = { 0 }, reading = { .read_only = true };
	size_t samples = 0;

	if (argc >= 3 && argc <= 5 && strcmp(argv[1], "--read") == 0) {
		struct store *there = store_open(argv[2], &reading, &e);
		if (!there) {
			error_print(&e, stderr);
			return 1;
		}
		run_queries(there, argv[3], argc == 5 ? (int)strtol(argv[4], NULL, 10) : ROUNDS);
		store_free(there);
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "--month") == 0)
		return month(argv[2], (int)strtol(argv[3], NULL, 10));
	if (argc != 2)
		die("usage: bench_store FILE <rows, bench_store --read FILE [QUERY [ROUNDS]], bench_store --month FILE DAYS");
	struct store *s = store_open(argv[1], &options, &e);
	if (!s) {
		error_print(&e, stderr);
		return 1;
	}
	fleet_read(&f, store_sink(s));
	double resident_before = resident_mb();
	int64_t cpu = fleet_append(&f, s, &samples);
	store_stats(s, &stats);
	printf("samples\t%zu\nappend_ns_a_sample\t%.2f\nmillion_samples_a_cpu_second\t%.2f\n", samples, (double)cpu / (double)samples,
		(double)samples / (double)cpu * 1000);
	printf("resident_mb\t%.1f\nresident_before_mb\t%.1f\n", resident_mb(), resident_before);
	printf("file_bytes\t%llu\nfree_bytes\t%llu\nhead_samples\t%zu\nchunks\t%zu\n", (unsigned long long)stats.file_bytes,
		(unsigned long long)stats.free_bytes, stats.head_samples, stats.chunks);
	printf("bytes_a_sample\t%.4f\n", (double)stats.file_bytes / (double)samples);
	fflush(stdout);
	/* As it would be found after a kill: the log is replayed. */
	int64_t begin = clock_monotonic_ns(), begin_cpu = clock_cpu_ns();
	struct store *again = store_open(argv[1], &reading, &e);
	if (!again) {
		error_print(&e, stderr);
		return 1;
	}
	printf("open_ms\t%.1f\nopen_cpu_ms\t%.1f\n", (double)(clock_monotonic_ns() - begin) / 1e6,
		(double)(clock_cpu_ns() - begin_cpu) / 1e6);
	store_free(s);
	run_queries(again, NULL, ROUNDS);
	store_free(again);
	free(f.rows);
	free(f.own);
	return 0;
}
