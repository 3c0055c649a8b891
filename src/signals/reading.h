/* reading: what a signal says: a value, a bound, a text, or unknown with a reason. Never a silent zero.
 * Arithmetic on readings is interval arithmetic (reading_add ...); comparison is three-valued. */
#ifndef GOODPUT_SIGNALS_READING_H
#define GOODPUT_SIGNALS_READING_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum reading_kind { READING_UNKNOWN, READING_VALUE, READING_AT_LEAST, READING_AT_MOST, READING_BETWEEN, READING_TEXT, READING_CELLS };

enum unknown_reason {
	UNKNOWN_NONE,
	UNKNOWN_ABSENT,         /* the target's engine version should export it and does not */
	UNKNOWN_NOT_ENABLED,    /* needs a flag or a feature that is off */
	UNKNOWN_NOT_APPLICABLE, /* this engine or version has no such thing */
	UNKNOWN_TARGET_DOWN,
	UNKNOWN_NO_TRAFFIC,   /* nothing happened in the window: 0 of 0 */
	UNKNOWN_INVALID,      /* the data contradict themselves (malformed histogram, NaN) */
	UNKNOWN_ONE_SCRAPE,   /* a difference needs two scrapes */
	UNKNOWN_OLD_END,      /* no sample near enough to an end of the window */
	UNKNOWN_GUARDED,      /* meaningless here, as `why` says (pooling model ...) */
	UNKNOWN_MIXED_MODELS, /* several models are never merged into one figure */
	UNKNOWN_NO_REFERENCE  /* before() without a window to compare with */
};
const char *unknown_reason_name(enum unknown_reason r); /* stable words for --json: "target-down" */
const char *unknown_reason_text(enum unknown_reason r); /* for people: "target down" */

struct reading_cell {
	double low, high; /* (low, high] */
	double count;
};

struct reading {
	enum reading_kind kind;
	double low, high; /* VALUE: equal; AT_LEAST: [low, inf); AT_MOST: (-inf or 0, high]; BETWEEN: both */
	enum unknown_reason reason;
	struct str why;  /* more words on the reason; may be empty */
	struct str text; /* TEXT: "yes", "pod-b" */
	struct reading_cell *cells;
	size_t cell_count;

	bool has_interval; /* 95 % interval of a share or quantile */
	double interval_low, interval_high;
	double events;             /* n in the window; NAN when not counted in events */
	double elapsed_s;          /* really elapsed between the two ends; NAN for levels */
	double mean, share_beyond; /* of a quantile's histogram: beside a bound; NAN when not given */

	bool stale; /* a gauge that stands still with its heartbeat: judged by nothing but engine-stalled */
	int64_t stale_since_ms;
	bool trust_unknown;               /* a gauge whose heartbeat was seen once or not at all */
	bool over_reset;                  /* a counter fell inside the window */
	uint32_t targets_in, targets_all; /* of the scope: how many gave it; partial when fewer */
	uint32_t left_out;                /* histograms that contradict themselves and are not in it */
	struct str note;                  /* caveat of the exposed name or definition */
	struct str exposed;               /* the name read, for evidence: "vllm:kv_cache_usage_perc" */
};

enum truth { TRUTH_FALSE, TRUTH_UNDECIDED, TRUTH_TRUE };

struct reading reading_value(double v);
struct reading reading_bound(double low, double high); /* picks the kind; infinite ends; equal ends are a value */
struct reading reading_unknown(enum unknown_reason reason, struct str why);
struct reading reading_text(struct str text);
static inline bool reading_known(const struct reading *r)
{
	return r->kind != READING_UNKNOWN;
}
static inline bool reading_is_number(const struct reading *r)
{
	return r->kind >= READING_VALUE && r->kind <= READING_BETWEEN;
}

/* a op b; op is one of + - * / m (min) M (max). Unknown operands give unknown with the first one's reason; 0/0 gives no traffic. Flags
 * (stale, reset, partial ...) are kept from either side; events are the smaller. */
struct reading reading_combine(char op, const struct reading *a, const struct reading *b);
struct reading reading_negate(const struct reading *a);
/* Three-valued a op b; op: '<' 'l' (<=) '>' 'g' (>=) '=' '!'. `judge` uses the 95 % intervals where given, and undecided below
 * `min_events`. */
enum truth reading_compare(char op, const struct reading *a, const struct reading *b, bool judge);

/* "0.42", "> 60 s", "<= 300 ms", "57 .. 60 s", "unknown: target down", with the unit made readable (s → ms, ratio → %, bytes → GiB). */
void reading_print(const struct reading *r, struct str unit, struct buf *out);

#endif
