/* libgoodput: bytes of the files, threads, forks, predecessors, and what happens when the directory cannot be written. */
#include <goodput/telemetry.h>

#include "metric_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[64];

static int setup(void **state)
{
	strcpy(directory, "/tmp/goodput-telemetry-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	char path[512];
	DIR *d = opendir(directory);

	for (const struct dirent *e; d && (e = readdir(d));) {
		snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
		unlink(path);
	}
	if (d)
		closedir(d);
	return rmdir(directory);
}

static const char *path_of(const char *type, long pid)
{
	static char path[4][256];
	static unsigned turn;
	char *at = path[turn++ % 4];

	snprintf(at, sizeof path[0], "%s/%s_%ld.db", directory, type, pid);
	return at;
}

static const char *mine(const char *type)
{
	return path_of(type, getpid());
}

static double sum(const char *type, const char *text)
{
	return metric_file_sum(mine(type), 16, text).sum;
}

static size_t entries(const char *type, const char *text)
{
	return metric_file_sum(mine(type), 16, text).entries;
}

static goodput_options options(void)
{
	goodput_options o;

	goodput_options_init(&o);
	o.directory = directory;
	return o;
}

static goodput_registry *open_registry(enum goodput_layout layout)
{
	goodput_options o = options();
	goodput_registry *r;

	o.layout = layout;
	assert_int_equal(goodput_registry_open(&o, &r), GOODPUT_OK);
	return r;
}

static goodput_counter *counter_of(goodput_registry *r, const char *name)
{
	goodput_counter *c;

	assert_int_equal(goodput_counter_new(r, name, "h", &c), GOODPUT_OK);
	return c;
}

static goodput_health health_of(goodput_registry *r)
{
	goodput_health h = { .size = sizeof h };

	assert_int_equal(goodput_registry_health(r, &h), GOODPUT_OK);
	return h;
}

/* ---- bytes ---- */

static void bytes_are_those_of_prometheus_client(void **state)
{
	static const char want[] = "\x38\0\0\0\0\0\0\0"
				   "\x19\0\0\0[\"c\", \"c_total\", {}, \"h\"]   \0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\0";
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	size_t size;
	char *bytes;

	assert_int_equal(goodput_counter_inc(counter_of(r, "c")), GOODPUT_OK);
	bytes = metric_file_read(mine("counter"), &size);
	assert_true(size >= 56 && size % 4096 == 0);
	assert_memory_equal(bytes, want, 56);
	free(bytes);
	goodput_registry_close(r);
}

static void layout_of_0_16_has_no_timestamps(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_16);
	goodput_gauge *g;
	goodput_family *f;
	size_t size;
	char *bytes;

	goodput_counter_add(counter_of(r, "c_total"), 1);
	bytes = metric_file_read(mine("counter"), &size);
	assert_int_equal(bytes[0], 48);
	free(bytes);
	goodput_counter_add(counter_of(r, "d"), 2.5);
	assert_true(metric_file_sum(mine("counter"), 8, "\"d_total\"").sum == 2.5);
	assert_int_equal(goodput_gauge_new(r, "g", "h", GOODPUT_GAUGE_MOSTRECENT, &g), GOODPUT_WRONG_KIND);
	assert_int_equal(goodput_gauge_family(r, "g", "h", NULL, GOODPUT_GAUGE_LIVEMOSTRECENT, &f), GOODPUT_WRONG_KIND);
	goodput_registry_close(r);
}

static void keys_are_json_with_sorted_labels(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	const char *const names[] = { "zone", "kind", "Upper", NULL }, *const values[] = { "a\"b\\c/\n", "\x7f\xc3\xa9\xf0\x9f\x98\x80",
		"" };
	const double bounds[] = { -1, 0, 0.1, 1, 2.5, 1e5, 1e6, 1234567, 1e15, 1e16, 5e-05, 1 };
	const char *const edges[] = { "-1.0", "0.0", "0.1", "1.0", "2.5", "100000.0", "1e+06", "1.234567e+06", "1e+15", "1e+16", "+Inf" };
	goodput_family *f;
	goodput_histogram *h;
	char key[512];

	assert_int_equal(goodput_histogram_family(r, "h:x", "Tab\there.", names, bounds, 12, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_histogram_family(r, "h:x", "Tab\there.", names, bounds, 10, &f), GOODPUT_OK);
	assert_int_equal(goodput_histogram_child(f, values, &h), GOODPUT_OK);
	assert_int_equal(entries("histogram", NULL), 12);
	assert_int_equal(entries("histogram", "[\"h:x\", \"h:x_sum\", {\"Upper\": \"\", \"kind\": \"\\u007f\\u00e9\\ud83d\\ude00\", "
					      "\"zone\": \"a\\\"b\\\\c/\\n\"}, \"Tab\\there.\"]"),
		1);
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
		snprintf(key, sizeof key,
			"\"h:x_bucket\", {\"Upper\": \"\", \"kind\": \"\\u007f\\u00e9\\ud83d\\ude00\", \"le\": \"%s\", \"zone\"", edges[i]);
		assert_int_equal(entries("histogram", key), 1);
	}
	goodput_registry_close(r);
}

static void numbers_do_not_depend_on_size(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	const double bounds[] = { 5e-324, 1.5e-5, 0.0001, 0.3, 999999.5, 1e22 };
	const char *const edges[] = { "5e-324", "1.5e-05", "0.0001", "0.3", "999999.5", "1e+22", "+Inf" };
	goodput_histogram *h;
	char key[64];

	assert_int_equal(goodput_histogram_new(r, "h", "", bounds, 6, &h), GOODPUT_OK);
	for (size_t i = 0; i < 7; i++) {
		snprintf(key, sizeof key, "{\"le\": \"%s\"}", edges[i]);
		assert_int_equal(entries("histogram", key), 1);
	}
	goodput_registry_close(r);
}

static void values_land_where_they_belong(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	const double observed[] = { 0.005, 0.0051, 10, 10.5, INFINITY, -3 };
	goodput_histogram *h;
	goodput_summary *s;

	assert_int_equal(goodput_histogram_new(r, "h", "", NULL, 0, &h), GOODPUT_OK);
	assert_int_equal(goodput_summary_new(r, "s", "", &s), GOODPUT_OK);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(goodput_histogram_observe(h, observed[i]), GOODPUT_OK);
	assert_int_equal(goodput_histogram_observe(h, NAN), GOODPUT_INVALID);
	assert_true(sum("histogram", "{\"le\": \"0.005\"}") == 2);
	assert_true(sum("histogram", "{\"le\": \"0.01\"}") == 1);
	assert_true(sum("histogram", "{\"le\": \"10.0\"}") == 1);
	assert_true(sum("histogram", "{\"le\": \"+Inf\"}") == 2);
	assert_true(sum("histogram", "h_bucket") == 6);
	assert_true(isinf(sum("histogram", "h_sum")));
	goodput_summary_observe(s, 1.5);
	goodput_summary_observe(s, 2);
	assert_true(sum("summary", "s_count") == 2 && sum("summary", "s_sum") == 3.5);
	goodput_registry_close(r);
}

static void buckets_of_any_count(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	double bounds[40];
	char name[16], key[64];

	for (size_t i = 0; i < 40; i++)
		bounds[i] = (double)i;
	for (size_t count = 0; count <= 40; count++) {
		goodput_histogram *h;

		snprintf(name, sizeof name, "h%zu", count);
		assert_int_equal(goodput_histogram_new(r, name, "", bounds, count, &h), GOODPUT_OK);
		for (size_t i = 0; i <= count; i++) {
			assert_int_equal(goodput_histogram_observe(h, (double)i - 0.5), GOODPUT_OK);
			assert_int_equal(goodput_histogram_observe(h, (double)i), GOODPUT_OK);
		}
		for (size_t i = 0; i < count; i++) {
			snprintf(key, sizeof key, "\"h%zu_bucket\", {\"le\": \"%zu.0\"}", count, i);
			assert_true(sum("histogram", key) == 2);
		}
		snprintf(key, sizeof key, "\"h%zu_bucket\", {\"le\": \"+Inf\"}", count);
		assert_true(sum("histogram", key) == 2);
	}
	goodput_registry_close(r);
}

static void each_gauge_mode_has_its_file(void **state)
{
	static const char *const modes[] = { "all", "liveall", "min", "livemin", "max", "livemax", "sum", "livesum", "mostrecent",
		"livemostrecent" };
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	char name[32], type[32];

	for (unsigned i = 0; i < 10; i++) {
		const double before = (double)time(NULL);
		struct metric_sum found;
		goodput_gauge *g;

		snprintf(name, sizeof name, "g%u", i);
		snprintf(type, sizeof type, "gauge_%s", modes[i]);
		assert_int_equal(goodput_gauge_new(r, name, "h", (enum goodput_gauge_mode)i, &g), GOODPUT_OK);
		assert_true(metric_file_sum(mine(type), 16, name).time == 0);
		assert_int_equal(goodput_gauge_set(g, -2.5), GOODPUT_OK);
		assert_int_equal(goodput_gauge_add(g, 1), i < 8 ? GOODPUT_OK : GOODPUT_WRONG_KIND);
		found = metric_file_sum(mine(type), 16, name);
		assert_int_equal(found.entries, 1);
		assert_true(found.sum == (i < 8 ? -1.5 : -2.5));
		assert_true(i < 8 ? found.time == 0 : found.time >= before && found.time < before + 3600);
	}
	goodput_registry_close(r);
	for (unsigned i = 0; i < 10; i++) {
		snprintf(type, sizeof type, "gauge_%s", modes[i]);
		assert_int_equal(access(mine(type), F_OK), i % 2 ? -1 : 0); /* this process lives no more */
	}
}

/* ---- declarations ---- */

static void nonsense_is_refused(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	const char *const le[] = { "le", NULL }, *const twice[] = { "a", "a", NULL }, *const bad[] = { "\xff" },
			  *const ok[] = { "a", NULL };
	const char *const pid[] = { "pid", NULL }, *const dunder[] = { "__x", NULL }, *const quantile[] = { "quantile", NULL };
	const double falling[] = { 2, 1 }, nan_bound[] = { NAN };
	static char large[70000];
	goodput_family *f, *again;
	goodput_counter *c;
	goodput_gauge *g;

	assert_int_equal(goodput_counter_family(r, "1c", "", NULL, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(r, "", "", NULL, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(r, NULL, "", NULL, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(NULL, "c", "", NULL, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(r, "c", "", twice, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(r, "c", "", dunder, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(r, "c", "\xc0\x80", NULL, &f), GOODPUT_NOT_UTF8);
	assert_int_equal(goodput_histogram_family(r, "h", "", le, NULL, 0, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_histogram_family(r, "h", "", NULL, falling, 2, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_histogram_family(r, "h", "", NULL, nan_bound, 1, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_summary_family(r, "s", "", quantile, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_gauge_family(r, "g", "", pid, GOODPUT_GAUGE_ALL, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_gauge_family(r, "g", "", NULL, (enum goodput_gauge_mode)10, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(r, "c", "", ok, &f), GOODPUT_OK);
	assert_int_equal(goodput_counter_family(r, "c_total", "", ok, &again), GOODPUT_OK);
	assert_ptr_equal(f, again);
	assert_int_equal(goodput_counter_family(r, "c", "other", ok, &again), GOODPUT_EXISTS);
	assert_int_equal(goodput_gauge_new(r, "c_total", "", GOODPUT_GAUGE_ALL, &g), GOODPUT_EXISTS);
	memset(large, 'x', sizeof large - 1);
	assert_int_equal(goodput_counter_child(f, (const char *const[]){ large }, &c), GOODPUT_TOO_LARGE);
	assert_int_equal(goodput_counter_family(r, "large", large, NULL, &again), GOODPUT_TOO_LARGE);
	assert_int_equal(goodput_counter_child(f, bad, &c), GOODPUT_NOT_UTF8);
	assert_null(c);
	assert_int_equal(goodput_counter_child(f, NULL, &c), GOODPUT_INVALID);
	assert_int_equal(goodput_gauge_child(f, ok, &g), GOODPUT_WRONG_KIND);
	assert_int_equal(goodput_counter_child(f, ok, &c), GOODPUT_OK);
	assert_int_equal(goodput_counter_add(c, -1), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_add(c, NAN), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_inc(NULL), GOODPUT_INVALID);
	assert_true(sum("counter", NULL) == 0);
	goodput_registry_close(r);
	goodput_registry_close(NULL);
}

static void directory_comes_from_the_environment(void **state)
{
	goodput_options o = options();
	goodput_registry *r;
	char nested[128];

	unsetenv("PROMETHEUS_MULTIPROC_DIR");
	assert_int_equal(goodput_registry_open(NULL, &r), GOODPUT_NO_DIRECTORY);
	assert_null(r);
	setenv("PROMETHEUS_MULTIPROC_DIR", directory, 1);
	setenv("GOODPUT_TELEMETRY_LAYOUT", "0.16", 1);
	assert_int_equal(goodput_registry_open(NULL, &r), GOODPUT_OK);
	goodput_counter_inc(counter_of(r, "c"));
	assert_true(metric_file_sum(mine("counter"), 8, NULL).sum == 1);
	goodput_registry_close(r);
	setenv("GOODPUT_TELEMETRY_LAYOUT", "0.17x", 1);
	assert_int_equal(goodput_registry_open(NULL, &r), GOODPUT_INVALID);
	unsetenv("GOODPUT_TELEMETRY_LAYOUT");
	unsetenv("PROMETHEUS_MULTIPROC_DIR");
	snprintf(nested, sizeof nested, "%s/a/b", directory);
	o.directory = nested;
	assert_int_equal(goodput_registry_open(&o, &r), GOODPUT_NO_DIRECTORY);
	o.directory = directory;
	o.suffix = "a_b";
	assert_int_equal(goodput_registry_open(&o, &r), GOODPUT_INVALID);
	o.suffix = "c1";
	assert_int_equal(goodput_registry_open(&o, &r), GOODPUT_OK);
	goodput_counter_inc(counter_of(r, "c"));
	snprintf(nested, sizeof nested, "%s/counter_%ld-c1.db", directory, (long)getpid());
	assert_true(metric_file_sum(nested, 16, NULL).sum == 1);
	goodput_registry_close(r);
}

/* ---- growth ---- */

static void growth_leaves_cells_where_they_are(void **state)
{
	enum { SERIES = 6000 };
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	const char *const names[] = { "n", NULL };
	static goodput_counter *c[SERIES];
	goodput_family *f;

	assert_int_equal(goodput_counter_family(r, "grown", "A help text of some length.", names, &f), GOODPUT_OK);
	for (int i = 0; i < SERIES; i++) {
		char text[16];
		const char *const values[] = { text };

		snprintf(text, sizeof text, "%d", i);
		assert_int_equal(goodput_counter_child(f, values, &c[i]), GOODPUT_OK);
		for (int j = 0; j <= i; j += 97)
			assert_int_equal(goodput_counter_inc(c[j]), GOODPUT_OK);
	}
	for (int i = 0; i < SERIES; i += 97) {
		char text[32];
		const char *const values[] = { text };
		goodput_counter *again;

		snprintf(text, sizeof text, "%d", i);
		assert_int_equal(goodput_counter_child(f, values, &again), GOODPUT_OK);
		assert_ptr_equal(again, c[i]);
		snprintf(text, sizeof text, "{\"n\": \"%d\"}", i);
		assert_true(sum("counter", text) == SERIES - i);
	}
	assert_int_equal(entries("counter", NULL), SERIES);
	assert_int_equal(health_of(r).series, SERIES);
	goodput_registry_close(r);
}

/* ---- threads ---- */

enum { INCREMENTS = 20000 };

struct shared {
	goodput_counter *counter;
	goodput_histogram *histogram;
	goodput_summary *summary;
	goodput_gauge *gauge;
	pthread_barrier_t barrier;
	atomic_bool stop;
	atomic_long counted;
};

static void *increments(void *arg)
{
	struct shared *s = arg;

	pthread_barrier_wait(&s->barrier);
	for (int i = 0; i < INCREMENTS; i++) {
		goodput_counter_inc(s->counter);
		goodput_histogram_observe(s->histogram, 0.5);
		goodput_summary_observe(s->summary, 2);
		goodput_gauge_add(s->gauge, 1);
	}
	pthread_barrier_wait(&s->barrier);
	return NULL;
}

static void run_threads(struct shared *s, int count)
{
	pthread_t ids[32];

	pthread_barrier_init(&s->barrier, NULL, (unsigned)count);
	for (int i = 0; i < count; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, increments, s), 0);
	for (int i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
	pthread_barrier_destroy(&s->barrier);
}

static void no_increment_of_any_thread_is_lost(void **state)
{
	const unsigned cells[] = { 0, 1, 4, 8 };

	for (size_t i = 0; i < 4; i++) {
		goodput_options o = options();
		goodput_registry *r;
		struct shared s;

		o.thread_cells = cells[i];
		assert_int_equal(goodput_registry_open(&o, &r), GOODPUT_OK);
		s.counter = counter_of(r, "c");
		assert_int_equal(goodput_histogram_new(r, "h", "", NULL, 0, &s.histogram), GOODPUT_OK);
		assert_int_equal(goodput_summary_new(r, "s", "", &s.summary), GOODPUT_OK);
		assert_int_equal(goodput_gauge_new(r, "g", "", GOODPUT_GAUGE_SUM, &s.gauge), GOODPUT_OK);
		run_threads(&s, 6);
		run_threads(&s, 6); /* those that come later take over the cells of those that went */
		assert_true(sum("counter", NULL) == 12.0 * INCREMENTS);
		assert_true(sum("histogram", "h_bucket") == 12.0 * INCREMENTS);
		assert_true(sum("histogram", "h_sum") == 6.0 * INCREMENTS);
		assert_true(sum("summary", "s_sum") == 24.0 * INCREMENTS);
		assert_true(sum("gauge_sum", NULL) == 12.0 * INCREMENTS);
		assert_true(entries("counter", NULL) <= (cells[i] < 6 ? cells[i] + 1 : 8));
		assert_int_equal(entries("gauge_sum", NULL), 1);
		goodput_registry_close(r);
		unlink(mine("counter"));
		unlink(mine("histogram"));
		unlink(mine("summary"));
	}
}

static void *one_increment(void *counter)
{
	goodput_counter_inc(counter);
	return NULL;
}

static void cells_of_ended_threads_are_used_again(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	goodput_counter *c = counter_of(r, "c");

	for (int i = 0; i < 100; i++) {
		pthread_t id;

		assert_int_equal(pthread_create(&id, NULL, one_increment, c), 0);
		pthread_join(id, NULL);
	}
	assert_true(sum("counter", NULL) == 100);
	assert_int_equal(entries("counter", NULL), 1); /* this thread only declared it */
	goodput_registry_close(r);
}

/* ---- forks ---- */

static void wait_for(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* By fork, or by the bare system call, of which no handler hears. */
static void child_counts_in_its_own_file(bool bare)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	goodput_counter *c = counter_of(r, "c"), *unused = counter_of(r, "unused");
	goodput_gauge *g;
	pid_t child;

	assert_int_equal(goodput_gauge_new(r, "g", "", GOODPUT_GAUGE_MIN, &g), GOODPUT_OK);
	goodput_gauge_set(g, 5);
	goodput_counter_add(c, 3);
	goodput_counter_add(unused, 1);
	child = bare ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
	if (!child)
		_exit(goodput_counter_add(c, 10) || goodput_counter_add(c, 10) || goodput_counter_inc(counter_of(r, "new")));
	goodput_counter_add(c, 4);
	wait_for(child);
	assert_true(sum("counter", "\"c_total\"") == 7);
	assert_true(metric_file_sum(path_of("counter", child), 16, "\"c_total\"").sum == 20);
	assert_int_equal(metric_file_sum(path_of("counter", child), 16, NULL).entries, 2); /* no zero of a series that it did not use */
	assert_int_equal(access(path_of("gauge_min", child), F_OK), -1);
	goodput_registry_close(r);
}

static void forked_child(void **state)
{
	child_counts_in_its_own_file(false);
}

static void bare_clone(void **state)
{
	child_counts_in_its_own_file(true);
}

/* A lock lives as long as any descriptor or mapping of the file: the child must have none. */
static void idle_child_does_not_hold_its_parents_lock(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	int fd, ready[2], end[2];
	char byte = 0;
	pid_t child;

	goodput_counter_inc(counter_of(r, "c"));
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	child = fork();
	if (!child) {
		close(end[1]);
		_exit(write(ready[1], &byte, 1) != 1 || read(end[0], &byte, 1) != 0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	fd = open(mine("counter"), O_RDONLY);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	goodput_registry_close(r);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	close(fd);
	close(end[1]);
	wait_for(child);
	close(end[0]);
	close(ready[0]);
	close(ready[1]);
}

static void closing_in_a_child_leaves_the_parents_files(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	goodput_gauge *g;
	pid_t child;

	assert_int_equal(goodput_gauge_new(r, "g", "", GOODPUT_GAUGE_LIVESUM, &g), GOODPUT_OK);
	goodput_gauge_set(g, 5);
	child = fork();
	if (!child) {
		goodput_registry_close(r);
		_exit(0);
	}
	wait_for(child);
	assert_true(sum("gauge_livesum", NULL) == 5);
	goodput_registry_close(r);
}

static void *forks(void *arg)
{
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (!child)
			_exit(goodput_counter_inc(arg) != GOODPUT_OK);
		wait_for(child);
	}
	return NULL;
}

/* While others make series, i.e. hold the lock now and then. */
static void forks_beside_busy_threads(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	const char *const names[] = { "n", NULL };
	goodput_family *f;
	pthread_t id;

	assert_int_equal(goodput_counter_family(r, "many", "", names, &f), GOODPUT_OK);
	assert_int_equal(pthread_create(&id, NULL, forks, counter_of(r, "c")), 0);
	for (int i = 0; i < 2000; i++) {
		char text[16];
		const char *const values[] = { text };
		goodput_counter *c;

		snprintf(text, sizeof text, "%d", i);
		assert_int_equal(goodput_counter_child(f, values, &c), GOODPUT_OK);
		goodput_counter_inc(c);
	}
	pthread_join(id, NULL);
	assert_true(sum("counter", "many_total") == 2000);
	goodput_registry_close(r);
}

/* ---- predecessors ---- */

static void counters_of_a_predecessor_go_on(void **state)
{
	const enum goodput_layout layouts[] = { GOODPUT_LAYOUT_0_16, GOODPUT_LAYOUT_0_18 };

	/* In each layout, by a process that wants each: the file keeps the one that it has. */
	for (int i = 0; i < 4; i++) {
		const unsigned size = i & 1 ? 16 : 8;
		goodput_registry *r = open_registry(layouts[i & 1]);
		goodput_counter *c = counter_of(r, "c"), *d = counter_of(r, "d");

		goodput_counter_add(c, 5);
		goodput_counter_add(d, 6);
		goodput_registry_close(r);
		r = open_registry(layouts[i >> 1]);
		c = counter_of(r, "c");
		goodput_counter_inc(c);
		goodput_counter_inc(counter_of(r, "e"));
		assert_true(metric_file_sum(mine("counter"), size, "\"c_total\"").sum == 6);
		assert_int_equal(metric_file_sum(mine("counter"), size, "\"c_total\"").entries, 1);
		assert_true(metric_file_sum(mine("counter"), size, NULL).sum == 13);
		goodput_registry_close(r);
		unlink(mine("counter"));
	}
}

static void gauges_of_a_predecessor_are_gone(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	goodput_gauge *g;

	assert_int_equal(goodput_gauge_new(r, "old", "", GOODPUT_GAUGE_SUM, &g), GOODPUT_OK);
	goodput_gauge_set(g, 5);
	goodput_registry_close(r);
	assert_true(sum("gauge_sum", "old") == 5);
	r = open_registry(GOODPUT_LAYOUT_0_18);
	assert_int_equal(goodput_gauge_new(r, "new", "", GOODPUT_GAUGE_SUM, &g), GOODPUT_OK);
	assert_int_equal(entries("gauge_sum", "old"), 0);
	assert_int_equal(entries("gauge_sum", "new"), 1);
	goodput_registry_close(r);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	fwrite(bytes, 1, size, f);
	fclose(f);
}

struct told {
	int failures, recoveries;
	char text[256];
};

static void told(void *context, int status, const char *message)
{
	struct told *t = context;

	*(status ? &t->failures : &t->recoveries) += 1;
	snprintf(t->text, sizeof t->text, "%s", message);
}

static void damaged_and_unfinished_files_do_no_harm(void **state)
{
	static const char zero_length[24] = "\x18", negative[16] = "\xff\xff\xff\xff", long_key[64] = "\x40\0\0\0\0\0\0\0\xff\xff\xff\x7f";
	static const char too_short[8] = "\xff\xff";
	const struct {
		const char *bytes;
		size_t size;
		bool aside;
	} cases[] = { { "", 0, false }, { "\0\0\0\0", 4, false }, { zero_length, 24, true }, { negative, 16, true }, { long_key, 64, true },
		{ too_short, 8, true } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct told t = { 0 };
		goodput_options o = options();
		goodput_registry *r;
		char aside[300];

		write_file(mine("counter"), cases[i].bytes, cases[i].size);
		o.report = told;
		o.report_context = &t;
		assert_int_equal(goodput_registry_open(&o, &r), GOODPUT_OK);
		assert_int_equal(goodput_counter_add(counter_of(r, "c"), 2), GOODPUT_OK);
		assert_int_equal(t.failures, cases[i].aside);
		assert_int_equal(strstr(t.text, "damaged") != NULL, cases[i].aside);
		assert_true(sum("counter", NULL) == 2);
		snprintf(aside, sizeof aside, "%s.damaged", mine("counter"));
		assert_int_equal(unlink(aside), cases[i].aside ? 0 : -1);
		goodput_registry_close(r);
		unlink(mine("counter"));
	}
}

static void dead_process_is_marked(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	goodput_gauge *g;

	assert_int_equal(goodput_gauge_new(r, "g", "", GOODPUT_GAUGE_LIVEMAX, &g), GOODPUT_OK);
	write_file(path_of("gauge_livesum", 1), "", 0);
	write_file(path_of("gauge_livesum", 12), "", 0);
	write_file(path_of("gauge_sum", 1), "", 0);
	write_file(path_of("counter", 1), "", 0);
	assert_int_equal(goodput_mark_process_dead(directory, 1), GOODPUT_OK);
	assert_int_equal(access(path_of("gauge_livesum", 1), F_OK), -1);
	assert_int_equal(access(path_of("gauge_livesum", 12), F_OK), 0);
	assert_int_equal(access(path_of("gauge_sum", 1), F_OK), 0);
	assert_int_equal(access(path_of("counter", 1), F_OK), 0);
	assert_int_equal(goodput_mark_process_dead(directory, getpid()), GOODPUT_OK);
	assert_int_equal(access(mine("gauge_livemax"), F_OK), 0); /* its writer lives */
	assert_int_equal(goodput_mark_process_dead("/nonexistent", 1), GOODPUT_NO_DIRECTORY);
	goodput_registry_close(r);
}

/* ---- when it cannot be written ---- */

static void full_disk_is_counted_in_memory(void **state)
{
	struct told t = { 0 };
	goodput_options o = options();
	goodput_registry *r;
	goodput_counter *c, *early;
	goodput_gauge *g;
	goodput_histogram *h;
	struct rlimit before, none;
	goodput_health health;

	o.report = told;
	o.report_context = &t;
	assert_int_equal(goodput_registry_open(&o, &r), GOODPUT_OK);
	early = counter_of(r, "early");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = 100;
	setrlimit(RLIMIT_FSIZE, &none);
	errno = EDOM;
	assert_int_equal(goodput_histogram_new(r, "h", "", NULL, 0, &h), GOODPUT_OK);
	assert_int_equal(goodput_gauge_new(r, "g", "", GOODPUT_GAUGE_MOSTRECENT, &g), GOODPUT_OK);
	assert_int_equal(goodput_gauge_set(g, 4), GOODPUT_UNSAVED);
	assert_int_equal(goodput_gauge_set(g, 5), GOODPUT_UNSAVED);
	assert_int_equal(goodput_histogram_observe(h, 0.3), GOODPUT_UNSAVED);
	assert_int_equal(goodput_histogram_observe(h, 0.3), GOODPUT_UNSAVED);
	assert_int_equal(errno, EDOM);
	assert_int_equal(goodput_counter_inc(early), GOODPUT_OK); /* its cell is there already */
	health = health_of(r);
	assert_int_equal(health.status, GOODPUT_TOO_LARGE);
	assert_int_equal(health.unsaved, 4);
	assert_non_null(strstr(health.message, "histogram"));
	assert_int_equal(t.failures, 2); /* once for a file */
	setrlimit(RLIMIT_FSIZE, &before);
	for (int i = 0; i < 100 && health.unsaved; i++) {
		usleep(100000);
		health = health_of(r);
	}
	assert_int_equal(health.status, GOODPUT_OK);
	assert_int_equal(health.unsaved, 0);
	assert_true(sum("histogram", "h_bucket") == 2 && sum("histogram", "h_sum") == 0.6);
	assert_true(sum("gauge_mostrecent", NULL) == 5);
	assert_true(metric_file_sum(mine("gauge_mostrecent"), 16, NULL).time > 0);
	assert_int_equal(goodput_histogram_observe(h, 0.3), GOODPUT_OK);
	assert_true(sum("histogram", "h_bucket") == 3);
	assert_true(t.recoveries >= 1 && strstr(t.text, "written again"));
	c = counter_of(r, "late");
	assert_int_equal(goodput_counter_inc(c), GOODPUT_OK);
	goodput_registry_close(r);
}

static void second_registry_waits_for_the_first(void **state)
{
	goodput_registry *first = open_registry(GOODPUT_LAYOUT_0_18), *second = open_registry(GOODPUT_LAYOUT_0_18);
	goodput_counter *a = counter_of(first, "a"), *b = counter_of(second, "b");

	assert_int_equal(goodput_counter_add(a, 2), GOODPUT_OK);
	assert_int_equal(goodput_counter_add(b, 3), GOODPUT_UNSAVED);
	assert_int_equal(health_of(second).status, GOODPUT_BUSY);
	assert_true(sum("counter", NULL) == 2);
	goodput_registry_close(first);
	for (int i = 0; i < 100 && health_of(second).unsaved; i++)
		usleep(100000);
	assert_true(sum("counter", "\"b_total\"") == 3);
	goodput_registry_close(second);
}

/* As daemons do; and then the number of the descriptor is given to another file, which must not be written. */
static void descriptors_may_be_closed_by_the_host(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	goodput_counter *c = counter_of(r, "c");
	char others[300];
	struct stat st;

	goodput_counter_inc(c);
	snprintf(others, sizeof others, "%s/others", directory);
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	for (int i = 0; i < 32; i++)
		assert_true(open(others, O_RDWR | O_CREAT, 0600) >= 3);
	assert_int_equal(goodput_counter_inc(c), GOODPUT_OK);
	assert_int_equal(goodput_counter_add(counter_of(r, "d"), 2), GOODPUT_OK);
	assert_true(sum("counter", NULL) == 4);
	for (int i = 0; i < 200; i++) { /* grows */
		char name[32];

		snprintf(name, sizeof name, "grown%d", i);
		assert_int_equal(goodput_counter_inc(counter_of(r, name)), GOODPUT_OK);
	}
	assert_true(sum("counter", NULL) == 204);
	assert_int_equal(stat(others, &st), 0);
	assert_int_equal(st.st_size, 0);
	goodput_registry_close(r);
	for (int fd = 3; fd < 64; fd++)
		close(fd);
}

static void removed_files_come_back(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	goodput_counter *c = counter_of(r, "c");
	goodput_gauge *g;

	assert_int_equal(goodput_gauge_new(r, "g", "", GOODPUT_GAUGE_MAX, &g), GOODPUT_OK);
	goodput_counter_add(c, 7);
	goodput_gauge_set(g, 9);
	unlink(mine("counter"));
	unlink(mine("gauge_max"));
	assert_int_equal(goodput_counter_inc(c), GOODPUT_OK); /* seen by nobody until somebody asks for health */
	assert_int_equal(health_of(r).removed, 2);
	assert_true(sum("counter", NULL) == 8);
	assert_true(sum("gauge_max", NULL) == 9);
	goodput_counter_inc(c);
	assert_true(sum("counter", NULL) == 9);
	assert_int_equal(health_of(r).removed, 0);
	goodput_registry_close(r);
}

static void *counts_until_told(void *arg)
{
	struct shared *s = arg;
	long n = 0;

	while (!atomic_load(&s->stop)) {
		goodput_counter_inc(s->counter);
		n++;
	}
	atomic_fetch_add(&s->counted, n);
	return NULL;
}

/* One update of a thread may be lost with each removal, no more, and none is counted twice. */
static void removal_beside_busy_threads(void **state)
{
	enum { THREADS = 3, REMOVALS = 20 };
	goodput_options o = options();
	struct shared s = { 0 };
	goodput_registry *r;
	pthread_t ids[THREADS];
	double found;

	o.thread_cells = 2;
	assert_int_equal(goodput_registry_open(&o, &r), GOODPUT_OK);
	s.counter = counter_of(r, "c");
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, counts_until_told, &s), 0);
	for (int i = 0; i < REMOVALS; i++) {
		const double before = sum("counter", NULL);

		while (sum("counter", NULL) < before + 1000)
			sched_yield();
		unlink(mine("counter"));
		assert_int_equal(health_of(r).removed, 1);
	}
	atomic_store(&s.stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	found = sum("counter", NULL);
	assert_true(found <= (double)atomic_load(&s.counted) && found >= (double)atomic_load(&s.counted) - THREADS * REMOVALS);
	goodput_registry_close(r);
}

/* An argument names the tests that are wanted, with * and ?. */
int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(bytes_are_those_of_prometheus_client),
		TEST(layout_of_0_16_has_no_timestamps),
		TEST(keys_are_json_with_sorted_labels),
		TEST(numbers_do_not_depend_on_size),
		TEST(values_land_where_they_belong),
		TEST(buckets_of_any_count),
		TEST(each_gauge_mode_has_its_file),
		TEST(nonsense_is_refused),
		TEST(directory_comes_from_the_environment),
		TEST(growth_leaves_cells_where_they_are),
		TEST(no_increment_of_any_thread_is_lost),
		TEST(cells_of_ended_threads_are_used_again),
		TEST(forked_child),
		TEST(bare_clone),
		TEST(idle_child_does_not_hold_its_parents_lock),
		TEST(closing_in_a_child_leaves_the_parents_files),
		TEST(forks_beside_busy_threads),
		TEST(counters_of_a_predecessor_go_on),
		TEST(gauges_of_a_predecessor_are_gone),
		TEST(damaged_and_unfinished_files_do_no_harm),
		TEST(dead_process_is_marked),
		TEST(full_disk_is_counted_in_memory),
		TEST(second_registry_waits_for_the_first),
		TEST(descriptors_may_be_closed_by_the_host),
		TEST(removed_files_come_back),
		TEST(removal_beside_busy_threads),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("telemetry", tests, NULL, NULL);
}
