/* stream: what a streamed (or whole) answer says about time and tokens. Sans-IO: the client hands in the head, the decoded body's bytes
 * with the time of the read that brought them, and how it ended; a timeline comes out.
 *
 *   openai_stream_begin(&s, &options, &timeline);     per attempt; timeline has submitted_ns etc.
 *   openai_stream_head(&s, 200, type, t_ns);          when the response's head is whole
 *   openai_stream_feed(&s, bytes, t_ns);              for every read, decoded of its transfer coding
 *   openai_stream_end(&s, OPENAI_END_BODY, t_ns);     once; sets outcome, error, counts
 *
 * Rules (facts: fixtures/sse): a role chunk, an empty delta, a finish-only and a usage-only chunk are no output. Token proof without
 * visible text (token_ids, growing per-chunk usage, logprobs) is a delivery and never the first output. An error object ends the request,
 * with 200 too. Nothing after [DONE] moves anything but closed_ns. */
#ifndef GOODPUT_OPENAI_STREAM_H
#define GOODPUT_OPENAI_STREAM_H

#include "model/timeline.h"
#include "net/sse.h"

enum openai_api { OPENAI_CHAT, OPENAI_COMPLETIONS, OPENAI_RESPONSES };

enum openai_end {
	OPENAI_END_BODY,     /* the HTTP framing says that the body is whole (last chunk, content length) */
	OPENAI_END_CLOSE,    /* orderly end of the connection where the body is delimited by it, or without HTTP framing known */
	OPENAI_END_CUT,      /* orderly end of the connection before the framing's end */
	OPENAI_END_RESET,    /* reset by the peer */
	OPENAI_END_DEADLINE, /* our own deadline: the caller closes the connection */
	OPENAI_END_CANCELLED /* the run ends: no error */
};

/* What one choice said, for evaluation and tests. Bounded by the bufs' own max. */
struct openai_text {
	struct buf text, reasoning, tool_arguments;
};

struct openai_stream_options {
	enum openai_api api;
	struct str asked_model;    /* empty: not compared */
	struct openai_text *texts; /* of choices 0 ... text_count - 1; NULL: not kept */
	size_t text_count;
	size_t event_max; /* largest event; 0: 8 MiB */
};

struct openai_choice {
	uint32_t usage; /* completion_tokens told so far */
	uint32_t events;
	bool usage_told;           /* with every event so far */
	int64_t first_ns, last_ns; /* NEVER */
};

/* What the body is, by the head's content type; SNIFF: by its first byte. */
enum openai_body { OPENAI_BODY_STREAM, OPENAI_BODY_JSON, OPENAI_BODY_SNIFF, OPENAI_BODY_OTHER };

struct openai_stream {
	struct openai_stream_options options;
	struct timeline *timeline;
	struct sse sse;
	struct buf body;              /* of an answer that is no event stream; the beginning of it */
	struct openai_choice first;   /* choice 0 */
	struct openai_choice *others; /* choices 1 ... */
	uint32_t other_count, other_cap;
	uint64_t ids_total, logprobs_total, delivered_tokens;
	struct openai_usage {
		uint32_t prompt, completion, cached, reasoning;
	} usage; /* of the newest usage object; UNKNOWN */
	uint32_t prompt_ids;
	uint64_t model_hash;
	enum openai_body body_kind;
	enum timeline_error failure; /* told by an event */
	bool has_usage, total_usage, saw_choice, over, ready;
	bool enough;                /* see openai_stream_is_enough */
	uint64_t rest;              /* bytes after it was over */
	struct openai_shape *shape; /* of the last event, see shape.h */
};

/* {0} is a valid object for begin; begin on a used one keeps its memory. */
void openai_stream_begin(struct openai_stream *s, const struct openai_stream_options *options, struct timeline *t);
void openai_stream_fini(struct openai_stream *s);
/* `content_type` decides between event stream, JSON and neither. retry_after: the header's text, empty without one (seconds or a date,
 * for which now_unix is needed; milliseconds with retry_after_in_ms). Interim 1xx heads are not handed in. */
struct openai_head {
	uint16_t status;
	struct str content_type, retry_after, location;
	bool retry_after_in_ms;
	double now_unix;
};
void openai_stream_head(struct openai_stream *s, const struct openai_head *head, int64_t t_ns);
void openai_stream_feed(struct openai_stream *s, struct str bytes, int64_t t_ns);
/* Final: sets closed_ns, outcome, error, message, counts and basis. Called once, also without a head (connection refused: use
 * openai_stream_fail). */
void openai_stream_end(struct openai_stream *s, enum openai_end how, int64_t t_ns);
/* Ended before a head: DNS, connect, TLS, timeout, reset, protocol … */
void openai_stream_fail(struct openai_stream *s, enum timeline_error error, struct str message, int64_t t_ns);
/* [DONE], a terminal event or an error object came: the rest of the body is read only so that the connection can be used again. */
bool openai_stream_is_over(const struct openai_stream *s);
/* Nothing that still comes can change the result, and it goes on: an event or document beyond any measure, an answer that does not end
 * after its end. The caller breaks the connection off and ends with OPENAI_END_CANCELLED, which then is no cancelling. */
bool openai_stream_is_enough(const struct openai_stream *s);

#endif
