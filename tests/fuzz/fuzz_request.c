/* fuzz_request: any bytes as what a client sends: requests are read out of them, fed in one piece and byte by byte, which must agree; each
 * whole one is answered from a small fixed store. Answers of the API must be one JSON document. */
#include "net/message.h"
#include "web/web.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REQUESTS_MOST = 16 };

static struct store *store;
static struct web_source source;
static struct promql_options limits;

static void setup(void)
{
	store = store_new();
	struct sink *sink = store_sink(store);

	for (int i = 0; i < 4; i++) {
		struct label pairs[] = { { LABEL_NAME, STR("up") }, { STR("job"), i % 2 ? STR("a") : STR("b\n\"\\") },
			{ STR("pod"), i < 2 ? STR("x") : STR("y") } };
		struct labels *labels = labels_new(pairs, 3);
		struct series *series = sink->ops->series(sink, labels, METRIC_GAUGE);

		for (int k = 0; k < 20; k++)
			sink->ops->append(sink, series, 1000 + k * 15000, k == 7 ? number_stale() : k);
		labels_unref(labels);
	}
	limits = promql_defaults;
	limits.max_samples = 20000;
	limits.timeout_ms = 2000;
	source = (struct web_source){ .backend = backend_embedded_new(store), .store = store, .limits = &limits, .folder = "/" };
}

static void must_be_json(const struct web_reply *r)
{
	json_error_t why;
	json_t *root = json_loadb(r->body.ptr, r->body.len, JSON_ALLOW_NUL, &why);

	if (!root) {
		fprintf(stderr, "not JSON: %s: %.*s\n", why.text, (int)r->body.len, r->body.ptr);
		abort();
	}
	json_decref(root);
}

static void answer(const struct message *m)
{
	struct arena arena;
	struct web_reply reply;

	arena_init(&arena);
	web_reply_init(&reply);
	struct web_request request = { .method = m->method,
		.path = m->path,
		.query = m->query,
		.body = m->body,
		.content_type = message_header(m, "Content-Type"),
		.now_ms = 300000,
		.source = &source,
		.arena = &arena };

	web_answer(&request, &reply);
	if (reply.content_type && strcmp(reply.content_type, "application/json") == 0)
		must_be_json(&reply);
	web_reply_fini(&reply);
	arena_fini(&arena);
}

/* Reads all requests, at most `step` bytes at a time. What each was is added up in `*seen`. */
static void read_all(const uint8_t *data, size_t size, size_t step, bool answers, uint64_t *seen)
{
	struct message_parser *p = message_parser_new(&(struct message_limits){ 4096, 65536 });
	size_t at = 0, requests = 0;

	*seen = 0;
	while (at < size && requests < REQUESTS_MOST) {
		size_t consumed, most = size - at < step ? size - at : step;
		enum message_status status = message_feed(p, str_of((const char *)data + at, most), &consumed);

		at += consumed;
		if (status == MESSAGE_REFUSED) {
			*seen = *seen * 31 + 7;
			break;
		}
		if (status != MESSAGE_WHOLE)
			continue;
		const struct message *m = message_of(p);

		*seen = *seen * 31 + m->path.len * 3 + m->body.len * 5 + m->header_count;
		requests++;
		if (answers)
			answer(m);
		message_next(p);
	}
	message_parser_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t whole, pieces;

	if (!store)
		setup();
	read_all(data, size, size ? size : 1, true, &whole);
	read_all(data, size, 1, false, &pieces);
	if (whole != pieces) {
		fprintf(stderr, "the same bytes in pieces are other requests\n");
		abort();
	}
	return 0;
}
