#include "base/mem.h"

#include "base/error.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* _exit: handlers registered with atexit may allocate, too. */
void mem_exhausted(size_t count, size_t size)
{
	fprintf(stderr, "goodput: out of memory: %zu * %zu bytes wanted\n", count, size);
	_exit(EXIT_INTERNAL);
}

void *mem_alloc(size_t size)
{
	void *block = malloc(size ? size : 1);

	if (!block)
		mem_exhausted(1, size);
	return block;
}

void *mem_zalloc(size_t count, size_t size)
{
	void *block = count && size ? calloc(count, size) : calloc(1, 1);

	if (!block)
		mem_exhausted(count, size);
	return block;
}

void *mem_aligned(size_t size)
{
	void *block = aligned_alloc(size, size);

	if (!block)
		mem_exhausted(1, size);
	return memset(block, 0, size);
}

void *mem_resize(void *old, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		mem_exhausted(count, size);
	void *block = realloc(old, total ? total : 1);

	if (!block)
		mem_exhausted(count, size);
	return block;
}

char *mem_copy(const void *bytes, size_t size)
{
	if (size == SIZE_MAX)
		mem_exhausted(1, size);
	char *copy = mem_alloc(size + 1);

	if (size)
		memcpy(copy, bytes, size);
	copy[size] = '\0';
	return copy;
}

void mem_free(void *block)
{
	free(block);
}

void mem_keep(size_t size)
{
	enum { MAPPED_FROM = 32 << 20, /* the most that malloc takes */ STEP = 1 << 20 };

	mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
	mallopt(M_TRIM_THRESHOLD, size < INT_MAX ? (int)size : INT_MAX);
	mallopt(M_TOP_PAD, STEP);
}
