/* metric_folder: each test of libgoodput has a new directory, a registry in it, and reads its files. */
#ifndef GOODPUT_TESTS_METRIC_FOLDER_H
#define GOODPUT_TESTS_METRIC_FOLDER_H

#include <goodput/telemetry.h>

#include "metric_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static char directory[64];

static inline int setup(void **state)
{
	strcpy(directory, "/tmp/goodput-telemetry-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static inline int teardown(void **state)
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

static inline const char *path_of(const char *type, long pid)
{
	static char path[4][256];
	static unsigned turn;
	char *at = path[turn++ % 4];

	snprintf(at, sizeof path[0], "%s/%s_%ld.db", directory, type, pid);
	return at;
}

static inline const char *mine(const char *type)
{
	return path_of(type, getpid());
}

static inline double sum(const char *type, const char *text)
{
	return metric_file_sum(mine(type), 16, text).sum;
}

static inline size_t entries(const char *type, const char *text)
{
	return metric_file_sum(mine(type), 16, text).entries;
}

static inline goodput_options options(void)
{
	goodput_options o;

	goodput_options_init(&o);
	o.directory = directory;
	return o;
}

static inline goodput_registry *open_registry(enum goodput_layout layout)
{
	goodput_options o = options();
	goodput_registry *r;

	o.layout = layout;
	assert_int_equal(goodput_registry_open(&o, &r), GOODPUT_OK);
	return r;
}

static inline goodput_counter *counter_of(goodput_registry *r, const char *name)
{
	goodput_counter *c;

	assert_int_equal(goodput_counter_new(r, name, "h", &c), GOODPUT_OK);
	return c;
}

static inline goodput_health health_of(goodput_registry *r)
{
	goodput_health h = { .size = sizeof h };

	assert_int_equal(goodput_registry_health(r, &h), GOODPUT_OK);
	return h;
}

#endif
