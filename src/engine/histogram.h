/* histogram: counts in 32 cells per doubling from 1 microsecond to 2^26 s (error of a quantile below 2.2 %), mergeable. */
#ifndef GOODPUT_ENGINE_HISTOGRAM_H
#define GOODPUT_ENGINE_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_PER_DOUBLING = 32, HISTOGRAM_CELLS = 46 * HISTOGRAM_PER_DOUBLING };

struct histogram {
	uint64_t cells[HISTOGRAM_CELLS];
	uint64_t count;
	double sum;
};

void histogram_add(struct histogram *h, double seconds, uint64_t times);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* The q-quantile (0..1): the upper bound of its cell; NaN when empty. */
double histogram_value_at(const struct histogram *h, double q);
/* Upper bound of a cell in seconds. */
double histogram_bound(uint32_t cell);

#endif
