/* Writers against readers in one process: threads update and make series, so that the file grows, while readers walk it by read and by
 * mapping.
 *
 *     stress DIR SECONDS
 *
 * At every moment each file must be whole up to its used size, no counter lower than before, and a gauge one of the two patterns that are
 * set; in the end the sums are what was counted. */
#include <goodput/telemetry.h>

#include "../unit/metric_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS = 3, SERIES = 3000 };
#define LOW 0x1.1111111111111p+100
#define HIGH 0x1.eeeeeeeeeeeeep-100

static goodput_counter *counter;
static goodput_histogram *histogram;
static goodput_gauge *gauge;
static goodput_family *family;
static atomic_bool stop;
static atomic_long counted, failures, walks;
static const char *directory;

static void complain(const char *what)
{
	if (atomic_fetch_add(&failures, 1) < 5)
		fprintf(stderr, "stress: %s\n", what);
}

static void *writer(void *arg)
{
	const int me = *(int *)arg;
	long n = 0;

	while (!atomic_load(&stop)) {
		for (int i = 0; i < 1000; i++, n++) {
			goodput_counter_inc(counter);
			goodput_histogram_observe(histogram, (double)(n % 12));
			goodput_gauge_set(gauge, n & 1 ? LOW : HIGH);
		}
		if (n / 1000 < SERIES) {
			char text[32];
			const char *const values[] = { text };
			goodput_counter *c;

			snprintf(text, sizeof text, "%d-%ld", me, n / 1000);
			if (goodput_counter_child(family, values, &c) || goodput_counter_inc(c))
				complain("a series could not be made");
		}
	}
	atomic_fetch_add(&counted, n);
	return NULL;
}

struct seen {
	double counter, buckets;
	size_t entries;
	bool torn;
};

static void look(void *context, const char *key, size_t length, double value, double time)
{
	struct seen *s = context;

	s->entries++;
	if (memmem(key, length, "\"one_total\"", 11))
		s->counter += value;
	else if (memmem(key, length, "_bucket\"", 8))
		s->buckets += value;
	else if (memmem(key, length, "\"pattern\"", 9) && value != LOW && value != HIGH && value != 0)
		s->torn = true;
}

/* By read, into memory that is aligned to a page. */
static struct seen by_read(const char *path, char *buffer, size_t room)
{
	struct seen s = { 0 };
	int fd = open(path, O_RDONLY);
	ssize_t size = read(fd, buffer, 4096), more = 0;
	int32_t used;

	memcpy(&used, buffer, 4);
	if (size == 4096 && used > size && (size_t)used <= room)
		more = pread(fd, buffer + size, (size_t)(used - size), size);
	close(fd);
	if (size < 8 || more < 0 || used > size + more)
		complain("a file is shorter than it says");
	else if (!metric_file_walk(buffer, (size_t)(size + more), 16, look, &s))
		complain("read: an entry is not whole");
	return s;
}

/* Used before the size, as the format wants it; values by atomic loads. */
static void by_mapping(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	const char *at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	uint32_t used = at == MAP_FAILED ? 0 : __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE), where = 8;
	const char *whole;

	if (at != MAP_FAILED)
		munmap((void *)at, 4096);
	if (!used || fstat(fd, &st) || st.st_size < used) {
		complain("mapping: a file is shorter than it says");
		close(fd);
		return;
	}
	whole = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	while (whole != MAP_FAILED && where < used) {
		int32_t length;

		memcpy(&length, whole + where, 4);
		if (length < 2 || whole[where + 4] != '[' || whole[where + 3 + length] != ']') {
			complain("mapping: an entry is not whole");
			break;
		}
		where += 4 + (uint32_t)length + 8 - (4 + (uint32_t)length) % 8 + 16;
	}
	if (where != used)
		complain("mapping: entries do not end where the header says");
	munmap((void *)whole, (size_t)st.st_size);
}

static void *reader(void *arg)
{
	static const char *const types[] = { "counter", "histogram", "gauge_max" };
	const size_t room = 16 << 20;
	struct seen last[3] = { 0 };
	char *buffer = aligned_alloc(4096, room), path[300];

	while (buffer && !atomic_load(&stop)) {
		goodput_health h = { .size = sizeof h };

		if (goodput_registry_health(arg, &h) || h.status || h.removed)
			complain("not healthy");
		for (int i = 0; i < 3; i++) {
			snprintf(path, sizeof path, "%s/%s_%ld.db", directory, types[i], (long)getpid());
			struct seen s = by_read(path, buffer, room);

			if (s.torn)
				complain("a torn value");
			if (s.counter < last[i].counter || s.buckets < last[i].buckets || s.entries < last[i].entries)
				complain("a value is lower than before");
			last[i] = s;
			by_mapping(path);
			atomic_fetch_add(&walks, 1);
		}
	}
	free(buffer);
	return NULL;
}

static int metrics_open(goodput_registry **r)
{
	static const char *const names[] = { "n", NULL };
	goodput_options o;

	goodput_options_init(&o);
	o.directory = directory;
	o.thread_cells = 2; /* the third writer shares */
	return goodput_registry_open(&o, r) || goodput_counter_new(*r, "one", "h", &counter) ||
	       goodput_histogram_new(*r, "h", "h", NULL, 0, &histogram) ||
	       goodput_gauge_new(*r, "pattern", "h", GOODPUT_GAUGE_MAX, &gauge) ||
	       goodput_counter_family(*r, "many", "Help.", names, &family);
}

int main(int argc, char **argv)
{
	goodput_registry *r;
	pthread_t ids[WRITERS + 2];
	int numbers[WRITERS];
	char path[300];

	directory = argc > 2 ? argv[1] : NULL;
	if (!directory || metrics_open(&r)) {
		fprintf(stderr, "usage: stress DIR SECONDS\n");
		return 2;
	}
	for (int i = 0; i < WRITERS; i++) {
		numbers[i] = i;
		pthread_create(&ids[i], NULL, writer, &numbers[i]);
	}
	for (int i = WRITERS; i < WRITERS + 2; i++)
		pthread_create(&ids[i], NULL, reader, r);
	nanosleep(&(struct timespec){ .tv_sec = atol(argv[2]) }, NULL);
	atomic_store(&stop, true);
	for (int i = 0; i < WRITERS + 2; i++)
		pthread_join(ids[i], NULL);
	snprintf(path, sizeof path, "%s/counter_%ld.db", directory, (long)getpid());
	if (metric_file_sum(path, 16, "\"one_total\"").sum != (double)atomic_load(&counted))
		complain("the sum is not what was counted");
	snprintf(path, sizeof path, "%s/histogram_%ld.db", directory, (long)getpid());
	if (metric_file_sum(path, 16, "_bucket").sum != (double)atomic_load(&counted))
		complain("the buckets are not what was observed");
	goodput_registry_close(r);
	printf("%ld updates each of three kinds, %ld walks, %ld failures\n", atomic_load(&counted), atomic_load(&walks),
		atomic_load(&failures));
	return atomic_load(&failures) ? 1 : 0;
}
