/* metric_bytes: small metric files, written by hand. */
#ifndef GOODPUT_TESTS_METRIC_BYTES_H
#define GOODPUT_TESTS_METRIC_BYTES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METRIC_BYTES_VALUE = 8 + 4 /* then the key and its blanks */, METRIC_BYTES_SIZE = 4096 };

static inline void metric_bytes_io(const char *path, const char *mode, long at, void *bytes, size_t size)
{
	FILE *file = fopen(path, mode);

	if (!file || fseek(file, at, SEEK_SET) != 0 ||
		(mode[0] == 'r' && mode[1] == 'b' && mode[2] == '\0' ? fread(bytes, 1, size, file) : fwrite(bytes, 1, size, file)) !=
			size) {
		perror(path);
		abort();
	}
	fclose(file);
}

/* One more entry, then `used`, as a writer does it. */
static inline void metric_bytes_append(const char *path, const char *name, double value, int layout)
{
	char bytes[512] = { 0 }, key[256];
	FILE *file = fopen(path, "r+b");
	int32_t used, length;

	length = snprintf(key, sizeof key, "[\"%s\", \"%s\", {}, \"Help.\"]", name, name);
	memcpy(bytes, &length, 4);
	memset(bytes + 4, ' ', 256);
	memcpy(bytes + 4, key, (size_t)length);
	int32_t at = 4 + length;

	at += 8 - at % 8;
	memcpy(bytes + at, &value, 8);
	memset(bytes + at + 8, 0, 8);
	if (!file || fread(&used, 1, 4, file) != 4 || fseek(file, used, SEEK_SET) != 0 ||
		fwrite(bytes, 1, (size_t)(at + layout), file) != (size_t)(at + layout)) {
		perror(path);
		abort();
	}
	used += at + layout;
	if (fseek(file, 0, SEEK_SET) != 0 || fwrite(&used, 1, 4, file) != 4 || fclose(file) != 0) {
		perror(path);
		abort();
	}
}

/* A file of one entry; family and sample have the same name. layout: 8 or 16. */
static inline void metric_bytes_write(const char *path, const char *name, double value, int layout)
{
	char bytes[METRIC_BYTES_SIZE] = { 8 };

	metric_bytes_io(path, "w+b", 0, bytes, sizeof bytes);
	metric_bytes_append(path, name, value, layout);
}

/* The value of the first entry. */
static inline void metric_bytes_set(const char *path, double value)
{
	int32_t length;

	metric_bytes_io(path, "rb", 8, &length, 4);
	int32_t at = 12 + length;

	at += 8 - (4 + length) % 8;
	metric_bytes_io(path, "r+b", at, &value, 8);
}

#endif
