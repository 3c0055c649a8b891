/* When requests come: unit-rate intervals, stretched by the rate of the moment. */
#include "workload/content.h"
#include "workload/random.h"

#include <math.h>

enum { DRAW_ARRIVALS = 2 };

const char *const workload_process_names[] = {
	[WORKLOAD_CLOSED] = "closed",
	[WORKLOAD_CONSTANT] = "constant",
	[WORKLOAD_POISSON] = "poisson",
	[WORKLOAD_GAMMA] = "gamma",
	[WORKLOAD_TRACE] = "trace",
	NULL,
};

/* ---- plans ---- */

void workload_plan_default(const struct workload *w, struct workload_plan *plan)
{
	*plan = w->plan;
}

static bool within(double value, double least, double most, const char *name, struct error *e)
{
	if (value >= least && value <= most)
		return true;
	return error_set(e, EXIT_BAD_INPUT, "%s %.10g is impossible: from %.10g to %.10g", name, value, least, most);
}

static bool ramp_check(const struct workload_arrivals *a, struct error *e)
{
	if (a->ramp_seconds == 0)
		return true;
	if (!within(a->ramp_seconds, 0.001, 1e7, "ramp of", e) || !within(a->ramp_from, 0, 1e6, "ramp from a rate of", e))
		return false;
	if (a->ramp_exponential && (a->ramp_from <= 0 || a->ramp_from == a->rate)) {
		error_set(e, EXIT_BAD_INPUT, "an exponential ramp from %g to %g starts a second cannot be", a->ramp_from, a->rate);
		error_hint(e, "it grows by a constant factor: begin above 0 and at another rate than its end, or use a linear ramp");
		return false;
	}
	return true;
}

static bool trace_check(const struct workload *w, const struct workload_arrivals *a, struct error *e)
{
	if (w->starts.count)
		return within(a->speed, 1e-4, 1e6, "speed", e);
	error_set(e, EXIT_BAD_INPUT, "arrivals by trace need rows with times, and this workload is a mix");
	error_hint(e, "give a process (constant, poisson, gamma, closed) and its rate or concurrency");
	return false;
}

bool workload_plan_check(const struct workload *w, const struct workload_plan *plan, struct error *e)
{
	const struct workload_arrivals *a = &plan->arrivals;

	if (a->concurrency > 1000000)
		return error_set(e, EXIT_BAD_INPUT, "concurrency %u is impossible: at most 1000000", a->concurrency);
	if (a->process == WORKLOAD_CLOSED) {
		if (!a->concurrency)
			return error_set(e, EXIT_BAD_INPUT, "a closed loop needs a concurrency of at least 1");
		return a->ramp_seconds == 0 || error_set(e, EXIT_BAD_INPUT, "a ramp is of rates; a closed loop has none");
	}
	if (a->process == WORKLOAD_TRACE) {
		if (a->ramp_seconds != 0)
			return error_set(e, EXIT_BAD_INPUT, "a ramp is of rates; the times of a trace are its own");
		return trace_check(w, a, e);
	}
	if (!within(a->rate, 1e-4, 1e6, "a rate of", e))
		return false;
	if (a->process == WORKLOAD_GAMMA && !within(a->burstiness, 0.01, 1e6, "burstiness", e))
		return false;
	return ramp_check(a, e);
}

/* ---- times ---- */

/* The time at which `starts` are expected, by the inverse of the rate's integral. */
static double time_of(const struct workload_arrivals *a, double starts)
{
	double from = a->ramp_from, to = a->rate, length = a->ramp_seconds, whole, growth;

	if (length == 0)
		return starts / to;
	if (!a->ramp_exponential) {
		whole = (from + to) / 2 * length;
		if (starts >= whole)
			return length + (starts - whole) / to;
		return starts == 0 ? 0 : 2 * starts / (from + sqrt(from * from + 2 * starts * (to - from) / length));
	}
	growth = random_ln(to / from);
	whole = (to - from) / growth * length;
	if (starts >= whole)
		return length + (starts - whole) / to;
	return length / growth * random_ln(1 + starts * growth / (from * length));
}

struct workload_cursor {
	const struct workload *w;
	struct workload_plan plan;
	struct rng rng;
	uint64_t number;
	double starts; /* expected by the time of the last one */
	uint64_t last_ns;
};

struct workload_cursor *workload_cursor_new(const struct workload *w, const struct workload_plan *plan)
{
	struct workload_cursor *c = NEW(struct workload_cursor);

	*c = (struct workload_cursor){ .w = w, .plan = *plan, .rng = random_keyed(plan->seed, DRAW_ARRIVALS, 0) };
	return c;
}

void workload_cursor_free(struct workload_cursor *c)
{
	mem_free(c);
}

/* After its end a trace begins again, one mean interval later. */
static double trace_time(const struct workload *w, uint64_t number)
{
	uint64_t count = w->starts.count;
	double last = (double)w->rows.items[w->starts.items[count - 1]].time_us * 1e-6;
	double span = count > 1 ? last + last / (double)(count - 1) : last;

	return (double)(number / count) * span + (double)w->rows.items[w->starts.items[number % count]].time_us * 1e-6;
}

static double next_time(struct workload_cursor *c)
{
	const struct workload_arrivals *a = &c->plan.arrivals;

	switch (a->process) {
	case WORKLOAD_CLOSED: return 0;
	case WORKLOAD_TRACE: return trace_time(c->w, c->number) / a->speed;
	case WORKLOAD_CONSTANT: c->starts = (double)c->number; break;
	case WORKLOAD_POISSON: c->starts += random_exponential(&c->rng); break;
	case WORKLOAD_GAMMA: c->starts += random_gamma(&c->rng, a->burstiness); break;
	}
	return time_of(a, c->starts);
}

static bool is_over(const struct workload_cursor *c)
{
	if (c->plan.requests)
		return c->number >= c->plan.requests;
	return c->plan.arrivals.process == WORKLOAD_TRACE && c->number >= c->w->starts.count;
}

bool workload_next_start(struct workload_cursor *c, uint64_t *number, uint64_t *due_ns)
{
	if (is_over(c))
		return false;
	double seconds = next_time(c);
	uint64_t due = seconds < 9e9 ? (uint64_t)(seconds * 1e9 + 0.5) : UINT64_MAX / 2;

	*due_ns = c->last_ns = due > c->last_ns ? due : c->last_ns;
	*number = c->number++;
	return true;
}

bool workload_next(struct workload_cursor *c, struct workload_request *r)
{
	uint64_t number, due_ns;

	if (!workload_next_start(c, &number, &due_ns))
		return false;
	workload_request_make(c->w, &c->plan, number, 0, r);
	r->due_ns = due_ns;
	return true;
}
