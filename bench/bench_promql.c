/* bench_promql: CPU time of queries over the embedded store.
 *
 *     bench_promql [--rounds N] [--remote-write FILE]
 *
 * A fleet of 64 replicas with 600 series each, scraped every 5 s: of 28 series (time to first token, outcomes) the last 6 hours, of the
 * others the last 10 minutes. The same bytes in every run. Prints for each query the best and the median CPU milliseconds, the series and
 * the largest last value. --remote-write also writes the samples as remote-write requests, each after its length (32 bits, little endian),
 * for a real server to load. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/number.h"
#include "promql/promql.h"
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	REPLICAS = 64,
	SERIES = 600,
	BUCKETS = 23,
	REASONS = 5,
	LONG_SERIES = BUCKETS + REASONS,
	STEP_MS = 5000,
	STEPS = 4320,
	SHORT_STEPS = 120
};
#define START_MS INT64_C(1768435200000) /* 2026-01-15T00:00Z */
#define END_MS (START_MS + INT64_C(1) * STEPS * STEP_MS)

static const char *const bounds[BUCKETS] = { "0.001", "0.005", "0.01", "0.02", "0.04", "0.06", "0.08", "0.1", "0.25", "0.5", "0.75", "1.0",
	"2.5", "5.0", "7.5", "10.0", "20.0", "40.0", "80.0", "160.0", "640.0", "2560.0", "+Inf" };
static const char *const reasons[REASONS] = { "stop", "length", "abort", "error", "repetition" };

/* ---- the fleet ---- */

static uint64_t random_state = 1;
static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % limit);
}

static struct labels *series_labels(int replica, int i)
{
	char instance[32], name[32];
	snprintf(instance, sizeof instance, "10.0.0.%d:8000", replica);
	snprintf(name, sizeof name, "vllm:filler_%d_total", i);
	struct label pairs[] = { { LABEL_NAME, str_from(name) }, { STR("engine"), STR("0") }, { STR("instance"), str_from(instance) },
		{ STR("job"), STR("vllm") }, { STR("model_name"), STR("llama-3.1-8b") }, { STR("le"), STR("") } };
	if (i < BUCKETS) {
		pairs[0].value = STR("vllm:time_to_first_token_seconds_bucket");
		pairs[5].value = str_from(bounds[i]);
	} else if (i < LONG_SERIES) {
		pairs[0].value = STR("vllm:request_success_total");
		pairs[5] = (struct label){ STR("finished_reason"), str_from(reasons[i - BUCKETS]) };
	} else if (i == SERIES - 1) {
		pairs[0].value = STR("up");
	}
	return labels_new(pairs, 6);
}

struct replica {
	struct labels *labels[SERIES];
	struct series *series[SERIES];
	double values[SERIES];
};

/* One scrape later: requests fall into buckets around half a second; every eighth replica restarts once. */
static void replica_step(struct replica *r, int number, int step)
{
	if (number % 8 == 0 && step == 1000 + number * 30)
		memset(r->values, 0, sizeof r->values);
	for (uint32_t n = random_below(7); n > 0; n--) {
		int bucket = 4 + (int)(random_below(7) + random_below(7));
		for (int i = bucket; i < BUCKETS; i++)
			r->values[i]++;
		uint32_t reason = random_below(100);
		r->values[BUCKETS + (reason < 85 ? 0 : reason < 97 ? 1 : reason < 99 ? 2 : 3)]++;
	}
	for (int i = LONG_SERIES; step >= STEPS - SHORT_STEPS && i < SERIES - 1; i++)
		r->values[i] += random_below(3);
	r->values[SERIES - 1] = 1;
}

static int64_t scrape_time(int replica, int step)
{
	return START_MS + (int64_t)step * STEP_MS + 1 + replica * 71;
}

static size_t series_at(int step)
{
	return step >= STEPS - SHORT_STEPS ? SERIES : LONG_SERIES;
}

static void fleet_fill(struct store *store, struct replica *fleet)
{
	struct sink *sink = store_sink(store);
	for (int n = 0; n < REPLICAS; n++)
		for (int i = 0; i < SERIES; i++) {
			fleet[n].labels[i] = series_labels(n, i);
			fleet[n].series[i] = sink->ops->series(sink, fleet[n].labels[i], METRIC_COUNTER);
		}
	for (int step = 0; step < STEPS; step++)
		for (int n = 0; n < REPLICAS; n++) {
			replica_step(&fleet[n], n, step);
			sink->ops->append_row(sink, fleet[n].series, fleet[n].values, series_at(step), scrape_time(n, step));
		}
}

/* ---- remote write ---- */

static void add_varint(struct buf *b, uint64_t n)
{
	for (; n > 127; n >>= 7)
		buf_add_c(b, (char)((n & 127) | 128));
	buf_add_c(b, (char)n);
}

static void add_field(struct buf *b, int field, struct str bytes)
{
	add_varint(b, (uint64_t)field << 3 | 2);
	add_varint(b, bytes.len);
	buf_add(b, bytes);
}

static void add_series(struct buf *request, struct buf *scratch, struct buf *part, const struct series_view *s)
{
	buf_reset(scratch);
	for (uint32_t i = 0; i < s->labels->count; i++) {
		buf_reset(part);
		add_field(part, 1, s->labels->items[i].name);
		add_field(part, 2, s->labels->items[i].value);
		add_field(scratch, 1, buf_str(part));
	}
	for (size_t k = 0; k < s->count; k++) {
		buf_reset(part);
		buf_add_c(part, 1 << 3 | 1);
		buf_add(part, str_of((const char *)&s->v[k], 8));
		buf_add_c(part, 2 << 3);
		add_varint(part, (uint64_t)s->t[k]);
		add_field(scratch, 2, buf_str(part));
	}
	add_field(request, 1, buf_str(scratch));
}

/* Snappy's block format with one literal, which is a valid encoding. */
static void write_request(FILE *file, struct buf *request, struct buf *body)
{
	buf_reset(body);
	add_varint(body, request->len);
	buf_add_c(body, (char)(62 << 2));
	uint32_t size = (uint32_t)request->len - 1;
	buf_add(body, str_of((const char *)&size, 3));
	buf_add(body, buf_str(request));
	uint32_t length = (uint32_t)body->len;
	fwrite(&length, sizeof length, 1, file);
	fwrite(body->ptr, 1, body->len, file);
	buf_reset(request);
}

/* In windows of time, as a server wants its samples in order. */
static void write_remote(const struct store *store, const char *path)
{
	struct buf request, scratch, part, body;
	struct arena arena;
	FILE *file = fopen(path, "wb");
	if (!file) {
		perror(path);
		exit(1);
	}
	arena_init(&arena);
	for (struct buf **b = (struct buf *[]){ &request, &scratch, &part, &body, NULL }; *b; b++)
		buf_init(*b, 1 << 26);
	for (int64_t from = START_MS; from < END_MS; from += 600000) {
		size_t count;
		struct series_view *s = store_select(store, &arena, NULL, 0, from, from + 599999, &count);
		for (size_t i = 0; i < count; i++) {
			add_series(&request, &scratch, &part, &s[i]);
			if (request.len > 1 << 20)
				write_request(file, &request, &body);
		}
		if (request.len)
			write_request(file, &request, &body);
		arena_reset(&arena);
	}
	fclose(file);
	arena_fini(&arena);
	for (struct buf **b = (struct buf *[]){ &request, &scratch, &part, &body, NULL }; *b; b++)
		buf_fini(*b);
}

/* ---- queries ---- */

#define P99(by) "histogram_quantile(0.99, sum(rate(vllm:time_to_first_token_seconds_bucket[5m])) by (" by "))"
#define SUCCESS "sum(rate(vllm:request_success_total{finished_reason=\"stop\"}[5m]))/sum(rate(vllm:request_success_total[5m]))"
static const struct {
	const char *name, *query;
	int range_s, step_s; /* 0 = instant */
} queries[] = {
	{ "a", P99("le"), 0, 0 },
	{ "b", P99("le"), 21600 - 300, 60 },
	{ "c1", P99("le, instance"), 0, 0 },
	{ "c2", P99("le, instance"), 21600 - 300, 60 },
	{ "d1", SUCCESS, 0, 0 },
	{ "d2", SUCCESS, 21600 - 300, 60 },
	{ "e", "up", 0, 0 },
	{ "f", "count({job=\"vllm\"})", 0, 0 },
	{ "h", P99("le"), 3600, 15 },
};

static bool run_once(struct backend *backend, struct arena *arena, size_t q, struct promql_value *value, struct error *e)
{
	struct promql_node *node = promql_parse(arena, str_from(queries[q].query), &promql_defaults, e);
	if (!node)
		return false;
	if (!queries[q].range_s)
		return promql_instant(backend, arena, node, &promql_defaults, END_MS, value, e);
	return promql_range(backend, arena, node, &promql_defaults, END_MS - queries[q].range_s * INT64_C(1000), END_MS,
		queries[q].step_s * INT64_C(1000), value, e);
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* The largest of the newest values: the same in whatever order the elements come. */
static double last_value(const struct promql_value *v)
{
	double most = -INFINITY;
	for (size_t i = 0; i < v->count; i++)
		most = fmax(most, v->type == PROMQL_VECTOR ? v->elements[i].value : v->series[i].v[v->series[i].count - 1]);
	return most;
}

static bool run_query(struct backend *backend, size_t q, size_t rounds)
{
	struct arena arena;
	struct error e = { 0 };
	struct promql_value value;
	double *times = calloc(rounds, sizeof *times);
	arena_init(&arena);
	for (size_t i = 0; i < rounds; i++) {
		arena_reset(&arena);
		int64_t begin = clock_cpu_ns();
		if (!run_once(backend, &arena, q, &value, &e)) {
			error_print(&e, stderr);
			return false;
		}
		times[i] = (double)(clock_cpu_ns() - begin) / 1e6;
	}
	qsort(times, rounds, sizeof *times, compare_double);
	printf("%s\t%.3f\t%.3f\t%zu\t%.17g\n", queries[q].name, times[0], times[rounds / 2], value.count, last_value(&value));
	fflush(stdout);
	arena_fini(&arena);
	free(times);
	return true;
}

int main(int argc, char **argv)
{
	size_t rounds = 30;
	const char *remote = NULL;
	for (int i = 1; i < argc; i++) {
		int64_t n;
		if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc && number_parse_i64(str_from(argv[i + 1]), &n) && n > 0)
			rounds = (size_t)n, i++;
		else if (strcmp(argv[i], "--remote-write") == 0 && i + 1 < argc)
			remote = argv[++i];
		else {
			fprintf(stderr, "usage: bench_promql [--rounds N] [--remote-write FILE]\n");
			return EXIT_USAGE;
		}
	}
	struct store *store = store_new();
	struct replica *fleet = calloc(REPLICAS, sizeof *fleet);
	fleet_fill(store, fleet);
	fprintf(stderr, "%zu series, %zu samples\n", store_series_count(store), store_sample_count(store));
	if (remote)
		write_remote(store, remote);
	struct backend *backend = backend_embedded_new(store);
	printf("query\tbest_cpu_ms\tmedian_cpu_ms\tseries\tlast_value\n");
	bool ok = true;
	for (size_t q = 0; ok && q < sizeof queries / sizeof *queries; q++)
		ok = run_query(backend, q, queries[q].range_s ? (rounds + 2) / 3 : rounds);
	backend_free(backend);
	for (int n = 0; n < REPLICAS; n++)
		for (int i = 0; i < SERIES; i++)
			labels_unref(fleet[n].labels[i]);
	free(fleet);
	store_free(store);
	return ok ? 0 : 1;
}
