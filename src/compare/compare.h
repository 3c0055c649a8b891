/* compare: two sides of request records, A (before) and B (after): the same panels with intervals, whether they can be compared at all, and
 * a verdict by a policy.
 *
 * Requests of one run share a batch, a queue and a cache, so they are no independent sample. The time of each run is cut into blocks; how
 * much the blocks differ beyond what independent requests would, makes the sample smaller (its *effective* size), and intervals are those
 * of order statistics (quantiles), Wilson (shares) and Student (means) at that size. Where both sides sent the same requests at the same
 * times, blocks are matched and what they have in common cancels. Differences are relative for times, absolute for shares. */
#ifndef GOODPUT_COMPARE_COMPARE_H
#define GOODPUT_COMPARE_COMPARE_H

#include "base/json.h"
#include "slo/tally.h"

/* ---- sides ---- */

enum { COMPARE_RUNS_MAX = 32 };

/* Several runs of one side, in the order in which they were made. Borrowed. */
struct compare_side {
	struct str name;
	const struct records *runs[COMPARE_RUNS_MAX];
	size_t run_count;
	struct str label_name, label_value; /* only requests with this label (model, tenant, pool, group): a canary; empty: all */
};

/* ---- panels ---- */

enum compare_kind {
	COMPARE_QUANTILE,
	COMPARE_MEAN,
	COMPARE_SHARE,
	COMPARE_RATE, /* sum of the value per second of load */
	COMPARE_COUNT /* a fact of the run (server.preemptions) per 1,000 completed requests */
};

struct compare_spec {
	const char *id, *title, *unit;
	enum compare_kind kind;
	int value;  /* what is taken of a request, see panels.c */
	double q;   /* of quantiles */
	int better; /* -1 lower, +1 higher, 0 neither */
};
extern const struct compare_spec compare_specs[]; /* id NULL ends */
const struct compare_spec *compare_spec_find(struct str id);

struct compare_panel {
	const struct compare_spec *spec;
	struct estimate a, b;            /* count: requests. Value NaN: only bounds are known, or nothing */
	struct str unknown_a, unknown_b; /* why nothing is known of a side; else empty */
	double effective_a, effective_b; /* sample sizes after correction */
	struct estimate change;          /* B against A: relative, of shares B - A; ends NaN: no bound on that side */
	double correlation;              /* of matched blocks; 0 without */
	double error;                    /* of the change: half its interval over the normal quantile; NaN without both bounds */
};

/* ---- can they be compared? ---- */

enum compare_obstacle {
	COMPARE_MIX,         /* prompt lengths, asked lengths or temperature moved */
	COMPARE_CACHED,      /* share of prompt tokens from the cache */
	COMPARE_CONCURRENCY, /* offered load: rate, concurrency, open against closed loop */
	COMPARE_CLIENT,      /* a client was the bottleneck, or the clients' lateness moved */
	COMPARE_TOO_FEW,     /* a side has next to no completed requests */
	COMPARE_OBSTACLES
};
const char *compare_obstacle_name(enum compare_obstacle o); /* "not-comparable-mix" ... */

struct compare_reason {
	enum compare_obstacle obstacle;
	char text[240];
};

/* ---- policy ---- */

enum { COMPARE_ITEMS_MAX = 24 };

struct compare_item {
	const struct compare_spec *spec;
	double margin; /* a worsening that must be excluded to pass: relative, of shares absolute */
	double ignore; /* a worsening below this fails nothing, however certain */
	bool required; /* unknown is inconclusive; else it is left out and said */
};

struct compare_policy {
	struct str name;
	double confidence; /* of the whole verdict: items share what is left of 1 */
	struct compare_item items[COMPARE_ITEMS_MAX];
	size_t item_count;
};
/* For interactive use: TTFT P99, TPOT P99, goodput, preemptions, errors, length share and evaluation pass rate must not regress. */
void compare_policy_default(struct compare_policy *p);
/* A YAML file: docs/formats/promotion.md. */
bool compare_policy_read(struct compare_policy *p, struct arena *arena, struct str source, struct str text, struct error *e);

/* ---- the result ---- */

enum compare_verdict { COMPARE_PASS, COMPARE_FAIL, COMPARE_INCONCLUSIVE, COMPARE_NOT_COMPARABLE };
const char *compare_verdict_name(enum compare_verdict v);

struct compare_ruling {
	const struct compare_item *item;
	enum compare_verdict verdict; /* never NOT_COMPARABLE */
	bool unknown, left_out;
	double worse; /* the change, positive = worse */
	double worse_low, worse_high;
	double seconds_needed; /* load a side so that a worsening of the margin is seen nine times of ten; NaN: not to be told */
};

enum { COMPARE_PANELS_MAX = 48, COMPARE_SIGNATURES_MAX = 8, COMPARE_FACTS_MAX = 2 * RECORDS_FACTS_MAX };

struct compare_fact { /* of the fingerprint */
	struct str name, a, b;
	bool differs;
};

struct compare_result {
	enum compare_verdict verdict;
	struct compare_panel panels[COMPARE_PANELS_MAX];
	size_t panel_count;
	struct compare_reason reasons[COMPARE_OBSTACLES];
	size_t reason_count;
	struct compare_ruling rulings[COMPARE_ITEMS_MAX];
	size_t ruling_count;
	char signatures[COMPARE_SIGNATURES_MAX][240]; /* what the change looks like, in words */
	size_t signature_count;
	struct compare_fact facts[COMPARE_FACTS_MAX];
	size_t fact_count;
	bool matched; /* the same requests at the same times */
	double seconds_a, seconds_b, block_s;
};

struct compare_options {
	const struct slo_set *slo;           /* for goodput; empty: no such item */
	const struct compare_policy *policy; /* NULL: default */
	bool any_mix;                        /* judge in spite of obstacles (they are told all the same) */
};

void compare_sides(const struct compare_side *a, const struct compare_side *b, const struct compare_options *o, struct arena *arena,
	struct compare_result *result);
const struct compare_panel *compare_panel(const struct compare_result *r, const char *id);

#endif
