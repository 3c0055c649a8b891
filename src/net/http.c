#include "net/http.h"

#include "base/mem.h"
#include "net/fetcher.h"
#include "net/transfer.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { PARALLEL = 64, STOP_LOOK_MS = 50 };

/* One call of http_fetch_all. */
struct batch {
	struct http_client *client;
	struct arena *arena;
	const struct http_request *requests;
	struct http_answer *answers;
	size_t count, next, active, parallel;
	struct fetch **running; /* by request; NULL = not on its way */
	const volatile bool *stop;
};

struct http_client {
	uv_loop_t loop;
	uv_timer_t stop_timer; /* looks at batch->stop */
	struct fetcher *fetcher;
	struct batch *batch;
};

static void on_done(void *context, struct http_answer *answer);

static void batch_start_more(struct batch *b)
{
	for (; b->active < b->parallel && b->next < b->count; b->next++) {
		size_t i = b->next;
		b->running[i] = fetcher_start(b->client->fetcher, b->arena, &b->requests[i], &b->answers[i], on_done, b);
		b->active += b->running[i] != NULL;
	}
}

static void on_done(void *context, struct http_answer *answer)
{
	struct batch *b = context;
	b->running[answer - b->answers] = NULL;
	b->active--;
	batch_start_more(b);
}

static void batch_stop(struct batch *b)
{
	for (size_t i = 0; i < b->next; i++) {
		if (!b->running[i])
			continue;
		fetch_cancel(b->running[i]);
		b->running[i] = NULL;
		b->active--;
	}
	for (; b->next < b->count; b->next++) {
		struct transfer t = { .answer = &b->answers[b->next] };
		*t.answer = (struct http_answer){ 0 };
		failure_set(&t, HTTP_OTHER, "interrupted before it began");
	}
}

static void on_stop_timer(uv_timer_t *timer)
{
	struct http_client *c = timer->data;
	if (__atomic_load_n(c->batch->stop, __ATOMIC_RELAXED)) /* set by a signal handler or another thread */
		batch_stop(c->batch);
}

struct http_client *http_client_new(void)
{
	struct http_client *c = NEW(struct http_client);
	uv_loop_init(&c->loop);
	uv_timer_init(&c->loop, &c->stop_timer);
	c->stop_timer.data = c;
	c->fetcher = fetcher_new(&c->loop);
	return c;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	fetcher_close(c->fetcher);
	uv_close((uv_handle_t *)&c->stop_timer, NULL);
	uv_run(&c->loop, UV_RUN_DEFAULT);
	uv_loop_close(&c->loop);
	mem_free(c);
}

/* SIGPIPE, for this thread alone: others may be in the middle of a fetch too. */
static void pipe_block(sigset_t *before)
{
	sigset_t pipe;
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, before);
}

static void pipe_unblock(const sigset_t *before)
{
	const struct timespec at_once = { 0 };
	sigset_t pipe;
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	while (!sigismember(before, SIGPIPE) && sigtimedwait(&pipe, NULL, &at_once) > 0)
		;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

void http_fetch_all(struct http_client *c, struct arena *arena, const struct http_request *requests, struct http_answer *answers,
	size_t count, size_t parallel, const volatile bool *stop)
{
	struct batch b = { c, arena, requests, answers, count, .parallel = parallel ? parallel : PARALLEL, .stop = stop };
	sigset_t before;
	if (count == 0)
		return;
	b.running = mem_zalloc(count, sizeof(struct fetch *));
	c->batch = &b;
	pipe_block(&before); /* OpenSSL writes without MSG_NOSIGNAL */
	if (stop && __atomic_load_n(stop, __ATOMIC_RELAXED))
		batch_stop(&b);
	else if (stop)
		uv_timer_start(&c->stop_timer, on_stop_timer, STOP_LOOK_MS, STOP_LOOK_MS);
	batch_start_more(&b);
	while (b.active > 0)
		uv_run(&c->loop, UV_RUN_ONCE);
	uv_timer_stop(&c->stop_timer);
	uv_run(&c->loop, UV_RUN_NOWAIT); /* handles that are closing */
	pipe_unblock(&before);
	c->batch = NULL;
	mem_free(b.running);
}

void http_fetch(struct http_client *c, struct arena *arena, const struct http_request *request, struct http_answer *answer)
{
	http_fetch_all(c, arena, request, answer, 1, 1, NULL);
}

static void encode(struct str text, bool form, struct buf *out)
{
	static const char digits[] = "0123456789ABCDEF";
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
			     c == '.' || c == '~';
		if (plain) {
			buf_add_c(out, (char)c);
		} else if (c == ' ' && form) {
			buf_add_c(out, '+');
		} else {
			buf_add_c(out, '%');
			buf_add_c(out, digits[c >> 4]);
			buf_add_c(out, digits[c & 15]);
		}
	}
}

void http_encode(struct str text, struct buf *out)
{
	encode(text, false, out);
}

void http_encode_form(struct str text, struct buf *out)
{
	encode(text, true, out);
}
