/* stream: the timed streaming client: one HTTP/1.1 request, its answer delivered as it arrives, each piece with the time at which the
 * kernel received it (SO_TIMESTAMPNS), so that a late reader does not make the server look slow. How late the reader was is measured too:
 * lag.
 *
 * An *endpoint* says where and how (immutable, shared by threads); a *stream client* belongs to one libuv loop and its thread; a *stream*
 * is one request with its answer on one connection. Plain HTTP and TLS (OpenSSL, memory BIOs). No proxy, no redirects, no compressed
 * answers: nothing may stand between the socket and the stamp. All times are CLOCK_MONOTONIC in ns; 0: not reached. */
#ifndef GOODPUT_NET_STREAM_H
#define GOODPUT_NET_STREAM_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* ---- where ---- */

struct endpoint_options {
	const char *url;            /* "http://host:8000"; a path in it comes before the request's */
	const char *ca_file;        /* NULL: the system's */
	bool insecure;              /* the certificate is not verified */
	bool fresh;                 /* a connection of its own for each request, instead of kept ones */
	int64_t connect_timeout_ms; /* TCP and TLS; 0: 10 s */
	int64_t head_timeout_ms;    /* from the request to the head of the answer; 0: 10 minutes */
	int64_t idle_timeout_ms;    /* between two pieces of the body; 0: 2 minutes */
	int64_t whole_timeout_ms;   /* of a request from its submission to its end; 0: none */
};
struct endpoint;
/* NULL with an error: not a URL, a certificate file that cannot be read. */
struct endpoint *endpoint_new(const struct endpoint_options *options, struct error *e);
void endpoint_free(struct endpoint *p);
const char *endpoint_place(const struct endpoint *p); /* "host:port" */
bool endpoint_is_tls(const struct endpoint *p);
/* The variable of the environment that names a proxy for it, which no stream uses; NULL: there is none. */
const char *endpoint_unused_proxy(const struct endpoint *p);

/* ---- how a request ends ---- */

enum stream_failure {
	STREAM_OK,              /* a whole answer, whatever its status */
	STREAM_NO_HOST,         /* name resolution */
	STREAM_REFUSED,         /* connection refused */
	STREAM_UNREACHABLE,     /* no route, network down */
	STREAM_CONNECT_TIMEOUT, /* no connection (TCP or TLS) in time */
	STREAM_TLS,             /* certificate or handshake */
	STREAM_TLS_MISMATCH,    /* one side speaks TLS, the other does not */
	STREAM_HEAD_TIMEOUT,    /* connected, and no answer */
	STREAM_IDLE_TIMEOUT,    /* the answer stopped in the middle */
	STREAM_WHOLE_TIMEOUT,   /* all of it took too long */
	STREAM_CLOSED,          /* closed before any answer */
	STREAM_RESET,           /* reset before or inside the answer */
	STREAM_CUT,             /* ended inside the body */
	STREAM_NOT_HTTP,        /* what came is no HTTP answer */
	STREAM_ENCODING,        /* a compressed body, which was not asked for */
	STREAM_LOCAL,           /* this machine: no more sockets or ports */
	STREAM_CANCELLED        /* by stream_cancel or stream_client_close */
};
const char *stream_failure_name(enum stream_failure f); /* "refused", "head_timeout" ...: stable words */

struct stream_head {
	int status;
	bool event_stream;                                                                  /* Content-Type is text/event-stream */
	struct str content_type, retry_after, retry_after_ms, server, request_id, location; /* valid in the call; empty when absent */
};

struct stream_times {
	int64_t submitted; /* stream_start: just before anything is handed to the kernel, connection set-up included */
	int64_t connected; /* TCP and TLS; equal to submitted on a kept connection */
	int64_t sent;      /* the last byte of the request was taken by the kernel */
	int64_t head;      /* stamp of the piece that completed the head */
	int64_t end;       /* stamp of the last piece, or when the failure was seen */
};

struct stream_end {
	enum stream_failure failure;
	char detail[200]; /* in words: "connection refused by 127.0.0.1:8000"; empty when OK */
	struct stream_times times;
	bool reused;    /* on a kept connection */
	bool by_close;  /* the end of the connection was the end of the body: nothing else says that it is whole */
	int reconnects; /* kept connections that turned out to be closed before a byte of the answer came; the request went out again */
};

/* ---- requests ---- */

struct stream;
struct stream_handler {
	/* The head is there (never for interim 1xx). From here on the request's texts are no longer needed. */
	void (*on_head)(void *context, struct stream *s, const struct stream_head *head, int64_t stamp);
	/* A piece of the body, transfer coding removed. */
	void (*on_bytes)(void *context, struct stream *s, struct str bytes, int64_t stamp);
	/* The end; `s` is gone afterwards. Never called from inside stream_start; from stream_cancel only at the next turn of the loop. */
	void (*on_end)(void *context, struct stream *s, const struct stream_end *end);
};

struct stream_request {
	const char *method; /* NULL: POST */
	struct str path;    /* "/v1/chat/completions" */
	struct str headers; /* "Name: value\r\n" lines; Host, Content-Length and Accept-Encoding are added */
	struct str body;    /* both texts stay until on_head or on_end */
};

struct stream_client;
struct stream_client *stream_client_new(uv_loop_t *loop, const struct endpoint *p);
/* Ends what is on its way (STREAM_CANCELLED) and closes connections; the loop runs on until it has nothing to do, then the client has freed
 * itself. No stream is started afterwards. */
void stream_client_close(struct stream_client *c);

struct stream *stream_start(
	struct stream_client *c, const struct stream_request *request, const struct stream_handler *handler, void *context);
/* Breaks the connection off, so that the server stops too. */
void stream_cancel(struct stream *s);

/* ---- the client's own health ---- */

enum { STREAM_LAG_CELLS = 64 }; /* cell i: lag below 1 µs * 2^(i/2); the last: all above */
struct stream_health {
	uint64_t reads, bytes;          /* recvmsg calls that brought bytes */
	uint64_t unstamped;             /* of them without a kernel stamp: the reader's clock was taken */
	uint64_t lag[STREAM_LAG_CELLS]; /* of each read: from the kernel's stamp to here */
	int64_t lag_max;
	uint64_t opened, kept_lost; /* connections; kept ones that the server had closed when a request was put on them */
	size_t open_now, open_max;
};
const struct stream_health *stream_client_health(const struct stream_client *c);
/* Of the read that is being handled; for on_head and on_bytes. */
int64_t stream_client_lag(const struct stream_client *c);
/* An upper bound of the lag that the share q of reads stayed under, in ns; 0 without reads. */
int64_t stream_lag_quantile(const struct stream_health *h, double q);
void stream_health_add(struct stream_health *sum, const struct stream_health *h);

#endif
