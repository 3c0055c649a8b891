#include "net/connection.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>

/* ---- time-outs: one timer a second walks all connections ---- */

enum { SWEEP_MS = 500, PLAIN_MAX = 1 << 20 };

static void on_sweep(uv_timer_t *timer)
{
	struct server *s = timer->data;
	int64_t now = (int64_t)uv_now(s->loop);

	for (struct exchange *x = s->connections, *next; x; x = next) {
		next = x->next;
		if (x->deadline_ms && now >= x->deadline_ms)
			connection_close(x, true);
	}
}

/* ---- life ---- */

void server_forget(struct server *s, struct exchange *x)
{
	if (x->previous)
		x->previous->next = x->next;
	else
		s->connections = x->next;
	if (x->next)
		x->next->previous = x->previous;
	s->count--;
}

void server_maybe_free(struct server *s)
{
	if (!s->closing || s->open_handles || s->connections)
		return;
	tls_context_free(s->tls);
	buf_fini(&s->plain);
	mem_free(s);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct server *s = handle->data;

	s->open_handles--;
	server_maybe_free(s);
}

static void close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_handle_closed);
}

void server_stop(struct server *s)
{
	s->stopping = true;
	close_handle((uv_handle_t *)&s->listener);
	for (struct exchange *x = s->connections; x; x = x->next)
		if (x->state == CONNECTION_READING)
			connection_close(x, false);
}

void server_drop_all(struct server *s)
{
	for (struct exchange *x = s->connections; x; x = x->next)
		connection_close(x, true);
}

void server_close(struct server *s)
{
	s->stopping = s->closing = true;
	close_handle((uv_handle_t *)&s->listener);
	close_handle((uv_handle_t *)&s->sweep);
	server_drop_all(s);
}

void server_set_tls(struct server *s, struct tls_context *tls)
{
	tls_context_free(s->tls);
	s->tls = tls;
}

int server_port(const struct server *s)
{
	return s->port;
}
const char *server_host(const struct server *s)
{
	return s->host;
}
size_t server_connections(const struct server *s)
{
	return s->count;
}

/* ---- listening ---- */

static void on_connection(uv_stream_t *listener, int status)
{
	struct server *s = listener->data;

	if (status >= 0 && !s->stopping)
		connection_accept(s);
}

static void fill_defaults(struct server_options *o)
{
	o->host = o->host ? o->host : "127.0.0.1";
	o->limits.head = o->limits.head ? o->limits.head : 64 << 10;
	o->limits.body = o->limits.body ? o->limits.body : 16 << 20;
	o->max_connections = o->max_connections ? o->max_connections : 10000;
	o->high_water = o->high_water ? o->high_water : 256 << 10;
	o->request_timeout_ms = o->request_timeout_ms ? o->request_timeout_ms : 30000;
	o->idle_timeout_ms = o->idle_timeout_ms ? o->idle_timeout_ms : 5000;
	o->write_timeout_ms = o->write_timeout_ms ? o->write_timeout_ms : 60000;
}

static bool resolve(const struct server_options *o, struct sockaddr_storage *address, struct error *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV }, *found;
	char port[16];
	int code;

	if (o->port < 0 || o->port > 65535) {
		error_set(e, EXIT_USAGE, "port %d: a port is 0 to 65535", o->port);
		return false;
	}
	snprintf(port, sizeof port, "%d", o->port);
	code = getaddrinfo(o->host, port, &hints, &found);
	if (code != 0) {
		error_set(e, EXIT_USAGE, "cannot listen on \"%s\": %s", o->host, gai_strerror(code));
		error_hint(e, "give an address of this machine, such as 127.0.0.1 or 0.0.0.0");
		return false;
	}
	memcpy(address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return true;
}

/* The address really bound, for messages and when any port was asked for. */
static void note_address(struct server *s)
{
	struct sockaddr_storage address;
	int size = sizeof address;

	uv_tcp_getsockname(&s->listener, (struct sockaddr *)&address, &size);
	if (address.ss_family == AF_INET6) {
		char plain[INET6_ADDRSTRLEN];

		uv_ip6_name((struct sockaddr_in6 *)&address, plain, sizeof plain);
		snprintf(s->host, sizeof s->host, "[%s]", plain);
		s->port = ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
	} else {
		uv_ip4_name((struct sockaddr_in *)&address, s->host, sizeof s->host);
		s->port = ntohs(((struct sockaddr_in *)&address)->sin_port);
	}
}

static int listen_on(struct server *s, const struct sockaddr_storage *address)
{
	int code = uv_tcp_bind(&s->listener, (const struct sockaddr *)address, 0);

	return code < 0 ? code : uv_listen((uv_stream_t *)&s->listener, 1024, on_connection);
}

struct server *server_new(uv_loop_t *loop, const struct server_options *options, const struct server_handler *handler, struct error *e)
{
	struct server_options filled = *options;
	struct sockaddr_storage address;
	struct server *s;
	int code;

	fill_defaults(&filled);
	if (!resolve(&filled, &address, e)) {
		tls_context_free(options->tls);
		return NULL;
	}
	s = NEW(struct server);
	s->loop = loop;
	s->options = filled;
	s->handler = *handler;
	s->tls = options->tls;
	buf_init(&s->plain, PLAIN_MAX);
	uv_tcp_init(loop, &s->listener);
	uv_timer_init(loop, &s->sweep);
	s->listener.data = s->sweep.data = s;
	s->open_handles = 2;
	code = listen_on(s, &address);
	if (code < 0) {
		error_set(e, code == UV_EADDRINUSE ? EXIT_UNREACHABLE : EXIT_USAGE, "cannot listen on %s:%d: %s", s->options.host,
			options->port, uv_strerror(code));
		error_hint(e,
			code == UV_EADDRINUSE ? "another program has the port: choose another one" : "choose an address of this machine");
		server_close(s);
		return NULL;
	}
	note_address(s);
	s->options.host = s->host; /* the caller's text may go */
	uv_timer_start(&s->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
	return s;
}
