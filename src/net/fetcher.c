#include "net/fetcher.h"

#include "base/mem.h"
#include "net/transfer.h"

enum { CONNECTIONS_KEPT = 256 };

struct fetch {
	struct transfer transfer;
	struct fetcher *fetcher;
	struct fetch *previous, *next;
	fetch_done *done;
	void *context;
};

struct fetcher {
	uv_loop_t *loop;
	uv_timer_t timer; /* libcurl's */
	CURLM *multi;
	struct fetch *running;
	bool closing;
};

/* A socket that libcurl wants watched. */
struct watched_socket {
	uv_poll_t poll;
	curl_socket_t socket;
	struct fetcher *fetcher;
};

static void fetch_free(struct fetch *x)
{
	if (x->previous)
		x->previous->next = x->next;
	else
		x->fetcher->running = x->next;
	if (x->next)
		x->next->previous = x->previous;
	transfer_fini(&x->transfer);
	mem_free(x);
}

/* `done` may start and cancel others, even this one's sockets are gone by then. */
static void fetch_finish(struct fetch *x)
{
	struct http_answer *answer = x->transfer.answer;
	fetch_done *done = x->done;
	void *context = x->context;
	fetch_free(x);
	done(context, answer);
}

static void transfers_collect(struct fetcher *f)
{
	int left;
	for (CURLMsg *m; !f->closing && (m = curl_multi_info_read(f->multi, &left));) {
		if (m->msg != CURLMSG_DONE)
			continue;
		CURL *easy = m->easy_handle;
		CURLcode code = m->data.result;
		struct fetch *x;
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&x);
		bool again = transfer_end(&x->transfer, code);
		curl_multi_remove_handle(f->multi, easy);
		if (again)
			curl_multi_add_handle(f->multi, easy);
		else
			fetch_finish(x);
	}
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct watched_socket *w = poll->data;
	struct fetcher *f = w->fetcher;
	int flags = 0, running;
	if (status < 0 || events & UV_READABLE) /* libuv names no cause; libcurl finds it when it reads */
		flags |= CURL_CSELECT_IN;
	if (status < 0 || events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	curl_multi_socket_action(f->multi, w->socket, flags, &running);
	transfers_collect(f);
}

static void on_socket_closed(uv_handle_t *handle)
{
	mem_free(handle->data);
}

static struct watched_socket *socket_watch(struct fetcher *f, curl_socket_t socket)
{
	struct watched_socket *w = NEW(struct watched_socket);
	w->socket = socket;
	w->fetcher = f;
	w->poll.data = w;
	if (uv_poll_init_socket(f->loop, &w->poll, socket) != 0) {
		mem_free(w);
		return NULL;
	}
	curl_multi_assign(f->multi, socket, w);
	return w;
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *user, void *assigned)
{
	struct fetcher *f = user;
	struct watched_socket *w = assigned;
	if (what == CURL_POLL_REMOVE) {
		if (w) {
			curl_multi_assign(f->multi, socket, NULL);
			uv_close((uv_handle_t *)&w->poll, on_socket_closed);
		}
		return 0;
	}
	if (!w)
		w = socket_watch(f, socket);
	if (!w)
		return -1;
	int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
	return uv_poll_start(&w->poll, events, on_poll) == 0 ? 0 : -1;
}

static void on_timer(uv_timer_t *timer)
{
	struct fetcher *f = timer->data;
	int running;
	curl_multi_socket_action(f->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	transfers_collect(f);
}

static int on_timeout_wanted(CURLM *multi, long timeout_ms, void *user)
{
	struct fetcher *f = user;
	if (f->closing)
		return 0;
	if (timeout_ms < 0)
		return uv_timer_stop(&f->timer);
	uv_update_time(f->loop);
	return uv_timer_start(&f->timer, on_timer, (uint64_t)timeout_ms, 0);
}

static void curl_start(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct fetcher *fetcher_new(uv_loop_t *loop)
{
	static uv_once_t once = UV_ONCE_INIT;
	uv_once(&once, curl_start);
	struct fetcher *f = NEW(struct fetcher);
	f->loop = loop;
	uv_timer_init(loop, &f->timer);
	f->timer.data = f;
	f->multi = curl_multi_init();
	curl_multi_setopt(f->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(f->multi, CURLMOPT_SOCKETDATA, f);
	curl_multi_setopt(f->multi, CURLMOPT_TIMERFUNCTION, on_timeout_wanted);
	curl_multi_setopt(f->multi, CURLMOPT_TIMERDATA, f);
	curl_multi_setopt(f->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_KEPT);
	return f;
}

static void on_timer_closed(uv_handle_t *handle)
{
	mem_free(handle->data);
}

void fetcher_close(struct fetcher *f)
{
	if (!f)
		return;
	while (f->running)
		fetch_cancel(f->running);
	f->closing = true;
	curl_multi_cleanup(f->multi);
	uv_close((uv_handle_t *)&f->timer, on_timer_closed);
}

struct fetch *fetcher_start(struct fetcher *f, struct arena *arena, const struct http_request *request, struct http_answer *answer,
	fetch_done *done, void *context)
{
	struct fetch *x = NEW(struct fetch);
	if (!transfer_init(&x->transfer, arena, request, answer)) {
		transfer_fini(&x->transfer);
		mem_free(x);
		return NULL;
	}
	x->fetcher = f;
	x->done = done;
	x->context = context;
	x->next = f->running;
	if (x->next)
		x->next->previous = x;
	f->running = x;
	curl_easy_setopt(x->transfer.easy, CURLOPT_PRIVATE, x);
	curl_multi_add_handle(f->multi, x->transfer.easy);
	return x;
}

void fetch_cancel(struct fetch *x)
{
	curl_multi_remove_handle(x->fetcher->multi, x->transfer.easy);
	transfer_give_up(&x->transfer, "interrupted");
	fetch_free(x);
}
