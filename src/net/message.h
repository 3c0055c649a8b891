/* message: HTTP/1.1 requests out of bytes, on llhttp in strict mode. Sans-IO: bytes in; partial, whole or refused out.
 *
 * What is refused is refused with the status that the client should get. Requests that two readers could split differently
 * (two lengths, two hosts, obsolete folding, both Transfer-Encoding and Content-Length) are refused, never repaired. */
#ifndef GOODPUT_NET_MESSAGE_H
#define GOODPUT_NET_MESSAGE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct message_header {
	struct str name, value; /* value without blanks at both ends */
};

/* One request. Valid until message_next or message_parser_free. */
struct message {
	struct str method;      /* "GET" */
	struct str target;      /* as sent: "/v1/models?x=1" */
	struct str path, query; /* of the target; undecoded */
	const struct message_header *headers;
	size_t header_count;
	struct str body;
	int minor; /* HTTP/1.minor */
	bool keep_alive;
};

/* Value of the first header of that name (any case); ptr NULL when there is none. */
struct str message_header(const struct message *m, const char *name);

struct message_limits {
	size_t head; /* bytes of request line and headers, and again of trailers */
	size_t body;
};

enum message_status { MESSAGE_PARTIAL, MESSAGE_WHOLE, MESSAGE_REFUSED };

struct message_parser;
struct message_parser *message_parser_new(const struct message_limits *limits);
void message_parser_free(struct message_parser *p);

/* Reads on; `*consumed` tells how many bytes were of this request: after MESSAGE_WHOLE the rest belongs to the next one. After
 * MESSAGE_REFUSED the connection is of no further use. */
enum message_status message_feed(struct message_parser *p, struct str bytes, size_t *consumed);
const struct message *message_of(const struct message_parser *p); /* after MESSAGE_WHOLE */
void message_next(struct message_parser *p);

/* After MESSAGE_REFUSED: 400, 413, 417, 431, 501 or 505, and why, in words. */
int message_refusal(const struct message_parser *p, const char **why);
/* Has any byte of the present request been seen? */
bool message_begun(const struct message_parser *p);
/* True once, when the head is whole, the body is not and the client waits for "100 Continue". */
bool message_wants_continue(struct message_parser *p);

#endif
