/* reply: answers as vLLM writes them: stream events, whole answers, usage. */
#ifndef GOODPUT_OPENAI_REPLY_H
#define GOODPUT_OPENAI_REPLY_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct reply {
	bool chat;
	struct str id, model; /* id with its prefix: "chatcmpl-..." */
	int64_t created;      /* Unix seconds */
};

struct reply_usage {
	uint64_t prompt_tokens, completion_tokens;
};

struct reply_choice {
	uint32_t index;
	struct str text;
	const char *finish_reason;
};

/* The opening of every event of one stream, up to the list of choices: made once, since it is the measured path. */
void reply_opening(const struct reply *r, struct buf *out);
/* Events "data: {...}\n\n". `opening` is what reply_opening gave; finish and usage may be NULL. */
void reply_role_event(struct str opening, uint32_t index, const struct reply_usage *usage, struct buf *out);
void reply_text_event(struct str opening, bool chat, uint32_t index, struct str text, const char *finish, const struct reply_usage *usage,
	struct buf *out);
void reply_usage_event(struct str opening, const struct reply_usage *usage, struct buf *out);
void reply_done(struct buf *out);
/* A whole answer, not streamed. */
void reply_whole(const struct reply *r, const struct reply_choice *choices, size_t count, const struct reply_usage *usage, struct buf *out);

#endif
