/* random: draws that are the same bits on every machine. glibc's log and exp differ between versions and processors in the last bit, and
 * one bit moves a request to another nanosecond or length: here are only +, -, *, / and sqrt, which IEEE 754 fixes (the tree is built with
 * -ffp-contract=off). */
#ifndef GOODPUT_WORKLOAD_RANDOM_H
#define GOODPUT_WORKLOAD_RANDOM_H

#include "base/rng.h"

/* Natural logarithm of a positive finite normal number, and e^x for |x| < 700 (0 below); within 2 units in the last place. */
double random_ln(double x);
double random_exp(double x);

double random_exponential(struct rng *r);         /* mean 1 */
double random_normal(struct rng *r);              /* mean 0, variance 1 */
double random_gamma(struct rng *r, double shape); /* mean 1, variance 1 / shape */
double random_lognormal(struct rng *r, double mean, double cv);

/* A generator of its own for each (seed, what, number): draws of one never move those of another. */
struct rng random_keyed(uint64_t seed, uint64_t what, uint64_t number);
/* Where `index` of 0..count-1 goes in a permutation fixed by `key`. */
uint64_t random_permute(uint64_t key, uint64_t index, uint64_t count);

#endif
