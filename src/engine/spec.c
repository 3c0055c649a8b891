#include "engine/spec.h"

double spec_rate(const struct spec_config *spec, uint32_t position, double temperature)
{
	double rate = spec->rate_count ? (position < spec->rate_count ? spec->rates[position] : 0) : spec->alpha;
	double heat = temperature < 0 ? 0 : temperature < 1 ? temperature : 1;
	double kept = 1 - spec->temperature_slope * heat;

	return kept > 0 ? rate * kept : 0;
}

uint32_t spec_draw(const struct spec_config *spec, struct rng *rng, double temperature, double factor)
{
	uint32_t accepted = 0;

	while (accepted < spec->drafts && rng_unit(rng) < spec_rate(spec, accepted, temperature) * factor)
		accepted++;
	return accepted;
}

double spec_mean_tokens(const struct spec_config *spec, double temperature)
{
	double mean = 1, product = 1;

	for (uint32_t j = 0; j < spec->drafts; j++) {
		product *= spec_rate(spec, j, temperature);
		mean += product;
	}
	return mean;
}

uint32_t spec_lookahead(const struct spec_config *spec)
{
	return spec->method == SPEC_NONE || spec->method == SPEC_NGRAM ? 0 : spec->drafts;
}

bool spec_drops_hit_block(const struct spec_config *spec)
{
	return spec->method == SPEC_EAGLE || spec->method == SPEC_MTP;
}
