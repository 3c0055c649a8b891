#include "net/stream_internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <netdb.h>
#include <stdio.h>
#include <unistd.h>

enum { SWEEP_MS = 100 };

static const char *const failure_names[] = { "ok", "no_host", "refused", "unreachable", "connect_timeout", "tls", "tls_mismatch",
	"head_timeout", "idle_timeout", "whole_timeout", "closed", "reset", "cut", "not_http", "encoding", "local", "cancelled" };

const char *stream_failure_name(enum stream_failure f)
{
	return failure_names[f];
}

/* ---- lists and ends ---- */

void stream_list_add(struct stream_list *l, struct stream *s)
{
	s->next = NULL;
	s->previous = l->last;
	if (l->last)
		l->last->next = s;
	else
		l->first = s;
	l->last = s;
}

void stream_list_remove(struct stream_list *l, struct stream *s)
{
	if (s->previous)
		s->previous->next = s->next;
	else
		l->first = s->next;
	if (s->next)
		s->next->previous = s->previous;
	else
		l->last = s->previous;
	s->next = s->previous = NULL;
}

void stream_fail_with(struct stream *s, enum stream_failure failure, const char *format, va_list args)
{
	s->end.failure = failure;
	vsnprintf(s->end.detail, sizeof s->end.detail, format, args);
	s->end.times.end = clock_monotonic_ns();
}

void stream_fail(struct stream *s, enum stream_failure failure, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	stream_fail_with(s, failure, format, args);
	va_end(args);
}

void stream_tell_end(struct stream *s)
{
	s->handler.on_end(s->context, s, &s->end);
	buf_fini(&s->opening);
	mem_free(s);
}

static void on_turn(uv_timer_t *timer)
{
	struct stream_client *c = timer->data;
	struct stream_list ended = c->ended;

	c->ended = (struct stream_list){ 0 };
	while (ended.first) {
		struct stream *s = ended.first;

		stream_list_remove(&ended, s);
		stream_tell_end(s);
	}
}

void stream_tell_end_later(struct stream *s)
{
	struct stream_client *c = s->client;

	stream_list_add(&c->ended, s);
	uv_timer_start(&c->turn, on_turn, 0, 0);
}

/* ---- time-outs: one timer walks all ---- */

static void on_sweep(uv_timer_t *timer)
{
	struct stream_client *c = timer->data;
	int64_t now = (int64_t)uv_now(c->loop);

	for (struct link *k = c->busy, *next; k; k = next) {
		next = k->next; /* the end of a stream can open links, at the front, and closes no other */
		if ((k->deadline_ms && now >= k->deadline_ms) ||
			(k->stream && k->stream->whole_deadline_ms && now >= k->stream->whole_deadline_ms))
			link_time_out(k);
	}
	for (struct stream *s = c->waiting.first, *next; s; s = next) {
		next = s->next;
		if (now >= s->deadline_ms) {
			stream_list_remove(&c->waiting, s);
			stream_fail(s, STREAM_NO_HOST, "the name %s was not resolved in %g s", c->endpoint->host,
				c->endpoint->connect_timeout_ms / 1e3);
			stream_tell_end_later(s);
		}
	}
}

/* ---- addresses ---- */

static const struct addrinfo address_hints = { .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP, .ai_flags = AI_ADDRCONFIG };

static void addresses_take(struct stream_client *c, struct addrinfo *found)
{
	c->addresses = found;
	c->address_count = c->address_first = 0;
	for (const struct addrinfo *a = found; a; a = a->ai_next)
		c->address_count++;
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
	struct stream_client *c = request->data;
	struct stream_list waiting = c->waiting;

	c->resolving = false;
	c->open_handles--;
	c->waiting = (struct stream_list){ 0 };
	if (status == 0)
		addresses_take(c, found);
	while (waiting.first) {
		struct stream *s = waiting.first;

		stream_list_remove(&waiting, s);
		if (status == 0) {
			link_open(c, s);
			continue;
		}
		stream_fail(s, STREAM_NO_HOST, "the name %s cannot be resolved: %s", c->endpoint->host, uv_strerror(status));
		stream_tell_end_later(s);
	}
	stream_client_maybe_free(c);
}

static void stream_resolve(struct stream *s)
{
	struct stream_client *c = s->client;
	int status;

	s->deadline_ms = (int64_t)uv_now(c->loop) + c->endpoint->connect_timeout_ms;
	stream_list_add(&c->waiting, s);
	if (c->resolving)
		return;
	c->resolving = true;
	c->open_handles++;
	c->resolve.data = c;
	status = uv_getaddrinfo(c->loop, &c->resolve, on_resolved, c->endpoint->host, c->endpoint->port, &address_hints);
	if (status == 0)
		return;
	c->resolving = false;
	c->open_handles--;
	stream_list_remove(&c->waiting, s);
	stream_fail(s, STREAM_NO_HOST, "the name %s cannot be resolved: %s", c->endpoint->host, uv_strerror(status));
	stream_tell_end_later(s);
}

/* An address needs no resolver, and no thread. */
static void address_take_literal(struct stream_client *c)
{
	struct addrinfo hints = address_hints, *found;

	hints.ai_flags = AI_NUMERICHOST;
	if (c->endpoint->host_is_address && getaddrinfo(c->endpoint->host, c->endpoint->port, &hints, &found) == 0)
		addresses_take(c, found);
}

/* ---- requests ---- */

void stream_place(struct stream *s)
{
	struct stream_client *c = s->client;

	if (c->idle) {
		s->end.reused = true;
		link_carry(c->idle, s);
	} else if (c->addresses)
		link_open(c, s);
	else
		stream_resolve(s);
}

static void stream_open(struct stream *s)
{
	const struct stream_request *r = &s->request;
	const struct endpoint *p = s->client->endpoint;

	buf_init(&s->opening, 1 << 20);
	buf_printf(&s->opening, "%s %s" STR_FMT " HTTP/1.1\r\nHost: %s\r\nAccept-Encoding: identity\r\n", r->method ? r->method : "POST",
		p->prefix, STR_ARG(r->path), p->authority);
	if (p->fresh)
		buf_add_cstr(&s->opening, "Connection: close\r\n");
	buf_add(&s->opening, r->headers);
	if (r->body.len || !r->method)
		buf_printf(&s->opening, "Content-Length: %zu\r\n", r->body.len);
	buf_add_cstr(&s->opening, "\r\n");
	s->total = s->opening.len + r->body.len;
}

struct stream *stream_start(
	struct stream_client *c, const struct stream_request *request, const struct stream_handler *handler, void *context)
{
	struct stream *s = NEW(struct stream);

	s->client = c;
	s->request = *request;
	s->handler = *handler;
	s->context = context;
	stream_open(s);
	s->end.times.submitted = clock_monotonic_ns();
	if (c->endpoint->whole_timeout_ms)
		s->whole_deadline_ms = (int64_t)uv_now(c->loop) + c->endpoint->whole_timeout_ms;
	stream_place(s);
	return s;
}

void stream_cancel(struct stream *s)
{
	if (s->end.failure != STREAM_OK) /* has ended already, is about to be told */
		return;
	if (s->link) {
		s->link->stream = NULL;
		link_close(s->link);
		s->link = NULL;
	} else
		stream_list_remove(&s->client->waiting, s);
	stream_fail(s, STREAM_CANCELLED, "cancelled");
	stream_tell_end_later(s);
}

/* ---- life ---- */

static void timer_open(struct stream_client *c, uv_timer_t *timer)
{
	uv_timer_init(c->loop, timer);
	timer->data = c;
	c->open_handles++;
}

struct stream_client *stream_client_new(uv_loop_t *loop, const struct endpoint *p)
{
	struct stream_client *c = NEW(struct stream_client);

	c->loop = loop;
	c->endpoint = p;
	c->bytes = mem_alloc(STREAM_BUFFER);
	c->plain = p->is_tls ? mem_alloc(STREAM_BUFFER) : NULL;
	c->stamper = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setsockopt(c->stamper, SOL_SOCKET, SO_TIMESTAMPNS, &(int){ 1 }, sizeof(int));
	timer_open(c, &c->sweep);
	timer_open(c, &c->turn);
	uv_timer_start(&c->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
	uv_unref((uv_handle_t *)&c->sweep);
	address_take_literal(c);
	return c;
}

void stream_client_maybe_free(struct stream_client *c)
{
	if (!c->closing || c->open_handles)
		return;
	if (c->addresses)
		uv_freeaddrinfo(c->addresses);
	if (c->stamper >= 0)
		close(c->stamper);
	mem_free(c->bytes);
	mem_free(c->plain);
	mem_free(c);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct stream_client *c = handle->data;

	c->open_handles--;
	stream_client_maybe_free(c);
}

void stream_client_close(struct stream_client *c)
{
	c->closing = true;
	while (c->idle)
		link_close(c->idle);
	while (c->busy)
		stream_cancel(c->busy->stream);
	while (c->waiting.first)
		stream_cancel(c->waiting.first);
	on_turn(&c->turn);
	if (c->resolving)
		uv_cancel((uv_req_t *)&c->resolve);
	uv_close((uv_handle_t *)&c->sweep, on_timer_closed);
	uv_close((uv_handle_t *)&c->turn, on_timer_closed);
}

/* ---- health ---- */

const struct stream_health *stream_client_health(const struct stream_client *c)
{
	return &c->health;
}

int64_t stream_client_lag(const struct stream_client *c)
{
	return c->lag;
}

int64_t stream_lag_quantile(const struct stream_health *h, double q)
{
	uint64_t wanted = (uint64_t)ceil(q * (double)h->reads), seen = 0;

	for (int i = 0; i < STREAM_LAG_CELLS && h->reads; i++) {
		seen += h->lag[i];
		if (seen >= wanted && seen) {
			int64_t bound = (int64_t)(1000 * pow(2, i / 2.0));

			return bound < h->lag_max && i < STREAM_LAG_CELLS - 1 ? bound : h->lag_max;
		}
	}
	return 0;
}

void stream_health_add(struct stream_health *sum, const struct stream_health *h)
{
	sum->reads += h->reads;
	sum->bytes += h->bytes;
	sum->unstamped += h->unstamped;
	sum->opened += h->opened;
	sum->kept_lost += h->kept_lost;
	sum->open_now += h->open_now;
	sum->open_max += h->open_max;
	for (int i = 0; i < STREAM_LAG_CELLS; i++)
		sum->lag[i] += h->lag[i];
	if (h->lag_max > sum->lag_max)
		sum->lag_max = h->lag_max;
}
