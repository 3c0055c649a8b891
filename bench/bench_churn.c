/* bench_churn: what series cost that are no more. A fleet whose pods are all replaced every two hours of the samples' time: 64 pods of 600
 * series with a new `instance` and `pod` each time.
 *
 *   bench_churn FILE|memory SERIES ROUNDS
 *
 * First so many deployments that SERIES series were there, without retention: bytes of memory for each one, and how long opening takes.
 * Then ROUNDS deployments more, with a retention of what is there: memory, series and size of the file as it goes on. */
#include "base/clock.h"
#include "base/number.h"
#include "store/store.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { PODS = 64, NAMES = 30, BUCKETS = 20, SERIES = NAMES * BUCKETS, ROWS = 5, DEPLOY_MS = 2 * 3600 * 1000 + 60000 };
#define BEGIN_MS INT64_C(1760000000000)

struct churn {
	struct store *store;
	int deployments;
	bool in_file;
};

static void die(const char *what)
{
	fprintf(stderr, "bench_churn: %s\n", what);
	exit(1);
}

static void labels_of(int deployment, int pod, int nth, struct series **series, struct sink *sink)
{
	char name[80], le[20], instance[40], pod_name[80];
	snprintf(name, sizeof name, "vllm:some_quantity_%02d_of_requests_seconds_bucket", nth / BUCKETS);
	snprintf(le, sizeof le, nth % BUCKETS == BUCKETS - 1 ? "+Inf" : "%d.5", nth % BUCKETS);
	snprintf(instance, sizeof instance, "10.%d.%d.%d:8000", deployment / 256 % 256, deployment % 256, pod);
	snprintf(pod_name, sizeof pod_name, "vllm-llama-3-70b-%08x-%05x", (unsigned)deployment * 2654435761U, (unsigned)pod * 7919U);
	struct label pairs[] = { { LABEL_NAME, str_from(name) }, { STR("engine"), STR("0") }, { STR("instance"), str_from(instance) },
		{ STR("job"), STR("vllm") }, { STR("le"), str_from(le) }, { STR("model_name"), STR("meta-llama/Llama-3.1-70B-Instruct") },
		{ STR("namespace"), STR("inference") }, { STR("pod"), str_from(pod_name) } };
	struct labels *labels = labels_new(pairs, sizeof pairs / sizeof *pairs);
	*series = sink->ops->series(sink, labels, METRIC_HISTOGRAM);
	labels_unref(labels);
}

static struct labels *labels_beat(void)
{
	static struct labels *labels;
	struct label pairs[] = { { LABEL_NAME, STR("beat") } };
	return labels = labels ? labels : labels_new(pairs, 1);
}

static void commit(struct churn *c)
{
	struct error e = { 0 };
	if (!store_commit(c->store, &e)) {
		error_print(&e, stderr);
		die("no commit");
	}
}

/* All pods begin, live for two hours and are gone: their series end, as a scraper ends them, and what they had is sealed. */
static void deploy(struct churn *c)
{
	static struct series *series[PODS][SERIES];
	static double values[SERIES];
	struct sink *sink = store_sink(c->store);
	int64_t begin = BEGIN_MS + (int64_t)c->deployments * DEPLOY_MS;

	for (int pod = 0; pod < PODS; pod++)
		for (int i = 0; i < SERIES; i++)
			labels_of(c->deployments, pod, i, &series[pod][i], sink);
	struct series *beat = sink->ops->series(sink, labels_beat(), METRIC_GAUGE);
	for (int row = 0; row < ROWS; row++) {
		for (int pod = 0; pod < PODS; pod++) {
			for (int i = 0; i < SERIES; i++)
				values[i] = row * 100 + i % BUCKETS * 3;
			if (sink->ops->append_row(sink, series[pod], values, SERIES, begin + row * (DEPLOY_MS - 60000) / (ROWS - 1)))
				die("refused");
		}
		commit(c);
	}
	for (int pod = 0; pod < PODS; pod++)
		for (int i = 0; i < SERIES; i++)
			sink->ops->append(sink, series[pod][i], begin + DEPLOY_MS - 30000, number_stale());
	commit(c);
	/* What is loose is sealed after 7,200 commits: the seconds of two hours. */
	for (int i = 0; c->in_file && i < 7200; i++) {
		sink->ops->append(sink, beat, begin + i * 1000, i);
		commit(c);
	}
	c->deployments++;
}

static double in_use(void)
{
	struct mallinfo2 m = mallinfo2();
	return (double)(m.uordblks + m.hblkhd);
}

static void show(const struct churn *c, const char *what, double before)
{
	struct store_stats stats;
	store_stats(c->store, &stats);
	double bytes = in_use() - before;
	printf("%s\tdeployments %d\tseries %zu\tmemory_mb %.1f\tbytes_a_series %.1f\tfile_mb %.1f\n", what, c->deployments, stats.series,
		bytes / 1e6, stats.series ? bytes / (double)stats.series : 0, (double)stats.file_bytes / 1e6);
	fflush(stdout);
}

static struct store *store_at(const char *path, int64_t retention_ms)
{
	struct error e = { 0 };
	struct store *s = store_open(path, &(struct store_options){ .retention_ms = retention_ms }, &e);
	if (!s) {
		error_print(&e, stderr);
		die("cannot open");
	}
	return s;
}

static void retain(struct churn *c)
{
	struct error e = { 0 };
	for (int i = 0; i < 4 + c->in_file * 4; i++)
		if (!store_retain(c->store, BEGIN_MS + (int64_t)c->deployments * DEPLOY_MS, &e))
			die("cannot retain");
	commit(c);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		die("usage: bench_churn FILE|memory SERIES ROUNDS");
	bool in_file = !str_is(str_from(argv[1]), "memory");
	int deployments = atoi(argv[2]) / (PODS * SERIES) + 1, rounds = atoi(argv[3]);
	double before = in_use();
	struct churn c = { in_file ? store_at(argv[1], 0) : store_new(), 0, in_file };

	int64_t cpu = clock_cpu_ns();
	while (c.deployments < deployments)
		deploy(&c);
	printf("appended\tcpu_us_a_series %.2f\n", (double)(clock_cpu_ns() - cpu) / 1e3 / PODS / SERIES / deployments);
	show(&c, "loaded", before);
	int64_t retention_ms = (int64_t)deployments * DEPLOY_MS;
	if (in_file) {
		store_free(c.store);
		int64_t begin = clock_monotonic_ns();
		cpu = clock_cpu_ns();
		c.store = store_at(argv[1], retention_ms);
		printf("opened\tseconds %.3f\tcpu_s %.3f\n", (double)(clock_monotonic_ns() - begin) / 1e9,
			(double)(clock_cpu_ns() - cpu) / 1e9);
		show(&c, "opened", before);
	} else {
		store_set_retention(c.store, retention_ms, 0);
	}
	int64_t worst = 0, all = 0;
	for (int i = 0; i < rounds; i++) {
		deploy(&c);
		cpu = clock_cpu_ns();
		int64_t begin = clock_monotonic_ns();
		retain(&c);
		worst = clock_monotonic_ns() - begin > worst ? clock_monotonic_ns() - begin : worst;
		all += clock_cpu_ns() - cpu;
		if (i % (rounds / 8 + 1) == 0 || i + 1 == rounds)
			show(&c, "churned", before);
	}
	if (rounds)
		printf("retained\tcpu_ms_a_deployment %.1f\tlongest_ms %.1f\n", (double)all / 1e6 / rounds, (double)worst / 1e6);
	store_free(c.store);
	return 0;
}
