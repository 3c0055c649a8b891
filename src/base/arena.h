/* arena: memory by region. Everything allocated from it lives until arena_reset or arena_fini. */
#ifndef GOODPUT_BASE_ARENA_H
#define GOODPUT_BASE_ARENA_H

#include "base/str.h"

#include <stdarg.h>
#include <stddef.h>

struct arena_block;
struct arena {
	struct arena_block *head;
	char *at, *end;
	size_t total; /* bytes handed out since init or reset */
};

void arena_init(struct arena *a);
/* Frees all but one block, which is used again. */
void arena_reset(struct arena *a);
void arena_fini(struct arena *a);

/* Uninitialised, aligned to 16. */
void *arena_alloc(struct arena *a, size_t size) __attribute__((returns_nonnull));
void *arena_zalloc(struct arena *a, size_t count, size_t size) __attribute__((returns_nonnull));
/* A copy, followed by '\0' (not counted). */
struct str arena_str(struct arena *a, struct str s);
char *arena_cstr(struct arena *a, struct str s);
struct str arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct str arena_vprintf(struct arena *a, const char *format, va_list args);

#define ARENA_NEW(a, type) ((type *)arena_zalloc((a), 1, sizeof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_zalloc((a), (count), sizeof(type)))

#endif
