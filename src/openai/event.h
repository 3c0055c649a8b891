/* event: one event of a stream as JSON, validated and taken apart without allocation; not for other folders.
 *
 * Texts are borrowed from the event's data, escapes unresolved. */
#ifndef GOODPUT_OPENAI_EVENT_H
#define GOODPUT_OPENAI_EVENT_H

#include "base/json_read.h"
#include "model/timeline.h"

struct event_usage {
	uint32_t prompt, completion, cached, reasoning; /* TIMELINE_UNKNOWN where not told */
};

/* The top level. All of it has been checked to be JSON; parts that are looked at later are kept as text. */
struct event {
	struct str choices; /* the list; empty: absent or null */
	struct str error;   /* value of "error" where it says something */
	struct str message; /* of an old error object, at the top level */
	struct str model, type, delta, response;
	struct str usage_text; /* of the usage object */
	struct event_usage usage;
	bool has_usage, is_error_object, delta_escaped;
	uint32_t prompt_ids; /* length of prompt_token_ids */
};

/* False when the data are not a JSON object of the API's shape. */
bool event_parse(struct str data, struct event *e);

/* One of the event's choices. */
struct event_choice {
	uint32_t index, ids, logprobs; /* lengths of token_ids and of logprobs */
	struct str text, reasoning, finish;
	bool text_escaped, reasoning_escaped;
	bool other_content; /* content that is no plain text, refusals: visible, not kept */
	struct str tools;   /* the list of tool calls where it holds any */
};

/* Over event.choices: json_reader_init(&r, e->choices), then until false. Faults show in json_read_end. */
bool event_next_choice(struct json_reader *r, struct event_choice *c);

/* The joined "arguments" of a list of tool calls, escapes resolved. */
void event_tool_arguments(struct str tools, struct buf *out);
/* The message of an error: a text itself, or the member "message" of an object. */
void event_error_message(struct str error, struct buf *out);
/* response.usage, response.status, response.error of the responses API; texts empty when absent. */
struct event_response {
	struct event_usage usage;
	bool has_usage;
	struct str status, error, model;
};
bool event_response_parse(struct str response, struct event_response *out);

/* A whole answer: {"choices":[{"message":{"content":…},"finish_reason":…}],"usage":…}, or of the responses API. */
struct event_answer {
	struct event head;
	struct event_response response;
	uint32_t choice_count;
	struct event_choice first;
};
bool event_answer_parse(struct str document, bool responses, struct event_answer *out);

#endif
