/* request: bodies of /v1/completions and /v1/chat/completions, checked as vLLM checks them.
 *
 * What a stand-in cannot honour and the caller would miss (tools, logprobs, guided output, images ...) is refused by name. What only
 * shapes which words are sampled (top_p, penalties, seed, user ...) is accepted: the words are invented anyway. */
#ifndef GOODPUT_OPENAI_REQUEST_H
#define GOODPUT_OPENAI_REQUEST_H

#include "openai/error.h"
#include "openai/prompt.h"

#include <stdbool.h>

enum { OPENAI_STOPS_MAX = 16, OPENAI_CHOICES_MAX = 256 };

/* What the server is. */
struct openai_model {
	const struct str *names; /* served; the first is the default */
	size_t name_count;
	uint32_t max_model_len, block_size;
};

struct openai_request {
	bool chat;
	struct str model;
	struct prompt *prompts; /* completions can ask for several */
	size_t prompt_count;
	uint32_t n;
	uint32_t max_tokens; /* per choice; fits the context for every prompt unless it was not given (then see openai_room) */
	bool max_tokens_given;
	uint32_t min_tokens;
	bool stream, include_usage, continuous_usage, ignore_eos, include_stop;
	double temperature;
	struct str stops[OPENAI_STOPS_MAX];
	size_t stop_count;
	int32_t priority;
	uint64_t salt;          /* hash of cache_salt; 0 without */
	bool do_remote_prefill; /* kv_transfer_params: the KV of the prompt lies on another server */
	struct str request_id;  /* of the body; ptr NULL without */
};

/* Everything lives in the arena. False with an error for the client. */
bool openai_parse(struct arena *arena, bool chat, struct str body, const struct openai_model *model, struct openai_request *r,
	struct openai_error *e);
/* Most tokens that a choice of this prompt can get. */
uint32_t openai_room(const struct openai_request *r, const struct prompt *p, uint32_t max_model_len);
/* {"prompt": ...} or {"messages": ...} of /tokenize: the count only. */
bool openai_parse_tokenize(
	struct arena *arena, struct str body, const struct openai_model *model, uint32_t *tokens, struct openai_error *e);

#endif
