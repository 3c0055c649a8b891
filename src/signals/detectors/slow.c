/* Who is slow beside its peers? A fleet of 64 that is judged every four seconds is asked this a million times a day. So whoever is told
 * is slow by an amount that matters, and in each of two spans of time by more than chance does once in 10^5: in both once in 10^10. */
#include "signals/detectors/slow.h"

#include "signals/detectors/detect.h"

enum { EVENTS_MIN = 20, GAPS_MIN = 100 };
enum { SPAN_MIN_MS = 10 * 1000 };          /* a burst, or one long prompt, is over by then */
static const double gap_troubles_s = 0.01; /* a second and a half over an answer of 160 tokens */

/* Spans that each have to say so, and how surely. */
struct spans {
	struct window windows[2];
	size_t count;
	double chance; /* of one span */
	double far;    /* the same of a normal distribution, in median distances from the median (0.674 of a standard deviation) */
};

/* The halves of the window, of the ten seconds to its end when it is shorter; the scrape before and the one before that when it has two
 * scrapes. What has no more than two has one span, which must be as sure as both. */
static struct spans spans_of(struct evaluation *ev, const struct scope *pool)
{
	struct window w = ev->window;
	int64_t length = w.to_ms - w.from_ms, span = length > SPAN_MIN_MS ? length : SPAN_MIN_MS, middle = w.to_ms - span / 2;
	const struct scrape_record *inner = evidence_scrape(ev->evidence, pool->targets[0], middle);

	if (!inner || inner->t_ms <= w.to_ms - span) {
		span = 2 * length;
		middle = w.from_ms;
	}
	if (w.to_ms - span < w.history_ms)
		return (struct spans){ .windows = { w }, .count = 1, .chance = 1e-10, .far = 9.4 };
	struct spans s = { .windows = { w, w }, .count = 2, .chance = 1e-5, .far = 6.3 };
	s.windows[0].from_ms = w.to_ms - span;
	s.windows[0].to_ms = s.windows[1].from_ms = middle;
	return s;
}

/* The targets of a pool beside each other. */
struct field {
	size_t count;
	const struct scope **targets;
	double *values, *room; /* room: for twice the count */
	bool *known;
};

static struct field field_of(struct evaluation *ev, const struct scope *pool)
{
	size_t most = pool->target_count + 1;
	struct field f = { .targets = ARENA_ARRAY(ev->arena, const struct scope *, most),
		.values = ARENA_ARRAY(ev->arena, double, most),
		.room = ARENA_ARRAY(ev->arena, double, 2 * most),
		.known = ARENA_ARRAY(ev->arena, bool, most) };
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		if (scope_has_target(pool, s->target))
			f.targets[f.count++] = s;
	}
	return f;
}

static double known_end(const struct reading *r)
{
	return r->kind == READING_AT_MOST ? r->high : r->low;
}

/* ---- by a latency ---- */

/* Chance of k or more of n events when each has the chance p; k is more than n p, so that terms only fall. */
static double binomial_tail(double k, double n, double p)
{
	double term = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p)), sum = 0;
	for (; k <= n && term > 1e-9 * sum; k++) {
		sum += term;
		term *= (n - k) / (k + 1) * p / (1 - p);
	}
	return sum;
}

/* The first bucket bound from a value on: nothing need be guessed about what lies beyond. INFINITY: none. */
static double bound_from(const struct histogram *h, double least)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->bounds[i] >= least)
			return h->bounds[i];
	return INFINITY;
}

/* What a target has beyond a bar. A bar inside a bucket (another version's layout) counts for the peers. */
struct tail {
	double beyond, all;
};

static void tail_add(struct tail *t, const struct histogram *h, double bar)
{
	struct reading r = histogram_count_above(h, bar);
	if (!reading_is_number(&r) || isnan(h->total))
		return;
	t->beyond += r.high;
	t->all += h->total;
}

/* Are more of the target's events beyond its peers' P99 than the peers' share of such events explains? */
static bool exceeds_peers(struct evaluation *ev, const struct field *f, const struct metric_spec *m, size_t i, double p99, double chance)
{
	struct tail own = { 0 }, peers = { 0 };
	struct histogram h;
	if (!scope_histogram(ev, f->targets[i], m, &h))
		return false;
	double bar = bound_from(&h, p99);
	if (isinf(bar))
		return false;
	tail_add(&own, &h, bar);
	for (size_t k = 0; k < f->count; k++)
		if (k != i && scope_histogram(ev, f->targets[k], m, &h))
			tail_add(&peers, &h, bar);
	double share = (peers.beyond + 1) / (peers.all + 2); /* never 0: what was not seen yet may be seen */
	return own.beyond > share * own.all && binomial_tail(own.beyond, own.all, share) < chance;
}

static bool exceeds_peers_in_all(
	struct evaluation *ev, const struct spans *spans, const struct field *f, const struct metric_spec *m, size_t i, double p99)
{
	for (size_t k = 0; k < spans->count; k++) {
		struct evaluation part = *ev; /* histograms ask for its window, evidence and arena */
		part.window = spans->windows[k];
		if (!exceeds_peers(&part, f, m, i, p99, spans->chance))
			return false;
	}
	return true;
}

/* The target whose quantile is three times the median of its peers' and 0.1 s above it, surely; the slowest if several are. */
static struct slow slow_latency(struct evaluation *ev, const struct scope *pool, const struct spans *spans, const char *metric,
	const char *signal, const char *title)
{
	struct slow found = { .title = title, .value = -INFINITY };
	const struct metric_spec *m = catalog_metric(ev->catalog, metric);
	struct field f = field_of(ev, pool);
	double *surely = ARENA_ARRAY(ev->arena, double, f.count + 1);
	for (size_t i = 0; i < f.count; i++) {
		const struct reading *r = evaluation_named(ev, f.targets[i], signal);
		f.known[i] = reading_is_number(r) && r->events >= EVENTS_MIN;
		f.values[i] = f.known[i] ? known_end(r) : NAN;
		surely[i] = f.known[i] && r->has_interval && r->interval_low < f.values[i] ? r->interval_low : f.values[i];
		f.known[i] &= !(r->kind == READING_AT_MOST && r->high > 60); /* a bound that says nothing */
	}
	for (size_t i = 0; m && i < f.count; i++) {
		double median = f.known[i] ? median_of_others(f.values, f.known, f.count, i, f.room) : NAN;
		if (surely[i] >= 3 * median && f.values[i] - median > 0.1 && f.values[i] > found.value &&
			exceeds_peers_in_all(ev, spans, &f, m, i, median))
			found = (struct slow){ f.targets[i], title, f.values[i], median };
	}
	return found;
}

/* ---- by decoding: hundreds of events where a latency has ten ---- */

/* From _sum and _count alone: the reading of the signal gathers all buckets, of every replica at every moment. NAN when not known or too
 * few. */
static double mean_gap(struct evaluation *ev, const struct scope *s, const struct metric_spec *itl)
{
	double sum = 0, count = 0;
	bool has_sum = false;
	struct restart_times restarts;
	struct window_ends w = window_ends_of(ev, s->target, &restarts);
	for (size_t k = 0; k < s->member_count; k++) {
		const struct member_list *list = evidence_members(ev->evidence, s->members[k], itl, ev->window.to_ms);
		for (size_t i = 0; list && i < list->members.count; i++) {
			const struct member *m = &list->members.items[i];
			if (m->part == PART_BUCKET)
				continue;
			struct increase one = view_increase(&m->view, &w);
			if (!one.known || one.reset)
				return NAN;
			if (m->part == PART_SUM)
				sum += one.value * list->name->scale;
			else
				count += one.value;
			has_sum |= m->part == PART_SUM;
		}
	}
	return has_sum && count >= GAPS_MIN ? sum / count : NAN;
}

static void read_gaps(struct evaluation *ev, struct field *f, const struct metric_spec *itl)
{
	for (size_t i = 0; i < f->count; i++) {
		f->values[i] = mean_gap(ev, f->targets[i], itl);
		f->known[i] = !isnan(f->values[i]);
	}
}

/* Twice the others by their mean gaps, and no mere end of a wide field (batches differ, cards differ)? Ratios are compared: the gaps of a
 * fleet have a long upper end. */
static bool decodes_slowly(struct evaluation *ev, const struct field *f, size_t i, double far, double *median)
{
	size_t others = count_others(f->known, f->count, i);
	*median = f->known[i] ? median_of_others(f->values, f->known, f->count, i, f->room) : NAN;
	if (!others || !(f->values[i] - *median >= gap_troubles_s))
		return false;
	if (others < PEERS_FOR_SPREAD)
		return f->values[i] >= 3 * *median;
	double *logs = ARENA_ARRAY(ev->arena, double, f->count);
	for (size_t k = 0; k < f->count; k++)
		logs[k] = log(f->values[k]);
	double spread = spread_of_others(logs, f->known, f->count, i, log(*median), f->room);
	return f->values[i] >= 2 * *median && logs[i] - log(*median) > far * spread;
}

/* A few long gaps raise a mean: whoever is slow is so with every token. Is the median gap of the target half as long again as the median of
 * its peers' too? */
static bool every_token_is_slow(struct evaluation *ev, const struct field *f, size_t i)
{
	double *medians = ARENA_ARRAY(ev->arena, double, f->count);
	bool *have = ARENA_ARRAY(ev->arena, bool, f->count);
	for (size_t k = 0; k < f->count; k++) {
		const struct reading *r = f->known[k] ? evaluation_named(ev, f->targets[k], "itl_p50") : NULL;
		have[k] = r && reading_is_number(r);
		medians[k] = have[k] ? known_end(r) : NAN;
	}
	return have[i] && medians[i] >= 1.5 * median_of_others(medians, have, f->count, i, f->room);
}

static struct slow slow_decode(struct evaluation *ev, const struct scope *pool, const struct spans *spans)
{
	struct slow found = { .title = "mean gap between tokens", .value = -INFINITY };
	const struct metric_spec *itl = catalog_metric(ev->catalog, "itl");
	struct field whole = field_of(ev, pool), part[2];
	double median, unused;
	if (!itl)
		return found;
	read_gaps(ev, &whole, itl);
	for (size_t k = 0; k < spans->count; k++) {
		struct evaluation span = *ev; /* a mean gap asks for its window and evidence */
		span.window = spans->windows[k];
		part[k] = field_of(ev, pool);
		read_gaps(&span, &part[k], itl);
	}
	for (size_t i = 0; i < whole.count; i++) {
		bool slow = decodes_slowly(ev, &whole, i, 0, &median) && whole.values[i] > found.value;
		for (size_t k = 0; slow && k < spans->count; k++)
			slow = decodes_slowly(ev, &part[k], i, spans->far, &unused);
		if (slow && every_token_is_slow(ev, &whole, i))
			found = (struct slow){ whole.targets[i], found.title, whole.values[i], median };
	}
	return found;
}

struct slow slow_replica(struct evaluation *ev, const struct scope *pool)
{
	if (pool->target_count < 2 || !has_window(ev))
		return (struct slow){ 0 };
	struct spans spans = spans_of(ev, pool);
	struct slow slow = slow_latency(ev, pool, &spans, "ttft", "ttft_p99", "TTFT P99");
	/* Whose first token and whose gaps are its peers' and whose requests take longer has longer answers. */
	if (!slow.scope && !is_exported(ev, pool, "itl"))
		slow = slow_latency(ev, pool, &spans, "e2e", "e2e_p99", "E2E P99");
	if (!slow.scope)
		slow = slow_decode(ev, pool, &spans);
	if (spans.count > 1)
		slow.since_ms = spans.windows[0].from_ms;
	return slow;
}
