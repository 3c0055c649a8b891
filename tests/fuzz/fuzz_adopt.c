/* fuzz_adopt: a process finds this file under its own name, left by a predecessor of the same pid. Input: the file.
 *
 * Whatever it is, the process counts, and what it leaves is whole and has its counter in it. */
#include <goodput/telemetry.h>

#include "../unit/metric_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

static char folder[] = "/tmp/goodput-fuzz-XXXXXX";

static void folder_remove(void)
{
	rmdir(folder);
}

static void count(void)
{
	goodput_options o;
	goodput_registry *r;
	goodput_counter *c, *other;

	goodput_options_init(&o);
	o.directory = folder;
	REQUIRE(!goodput_registry_open(&o, &r));
	REQUIRE(!goodput_counter_new(r, "c", "h", &c) && !goodput_counter_new(r, "other", "", &other));
	REQUIRE(goodput_counter_inc(c) == GOODPUT_OK && goodput_counter_inc(other) == GOODPUT_OK);
	goodput_registry_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool begun;
	char path[64], aside[80];
	int fd;

	if (!begun) {
		REQUIRE(mkdtemp(folder));
		atexit(folder_remove);
		begun = true;
	}
	snprintf(path, sizeof path, "%s/counter_%ld.db", folder, (long)getpid());
	snprintf(aside, sizeof aside, "%s.damaged", path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
	count();
	REQUIRE(metric_file_sum(path, 8, "\"c_total\"").entries || metric_file_sum(path, 16, "\"c_total\"").entries);
	unlink(path);
	unlink(aside);
	return 0;
}
