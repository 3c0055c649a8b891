/* CPU time of updates of libgoodput in a directory: one thread, and several at once. Prints name, threads, ns of CPU and of wall for an
 * update. */
#include <goodput/telemetry.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 16 };

static goodput_counter *counter;
static goodput_gauge *gauge, *recent;
static goodput_histogram *histogram;
static goodput_summary *summary;
static goodput_family *labelled;
static volatile double floor_cell;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* What no update can be without: a load, an addition, a store of the same cell. */
static void run_floor(long n)
{
	for (long i = 0; i < n; i++)
		floor_cell = floor_cell + 1;
}

static void run_counter(long n)
{
	for (long i = 0; i < n; i++)
		goodput_counter_inc(counter);
}

static void run_child(long n)
{
	const char *const values[] = { "0", "meta-llama/Llama-3.1-8B-Instruct" };
	goodput_counter *c;

	for (long i = 0; i < n; i++)
		if (!goodput_counter_child(labelled, values, &c))
			goodput_counter_inc(c);
}

static atomic_long firsts;

/* A label set that nobody used before: an entry is appended, the file grows. */
static void run_first(long n)
{
	char text[24];
	const char *const values[] = { "0", text };
	goodput_counter *c;

	for (long i = 0; i < n; i++) {
		snprintf(text, sizeof text, "%ld", atomic_fetch_add(&firsts, 1));
		if (!goodput_counter_child(labelled, values, &c))
			goodput_counter_inc(c);
	}
}

static void run_set(long n)
{
	for (long i = 0; i < n; i++)
		goodput_gauge_set(gauge, (double)i);
}

static void run_recent(long n)
{
	for (long i = 0; i < n; i++)
		goodput_gauge_set(recent, (double)i);
}

static void run_add(long n)
{
	for (long i = 0; i < n; i++)
		goodput_gauge_add(gauge, 1);
}

static void run_summary(long n)
{
	for (long i = 0; i < n; i++)
		goodput_summary_observe(summary, 0.3);
}

/* One of 16,384 log-uniform latencies each time: neither bucket nor branch can be guessed. */
static double latencies[1 << 14];

static void run_histogram(long n)
{
	for (long i = 0; i < n; i++)
		goodput_histogram_observe(histogram, latencies[i & ((1 << 14) - 1)]);
}

static void run_same_bucket(long n)
{
	for (long i = 0; i < n; i++)
		goodput_histogram_observe(histogram, 0.3);
}

struct row {
	const char *name;
	void (*run)(long n);
	long divide;
};
static const struct row rows[] = {
	{ "floor: load, add, store", run_floor, 1 },
	{ "counter_inc", run_counter, 1 },
	{ "counter_child + inc, 2 labels", run_child, 10 },
	{ "first use of a label set", run_first, 1000 },
	{ "gauge_set", run_set, 1 },
	{ "gauge_set, mostrecent", run_recent, 10 },
	{ "gauge_add", run_add, 4 },
	{ "summary_observe", run_summary, 1 },
	{ "histogram_observe, 15 buckets, any", run_histogram, 1 },
	{ "histogram_observe, 15 buckets, one", run_same_bucket, 1 },
};

struct job {
	const struct row *row;
	long n;
	double cpu, start, end;
	pthread_barrier_t *barrier;
};

static void *work(void *arg)
{
	struct job *j = arg;

	j->row->run(1000);
	pthread_barrier_wait(j->barrier);
	j->start = now(CLOCK_MONOTONIC);
	j->cpu = now(CLOCK_THREAD_CPUTIME_ID);
	j->row->run(j->n);
	j->cpu = now(CLOCK_THREAD_CPUTIME_ID) - j->cpu;
	j->end = now(CLOCK_MONOTONIC);
	return NULL;
}

/* Least CPU of an update in a thread, and wall of all threads over all updates. */
static void measure(const struct row *row, int threads, long n, double *cpu, double *wall)
{
	struct job jobs[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	pthread_barrier_t barrier;
	double first = 0, last = 0, total = 0;

	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		jobs[i] = (struct job){ .row = row, .n = n, .barrier = &barrier };
		pthread_create(&ids[i], NULL, work, &jobs[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		total += jobs[i].cpu;
		first = i && first < jobs[i].start ? first : jobs[i].start;
		last = i && last > jobs[i].end ? last : jobs[i].end;
	}
	pthread_barrier_destroy(&barrier);
	*cpu = total / threads / (double)n * 1e9;
	*wall = (last - first) / threads / (double)n * 1e9;
}

static int declare(goodput_registry *r)
{
	const char *const names[] = { "engine", "model_name", NULL };

	return goodput_counter_new(r, "bench_counter", "h", &counter) ||
	       goodput_gauge_new(r, "bench_gauge", "h", GOODPUT_GAUGE_LIVESUM, &gauge) ||
	       goodput_gauge_new(r, "bench_recent", "h", GOODPUT_GAUGE_MOSTRECENT, &recent) ||
	       goodput_summary_new(r, "bench_summary", "h", &summary) ||
	       goodput_histogram_new(r, "bench_histogram", "h", NULL, 0, &histogram) ||
	       goodput_counter_family(r, "bench_labelled", "h", names, &labelled);
}

int main(int argc, char **argv)
{
	const long n = argc > 2 ? atol(argv[2]) : 10000000;
	const int rounds = argc > 3 ? atoi(argv[3]) : 5;
	const int threads[] = { 1, 4 };
	goodput_options o;
	goodput_registry *r;

	goodput_options_init(&o);
	o.directory = argc > 1 ? argv[1] : NULL;
	if (goodput_registry_open(&o, &r) || declare(r)) {
		fprintf(stderr, "usage: bench_telemetry DIR [N [ROUNDS]]\n");
		return 1;
	}
	for (size_t i = 0; i < sizeof latencies / sizeof *latencies; i++)
		latencies[i] = 0.001 * (1 << (i * 2654435761u >> 7) % 14);
	for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			double best = 1e9, best_wall = 1e9;

			for (int k = 0; k < rounds; k++) {
				double cpu, wall;

				measure(&rows[i], threads[t], n / rows[i].divide / threads[t], &cpu, &wall);
				best = cpu < best ? cpu : best;
				best_wall = wall < best_wall ? wall : best_wall;
			}
			printf("%s\t%d\t%.2f\t%.2f\n", rows[i].name, threads[t], best, best_wall);
			fflush(stdout);
		}
	goodput_registry_close(r);
	return 0;
}
