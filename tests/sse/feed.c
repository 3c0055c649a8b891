/* Feeding a transcript: the body straight into the accounting, or a whole HTTP answer through llhttp first. */
#include "base/file.h"
#include "base/mem.h"
#include "transcript.h"

#include <llhttp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- loading ---- */

/* The bytes of a JSON string whose characters are bytes (Latin-1). */
static struct str bytes_of(struct arena *arena, const json_t *string)
{
	struct str rest = { json_string_value(string), json_string_length(string) };
	char *bytes = arena_alloc(arena, rest.len + 1);
	size_t len = 0, step;
	uint32_t rune;

	for (; (step = str_rune(rest, &rune)); rest = str_skip(rest, step))
		bytes[len++] = (char)rune;
	return str_of(bytes, len);
}

static bool complain(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s\n", path, what);
	return false;
}

static bool load_steps(struct transcript *t, struct arena *arena, const char *path)
{
	struct error e;
	struct str text, line;
	size_t cap = 0;

	if (!file_read(arena, path, 64 << 20, &text, &e))
		return complain(path, e.message);
	while (str_split(&text, '\n', &line)) {
		if (!str_trim(line).len)
			continue;
		json_t *object = json_loadb(line.ptr, line.len, 0, NULL);

		if (!object)
			return complain(path, "a line is no JSON");
		if (t->count == cap)
			t->steps = mem_resize(t->steps, cap = cap * 2 + 16, sizeof *t->steps);
		struct step *s = &t->steps[t->count++];
		json_t *bytes = json_object_get(object, "bytes"), *event = json_object_get(object, "event");

		*s = (struct step){ .t_ms = json_number_value(json_object_get(object, "t_ms")) };
		if (bytes)
			s->bytes = bytes_of(arena, bytes);
		else
			s->event = arena_cstr(arena, str_from(json_string_value(event)));
		t->bytes += s->bytes.len;
		json_decref(object);
	}
	return t->count || complain(path, "no lines");
}

bool transcript_load(struct transcript *t, struct arena *arena, const char *json_path)
{
	char lines_path[4096];
	json_error_t error;

	*t = (struct transcript){ 0 };
	buf_init(&t->known, 64 << 20);
	t->expected = json_load_file(json_path, 0, &error);
	if (!json_is_object(t->expected))
		return complain(json_path, error.text);
	snprintf(lines_path, sizeof lines_path, "%sl", json_path);
	const char *layer = json_string_value(json_object_get(t->expected, "layer"));

	t->is_http = layer && strcmp(layer, "http") == 0;
	return load_steps(t, arena, lines_path);
}

void transcript_fini(struct transcript *t)
{
	json_decref(t->expected);
	buf_fini(&t->known);
	mem_free(t->steps);
}

/* ---- HTTP ---- */

struct reader {
	struct outcome *o;
	llhttp_t parser;
	llhttp_settings_t settings;
	int64_t now_ns;
	char field[64], value[256], type[128], retry_after[64], retry_after_ms[64];
	bool in_value, ended;
};

static void append(char *to, size_t size, const char *at, size_t len)
{
	size_t used = strlen(to);

	snprintf(to + used, size - used, "%.*s", (int)len, at);
}

static void finish_header(struct reader *r)
{
	static const char *const names[] = { "content-type", "retry-after", "retry-after-ms", "x-request-id" };
	char *const values[] = { r->type, r->retry_after, r->retry_after_ms, r->o->request_id };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcasecmp(r->field, names[i]) == 0)
			snprintf(values[i], 64, "%.63s", r->value);
	r->field[0] = r->value[0] = '\0';
	r->in_value = false;
}

static int on_field(llhttp_t *p, const char *at, size_t len)
{
	struct reader *r = p->data;

	if (r->in_value)
		finish_header(r);
	append(r->field, sizeof r->field, at, len);
	return 0;
}

static int on_value(llhttp_t *p, const char *at, size_t len)
{
	struct reader *r = p->data;

	r->in_value = true;
	append(r->value, sizeof r->value, at, len);
	return 0;
}

static int on_headers(llhttp_t *p)
{
	struct reader *r = p->data;

	finish_header(r);
	if (p->status_code < 200)
		return 0;
	const bool in_ms = r->retry_after_ms[0];
	const struct openai_head head = { .status = p->status_code,
		.content_type = str_from(r->type),
		.retry_after = str_from(in_ms ? r->retry_after_ms : r->retry_after),
		.retry_after_in_ms = in_ms,
		.now_unix = NAN };

	openai_stream_head(&r->o->stream, &head, r->now_ns);
	return 0;
}

static int on_body(llhttp_t *p, const char *at, size_t len)
{
	struct reader *r = p->data;

	openai_stream_feed(&r->o->stream, str_of(at, len), r->now_ns);
	return 0;
}

static int on_complete(llhttp_t *p)
{
	struct reader *r = p->data;

	if (p->status_code < 200)
		return 0;
	r->o->keep_alive = llhttp_should_keep_alive(p);
	r->ended = true;
	openai_stream_end(&r->o->stream,
		r->parser.flags & F_CONTENT_LENGTH || r->parser.flags & F_CHUNKED ? OPENAI_END_BODY : OPENAI_END_CLOSE, r->now_ns);
	return HPE_PAUSED;
}

static void reader_init(struct reader *r, struct outcome *o)
{
	*r = (struct reader){ .o = o };
	llhttp_settings_init(&r->settings);
	r->settings.on_header_field = on_field;
	r->settings.on_header_value = on_value;
	r->settings.on_headers_complete = on_headers;
	r->settings.on_body = on_body;
	r->settings.on_message_complete = on_complete;
	llhttp_init(&r->parser, HTTP_RESPONSE, &r->settings);
	r->parser.data = r;
}

/* ---- feeding ---- */

static void feed_bytes(struct reader *r, bool is_http, struct str bytes)
{
	/* In a block of its own, so that a sanitizer sees reading beyond it. */
	char *copy = mem_copy(bytes.ptr, bytes.len);

	if (!r->ended && !is_http)
		openai_stream_feed(&r->o->stream, str_of(copy, bytes.len), r->now_ns);
	else if (!r->ended)
		llhttp_execute(&r->parser, copy, bytes.len);
	mem_free(copy);
}

static void feed_event(struct reader *r, bool is_http, const char *event)
{
	static const struct {
		const char *name;
		enum openai_end how;
	} ends[] = { { "eof", OPENAI_END_CLOSE }, { "reset", OPENAI_END_RESET }, { "deadline", OPENAI_END_DEADLINE } };

	if (r->ended)
		return;
	if (strcmp(event, "refused") == 0) {
		openai_stream_fail(&r->o->stream, TIMELINE_CONNECT, STR("connection refused"), r->now_ns);
		r->ended = true;
		return;
	}
	if (is_http && strcmp(event, "eof") == 0 && llhttp_finish(&r->parser) == HPE_OK && r->ended)
		return;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (strcmp(event, ends[i].name) == 0) {
			enum openai_end how = is_http && ends[i].how == OPENAI_END_CLOSE ? OPENAI_END_CUT : ends[i].how;

			r->ended = true;
			openai_stream_end(&r->o->stream, how, r->now_ns);
		}
}

static void feed_step(struct reader *r, const struct transcript *t, size_t at, const struct cutting *c)
{
	struct str bytes = t->steps[at].bytes;

	if (c->split && c->step == at) {
		feed_bytes(r, t->is_http, str_head(bytes, c->split));
		bytes = str_skip(bytes, c->split);
	}
	for (size_t piece; bytes.len; bytes = str_skip(bytes, piece)) {
		piece = c->piece && c->piece < bytes.len ? c->piece : bytes.len;
		feed_bytes(r, t->is_http, str_head(bytes, piece));
	}
}

static int64_t ns_of(double ms)
{
	return llround(ms * 1e6);
}

/* All reads of the moment of `*at` as one; `*at` moves to the last of them. */
static void feed_joined(struct reader *r, const struct transcript *t, size_t *at)
{
	struct buf joined;
	size_t last = *at;

	buf_init(&joined, 64 << 20);
	buf_add(&joined, t->steps[last].bytes);
	while (last + 1 < t->count && t->steps[last + 1].bytes.ptr && t->steps[last + 1].t_ms == t->steps[*at].t_ms)
		buf_add(&joined, t->steps[++last].bytes);
	feed_bytes(r, t->is_http, buf_str(&joined));
	buf_fini(&joined);
	*at = last;
}

void transcript_feed(const struct transcript *t, const struct cutting *c, struct outcome *o)
{
	static const char *const apis[] = { "chat", "completions", "responses" };
	struct openai_stream_options options = { .texts = o->texts, .text_count = TRANSCRIPT_CHOICES };
	struct reader r;

	for (int i = 0; i < 3; i++)
		if (strcmp(json_string_value(json_object_get(t->expected, "api")), apis[i]) == 0)
			options.api = (enum openai_api)i;
	reader_init(&r, o);
	timeline_reset(&o->timeline);
	o->timeline.submitted_ns = ns_of(json_number_value(json_object_get(t->expected, "submit_ms")));
	o->timeline.intended_ns = ns_of(json_number_value(json_object_get(t->expected, "scheduled_ms")));
	for (size_t i = 0; i < TRANSCRIPT_CHOICES; i++) {
		buf_reset(&o->texts[i].text);
		buf_reset(&o->texts[i].reasoning);
		buf_reset(&o->texts[i].tool_arguments);
	}
	o->request_id[0] = '\0';
	o->keep_alive = false;
	openai_stream_begin(&o->stream, &options, &o->timeline);
	if (!t->is_http)
		o->timeline.http_status = 200;
	for (size_t i = 0; i < t->count; i++) {
		r.now_ns = ns_of(t->steps[i].t_ms);
		if (!t->steps[i].bytes.ptr)
			feed_event(&r, t->is_http, t->steps[i].event);
		else if (c->joined)
			feed_joined(&r, t, &i);
		else
			feed_step(&r, t, i, c);
	}
	if (o->timeline.error == TIMELINE_CONNECT)
		o->timeline.http_status = 0;
}

void outcome_init(struct outcome *o)
{
	*o = (struct outcome){ 0 };
	timeline_init(&o->timeline);
	for (size_t i = 0; i < TRANSCRIPT_CHOICES; i++) {
		buf_init(&o->texts[i].text, 16 << 20);
		buf_init(&o->texts[i].reasoning, 16 << 20);
		buf_init(&o->texts[i].tool_arguments, 16 << 20);
	}
}

void outcome_fini(struct outcome *o)
{
	openai_stream_fini(&o->stream);
	timeline_fini(&o->timeline);
	for (size_t i = 0; i < TRANSCRIPT_CHOICES; i++) {
		buf_fini(&o->texts[i].text);
		buf_fini(&o->texts[i].reasoning);
		buf_fini(&o->texts[i].tool_arguments);
	}
}
