#include "openai/event.h"

/* A text, or nothing where it is null or of another type (skipped). */
static struct str read_text(struct json_reader *r, bool *escaped)
{
	struct str text = STR_EMPTY;

	*escaped = false;
	if (json_read_peek(r) == JSON_KIND_STRING)
		json_read_string(r, &text, escaped);
	else
		json_read_skip(r);
	return text;
}

static struct str read_plain(struct json_reader *r)
{
	bool escaped;

	return read_text(r, &escaped);
}

/* A count of tokens; UNKNOWN where it is null, negative, no whole number. */
static uint32_t read_count(struct json_reader *r)
{
	double value;

	if (json_read_peek(r) != JSON_KIND_NUMBER) {
		json_read_skip(r);
		return TIMELINE_UNKNOWN;
	}
	if (!json_read_double(r, &value) || !(value >= 0 && value < TIMELINE_UNKNOWN))
		return TIMELINE_UNKNOWN;
	return (uint32_t)value;
}

static uint32_t count_items(struct json_reader *r)
{
	uint32_t count = 0;

	if (json_read_peek(r) != JSON_KIND_ARRAY) {
		json_read_skip(r);
		return 0;
	}
	for (json_read_array(r); json_read_item(r); count++)
		json_read_skip(r);
	return count;
}

/* One member of an object of counts ("prompt_tokens_details":{"cached_tokens":4}). */
static uint32_t read_detail(struct json_reader *r, const char *name)
{
	uint32_t count = TIMELINE_UNKNOWN;
	struct str key;

	if (json_read_peek(r) != JSON_KIND_OBJECT) {
		json_read_skip(r);
		return count;
	}
	json_read_object(r);
	while (json_read_member(r, &key))
		if (str_is(key, name))
			count = read_count(r);
		else
			json_read_skip(r);
	return count;
}

static void read_usage_member(struct json_reader *r, struct str key, struct event_usage *u)
{
	if (str_is(key, "prompt_tokens") || str_is(key, "input_tokens"))
		u->prompt = read_count(r);
	else if (str_is(key, "completion_tokens") || str_is(key, "output_tokens"))
		u->completion = read_count(r);
	else if (str_is(key, "prompt_tokens_details") || str_is(key, "input_tokens_details"))
		u->cached = read_detail(r, "cached_tokens");
	else if (str_is(key, "completion_tokens_details") || str_is(key, "output_tokens_details"))
		u->reasoning = read_detail(r, "reasoning_tokens");
	else
		json_read_skip(r);
}

/* False where it is null, empty or something else: then there is no usage. */
static bool read_usage(struct json_reader *r, struct event_usage *u)
{
	struct str key;

	*u = (struct event_usage){ TIMELINE_UNKNOWN, TIMELINE_UNKNOWN, TIMELINE_UNKNOWN, TIMELINE_UNKNOWN };
	if (json_read_peek(r) != JSON_KIND_OBJECT) {
		json_read_skip(r);
		return false;
	}
	json_read_object(r);
	while (json_read_member(r, &key))
		read_usage_member(r, key, u);
	return u->prompt != TIMELINE_UNKNOWN || u->completion != TIMELINE_UNKNOWN;
}

/* The value's text where it says something: not null, false, 0, "", {} or []. */
static struct str read_meaningful(struct json_reader *r)
{
	enum json_kind kind = json_read_peek(r);
	struct str text = json_read_skip(r);

	if (kind == JSON_KIND_NULL || str_is(text, "false") || str_is(text, "0") || str_is(text, "\"\"") || str_is(text, "{}") ||
		str_is(text, "[]"))
		return STR_EMPTY;
	return text;
}

static struct str read_list(struct json_reader *r)
{
	enum json_kind kind = json_read_peek(r);

	if (kind != JSON_KIND_ARRAY && kind != JSON_KIND_NULL) {
		json_read_fault(r, "a list is wanted");
		return STR_EMPTY;
	}
	struct str text = json_read_skip(r);

	return kind == JSON_KIND_ARRAY ? text : STR_EMPTY;
}

static void read_member(struct json_reader *r, struct str key, struct event *e)
{
	switch (key.len) {
	case 4:
		if (str_is(key, "type")) {
			e->type = read_plain(r);
			return;
		}
		break;
	case 5:
		if (str_is(key, "usage")) {
			const char *from = r->at;

			e->has_usage = read_usage(r, &e->usage);
			e->usage_text = str_of(from, (size_t)(r->at - from));
			return;
		}
		if (str_is(key, "model")) {
			e->model = read_plain(r);
			return;
		}
		if (str_is(key, "error")) {
			e->error = read_meaningful(r);
			return;
		}
		if (str_is(key, "delta")) {
			e->delta = read_text(r, &e->delta_escaped);
			return;
		}
		break;
	case 6:
		if (str_is(key, "object")) {
			e->is_error_object = str_is(read_plain(r), "error");
			return;
		}
		break;
	case 7:
		if (str_is(key, "choices")) {
			e->choices = read_list(r);
			return;
		}
		if (str_is(key, "message")) {
			e->message = json_read_peek(r) == JSON_KIND_STRING ? json_read_skip(r) : (json_read_skip(r), STR_EMPTY);
			return;
		}
		break;
	case 8:
		if (str_is(key, "response")) {
			e->response = json_read_skip(r);
			return;
		}
		break;
	case 16:
		if (str_is(key, "prompt_token_ids")) {
			e->prompt_ids = count_items(r);
			return;
		}
		break;
	default: break;
	}
	json_read_skip(r);
}

bool event_parse(struct str data, struct event *e)
{
	struct json_reader r;
	struct str key;

	*e = (struct event){ 0 };
	json_reader_init(&r, data);
	if (json_read_object(&r))
		while (json_read_member(&r, &key))
			read_member(&r, key, e);
	return json_read_end(&r);
}

/* ---- choices ---- */

static void read_logprobs(struct json_reader *r, struct event_choice *c)
{
	struct str key;

	if (json_read_peek(r) != JSON_KIND_OBJECT) {
		json_read_skip(r);
		return;
	}
	json_read_object(r);
	while (json_read_member(r, &key))
		if (str_is(key, "content") || str_is(key, "tokens"))
			c->logprobs = count_items(r);
		else
			json_read_skip(r);
}

static void read_content(struct json_reader *r, struct event_choice *c)
{
	enum json_kind kind = json_read_peek(r);

	if (kind == JSON_KIND_STRING)
		json_read_string(r, &c->text, &c->text_escaped);
	else if (read_meaningful(r).len)
		c->other_content = true;
}

static void read_delta(struct json_reader *r, struct event_choice *c)
{
	struct str key;

	if (json_read_peek(r) != JSON_KIND_OBJECT) {
		json_read_skip(r);
		return;
	}
	json_read_object(r);
	while (json_read_member(r, &key)) {
		if (str_is(key, "content")) {
			read_content(r, c);
		} else if (str_is(key, "reasoning_content") || str_is(key, "reasoning")) {
			bool escaped;
			struct str text = read_text(r, &escaped);

			if (text.len && !c->reasoning.len) { /* servers in between send both names */
				c->reasoning = text;
				c->reasoning_escaped = escaped;
			}
		} else if (str_is(key, "tool_calls")) {
			c->tools = read_meaningful(r);
		} else if (str_is(key, "refusal") || str_is(key, "function_call")) {
			c->other_content |= read_meaningful(r).len > 0;
		} else {
			json_read_skip(r);
		}
	}
}

static void read_choice_member(struct json_reader *r, struct str key, struct event_choice *c)
{
	if (str_is(key, "index")) {
		c->index = read_count(r);
		if (c->index == TIMELINE_UNKNOWN)
			c->index = 0;
	} else if (str_is(key, "delta") || str_is(key, "message")) {
		read_delta(r, c);
	} else if (str_is(key, "text")) {
		c->text = read_text(r, &c->text_escaped);
	} else if (str_is(key, "finish_reason")) {
		c->finish = read_plain(r);
	} else if (str_is(key, "token_ids")) {
		c->ids = count_items(r);
	} else if (str_is(key, "logprobs")) {
		read_logprobs(r, c);
	} else {
		json_read_skip(r);
	}
}

bool event_next_choice(struct json_reader *r, struct event_choice *c)
{
	struct str key;

	if (!r->depth && !json_read_array(r))
		return false;
	if (!json_read_item(r))
		return false;
	*c = (struct event_choice){ 0 };
	if (json_read_object(r))
		while (json_read_member(r, &key))
			read_choice_member(r, key, c);
	return !r->bad;
}

static void tool_call_arguments(struct json_reader *r, struct buf *out)
{
	struct str key, inner;

	for (json_read_object(r); json_read_member(r, &key);) {
		if (!str_is(key, "function") || json_read_peek(r) != JSON_KIND_OBJECT) {
			json_read_skip(r);
			continue;
		}
		for (json_read_object(r); json_read_member(r, &inner);)
			if (str_is(inner, "arguments"))
				json_unescape(read_plain(r), out);
			else
				json_read_skip(r);
	}
}

void event_tool_arguments(struct str tools, struct buf *out)
{
	struct json_reader r;

	json_reader_init(&r, tools);
	if (json_read_peek(&r) != JSON_KIND_ARRAY)
		return;
	for (json_read_array(&r); json_read_item(&r);)
		if (json_read_peek(&r) == JSON_KIND_OBJECT)
			tool_call_arguments(&r, out);
		else
			json_read_skip(&r);
}

/* ---- errors, responses, whole answers ---- */

void event_error_message(struct str error, struct buf *out)
{
	struct json_reader r;
	struct str key;

	json_reader_init(&r, error);
	if (json_read_peek(&r) == JSON_KIND_STRING) {
		json_unescape(read_plain(&r), out);
		return;
	}
	if (json_read_peek(&r) != JSON_KIND_OBJECT)
		return;
	for (json_read_object(&r); json_read_member(&r, &key);)
		if (str_is(key, "message"))
			json_unescape(read_plain(&r), out);
		else
			json_read_skip(&r);
}

bool event_response_parse(struct str response, struct event_response *out)
{
	struct json_reader r;
	struct str key;

	*out = (struct event_response){ 0 };
	json_reader_init(&r, response);
	if (json_read_object(&r)) {
		while (json_read_member(&r, &key)) {
			if (str_is(key, "usage"))
				out->has_usage = read_usage(&r, &out->usage);
			else if (str_is(key, "status"))
				out->status = read_plain(&r);
			else if (str_is(key, "error"))
				out->error = read_meaningful(&r);
			else if (str_is(key, "model"))
				out->model = read_plain(&r);
			else
				json_read_skip(&r);
		}
	}
	return json_read_end(&r);
}

bool event_answer_parse(struct str document, bool responses, struct event_answer *out)
{
	struct event_choice choice;
	struct json_reader r;

	*out = (struct event_answer){ 0 };
	if (!event_parse(document, &out->head))
		return false;
	if (responses)
		return event_response_parse(document, &out->response);
	if (!out->head.choices.len)
		return true;
	for (json_reader_init(&r, out->head.choices); event_next_choice(&r, &choice); out->choice_count++)
		if (!choice.index)
			out->first = choice;
	return json_read_end(&r);
}
