#include "openai/stream.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/number.h"
#include "openai/event.h"
#include "openai/shape.h"

#include <curl/curl.h>
#include <math.h>

enum { EVENT_MAX = 8 << 20, BODY_MAX = 16 << 20, CHOICES_MAX = 4096 };
/* After the end of an answer so much more is read, or for so long, to keep the connection. */
enum { REST_MAX = 65536, REST_NS = 2000000000 };

static void choice_init(struct openai_choice *c)
{
	*c = (struct openai_choice){ .usage_told = true, .first_ns = TIMELINE_NEVER, .last_ns = TIMELINE_NEVER };
}

void openai_stream_begin(struct openai_stream *s, const struct openai_stream_options *options, struct timeline *t)
{
	struct sse sse = s->sse;
	struct buf body = s->body;
	struct openai_choice *others = s->others;
	struct openai_shape *shape = s->shape;
	uint32_t other_cap = s->other_cap;

	if (s->ready) {
		sse_reset(&sse);
		buf_reset(&body);
		shape_forget(shape);
	} else {
		sse_init(&sse, options->event_max ? options->event_max : EVENT_MAX);
		buf_init(&body, BODY_MAX);
		shape = NULL;
	}
	*s = (struct openai_stream){ .options = *options,
		.timeline = t,
		.sse = sse,
		.body = body,
		.others = others,
		.other_cap = other_cap,
		.shape = shape,
		.usage = { TIMELINE_UNKNOWN, TIMELINE_UNKNOWN, TIMELINE_UNKNOWN, TIMELINE_UNKNOWN },
		.ready = true };
	choice_init(&s->first);
	deliveries_reset(&t->deliveries, t->submitted_ns);
}

void openai_stream_fini(struct openai_stream *s)
{
	if (!s->ready)
		return;
	sse_fini(&s->sse);
	buf_fini(&s->body);
	mem_free(s->others);
	shape_free(s->shape);
	*s = (struct openai_stream){ 0 };
}

bool openai_stream_is_over(const struct openai_stream *s)
{
	return s->over;
}

bool openai_stream_is_enough(const struct openai_stream *s)
{
	return s->enough;
}

/* ---- head ---- */

static bool type_is(struct str content_type, const char *wanted)
{
	ptrdiff_t end = str_find(content_type, ';');

	return str_eq_nocase(str_trim(end < 0 ? content_type : str_head(content_type, (size_t)end)), str_from(wanted));
}

static enum openai_body body_kind(uint16_t status, struct str content_type)
{
	if (status < 200 || status > 299)
		return OPENAI_BODY_OTHER;
	if (type_is(content_type, "text/event-stream"))
		return OPENAI_BODY_STREAM;
	return type_is(content_type, "application/json") ? OPENAI_BODY_JSON : OPENAI_BODY_SNIFF;
}

/* Seconds or an HTTP date; -1 when it is neither. */
static int64_t retry_after_ms(const struct openai_head *head)
{
	struct str text = str_trim(head->retry_after);
	double value;
	char date[64];
	time_t at;

	if (!text.len)
		return -1;
	if (number_parse(text, &value))
		return value >= 0 && value < 1e9 ? llround(head->retry_after_in_ms ? value : value * 1000) : -1;
	if (text.len >= sizeof date || isnan(head->now_unix))
		return -1;
	memcpy(date, text.ptr, text.len);
	date[text.len] = '\0';
	at = curl_getdate(date, NULL);
	if (at < 0)
		return -1;
	double wait = ((double)at - head->now_unix) * 1000;

	return wait > 0 ? llround(wait) : 0;
}

/* A redirect says where to, in its head. */
static void set_location(struct timeline *t, struct str location)
{
	struct buf message;

	buf_init(&message, 4096);
	buf_printf(&message, "sent on to " STR_FMT, STR_ARG(location));
	timeline_set_message(t, buf_str(&message));
	buf_fini(&message);
}

void openai_stream_head(struct openai_stream *s, const struct openai_head *head, int64_t t_ns)
{
	struct timeline *t = s->timeline;

	t->http_status = head->status;
	t->headers_ns = t_ns;
	if (t->first_byte_ns == TIMELINE_NEVER)
		t->first_byte_ns = t_ns;
	t->retry_after_ms = retry_after_ms(head);
	if (head->status / 100 == 3 && head->location.len)
		set_location(t, head->location);
	s->body_kind = body_kind(head->status, head->content_type);
}

/* ---- events ---- */

static struct openai_choice *choice_of(struct openai_stream *s, uint32_t index)
{
	if (!index)
		return &s->first;
	if (index > CHOICES_MAX)
		index = CHOICES_MAX;
	if (index > s->other_cap) {
		s->others = mem_resize(s->others, index, sizeof *s->others);
		s->other_cap = index;
	}
	while (s->other_count < index)
		choice_init(&s->others[s->other_count++]);
	s->timeline->notes |= TIMELINE_SEVERAL_CHOICES;
	return &s->others[index - 1];
}

/* A delivery of `tokens` (0: not told) with visible output or without. */
static void add_output(struct openai_stream *s, struct openai_choice *c, bool visible, bool content, uint32_t tokens, int64_t t_ns)
{
	struct timeline *t = s->timeline;

	if (c->first_ns == TIMELINE_NEVER)
		c->first_ns = t_ns;
	c->last_ns = t_ns;
	c->events++;
	s->delivered_tokens += tokens;
	deliveries_add(&t->deliveries, t_ns, tokens);
	t->last_output_ns = t_ns;
	if (visible && t->first_output_ns == TIMELINE_NEVER) {
		t->first_output_ns = t_ns;
		t->tokens_first = s->delivered_tokens ? (uint32_t)s->delivered_tokens : TIMELINE_UNKNOWN;
	}
	if (content && t->first_content_ns == TIMELINE_NEVER)
		t->first_content_ns = t_ns;
}

/* Tokens that per-chunk usage proves to be new. A total that comes once, at the end of a stream that told none before, proves nothing about
 * the event that it rides on. */
static uint32_t usage_growth(struct openai_choice *c, const struct event_usage *usage)
{
	uint32_t grown = 0;

	if (!usage || usage->completion == TIMELINE_UNKNOWN) {
		c->usage_told = false;
		return 0;
	}
	if ((c->usage_told || !c->events) && usage->completion > c->usage)
		grown = usage->completion - c->usage;
	c->usage = usage->completion;
	c->usage_told |= !c->events;
	return grown;
}

static void keep_text(struct openai_stream *s, const struct event_choice *choice)
{
	struct openai_text *text;

	if (choice->index >= s->options.text_count)
		return;
	text = &s->options.texts[choice->index];
	if (choice->text_escaped)
		json_unescape(choice->text, &text->text);
	else
		buf_add(&text->text, choice->text);
	json_unescape(choice->reasoning, &text->reasoning);
	if (choice->tools.len)
		event_tool_arguments(choice->tools, &text->tool_arguments);
}

static void take_choice(struct openai_stream *s, const struct event_choice *choice, const struct event_usage *usage, int64_t t_ns)
{
	struct openai_choice *c = choice_of(s, choice->index);
	bool content = choice->text.len || choice->tools.len || choice->other_content;
	bool visible = content || choice->reasoning.len;
	uint32_t grown = usage_growth(c, usage);
	uint32_t tokens = choice->ids ? choice->ids : grown ? grown : choice->logprobs;

	s->saw_choice = true;
	s->ids_total += choice->ids;
	s->logprobs_total += choice->logprobs;
	if (choice->finish.len)
		timeline_set_finish(s->timeline, choice->finish);
	keep_text(s, choice);
	if (visible || tokens)
		add_output(s, c, visible, content, tokens, t_ns);
}

static void take_model(struct openai_stream *s, struct str model)
{
	uint64_t hash;

	if (!model.len)
		return;
	hash = hash_bytes(model.ptr, model.len) | 1;
	if (s->model_hash && s->model_hash != hash)
		s->timeline->notes |= TIMELINE_SEVERAL_MODELS;
	else if (!s->model_hash && s->options.asked_model.len && !str_eq(model, s->options.asked_model))
		s->timeline->notes |= TIMELINE_OTHER_MODEL;
	s->model_hash = hash;
}

static void take_usage(struct openai_stream *s, const struct event_usage *u)
{
	s->has_usage = true;
	s->usage = (struct openai_usage){ u->prompt, u->completion, u->cached, u->reasoning };
}

static void fail(struct openai_stream *s, enum timeline_error error, struct str error_value, int64_t t_ns)
{
	struct buf message;

	buf_init(&message, 1 << 16);
	event_error_message(error_value, &message);
	timeline_set_message(s->timeline, buf_str(&message));
	buf_fini(&message);
	s->failure = error;
	s->over = true;
	s->timeline->completed_ns = t_ns;
}

static bool is_delta_of(struct str type, const char *what)
{
	return str_starts(type, STR("response.")) && str_ends(type, STR(".delta")) && str_search(type, str_from(what)) >= 0;
}

/* Typed events of /v1/responses. False: not of the API's shape. */
static bool take_response_event(struct openai_stream *s, const struct event *e, int64_t t_ns)
{
	bool text = is_delta_of(e->type, "output_text") || is_delta_of(e->type, "refusal"), reasoning = is_delta_of(e->type, "reasoning");
	struct openai_text *kept = s->options.text_count ? s->options.texts : NULL;

	if (text || reasoning || is_delta_of(e->type, "function_call_arguments")) {
		s->saw_choice = true;
		if (kept)
			json_unescape(e->delta, text ? &kept->text : reasoning ? &kept->reasoning : &kept->tool_arguments);
		if (e->delta.len)
			add_output(s, &s->first, true, !reasoning, 0, t_ns);
		return true;
	}
	bool failed = str_is(e->type, "response.failed");

	if (!failed && !str_is(e->type, "response.completed") && !str_is(e->type, "response.incomplete"))
		return true;
	struct event_response response;

	if (!event_response_parse(e->response, &response))
		return false;
	take_model(s, response.model);
	if (response.has_usage)
		take_usage(s, &response.usage);
	timeline_set_finish(s->timeline, response.status);
	s->over = true;
	s->timeline->completed_ns = t_ns;
	if (failed)
		fail(s, TIMELINE_STREAM_ERROR, response.error, t_ns);
	return true;
}

static bool take_chunk(struct openai_stream *s, const struct event *e, int64_t t_ns)
{
	const struct event_usage *usage = e->has_usage ? &e->usage : NULL;
	struct event_choice choice;
	struct json_reader r;
	bool any = false;

	if (e->choices.len) {
		/* Looked through before anything is counted: an event counts whole or not at all. */
		for (json_reader_init(&r, e->choices); event_next_choice(&r, &choice);)
			any = true;
		if (!json_read_end(&r))
			return false;
	}
	if (e->prompt_ids)
		s->prompt_ids = e->prompt_ids;
	if (usage) {
		take_usage(s, usage);
		s->total_usage = !any;
	}
	if (any)
		for (json_reader_init(&r, e->choices); event_next_choice(&r, &choice);)
			take_choice(s, &choice, usage, t_ns);
	return true;
}

static void take_malformed(struct openai_stream *s, struct str data)
{
	s->timeline->bad_events++;
	if (s->failure == TIMELINE_NO_ERROR) {
		s->failure = TIMELINE_MALFORMED;
		timeline_set_message(s->timeline, data);
	}
}

/* The whole of an event that is no repetition of the last one's shape. */
static void take_event(struct openai_stream *s, const struct sse_event *event, int64_t t_ns)
{
	struct event e;

	if (!event_parse(event->data, &e)) {
		take_malformed(s, event->data);
		return;
	}
	take_model(s, e.model);
	bool named = str_is(event->type, "error") || str_is(e.type, "error");

	if (e.error.len || e.is_error_object || named) {
		fail(s, TIMELINE_STREAM_ERROR, e.error.len ? e.error : e.message, t_ns);
		s->timeline->finish[0] = '\0';
		return;
	}
	if (s->options.api == OPENAI_RESPONSES ? !take_response_event(s, &e, t_ns) : !take_chunk(s, &e, t_ns)) {
		take_malformed(s, event->data);
		return;
	}
	if (s->options.api != OPENAI_RESPONSES)
		shape_learn(&s->shape, event->data, &e);
}

/* An event of the shape of the one before, with another text and counts that have grown. */
static bool take_repeated(struct openai_stream *s, struct str data, int64_t t_ns)
{
	struct shape_match match;
	struct event_choice choice = { 0 };
	struct event_usage usage = { s->usage.prompt, TIMELINE_UNKNOWN, s->usage.cached, s->usage.reasoning };

	if (!shape_match(s->shape, data, &match))
		return false;
	choice.text = match.is_reasoning ? STR_EMPTY : match.text;
	choice.text_escaped = choice.reasoning_escaped = match.escaped;
	choice.reasoning = match.is_reasoning ? match.text : STR_EMPTY;
	if (match.has_usage) {
		usage.completion = match.completion_tokens;
		s->usage.completion = match.completion_tokens;
	}
	take_choice(s, &choice, match.has_usage ? &usage : NULL, t_ns);
	return true;
}

static void take_data(struct openai_stream *s, const struct sse_event *event, int64_t t_ns)
{
	struct timeline *t = s->timeline;

	if (s->over) {
		if (t->completed_ns != TIMELINE_NEVER && !str_eq(str_trim(event->data), STR("[DONE]")))
			t->notes |= TIMELINE_AFTER_DONE;
		return;
	}
	if (!event->type.len && take_repeated(s, event->data, t_ns))
		return;
	if (event->data.len < 16 && str_eq(str_trim(event->data), STR("[DONE]"))) {
		s->over = true;
		t->completed_ns = t_ns;
		return;
	}
	take_event(s, event, t_ns);
}

static void feed_stream(struct openai_stream *s, struct str bytes, int64_t t_ns)
{
	struct sse_event event;
	enum sse_status status;

	while ((status = sse_next(&s->sse, &bytes, &event)) == SSE_EVENT)
		take_data(s, &event, t_ns);
	s->timeline->comments = s->sse.comments;
	if (status == SSE_TOO_LONG && !s->over) {
		take_malformed(s, STR("an event of more bytes than are allowed"));
		s->over = s->enough = true;
	}
}

/* The beginning is enough for a message; a document is wanted whole. */
static void feed_body(struct openai_stream *s, struct str bytes)
{
	buf_add(&s->body, str_head(bytes, BODY_MAX - s->body.len));
	if (s->body.len == BODY_MAX)
		s->over = s->enough = true;
}

/* What comes when all has been said. */
static void feed_rest(struct openai_stream *s, struct str bytes, int64_t t_ns)
{
	int64_t ended_ns = s->timeline->completed_ns;

	s->rest += bytes.len;
	s->enough |= s->rest > REST_MAX || (ended_ns != TIMELINE_NEVER && t_ns - ended_ns > REST_NS);
}

static enum openai_body sniff(char first)
{
	switch (first) {
	case 'd':
	case ':':
	case '\xef': return OPENAI_BODY_STREAM;
	case '{': return OPENAI_BODY_JSON;
	default: return OPENAI_BODY_OTHER;
	}
}

void openai_stream_feed(struct openai_stream *s, struct str bytes, int64_t t_ns)
{
	if (!bytes.len)
		return;
	if (s->timeline->first_byte_ns == TIMELINE_NEVER)
		s->timeline->first_byte_ns = t_ns;
	if (s->body_kind == OPENAI_BODY_SNIFF)
		s->body_kind = sniff(bytes.ptr[0]);
	if (s->over)
		feed_rest(s, bytes, t_ns);
	if (s->body_kind == OPENAI_BODY_STREAM)
		feed_stream(s, bytes, t_ns);
	else
		feed_body(s, bytes);
}
