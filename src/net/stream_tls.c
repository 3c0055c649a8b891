/* TLS of a link: OpenSSL over two memory BIOs, so that the socket is read with recvmsg as without TLS. */
#include "net/stream_internal.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>

static bool tls_name_peer(SSL *tls, const struct endpoint *p)
{
	if (p->host_is_address)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), p->host) == 1;
	return SSL_set_tlsext_host_name(tls, p->host) == 1 && SSL_set1_host(tls, p->host) == 1;
}

bool tls_begin(struct link *k)
{
	static const unsigned char protocols[] = "\x08http/1.1";
	const struct endpoint *p = k->client->endpoint;
	bool blocked;

	k->tls = SSL_new(p->tls);
	k->from_peer = BIO_new(BIO_s_mem());
	k->to_peer = BIO_new(BIO_s_mem());
	if (!k->tls || !k->from_peer || !k->to_peer || !tls_name_peer(k->tls, p)) {
		if (!k->tls) {
			BIO_free(k->from_peer);
			BIO_free(k->to_peer);
		}
		return link_fail(k, STREAM_TLS, "OpenSSL refuses the name %s", p->host);
	}
	BIO_set_mem_eof_return(k->from_peer, -1);
	SSL_set_bio(k->tls, k->from_peer, k->to_peer);
	SSL_set_alpn_protos(k->tls, protocols, sizeof protocols - 1);
	SSL_set_connect_state(k->tls);
	k->state = LINK_HANDSHAKE;
	SSL_do_handshake(k->tls);
	return tls_flush(k, &blocked);
}

void tls_free(struct link *k)
{
	if (k->tls)
		SSL_free(k->tls);
	k->tls = NULL;
}

/* Sends what OpenSSL wants to say. */
bool tls_flush(struct link *k, bool *blocked)
{
	char *data;
	long size = BIO_get_mem_data(k->to_peer, &data);

	*blocked = false;
	while (size > 0) {
		ssize_t sent = link_send(k, str_of(data, (size_t)size), STR_EMPTY);

		if (sent < 0 && errno == EAGAIN) {
			*blocked = true;
			link_wait_for(k, UV_READABLE | UV_WRITABLE);
			return true;
		}
		if (sent < 0) {
			answer_closed(k, false, errno);
			return false;
		}
		while (sent > 0) { /* takes it out of the BIO */
			int step = BIO_read(k->to_peer, k->client->plain, sent < STREAM_BUFFER ? (int)sent : STREAM_BUFFER);

			if (step <= 0)
				break;
			sent -= step;
		}
		size = BIO_get_mem_data(k->to_peer, &data);
	}
	link_wait_for(k, UV_READABLE);
	return true;
}

static bool tls_failed(struct link *k, unsigned char first)
{
	const struct endpoint *p = k->client->endpoint;
	long verdict = SSL_get_verify_result(k->tls);
	const char *why = ERR_reason_error_string(ERR_get_error());

	if (k->state == LINK_HANDSHAKE && first != 0x15 && first != 0x16 && first != 0x14)
		return link_fail(k, STREAM_TLS_MISMATCH, "%s does not speak TLS: use http://", p->place);
	return link_fail(k, STREAM_TLS, "TLS with %s fails: %s", p->place,
		verdict != X509_V_OK ? X509_verify_cert_error_string(verdict)
		: why                ? why
				     : "no reason given");
}

static bool tls_shake(struct link *k, unsigned char first)
{
	int done, code;
	bool blocked;

	ERR_clear_error();
	done = SSL_do_handshake(k->tls);
	code = done == 1 ? SSL_ERROR_NONE : SSL_get_error(k->tls, done);
	if (code != SSL_ERROR_NONE && code != SSL_ERROR_WANT_READ)
		return tls_failed(k, first);
	if (!tls_flush(k, &blocked))
		return false;
	if (done == 1)
		link_connected(k);
	return k->state != LINK_CLOSED;
}

/* Everything that can be decrypted now goes to the answer. */
static bool tls_read(struct link *k)
{
	for (;;) {
		int size, code;

		ERR_clear_error();
		size = SSL_read(k->tls, k->client->plain, STREAM_BUFFER);
		if (size > 0) {
			answer_take(k, str_of(k->client->plain, (size_t)size));
			if (k->state == LINK_CLOSED)
				return false;
			continue;
		}
		code = SSL_get_error(k->tls, size);
		if (code == SSL_ERROR_WANT_READ)
			break;
		if (code != SSL_ERROR_ZERO_RETURN)
			return tls_failed(k, 0x16);
		answer_closed(k, true, 0);
		return k->state != LINK_CLOSED;
	}
	bool blocked;

	return BIO_pending(k->to_peer) ? tls_flush(k, &blocked) : true; /* an answer to a key update */
}

bool tls_take(struct link *k, struct str bytes)
{
	BIO_write(k->from_peer, bytes.ptr, (int)bytes.len);
	if (k->state == LINK_HANDSHAKE && !tls_shake(k, (unsigned char)bytes.ptr[0]))
		return false;
	return k->state == LINK_HANDSHAKE || tls_read(k);
}

/* The request, in portions that the socket has taken before the next is encrypted. */
bool tls_write(struct link *k)
{
	struct stream *s = k->stream;

	for (;;) {
		struct str rest;
		bool blocked;

		if (!tls_flush(k, &blocked))
			return false;
		if (blocked || s->written == s->total || k->headed)
			return true;
		rest = s->written < s->opening.len ? str_skip(buf_str(&s->opening), s->written)
						   : str_skip(s->request.body, s->written - s->opening.len);
		int taken = SSL_write(k->tls, rest.ptr, rest.len < STREAM_BUFFER ? (int)rest.len : STREAM_BUFFER);

		if (taken <= 0)
			return tls_failed(k, 0x16);
		s->written += (size_t)taken;
	}
}
