/* Bodies of requests. */
#include "load/load.h"

static const char *const role_names[] = { [WORKLOAD_USER] = "user", [WORKLOAD_ASSISTANT] = "assistant" };

static void body_messages(const struct workload_request *r, struct buf *out)
{
	buf_add_c(out, '[');
	for (uint32_t i = 0; i < r->message_count; i++) {
		buf_printf(out, "%s{\"role\":\"%s\",\"content\":\"", i ? "," : "", role_names[r->messages[i].role]);
		workload_text(r, i, out); /* letters and blanks: nothing to escape */
		buf_add_cstr(out, "\"}");
	}
	buf_add_c(out, ']');
}

static void body_prompt(const struct load_options *o, const struct workload_request *r, struct buf *out)
{
	if (workload_format(o->workload) == WORKLOAD_TOKEN_IDS) {
		buf_add_c(out, '[');
		workload_token_ids(o->workload, r, out);
		buf_add_c(out, ']');
		return;
	}
	buf_add_c(out, '"');
	for (uint32_t i = 0; i < r->message_count; i++) {
		if (i)
			buf_add_c(out, ' ');
		workload_text(r, i, out);
	}
	buf_add_c(out, '"');
}

static void body_input(const struct load_options *o, const struct workload_request *r, const struct evaluation_item *item, struct buf *out)
{
	switch (o->api) {
	case OPENAI_CHAT:
	case OPENAI_RESPONSES:
		buf_add_cstr(out, o->api == OPENAI_CHAT ? ",\"messages\":" : ",\"input\":");
		if (item)
			buf_add(out, item->messages);
		else
			body_messages(r, out);
		break;
	case OPENAI_COMPLETIONS:
		buf_add_cstr(out, ",\"prompt\":");
		if (item)
			buf_add_json(out, item->prompt);
		else
			body_prompt(o, r, out);
	}
}

static const char *limit_name(enum openai_api api)
{
	return api == OPENAI_CHAT ? "max_completion_tokens" : api == OPENAI_COMPLETIONS ? "max_tokens" : "max_output_tokens";
}

static void body_stream(const struct load_options *o, struct buf *out)
{
	if (!o->streams)
		return;
	buf_add_cstr(out, ",\"stream\":true");
	if (o->api == OPENAI_RESPONSES || o->usage == LOAD_USAGE_NONE)
		return;
	buf_printf(out, ",\"stream_options\":{\"include_usage\":true%s}",
		o->usage == LOAD_USAGE_EACH ? ",\"continuous_usage_stats\":true" : "");
}

static void body_members(struct str members, struct buf *out)
{
	if (!members.len)
		return;
	buf_add_c(out, ',');
	buf_add(out, members);
}

void load_body(const struct load_options *o, const struct workload_request *r, const struct evaluation_item *item, struct buf *out)
{
	buf_add_cstr(out, "{\"model\":");
	buf_add_json(out, o->model);
	body_input(o, r, item, out);
	buf_printf(out, ",\"%s\":%lld", limit_name(o->api), item ? (long long)item->max_tokens : (long long)r->output_tokens);
	body_stream(o, out);
	if (item) /* the answer is judged: as sure as it can be, and it may end */
		buf_add_cstr(out, ",\"temperature\":0");
	else {
		body_members(workload_sampling(o->workload), out);
		body_members(o->members, out);
	}
	buf_add_c(out, '}');
}
