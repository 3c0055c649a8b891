/* timeline: what happened to one request, as seen at one place (client, gateway, engine model). Whoever observes requests fills this
 * record; src/slo judges it; records.h writes and reads it.
 *
 * Times are nanoseconds of one monotonic clock since the run's start (`epoch` of the run), TIMELINE_NEVER = did not happen or not known.
 * Definitions: TTFT = first_output - submitted; TPOT = (last_output - first_output) / (output_tokens - 1) for two tokens or more of one
 * choice; E2E = completed - submitted. Unknown is never zero: counts that nobody told are TIMELINE_UNKNOWN. */
#ifndef GOODPUT_MODEL_TIMELINE_H
#define GOODPUT_MODEL_TIMELINE_H

#include "model/deliveries.h"

#define TIMELINE_NEVER INT64_MIN
#define TIMELINE_UNKNOWN UINT32_MAX

enum timeline_outcome {
	TIMELINE_OK,
	TIMELINE_OK_EMPTY,  /* completed, but nothing visible came */
	TIMELINE_ERROR,     /* see error */
	TIMELINE_CANCELLED, /* by the run itself at its end: in no share, but counted */
	TIMELINE_UNSENT,    /* was due and never left: not good */
	TIMELINE_OUTCOMES
};

/* One class per request. What the response said comes before what the connection did. */
enum timeline_error {
	TIMELINE_NO_ERROR,
	TIMELINE_DNS,          /* the name did not resolve */
	TIMELINE_CONNECT,      /* refused, unreachable */
	TIMELINE_TLS,          /* handshake, certificate, or no TLS at the other end */
	TIMELINE_TIMEOUT,      /* the client's own deadline */
	TIMELINE_RESET,        /* by the peer, before the answer was whole */
	TIMELINE_TRUNCATED,    /* orderly end before the answer was whole */
	TIMELINE_PROTOCOL,     /* not HTTP, or broken framing */
	TIMELINE_HTTP_429,     /* 429 */
	TIMELINE_HTTP_4XX,     /* other 4xx; http_status tells 401 and 404 apart */
	TIMELINE_HTTP_5XX,     /* 5xx */
	TIMELINE_HTTP_OTHER,   /* 1xx, 3xx, 2xx that is neither a stream nor an answer */
	TIMELINE_CONTENT_TYPE, /* a 200 with HTML or another thing that is no answer */
	TIMELINE_STREAM_ERROR, /* an error object inside a 200 stream; response.failed */
	TIMELINE_MALFORMED,    /* an event that is not JSON, or not of the API */
	TIMELINE_EMPTY,        /* 200 with nothing in it */
	TIMELINE_ABORTED,      /* finish reason "abort" or "error": the server gave up */
	TIMELINE_OTHER,        /* told by another tool's file, without a class */
	TIMELINE_ERRORS
};

/* Where output_tokens comes from, best first. */
enum token_basis {
	TOKENS_UNKNOWN,
	TOKENS_USAGE,     /* the usage object, final or the last of per-chunk ones */
	TOKENS_IDS,       /* token_ids of the chunks */
	TOKENS_LOGPROBS,  /* entries of logprobs */
	TOKENS_EVENTS,    /* one per output event: a guess */
	TOKENS_ELSEWHERE, /* told by another tool's file */
	TOKEN_BASES
};

/* What was odd, though it may have succeeded; bits of `notes`. */
enum timeline_note {
	TIMELINE_MISSING_DONE = 1 << 0,    /* ended after a finish reason without [DONE] */
	TIMELINE_NO_USAGE = 1 << 1,        /* no usage object in a whole answer */
	TIMELINE_SEVERAL_MODELS = 1 << 2,  /* chunks of two models in one stream */
	TIMELINE_OTHER_MODEL = 1 << 3,     /* answered by another model than asked */
	TIMELINE_NOT_STREAMED = 1 << 4,    /* one JSON document: no TTFT, no TPOT */
	TIMELINE_SEVERAL_CHOICES = 1 << 5, /* n > 1: no TPOT of the request */
	TIMELINE_REUSED = 1 << 6,          /* sent on a connection that was used before */
	TIMELINE_RESENT = 1 << 7,          /* the idle connection had died; sent again before any byte of an answer came */
	TIMELINE_AFTER_DONE = 1 << 8,      /* events after [DONE], ignored */
	TIMELINE_CLIENT_LATE = 1 << 9,     /* the client was behind when it handled this request (see the run) */
	TIMELINE_DELIVERY_TOKENS = 1 << 10 /* deliveries carry told token counts */
};

enum { TIMELINE_MESSAGE_MAX = 240 };

struct timeline {
	uint64_t id;           /* position in the workload; with retries and turns the same request keeps it */
	struct str request_id; /* X-Request-Id as sent */

	int64_t intended_ns;      /* due by the arrival process; NEVER in a closed loop */
	int64_t submitted_ns;     /* just before the first byte went to the transport, connection set-up included */
	int64_t resubmitted_ns;   /* the same of the last attempt; NEVER: there was only one */
	int64_t sent_ns;          /* last byte of the request handed to the kernel */
	int64_t headers_ns;       /* end of the response's head */
	int64_t first_byte_ns;    /* of the response */
	int64_t first_output_ns;  /* first visible text, reasoning or tool-call payload */
	int64_t first_content_ns; /* the same without reasoning */
	int64_t last_output_ns;   /* last output event, visible or proof of tokens */
	int64_t completed_ns;     /* [DONE], terminal event, error object, or end of body where that ends the answer */
	int64_t closed_ns;        /* when the client knew that the response or connection was over */
	struct deliveries deliveries;

	uint32_t asked_tokens; /* max_tokens of the request */
	uint32_t prompt_tokens, output_tokens, cached_tokens, reasoning_tokens;
	uint32_t tokens_first; /* tokens up to and including the first visible event, where told */
	enum token_basis basis;

	uint32_t attempts; /* requests sent for it: 1 without retries */
	enum timeline_outcome outcome;
	enum timeline_error error;
	uint16_t http_status;   /* 0: none came */
	int64_t retry_after_ms; /* -1: none */
	uint32_t comments, bad_events;
	uint32_t notes;     /* enum timeline_note */
	int8_t evaluation;  /* -1 not judged, 0 failed, 1 passed */
	bool warmup;        /* due outside the measured window: kept, not judged */
	double temperature; /* NaN: not given */
	int64_t session;    /* -1: none */
	uint32_t turn;
	char finish[24];                    /* finish reason; empty: none came */
	char message[TIMELINE_MESSAGE_MAX]; /* of the error, cut at a character's border; empty: none */

	/* Labels, borrowed (an intern table or the reader's arena): empty when not known. */
	struct str model, tenant, pool, group;
};

/* All NEVER, UNKNOWN and -1; attempts 1. Does not free deliveries: on a used object call timeline_fini, or keep their memory with reset. */
void timeline_init(struct timeline *t);
/* The same for an object that has been used: the deliveries' memory is kept. */
void timeline_reset(struct timeline *t);
void timeline_fini(struct timeline *t);
/* Cuts at a character's border; control bytes become blanks. */
void timeline_set_message(struct timeline *t, struct str message);
void timeline_set_finish(struct timeline *t, struct str finish);

/* Milliseconds; NaN where the definition gives none. Measured from submission. */
double timeline_ttft_ms(const struct timeline *t);
double timeline_content_ttft_ms(const struct timeline *t);
double timeline_tpot_ms(const struct timeline *t);
/* The second opinion where the first event held several tokens: divided by the tokens that came after it. */
double timeline_tpot_after_first_ms(const struct timeline *t);
double timeline_e2e_ms(const struct timeline *t);
double timeline_tail_ms(const struct timeline *t);
double timeline_schedule_delay_ms(const struct timeline *t);
/* From the intended time where there is one, else from submission: what an open loop judges by. */
double timeline_ttft_due_ms(const struct timeline *t);
double timeline_e2e_due_ms(const struct timeline *t);
/* From the last attempt: without the attempts and pauses before it. What the server took, where `submitted` tells what the user waited. */
double timeline_ttft_last_ms(const struct timeline *t);
double timeline_e2e_last_ms(const struct timeline *t);
/* Several tokens came in one event: the 0 of TPOT says nothing about speed. */
bool timeline_is_single_delivery(const struct timeline *t);
/* Completed without error (OK or OK_EMPTY). */
bool timeline_is_complete(const struct timeline *t);

/* Names as records and reports have them ("ok_empty", "http_4xx", "token_ids"); never NULL. */
const char *timeline_outcome_name(enum timeline_outcome outcome);
const char *timeline_error_name(enum timeline_error error);
const char *token_basis_name(enum token_basis basis);
bool timeline_outcome_find(struct str name, enum timeline_outcome *outcome);
bool timeline_error_find(struct str name, enum timeline_error *error);
bool token_basis_find(struct str name, enum token_basis *basis);
/* One sentence each: what it means and what to look at. */
const char *timeline_error_hint(enum timeline_error error, uint16_t http_status);

#endif
