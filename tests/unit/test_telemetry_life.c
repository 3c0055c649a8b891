/* libgoodput: threads, forks, predecessors, and what happens when the directory cannot be written. */
#include "metric_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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
	/* A pipe that nobody writes: opening it must not wait. */
	assert_int_equal(mkfifo(path_of("gauge_liveall", 1), 0600), 0);
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
	const struct CMUnitTest tests[] = {
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
	return cmocka_run_group_tests_name("telemetry_life", tests, NULL, NULL);
}
