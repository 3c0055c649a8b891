#include "net/message.h"

#include "base/buf.h"
#include "base/vec.h"

#include <llhttp.h>

/* Text lies in one buffer that grows, so slices are kept as offsets until the request is whole. */
struct piece {
	size_t at, len;
};
struct piece_pair {
	struct piece name, value;
};

struct message_parser {
	llhttp_t parser;
	llhttp_settings_t settings;
	struct message_limits limits;
	struct buf text, body;
	struct piece target;
	VEC(struct piece_pair) pieces;
	VEC(struct message_header) headers;
	struct message message;
	size_t wire; /* bytes of this request so far, chunk framing included */
	size_t trailer_bytes;
	bool begun, in_value, head_done, whole, expects, continue_told;
	int status;
	const char *why;
};

struct str message_header(const struct message *m, const char *name)
{
	struct str wanted = str_from(name);

	for (size_t i = 0; i < m->header_count; i++)
		if (str_eq_nocase(m->headers[i].name, wanted))
			return m->headers[i].value;
	return STR_EMPTY;
}

static int refuse(struct message_parser *p, int status, const char *why)
{
	if (!p->status) {
		p->status = status;
		p->why = why;
	}
	return HPE_USER;
}

static struct str piece_str(const struct message_parser *p, struct piece piece)
{
	return str_of(p->text.ptr + piece.at, piece.len);
}

/* ---- llhttp's callbacks; any of them may get a token in parts ---- */

static int add_text(struct message_parser *p, struct piece *piece, const char *at, size_t len)
{
	if (p->text.len + len > p->limits.head)
		return refuse(p, piece == &p->target ? 414 : 431, "request line and headers are too long");
	if (!piece->len)
		piece->at = p->text.len;
	buf_add(&p->text, str_of(at, len));
	piece->len += len;
	return 0;
}

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
	struct message_parser *p = parser->data;

	return add_text(p, &p->target, at, len);
}

static int on_trailer(struct message_parser *p, size_t len)
{
	p->trailer_bytes += len;
	return p->trailer_bytes > p->limits.head ? refuse(p, 431, "trailers are too long") : 0;
}

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
	struct message_parser *p = parser->data;

	if (p->head_done)
		return on_trailer(p, len);
	if (p->in_value || !p->pieces.count) {
		if (p->pieces.count == 256)
			return refuse(p, 431, "more than 256 headers");
		VEC_PUSH(&p->pieces, (struct piece_pair){ 0 });
		p->in_value = false;
	}
	return add_text(p, &p->pieces.items[p->pieces.count - 1].name, at, len);
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
	struct message_parser *p = parser->data;

	if (p->head_done)
		return on_trailer(p, len);
	p->in_value = true;
	return add_text(p, &p->pieces.items[p->pieces.count - 1].value, at, len);
}

static int on_value_complete(llhttp_t *parser)
{
	struct message_parser *p = parser->data;

	p->in_value = true; /* also of an empty value, for which on_value was not called */
	return 0;
}

/* The text no longer moves: pieces become slices. */
static void head_to_message(struct message_parser *p)
{
	struct message *m = &p->message;
	ptrdiff_t mark;

	p->headers.count = 0;
	VEC_EACH (&p->pieces, piece)
		VEC_PUSH(&p->headers, (struct message_header){ piece_str(p, piece->name), str_trim(piece_str(p, piece->value)) });
	m->headers = p->headers.items;
	m->header_count = p->headers.count;
	m->method = str_from(llhttp_method_name(p->parser.method));
	m->target = piece_str(p, p->target);
	mark = str_find(m->target, '?');
	m->path = mark < 0 ? m->target : str_head(m->target, (size_t)mark);
	m->query = mark < 0 ? STR_EMPTY : str_skip(m->target, (size_t)mark + 1);
}

static size_t count_headers(const struct message *m, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < m->header_count; i++)
		count += str_eq_nocase(m->headers[i].name, str_from(name));
	return count;
}

static int check_head(struct message_parser *p)
{
	const struct message *m = &p->message;
	struct str expect = message_header(m, "Expect");
	size_t hosts = count_headers(m, "Host");

	if (p->parser.http_major != 1)
		return refuse(p, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
	if (hosts > 1 || (!hosts && p->parser.http_minor == 1))
		return refuse(p, 400, hosts ? "more than one Host header" : "the Host header is missing");
	if (!str_starts(m->target, STR("/")) && !str_is(m->target, "*"))
		return refuse(p, 400, "the request target must be a path");
	if (expect.ptr && !str_eq_nocase(expect, STR("100-continue")))
		return refuse(p, 417, "of Expect only 100-continue is known");
	if ((p->parser.flags & F_CONTENT_LENGTH) && p->parser.content_length > p->limits.body)
		return refuse(p, 413, "the body is too large");
	p->expects = expect.ptr && p->parser.http_minor == 1;
	return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
	struct message_parser *p = parser->data;

	p->head_done = true;
	head_to_message(p);
	return check_head(p);
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
	struct message_parser *p = parser->data;

	if (p->body.len + len > p->limits.body)
		return refuse(p, 413, "the body is too large");
	buf_add(&p->body, str_of(at, len));
	return 0;
}

static int on_complete(llhttp_t *parser)
{
	struct message_parser *p = parser->data;

	p->message.body = buf_str(&p->body);
	p->message.minor = parser->http_minor;
	p->message.keep_alive = llhttp_should_keep_alive(parser);
	p->whole = true;
	return HPE_PAUSED; /* so that the next request's bytes stay where they are */
}

/* ---- the interface ---- */

struct message_parser *message_parser_new(const struct message_limits *limits)
{
	struct message_parser *p = NEW(struct message_parser);

	p->limits = *limits;
	buf_init(&p->text, limits->head);
	buf_init(&p->body, limits->body);
	llhttp_settings_init(&p->settings);
	p->settings.on_url = on_url;
	p->settings.on_header_field = on_field;
	p->settings.on_header_value = on_value;
	p->settings.on_header_value_complete = on_value_complete;
	p->settings.on_headers_complete = on_headers_complete;
	p->settings.on_body = on_body;
	p->settings.on_message_complete = on_complete;
	message_next(p);
	return p;
}

void message_parser_free(struct message_parser *p)
{
	if (!p)
		return;
	buf_fini(&p->text);
	buf_fini(&p->body);
	VEC_FREE(&p->pieces);
	VEC_FREE(&p->headers);
	mem_free(p);
}

/* A body kept for the next request costs memory on every idle connection: only small ones are. */
static void reset_body(struct message_parser *p)
{
	if (p->body.cap > 65536) {
		buf_fini(&p->body);
		buf_init(&p->body, p->limits.body);
	}
	buf_reset(&p->body);
}

void message_next(struct message_parser *p)
{
	llhttp_init(&p->parser, HTTP_REQUEST, &p->settings);
	p->parser.data = p;
	buf_reset(&p->text);
	reset_body(p);
	p->pieces.count = 0;
	p->target = (struct piece){ 0 };
	p->message = (struct message){ 0 };
	p->wire = p->trailer_bytes = 0;
	p->begun = p->in_value = p->head_done = p->whole = p->expects = p->continue_told = false;
	p->status = 0;
	p->why = NULL;
}

static enum message_status feed_failed(struct message_parser *p, llhttp_errno_t code)
{
	if (p->status)
		return MESSAGE_REFUSED;
	if (code == HPE_INVALID_VERSION)
		refuse(p, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
	else if (code == HPE_PAUSED_UPGRADE)
		refuse(p, 501, "protocols are not switched here");
	else
		refuse(p, 400, llhttp_get_error_reason(&p->parser));
	return MESSAGE_REFUSED;
}

/* Framing of chunks is no part of the body: tiny chunks and long chunk extensions must not get round the limits. */
static bool too_much_wire(const struct message_parser *p)
{
	return p->wire > 2 * p->limits.head + 2 * p->limits.body + 65536;
}

enum message_status message_feed(struct message_parser *p, struct str bytes, size_t *consumed)
{
	llhttp_errno_t code;

	*consumed = 0;
	if (p->status)
		return MESSAGE_REFUSED;
	if (p->whole)
		return MESSAGE_WHOLE;
	if (!bytes.len)
		return MESSAGE_PARTIAL;
	p->begun = true;
	code = llhttp_execute(&p->parser, bytes.ptr, bytes.len);
	*consumed = code == HPE_OK ? bytes.len : (size_t)(llhttp_get_error_pos(&p->parser) - bytes.ptr);
	p->wire += *consumed;
	if (p->whole)
		return MESSAGE_WHOLE;
	if (code != HPE_OK)
		return feed_failed(p, code);
	if (!p->head_done && p->wire > p->limits.head + 1024)
		return refuse(p, 431, "request line and headers are too long"), MESSAGE_REFUSED;
	if (too_much_wire(p))
		return refuse(p, 413, "the framing of the body is too large"), MESSAGE_REFUSED;
	return MESSAGE_PARTIAL;
}

const struct message *message_of(const struct message_parser *p)
{
	return &p->message;
}

int message_refusal(const struct message_parser *p, const char **why)
{
	*why = p->why;
	return p->status;
}

bool message_begun(const struct message_parser *p)
{
	return p->begun;
}

bool message_wants_continue(struct message_parser *p)
{
	if (!p->expects || p->continue_told || !p->head_done || p->whole || p->body.len)
		return false;
	p->continue_told = true;
	return true;
}
