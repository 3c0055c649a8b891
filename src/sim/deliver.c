/* What the client gets: events of a stream, a whole answer, an error. */
#include "sim/internal.h"

static struct reply_usage usage_of(const struct choice *c)
{
	return (struct reply_usage){ c->prompt->tokens, c->ready };
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
	uint32_t to = c->ready < c->words ? c->ready : c->words; /* the end-of-sequence token has no text */
	size_t left = c->bytes - c->sent_bytes;

	buf_reset(text);
	if (to > c->sent)
		words_add(text, c->seed, c->sent, to);
	c->sent = c->ready;
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

/* Is there anything that the client should hear of now? Of the last token only with the reason of the end. */
static bool has_news(const struct choice *c)
{
	const struct answer *a = c->answer;
	bool over = c->finish && !c->told, more = c->ready > c->sent && c->ready < c->output;

	return a->exchange && a->request.stream && (over || (more && !a->blocked));
}

void deliver_choice(struct choice *c)
{
	struct answer *a = c->answer;
	struct simulator *sim = a->replica->sim;
	struct reply_usage usage = usage_of(c);
	struct str text;

	if (!has_news(c))
		return;
	begin_stream(a);
	buf_reset(&sim->scratch);
	add_role(c, &sim->scratch);
	text = next_text(c, &sim->text);
	if (text.len || c->finish)
		reply_text_event(buf_str(&a->opening), a->request.chat, c->index, text, c->finish,
			a->request.continuous_usage ? &usage : NULL, &sim->scratch);
	c->told = c->finish != NULL;
	a->blocked = !exchange_write(a->exchange, buf_str(&sim->scratch));
	sim_note_lateness(sim, c->due);
}

static void add_error(const struct answer *a, struct buf *out)
{
	struct openai_error e = { 0 };

	openai_refuse(&e, a->status, NULL, STR_FMT, STR_ARG(a->error));
	openai_error_write(&e, flat_errors(a->replica), out);
}

static void end_stream(struct answer *a)
{
	struct buf *out = &a->replica->sim->scratch;
	struct reply_usage usage = usage_of_all(a);

	buf_reset(out);
	if (a->error.ptr) { /* the head said 200: the error comes as an event, as from vLLM */
		buf_add(out, STR("data: "));
		add_error(a, out);
		buf_add(out, STR("\n\n"));
	} else if (a->request.include_usage) {
		reply_usage_event(buf_str(&a->opening), &usage, out);
	}
	reply_done(out);
	exchange_write(a->exchange, buf_str(out));
	exchange_end(a->exchange);
}

static void end_failed(struct answer *a)
{
	struct buf *out = &a->replica->sim->scratch;

	buf_reset(out);
	add_error(a, out);
	exchange_answer(a->exchange, a->status, "application/json", NULL, buf_str(out));
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
	if (a->exchange && a->began_stream)
		end_stream(a);
	else if (a->exchange && a->error.ptr)
		end_failed(a);
	else if (a->exchange)
		end_whole(a);
	a->exchange = NULL;
	if (a->began_stream)
		a->status = 200; /* that is what counts as HTTP's */
}
