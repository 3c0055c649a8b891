#include "workload/random.h"

#include "base/number.h"

#include <float.h>
#include <math.h>

_Static_assert(FLT_EVAL_METHOD == 0, "intermediate results of higher precision would change the sequences");

#define LN2 0x1.62e42fefa39efp-1
#define LN2_HIGH 0x1.62e42fefa0000p-1 /* the last bits 0: exact when multiplied by an exponent */
#define LN2_LOW 0x1.cf79abc9e3b3ap-40

/* x = m * 2^k with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh((m - 1) / (m + 1)). */
double random_ln(double x)
{
	uint64_t bits = number_bits(x);
	int k = (int)(bits >> 52) - 1023;
	double m = number_from_bits((bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL), f, square, sum = 0;

	if (m > 0x1.6a09e667f3bcdp0) {
		m /= 2;
		k++;
	}
	f = (m - 1) / (m + 1);
	square = f * f;
	for (int i = 23; i >= 3; i -= 2)
		sum = (sum + 1.0 / i) * square;
	return k * LN2_HIGH + (2 * f + (2 * f * sum + k * LN2_LOW));
}

double random_exp(double x)
{
	if (x < -700)
		return 0;
	double k = (double)(int64_t)(x / LN2 + (x < 0 ? -0.5 : 0.5)), r = (x - k * LN2_HIGH) - k * LN2_LOW, sum = 1;

	for (int i = 14; i >= 1; i--)
		sum = 1 + sum * r / i;
	return sum * number_from_bits((uint64_t)((int64_t)k + 1023) << 52);
}

/* Uniform in (0, 1]. */
static double unit_above_zero(struct rng *r)
{
	return 1 - rng_unit(r);
}

double random_exponential(struct rng *r)
{
	return -random_ln(unit_above_zero(r));
}

/* Marsaglia's polar method; the second number is thrown away, so that a draw depends on the generator only. */
double random_normal(struct rng *r)
{
	double x, y, square;

	do {
		x = 2 * rng_unit(r) - 1;
		y = 2 * rng_unit(r) - 1;
		square = x * x + y * y;
	} while (square >= 1 || square < DBL_MIN);
	return x * sqrt(-2 * random_ln(square) / square);
}

/* Marsaglia and Tsang 2000, shape >= 1; mean `shape`. */
static double gamma_draw(struct rng *r, double shape)
{
	double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (;;) {
		double x = random_normal(r), v = 1 + c * x;

		if (v <= 0)
			continue;
		v = v * v * v;
		if (random_ln(unit_above_zero(r)) < x * x / 2 + d - d * v + d * random_ln(v))
			return d * v;
	}
}

double random_gamma(struct rng *r, double shape)
{
	if (shape >= 1)
		return gamma_draw(r, shape) / shape;
	double larger = gamma_draw(r, shape + 1);

	return larger * random_exp(random_ln(unit_above_zero(r)) / shape) / shape;
}

double random_lognormal(struct rng *r, double mean, double cv)
{
	double variance = random_ln(1 + cv * cv);

	return mean * random_exp(sqrt(variance) * random_normal(r) - variance / 2);
}

struct rng random_keyed(uint64_t seed, uint64_t what, uint64_t number)
{
	return (struct rng){ rng_mix(rng_mix(seed + 0x9e3779b97f4a7c15ULL * what) + 0xd6e8feb86659fd93ULL * (number + 1)) };
}

/* Four rounds of a Feistel network on the next even number of bits; what falls outside goes round again. */
uint64_t random_permute(uint64_t key, uint64_t index, uint64_t count)
{
	int half = 1;

	while (half < 32 && (uint64_t)1 << 2 * half < count)
		half++;
	uint64_t mask = ((uint64_t)1 << half) - 1;

	do {
		uint64_t left = index >> half & mask, right = index & mask;

		for (uint64_t round = 0; round < 4; round++) {
			uint64_t next = left ^ (rng_mix(key + round * 0x9e3779b97f4a7c15ULL + right) & mask);

			left = right;
			right = next;
		}
		index = left << half | right;
	} while (index >= count);
	return index;
}
