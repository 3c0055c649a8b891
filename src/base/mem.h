/* mem: allocation that cannot fail from the caller's view: out of memory ends the process with one message (exit 70).
 * Only base/ calls malloc itself. */
#ifndef GOODPUT_BASE_MEM_H
#define GOODPUT_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
/* Zeroed; checks count * size for overflow. */
void *mem_zalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* Zeroed, at an address that is a multiple of the size, a power of two. */
void *mem_aligned(size_t size) __attribute__((malloc, returns_nonnull));
/* realloc of count * size bytes, overflow checked. */
void *mem_resize(void *old, size_t count, size_t size) __attribute__((returns_nonnull));
char *mem_copy(const void *bytes, size_t size) __attribute__((malloc, returns_nonnull)); /* plus a final '\0' */
void mem_free(void *block);
/* Of what is given back, up to `size` bytes stay with the process for what it needs next, large blocks too, which malloc would return to
 * the system at once: touching memory for the first time costs 1.3 µs for 4 KB. For programs that need the same megabytes again and again.
 */
void mem_keep(size_t size);
/* Ends the process with the message, for sizes that overflow before they reach an allocation. */
_Noreturn void mem_exhausted(size_t count, size_t size);

#define NEW(type) ((type *)mem_zalloc(1, sizeof(type)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
