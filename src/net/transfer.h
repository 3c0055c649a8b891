/* transfer: one request on one libcurl handle: options, callbacks, redirects, and what its end means. The loop that moves it is http.c. */
#ifndef GOODPUT_NET_TRANSFER_H
#define GOODPUT_NET_TRANSFER_H

#include "net/gunzip.h"
#include "net/http.h"

#include <curl/curl.h>

enum { REDIRECTS_MAX = 5 };

struct transfer {
	const struct http_request *request;
	struct http_answer *answer;
	struct arena *arena;
	CURL *easy;
	struct curl_slist *headers, *connect_to;
	struct str url;  /* of this hop */
	char place[160]; /* host:port of this hop, for messages */
	bool is_post;    /* a redirect can turn it into a GET */
	int redirects;
	int64_t start_ns, timeout_ns;
	size_t max_bytes;
	/* The answer while it arrives. */
	struct buf body;
	struct gunzip gunzip;
	bool is_gzip, is_unknown_coding;
	bool head_is_whole;
	enum http_failure abort; /* set by a callback that ended the transfer */
	char curl_words[CURL_ERROR_SIZE];
};

/* Fills the answer and returns false when the request cannot even start. */
bool transfer_init(struct transfer *t, struct arena *arena, const struct http_request *request, struct http_answer *answer);
void transfer_fini(struct transfer *t);
/* At the end of a hop. True: it is a redirect to follow, the handle is set up for the next hop. False: the answer is filled. */
bool transfer_end(struct transfer *t, CURLcode code);
/* The answer of a transfer that the caller gave up. */
void transfer_give_up(struct transfer *t, const char *why);

/* failure.c: what libcurl's code means here; writes answer->failure and answer->detail. */
void failure_of_curl(struct transfer *t, CURLcode code);
void failure_set(struct transfer *t, enum http_failure failure, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
