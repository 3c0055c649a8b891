/* tls: the server's side of TLS on OpenSSL 3, sans-IO: bytes of the network in, bytes of the application out, and back. A context holds
 * certificate and key and is shared; a session is one connection. */
#ifndef GOODPUT_NET_TLS_H
#define GOODPUT_NET_TLS_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>

struct tls_files {
	const char *cert, *key; /* PEM; the certificate with those that lead to a root behind it */
	const char *client_ca;  /* clients must show a certificate of one of these; or NULL */
	int least_minor;        /* TLS 1.2 or 1.3: 2 or 3; 0: 1.2 */
};

struct tls_context;
/* NULL with an error that names the file: missing, not PEM, a key of another certificate. */
struct tls_context *tls_context_new(const struct tls_files *files, struct error *e);
/* Sessions that were made with it go on. */
void tls_context_free(struct tls_context *c);

enum tls_status {
	TLS_GOES_ON,
	TLS_PLAIN, /* what came is no TLS: nothing has been answered */
	TLS_OVER,  /* the peer has ended it, or broke the rules: what is to be sent is the last */
};

struct tls_session;
/* NULL when OpenSSL has no memory for it. */
struct tls_session *tls_session_new(struct tls_context *c);
void tls_session_free(struct tls_session *s);
/* Takes what came; adds what it meant to `plain`, and what must be sent to `wire`. */
enum tls_status tls_receive(struct tls_session *s, struct str bytes, struct buf *plain, struct buf *wire);
/* Has the peer proved itself, so that requests can be answered? */
bool tls_is_ready(const struct tls_session *s);
/* Seals bytes for the wire. Only when ready. False: it cannot go on. */
bool tls_seal(struct tls_session *s, struct str plain, struct buf *wire);
/* Says that nothing more will come. */
void tls_end(struct tls_session *s, struct buf *wire);

#endif
