/* workload: a frozen load profile. What requests look like (lengths, shared beginnings, turns, sampling) and when they come.
 *
 * A workload is read once, never changes, and may be shared by threads. A plan is one use of it: seed, salt, how many requests, and the
 * arrivals, which a sweep changes while the mix stays. Requests are a pure function of (workload, plan, number, turn): any thread can make
 * any of them, in any order, and the same file, seed and salt give the same bytes on every machine. Only due times depend on each other;
 * the cursor deals them out.
 *
 * There is no tokeniser. A token of text is a blank and three letters (the first of a message has no blank): one token in the
 * vocabularies in use and four bytes for the stand-in server, so a prompt of n tokens is 4n - 1 bytes of letters and blanks: nothing in it
 * needs escaping in JSON. Prompts as token ids have exact lengths everywhere. */
#ifndef GOODPUT_WORKLOAD_WORKLOAD_H
#define GOODPUT_WORKLOAD_WORKLOAD_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct workload; /* workload/content.h has what is in it */

/* The file at `path` ("-" is standard input). NULL with an error that has line, column and caret: not YAML, unknown key, a value out of
 * range, a hash that does not match, a cut file. A file without `hash:` is one made by hand; it is read all the same. */
struct workload *workload_read(const char *path, struct error *e);
/* The same of a text; `source` names it in errors. */
struct workload *workload_parse(struct str source, struct str text, struct error *e);
void workload_free(struct workload *w);

/* Of what the requests are made from (not of name, source and remarks): 64 hexadecimal digits. Two workloads with equal hashes send equal
 * requests. Terminated. */
const char *workload_hash(const struct workload *w);
struct str workload_name(const struct workload *w); /* empty when it has none */

/* ---- arrivals ---- */

enum workload_process {
	WORKLOAD_CLOSED,   /* `concurrency` requests at any time: the next one when one has ended. due_ns is 0 */
	WORKLOAD_CONSTANT, /* the first at 0, then every 1/rate */
	WORKLOAD_POISSON,
	WORKLOAD_GAMMA, /* intervals of shape `burstiness`: < 1 burstier than Poisson, 1 Poisson, large is regular (as vLLM's --burstiness)
			 */
	WORKLOAD_TRACE, /* the times of the frozen rows, divided by `speed` */
};
extern const char *const workload_process_names[]; /* "closed", "constant", ...; NULL ends */

struct workload_arrivals {
	enum workload_process process;
	uint32_t concurrency; /* CLOSED; for the others the most requests open at a time, 0 = no limit */
	double rate;          /* starts per second: requests, or sessions where requests belong to sessions. After the ramp */
	double burstiness;    /* GAMMA */
	double speed;         /* TRACE: 2 = twice as fast */
	double ramp_from;     /* starts per second at the beginning of the ramp */
	double ramp_seconds;  /* 0 = no ramp. CONSTANT, POISSON, GAMMA */
	bool ramp_exponential;
};

/* ---- plan ---- */

struct workload_plan {
	uint64_t seed; /* which requests, and when */
	uint64_t salt; /* changes all text and ids, no length and no time: so the last run's prefix cache does not know them. 0 = none */
	uint64_t requests; /* starts (sessions count once) until it is over; 0 = no end, or the end of the trace with WORKLOAD_TRACE */
	struct workload_arrivals arrivals;
};

/* What the file says. */
void workload_plan_default(const struct workload *w, struct workload_plan *plan);
/* False with an error that says which value is impossible, why, and what is: no or an absurd rate, trace times without rows, a ramp on a
 * closed loop... */
bool workload_plan_check(const struct workload *w, const struct workload_plan *plan, struct error *e);

/* ---- requests ---- */

/* Tokens [from, to) of an endless text. Equal streams and ranges are equal tokens. */
struct workload_piece {
	uint64_t stream;
	uint32_t from, to;
};
enum workload_role { WORKLOAD_USER, WORKLOAD_ASSISTANT };
/* A message of a chat: pieces [first, first + count). A completion has one. */
struct workload_message {
	enum workload_role role;
	uint32_t first, count, tokens;
};

struct workload_request {
	uint64_t number;        /* of the start, from 0 in order of due time; all turns of a session have the same */
	uint32_t turn;          /* from 0 */
	bool more;              /* another turn follows: workload_request_make of turn + 1, `pause_ns` after this one's end */
	uint64_t pause_ns;      /* between the end of this turn and the next */
	uint64_t due_ns;        /* intended send time from the run's start; turn 0 only */
	uint32_t prompt_tokens; /* of the whole prompt, earlier turns included; what a chat template adds is said by
				   workload_template_tokens */
	uint32_t output_tokens; /* max_tokens */
	struct str group;       /* name of its class in the mix, for figures by group; empty */
	struct workload_piece *pieces;
	struct workload_message *messages;
	uint32_t piece_count, message_count;
	uint32_t piece_cap, message_cap; /* memory kept between uses */
};
void workload_request_init(struct workload_request *r);
void workload_request_fini(struct workload_request *r);

/* Turn `turn` of start `number`. due_ns is left alone. Allocates only while the
 * arrays grow. False: there is no such turn. */
bool workload_request_make(
	const struct workload *w, const struct workload_plan *plan, uint64_t number, uint32_t turn, struct workload_request *r);

struct workload_cursor;
/* The plan must have passed workload_plan_check; it is copied. The workload must live as long. */
struct workload_cursor *workload_cursor_new(const struct workload *w, const struct workload_plan *plan);
void workload_cursor_free(struct workload_cursor *c);
/* The next start with its due time, not earlier than the one before; false when it is over. `r` was initialised; its arrays are used again.
 * For a closed loop call it when a request has ended. */
bool workload_next(struct workload_cursor *c, struct workload_request *r);
/* Only number and due time of it, without making the request (to look ahead, or to hand the making to another thread). */
bool workload_next_start(struct workload_cursor *c, uint64_t *number, uint64_t *due_ns);

/* ---- what a request is sent as ---- */

enum workload_format { WORKLOAD_CHAT, WORKLOAD_COMPLETION, WORKLOAD_TOKEN_IDS };
enum workload_format workload_format(const struct workload *w);
/* Tokens that the server's chat template adds to each message; the prompts are made shorter by that, so that prompt_tokens come out. */
uint32_t workload_template_tokens(const struct workload *w);
/* Members of the request body, without braces: "temperature":0.7,"ignore_eos":true. Empty when there are none. Never contains max_tokens.
 */
struct str workload_sampling(const struct workload *w);
/* NaN when the file does not say. */
double workload_temperature(const struct workload *w);

/* Appends the text of message `index`: letters and blanks. */
void workload_text(const struct workload_request *r, uint32_t index, struct buf *out);
/* Appends the whole prompt as token ids with commas, for a JSON list. */
void workload_token_ids(const struct workload *w, const struct workload_request *r, struct buf *out);
/* For the engine model: ids of the prompt's blocks of `block` tokens, whole ones only; equal ids mean equal tokens up to there. At most
 * `cap` are written; returns how many there are. */
size_t workload_content_ids(const struct workload_request *r, uint32_t block, uint64_t *ids, size_t cap);

#endif
