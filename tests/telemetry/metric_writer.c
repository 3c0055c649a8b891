/* A writer for the live tests; writer.py does the same with prometheus_client.
 *
 *     metric_writer PREFIX ROUTES
 *
 * "run N" on standard input makes the next N updates, by two threads, and answers with their number so far; "fork N" lets a child do so and
 * answers with the child's pid; end of input ends it. Update k counts route k % ROUTES, and observes k % 13 in histogram and summary;
 * gauges are set to the number of updates after each batch. */
#include <goodput/telemetry.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static goodput_family *requests;
static goodput_histogram *seconds;
static goodput_summary *bytes;
static goodput_gauge *gauges[6];
static const enum goodput_gauge_mode modes[6] = { GOODPUT_GAUGE_ALL, GOODPUT_GAUGE_MIN, GOODPUT_GAUGE_MAX, GOODPUT_GAUGE_SUM,
	GOODPUT_GAUGE_LIVESUM, GOODPUT_GAUGE_LIVEALL };
static const char *const mode_names[6] = { "all", "min", "max", "sum", "livesum", "liveall" };
static long routes;

struct part {
	long from, to; /* every second update of them */
	int failures;
};

static void *updates(void *arg)
{
	struct part *p = arg;

	for (long k = p->from; k < p->to; k += 2) {
		char route[80];
		const char *const values[] = { route, "POST" };
		goodput_counter *c;

		snprintf(route, sizeof route, "/v1/models/meta-llama-Llama-3.1-8B-Instruct/route/%ld", k % routes);
		p->failures += goodput_counter_child(requests, values, &c) ||
			       (goodput_counter_inc(c) | goodput_histogram_observe(seconds, (double)(k % 13)) |
				       goodput_summary_observe(bytes, (double)(k % 13)));
	}
	return NULL;
}

static int run(long from, long to)
{
	struct part parts[2] = { { from, to, 0 }, { from + 1, to, 0 } };
	pthread_t other;

	if (pthread_create(&other, NULL, updates, &parts[1]))
		return 1;
	updates(&parts[0]);
	pthread_join(other, NULL);
	for (int i = 0; i < 6; i++)
		parts[0].failures += goodput_gauge_set(gauges[i], (double)to) != GOODPUT_OK;
	return parts[0].failures + parts[1].failures;
}

static int declare(goodput_registry *r, const char *prefix)
{
	static const char *const labels[] = { "route", "method", NULL };
	static const double bounds[] = { 1, 2.5, 5, 10 };
	char name[64];
	int status = 0;

	snprintf(name, sizeof name, "%s_requests", prefix);
	status |= goodput_counter_family(r, name, "Requests \"answered\".", labels, &requests);
	snprintf(name, sizeof name, "%s_seconds", prefix);
	status |= goodput_histogram_new(r, name, "Time.", bounds, 4, &seconds);
	snprintf(name, sizeof name, "%s_bytes", prefix);
	status |= goodput_summary_new(r, name, "Bytes.", &bytes);
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof name, "%s_%s", prefix, mode_names[i]);
		status |= goodput_gauge_new(r, name, "Updates.", modes[i], &gauges[i]);
	}
	return status;
}

static void told(void *context, int status, const char *message)
{
	fprintf(stderr, "metric_writer %d: %s\n", (int)getpid(), message);
}

int main(int argc, char **argv)
{
	goodput_options o;
	goodput_registry *r;
	char line[64];
	long done = 0;

	goodput_options_init(&o);
	o.report = told;
	routes = argc > 2 ? atol(argv[2]) : 1;
	if (argc < 2 || goodput_registry_open(&o, &r) || declare(r, argv[1])) {
		fprintf(stderr, "usage: metric_writer PREFIX ROUTES\n");
		return 2;
	}
	printf("pid %ld\n", (long)getpid());
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		const long n = atol(strchr(line, ' ') ? strchr(line, ' ') : "0");
		pid_t child;
		int status;

		if (!strncmp(line, "run", 3)) {
			const int failures = run(done, done + n);

			done += n;
			printf("done %ld failures %d\n", done, failures);
		} else if (!strncmp(line, "fork", 4)) {
			child = fork();
			if (!child)
				_exit(run(0, n) != 0);
			printf("child %ld failures %d\n", (long)child, waitpid(child, &status, 0) != child || status != 0);
		}
		fflush(stdout);
	}
	goodput_registry_close(r);
	return 0;
}
