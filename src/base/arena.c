#include "base/arena.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct arena_block {
	struct arena_block *next;
	size_t size; /* of bytes[] */
	_Alignas(16) char bytes[];
};

enum { ARENA_ALIGN = 16, ARENA_BLOCK_FIRST = 4096, ARENA_BLOCK_LARGEST = 1 << 20 };

void arena_init(struct arena *a)
{
	*a = (struct arena){ 0 };
}

static void arena_free_list(struct arena_block *block)
{
	while (block) {
		struct arena_block *next = block->next;

		mem_free(block);
		block = next;
	}
}

void arena_reset(struct arena *a)
{
	if (!a->head)
		return;
	arena_free_list(a->head->next);
	a->head->next = NULL;
	a->at = a->head->bytes;
	a->end = a->at + a->head->size;
	a->total = 0;
}

void arena_fini(struct arena *a)
{
	arena_free_list(a->head);
	arena_init(a);
}

static struct arena_block *arena_block_new(size_t size)
{
	if (size > SIZE_MAX - sizeof(struct arena_block))
		mem_exhausted(1, size);
	struct arena_block *block = mem_alloc(sizeof *block + size);

	block->size = size;
	return block;
}

/* A request above the block size gets a block of its own behind the current one, which stays in use. */
static void *arena_alloc_slow(struct arena *a, size_t size)
{
	size_t wanted = a->head ? a->head->size * 2 : ARENA_BLOCK_FIRST;

	if (wanted > ARENA_BLOCK_LARGEST)
		wanted = ARENA_BLOCK_LARGEST;
	if (a->head && size > wanted / 2) {
		struct arena_block *own = arena_block_new(size);

		own->next = a->head->next;
		a->head->next = own;
		return own->bytes;
	}
	struct arena_block *block = arena_block_new(size > wanted ? size : wanted);

	block->next = a->head;
	a->head = block;
	a->at = block->bytes + size;
	a->end = block->bytes + block->size;
	return block->bytes;
}

void *arena_alloc(struct arena *a, size_t size)
{
	if (size > SIZE_MAX - ARENA_ALIGN)
		mem_exhausted(1, size);
	size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	a->total += size;
	if (!a->head || size > (size_t)(a->end - a->at))
		return arena_alloc_slow(a, size);
	char *block = a->at;

	a->at += size;
	return block;
}

void *arena_zalloc(struct arena *a, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		mem_exhausted(count, size);
	return memset(arena_alloc(a, total), 0, total);
}

char *arena_cstr(struct arena *a, struct str s)
{
	char *copy = arena_alloc(a, s.len + 1);

	if (s.len)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = '\0';
	return copy;
}

struct str arena_str(struct arena *a, struct str s)
{
	return str_of(arena_cstr(a, s), s.len);
}

struct str arena_vprintf(struct arena *a, const char *format, va_list args)
{
	va_list again;

	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	char *text = arena_alloc(a, length < 0 ? 1 : (size_t)length + 1);

	*text = '\0';
	if (length > 0)
		vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	return str_of(text, length < 0 ? 0 : (size_t)length);
}

struct str arena_printf(struct arena *a, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	struct str text = arena_vprintf(a, format, args);

	va_end(args);
	return text;
}
