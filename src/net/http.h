/* http: ordinary HTTP(S) requests on libcurl's multi interface and a libuv loop: scrapes, remote queries, web hooks.
 * Every way a request can fail is told apart, since "the pod did not answer" and "the pod said 401" need different people. */
#ifndef GOODPUT_NET_HTTP_H
#define GOODPUT_NET_HTTP_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum http_failure {
	HTTP_OK, /* a whole answer arrived, whatever its status */
	HTTP_BAD_URL,
	HTTP_NO_HOST,      /* name resolution */
	HTTP_REFUSED,      /* connection refused */
	HTTP_UNREACHABLE,  /* no route, network down */
	HTTP_TIMEOUT,      /* no whole answer in time */
	HTTP_TLS,          /* handshake or certificate */
	HTTP_RESET,        /* closed before any answer */
	HTTP_CUT,          /* closed inside the body: fewer bytes than promised */
	HTTP_TOO_LARGE,    /* body above max_bytes, after decompression (gzip bombs too) */
	HTTP_BAD_ENCODING, /* gzip that does not decompress */
	HTTP_NOT_HTTP,     /* the port speaks something else */
	HTTP_OTHER
};
const char *http_failure_name(enum http_failure f); /* "refused", "timeout" ... stable words for --json */

struct http_request {
	const char *url;
	const char *const *headers;       /* "Name: value", NULL-terminated, or NULL */
	const char *post;                 /* form body: makes it a POST; or NULL */
	struct str body;                  /* any body, with its Content-Type among the headers: makes it a POST; ptr NULL: none */
	const char *bearer_token;         /* or NULL */
	const char *ca_file;              /* or NULL */
	const char *cert_file, *key_file; /* client certificate; or NULL */
	const char *server_name; /* the name that the certificate must have and that TLS asks for, when it is not the URL's; or NULL */
	const char *proxy_url;   /* or NULL: as the environment says */
	bool insecure;           /* TLS not verified */
	bool follow;             /* follow redirects (at most 5, never from https to http, token only to the same host) */
	int64_t timeout_ms;      /* whole request; 10000 when 0 */
	size_t max_bytes;        /* of the decompressed body; 64 MiB when 0 */
	/* Or NULL: pieces of the decompressed body of an answer with status 200 go here as they come (none above max_bytes), and not into
	 * the answer; a piece without bytes tells that the request has ended, whatever its answer. */
	void (*on_body)(void *context, struct str piece);
	void *body_context;
};

struct http_answer {
	enum http_failure failure;
	char detail[256];                          /* in words, for people: "connection refused by 127.0.0.1:8000" */
	int status;                                /* 0 when none arrived */
	struct str content_type, location, server; /* of the last answer */
	struct str body;                           /* what arrived, also when cut */
	int64_t start_ms;                          /* wall clock */
	double duration_s;
	bool body_is_partial;
};

/* Runs all requests at once (at most `parallel` connections; 64 when 0) and returns when each has its answer or *stop became true
 * (may be NULL; set from a signal handler). Answers live in the arena. Connections are kept by the client for the next call. */
struct http_client;
struct http_client *http_client_new(void);
void http_client_free(struct http_client *c);
void http_fetch_all(struct http_client *c, struct arena *arena, const struct http_request *requests, struct http_answer *answers,
	size_t count, size_t parallel, const volatile bool *stop);
/* One. */
void http_fetch(struct http_client *c, struct arena *arena, const struct http_request *request, struct http_answer *answer);
/* Percent-encodes for a query string; as a form has it, a blank is "+". */
void http_encode(struct str text, struct buf *out);
void http_encode_form(struct str text, struct buf *out);

#endif
