/* What a histogram says: quantiles, means, shares, cells. */
#include "signals/window.h"

#include <math.h>

static struct reading with_context(struct reading r, const struct histogram *h)
{
	r.events = h->total;
	r.elapsed_s = h->elapsed_s;
	r.over_reset = h->over_reset;
	r.exposed = h->exposed;
	r.note = h->note;
	r.targets_in = h->targets_in;
	r.left_out = h->left_out;
	r.targets_all = h->targets_all;
	return r;
}

static double total_of(const struct histogram *h)
{
	double sum = 0;
	for (size_t i = 0; i < h->count; i++)
		sum += h->counts[i];
	return sum;
}

/* The value at a rank: linear inside its cell; +Inf beyond the last finite bound. */
static double value_at_rank(const struct histogram *h, double rank)
{
	double below = 0;
	for (size_t i = 0; i < h->count; i++) {
		if (below + h->counts[i] >= rank && h->counts[i] > 0) {
			double start = i ? h->bounds[i - 1] : h->bounds[0] > 0 ? 0 : h->bounds[0];
			if (isinf(h->bounds[i]))
				return INFINITY;
			return start + (h->bounds[i] - start) * fmax(0, rank - below) / h->counts[i];
		}
		below += h->counts[i];
	}
	return INFINITY;
}

static double last_finite(const struct histogram *h)
{
	for (size_t i = h->count; i-- > 0;)
		if (!isinf(h->bounds[i]))
			return h->bounds[i];
	return NAN;
}

/* Order statistics: the ranks between which the quantile lies with 95 %. */
static void quantile_interval(const struct histogram *h, double q, double n, struct reading *r)
{
	double spread = 1.96 * sqrt(n * q * (1 - q)), low = q * n - spread, high = q * n + spread;
	r->has_interval = true;
	r->interval_low = low <= 0 ? 0 : value_at_rank(h, low);
	r->interval_high = value_at_rank(h, fmin(high, n));
	if (isinf(r->interval_low))
		r->interval_low = last_finite(h);
}

struct reading histogram_quantile(const struct histogram *h, double q)
{
	if (h->reason != UNKNOWN_NONE)
		return with_context(reading_unknown(h->reason, h->why), h);
	if (h->bucket_reason != UNKNOWN_NONE)
		return with_context(reading_unknown(h->bucket_reason, h->bucket_why), h);
	double n = total_of(h);
	if (n <= 0)
		return with_context(reading_unknown(UNKNOWN_NO_TRAFFIC, STR_EMPTY), h);
	double finite = last_finite(h);
	if (isnan(finite))
		return with_context(reading_unknown(UNKNOWN_ABSENT, STR("no finite bucket")), h);
	double v = value_at_rank(h, q * n);
	struct reading r = isinf(v)            ? reading_bound(finite, INFINITY)
			   : h->counts[0] == n ? reading_bound(0, h->bounds[0])
					       : reading_value(v);
	quantile_interval(h, q, n, &r);
	if (h->total > 0 && h->sum_reason == UNKNOWN_NONE)
		r.mean = h->sum / h->total;
	r.share_beyond = isinf(h->bounds[h->count - 1]) ? h->counts[h->count - 1] / n : 0;
	return with_context(r, h);
}

struct reading histogram_mean(const struct histogram *h)
{
	if (h->reason != UNKNOWN_NONE)
		return with_context(reading_unknown(h->reason, h->why), h);
	if (h->sum_reason != UNKNOWN_NONE)
		return with_context(reading_unknown(h->sum_reason, h->sum_why), h);
	if (isnan(h->sum) || isnan(h->total))
		return with_context(reading_unknown(UNKNOWN_ABSENT, STR("no _sum or _count")), h);
	if (h->total == 0)
		return with_context(reading_unknown(UNKNOWN_NO_TRAFFIC, STR_EMPTY), h);
	return with_context(reading_value(h->sum / h->total), h);
}

void wilson_interval(double k, double n, double *low, double *high)
{
	const double z = 1.959963984540054;
	double p = k / n, z2 = z * z;
	double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
	double half = z / (1 + z2 / n) * sqrt(fmax(0, p * (1 - p) / n + z2 / (4 * n * n)));
	*low = fmax(0, centre - half);
	*high = fmin(1, centre + half);
}

struct reading histogram_count_above(const struct histogram *h, double x)
{
	if (h->reason != UNKNOWN_NONE || h->bucket_reason != UNKNOWN_NONE)
		return histogram_quantile(h, 0.5); /* the same reason */
	double sure = 0, possible = 0;
	for (size_t i = 0; i < h->count; i++) {
		double start = i ? h->bounds[i - 1] : 0;
		sure += start >= x ? h->counts[i] : 0;
		possible += h->bounds[i] > x ? h->counts[i] : 0;
	}
	return with_context(reading_bound(sure, possible), h);
}

struct reading histogram_share_above(const struct histogram *h, double x)
{
	struct reading above = histogram_count_above(h, x);
	if (!reading_is_number(&above))
		return above;
	double n = total_of(h), unused;
	if (n <= 0)
		return with_context(reading_unknown(UNKNOWN_NO_TRAFFIC, STR_EMPTY), h);
	struct reading r = reading_bound(above.low / n, above.high / n);
	r.has_interval = true;
	wilson_interval(above.low, n, &r.interval_low, &unused);
	wilson_interval(above.high, n, &unused, &r.interval_high);
	return with_context(r, h);
}

struct reading histogram_share_top(const struct histogram *h)
{
	double finite = last_finite(h);
	return histogram_share_above(h, isnan(finite) ? INFINITY : finite);
}

struct reading histogram_cells(struct arena *arena, const struct histogram *h)
{
	if (h->reason != UNKNOWN_NONE || h->bucket_reason != UNKNOWN_NONE)
		return histogram_quantile(h, 0.5);
	struct reading r = reading_value(0);
	r.kind = READING_CELLS;
	r.cells = arena_alloc(arena, (h->count + 1) * sizeof *r.cells);
	for (size_t i = 0; i < h->count; i++)
		if (h->counts[i] > 0)
			r.cells[r.cell_count++] = (struct reading_cell){ i ? h->bounds[i - 1] : 0, h->bounds[i], h->counts[i] };
	return with_context(r, h);
}
