/* rng: a seeded generator (splitmix64): integers and exact scaling only, so a seed gives the same numbers on every machine. The engine and
 * workloads draw from nothing else. */
#ifndef GOODPUT_BASE_RNG_H
#define GOODPUT_BASE_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state;
};

/* The finaliser of splitmix64: a bijection whose output bits all depend on all input bits. */
static inline uint64_t rng_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static inline uint64_t rng_next(struct rng *r)
{
	return rng_mix(r->state += 0x9e3779b97f4a7c15ULL);
}

/* Uniform in [0, 1). */
static inline double rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* Uniform in 0..count-1; count >= 1. The bias is below 2^-32 for counts below 2^32. */
static inline uint64_t rng_below(struct rng *r, uint64_t count)
{
	return (uint64_t)(((unsigned __int128)rng_next(r) * count) >> 64);
}

#endif
