/* bench_collect DIR: CPU ms of a scrape of a directory of metric files, page included; least of the runs.
 *
 * cold: a new collector, files in the page cache. warm: the same collector again, nothing changed. moved: all values changed since.
 * The values of DIR are changed and not put back. */
#include "base/clock.h"
#include "base/mem.h"
#include "collect/collect.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COLD_LEAST = 7, COLD_MOST = 400, COLD_MS = 1500, WARM_RUNS = 40, PAGE_MAX = 1 << 30, MEMORY = 64 << 20 };

static const struct collect_options options = { .as_016 = true };

static double scrape(struct collector *c, struct buf *page)
{
	int64_t before = clock_cpu_ns();

	buf_reset(page);
	collector_scrape(c);
	collector_page(c, COLLECT_TEXT, page);
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
	double cold = 1e9, warm = 1e9, moved = 1e9;
	struct collector *c = NULL;
	struct rusage usage;
	struct buf page;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_collect DIR\n");
		return 64;
	}
	mem_keep(MEMORY); /* as goodput collect does */
	buf_init(&page, PAGE_MAX);
	for (int i = 0; i < COLD_LEAST || (i < COLD_MOST && clock_cpu_ns() < COLD_MS * 1000000LL); i++) {
		collector_free(c);
		buf_fini(&page);
		int64_t before = clock_cpu_ns();

		c = collector_new(argv[1], &options);
		double rest = (double)(clock_cpu_ns() - before) / 1e6;

		cold = least(cold, rest + scrape(c, &page));
	}
	for (int i = 0; i < WARM_RUNS; i++)
		warm = least(warm, scrape(c, &page));
	for (int i = 0; i < WARM_RUNS; i++) {
		move_all(argv[1]);
		moved = least(moved, scrape(c, &page));
	}
	const struct collect_report *r = collector_report(c);

	getrusage(RUSAGE_SELF, &usage);
	printf("cold_ms\t%.3f\nwarm_ms\t%.4f\nmoved_ms\t%.4f\nentries\t%zu\nsamples\t%zu\npage_bytes\t%zu\nrss_mb\t%.0f\n", cold, warm,
		moved, r->entries, r->samples, page.len, (double)usage.ru_maxrss / 1024);
	collector_free(c);
	buf_fini(&page);
	return 0;
}
