/* body: the prompts of a request body; not for other folders. */
#ifndef GOODPUT_OPENAI_BODY_H
#define GOODPUT_OPENAI_BODY_H

#include "openai/request.h"

#include <jansson.h>

/* "messages" of a chat. */
bool body_messages(struct arena *arena, json_t *root, const struct openai_model *model, struct openai_request *r, struct openai_error *e);
/* "prompt" of completions: a text, token ids, or a list of either. */
bool body_prompts(struct arena *arena, json_t *root, const struct openai_model *model, struct openai_request *r, struct openai_error *e);

#endif
