#include "openai/reply.h"

#include <inttypes.h>

static void add_start(const struct reply *r, const char *object, struct buf *out)
{
	buf_add_cstr(out, "{\"id\":");
	buf_add_json(out, r->id);
	buf_printf(out, ",\"object\":\"%s\",\"created\":%" PRId64 ",\"model\":", object, r->created);
	buf_add_json(out, r->model);
	buf_add_cstr(out, ",\"choices\":[");
}

static void add_usage(const struct reply_usage *u, struct buf *out)
{
	buf_add(out, STR(",\"usage\":{\"prompt_tokens\":"));
	buf_add_i64(out, (int64_t)u->prompt_tokens);
	buf_add(out, STR(",\"total_tokens\":"));
	buf_add_i64(out, (int64_t)(u->prompt_tokens + u->completion_tokens));
	buf_add(out, STR(",\"completion_tokens\":"));
	buf_add_i64(out, (int64_t)u->completion_tokens);
	buf_add_c(out, '}');
}

static void add_finish(const char *finish, struct buf *out)
{
	buf_add(out, STR(",\"logprobs\":null,\"finish_reason\":"));
	if (!finish) {
		buf_add(out, STR("null}"));
		return;
	}
	buf_add_c(out, '"');
	buf_add_cstr(out, finish);
	buf_add(out, STR("\"}"));
}

static void end_event(const struct reply_usage *usage, struct buf *out)
{
	buf_add_c(out, ']');
	if (usage)
		add_usage(usage, out);
	buf_add(out, STR("}\n\n"));
}

void reply_opening(const struct reply *r, struct buf *out)
{
	buf_add(out, STR("data: "));
	add_start(r, r->chat ? "chat.completion.chunk" : "text_completion", out);
}

void reply_role_event(struct str opening, uint32_t index, const struct reply_usage *usage, struct buf *out)
{
	buf_add(out, opening);
	buf_add(out, STR("{\"index\":"));
	buf_add_i64(out, index);
	buf_add(out, STR(",\"delta\":{\"role\":\"assistant\",\"content\":\"\"}"));
	add_finish(NULL, out);
	end_event(usage, out);
}

void reply_text_event(struct str opening, bool chat, uint32_t index, struct str text, const char *finish, const struct reply_usage *usage,
	struct buf *out)
{
	buf_add(out, opening);
	buf_add(out, STR("{\"index\":"));
	buf_add_i64(out, index);
	buf_add_cstr(out, chat ? ",\"delta\":{\"content\":" : ",\"text\":");
	buf_add_json(out, text);
	if (chat)
		buf_add_c(out, '}');
	add_finish(finish, out);
	end_event(usage, out);
}

void reply_usage_event(struct str opening, const struct reply_usage *usage, struct buf *out)
{
	buf_add(out, opening);
	end_event(usage, out);
}

void reply_done(struct buf *out)
{
	buf_add(out, STR("data: [DONE]\n\n"));
}

void reply_whole(const struct reply *r, const struct reply_choice *choices, size_t count, const struct reply_usage *usage, struct buf *out)
{
	add_start(r, r->chat ? "chat.completion" : "text_completion", out);
	for (size_t i = 0; i < count; i++) {
		buf_printf(out, "%s{\"index\":%u,", i ? "," : "", choices[i].index);
		buf_add_cstr(out, r->chat ? "\"message\":{\"role\":\"assistant\",\"content\":" : "\"text\":");
		buf_add_json(out, choices[i].text);
		if (r->chat)
			buf_add(out, STR(",\"tool_calls\":[]}"));
		add_finish(choices[i].finish_reason, out);
	}
	buf_add_c(out, ']');
	add_usage(usage, out);
	buf_add_c(out, '}');
}
