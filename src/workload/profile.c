#include "workload/profile.h"

#include "base/map.h"

#include <math.h>
#include <stdlib.h>

enum { STARTS_OF_MIX = 20000, STARTS_OF_ROWS = 400000 };

/* ---- statistics ---- */

static int by_length(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

double profile_ks(const uint32_t *a, size_t na, const uint32_t *b, size_t nb)
{
	double worst = 0;

	for (size_t i = 0, k = 0; i < na || k < nb;) {
		uint32_t at = i < na && (k == nb || a[i] < b[k]) ? a[i] : b[k];

		while (i < na && a[i] <= at)
			i++;
		while (k < nb && b[k] <= at)
			k++;
		worst = fmax(worst, fabs((double)i / (double)na - (double)k / (double)nb));
	}
	return worst;
}

/* The area between the two distribution functions. */
double profile_wasserstein(const uint32_t *a, size_t na, const uint32_t *b, size_t nb)
{
	double area = 0, before = 0, apart = 0;

	for (size_t i = 0, k = 0; i < na || k < nb;) {
		uint32_t at = i < na && (k == nb || a[i] < b[k]) ? a[i] : b[k];

		area += apart * (at - before);
		before = at;
		while (i < na && a[i] <= at)
			i++;
		while (k < nb && b[k] <= at)
			k++;
		apart = fabs((double)i / (double)na - (double)k / (double)nb);
	}
	return area;
}

struct ranked {
	uint32_t value;
	size_t index;
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* Equal values get the mean of their ranks. */
static void ranks_of(const uint32_t *values, size_t n, double *ranks)
{
	struct ranked *sorted = mem_zalloc(n, sizeof *sorted);

	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct ranked){ values[i], i };
	qsort(sorted, n, sizeof *sorted, by_value);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && sorted[k].value == sorted[i].value;)
			k++;
		for (size_t j = i; j < k; j++)
			ranks[sorted[j].index] = (double)(i + k - 1) / 2;
	}
	mem_free(sorted);
}

double profile_rank_correlation(const uint32_t *x, const uint32_t *y, size_t n)
{
	double *a, *b, middle = ((double)n - 1) / 2, xx = 0, yy = 0, xy = 0;

	if (n < 2)
		return NAN;
	a = mem_zalloc(n, sizeof *a);
	b = mem_zalloc(n, sizeof *b);
	ranks_of(x, n, a);
	ranks_of(y, n, b);
	for (size_t i = 0; i < n; i++) {
		xx += (a[i] - middle) * (a[i] - middle);
		yy += (b[i] - middle) * (b[i] - middle);
		xy += (a[i] - middle) * (b[i] - middle);
	}
	mem_free(a);
	mem_free(b);
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

double profile_quantile(const struct workload_profile *p, const struct profile_lengths *l, double q)
{
	double at = q * (double)(p->requests - 1);
	size_t low = (size_t)at, high = low + 1 < p->requests ? low + 1 : low;

	return l->sorted[low] + (at - (double)low) * ((double)l->sorted[high] - l->sorted[low]);
}

/* ---- making requests ---- */

struct maker {
	const struct workload *w;
	struct workload_plan plan;
	struct workload_request request;
	struct map seen; /* stream -> tokens sent of it */
	VEC(uint32_t) prompts, outputs;
	double shared, tokens;
};

/* Leading pieces that earlier requests have sent. */
static void count_shared(struct maker *m)
{
	const struct workload_request *r = &m->request;
	bool leading = true;

	for (uint32_t i = 0; i < r->piece_count; i++) {
		const struct workload_piece *p = &r->pieces[i];
		struct map_entry *entry = map_put(&m->seen, str_of((const char *)&p->stream, sizeof p->stream), NULL);
		uint32_t known = (uint32_t)(uintptr_t)entry->value, common = known < p->to ? known : p->to;

		if (leading)
			m->shared += common;
		leading = leading && common == p->to;
		if (p->to > known)
			entry->value = (void *)(uintptr_t)p->to;
	}
	m->tokens += r->prompt_tokens;
}

static void add_turns(struct maker *m, uint64_t number)
{
	for (uint32_t turn = 0; workload_request_make(m->w, &m->plan, number, turn, &m->request); turn++) {
		count_shared(m);
		VEC_PUSH(&m->prompts, m->request.prompt_tokens);
		VEC_PUSH(&m->outputs, m->request.output_tokens);
		if (!m->request.more)
			break;
	}
}

static void make_starts(struct maker *m, size_t most, struct workload_profile *p)
{
	struct workload_cursor *c = workload_cursor_new(m->w, &m->plan);
	double sum = 0, squares = 0, first = 0, last = 0;
	uint64_t number, due_ns;

	while (p->starts < most && workload_next_start(c, &number, &due_ns)) {
		double at = (double)due_ns * 1e-9;

		add_turns(m, number);
		first = p->starts ? first : at;
		sum += p->starts ? at - last : 0;
		squares += p->starts ? (at - last) * (at - last) : 0;
		last = at;
		p->starts++;
	}
	workload_cursor_free(c);
	double n = (double)p->starts - 1, mean = sum / n;

	p->seconds = last - first;
	p->rate = m->plan.arrivals.process != WORKLOAD_CLOSED && sum > 0 ? n / sum : NAN;
	p->interval_cv = p->starts > 2 && mean > 0 ? sqrt(fmax(squares / n - mean * mean, 0)) / mean : NAN;
}

/* What is drawn differs from the process by chance: two seeds are not two loads. */
static void take_process(const struct workload_arrivals *a, struct workload_profile *p)
{
	if (a->ramp_seconds != 0 || a->process == WORKLOAD_CLOSED || a->process == WORKLOAD_TRACE)
		return;
	p->rate = a->rate;
	p->interval_cv = a->process == WORKLOAD_CONSTANT ? 0 : a->process == WORKLOAD_POISSON ? 1 : 1 / sqrt(a->burstiness);
}

static void lengths_of(struct arena *arena, const uint32_t *values, size_t n, struct profile_lengths *l)
{
	l->sorted = ARENA_ARRAY(arena, uint32_t, n + 1);
	memcpy(l->sorted, values, n * sizeof *values);
	qsort(l->sorted, n, sizeof *l->sorted, by_length);
	l->mean = 0;
	for (size_t i = 0; i < n; i++)
		l->mean += values[i];
	l->mean /= (double)n;
}

static size_t starts_there_are(const struct workload *w)
{
	if (w->plan.requests)
		return w->plan.requests;
	return w->starts.count ? w->starts.count : SIZE_MAX;
}

void profile_make(struct arena *arena, const struct workload *w, size_t most, struct workload_profile *p)
{
	struct maker m = { .w = w };
	size_t there_are = starts_there_are(w);

	*p = (struct workload_profile){ 0 };
	most = most ? most : w->starts.count ? STARTS_OF_ROWS : STARTS_OF_MIX;
	p->whole = there_are <= most;
	workload_plan_default(w, &m.plan);
	workload_request_init(&m.request);
	map_init(&m.seen);
	make_starts(&m, p->whole ? there_are : most, p);
	take_process(&m.plan.arrivals, p);
	p->requests = m.prompts.count;
	lengths_of(arena, m.prompts.items, p->requests, &p->prompt);
	lengths_of(arena, m.outputs.items, p->requests, &p->output);
	p->rank_correlation = profile_rank_correlation(m.prompts.items, m.outputs.items, p->requests);
	p->shared = m.shared / m.tokens;
	p->turns = (double)p->requests / (double)p->starts;
	map_fini(&m.seen);
	workload_request_fini(&m.request);
	VEC_FREE(&m.prompts);
	VEC_FREE(&m.outputs);
}
