/* connection: a client's connection inside server.c; not for other folders. */
#ifndef GOODPUT_NET_CONNECTION_H
#define GOODPUT_NET_CONNECTION_H

#include "base/buf.h"
#include "net/server.h"
#include "net/tls.h"

enum connection_state {
	CONNECTION_READING,   /* between requests, or inside one */
	CONNECTION_BUSY,      /* the handler has the request */
	CONNECTION_ENDING,    /* the answer is whole; its rest is being sent */
	CONNECTION_LINGERING, /* half closed after a refusal: what the client still sends is thrown away, so that it reads the answer */
	CONNECTION_CLOSED     /* uv_close was called */
};

struct exchange {
	uv_tcp_t tcp;
	struct server *server;
	struct exchange *next, *previous;
	struct message_parser *parser;
	enum connection_state state;
	struct buf early;        /* bytes of later requests */
	struct buf out, flight;  /* out collects while flight is being sent */
	struct tls_session *tls; /* NULL: what is sent is what was meant */
	struct buf wire;         /* of what is in `out` before `sealed`: sealed, not yet in flight */
	size_t sealed;
	uv_write_t write;
	uv_shutdown_t shutdown;
	bool writing, reading, waits_drain, keep_alive, chunked, head_only, resume_planned, streamed, refused;
	int64_t deadline_ms; /* loop time at which patience ends; 0 = none */
	void *user;
};

struct server {
	uv_loop_t *loop;
	uv_tcp_t listener;
	uv_timer_t sweep;
	struct server_options options;
	struct server_handler handler;
	struct tls_context *tls; /* NULL: none */
	struct buf plain;        /* what a connection has just opened */
	struct exchange *connections;
	size_t count;
	int open_handles; /* listener and sweep: the server is freed when they and all connections are closed */
	bool stopping, closing;
	char host[64];
	int port;
};

void connection_accept(struct server *s);
/* Closes. on_gone is called (from the loop, later) when the handler still had the request and `tell`. */
void connection_close(struct exchange *x, bool tell);
void server_forget(struct server *s, struct exchange *x);
void server_maybe_free(struct server *s);

#endif
