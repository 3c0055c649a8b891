/* remote_internal: what the files of the remote backend share. Internal to promql. */
#ifndef GOODPUT_PROMQL_REMOTE_INTERNAL_H
#define GOODPUT_PROMQL_REMOTE_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "net/http.h"
#include "promql/remote.h"

#include <jansson.h>

/* Label sets of answers, each once: results borrow them, and equal sets are equal pointers. They live as long as the backend. */
struct label_pool {
	struct map by_hash;
	VEC(struct labels *) all;
};
void label_pool_init(struct label_pool *p);
void label_pool_fini(struct label_pool *p);
/* Takes over the caller's reference. */
const struct labels *label_pool_take(struct label_pool *p, struct labels *l);

struct remote {
	struct backend backend;
	struct arena arena; /* copies of the options, texts of the statistics */
	struct http_client *client;
	struct remote_options options;
	struct str shown; /* the base without user and password, for messages */
	struct str base;  /* "http://h:9090/prometheus", without /api/v1 */
	const char *headers[5];
	bool use_get;          /* POST was answered 405 */
	struct matcher *match; /* of options.match; without compiled regexes: only printed */
	size_t match_count;
	struct label_pool pool;
	struct remote_stats stats;
	struct map warnings;            /* texts in the statistics */
	struct map twins;               /* hashes of series left out as HA twins */
	const char *replica_labels[16]; /* NULL-terminated, once known */
	bool replica_labels_known;
};

/* How a request ended, for callers that can do something about it. */
enum call_status {
	CALL_OK,
	CALL_TOO_MUCH, /* above a limit of the server or of ours: ask for less; the error is set too */
	CALL_FAILED
};
enum { ANSWER_MAX = 64 << 20, SELECT_ANSWER_MAX = 16 << 20 };

/* remote_call.c: one request to PATH below /api/v1 with form parameters ("a=b&c=d"). On success *data is the envelope's data (decref it),
 * and warnings are collected; `root` keeps it alive. */
struct call {
	const char *path;
	struct str form;
	struct str query; /* for the position in error texts; may be empty */
	size_t max_bytes;
	bool only_get;
	json_t *root, *data; /* result; json_decref(root) */
};
enum call_status remote_call(struct remote *r, struct call *c, struct error *e);
/* One request outside the statistics and the budget: does the URL answer as a query API? */
bool remote_answers(const struct http_answer *answer);
/* "name=<percent-encoded text>" with "&" before it when needed. */
void form_add(struct buf *form, const char *name, struct str text);
void form_add_time(struct buf *form, const char *name, int64_t t_ms);
void remote_warning(struct remote *r, struct str text);

/* remote_json.c */
bool remote_value_read(struct label_pool *pool, struct arena *arena, json_t *data, struct promql_value *value, struct error *e);
struct str *remote_strings_read(struct arena *arena, json_t *list, size_t *count);

/* remote_select.c */
bool remote_select(struct backend *b, struct arena *arena, const struct matcher *matchers, size_t matcher_count, int64_t from_ms,
	int64_t to_ms, struct series_view **series, size_t *count, struct error *e);
/* {a="b",c=~"d"} of two lists. */
void remote_print_matchers(const struct matcher *a, size_t a_count, const struct matcher *b, size_t b_count, struct buf *out);

/* remote_replica.c: leaves one of each pair of HA twins and takes the replica label off; `t_ms` is the selection's end. `count` is updated.
 */
bool remote_drop_twins(struct remote *r, struct series_view *series, size_t *count, int64_t t_ms, struct error *e);

#endif
