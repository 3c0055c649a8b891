/* content: what is in a workload. Filled by read.c or by freeze.c, finished by content_finish, never changed afterwards. */
#ifndef GOODPUT_WORKLOAD_CONTENT_H
#define GOODPUT_WORKLOAD_CONTENT_H

#include "base/rng.h"
#include "base/sha256.h"
#include "base/vec.h"
#include "workload/workload.h"

enum {
	WORKLOAD_TOKENS_MAX = 10000000, /* of one prompt or output */
	WORKLOAD_TURNS_MAX = 200,
	WORKLOAD_TEXT_MAX = 1 << 28, /* bytes of a file */
	WORKLOAD_CLASSES_MAX = 1000,
	WORKLOAD_BUCKETS_MAX = 1000,
	WORKLOAD_SAMPLING_MAX = 32
};

/* ---- lengths ---- */

enum length_kind { LENGTH_FIXED, LENGTH_UNIFORM, LENGTH_LOGNORMAL, LENGTH_BUCKETS };
struct length_bucket {
	uint32_t most; /* from the bound before + 1 (the first: 1) to this */
	double weight;
};
struct length {
	enum length_kind kind;
	uint32_t least, most; /* FIXED: equal. LOGNORMAL: limits */
	double mean, cv;      /* LOGNORMAL */
	struct length_bucket *buckets;
	size_t bucket_count;
	double weight; /* sum over the buckets */
	double slope;  /* -1..1: inside a bucket the density runs linearly from 1 - slope to 1 + slope */
};

/* ---- what requests are made from: rows or a mix ---- */

struct workload_row {
	uint64_t time_us;        /* of a start, from the first one; of a later turn: pause after the end of the turn before */
	uint32_t prompt, output; /* tokens; of a later turn: new ones only */
	uint32_t next;           /* row of the next turn; 0 = none (no row follows itself, and the first row follows none) */
	uint32_t session;        /* as the file has it; 0 = none */
	bool follows;            /* a later turn of its session */
	const uint64_t *ids;     /* contents of `block` tokens each */
	uint32_t id_count;
};
struct workload_class {
	struct str name;
	double share;
	struct length prompt, output;
};
/* Shared beginnings: every prompt starts with one of `groups` texts, for `tokens` tokens or for `share` of its length. */
struct workload_prefix {
	uint32_t groups, tokens;
	double share;
};
struct workload_sessions {
	struct length turns; /* turns.most 0: there are no sessions */
	double pause;        /* seconds */
};
struct workload_source {
	struct str kind, file;
	VEC(struct str) remarks; /* what freezing changed or could not know: one sentence each */
};
/* A member of request bodies, as JSON text. */
struct workload_setting {
	struct str name, value;
};

struct workload {
	struct arena arena;
	struct str name;
	struct workload_source source;
	struct workload_plan plan;
	enum workload_format format;
	uint32_t template_tokens;
	uint32_t id_first, id_count; /* vocabulary for WORKLOAD_TOKEN_IDS */
	VEC(struct workload_setting) settings;
	struct str sampling;
	double temperature;

	VEC(struct workload_row) rows;
	VEC(uint32_t) starts; /* rows that begin a session or are a request alone, in order of time */
	uint32_t block;
	bool shuffled; /* with arrivals other than the rows' own times: any order of the rows, else theirs */
	bool has_ids, has_sessions;

	VEC(struct workload_class) classes;
	double class_weight;
	struct workload_prefix prefix;
	struct workload_sessions sessions;

	char hash[SHA256_TEXT];
};

/* Empty, with defaults. */
struct workload *content_new(void);
/* Order, chains of turns, sums: everything that requests are made from. Then the hash. False with an error (no position) when it makes no
 * requests or some values cannot be. Called once, when all is filled in. */
bool content_finish(struct workload *w, struct error *e);

/* workload_read for those who change it: a hash that does not match is no error, content_finish makes a new one. */
struct workload *workload_read_unhashed(const char *path, struct error *e);

/* write.c: the file, or only the part that is hashed. */
void content_write(const struct workload *w, struct buf *out);
void content_write_hashed(const struct workload *w, struct buf *out);

/* A text as a JSON string that YAML reads the same way. */
void content_add_text(struct buf *out, struct str text);

/* length.c */
uint32_t length_draw(const struct length *l, struct rng *r);
double length_mean(const struct length *l);

/* rows.c: "time_us prompt output [session] [ids]" a line. `offset` of the error is a byte in `text`. */
bool rows_parse(struct workload *w, struct str text, size_t *offset, struct error *e);
void rows_write(const struct workload *w, const char *indent, struct buf *out);

#endif
