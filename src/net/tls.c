#include "net/tls.h"

#include "base/mem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

/* A record's most; and what a record of the kind that begins a connection begins with. */
enum { PIECE = 16384, RECORD_HANDSHAKE = 22 };

struct tls_session {
	SSL *ssl;
	BIO *in, *out; /* of ssl */
	bool begun, ready, over;
};

/* ---- context ---- */

/* OpenSSL's own words for what went wrong first; later ones are what that led to. */
static const char *reason(void)
{
	unsigned long code = ERR_peek_error();
	const char *text = code && !ERR_SYSTEM_ERROR(code) ? ERR_reason_error_string(code) : NULL;

	return text ? text : code && ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : "unknown error";
}

static bool fail(struct error *e, const char *what, const char *file, const char *hint)
{
	error_set(e, EXIT_BAD_INPUT, "%s %s: %s", what, file, reason());
	error_hint(e, "%s", hint);
	ERR_clear_error();
	return false;
}

/* HTTP/1.1 is what is spoken, whatever else is offered. */
static int choose_protocol(
	SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *offered, unsigned int offered_len, void *user)
{
	static const unsigned char ours[] = "\x08http/1.1";

	return SSL_select_next_proto((unsigned char **)out, out_len, ours, sizeof ours - 1, offered, offered_len) == OPENSSL_NPN_NEGOTIATED
		       ? SSL_TLSEXT_ERR_OK
		       : SSL_TLSEXT_ERR_NOACK;
}

static bool load(SSL_CTX *c, const struct tls_files *f, struct error *e)
{
	if (SSL_CTX_use_certificate_chain_file(c, f->cert) != 1)
		return fail(e, "the certificate", f->cert, "a file in PEM form, its own certificate first");
	if (SSL_CTX_use_PrivateKey_file(c, f->key, SSL_FILETYPE_PEM) != 1)
		return fail(e, "the key", f->key, "an unencrypted file in PEM form, with the key of that certificate");
	if (SSL_CTX_check_private_key(c) != 1)
		return fail(e, "the key", f->key, "it must be that of the certificate");
	if (!f->client_ca)
		return true;
	if (SSL_CTX_load_verify_locations(c, f->client_ca, NULL) != 1)
		return fail(e, "the clients' CA", f->client_ca, "a file in PEM form");
	SSL_CTX_set_client_CA_list(c, SSL_load_client_CA_file(f->client_ca));
	SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return true;
}

/* A key with a passphrase must not make a daemon ask on its terminal. */
static int no_passphrase(char *buffer, int size, int writing, void *user)
{
	return 0;
}

struct tls_context *tls_context_new(const struct tls_files *files, struct error *e)
{
	SSL_CTX *c = SSL_CTX_new(TLS_server_method());

	if (!c) {
		error_set(e, EXIT_INTERNAL, "OpenSSL cannot be used: %s", reason());
		return NULL;
	}
	SSL_CTX_set_min_proto_version(c, files->least_minor == 3 ? TLS1_3_VERSION : TLS1_2_VERSION);
	SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_default_passwd_cb(c, no_passphrase);
	SSL_CTX_set_alpn_select_cb(c, choose_protocol, NULL);
	ERR_clear_error();
	if (load(c, files, e))
		return (struct tls_context *)c;
	SSL_CTX_free(c);
	return NULL;
}

void tls_context_free(struct tls_context *c)
{
	SSL_CTX_free((SSL_CTX *)c);
}

/* ---- session ---- */

struct tls_session *tls_session_new(struct tls_context *c)
{
	struct tls_session *s = NEW(struct tls_session);

	s->ssl = SSL_new((SSL_CTX *)c);
	s->in = BIO_new(BIO_s_mem());
	s->out = BIO_new(BIO_s_mem());
	if (!s->ssl || !s->in || !s->out) {
		BIO_free(s->in);
		BIO_free(s->out);
		tls_session_free(s);
		return NULL;
	}
	BIO_set_mem_eof_return(s->in, -1);
	SSL_set_bio(s->ssl, s->in, s->out);
	SSL_set_accept_state(s->ssl);
	return s;
}

void tls_session_free(struct tls_session *s)
{
	if (!s)
		return;
	SSL_free(s->ssl);
	mem_free(s);
}

static void take_output(struct tls_session *s, struct buf *wire)
{
	char *bytes;
	long size = BIO_get_mem_data(s->out, &bytes);

	if (size > 0)
		buf_add(wire, str_of(bytes, (size_t)size));
	(void)BIO_reset(s->out);
}

/* Nothing more can be read now: is that the end? */
static bool is_end(const struct tls_session *s, int result)
{
	int why = SSL_get_error(s->ssl, result);

	return why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE;
}

static void read_all(struct tls_session *s, struct buf *plain)
{
	char piece[PIECE];
	int got = 1;

	if (!s->ready) {
		int result = SSL_do_handshake(s->ssl);

		s->ready = result == 1;
		s->over = !s->ready && is_end(s, result);
	}
	while (s->ready && !s->over && (got = SSL_read(s->ssl, piece, sizeof piece)) > 0)
		buf_add(plain, str_of(piece, (size_t)got));
	if (s->ready && !s->over && is_end(s, got))
		s->over = true;
}

enum tls_status tls_receive(struct tls_session *s, struct str bytes, struct buf *plain, struct buf *wire)
{
	if (s->over)
		return TLS_OVER;
	if (!s->begun && bytes.len && bytes.ptr[0] != RECORD_HANDSHAKE)
		return TLS_PLAIN;
	s->begun = s->begun || bytes.len;
	ERR_clear_error();
	if (BIO_write(s->in, bytes.ptr, (int)bytes.len) == (int)bytes.len)
		read_all(s, plain);
	else
		s->over = true;
	take_output(s, wire);
	ERR_clear_error();
	return s->over ? TLS_OVER : TLS_GOES_ON;
}

bool tls_is_ready(const struct tls_session *s)
{
	return s->ready;
}

bool tls_seal(struct tls_session *s, struct str plain, struct buf *wire)
{
	bool ok = true;

	ERR_clear_error();
	for (size_t done = 0; ok && done < plain.len;) {
		size_t size = plain.len - done < PIECE ? plain.len - done : PIECE;
		int sealed = SSL_write(s->ssl, plain.ptr + done, (int)size);

		ok = sealed > 0;
		done += ok ? (size_t)sealed : 0;
	}
	take_output(s, wire);
	ERR_clear_error();
	return ok;
}

void tls_end(struct tls_session *s, struct buf *wire)
{
	ERR_clear_error();
	if (s->ready)
		SSL_shutdown(s->ssl);
	take_output(s, wire);
	ERR_clear_error();
}
