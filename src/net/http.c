#include "net/http.h"

#include "base/mem.h"
#include "net/transfer.h"

#include <signal.h>
#include <uv.h>

enum { PARALLEL = 64, STOP_LOOK_MS = 50, CONNECTIONS_KEPT = 256 };

/* One call of http_fetch_all. */
struct batch {
	struct arena *arena;
	const struct http_request *requests;
	struct http_answer *answers;
	size_t count, next, active, parallel;
	struct transfer **running; /* `parallel` places; NULL = free */
	const volatile bool *stop;
};

struct http_client {
	uv_loop_t loop;
	uv_timer_t timer;      /* libcurl's */
	uv_timer_t stop_timer; /* looks at batch->stop */
	CURLM *multi;
	struct batch *batch;
};

/* A socket that libcurl wants watched. */
struct watch {
	uv_poll_t poll;
	curl_socket_t socket;
	struct http_client *client;
};

static void batch_start_more(struct http_client *c);

static void transfer_drop(struct http_client *c, struct transfer *t)
{
	struct batch *b = c->batch;
	for (size_t i = 0; i < b->parallel; i++)
		if (b->running[i] == t)
			b->running[i] = NULL;
	transfer_fini(t);
	mem_free(t);
	b->active--;
}

static void transfers_collect(struct http_client *c)
{
	int left;
	for (CURLMsg *m; (m = curl_multi_info_read(c->multi, &left));) {
		if (m->msg != CURLMSG_DONE)
			continue;
		CURL *easy = m->easy_handle;
		CURLcode code = m->data.result;
		struct transfer *t;
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&t);
		bool again = transfer_end(t, code);
		curl_multi_remove_handle(c->multi, easy);
		if (again)
			curl_multi_add_handle(c->multi, easy);
		else
			transfer_drop(c, t);
	}
	batch_start_more(c);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct watch *w = poll->data;
	struct http_client *c = w->client;
	int flags = 0, running;
	if (status < 0 || events & UV_READABLE) /* libuv names no cause; libcurl finds it when it reads */
		flags |= CURL_CSELECT_IN;
	if (status < 0 || events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	curl_multi_socket_action(c->multi, w->socket, flags, &running);
	transfers_collect(c);
}

static void on_watch_closed(uv_handle_t *handle)
{
	mem_free(handle->data);
}

static struct watch *watch_new(struct http_client *c, curl_socket_t socket)
{
	struct watch *w = NEW(struct watch);
	w->socket = socket;
	w->client = c;
	w->poll.data = w;
	if (uv_poll_init_socket(&c->loop, &w->poll, socket) != 0) {
		mem_free(w);
		return NULL;
	}
	curl_multi_assign(c->multi, socket, w);
	return w;
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *user, void *assigned)
{
	struct http_client *c = user;
	struct watch *w = assigned;
	if (what == CURL_POLL_REMOVE) {
		if (w) {
			curl_multi_assign(c->multi, socket, NULL);
			uv_close((uv_handle_t *)&w->poll, on_watch_closed);
		}
		return 0;
	}
	if (!w)
		w = watch_new(c, socket);
	if (!w)
		return -1;
	int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
	return uv_poll_start(&w->poll, events, on_poll) == 0 ? 0 : -1;
}

static void on_timer(uv_timer_t *timer)
{
	struct http_client *c = timer->data;
	int running;
	curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	transfers_collect(c);
}

static int on_timeout_wanted(CURLM *multi, long timeout_ms, void *user)
{
	struct http_client *c = user;
	if (timeout_ms < 0)
		return uv_timer_stop(&c->timer);
	uv_update_time(&c->loop);
	return uv_timer_start(&c->timer, on_timer, (uint64_t)timeout_ms, 0);
}

static void batch_stop(struct http_client *c)
{
	struct batch *b = c->batch;
	for (size_t i = 0; i < b->parallel; i++) {
		struct transfer *t = b->running[i];
		if (!t)
			continue;
		curl_multi_remove_handle(c->multi, t->easy);
		transfer_give_up(t, "interrupted");
		transfer_drop(c, t);
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
	if (*c->batch->stop)
		batch_stop(c);
}

static void batch_start_one(struct http_client *c, size_t place)
{
	struct batch *b = c->batch;
	struct transfer *t = mem_alloc(sizeof *t);
	size_t i = b->next++;
	if (!transfer_init(t, b->arena, &b->requests[i], &b->answers[i])) {
		transfer_fini(t);
		mem_free(t);
		return;
	}
	b->running[place] = t;
	b->active++;
	curl_multi_add_handle(c->multi, t->easy);
}

static void batch_start_more(struct http_client *c)
{
	struct batch *b = c->batch;
	for (size_t place = 0; place < b->parallel; place++)
		while (!b->running[place] && b->next < b->count)
			batch_start_one(c, place);
}

static void curl_start(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct http_client *http_client_new(void)
{
	static uv_once_t once = UV_ONCE_INIT;
	uv_once(&once, curl_start);
	struct http_client *c = NEW(struct http_client);
	uv_loop_init(&c->loop);
	uv_timer_init(&c->loop, &c->timer);
	uv_timer_init(&c->loop, &c->stop_timer);
	c->timer.data = c->stop_timer.data = c;
	c->multi = curl_multi_init();
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timeout_wanted);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_KEPT);
	return c;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	curl_multi_cleanup(c->multi);
	uv_close((uv_handle_t *)&c->timer, NULL);
	uv_close((uv_handle_t *)&c->stop_timer, NULL);
	uv_run(&c->loop, UV_RUN_DEFAULT);
	uv_loop_close(&c->loop);
	mem_free(c);
}

void http_fetch_all(struct http_client *c, struct arena *arena, const struct http_request *requests, struct http_answer *answers,
	size_t count, size_t parallel, const volatile bool *stop)
{
	size_t places = parallel ? parallel : PARALLEL;
	struct batch b = { arena, requests, answers, count, .parallel = places < count ? places : count, .stop = stop };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	if (count == 0)
		return;
	b.running = mem_zalloc(b.parallel, sizeof(struct transfer *));
	c->batch = &b;
	sigaction(SIGPIPE, &ignore, &before); /* OpenSSL writes without MSG_NOSIGNAL */
	if (stop && *stop)
		batch_stop(c);
	else if (stop)
		uv_timer_start(&c->stop_timer, on_stop_timer, STOP_LOOK_MS, STOP_LOOK_MS);
	batch_start_more(c);
	while (b.active > 0)
		uv_run(&c->loop, UV_RUN_ONCE);
	uv_timer_stop(&c->stop_timer);
	uv_run(&c->loop, UV_RUN_NOWAIT); /* handles that are closing */
	sigaction(SIGPIPE, &before, NULL);
	c->batch = NULL;
	mem_free(b.running);
}

void http_fetch(struct http_client *c, struct arena *arena, const struct http_request *request, struct http_answer *answer)
{
	http_fetch_all(c, arena, request, answer, 1, 1, NULL);
}

void http_encode(struct str text, struct buf *out)
{
	static const char digits[] = "0123456789ABCDEF";
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
			     c == '.' || c == '~';
		if (plain) {
			buf_add_c(out, (char)c);
		} else {
			buf_add_c(out, '%');
			buf_add_c(out, digits[c >> 4]);
			buf_add_c(out, digits[c & 15]);
		}
	}
}
