#include "net/connection.h"

#include "base/mem.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

enum { READ_SIZE = 65536, EARLY_MAX = 65536, OUT_MAX = 1 << 30, LINGER_MS = 2000, SEAL_SIZE = 256 << 10, RECORD_MAX = 20 << 10 };

static void pump(struct exchange *x);
static void set_reading(struct exchange *x, bool wanted);

const char *http_reason(int status)
{
	static const struct {
		int status;
		const char *reason;
	} known[] = { { 200, "OK" }, { 204, "No Content" }, { 400, "Bad Request" }, { 401, "Unauthorized" }, { 403, "Forbidden" },
		{ 404, "Not Found" }, { 405, "Method Not Allowed" }, { 408, "Request Timeout" }, { 413, "Content Too Large" },
		{ 414, "URI Too Long" }, { 417, "Expectation Failed" }, { 422, "Unprocessable Entity" }, { 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" }, { 500, "Internal Server Error" }, { 501, "Not Implemented" },
		{ 502, "Bad Gateway" }, { 503, "Service Unavailable" }, { 504, "Gateway Timeout" }, { 505, "HTTP Version Not Supported" } };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].status == status)
			return known[i].reason;
	return "Unknown";
}

static void patience(struct exchange *x, int64_t ms)
{
	x->deadline_ms = ms ? (int64_t)uv_now(x->server->loop) + ms : 0;
}

static size_t unsent(const struct exchange *x)
{
	return x->out.len - x->sealed + x->wire.len + x->flight.len;
}

/* ---- closing ---- */

static void on_closed(uv_handle_t *handle)
{
	struct exchange *x = handle->data;
	struct server *s = x->server;

	if (x->user && s->handler.on_gone)
		s->handler.on_gone(s->handler.context, x);
	server_forget(s, x);
	message_parser_free(x->parser);
	buf_fini(&x->early);
	buf_fini(&x->out);
	buf_fini(&x->flight);
	buf_fini(&x->wire);
	tls_session_free(x->tls);
	mem_free(x);
	server_maybe_free(s);
}

void connection_close(struct exchange *x, bool tell)
{
	if (x->state == CONNECTION_CLOSED)
		return;
	if (!tell || x->state != CONNECTION_BUSY)
		x->user = NULL;
	x->state = CONNECTION_CLOSED;
	x->deadline_ms = 0;
	uv_close((uv_handle_t *)&x->tcp, on_closed);
}

/* ---- writing ---- */

static void on_shutdown(uv_shutdown_t *request, int status) {}

/* The last words of TLS, so that the peer can tell an end from a cut. If they do not go out at once, so be it. */
static void say_end(struct exchange *x)
{
	uv_buf_t all;

	if (!x->tls || x->writing)
		return;
	tls_end(x->tls, &x->wire);
	all = uv_buf_init(x->wire.ptr, (unsigned)x->wire.len);
	if (x->wire.len)
		uv_try_write((uv_stream_t *)&x->tcp, &all, 1);
	buf_reset(&x->wire);
}

/* Closing with unread bytes would reset the connection and take the answer with it. */
static void linger(struct exchange *x)
{
	x->state = CONNECTION_LINGERING;
	say_end(x);
	patience(x, LINGER_MS);
	set_reading(x, true);
	if (uv_shutdown(&x->shutdown, (uv_stream_t *)&x->tcp, on_shutdown) < 0)
		connection_close(x, false);
}

/* The answer is out: next request, or the end. */
static void finish_exchange(struct exchange *x)
{
	bool again = x->keep_alive && !x->server->stopping;

	if (!again) {
		if (x->refused) {
			linger(x);
		} else {
			say_end(x);
			connection_close(x, false);
		}
		return;
	}
	x->state = CONNECTION_READING;
	message_next(x->parser);
	patience(x, x->server->options.idle_timeout_ms);
	pump(x);
}

static void after_send(struct exchange *x)
{
	patience(x, unsent(x) ? x->server->options.write_timeout_ms : 0);
	if (unsent(x))
		return;
	if (x->state == CONNECTION_ENDING) {
		finish_exchange(x);
	} else if (x->waits_drain && x->state == CONNECTION_BUSY) {
		x->waits_drain = false;
		if (x->server->handler.on_drained)
			x->server->handler.on_drained(x->server->handler.context, x);
	}
}

static void flush(struct exchange *x);

static void on_written(uv_write_t *write, int status)
{
	struct exchange *x = write->data;

	x->writing = false;
	buf_reset(&x->flight);
	if (x->state == CONNECTION_CLOSED)
		return;
	if (status < 0) {
		connection_close(x, true);
		return;
	}
	flush(x);
	if (x->state != CONNECTION_CLOSED && !x->writing)
		after_send(x);
}

/* The kernel took only part: the rest goes through the loop while what comes after is collected. */
static void send_later(struct exchange *x, struct buf *from, size_t sent)
{
	struct buf empty = x->flight;
	uv_buf_t rest;

	x->flight = *from;
	*from = empty;
	rest = uv_buf_init(x->flight.ptr + sent, (unsigned)(x->flight.len - sent));
	x->write.data = x;
	if (uv_write(&x->write, (uv_stream_t *)&x->tcp, &rest, 1, on_written) < 0) {
		connection_close(x, true);
		return;
	}
	x->writing = true;
	patience(x, x->server->options.write_timeout_ms);
}

static void send_now(struct exchange *x, struct buf *from)
{
	uv_buf_t all = uv_buf_init(from->ptr, (unsigned)from->len);
	int sent = uv_try_write((uv_stream_t *)&x->tcp, &all, 1);

	if (sent < 0 && sent != UV_EAGAIN)
		connection_close(x, true);
	else if (sent == (int)from->len)
		buf_reset(from);
	else
		send_later(x, from, sent < 0 ? 0 : (size_t)sent);
}

/* A part of what is meant, sealed. */
static void seal_some(struct exchange *x)
{
	size_t size = x->out.len - x->sealed < SEAL_SIZE ? x->out.len - x->sealed : SEAL_SIZE;

	if (!size || !tls_is_ready(x->tls))
		return;
	if (!tls_seal(x->tls, str_of(x->out.ptr + x->sealed, size), &x->wire)) {
		connection_close(x, true);
		return;
	}
	x->sealed += size;
	if (x->sealed < x->out.len)
		return;
	buf_reset(&x->out);
	x->sealed = 0;
}

static void flush(struct exchange *x)
{
	while (!x->writing && x->state != CONNECTION_CLOSED) {
		struct buf *from = x->tls ? &x->wire : &x->out;

		if (x->tls && !x->wire.len)
			seal_some(x);
		if (!from->len || x->state == CONNECTION_CLOSED)
			return;
		send_now(x, from);
	}
}

/* ---- reading ---- */

static void refuse(struct exchange *x, int status, const char *why)
{
	char body[300];
	int len = snprintf(body, sizeof body, "%d %s: %s\n", status, http_reason(status), why);

	if (x->server->handler.on_refused)
		x->server->handler.on_refused(x->server->handler.context, status);
	x->refused = true;
	x->keep_alive = x->head_only = x->streamed = false;
	x->state = CONNECTION_BUSY;
	exchange_answer(x, status, "text/plain; charset=utf-8", NULL, str_of(body, (size_t)len));
}

static void dispatch(struct exchange *x)
{
	const struct message *m = message_of(x->parser);

	x->state = CONNECTION_BUSY;
	x->keep_alive = m->keep_alive;
	x->head_only = str_is(m->method, "HEAD");
	x->user = NULL;
	x->waits_drain = x->streamed = false;
	patience(x, 0);
	x->server->handler.on_request(x->server->handler.context, x, m);
}

static void say_continue(struct exchange *x)
{
	buf_add(&x->out, STR("HTTP/1.1 100 Continue\r\n\r\n"));
	flush(x);
}

/* Feeds bytes to the parser; returns how many it took. */
static size_t feed(struct exchange *x, struct str bytes)
{
	size_t taken;
	bool begun = message_begun(x->parser);
	enum message_status status = message_feed(x->parser, bytes, &taken);
	const char *why;

	if (!begun && message_begun(x->parser))
		patience(x, x->server->options.request_timeout_ms);
	if (status == MESSAGE_WHOLE) {
		dispatch(x);
	} else if (status == MESSAGE_REFUSED) {
		int code = message_refusal(x->parser, &why);

		refuse(x, code, why);
	} else if (message_wants_continue(x->parser)) {
		say_continue(x);
	}
	return taken;
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf);

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	static char space[READ_SIZE]; /* what was read is copied before the loop reads again */

	*buf = uv_buf_init(space, sizeof space);
}

static void set_reading(struct exchange *x, bool wanted)
{
	if (x->state == CONNECTION_CLOSED || wanted == x->reading)
		return;
	x->reading = wanted;
	if (wanted)
		uv_read_start((uv_stream_t *)&x->tcp, on_alloc, on_read);
	else
		uv_read_stop((uv_stream_t *)&x->tcp);
}

/* Requests that came early, one after another, without recursion: an answer given at once ends inside dispatch. */
static void pump(struct exchange *x)
{
	if (x->resume_planned)
		return;
	x->resume_planned = true;
	while (x->state == CONNECTION_READING && x->early.len) {
		size_t taken = feed(x, buf_str(&x->early));

		memmove(x->early.ptr, x->early.ptr + taken, x->early.len - taken);
		x->early.len -= taken;
	}
	x->resume_planned = false;
	set_reading(x, x->early.len < EARLY_MAX);
}

static void take(struct exchange *x, struct str bytes)
{
	while (bytes.len && x->state == CONNECTION_READING && !x->early.len) {
		x->resume_planned = true;
		bytes = str_skip(bytes, feed(x, bytes));
		x->resume_planned = false;
	}
	if (x->state == CONNECTION_CLOSED || x->state == CONNECTION_LINGERING)
		return;
	buf_add(&x->early, bytes);
	set_reading(x, x->early.len < EARLY_MAX);
}

static void tls_refuse(struct exchange *x)
{
	tls_session_free(x->tls);
	x->tls = NULL;
	refuse(x, 400, "this port speaks TLS: ask with https://");
}

static void take_sealed(struct exchange *x, struct str bytes)
{
	struct buf *plain = &x->server->plain;
	bool was_ready = tls_is_ready(x->tls);

	buf_reset(plain);
	enum tls_status status = tls_receive(x->tls, bytes, plain, &x->wire);

	if (status == TLS_PLAIN) {
		tls_refuse(x);
		return;
	}
	if (!was_ready && status == TLS_OVER && x->server->handler.on_refused)
		x->server->handler.on_refused(x->server->handler.context, 400);
	if (plain->len)
		take(x, buf_str(plain));
	flush(x);
	/* What came before the end is answered, if it can be at once. */
	if (status == TLS_OVER && x->state != CONNECTION_CLOSED)
		connection_close(x, true);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct exchange *x = stream->data;

	if (size < 0)
		connection_close(x, true);
	else if (x->tls && x->state != CONNECTION_LINGERING)
		take_sealed(x, str_of(buf->base, (size_t)size));
	else
		take(x, str_of(buf->base, (size_t)size));
}

/* ---- a new client ---- */

void connection_accept(struct server *s)
{
	struct exchange *x = NEW(struct exchange);

	x->server = s;
	x->parser = message_parser_new(&s->options.limits);
	buf_init(&x->early, EARLY_MAX + READ_SIZE + RECORD_MAX);
	buf_init(&x->out, OUT_MAX);
	buf_init(&x->flight, OUT_MAX);
	buf_init(&x->wire, OUT_MAX);
	uv_tcp_init(s->loop, &x->tcp);
	x->tcp.data = x;
	x->next = s->connections;
	if (x->next)
		x->next->previous = x;
	s->connections = x;
	s->count++;
	if (uv_accept((uv_stream_t *)&s->listener, (uv_stream_t *)&x->tcp) < 0) {
		connection_close(x, false);
		return;
	}
	if (s->tls && !(x->tls = tls_session_new(s->tls))) {
		connection_close(x, false);
		return;
	}
	uv_tcp_nodelay(&x->tcp, 1);
	patience(x, s->options.request_timeout_ms);
	if (s->count > s->options.max_connections && !x->tls)
		refuse(x, 503, "too many connections");
	else if (s->count > s->options.max_connections)
		connection_close(x, false);
	else
		set_reading(x, true);
}

/* ---- answers ---- */

void exchange_set_user(struct exchange *x, void *user)
{
	x->user = user;
}
void *exchange_user(const struct exchange *x)
{
	return x->user;
}

bool exchange_is_local(const struct exchange *x)
{
	struct sockaddr_storage peer;
	int size = sizeof peer;

	if (uv_tcp_getpeername(&x->tcp, (struct sockaddr *)&peer, &size) < 0)
		return false;
	if (peer.ss_family == AF_INET)
		return (ntohl(((struct sockaddr_in *)&peer)->sin_addr.s_addr) >> 24) == 127;
	const struct in6_addr *a = &((struct sockaddr_in6 *)&peer)->sin6_addr;

	return IN6_IS_ADDR_LOOPBACK(a) || (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == 127);
}

static void write_head(struct exchange *x, int status, const char *content_type, const char *headers)
{
	buf_printf(&x->out, "HTTP/1.1 %d %s\r\n", status, http_reason(status));
	if (content_type)
		buf_printf(&x->out, "Content-Type: %s\r\n", content_type);
	if (headers)
		buf_add_cstr(&x->out, headers);
	if (!x->keep_alive)
		buf_add(&x->out, STR("Connection: close\r\n"));
}

void exchange_answer(struct exchange *x, int status, const char *content_type, const char *headers, struct str body)
{
	if (x->state != CONNECTION_BUSY) {
		x->user = NULL; /* whoever answers no longer wants to hear that the client went */
		return;
	}
	write_head(x, status, content_type, headers);
	if (status == 204) /* has no body, and so no length */
		buf_add(&x->out, STR("\r\n"));
	else
		buf_printf(&x->out, "Content-Length: %zu\r\n\r\n", body.len);
	if (!x->head_only && status != 204)
		buf_add(&x->out, body);
	exchange_end(x);
}

void exchange_begin(struct exchange *x, int status, const char *content_type, const char *headers)
{
	const struct message *m = message_of(x->parser);

	if (x->state != CONNECTION_BUSY)
		return;
	x->streamed = true;
	x->chunked = m->minor > 0;
	if (!x->chunked)
		x->keep_alive = false;
	write_head(x, status, content_type, headers);
	buf_add_cstr(&x->out, x->chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
}

bool exchange_write(struct exchange *x, struct str chunk)
{
	if (x->state != CONNECTION_BUSY)
		return true;
	if (chunk.len && !x->head_only) {
		if (x->chunked)
			buf_printf(&x->out, "%zx\r\n", chunk.len);
		buf_add(&x->out, chunk);
		if (x->chunked)
			buf_add(&x->out, STR("\r\n"));
	}
	flush(x);
	if (unsent(x) <= x->server->options.high_water)
		return true;
	x->waits_drain = true;
	return false;
}

void exchange_end(struct exchange *x)
{
	x->user = NULL;
	if (x->state != CONNECTION_BUSY)
		return;
	if (x->streamed && x->chunked && !x->head_only)
		buf_add(&x->out, STR("0\r\n\r\n"));
	x->state = CONNECTION_ENDING;
	flush(x);
	if (x->state != CONNECTION_CLOSED && !x->writing)
		after_send(x);
}

void exchange_cut(struct exchange *x)
{
	x->user = NULL;
	if (x->state == CONNECTION_BUSY)
		connection_close(x, false);
}
