/* A server of several processes that counts what it does in metric files.
 *
 *     cc -o server server.c $(pkg-config --cflags --libs goodput)
 *     PROMETHEUS_MULTIPROC_DIR=/dev/shm/metrics ./server 8080 4 &
 *     curl http://127.0.0.1:8080/work
 *     goodput collect /dev/shm/metrics
 *
 * The metrics are the files of the directory: `goodput collect --listen` or Python's MultiProcessCollector exposes them, beside those of
 * Python processes that use the same directory. */
#include <goodput/telemetry.h>

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static goodput_family *requests; /* by path and code */
static goodput_gauge *busy;
static goodput_histogram *duration;

/* Says on standard error that metrics cannot be saved, or can again; nothing is lost meanwhile but to a crash. */
static void metrics_report(void *context, int status, const char *message)
{
	fprintf(stderr, "metrics: %s\n", message);
}

static int metrics_open(goodput_registry **metrics)
{
	static const char *const labels[] = { "path", "code", NULL };
	goodput_options options;
	int status;

	goodput_options_init(&options);
	options.report = metrics_report;
	status = goodput_registry_open(&options, metrics);
	if (!status)
		status = goodput_counter_family(*metrics, "example_requests", "Requests answered.", labels, &requests);
	if (!status)
		status = goodput_gauge_new(*metrics, "example_busy", "Workers that serve a request.", GOODPUT_GAUGE_LIVESUM, &busy);
	if (!status)
		status = goodput_histogram_new(*metrics, "example_request_seconds", "Time from request to answer.", NULL, 0, &duration);
	return status;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* /work is the only path; the label has two values, whatever clients ask for. */
static void serve(int client)
{
	char text[2048], path[16] = "";
	const double begin = seconds();
	const ssize_t size = read(client, text, sizeof text - 1);
	const char *values[] = { "other", "404" };
	goodput_counter *counter;

	goodput_gauge_add(busy, 1);
	text[size > 0 ? size : 0] = '\0';
	if (sscanf(text, "GET %15s ", path) == 1 && !strcmp(path, "/work")) {
		values[0] = path;
		values[1] = "200";
		usleep(1000);
	}
	if (goodput_counter_child(requests, values, &counter) == GOODPUT_OK)
		goodput_counter_inc(counter);
	goodput_histogram_observe(duration, seconds() - begin);
	goodput_gauge_add(busy, -1);
	dprintf(client, "HTTP/1.1 %s\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n",
		*values[1] == '2' ? "200 OK" : "404 Not Found");
	close(client);
}

enum { WORKERS_MAX = 64 };
static pid_t workers[WORKERS_MAX];
static sigset_t signals;

static void worker_start(int listener, pid_t *worker)
{
	*worker = fork();
	if (*worker)
		return;
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (;;) {
		int client = accept(listener, NULL, NULL);

		if (client >= 0)
			serve(client);
	}
}

/* Replaces workers that died, and takes back their live gauges. */
static void workers_reap(int listener, int count, int flags)
{
	for (pid_t gone; (gone = waitpid(-1, NULL, flags)) > 0;) {
		goodput_mark_process_dead(NULL, gone);
		for (int i = 0; i < count; i++)
			if (workers[i] == gone && listener >= 0)
				worker_start(listener, &workers[i]);
	}
}

static void supervise(int listener, int count)
{
	int number;

	for (int i = 0; i < count; i++)
		worker_start(listener, &workers[i]);
	while (!sigwait(&signals, &number) && number == SIGCHLD)
		workers_reap(listener, count, WNOHANG);
	for (int i = 0; i < count; i++)
		kill(workers[i], SIGTERM);
	workers_reap(-1, count, 0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(argc > 1 ? (uint16_t)atoi(argv[1]) : 8080) };
	const int count = argc > 2 ? atoi(argv[2]) : 2, listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t length = sizeof address;
	goodput_registry *metrics;
	int status = metrics_open(&metrics);

	if (status) {
		fprintf(stderr, "metrics: %s\n", goodput_status_text(status));
		return 1;
	}
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 128) ||
		getsockname(listener, (struct sockaddr *)&address, &length)) {
		perror("server");
		return 1;
	}
	printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
	fflush(stdout);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	supervise(listener, count < 1 ? 1 : count > WORKERS_MAX ? WORKERS_MAX : count);
	goodput_registry_close(metrics);
	return 0;
}
