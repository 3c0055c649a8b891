#include "engine/histogram.h"

#include "base/number.h"

#include <math.h>

/* The cell by the bits of the double: the exponent gives the doubling, the top five bits of the fraction the place in it. */
static uint32_t cell_of(double seconds)
{
	double micros = seconds * 1e6;
	uint64_t bits;

	if (!(micros >= 1))
		return 0;
	bits = number_bits(micros);
	uint64_t cell = ((bits >> 47) & 0xffff) - (UINT64_C(1023) << 5);
	return cell < HISTOGRAM_CELLS ? (uint32_t)cell : HISTOGRAM_CELLS - 1;
}

void histogram_add(struct histogram *h, double seconds, uint64_t times)
{
	h->cells[cell_of(seconds)] += times;
	h->count += times;
	h->sum += seconds * (double)times;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	for (uint32_t i = 0; i < HISTOGRAM_CELLS; i++)
		into->cells[i] += from->cells[i];
	into->count += from->count;
	into->sum += from->sum;
}

double histogram_bound(uint32_t cell)
{
	double base = ldexp(1e-6, (int)(cell / HISTOGRAM_PER_DOUBLING));

	return base * (1 + (double)(cell % HISTOGRAM_PER_DOUBLING + 1) / HISTOGRAM_PER_DOUBLING);
}

double histogram_value_at(const struct histogram *h, double q)
{
	double rank = q * (double)h->count;
	uint64_t seen = 0;

	if (h->count == 0)
		return number_nan();
	for (uint32_t i = 0; i < HISTOGRAM_CELLS; i++) {
		seen += h->cells[i];
		if (h->cells[i] && (double)seen >= rank)
			return histogram_bound(i);
	}
	return histogram_bound(HISTOGRAM_CELLS - 1);
}
