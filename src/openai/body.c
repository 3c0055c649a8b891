#include "openai/body.h"

#include "openai/field.h"

enum { PROMPTS_MAX = 1024 };

/* ---- chat ---- */

static bool add_part(struct buf *text, json_t *part, struct openai_error *e)
{
	json_t *type = field_get(part, "type"), *words = field_get(part, "text");

	if (json_is_string(type) && !str_is(json_str(type), "text"))
		return openai_refuse(e, 400, "messages", "this simulated engine takes text only, not a part of type \"" STR_FMT "\".",
			STR_ARG(str_head(json_str(type), 40)));
	if (!json_is_string(words))
		return openai_invalid(e, "string_type", "messages", "content parts need a text");
	buf_add(text, json_str(words));
	return true;
}

static bool add_content(struct buf *text, json_t *content, struct openai_error *e)
{
	size_t i;
	json_t *part;

	if (json_is_string(content)) {
		buf_add(text, json_str(content));
		return true;
	}
	if (!json_is_array(content))
		return openai_invalid(e, "string_type", "messages", "content should be a string or a list of parts");
	json_array_foreach(content, i, part) if (!add_part(text, part, e)) return false;
	return true;
}

/* The role marks are part of what prompts can share; they are paid for by the tokens of a message. */
static bool add_message(struct buf *text, size_t *marks, json_t *message, struct openai_error *e)
{
	json_t *role = json_is_object(message) ? field_get(message, "role") : NULL, *content;
	size_t before = text->len;

	if (!json_is_string(role))
		return openai_invalid(e, "missing", "messages", "each message needs a role");
	buf_add(text, STR("<|"));
	buf_add(text, json_str(role));
	buf_add(text, STR("|>"));
	*marks += text->len - before;
	content = field_get(message, "content");
	return !content || add_content(text, content, e);
}

static bool add_messages(struct buf *text, size_t *marks, json_t *messages, struct openai_error *e)
{
	size_t i;
	json_t *message;

	json_array_foreach(messages, i, message) if (!add_message(text, marks, message, e)) return false;
	return true;
}

bool body_messages(struct arena *arena, json_t *root, const struct openai_model *model, struct openai_request *r, struct openai_error *e)
{
	json_t *messages = field_get(root, "messages");
	size_t marks = 0;
	struct buf text;
	bool ok;

	if (!json_is_array(messages))
		return openai_invalid(e, "missing", "messages", "Field required");
	if (!json_array_size(messages))
		return openai_refuse(e, 400, "messages", "messages must not be empty.");
	buf_init(&text, SIZE_MAX / 2);
	ok = add_messages(&text, &marks, messages, e);
	if (ok) {
		struct prompt *p = ARENA_NEW(arena, struct prompt);

		prompt_from_text(arena, buf_str(&text), model->block_size, p);
		p->tokens = prompt_text_tokens(text.len - marks) + PROMPT_MESSAGE_TOKENS * (uint32_t)json_array_size(messages) +
			    PROMPT_CHAT_TOKENS;
		if (p->id_count > p->tokens / model->block_size)
			p->id_count = p->tokens / model->block_size;
		r->prompts = p;
		r->prompt_count = 1;
	}
	buf_fini(&text);
	return ok;
}

/* ---- completions ---- */

static bool ids_prompt(struct arena *arena, json_t *list, const struct openai_model *model, struct prompt *p, struct openai_error *e)
{
	size_t i, count = json_array_size(list);
	int64_t *ids = ARENA_ARRAY(arena, int64_t, count + 1);
	json_t *id;

	json_array_foreach(list, i, id)
	{
		if (!json_is_integer(id))
			return openai_invalid(e, "int_type", "prompt", "token ids should be integers");
		ids[i] = json_integer_value(id);
		if (ids[i] < 0)
			return openai_refuse(e, 400, "prompt", "Token id %lld is out of vocabulary", (long long)ids[i]);
	}
	prompt_from_ids(arena, ids, count, model->block_size, p);
	return true;
}

static bool one_prompt(struct arena *arena, json_t *value, const struct openai_model *model, struct prompt *p, struct openai_error *e)
{
	if (json_is_string(value))
		prompt_from_text(arena, json_str(value), model->block_size, p);
	else if (json_is_array(value) && !ids_prompt(arena, value, model, p, e))
		return false;
	else if (!json_is_array(value))
		return openai_invalid(e, "string_type", "prompt", "Input should be a text, a list of texts, token ids, or a list of those");
	if (!p->tokens)
		return openai_refuse(e, 400, "prompt", "The decoder prompt cannot be empty");
	return true;
}

bool body_prompts(struct arena *arena, json_t *root, const struct openai_model *model, struct openai_request *r, struct openai_error *e)
{
	json_t *value = field_get(root, "prompt"), *first;
	bool several;

	if (!value)
		return openai_invalid(e, "missing", "prompt", "Field required");
	first = json_is_array(value) ? json_array_get(value, 0) : NULL;
	several = first && !json_is_integer(first);
	r->prompt_count = several ? json_array_size(value) : 1;
	if (r->prompt_count > PROMPTS_MAX)
		return openai_refuse(e, 400, "prompt", "prompt: at most %d at once, got %zu.", PROMPTS_MAX, r->prompt_count);
	r->prompts = ARENA_ARRAY(arena, struct prompt, r->prompt_count);
	for (size_t i = 0; i < r->prompt_count; i++)
		if (!one_prompt(arena, several ? json_array_get(value, i) : value, model, &r->prompts[i], e))
			return false;
	return true;
}
