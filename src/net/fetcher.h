/* fetcher: HTTP(S) requests on the caller's libuv loop, on libcurl's multi interface, each with a callback at its end. For daemons;
 * programs that just want answers take http.h. All calls come from the loop's thread. The process ignores SIGPIPE. */
#ifndef GOODPUT_NET_FETCHER_H
#define GOODPUT_NET_FETCHER_H

#include "net/http.h"

#include <uv.h>

struct fetcher;
struct fetch; /* one request on its way */

struct fetcher *fetcher_new(uv_loop_t *loop);
/* Gives up all that is on its way, without calling back. The loop must run on until it has nothing to do; then all is freed. */
void fetcher_close(struct fetcher *f);

/* The request, its strings, the answer and the arena stay until `done` has been called or the fetch is cancelled. The answer's texts are in
 * the arena. NULL: it could not even start, the answer says why, and `done` is not called. */
typedef void fetch_done(void *context, struct http_answer *answer);
struct fetch *fetcher_start(struct fetcher *f, struct arena *arena, const struct http_request *request, struct http_answer *answer,
	fetch_done *done, void *context);
/* Ends it with an answer that says so ("interrupted"); `done` is not called. */
void fetch_cancel(struct fetch *x);

#endif
