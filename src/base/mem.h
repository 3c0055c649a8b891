/* mem: allocation that cannot fail from the caller's view: out of memory ends the process with one message (exit 70).
 * Only base/ calls malloc itself. */
#ifndef GOODPUT_BASE_MEM_H
#define GOODPUT_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
/* Zeroed; checks count * size for overflow. */
void *mem_zalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* realloc of count * size bytes, overflow checked. */
void *mem_resize(void *old, size_t count, size_t size) __attribute__((returns_nonnull));
char *mem_copy(const void *bytes, size_t size) __attribute__((malloc, returns_nonnull)); /* plus a final '\0' */
void mem_free(void *block);
/* For programs that need megabytes at once, before they do: the next `size` bytes (at most 24 MB) come from one piece that is backed by
 * large pages where the kernel has them for those who ask, and blocks given back stay with the process. Takes address space only. */
void mem_reserve(size_t size);
/* Ends the process with the message, for sizes that overflow before they reach an allocation. */
_Noreturn void mem_exhausted(size_t count, size_t size);

#define NEW(type) ((type *)mem_zalloc(1, sizeof(type)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
