/* Memory that the kernel zeroes in a forked child: the pointers to mapped cells live here, so no child can reach its parent's files,
 * however it was forked, and no update has to ask for its pid. */
#include "telemetry/internal.h"

#include <string.h>
#include <sys/mman.h>

#define CHUNK ((size_t)64 << 10)

struct goodput_arena_chunk {
	struct goodput_arena_chunk *next;
	size_t size;
};

/* The links of the list must survive the fork, so they stand on a page of their own before the wiped ones. */
static struct goodput_arena_chunk *chunk_new(struct goodput_arena *a, size_t size)
{
	const size_t page = 4096, whole = page + ((size + page - 1) & ~(page - 1));
	char *at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct goodput_arena_chunk *c = (struct goodput_arena_chunk *)at;

	if (at == MAP_FAILED)
		return NULL;
	if (madvise(at + page, whole - page, MADV_WIPEONFORK))
		a->by_hand = true;
	*c = (struct goodput_arena_chunk){ .next = a->chunks, .size = whole };
	a->chunks = c;
	a->left = whole - page;
	return c;
}

void *goodput_arena_take(struct goodput_arena *a, size_t size)
{
	void *at;

	size = (size + 15) & ~(size_t)15;
	if ((!a->chunks || a->left < size) && !chunk_new(a, size > CHUNK ? size : CHUNK))
		return NULL;
	at = (char *)a->chunks + a->chunks->size - a->left;
	a->left -= size;
	return at;
}

void goodput_arena_wipe(struct goodput_arena *a)
{
	for (struct goodput_arena_chunk *c = a->chunks; a->by_hand && c; c = c->next)
		memset((char *)c + 4096, 0, c->size - 4096);
}

void goodput_arena_fini(struct goodput_arena *a)
{
	while (a->chunks) {
		struct goodput_arena_chunk *c = a->chunks;

		a->chunks = c->next;
		munmap(c, c->size);
	}
	*a = (struct goodput_arena){ 0 };
}
