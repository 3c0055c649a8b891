/* A link: connecting, reading with the kernel's stamps, writing, its end. */
#include "net/stream_internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- opening ---- */

static void on_poll(uv_poll_t *poll, int status, int events);

static struct addrinfo *address_of(const struct stream_client *c, size_t index)
{
	struct addrinfo *a = c->addresses;

	for (size_t i = (c->address_first + index) % c->address_count; i; i--)
		a = a->ai_next;
	return a;
}

/* A socket on its way to the address, or -1 with errno. */
static int socket_connect(const struct addrinfo *a)
{
	int on = 1, fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP), saved;

	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
	if (connect(fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static enum stream_failure failure_of_errno(int code)
{
	switch (code) {
	case ECONNREFUSED: return STREAM_REFUSED;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
	case EADDRNOTAVAIL: return STREAM_LOCAL;
	case ETIMEDOUT: return STREAM_CONNECT_TIMEOUT;
	case ECONNRESET: return STREAM_RESET;
	default: return STREAM_UNREACHABLE;
	}
}

static void connect_failed(struct stream_client *c, struct stream *s, int code)
{
	enum stream_failure failure = failure_of_errno(code);
	const char *place = c->endpoint->place;

	if (failure == STREAM_REFUSED)
		stream_fail(s, failure, "connection refused by %s", place);
	else if (failure == STREAM_LOCAL)
		stream_fail(s, failure, "no more connections from this machine to %s: %s", place, strerror(code));
	else
		stream_fail(s, failure, "cannot connect to %s: %s", place, strerror(code));
}

/* Takes the link's next address. False with errno when none is left. */
static bool link_try(struct link *k)
{
	int code = EHOSTUNREACH;

	for (; k->address < k->client->address_count; k->address++) {
		k->fd = socket_connect(address_of(k->client, k->address));
		if (k->fd >= 0)
			return true;
		code = errno;
	}
	errno = code;
	return false;
}

void link_move(struct link *k, struct link **from, struct link **to)
{
	if (from) {
		if (k->previous)
			k->previous->next = k->next;
		else
			*from = k->next;
		if (k->next)
			k->next->previous = k->previous;
	}
	k->next = k->previous = NULL;
	if (!to)
		return;
	k->next = *to;
	if (k->next)
		k->next->previous = k;
	*to = k;
}

static void link_list(struct link *k)
{
	struct stream_client *c = k->client;

	link_move(k, NULL, &c->busy);
	c->open_handles++;
	c->health.opened++;
	if (++c->health.open_now > c->health.open_max)
		c->health.open_max = c->health.open_now;
}

static bool link_poll(struct link *k)
{
	int code = uv_poll_init(k->client->loop, &k->poll, k->fd);

	if (code < 0) {
		close(k->fd);
		errno = -code;
		return false;
	}
	k->poll.data = k;
	k->events = 0;
	link_wait_for(k, UV_WRITABLE);
	return true;
}

static void link_open_from(struct stream_client *c, struct stream *s, size_t address)
{
	struct link *k = NEW(struct link);

	k->client = c;
	k->address = address;
	if (!link_try(k) || !link_poll(k)) {
		connect_failed(c, s, errno);
		mem_free(k);
		stream_tell_end_later(s);
		return;
	}
	link_list(k);
	k->stream = s;
	s->link = k;
	k->state = LINK_CONNECTING;
	k->deadline_ms = (int64_t)uv_now(c->loop) + c->endpoint->connect_timeout_ms;
}

void link_open(struct stream_client *c, struct stream *s)
{
	link_open_from(c, s, 0);
}

void link_wait_for(struct link *k, int events)
{
	if (k->events == events)
		return;
	k->events = events;
	uv_poll_start(&k->poll, events, on_poll);
}

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
	struct link *k = handle->data;
	struct stream_client *c = k->client;

	c->open_handles--;
	mem_free(k);
	stream_client_maybe_free(c);
}

void link_close(struct link *k)
{
	struct stream_client *c = k->client;

	if (k->state == LINK_CLOSED)
		return;
	link_move(k, k->state == LINK_IDLE ? &c->idle : &c->busy, NULL);
	k->state = LINK_CLOSED;
	c->health.open_now--;
	answer_free(k);
	tls_free(k);
	uv_close((uv_handle_t *)&k->poll, on_closed);
	close(k->fd);
}

void link_end(struct link *k)
{
	struct stream *s = k->stream;
	struct stream_client *c = k->client;

	k->stream = NULL;
	s->link = NULL;
	s->end.times.end = c->stamp;
	if (k->keeps && s->written == s->total && !c->endpoint->fresh && !c->closing) {
		link_move(k, &c->busy, &c->idle);
		k->state = LINK_IDLE;
		k->used = true;
	} else
		link_close(k);
	stream_tell_end(s);
}

bool link_fail(struct link *k, enum stream_failure failure, const char *format, ...)
{
	struct stream *s = k->stream;
	va_list args;

	if (!s) { /* between requests: nobody to tell */
		link_close(k);
		return false;
	}
	va_start(args, format);
	stream_fail_with(s, failure, format, args);
	va_end(args);
	k->stream = NULL;
	s->link = NULL;
	link_close(k);
	stream_tell_end(s);
	return false;
}

void link_time_out(struct link *k)
{
	const struct endpoint *p = k->client->endpoint;

	if (k->state == LINK_CONNECTING || k->state == LINK_HANDSHAKE)
		link_fail(k, STREAM_CONNECT_TIMEOUT, "no connection to %s in %g s", p->place, p->connect_timeout_ms / 1e3);
	else if ((int64_t)uv_now(k->client->loop) < k->deadline_ms)
		link_fail(k, STREAM_WHOLE_TIMEOUT, "%s had not answered all of it after %g s", p->place, p->whole_timeout_ms / 1e3);
	else if (!k->begun)
		link_fail(k, STREAM_HEAD_TIMEOUT, "%s took the request and did not answer in %g s", p->place, p->head_timeout_ms / 1e3);
	else
		link_fail(k, STREAM_IDLE_TIMEOUT, "%s sent nothing for %g s inside its answer", p->place, p->idle_timeout_ms / 1e3);
}

/* ---- writing ---- */

ssize_t link_send(struct link *k, struct str first, struct str second)
{
	struct iovec parts[2] = { { (void *)first.ptr, first.len }, { (void *)second.ptr, second.len } };
	struct msghdr message = { .msg_iov = first.len ? parts : parts + 1, .msg_iovlen = (first.len ? 1 : 0) + (second.len ? 1 : 0) };
	ssize_t sent;

	do
		sent = sendmsg(k->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent < 0 && errno == EWOULDBLOCK)
		errno = EAGAIN;
	return sent;
}

static bool plain_write(struct link *k)
{
	struct stream *s = k->stream;

	while (s->written < s->total && !k->headed) {
		struct str opening = buf_str(&s->opening);
		ssize_t sent = link_send(k, str_skip(opening, s->written),
			s->written > opening.len ? str_skip(s->request.body, s->written - opening.len) : s->request.body);

		if (sent < 0 && errno == EAGAIN) {
			link_wait_for(k, UV_READABLE | UV_WRITABLE);
			return true;
		}
		if (sent < 0) {
			answer_closed(k, false, errno);
			return false;
		}
		s->written += (size_t)sent;
	}
	link_wait_for(k, UV_READABLE);
	return true;
}

void link_write(struct link *k)
{
	struct stream *s = k->stream;

	if (!(k->tls ? tls_write(k) : plain_write(k)))
		return;
	if (s->written == s->total && !s->end.times.sent && !(k->tls && BIO_pending(k->to_peer)))
		s->end.times.sent = clock_monotonic_ns();
}

void link_carry(struct link *k, struct stream *s)
{
	if (k->state == LINK_IDLE)
		link_move(k, &k->client->idle, &k->client->busy);
	k->stream = s;
	s->link = k;
	k->state = LINK_BUSY;
	answer_begin(k);
	s->end.times.connected = k->used ? s->end.times.submitted : clock_monotonic_ns();
	k->deadline_ms = (int64_t)uv_now(k->client->loop) + k->client->endpoint->head_timeout_ms;
	link_write(k);
}

/* ---- reading ---- */

static int64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

enum { CLOCKS_CHECKED_NS = 10000000 }; /* a step of the wall clock spoils stamps for no longer than this */

static int64_t wall_to_monotonic(struct stream_client *c, int64_t stamp, int64_t now)
{
	if (now - c->wall_checked_ns > CLOCKS_CHECKED_NS || now < c->wall_checked_ns) {
		c->wall_ahead_ns = now - clock_monotonic_ns();
		c->wall_checked_ns = now;
	}
	return stamp - c->wall_ahead_ns;
}

static void health_count(struct stream_health *h, size_t bytes, int64_t lag)
{
	uint64_t half = 0; /* of 1 µs * 2^(i/2) */

	h->reads++;
	h->bytes += bytes;
	if (lag > h->lag_max)
		h->lag_max = lag;
	if (lag >= 1000) { /* squared, half steps are whole: i = floor(log2((lag / 1 µs)^2)) + 1 */
		double micro = (double)lag / 1000, square = micro * micro;
		uint64_t whole = square < 1e18 ? (uint64_t)square : (uint64_t)1e18;

		half = 64 - (uint64_t)__builtin_clzll(whole);
	}
	h->lag[half < STREAM_LAG_CELLS ? half : STREAM_LAG_CELLS - 1]++;
}

static int64_t stamp_of(struct stream_client *c, struct msghdr *message, size_t bytes)
{
	int64_t now = wall_ns(), stamp = 0;

	for (struct cmsghdr *m = CMSG_FIRSTHDR(message); m; m = CMSG_NXTHDR(message, m))
		if (m->cmsg_level == SOL_SOCKET && m->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec t;

			memcpy(&t, CMSG_DATA(m), sizeof t);
			stamp = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
		}
	if (!stamp || stamp > now) {
		c->health.unstamped += !stamp;
		stamp = now;
	}
	c->lag = now - stamp;
	health_count(&c->health, bytes, c->lag);
	return wall_to_monotonic(c, stamp, now);
}

static ssize_t link_receive(struct link *k)
{
	struct stream_client *c = k->client;
	union {
		char bytes[CMSG_SPACE(sizeof(struct timespec))];
		struct cmsghdr align;
	} control;
	struct iovec part = { c->bytes, STREAM_BUFFER };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
	ssize_t size;

	do
		size = recvmsg(k->fd, &message, MSG_DONTWAIT);
	while (size < 0 && errno == EINTR);
	if (size > 0)
		c->stamp = stamp_of(c, &message, (size_t)size);
	else
		c->stamp = clock_monotonic_ns();
	return size;
}

static void link_read(struct link *k)
{
	ssize_t size;
	int turns = 4; /* then the others */

	do {
		size = link_receive(k);
		if (size < 0 && errno == EAGAIN)
			return;
		if (size <= 0) {
			answer_closed(k, size == 0 && !k->tls, size ? errno : 0);
			return;
		}
		struct str bytes = str_of(k->client->bytes, (size_t)size);

		if (k->tls)
			tls_take(k, bytes);
		else
			answer_take(k, bytes);
	} while (size == STREAM_BUFFER && k->state != LINK_CLOSED && --turns);
}

/* ---- events ---- */

void link_connected(struct link *k)
{
	k->client->address_first = (k->client->address_first + k->address) % k->client->address_count;
	k->address = 0;
	link_carry(k, k->stream);
}

static void link_connect_end(struct link *k)
{
	struct stream *s = k->stream;
	int code = 0;
	socklen_t size = sizeof code;

	getsockopt(k->fd, SOL_SOCKET, SO_ERROR, &code, &size);
	if (!code) {
		if (!k->client->endpoint->is_tls)
			link_connected(k);
		else
			tls_begin(k);
		return;
	}
	k->stream = NULL;
	s->link = NULL;
	link_close(k);
	if (k->address + 1 < k->client->address_count)
		link_open_from(k->client, s, k->address + 1);
	else {
		connect_failed(k->client, s, code);
		stream_tell_end(s);
	}
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct link *k = poll->data;
	bool blocked;

	if (k->state == LINK_CONNECTING) {
		link_connect_end(k);
		return;
	}
	if (status < 0 || (events & UV_READABLE))
		link_read(k);
	if (k->state == LINK_CLOSED || !(events & UV_WRITABLE))
		return;
	if (k->state == LINK_HANDSHAKE)
		tls_flush(k, &blocked);
	else if (k->state == LINK_BUSY)
		link_write(k);
	else
		link_wait_for(k, UV_READABLE);
}
