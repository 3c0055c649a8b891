/* What would make the comparison one of two loads instead of two servers. */
#include "base/number.h"
#include "compare/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMPLETED_LEAST = 20, OCTAVES = 33 };

static const char *const obstacle_names[COMPARE_OBSTACLES] = { "not-comparable-mix", "not-comparable-cache", "not-comparable-load",
	"not-comparable-client", "not-comparable-too-few" };

const char *compare_obstacle_name(enum compare_obstacle o)
{
	return obstacle_names[o];
}

void compare_add_reason(struct compare_result *r, enum compare_obstacle o, const char *format, ...)
{
	va_list args;

	for (size_t i = 0; i < r->reason_count; i++)
		if (r->reasons[i].obstacle == o)
			return; /* the first one says enough */
	struct compare_reason *reason = &r->reasons[r->reason_count++];

	reason->obstacle = o;
	va_start(args, format);
	vsnprintf(reason->text, sizeof reason->text, format, args);
	va_end(args);
}

#define SIDE_EACH(side, t)                                                                                                                 \
	for (size_t run_ = 0; run_ < (side)->run_count; run_++)                                                                            \
		VEC_EACH (&(side)->runs[run_]->requests, t)                                                                                \
			if (side_takes(side, t))

/* ---- matched? ---- */

struct key {
	uint64_t id;
	uint32_t turn;
	int64_t due_ns;
};

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->turn > y->turn) - (x->turn < y->turn);
}

struct keys {
	VEC(struct key) items;
};

static void take_keys(struct keys *k, const struct compare_side *side, const struct records *r)
{
	*k = (struct keys){ 0 };
	VEC_EACH (&r->requests, t)
		if (side_takes(side, t) && t->intended_ns != TIMELINE_NEVER)
			VEC_PUSH(&k->items, (struct key){ t->id, t->turn, t->intended_ns });
	if (k->items.count)
		qsort(k->items.items, k->items.count, sizeof *k->items.items, by_key);
}

static bool runs_match(const struct keys *a, const struct keys *b)
{
	size_t i = 0, k = 0, equal = 0, more = a->items.count > b->items.count ? a->items.count : b->items.count;

	while (i < a->items.count && k < b->items.count) {
		int order = by_key(&a->items.items[i], &b->items.items[k]);

		if (!order)
			equal += llabs(a->items.items[i].due_ns - b->items.items[k].due_ns) < 1000000;
		i += order <= 0;
		k += order >= 0;
	}
	return more && equal * 20 >= more * 19;
}

bool compare_is_matched(const struct compare_side *a, const struct compare_side *b)
{
	bool matched = a->run_count == b->run_count;

	for (size_t i = 0; matched && i < a->run_count; i++) {
		struct keys x, y;

		matched = str_eq(a->runs[i]->run.workload, b->runs[i]->run.workload);
		take_keys(&x, a, a->runs[i]);
		take_keys(&y, b, b->runs[i]);
		matched = matched && runs_match(&x, &y);
		VEC_FREE(&x.items);
		VEC_FREE(&y.items);
	}
	return matched;
}

/* ---- the mix ---- */

/* Requests by the octave of a count of tokens. */
struct histogram_of {
	double cells[OCTAVES], total, sum;
};

enum counted { COUNTED_PROMPT, COUNTED_ASKED };

static void take_counts(struct histogram_of *h, const struct compare_side *side, enum counted what)
{
	*h = (struct histogram_of){ 0 };
	SIDE_EACH(side, t)
	{
		uint32_t count = what == COUNTED_PROMPT ? t->prompt_tokens : t->asked_tokens;

		if (count == TIMELINE_UNKNOWN)
			continue;
		h->cells[count ? 32 - __builtin_clz(count) : 0]++;
		h->total++;
		h->sum += count;
	}
}

double compare_distance(const double *a, const double *b, size_t count, double *by_chance)
{
	double total_a = 0, total_b = 0, sum = 0;

	for (size_t i = 0; i < count; i++) {
		total_a += a[i];
		total_b += b[i];
	}
	*by_chance = NAN;
	if (!(total_a > 0) || !(total_b > 0))
		return NAN;
	*by_chance = 0;
	for (size_t i = 0; i < count; i++) {
		double pooled = (a[i] + b[i]) / (total_a + total_b);

		sum += fabs(a[i] / total_a - b[i] / total_b) / 2;
		*by_chance += sqrt(pooled * (1 - pooled) * (1 / total_a + 1 / total_b) / (2 * M_PI));
	}
	return sum;
}

static void check_lengths(struct compare_result *r, const struct panel_input *in, enum counted what, const char *name)
{
	struct histogram_of a, b;
	double by_chance, apart;

	take_counts(&a, in->a, what);
	take_counts(&b, in->b, what);
	if (!a.total || !b.total)
		return;
	apart = compare_distance(a.cells, b.cells, OCTAVES, &by_chance);
	if (apart > 0.1 + 2 * by_chance)
		compare_add_reason(r, COMPARE_MIX, "%s moved: %.0f %% of requests are of another length (mean %.0f, then %.0f tokens)",
			name, apart * 100, a.sum / a.total, b.sum / b.total);
}

static void check_prompt_mean(struct compare_result *r)
{
	const struct compare_panel *p = compare_panel(r, "prompt_tokens_mean");

	if (p && (p->change.low > 0.1 || p->change.high < -0.1))
		compare_add_reason(r, COMPARE_MIX, "prompts are %+.0f %% as long: mean %.0f, then %.0f tokens", p->change.value * 100,
			p->a.value, p->b.value);
}

static double mean_temperature(const struct compare_side *side)
{
	double sum = 0, count = 0;

	SIDE_EACH(side, t)
	if (!isnan(t->temperature)) {
		sum += t->temperature;
		count++;
	}
	return count > 0 ? sum / count : NAN;
}

static void check_mix(struct compare_result *r, const struct panel_input *in)
{
	double a = mean_temperature(in->a), b = mean_temperature(in->b);

	check_lengths(r, in, COUNTED_PROMPT, "prompt lengths");
	check_lengths(r, in, COUNTED_ASKED, "asked output lengths");
	check_prompt_mean(r);
	if (fabs(a - b) > 0.05)
		compare_add_reason(r, COMPARE_MIX, "the sampling temperature moved: mean %.2f, then %.2f", a, b);
}

/* ---- cache ---- */

static double fact_mean(const struct compare_side *side, const char *name)
{
	double sum = 0, value;

	for (size_t i = 0; i < side->run_count; i++) {
		if (!number_parse(records_fact(&side->runs[i]->run, name), &value))
			return NAN;
		sum += value / (double)side->run_count;
	}
	return sum;
}

/* Share of prompt tokens that came from the prefix cache, as requests tell. */
static double cached_share(const struct compare_side *side)
{
	double cached = 0, prompt = 0;

	SIDE_EACH(side, t)
	if (t->cached_tokens != TIMELINE_UNKNOWN && t->prompt_tokens != TIMELINE_UNKNOWN) {
		cached += t->cached_tokens;
		prompt += t->prompt_tokens;
	}
	return prompt > 0 ? cached / prompt : NAN;
}

static void check_cache(struct compare_result *r, const struct panel_input *in)
{
	double a = cached_share(in->a), b = cached_share(in->b);

	if (isnan(a) || isnan(b)) { /* as the server tells, then: of both, since it counts blocks and not tokens */
		a = fact_mean(in->a, "server.prefix_hit_rate");
		b = fact_mean(in->b, "server.prefix_hit_rate");
	}
	if (fabs(a - b) > 0.05)
		compare_add_reason(r, COMPARE_CACHED,
			"the cached share of prompts moved from %.0f to %.0f %%: a warm prefix cache makes the other side look slow",
			a * 100, b * 100);
}

/* ---- load and client ---- */

static bool is_closed(const struct records_run *run)
{
	return run->concurrency != TIMELINE_UNKNOWN && isnan(run->rate);
}

static const char *concurrency_text(const struct records_run *run, char text[16])
{
	if (run->concurrency == TIMELINE_UNKNOWN)
		return "none";
	snprintf(text, 16, "%u", run->concurrency);
	return text;
}

/* What was asked for in two runs that stand beside each other. */
static void check_runs(struct compare_result *r, const struct records_run *a, const struct records_run *b)
{
	struct str first = records_fact(a, "arrivals"), second = records_fact(b, "arrivals");
	char before[16], after[16];

	if (first.len && second.len && !str_eq(first, second))
		compare_add_reason(r, COMPARE_CONCURRENCY, "arrivals were " STR_FMT ", then " STR_FMT, STR_ARG(first), STR_ARG(second));
	if (a->concurrency != b->concurrency)
		compare_add_reason(r, COMPARE_CONCURRENCY, "the concurrency asked for moved from %s to %s", concurrency_text(a, before),
			concurrency_text(b, after));
	if (fabs(a->rate / b->rate - 1) > 0.01)
		compare_add_reason(r, COMPARE_CONCURRENCY, "the rate asked for moved from %g to %g/s", a->rate, b->rate);
}

static void check_load(struct compare_result *r, const struct panel_input *in)
{
	const struct compare_panel *offered = compare_panel(r, "offered_rps");

	if (in->a->label_name.len || in->b->label_name.len)
		return; /* shares of one load: they differ by intention */
	for (size_t i = 0; i < in->a->run_count && i < in->b->run_count; i++)
		check_runs(r, &in->a->runs[i]->run, &in->b->runs[i]->run);
	if (!is_closed(&in->a->runs[0]->run) && offered && (offered->change.low > 0.05 || offered->change.high < -0.05))
		compare_add_reason(
			r, COMPARE_CONCURRENCY, "the offered load moved from %.3g to %.3g requests/s", offered->a.value, offered->b.value);
}

static const struct records_run *bound_run(const struct compare_side *side)
{
	for (size_t i = 0; i < side->run_count; i++)
		if (side->runs[i]->run.client_bound)
			return &side->runs[i]->run;
	return NULL;
}

static double worst_of(const struct compare_side *side, size_t offset)
{
	double worst = NAN;

	for (size_t i = 0; i < side->run_count; i++)
		worst = fmax(worst, *(const double *)((const char *)&side->runs[i]->run + offset));
	return worst;
}

static void check_lateness(struct compare_result *r, const struct panel_input *in, size_t offset, const char *what)
{
	double a = worst_of(in->a, offset), b = worst_of(in->b, offset);

	if (fmax(a, b) > 5 && fmax(a, b) > 2 * fmin(a, b))
		compare_add_reason(r, COMPARE_CLIENT, "the client's %s moved: P99 %.1f ms, then %.1f ms", what, a, b);
}

static void check_client(struct compare_result *r, const struct panel_input *in)
{
	const struct records_run *a = bound_run(in->a), *b = bound_run(in->b), *bound = a ? a : b;

	if (bound)
		compare_add_reason(r, COMPARE_CLIENT, "the client was the bottleneck of %s: " STR_FMT,
			a && b ? "both sides"
			: a    ? "A"
			       : "B",
			STR_ARG(bound->client_reason));
	check_lateness(r, in, offsetof(struct records_run, client_lag_p99_ms), "lag behind the kernel");
	check_lateness(r, in, offsetof(struct records_run, schedule_delay_p99_ms), "lateness behind the schedule");
}

static size_t completed(const struct compare_side *side)
{
	size_t count = 0;

	SIDE_EACH(side, t)
	count += timeline_is_complete(t);
	return count;
}

void compare_find_obstacles(struct compare_result *r, const struct panel_input *in)
{
	size_t a = completed(in->a), b = completed(in->b);

	if (a < COMPLETED_LEAST || b < COMPLETED_LEAST)
		compare_add_reason(
			r, COMPARE_TOO_FEW, "%zu requests completed, then %zu: below %d nothing can be told", a, b, COMPLETED_LEAST);
	check_mix(r, in);
	check_cache(r, in);
	check_load(r, in);
	check_client(r, in);
}
