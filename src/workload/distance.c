/* How far two workloads are apart, and whether results on one say anything about the other. */
#include "workload/profile.h"

#include <math.h>

const char *const profile_aspect_names[PROFILE_ASPECTS] = {
	[PROFILE_PROMPT] = "prompt lengths",
	[PROFILE_OUTPUT] = "output lengths",
	[PROFILE_PROMPT_MEAN] = "mean prompt",
	[PROFILE_OUTPUT_MEAN] = "mean output",
	[PROFILE_CORRELATION] = "joint mix",
	[PROFILE_SHARED] = "shared beginnings",
	[PROFILE_RATE] = "arrivals a second",
	[PROFILE_CV] = "burstiness",
	[PROFILE_TURNS] = "turns of a session",
};

/* A mix that moved 2 % in its mean tokens moves TTFT and TPOT by about as much, more near saturation: what a comparison wants to see is 5
 * to 10 %. The distances of shares leave room for the noise of drawing 20,000 requests (KS 0.02). */
static const double limits[PROFILE_ASPECTS] = {
	[PROFILE_PROMPT] = 0.05,
	[PROFILE_OUTPUT] = 0.05,
	[PROFILE_PROMPT_MEAN] = 0.02,
	[PROFILE_OUTPUT_MEAN] = 0.02,
	[PROFILE_CORRELATION] = 0.05,
	[PROFILE_SHARED] = 0.02,
	[PROFILE_RATE] = 0.02,
	[PROFILE_CV] = 0.1,
	[PROFILE_TURNS] = 0.02,
};

static double relative(double a, double b)
{
	return fabs(b - a) / fmax(fabs(a), fabs(b));
}

static void set(struct profile_diff *d, enum profile_aspect aspect, double a, double b, double value)
{
	/* what neither has cannot differ */
	bool neither = isnan(a) && isnan(b);

	d->distance[aspect] = (struct profile_distance){ .a = a, .b = b, .value = neither ? 0 : value, .limit = limits[aspect] };
	d->distance[aspect].fair = d->distance[aspect].value <= limits[aspect];
	d->fair &= d->distance[aspect].fair;
}

static void compare_settings(const struct workload *a, const struct workload *b, struct profile_diff *d)
{
	const struct workload_arrivals *x = &a->plan.arrivals, *y = &b->plan.arrivals;

	d->same_process = (x->process == WORKLOAD_CLOSED) == (y->process == WORKLOAD_CLOSED);
	d->same_concurrency = x->concurrency == y->concurrency;
	d->same_sampling = str_eq(a->sampling, b->sampling);
	d->same_format = a->format == b->format && a->template_tokens == b->template_tokens;
	d->fair &= d->same_process && d->same_concurrency && d->same_sampling && d->same_format;
}

void profile_compare(const struct workload *a, const struct workload_profile *pa, const struct workload *b,
	const struct workload_profile *pb, struct profile_diff *d)
{
	const struct profile_lengths *xp = &pa->prompt, *yp = &pb->prompt, *xo = &pa->output, *yo = &pb->output;

	*d = (struct profile_diff){ .same = !strcmp(a->hash, b->hash), .fair = true };
	set(d, PROFILE_PROMPT, profile_quantile(pa, xp, 0.5), profile_quantile(pb, yp, 0.5),
		profile_ks(xp->sorted, pa->requests, yp->sorted, pb->requests));
	set(d, PROFILE_OUTPUT, profile_quantile(pa, xo, 0.5), profile_quantile(pb, yo, 0.5),
		profile_ks(xo->sorted, pa->requests, yo->sorted, pb->requests));
	set(d, PROFILE_PROMPT_MEAN, xp->mean, yp->mean, relative(xp->mean, yp->mean));
	set(d, PROFILE_OUTPUT_MEAN, xo->mean, yo->mean, relative(xo->mean, yo->mean));
	set(d, PROFILE_CORRELATION, pa->rank_correlation, pb->rank_correlation, fabs(pa->rank_correlation - pb->rank_correlation));
	set(d, PROFILE_SHARED, pa->shared, pb->shared, fabs(pa->shared - pb->shared));
	set(d, PROFILE_RATE, pa->rate, pb->rate, relative(pa->rate, pb->rate));
	set(d, PROFILE_CV, pa->interval_cv, pb->interval_cv, fabs(pa->interval_cv - pb->interval_cv) / fmax(1, pa->interval_cv));
	set(d, PROFILE_TURNS, pa->turns, pb->turns, relative(pa->turns, pb->turns));
	d->prompt_shift = profile_wasserstein(xp->sorted, pa->requests, yp->sorted, pb->requests);
	d->output_shift = profile_wasserstein(xo->sorted, pa->requests, yo->sorted, pb->requests);
	compare_settings(a, b, d);
}
