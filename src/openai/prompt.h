/* prompt: how many tokens a prompt has, and which of its parts another prompt may share.
 *
 * The rule, stated because there is no tokeniser: a token is four bytes of text, rounded up; a chat message costs four tokens
 * more (role and separators), a chat three (the answer's opening). Prompts given as token ids are counted exactly. */
#ifndef GOODPUT_OPENAI_PROMPT_H
#define GOODPUT_OPENAI_PROMPT_H

#include "base/arena.h"
#include "base/str.h"

#include <stdint.h>

enum { PROMPT_BYTES_PER_TOKEN = 4, PROMPT_MESSAGE_TOKENS = 4, PROMPT_CHAT_TOKENS = 3 };

struct prompt {
	uint32_t tokens;
	const uint64_t *ids; /* one for each whole block of `block` tokens: equal ids mean equal tokens */
	uint32_t id_count, block;
	uint64_t hash; /* of all of it */
};

uint32_t prompt_text_tokens(size_t bytes);
void prompt_from_text(struct arena *arena, struct str text, uint32_t block, struct prompt *p);
void prompt_from_ids(struct arena *arena, const int64_t *token_ids, size_t count, uint32_t block, struct prompt *p);

#endif
