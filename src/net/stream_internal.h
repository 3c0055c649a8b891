/* stream_internal: streams and links of stream*.c; not for other folders. A *link* is one connection: it resolves nothing, carries one
 * stream after another, and dies at once (LINK_CLOSED), its memory at the next turn of the loop. */
#ifndef GOODPUT_NET_STREAM_INTERNAL_H
#define GOODPUT_NET_STREAM_INTERNAL_H

#include "base/buf.h"
#include "net/endpoint.h"

#include <llhttp.h>

enum { STREAM_BUFFER = 65536 };

enum answer_header {
	ANSWER_TYPE,
	ANSWER_CODING,
	ANSWER_RETRY,
	ANSWER_RETRY_MS,
	ANSWER_SERVER,
	ANSWER_REQUEST_ID,
	ANSWER_LOCATION,
	ANSWER_HEADERS
};

/* The wanted headers of an answer, while its head arrives; a link has it only then. */
struct answer_head {
	struct buf text;
	size_t at[ANSWER_HEADERS], len[ANSWER_HEADERS];
	char name[24];
	size_t name_len, total;
	int wanted; /* header that the value belongs to; -1: none */
	bool in_value;
};

enum link_state { LINK_CONNECTING, LINK_HANDSHAKE, LINK_BUSY, LINK_IDLE, LINK_CLOSED };

struct link {
	uv_poll_t poll;
	struct stream_client *client;
	struct link *next, *previous;
	struct stream *stream; /* NULL when idle */
	struct answer_head *head;
	SSL *tls;
	BIO *from_peer, *to_peer; /* ciphertext; owned by `tls` */
	llhttp_t parser;
	size_t address;
	int64_t deadline_ms; /* loop time; 0: none */
	int fd, events;
	enum link_state state;
	bool used;                   /* has carried an answer */
	bool begun, headed;          /* a byte of the present answer has come; its head is whole */
	bool whole, keeps;           /* the answer is whole; the connection can be used again */
	enum stream_failure refused; /* what a parser's callback found wrong */
};

struct stream {
	struct stream_client *client;
	struct stream *next, *previous; /* waiting for an address, or ended and not told yet */
	struct link *link;
	struct stream_handler handler;
	void *context;
	struct stream_request request;
	struct buf opening;        /* request line and headers, until they are no longer needed */
	size_t written, total;     /* bytes of opening and body */
	int64_t deadline_ms;       /* while waiting for an address */
	int64_t whole_deadline_ms; /* 0: none */
	struct stream_end end;
	bool retold; /* went out a second time after a kept connection was lost */
};

struct stream_list {
	struct stream *first, *last;
};

struct stream_client {
	uv_loop_t *loop;
	const struct endpoint *endpoint;
	uv_timer_t sweep, turn;
	uv_getaddrinfo_t resolve;
	struct addrinfo *addresses;
	size_t address_count, address_first; /* the one that answered last comes first */
	bool resolving, closing;
	struct link *busy, *idle; /* links by state; idle ones have no deadline */
	struct stream_list waiting, ended;
	int open_handles; /* timers, links, the resolver */
	int stamper;      /* a socket that only asks for stamps: the kernel begins to make them some time after the first that does */
	int64_t wall_ahead_ns, wall_checked_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC, and when (wall clock) that was measured */
	int64_t stamp, lag;                     /* of the piece being handled */
	struct stream_health health;
	char *bytes, *plain; /* STREAM_BUFFER each, shared by all links; plain only with TLS */
};

/* stream.c */
void stream_list_add(struct stream_list *l, struct stream *s);
void stream_list_remove(struct stream_list *l, struct stream *s);
void stream_fail(struct stream *s, enum stream_failure failure, const char *format, ...) __attribute__((format(printf, 3, 4)));
void stream_fail_with(struct stream *s, enum stream_failure failure, const char *format, va_list args);
/* The end is told: at once, or at the next turn of the loop. The stream has no link any more. */
void stream_tell_end(struct stream *s);
void stream_tell_end_later(struct stream *s);
/* On a kept connection, else a new one. */
void stream_place(struct stream *s);
void stream_client_maybe_free(struct stream_client *c);

/* stream_link.c */
void link_open(struct stream_client *c, struct stream *s);
void link_carry(struct link *k, struct stream *s); /* starts the request */
void link_close(struct link *k);
void link_move(struct link *k, struct link **from, struct link **to); /* between the client's lists; NULL: none */
/* The stream's end: takes it off the link, which is kept or closed. */
void link_end(struct link *k);
bool link_fail(struct link *k, enum stream_failure failure, const char *format, ...) __attribute__((format(printf, 3, 4))); /* false */
void link_time_out(struct link *k);
void link_wait_for(struct link *k, int events); /* UV_READABLE | UV_WRITABLE */
/* Sends; the count or -1 with errno. */
ssize_t link_send(struct link *k, struct str first, struct str second);
void link_connected(struct link *k); /* TCP, and TLS where asked for */
void link_write(struct link *k);

/* stream_tls.c: false: the link has ended. */
bool tls_begin(struct link *k);
bool tls_take(struct link *k, struct str bytes); /* ciphertext came */
bool tls_write(struct link *k);
bool tls_flush(struct link *k, bool *blocked);
void tls_free(struct link *k);

/* stream_answer.c */
void answer_begin(struct link *k);
void answer_free(struct link *k);
/* Reads bytes of the answer, calling the stream's handler; ends the stream when it is whole or wrong. */
void answer_take(struct link *k, struct str bytes);
/* The peer has closed (`clean`: as its protocol asks). */
void answer_closed(struct link *k, bool clean, int system_error);

#endif
