/* Columns of an answer that are the same. Values are compared as bits: NaNs have payloads. */
#include "store/answer.h"

#include "base/hash.h"

#include <string.h>

enum { WORD = 8 };

/* Of a longer column that begins with these the beginning is given. */
static void *column_keep(struct answer *a, struct answer_column *kept, const void *words, size_t count)
{
	if (count > kept->count || memcmp(kept->words, words, count * WORD) != 0) {
		kept->words = memcpy(arena_alloc(a->arena, count * WORD), words, count * WORD);
		kept->count = count;
	}
	return (void *)kept->words;
}

int64_t *answer_times(struct answer *a, const int64_t *t, size_t count)
{
	return column_keep(a, &a->times, t, count);
}

static bool is_still(const double *v, size_t count)
{
	return memcmp(v, v + 1, (count - 1) * WORD) == 0;
}

double *answer_values(struct answer *a, const double *v, size_t count)
{
	if (!count)
		return NULL;
	return column_keep(a, is_still(v, count) ? &a->still[hash_bytes(v, WORD) % ANSWER_STILL] : &a->before, v, count);
}
