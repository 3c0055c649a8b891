/* bench_client: the load generator as bench/run-client measures it.
 *
 *   bench_client load PORT STREAMS SECONDS COUNT_FILE    events CPU-seconds of the last SECONDS, bytes of memory per open stream,
 *                                                        bytes of record per delivery, P99 of the read lag in us
 *   bench_client stamps PORT STREAMS SECONDS             P50 and P99 of |stamp - send time| in us: kernel's stamp, and the reader's clock
 * beside it */
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "load/load.h"
#include "slo/quantile.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static double cpu_s(void)
{
	return (double)clock_cpu_ns() / 1e9;
}

static int64_t memory_now(void)
{
	long pages = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file && fscanf(file, "%ld %ld", &pages, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

static void fail(const char *what)
{
	fprintf(stderr, "bench_client: %s\n", what);
	exit(70);
}

static struct endpoint *endpoint_of(const char *port)
{
	char url[64];
	struct error e = { 0 };

	snprintf(url, sizeof url, "http://127.0.0.1:%s", port);
	return endpoint_new(&(struct endpoint_options){ .url = url }, &e);
}

/* ---- load ---- */

struct sample {
	const uint64_t *count;
	uint64_t streams, events_before, events;
	double seconds, cpu_before, cpu;
	int64_t memory_before, memory, begun_ns;
	bool stop;
};

static void on_progress(void *context, const struct load_progress *p)
{
	struct sample *s = context;

	if (p->open < s->streams)
		return;
	if (!s->begun_ns) {
		s->begun_ns = p->elapsed_ns + 1000000000;
		return;
	}
	if (p->elapsed_ns < s->begun_ns)
		return;
	if (!s->events_before) {
		s->begun_ns = p->elapsed_ns;
		s->events_before = __atomic_load_n(s->count, __ATOMIC_RELAXED);
		s->cpu_before = cpu_s();
		s->memory = memory_now(); /* all streams are open; their records have hardly begun to grow */
	} else if (!s->stop && (double)(p->elapsed_ns - s->begun_ns) / 1e9 >= s->seconds) {
		s->events = __atomic_load_n(s->count, __ATOMIC_RELAXED) - s->events_before;
		s->cpu = cpu_s() - s->cpu_before;
		s->stop = true;
	}
}

static int bench_load(char **argv)
{
	static const char text[] =
		"goodput_workload: 1\narrivals: {process: closed, concurrency: 1}\nmix:\n- {prompt: 16, output: 1000000}\n";
	struct error e = { 0 };
	struct workload *w = workload_parse(STR("bench"), str_from(text), &e);
	struct workload_plan plan;
	struct load_result result;
	int file = open(argv[4], O_RDONLY | O_CLOEXEC);
	struct sample s = { .count = mmap(NULL, sizeof(uint64_t), PROT_READ, MAP_SHARED, file, 0),
		.streams = strtoull(argv[2], NULL, 10),
		.seconds = strtod(argv[3], NULL) };
	struct load_options o = { .endpoint = endpoint_of(argv[1]),
		.path = STR("/v1/chat/completions"),
		.model = STR("bench"),
		.streams = true,
		.workload = w,
		.plan = &plan,
		.threads = 1,
		.stop = &s.stop,
		.on_progress = on_progress,
		.context = &s };
	uint64_t bytes = 0, deliveries = 0;

	if (!w || !o.endpoint)
		fail(e.message);
	workload_plan_default(w, &plan);
	plan.arrivals.concurrency = (uint32_t)s.streams;
	plan.requests = s.streams;
	o.grace_ns = -1;
	s.memory_before = memory_now();
	if (!load_run(&o, &result, &e))
		fail(e.message);
	VEC_EACH (&result.requests, t)
		bytes += t->deliveries.len, deliveries += t->deliveries.count;
	printf("%llu %.6f %.0f %.3f %.1f\n", (unsigned long long)s.events, s.cpu, (double)(s.memory - s.memory_before) / (double)s.streams,
		deliveries ? (double)bytes / (double)deliveries : 0, result.lag_p99_ms * 1e3);
	return 0;
}

/* ---- stamps ---- */

struct stamps {
	uv_loop_t loop;
	uv_timer_t timer;
	struct stream_client *client;
	VEC(double) kernel, reader;
	bool recording;
};

static void on_head(void *context, struct stream *s, const struct stream_head *head, int64_t stamp) {}

static void on_bytes(void *context, struct stream *s, struct str bytes, int64_t stamp)
{
	struct stamps *b = context;
	ptrdiff_t at = str_search(bytes, STR("\"created\":"));
	int64_t sent, now = clock_monotonic_ns(), wall;
	struct timespec t;

	if (at < 0 || !b->recording || !number_parse_i64(str_of(bytes.ptr + at + 10, 19), &sent))
		return;
	clock_gettime(CLOCK_REALTIME, &t);
	wall = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	VEC_PUSH(&b->kernel, (double)llabs(wall - now + stamp - sent) / 1e3);
	VEC_PUSH(&b->reader, (double)(wall - sent) / 1e3);
}

static void on_end(void *context, struct stream *s, const struct stream_end *end)
{
	if (end->failure != STREAM_CANCELLED)
		fail(end->detail);
}

static void on_timer(uv_timer_t *timer)
{
	struct stamps *b = timer->data;

	if (b->recording) {
		uv_close((uv_handle_t *)timer, NULL);
		stream_client_close(b->client);
	}
	b->recording = true;
}

static int bench_stamps(char **argv)
{
	static const struct stream_handler handler = { on_head, on_bytes, on_end };
	struct stamps b = { 0 };
	struct endpoint *p = endpoint_of(argv[1]);
	struct stream_request request = { .path = STR("/v1/chat/completions"), .body = STR("{}") };

	uv_loop_init(&b.loop);
	uv_timer_init(&b.loop, &b.timer);
	b.timer.data = &b;
	b.client = stream_client_new(&b.loop, p);
	for (uint64_t i = strtoull(argv[2], NULL, 10); i; i--)
		stream_start(b.client, &request, &handler, &b);
	uv_timer_start(&b.timer, on_timer, 2000, strtoull(argv[3], NULL, 10) * 1000);
	uv_run(&b.loop, UV_RUN_DEFAULT);
	values_sort(b.kernel.items, b.kernel.count);
	values_sort(b.reader.items, b.reader.count);
	printf("%.1f %.1f %.1f %.1f %zu\n", quantile_linear(b.kernel.items, b.kernel.count, 0.5),
		quantile_linear(b.kernel.items, b.kernel.count, 0.99), quantile_linear(b.reader.items, b.reader.count, 0.5),
		quantile_linear(b.reader.items, b.reader.count, 0.99), b.kernel.count);
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (argc == 6 && !strcmp(argv[1], "load"))
		return bench_load(argv + 1);
	if (argc == 5 && !strcmp(argv[1], "stamps"))
		return bench_stamps(argv + 1);
	return 64;
}
