/* given: a comparison of figures that someone else estimated: two windows of a monitor. Histograms of a server know no single requests, so
 * the same requests cannot be matched and blocks cannot be drawn: intervals of quantiles and shares are those of independent requests, made
 * wider by what queues and batches cost on the engine model (ten requests are worth one). */
#ifndef GOODPUT_COMPARE_GIVEN_H
#define GOODPUT_COMPARE_GIVEN_H

#include "compare/compare.h"

/* How many independent requests one is worth in a window: see above. */
#define GIVEN_DESIGN 10.0

/* Figures that a window can have; ids are those of compare_specs where the meaning is the same. */
extern const struct compare_spec given_specs[]; /* id NULL ends */
const struct compare_spec *given_spec_find(const char *id);

enum { GIVEN_CELLS_MAX = 128 };

/* What the ends of an estimate are. */
enum given_ends {
	GIVEN_REQUESTS, /* 95 % of independent requests: made wider */
	GIVEN_PARTS,    /* 95 % from parts of the window, which differ by whatever requests have in common */
	GIVEN_BOUNDS    /* what is known for certain; the value is NaN. An end that is not known is NaN */
};

struct given_figure {
	const struct compare_spec *spec;
	struct estimate a, b;
	enum given_ends ends_a, ends_b;
	struct str unknown_a, unknown_b; /* why a side is not known; else empty */
};

struct given_cell {             /* of prompt lengths: (low, high] */
	double low, high, a, b; /* counts */
};

struct given {
	const struct given_figure *figures;
	size_t figure_count;
	const struct given_cell *cells; /* GIVEN_CELLS_MAX at most */
	size_t cell_count;
	double seconds_a, seconds_b;
	double hit_rate_a, hit_rate_b; /* prefix cache; NaN: not told */
	bool shares_one_load;          /* two label sets in one window: their rates differ by intention */
};

/* Total variation distance of the prompt lengths; NaN without cells. */
double given_distance(const struct given *g);
void compare_given(const struct given *g, const struct compare_policy *policy, bool any_mix, struct compare_result *result);

#endif
