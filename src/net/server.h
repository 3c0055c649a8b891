/* server: HTTP/1.1 on a libuv loop: whole requests in, whole or streamed answers out.
 *
 * A connection carries one exchange at a time. A client may send its next request early (pipelining): it waits, in a bounded
 * buffer, until the present answer is out. All calls come from the loop's thread. */
#ifndef GOODPUT_NET_SERVER_H
#define GOODPUT_NET_SERVER_H

#include "base/error.h"
#include "net/message.h"
#include "net/tls.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct server;
struct exchange; /* one request and its answer */

struct server_options {
	const char *host;             /* a name or address; NULL: 127.0.0.1 */
	int port;                     /* 0: any free one, see server_port */
	struct message_limits limits; /* 0: 64 KiB, 16 MiB */
	size_t max_connections;       /* 0: 10000. One more gets 503 and is closed */
	size_t high_water;            /* 0: 256 KiB. An answer that has so much unsent asks its handler to wait */
	int64_t request_timeout_ms;   /* 0: 30 s from the first byte to the last of a request */
	int64_t idle_timeout_ms;      /* 0: 5 s between requests, as uvicorn */
	int64_t write_timeout_ms;     /* 0: 60 s without the client taking a byte */
	struct tls_context *tls;      /* the server's from then on; NULL: plain HTTP */
};

struct server_handler {
	/* A whole request. The message is valid until the answer is whole (exchange_answer, _end, _cut) or on_gone. Answer now or later. */
	void (*on_request)(void *context, struct exchange *x, const struct message *m);
	/* The client went away, or was too slow, before the answer was whole. `x` ends here. Never called from inside an exchange_ call. */
	void (*on_gone)(void *context, struct exchange *x);
	/* After exchange_write returned false: what was unsent is sent. May be NULL. */
	void (*on_drained)(void *context, struct exchange *x);
	/* A request that was refused before it reached on_request, for counting. May be NULL. */
	void (*on_refused)(void *context, int status);
	void *context;
};

/* Listens. NULL with an error that says which address and why. */
struct server *server_new(uv_loop_t *loop, const struct server_options *options, const struct server_handler *handler, struct error *e);
/* For connections from now on: certificates are renewed. Takes it over. Only where there was one. */
void server_set_tls(struct server *s, struct tls_context *tls);
int server_port(const struct server *s);
const char *server_host(const struct server *s);
size_t server_connections(const struct server *s);
/* No new connections or requests; idle connections close; answers in progress go on. */
void server_stop(struct server *s);
/* Closes all at once (on_gone is called for what is in progress). The loop must run on until uv_run finds nothing to do; then the
 * server has freed itself. */
void server_close(struct server *s);
/* Drops every connection, answers in progress too, and goes on listening: what clients see of a crash. */
void server_drop_all(struct server *s);

/* The caller's, NULL at first. */
void exchange_set_user(struct exchange *x, void *user);
void *exchange_user(const struct exchange *x);

/* A whole answer; ends the exchange. `headers`: "Name: value\r\n" lines or NULL. */
void exchange_answer(struct exchange *x, int status, const char *content_type, const char *headers, struct str body);
/* A streamed answer: head, then chunks. A HTTP/1.0 client gets it unframed, ended by the end of the connection. */
void exchange_begin(struct exchange *x, int status, const char *content_type, const char *headers);
/* Sends or buffers one chunk. False: more than high_water is unsent, so wait for on_drained; the chunk is taken all the same. */
bool exchange_write(struct exchange *x, struct str chunk);
/* Ends a streamed answer; what is unsent is still sent. */
void exchange_end(struct exchange *x);
/* Breaks the connection off in the middle (for faults and for answers that cannot go on). Ends the exchange; on_gone is not called. */
void exchange_cut(struct exchange *x);
/* Is the peer an address of this machine's loopback interface? */
bool exchange_is_local(const struct exchange *x);

/* The reason phrase: "Not Found". */
const char *http_reason(int status);

#endif
