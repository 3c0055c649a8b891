/* The end of an answer: outcome, error, counts. */
#include "net/web_page.h"
#include "openai/event.h"
#include "openai/stream.h"

/* What a page or document of an error says: the error's message, else the beginning of the text. */
static void set_body_message(struct openai_stream *s)
{
	struct str body = buf_str(&s->body);
	struct event e;
	struct buf message;

	if (s->timeline->message[0]) /* its head has said it */
		return;
	buf_init(&message, 1 << 16);
	if (event_parse(body, &e) && (e.error.len || e.message.len))
		event_error_message(e.error.len ? e.error : e.message, &message);
	else if (web_page_is(body) && !web_page_phrase(body, &message))
		buf_printf(&message, ": " STR_FMT, STR_ARG(str_head(body, TIMELINE_MESSAGE_MAX)));
	timeline_set_message(s->timeline, message.len ? buf_str(&message) : body);
	buf_fini(&message);
}

static enum timeline_error status_error(uint16_t status)
{
	if (status == 429)
		return TIMELINE_HTTP_429;
	if (status >= 400 && status < 500)
		return TIMELINE_HTTP_4XX;
	if (status >= 500 && status < 600)
		return TIMELINE_HTTP_5XX;
	return TIMELINE_HTTP_OTHER;
}

static void take_whole_usage(struct openai_stream *s, const struct event_usage *u)
{
	s->has_usage = s->total_usage = true;
	s->usage = (struct openai_usage){ u->prompt, u->completion, u->cached, u->reasoning };
}

/* A JSON document instead of a stream: a success without token times. */
static enum timeline_error take_document(struct openai_stream *s)
{
	struct event_answer answer;
	struct timeline *t = s->timeline;
	bool responses = s->options.api == OPENAI_RESPONSES;

	if (!event_answer_parse(buf_str(&s->body), responses, &answer)) {
		timeline_set_message(t, buf_str(&s->body));
		return TIMELINE_MALFORMED;
	}
	if (answer.head.error.len || answer.head.is_error_object) {
		set_body_message(s);
		return TIMELINE_STREAM_ERROR;
	}
	t->notes |= TIMELINE_NOT_STREAMED;
	if (answer.head.has_usage)
		take_whole_usage(s, &answer.head.usage);
	if (responses) {
		timeline_set_finish(t, answer.response.status);
		return answer.response.status.len ? TIMELINE_NO_ERROR : TIMELINE_EMPTY;
	}
	if (answer.choice_count > 1)
		t->notes |= TIMELINE_SEVERAL_CHOICES;
	timeline_set_finish(t, answer.first.finish);
	if (s->options.text_count) {
		json_unescape(answer.first.text, &s->options.texts->text);
		json_unescape(answer.first.reasoning, &s->options.texts->reasoning);
		event_tool_arguments(answer.first.tools, &s->options.texts->tool_arguments);
	}
	return answer.choice_count ? TIMELINE_NO_ERROR : TIMELINE_EMPTY;
}

static enum timeline_error end_error(enum openai_end how)
{
	switch (how) {
	case OPENAI_END_RESET: return TIMELINE_RESET;
	case OPENAI_END_DEADLINE: return TIMELINE_TIMEOUT;
	default: return TIMELINE_TRUNCATED;
	}
}

static bool is_whole(enum openai_end how)
{
	return how == OPENAI_END_BODY || how == OPENAI_END_CLOSE;
}

static enum timeline_error end_stream(struct openai_stream *s, enum openai_end how, int64_t t_ns)
{
	struct timeline *t = s->timeline;

	if (!s->over) {
		if (!is_whole(how) || !t->finish[0])
			return end_error(how);
		t->notes |= TIMELINE_MISSING_DONE;
		t->completed_ns = t_ns;
	}
	if (s->failure != TIMELINE_NO_ERROR)
		return s->failure;
	if (!s->saw_choice && t->first_output_ns == TIMELINE_NEVER)
		return TIMELINE_EMPTY;
	if (strcmp(t->finish, "abort") == 0 || strcmp(t->finish, "error") == 0)
		return TIMELINE_ABORTED;
	return TIMELINE_NO_ERROR;
}

static enum timeline_error end_other(struct openai_stream *s, enum openai_end how, int64_t t_ns)
{
	struct timeline *t = s->timeline;

	if (t->http_status < 200 || t->http_status > 299) {
		set_body_message(s);
		if (is_whole(how))
			t->completed_ns = t_ns;
		return status_error(t->http_status);
	}
	if (!is_whole(how) && !s->enough)
		return end_error(how);
	t->completed_ns = t_ns;
	if (s->enough && s->body_kind == OPENAI_BODY_JSON) {
		timeline_set_message(t, STR("a document of more bytes than are allowed"));
		return TIMELINE_MALFORMED;
	}
	if (!s->body.len)
		return TIMELINE_EMPTY;
	if (s->body_kind == OPENAI_BODY_JSON)
		return take_document(s);
	set_body_message(s);
	return TIMELINE_CONTENT_TYPE;
}

/* The per-choice counts added up, where the total never came. */
static uint32_t sum_choices(const struct openai_stream *s)
{
	uint64_t sum = s->first.usage;

	for (uint32_t i = 0; i < s->other_count; i++)
		sum += s->others[i].usage;
	return sum < TIMELINE_UNKNOWN ? (uint32_t)sum : TIMELINE_UNKNOWN - 1;
}

static uint32_t at_most_known(uint64_t count)
{
	return count < TIMELINE_UNKNOWN ? (uint32_t)count : TIMELINE_UNKNOWN - 1;
}

static void set_counts(struct openai_stream *s)
{
	struct timeline *t = s->timeline;

	t->prompt_tokens = s->usage.prompt;
	if (t->prompt_tokens == TIMELINE_UNKNOWN && s->prompt_ids)
		t->prompt_tokens = s->prompt_ids;
	t->cached_tokens = s->usage.cached;
	t->reasoning_tokens = s->usage.reasoning;
	if (s->delivered_tokens)
		t->notes |= TIMELINE_DELIVERY_TOKENS;
	if (s->usage.completion != TIMELINE_UNKNOWN) {
		t->output_tokens = !s->total_usage && s->other_count ? sum_choices(s) : s->usage.completion;
		t->basis = TOKENS_USAGE;
	} else if (s->ids_total || s->logprobs_total) {
		t->output_tokens = at_most_known(s->ids_total ? s->ids_total : s->logprobs_total);
		t->basis = s->ids_total ? TOKENS_IDS : TOKENS_LOGPROBS;
	} else if (t->deliveries.count) {
		t->output_tokens = t->deliveries.count;
		t->basis = TOKENS_EVENTS;
	}
}

void openai_stream_end(struct openai_stream *s, enum openai_end how, int64_t t_ns)
{
	struct timeline *t = s->timeline;
	bool is_stream = s->body_kind == OPENAI_BODY_STREAM;

	t->closed_ns = t_ns;
	set_counts(s);
	if (how == OPENAI_END_CANCELLED && !s->over) {
		t->outcome = TIMELINE_CANCELLED;
		return;
	}
	t->error = is_stream ? end_stream(s, how, t_ns) : end_other(s, how, t_ns);
	if (!is_stream)
		set_counts(s);
	if (t->error != TIMELINE_NO_ERROR) {
		t->outcome = TIMELINE_ERROR;
		return;
	}
	if (!s->has_usage)
		t->notes |= TIMELINE_NO_USAGE;
	t->outcome = t->first_output_ns == TIMELINE_NEVER && is_stream ? TIMELINE_OK_EMPTY : TIMELINE_OK;
}

void openai_stream_fail(struct openai_stream *s, enum timeline_error error, struct str message, int64_t t_ns)
{
	struct timeline *t = s->timeline;

	t->closed_ns = t_ns;
	t->outcome = TIMELINE_ERROR;
	t->error = error;
	timeline_set_message(t, message);
}
