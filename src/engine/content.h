/* content: what tokens a request consists of, as far as the prefix cache must know: a chain of block hashes.
 *
 * A caller names contents by 64-bit ids, each standing for `id_tokens` tokens in a row (a Mooncake trace: 512; a tokenising
 * server: the block size). Two requests whose first k ids are equal share that many tokens. Tokens beyond the described ones
 * are private to the request. */
#ifndef GOODPUT_ENGINE_CONTENT_H
#define GOODPUT_ENGINE_CONTENT_H

#include <stdint.h>

struct content {
	const uint64_t *ids; /* borrowed: until the request has finished, was aborted or rejected */
	uint32_t id_count, id_tokens;
	uint32_t tokens; /* tokens described, counted from the start of the prompt; at most id_count * id_tokens.
			  * May exceed the prompt: then it tells what the output will be (so that the next turn finds it) */
	uint64_t salt;   /* vLLM's cache_salt, LoRA name ...: part of the first hash only, and so of all */
};

/* The hash of block `index` (of `block_size` tokens) that follows a block with hash `previous` (0 for the first block).
 * The whole block must lie in content->tokens. Odd: see KV_SHARED. */
uint64_t content_hash(const struct content *content, uint64_t previous, uint32_t index, uint32_t block_size);
/* The hash of a block with tokens of one request only. Even and never 0. */
uint64_t content_private_hash(uint64_t serial, uint32_t index);

#endif
