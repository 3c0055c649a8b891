/* What the client gets: events of a stream, a whole answer, an error. */
#include "sim/internal.h"

static struct reply_usage usage_of(const struct choice *c)
{
	return (struct reply_usage){ c->prompt->tokens, c->said };
}

static struct reply_usage usage_of_all(const struct answer *a)
{
	struct reply_usage usage = { 0, 0 };

	for (size_t i = 0; i < a->request.prompt_count; i++)
		usage.prompt_tokens += a->request.prompts[i].tokens;
	for (uint32_t i = 0; i < a->count; i++)
		usage.completion_tokens += a->choices[i].said;
	return usage;
}

/* The text of what was said and not yet sent, cut where a stop string begins. */
static struct str next_text(struct choice *c, struct buf *text)
{
	uint32_t to = c->said < c->words ? c->said : c->words;
	size_t left = c->bytes - c->sent_bytes;

	buf_reset(text);
	if (to > c->sent)
		words_add(text, c->seed, c->sent, to);
	c->sent = to > c->sent ? to : c->sent;
	if (text->len > left)
		text->len = left;
	c->sent_bytes += text->len;
	return buf_str(text);
}

static void begin_stream(struct answer *a)
{
	if (a->began_stream)
		return;
	a->began_stream = true;
	exchange_begin(a->exchange, 200, "text/event-stream; charset=utf-8", "Cache-Control: no-cache\r\n");
}

static void add_role(struct choice *c, struct buf *out)
{
	const struct answer *a = c->answer;
	struct reply_usage none = { c->prompt->tokens, 0 };

	if (c->opened || !a->request.chat)
		return;
	c->opened = true;
	reply_role_event(buf_str(&a->opening), c->index, a->request.continuous_usage ? &none : NULL, out);
}

void deliver_tokens(struct choice *c, double due)
{
	struct answer *a = c->answer;
	struct simulator *sim = a->replica->sim;
	struct reply_usage usage = usage_of(c);
	struct str text;

	if (!a->exchange || !a->request.stream || (a->blocked && !c->finish))
		return;
	begin_stream(a);
	buf_reset(&sim->scratch);
	add_role(c, &sim->scratch);
	text = next_text(c, &sim->text);
	if (text.len || c->finish)
		reply_text_event(buf_str(&a->opening), a->request.chat, c->index, text, c->finish,
			a->request.continuous_usage ? &usage : NULL, &sim->scratch);
	a->blocked = !exchange_write(a->exchange, buf_str(&sim->scratch));
	sim_note_lateness(sim, due);
}

/* A slow client has caught up: what was said meanwhile comes as one event a choice. */
void answer_drained(struct answer *a)
{
	a->blocked = false;
	for (uint32_t i = 0; i < a->count && a->exchange && !a->done; i++)
		if (a->choices[i].said > a->choices[i].sent && !a->choices[i].finish)
			deliver_tokens(&a->choices[i], sim_now(a->replica->sim));
}

static void end_stream(struct answer *a)
{
	struct buf *out = &a->replica->sim->scratch;
	struct reply_usage usage = usage_of_all(a);

	buf_reset(out);
	if (a->request.include_usage && !a->failed)
		reply_usage_event(buf_str(&a->opening), &usage, out);
	reply_done(out);
	exchange_write(a->exchange, buf_str(out));
	exchange_end(a->exchange);
}

static void end_whole(struct answer *a)
{
	struct reply_choice *choices = ARENA_ARRAY(&a->arena, struct reply_choice, a->count);
	struct reply_usage usage = usage_of_all(a);
	struct buf *out = &a->replica->sim->scratch;

	for (uint32_t i = 0; i < a->count; i++) {
		struct str text = next_text(&a->choices[i], &a->replica->sim->text);

		choices[i] = (struct reply_choice){ a->choices[i].index, arena_str(&a->arena, text), a->choices[i].finish };
	}
	buf_reset(out);
	reply_whole(&a->reply, choices, a->count, &usage, out);
	exchange_answer(a->exchange, 200, "application/json", NULL, buf_str(out));
}

void deliver_end(struct answer *a)
{
	if (!a->exchange)
		return;
	if (a->began_stream)
		end_stream(a);
	else if (!a->failed)
		end_whole(a);
	a->exchange = NULL;
}

/* Before the first event an error is an ordinary answer; after it, an event, as vLLM does. */
void deliver_error(struct answer *a, int status, const char *message)
{
	struct openai_error e = { 0 };
	struct buf *out = &a->replica->sim->scratch;

	if (a->failed)
		return;
	a->failed = true;
	a->status = a->began_stream ? 200 : status;
	if (!a->exchange)
		return;
	openai_refuse(&e, status, NULL, "%s", message);
	buf_reset(out);
	if (!a->began_stream) {
		struct exchange *x = a->exchange;

		a->exchange = NULL;
		openai_error_write(&e, flat_errors(a->replica), out);
		exchange_answer(x, status, "application/json", NULL, buf_str(out));
		return;
	}
	buf_add(out, STR("data: "));
	openai_error_write(&e, flat_errors(a->replica), out);
	buf_add(out, STR("\n\n"));
	exchange_write(a->exchange, buf_str(out));
}
