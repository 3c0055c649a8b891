/* spec: speculative decoding: how many drafts of a step are accepted.
 *
 * Position j (0-based) is accepted when all before it were and with its own conditional rate. At temperature 0 the rate is
 * `rates[j]`, or `alpha` for every position when no list is given. Sampling at a temperature accepts less: see spec_rate. */
#ifndef GOODPUT_ENGINE_SPEC_H
#define GOODPUT_ENGINE_SPEC_H

#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

enum { SPEC_MAX_DRAFTS = 16 };

enum spec_method { SPEC_NONE, SPEC_NGRAM, SPEC_EAGLE, SPEC_MTP, SPEC_DRAFT_MODEL };

struct spec_config {
	enum spec_method method;
	uint32_t drafts; /* num_speculative_tokens */
	double alpha;    /* 0..1 */
	double rates[SPEC_MAX_DRAFTS];
	uint32_t rate_count;      /* of rates; 0 = alpha everywhere */
	double temperature_slope; /* how much of alpha is lost at temperature 1; 0 = none */
};

/* Conditional acceptance of position j at a temperature: rate * (1 - slope * min(temperature, 1)), never below 0. */
double spec_rate(const struct spec_config *spec, uint32_t position, double temperature);
/* Drafts accepted, 0..drafts. `factor` scales every rate (fault). */
uint32_t spec_draw(const struct spec_config *spec, struct rng *rng, double temperature, double factor);
/* Mean tokens per step, bonus token included: 1 + sum over j of the product of the rates up to j. With equal rates this is
 * (1 - alpha^(drafts+1)) / (1 - alpha). */
double spec_mean_tokens(const struct spec_config *spec, double temperature);
/* KV slots allocated ahead for drafts (lookahead), and whether the last block of a prefix hit must be dropped. */
uint32_t spec_lookahead(const struct spec_config *spec);
bool spec_drops_hit_block(const struct spec_config *spec);

#endif
