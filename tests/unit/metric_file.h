/* metric_file: reading metric files in tests, by their format alone. */
#ifndef GOODPUT_TESTS_METRIC_FILE_H
#define GOODPUT_TESTS_METRIC_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The whole file; freed by the caller. NULL if it cannot be read. */
static inline char *metric_file_read(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	char *bytes = f && !fstat(fileno(f), &st) ? malloc((size_t)st.st_size + 1) : NULL;

	*size = bytes ? fread(bytes, 1, (size_t)st.st_size, f) : 0;
	if (f)
		fclose(f);
	return bytes;
}

/* Calls with each entry; false when the entries do not end where the header says. */
static inline bool metric_file_walk(const char *bytes, size_t size, unsigned value_size,
	void (*entry)(void *context, const char *key, size_t length, double value, double time), void *context)
{
	int32_t used = 0;
	size_t at = 8;

	if (size < 8)
		return false;
	memcpy(&used, bytes, 4);
	if (used < 0 || (size_t)used > size)
		return false;
	while (at < (size_t)used) {
		int32_t length;
		double value, time = 0;
		size_t value_at;

		memcpy(&length, bytes + at, 4);
		value_at = at + 4 + (size_t)length + 8 - (4 + (size_t)length) % 8;
		if (length < 2 || value_at + value_size > (size_t)used)
			return false;
		memcpy(&value, bytes + value_at, 8);
		if (value_size == 16)
			memcpy(&time, bytes + value_at + 8, 8);
		entry(context, bytes + at + 4, (size_t)length, value, time);
		at = value_at + value_size;
	}
	return at == (size_t)used;
}

struct metric_sum {
	const char *text; /* in the key; NULL: any */
	double sum, time;
	size_t entries;
};

static inline void metric_file_add(void *context, const char *key, size_t length, double value, double time)
{
	struct metric_sum *s = context;

	if (s->text && !memmem(key, length, s->text, strlen(s->text)))
		return;
	s->sum += value;
	s->time = time;
	s->entries++;
}

/* Sum over the entries of a file whose key has this text in it; entries is 0 when the file is missing or damaged. */
static inline struct metric_sum metric_file_sum(const char *path, unsigned value_size, const char *text)
{
	struct metric_sum s = { .text = text };
	size_t size;
	char *bytes = metric_file_read(path, &size);

	if (!bytes || !metric_file_walk(bytes, size, value_size, metric_file_add, &s))
		s = (struct metric_sum){ 0 };
	free(bytes);
	return s;
}

#endif
