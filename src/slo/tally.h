/* tally: a run's requests, judged and summed: goodput, attainment, percentiles, errors, stalls, tokens, cost; for all and by group.
 *
 * Window: requests belong to [start, end) by intended (else submitted) time. Goodput = good / window; attainment = good / due, where
 * errors, timeouts and unsent ones count as not good; what the run itself cancelled is in neither. Latencies are those of completed
 * requests; percentiles are numpy's linear, intervals distribution-free. */
#ifndef GOODPUT_SLO_TALLY_H
#define GOODPUT_SLO_TALLY_H

#include "base/arena.h"
#include "base/vec.h"
#include "model/records.h"
#include "slo/quantile.h"
#include "slo/slo.h"

/* Distributions that are kept. From submission unless the name says due. */
enum tally_figure {
	TALLY_TTFT,
	TALLY_TTFT_CONTENT,
	TALLY_TPOT,
	TALLY_TPOT_AFTER_FIRST,
	TALLY_E2E,
	TALLY_TTFT_DUE,
	TALLY_E2E_DUE,
	TALLY_TTFT_LAST, /* from the last attempt; empty where no request was sent again */
	TALLY_E2E_LAST,
	TALLY_GAP,     /* pooled over requests: deliveries, not tokens */
	TALLY_MAX_GAP, /* a request's longest */
	TALLY_TAIL,
	TALLY_DELAY, /* schedule delay: the client's own fault */
	TALLY_TOKENS_PER_EVENT,
	TALLY_PROMPT_TOKENS,
	TALLY_OUTPUT_TOKENS,
	TALLY_FIGURES
};
const char *tally_figure_name(enum tally_figure f); /* "ttft", "e2e_due" … */
const char *tally_figure_unit(enum tally_figure f); /* "ms" or "tokens" */

struct tally_values {
	VEC(double) v; /* sorted by tally_finish */
	double sum;
};

/* One class of failures. */
struct tally_error {
	enum timeline_error error;
	uint16_t http_status;
	size_t count;
	uint64_t example_id;
	char example[TIMELINE_MESSAGE_MAX];
};

struct tally {
	struct str name; /* of the group; empty: all */
	double window_s;
	size_t total, left_out, judged, complete, good, failed, unsent, retried, attempts;
	size_t cancelled;            /* of left_out: by the run itself, inside the window; the others are warm-up and cool-down */
	size_t missed[SLO_MEASURES]; /* requests that miss it (one can miss several) */
	size_t bound[SLO_MEASURES];  /* requests whose binding SLO it is */
	size_t tpot_undefined, single_delivery, no_usage, missing_done, several_models, not_streamed, ended_by_length;
	size_t basis[TOKEN_BASES];
	uint64_t prompt_tokens, output_tokens, cached_tokens; /* of completed requests, where told */
	size_t prompt_told, output_told, cached_told;
	uint64_t partial_tokens;          /* of failed ones */
	size_t stalls, stalled_requests;  /* gaps above the absolute limit */
	size_t hitches, hitched_requests; /* gaps above `hitch_factor` times the stream's own median gap (and 50 ms) */
	size_t evaluated, evaluation_passed;
	VEC(struct tally_error) errors; /* most first */
	struct tally_values figures[TALLY_FIGURES];
	int binding; /* measure missed by most judged requests; -1: none missed */
};

struct tally_options {
	const struct slo_set *slo;
	double stall_ms;     /* 0: 500 */
	double hitch_factor; /* 0: 10 */
	double window_s;     /* NaN: from the run */
};

void tally_init(struct tally *t);
void tally_fini(struct tally *t);
void tally_add(struct tally *t, const struct timeline *request, const struct tally_options *o);
/* Sorts, finds the binding SLO. */
void tally_finish(struct tally *t, double window_s);

double tally_goodput(const struct tally *t);             /* requests/s (without SLOs all that completed); NaN without a window */
double tally_throughput(const struct tally *t);          /* completed requests/s */
double tally_output_rate(const struct tally *t);         /* output tokens/s of completed requests */
struct estimate tally_attainment(const struct tally *t); /* with Wilson's interval */
struct estimate tally_figure(const struct tally *t, enum tally_figure f, double q, double confidence);
struct estimate tally_mean(const struct tally *t, enum tally_figure f);
/* Per 1,000 good requests, where a price per hour is given; NaN otherwise. */
double tally_cost_per_1000(const struct tally *t, double price_per_hour);
double tally_tokens_per_request(const struct tally *t); /* completed */

/* What requests can be grouped by. */
enum tally_key { TALLY_BY_MODEL, TALLY_BY_TENANT, TALLY_BY_POOL, TALLY_BY_GROUP, TALLY_BY_PROMPT, TALLY_BY_TEMPERATURE, TALLY_KEYS };
const char *tally_key_name(enum tally_key key); /* "model", "tenant", "pool", "group", "prompt", "temperature" */
bool tally_key_find(struct str name, enum tally_key *key);

/* Tallies of every value of the key, in order of name (prompt bands by length); in the arena's texts, freed by tallies_fini. */
struct tallies {
	VEC(struct tally) items;
};
void tallies_by(struct tallies *out, struct arena *arena, const struct records *r, enum tally_key key, const struct tally_options *o);
void tallies_fini(struct tallies *t);
/* All requests of a run. */
void tally_records(struct tally *t, const struct records *r, const struct tally_options *o);
/* The run's window in seconds: as told, else from the first due to the last end; NaN for an empty run. */
double records_window_s(const struct records *r);

#endif
