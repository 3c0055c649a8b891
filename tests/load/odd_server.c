#include "odd_server.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 256 };

struct odd_server {
	int listener, port;
	SSL_CTX *tls;
	pthread_t thread, threads[CONNECTIONS_MAX];
	int sockets[CONNECTIONS_MAX];
	atomic_int count, accepted;
};

struct peer {
	struct odd_server *server;
	int fd;
	SSL *tls;
	char request[1 << 17];
	size_t len;
	int served;
};

static bool say(struct peer *p, const char *text)
{
	size_t len = strlen(text), done = 0;

	while (done < len) {
		ssize_t n = p->tls ? SSL_write(p->tls, text + done, (int)(len - done)) : send(p->fd, text + done, len - done, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static ssize_t hear(struct peer *p)
{
	char *at = p->request + p->len;
	size_t room = sizeof p->request - 1 - p->len;
	ssize_t n = p->tls ? SSL_read(p->tls, at, (int)room) : recv(p->fd, at, room, 0);

	if (n > 0)
		p->len += (size_t)n;
	p->request[p->len] = '\0';
	return n;
}

/* Reads one request; false at the end. */
static bool hear_request(struct peer *p)
{
	p->len = 0;
	p->request[0] = '\0';
	for (;;) {
		const char *end = strstr(p->request, "\r\n\r\n"), *length = strstr(p->request, "Content-Length: ");

		if (end && p->len >= (size_t)(end + 4 - p->request) + (length ? strtoul(length + 16, NULL, 10) : 0))
			return true;
		if (hear(p) <= 0)
			return false;
	}
}

static void pause_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

static void chunks(struct peer *p, bool whole)
{
	say(p, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\nX-Request-Id: "
	       "r1\r\n\r\n");
	pause_ms(20);
	say(p, "7\r\ndata: a\r\n");
	pause_ms(20);
	say(p, "2\r");
	pause_ms(20);
	say(p, "\n\n\n\r\n6\r\ndata: \r");
	say(p, "\n3\r\nb\n\n\r\n");
	if (whole)
		say(p, "0\r\n\r\n");
}

static void echo_length(struct peer *p)
{
	const char *body = strstr(p->request, "\r\n\r\n") + 4;
	char head[200];

	snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n", strlen(body));
	say(p, head);
	say(p, body);
}

static void reset(struct peer *p)
{
	struct linger now = { 1, 0 };

	setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

static const struct plain_answer {
	const char *path, *text;
	bool stays;
} plain_answers[] = {
	{ "/interim",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		true },
	{ "/close", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end", false },
	{ "/gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08", false },
	{ "/garbage", "SSH-2.0-OpenSSH_9.2\r\n", false },
	{ "/short", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour", false },
	{ "/busy", "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy", true },
	{ "/twice", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", true },
	{ "/answer",
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 76\r\n\r\n"
		"{\"model\":\"m\",\"choices\":[{\"message\":{\"content\":\"4\"},\"finish_reason\":\"stop\"}]}",
		true },
	{ "/trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nRetry-After: 99\r\nX-Request-Id: old\r\n\r\n",
		true },
	{ "/once", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false },
	{ "/nothing", "", false },
};

/* False: the connection ends. */
static bool answer(struct peer *p)
{
	char path[64] = "";

	sscanf(p->request, "%*s %63s", path);
	for (size_t i = 0; i < sizeof plain_answers / sizeof *plain_answers; i++)
		if (!strcmp(path, plain_answers[i].path)) {
			say(p, plain_answers[i].text);
			return plain_answers[i].stays;
		}
	if (!strcmp(path, "/chunked") || !strcmp(path, "/base/chunked"))
		return chunks(p, true), true;
	if (!strcmp(path, "/cut"))
		return chunks(p, false), false;
	if (!strcmp(path, "/alert")) /* what a TLS server says of a plain request */
		return send(p->fd, "\x15\x03\x01\x00\x02\x02\x46", 7, MSG_NOSIGNAL) < 0;
	if (!strcmp(path, "/first-only")) /* a kept connection whose end crosses the next request */
		return !p->served++ && say(p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	if (!strcmp(path, "/spoilt")) /* a record between requests that no key fits */
		return say(p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") &&
		       send(p->fd, "\x17\x03\x03\x00\x14that is not encrypted", 25, MSG_NOSIGNAL) == 25;
	if (!strcmp(path, "/echo"))
		return echo_length(p), true;
	if (!strcmp(path, "/reset")) {
		say(p, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour");
		pause_ms(50);
		return reset(p), false;
	}
	if (!strcmp(path, "/stall"))
		say(p, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour");
	if (!strcmp(path, "/slow"))
		for (int i = 0; say(p, i ? "x" : "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n") && i < 100; i++)
			pause_ms(50);
	while (hear(p) > 0) /* /never, /stall: until the client has enough */
		p->len = 0;
	return false;
}

static void *serve(void *peer)
{
	struct peer *p = peer;
	bool on = true;

	if (p->server->tls) {
		p->tls = SSL_new(p->server->tls);
		SSL_set_fd(p->tls, p->fd);
		on = SSL_accept(p->tls) == 1;
	}
	while (on && hear_request(p))
		on = answer(p);
	if (p->tls) {
		SSL_shutdown(p->tls);
		SSL_free(p->tls);
	}
	close(p->fd);
	mem_free(p);
	return NULL;
}

static void *accept_all(void *server)
{
	struct odd_server *s = server;

	for (;;) {
		struct peer *p;
		int fd = accept(s->listener, NULL, NULL), at = s->count;

		if (fd < 0 || at == CONNECTIONS_MAX)
			return NULL;
		s->accepted++;
		p = NEW(struct peer);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		p->server = s;
		p->fd = fd;
		s->sockets[at] = fd;
		pthread_create(&s->threads[at], NULL, serve, p);
		s->count = at + 1;
	}
}

static void make_certificate(struct odd_server *s, const char *path)
{
	EVP_PKEY *key = EVP_RSA_gen(2048);
	X509 *certificate = X509_new();
	X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
	FILE *file = fopen(path, "w");

	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
	X509_set_pubkey(certificate, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, (const unsigned char *)"odd", -1, -1, 0);
	X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
	X509_add_ext(certificate, names, -1);
	X509_sign(certificate, key, EVP_sha256());
	PEM_write_X509(file, certificate);
	fclose(file);
	s->tls = SSL_CTX_new(TLS_server_method());
	SSL_CTX_use_certificate(s->tls, certificate);
	SSL_CTX_use_PrivateKey(s->tls, key);
	X509_EXTENSION_free(names);
	X509_free(certificate);
	EVP_PKEY_free(key);
}

struct odd_server *odd_server_new(const char *certificate_path)
{
	struct odd_server *s = NEW(struct odd_server);
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;

	if (certificate_path)
		make_certificate(s, certificate_path);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bind(s->listener, (struct sockaddr *)&address, sizeof address);
	listen(s->listener, 64);
	getsockname(s->listener, (struct sockaddr *)&address, &size);
	s->port = ntohs(address.sin_port);
	pthread_create(&s->thread, NULL, accept_all, s);
	return s;
}

int odd_server_port(const struct odd_server *s)
{
	return s->port;
}

int odd_server_connections(const struct odd_server *s)
{
	return s->accepted;
}

/* The clients are gone, unless a test failed. */
void odd_server_free(struct odd_server *s)
{
	shutdown(s->listener, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->listener);
	for (int i = 0; i < s->count; i++)
		shutdown(s->sockets[i], SHUT_RDWR);
	for (int i = 0; i < s->count; i++)
		pthread_join(s->threads[i], NULL);
	if (s->tls)
		SSL_CTX_free(s->tls);
	mem_free(s);
}
