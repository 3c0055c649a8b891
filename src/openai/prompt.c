#include "openai/prompt.h"

#include "base/hash.h"

uint32_t prompt_text_tokens(size_t bytes)
{
	return (uint32_t)((bytes + PROMPT_BYTES_PER_TOKEN - 1) / PROMPT_BYTES_PER_TOKEN);
}

/* One id a block; the engine chains them, so a block only counts as shared after the same beginning. */
static void hash_blocks(struct arena *arena, const char *bytes, size_t size, size_t block_bytes, struct prompt *p)
{
	uint64_t *ids;

	p->hash = hash_bytes(bytes, size);
	p->id_count = (uint32_t)(size / block_bytes);
	ids = ARENA_ARRAY(arena, uint64_t, p->id_count + 1);
	for (uint32_t i = 0; i < p->id_count; i++)
		ids[i] = hash_bytes(bytes + i * block_bytes, block_bytes);
	p->ids = ids;
}

void prompt_from_text(struct arena *arena, struct str text, uint32_t block, struct prompt *p)
{
	*p = (struct prompt){ .tokens = prompt_text_tokens(text.len), .block = block };
	hash_blocks(arena, text.ptr ? text.ptr : "", text.len, (size_t)block * PROMPT_BYTES_PER_TOKEN, p);
}

void prompt_from_ids(struct arena *arena, const int64_t *token_ids, size_t count, uint32_t block, struct prompt *p)
{
	*p = (struct prompt){ .tokens = (uint32_t)count, .block = block };
	hash_blocks(arena, (const char *)token_ids, count * sizeof *token_ids, (size_t)block * sizeof *token_ids, p);
}
