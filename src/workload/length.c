#include "workload/content.h"
#include "workload/random.h"

#include <math.h>

/* Where in its bucket, 0 to below 1: the inverse of u + slope (u^2 - u). */
static double bucket_place(double slope, double share)
{
	double straight = 1 - slope;

	if (fabs(slope) < 1e-6)
		return share;
	return fmin((sqrt(straight * straight + 4 * slope * share) - straight) / (2 * slope), 1 - 0x1p-53);
}

static uint32_t bucket_draw(const struct length *l, struct rng *r)
{
	double at = rng_unit(r) * l->weight;
	uint32_t least = 1;
	size_t i = 0;

	for (; i + 1 < l->bucket_count && at >= l->buckets[i].weight; i++) {
		at -= l->buckets[i].weight;
		least = l->buckets[i].most + 1;
	}
	if (l->slope == 0)
		return least + (uint32_t)rng_below(r, l->buckets[i].most - least + 1);
	return least + (uint32_t)(bucket_place(l->slope, rng_unit(r)) * (l->buckets[i].most - least + 1));
}

uint32_t length_draw(const struct length *l, struct rng *r)
{
	switch (l->kind) {
	case LENGTH_FIXED: break;
	case LENGTH_UNIFORM: return l->least + (uint32_t)rng_below(r, l->most - l->least + 1);
	case LENGTH_BUCKETS: return bucket_draw(l, r);
	case LENGTH_LOGNORMAL: {
		double drawn = random_lognormal(r, l->mean, l->cv) + 0.5;

		return drawn < l->least ? l->least : drawn > l->most ? l->most : (uint32_t)drawn;
	}
	}
	return l->least;
}

double length_mean(const struct length *l)
{
	double sum = 0, least = 1;

	if (l->kind == LENGTH_LOGNORMAL)
		return l->mean;
	if (l->kind != LENGTH_BUCKETS)
		return ((double)l->least + l->most) / 2;
	for (size_t i = 0; i < l->bucket_count; i++) {
		sum += l->buckets[i].weight * ((least + l->buckets[i].most) / 2 + l->slope * (l->buckets[i].most - least + 1) / 6);
		least = l->buckets[i].most + 1.0;
	}
	return sum / l->weight;
}
