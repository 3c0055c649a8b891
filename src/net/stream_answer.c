/* The answer: bytes into llhttp, heads and pieces of bodies out. */
#include "net/stream_internal.h"

#include "base/mem.h"

#include <stdio.h>
#include <strings.h>

enum { HEAD_MAX = 65536 };

static const char *const wanted_headers[ANSWER_HEADERS] = { "content-type", "content-encoding", "retry-after", "retry-after-ms", "server",
	"x-request-id", "location" };

static int refuse(struct link *k, enum stream_failure failure)
{
	k->refused = failure;
	return HPE_USER;
}

/* ---- the head ---- */

static struct answer_head *head_of(struct link *k)
{
	if (!k->head) {
		k->head = NEW(struct answer_head);
		buf_init(&k->head->text, HEAD_MAX);
		k->head->wanted = -1;
	}
	return k->head;
}

void answer_free(struct link *k)
{
	if (!k->head)
		return;
	buf_fini(&k->head->text);
	mem_free(k->head);
	k->head = NULL;
}

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
	struct link *k = parser->data;
	struct answer_head *h = head_of(k);

	if (h->in_value)
		h->in_value = false, h->name_len = 0;
	h->total += len;
	for (size_t i = 0; i < len; i++) /* a name that is too long is none of ours: its length says so */
		if (h->name_len++ < sizeof h->name)
			h->name[h->name_len - 1] = at[i];
	return h->total > HEAD_MAX ? refuse(k, STREAM_NOT_HTTP) : 0;
}

static int header_find(const struct answer_head *h)
{
	for (int i = 0; i < ANSWER_HEADERS; i++)
		if (strlen(wanted_headers[i]) == h->name_len && !strncasecmp(wanted_headers[i], h->name, h->name_len))
			return i;
	return -1;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
	struct link *k = parser->data;
	struct answer_head *h = head_of(k);

	if (!h->in_value) {
		h->in_value = true;
		h->wanted = header_find(h);
		if (h->wanted >= 0)
			h->at[h->wanted] = h->text.len, h->len[h->wanted] = 0;
	}
	h->total += len;
	if (h->wanted >= 0) {
		buf_add(&h->text, str_of(at, len));
		h->len[h->wanted] += len;
	}
	return h->total > HEAD_MAX ? refuse(k, STREAM_NOT_HTTP) : 0;
}

static struct str head_value(const struct answer_head *h, enum answer_header which)
{
	return h && h->len[which] ? str_trim(str_of(h->text.ptr + h->at[which], h->len[which])) : STR_EMPTY;
}

static bool is_event_stream(struct str type)
{
	struct str wanted = STR("text/event-stream");

	return str_eq_nocase(str_head(type, wanted.len), wanted) && (type.len == wanted.len || strchr("; \t,", type.ptr[wanted.len]));
}

static void head_tell(struct link *k)
{
	const struct answer_head *h = k->head;
	struct str type = head_value(h, ANSWER_TYPE);
	struct stream_head head = { k->parser.status_code, is_event_stream(type), type, head_value(h, ANSWER_RETRY),
		head_value(h, ANSWER_RETRY_MS), head_value(h, ANSWER_SERVER), head_value(h, ANSWER_REQUEST_ID),
		head_value(h, ANSWER_LOCATION) };
	struct stream *s = k->stream;

	s->end.times.head = k->client->stamp;
	buf_fini(&s->opening);
	s->handler.on_head(s->context, s, &head, k->client->stamp);
}

static int on_head_complete(llhttp_t *parser)
{
	struct link *k = parser->data;
	struct str coding;
	bool coded;

	if (parser->status_code / 100 == 1)
		return parser->status_code == 101 ? refuse(k, STREAM_NOT_HTTP) : 0;
	coding = head_value(k->head, ANSWER_CODING);
	coded = coding.len && !str_eq_nocase(coding, STR("identity"));
	k->headed = true;
	head_tell(k);
	answer_free(k);
	if (k->state == LINK_CLOSED)
		return HPE_USER;
	return coded ? refuse(k, STREAM_ENCODING) : 0;
}

/* ---- the body ---- */

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
	struct link *k = parser->data;
	struct stream *s = k->stream;

	s->handler.on_bytes(s->context, s, str_of(at, len), k->client->stamp);
	return k->state == LINK_CLOSED ? HPE_USER : 0;
}

static int on_complete(llhttp_t *parser)
{
	struct link *k = parser->data;

	if (parser->status_code / 100 == 1) {
		answer_free(k);
		return 0;
	}
	k->whole = true;
	k->keeps = llhttp_should_keep_alive(parser);
	return HPE_PAUSED;
}

static const llhttp_settings_t answer_settings = { .on_header_field = on_field,
	.on_header_value = on_value,
	.on_headers_complete = on_head_complete,
	.on_body = on_body,
	.on_message_complete = on_complete };

void answer_begin(struct link *k)
{
	llhttp_init(&k->parser, HTTP_RESPONSE, &answer_settings);
	k->parser.data = k;
	answer_free(k); /* of the last answer's trailers */
	k->begun = k->headed = k->whole = k->keeps = false;
	k->refused = STREAM_OK;
}

static void answer_wrong(struct link *k, struct str bytes)
{
	const struct endpoint *p = k->client->endpoint;
	unsigned char first = bytes.len ? (unsigned char)bytes.ptr[0] : 0;
	const char *why = llhttp_get_error_reason(&k->parser);

	if (k->refused == STREAM_ENCODING)
		link_fail(k, k->refused, "%s compresses its answer, although it was asked not to", p->place);
	else if (!k->headed && !k->tls && (first == 0x15 || first == 0x16))
		link_fail(k, STREAM_TLS_MISMATCH, "%s speaks TLS: use https://", p->place);
	else
		link_fail(k, STREAM_NOT_HTTP, "what %s sends is no HTTP answer: %s", p->place,
			k->refused || !why || !*why ? "its head cannot be read" : why);
}

void answer_take(struct link *k, struct str bytes)
{
	enum llhttp_errno code;

	if (!k->stream) { /* between requests nothing may come; a 408 may, and then the connection ends */
		link_close(k);
		return;
	}
	k->begun = true;
	k->deadline_ms = (int64_t)uv_now(k->client->loop) + k->client->endpoint->idle_timeout_ms;
	code = llhttp_execute(&k->parser, bytes.ptr, bytes.len);
	if (k->state == LINK_CLOSED)
		return;
	if (k->whole) {
		k->keeps = k->keeps && llhttp_get_error_pos(&k->parser) == bytes.ptr + bytes.len;
		link_end(k);
	} else if (code != HPE_OK)
		answer_wrong(k, bytes);
}

void answer_closed(struct link *k, bool clean, int system_error)
{
	const char *place = k->client->endpoint->place;
	struct stream *s = k->stream;

	if (!s) {
		link_close(k);
		return;
	}
	if (clean && !system_error && k->begun) {
		llhttp_finish(&k->parser);
		if (k->state == LINK_CLOSED)
			return;
		if (k->whole) { /* a body that ends with its connection */
			k->keeps = false;
			s->end.by_close = true;
			link_end(k);
			return;
		}
	}
	if (!k->begun && k->used && !s->retold) { /* the server had closed it already: not its failure, and nothing was done */
		s->retold = true;
		s->end.reconnects++;
		k->client->health.kept_lost++;
		k->stream = NULL;
		s->link = NULL;
		s->written = 0;
		s->end.reused = false;
		s->end.times.sent = 0;
		link_close(k);
		link_open(k->client, s);
		return;
	}
	if (system_error)
		link_fail(k, STREAM_RESET, "%s reset the connection %s", place, k->begun ? "inside its answer" : "before any answer");
	else if (!k->begun)
		link_fail(k, STREAM_CLOSED, "%s closed the connection without an answer", place);
	else
		link_fail(k, STREAM_CUT, "%s closed the connection inside its answer", place);
}
