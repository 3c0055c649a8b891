/* bench_collect DIR: CPU ms of a scrape of a directory of metric files, page included; least of the runs.
 *
 * cold: a new collector, files in the page cache. warm: the same collector again, nothing changed. moved: all values changed since. kernel:
 * what no reader can leave out: list the directory, open each file, read what is in use, close; in turn with cold.
 * The values of DIR are changed and not put back. */
#include "base/clock.h"
#include "base/mem.h"
#include "collect/collect.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	COLD_LEAST = 7,
	COLD_MOST = 400,
	COLD_MS = 1500,
	WARM_RUNS = 40,
	WARM_MS = 400 /* a neighbour may have the cache for a while */,
	PAGE_MAX = 1 << 30,
	MEMORY = 64 << 20
};

static const struct collect_options options = { .as_016 = true };

static double scrape(struct collector *c, struct buf *page)
{
	int64_t before = clock_cpu_ns();

	buf_reset(page);
	collector_scrape(c);
	collector_page(c, COLLECT_TEXT, page);
	return (double)(clock_cpu_ns() - before) / 1e6;
}

/* What is in use in the files, in the order of the directory. */
enum { FILES_MAX = 1 << 16, BUFFER = 16 << 20 };
static size_t file_used[FILES_MAX];
static char buffer[BUFFER] __attribute__((aligned(4096)));

/* With `known` only what no reader can leave out; without, `file_used` is filled. */
static double kernel_part(const char *path, bool known)
{
	int64_t before = clock_cpu_ns();
	DIR *d = opendir(path);
	struct dirent *entry;
	size_t count = 0;
	int32_t used;

	while (d && count < FILES_MAX && (entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		int fd = openat(dirfd(d), entry->d_name, O_RDONLY | O_CLOEXEC);

		if (known && read(fd, buffer, file_used[count]) != (ssize_t)file_used[count])
			abort();
		if (!known && read(fd, &used, sizeof used) == sizeof used)
			file_used[count] = used > 0 && used < BUFFER ? (size_t)used : 0;
		close(fd);
		count++;
	}
	if (d)
		closedir(d);
	return (double)(clock_cpu_ns() - before) / 1e6;
}

/* Adds 0.75 to every value; files of one value an entry. */
static void move_file(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDWR);
	struct stat s;

	if (fd < 0 || fstat(fd, &s) != 0 || s.st_size < 8)
		return;
	char *map = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int32_t used, length;

	close(fd);
	if (map == MAP_FAILED)
		return;
	memcpy(&used, map, 4);
	for (int32_t at = 8; at < used;) {
		double value;

		memcpy(&length, map + at, 4);
		at += 4 + length;
		at += 8 - at % 8;
		memcpy(&value, map + at, 8);
		value += 0.75;
		memcpy(map + at, &value, 8);
		at += 8;
	}
	munmap(map, (size_t)s.st_size);
}

static void move_all(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			move_file(dirfd(d), entry->d_name);
	if (d)
		closedir(d);
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

int main(int argc, char **argv)
{
	double cold = 1e9, warm = 1e9, moved = 1e9, kernel = 1e9;
	struct collector *c = NULL;
	struct rusage usage;
	struct buf page;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_collect DIR\n");
		return 64;
	}
	mem_keep(MEMORY); /* as goodput collect does */
	buf_init(&page, PAGE_MAX);
	kernel_part(argv[1], false);
	for (int i = 0; i < COLD_LEAST || (i < COLD_MOST && clock_cpu_ns() < COLD_MS * 1000000LL); i++) {
		collector_free(c);
		buf_fini(&page);
		int64_t before = clock_cpu_ns();

		c = collector_new(argv[1], &options);
		double rest = (double)(clock_cpu_ns() - before) / 1e6;

		cold = least(cold, rest + scrape(c, &page));
		kernel = least(kernel, kernel_part(argv[1], true));
	}
	int64_t begun = clock_cpu_ns();

	for (int i = 0; i < WARM_RUNS || clock_cpu_ns() - begun < WARM_MS * 1000000LL; i++)
		warm = least(warm, scrape(c, &page));
	for (int i = 0; i < WARM_RUNS; i++) {
		move_all(argv[1]);
		moved = least(moved, scrape(c, &page));
	}
	const struct collect_report *r = collector_report(c);

	getrusage(RUSAGE_SELF, &usage);
	printf("cold_ms\t%.3f\nkernel_ms\t%.3f\nwarm_ms\t%.4f\nmoved_ms\t%.4f\nentries\t%zu\nsamples\t%zu\npage_bytes\t%zu\nrss_mb\t%.0f\n",
		cold, kernel, warm, moved, r->entries, r->samples, page.len, (double)usage.ru_maxrss / 1024);
	collector_free(c);
	buf_fini(&page);
	return 0;
}
