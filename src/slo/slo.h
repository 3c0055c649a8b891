/* slo: service level objectives of a request, and whether one met all of them at once.
 *
 * A limit is met when the value is <= it. No first output misses TTFT. TPOT is undefined for fewer than two tokens: such a request passes
 * that limit, and how many passed so is counted. An error misses everything ("failed"), whatever its times. Open-loop requests are judged
 * from their intended time: waiting in the client is waiting. */
#ifndef GOODPUT_SLO_SLO_H
#define GOODPUT_SLO_SLO_H

#include "base/error.h"
#include "model/timeline.h"

enum slo_measure { SLO_TTFT, SLO_TPOT, SLO_E2E, SLO_STALL, SLO_MEASURES }; /* stall: the longest gap between deliveries */

struct slo {
	double limit_ms[SLO_MEASURES]; /* NaN: none */
};

enum { SLO_POOLS_MAX = 32 };

/* Limits for everything, and for pools that have their own (whole: a pool's SLO replaces the general one). */
struct slo_set {
	struct slo general;
	struct str pool[SLO_POOLS_MAX]; /* borrowed */
	struct slo pools[SLO_POOLS_MAX];
	size_t pool_count;
};

void slo_init(struct slo *s);
bool slo_is_empty(const struct slo *s);
void slo_set_init(struct slo_set *set);
bool slo_set_is_empty(const struct slo_set *set);
/* "ttft:500", "e2el:5000", "POOL/tpot:50", in ms; also several separated by blanks or commas. Names: ttft, tpot, e2el, e2e, stall (and the
 * long names time_to_first_token, inter_token_latency, request_latency). Given twice, unknown, not a number, not above 0: an error. */
bool slo_set_parse(struct slo_set *set, struct str text, struct error *e);
/* Is this word an objective ("tpot:50", "POOL/e2e:9000")? For command lines that list them after the option. */
bool slo_is_objective(struct str word);
const struct slo *slo_of(const struct slo_set *set, struct str pool);
const char *slo_measure_name(enum slo_measure m); /* "ttft" */

enum slo_verdict { SLO_LEFT_OUT, SLO_GOOD, SLO_MISSED, SLO_FAILED }; /* left out: cancelled by the run, or warm-up */

struct slo_judgement {
	enum slo_verdict verdict;
	uint32_t missed;     /* bit per measure */
	int binding;         /* the limit exceeded by the largest factor; -1: none, or failed */
	bool tpot_undefined; /* passed TPOT because it has none */
};

struct slo_judgement slo_judge(const struct slo *s, const struct timeline *t);

#endif
