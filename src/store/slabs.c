/* Slabs: where series stand. */
#include "store/internal.h"

static struct slab *slab_of(struct series *series)
{
	return (struct slab *)((uintptr_t)series / SLAB_BYTES * SLAB_BYTES);
}

static void slab_link(struct store *s, struct slab *slab)
{
	slab->before = NULL;
	slab->next = s->roomy;
	if (s->roomy)
		s->roomy->before = slab;
	s->roomy = slab;
}

static void slab_unlink(struct store *s, struct slab *slab)
{
	if (slab->next)
		slab->next->before = slab->before;
	if (slab->before)
		slab->before->next = slab->next;
	else
		s->roomy = slab->next;
}

/* The first free one, so that those of a page stand together. */
struct series *slab_take(struct store *s)
{
	size_t word = 0;

	if (!s->roomy) {
		slab_link(s, mem_aligned(SLAB_BYTES));
		s->roomy->taken[0] = (UINT64_C(1) << (SLAB_LINES - SLAB_SERIES)) - 1;
	}
	struct slab *slab = s->roomy;
	while (!~slab->taken[word])
		word++;
	unsigned bit = (unsigned)__builtin_ctzll(~slab->taken[word]);
	slab->taken[word] |= UINT64_C(1) << bit;
	if (++slab->count == SLAB_SERIES)
		slab_unlink(s, slab);
	struct series *series = &slab->series[word * 64 + bit - (SLAB_LINES - SLAB_SERIES)];
	*series = (struct series){ 0 };
	return series;
}

void slab_give(struct store *s, struct series *series)
{
	struct slab *slab = slab_of(series);
	size_t line = (size_t)(series - slab->series) + (SLAB_LINES - SLAB_SERIES);

	slab->taken[line / 64] &= ~(UINT64_C(1) << line % 64);
	if (slab->count-- == SLAB_SERIES)
		slab_link(s, slab);
	if (slab->count)
		return;
	slab_unlink(s, slab);
	mem_free(slab);
}

void slabs_free(struct store *s)
{
	for (size_t id = 0; id < s->series_count; id++)
		slab_give(s, series_at(s, id));
}
