#include "compare/given.h"

#include "compare/internal.h"

#include <math.h>

enum { FINISHED_LEAST = 20 };

const struct compare_spec given_specs[] = {
	{ "ttft_p50", "TTFT P50", "ms", COMPARE_QUANTILE, 0, 0.5, -1 },
	{ "ttft_p90", "TTFT P90", "ms", COMPARE_QUANTILE, 0, 0.9, -1 },
	{ "ttft_p99", "TTFT P99", "ms", COMPARE_QUANTILE, 0, 0.99, -1 },
	{ "ttft_mean", "TTFT mean", "ms", COMPARE_MEAN, 0, 0, -1 },
	{ "tpot_p50", "TPOT P50", "ms", COMPARE_QUANTILE, 0, 0.5, -1 },
	{ "tpot_p99", "TPOT P99", "ms", COMPARE_QUANTILE, 0, 0.99, -1 },
	{ "tpot_mean", "TPOT mean", "ms", COMPARE_MEAN, 0, 0, -1 },
	{ "e2e_p50", "E2E P50", "ms", COMPARE_QUANTILE, 0, 0.5, -1 },
	{ "e2e_p99", "E2E P99", "ms", COMPARE_QUANTILE, 0, 0.99, -1 },
	{ "queue_mean", "queue time mean", "ms", COMPARE_MEAN, 0, 0, -1 },
	{ "throughput_rps", "finished requests", "1/s", COMPARE_RATE, 0, 0, 1 },
	{ "output_tokens_per_s", "output tokens", "1/s", COMPARE_RATE, 0, 0, 1 },
	{ "offered_rps", "arrivals", "1/s", COMPARE_RATE, 0, 0, 0 },
	{ "error_share", "errors", "share", COMPARE_SHARE, 0, 0, -1 },
	{ "length_share", "ended by length", "share", COMPARE_SHARE, 0, 0, -1 },
	{ "preemptions", "preemptions per 1,000", "1", COMPARE_COUNT, 0, 0, -1 },
	{ "prompt_tokens_mean", "prompt length", "tokens", COMPARE_MEAN, 0, 0, 0 },
	{ "output_tokens_mean", "output length", "tokens", COMPARE_MEAN, 0, 0, 0 },
	{ "cached_share", "cached prompt tokens", "share", COMPARE_SHARE, 0, 0, 0 },
	{ "kv_usage_mean", "KV cache usage", "share", COMPARE_MEAN, 0, 0, 0 },
	{ "running", "running requests", "requests", COMPARE_MEAN, 0, 0, 0 },
	{ "waiting", "waiting requests", "requests", COMPARE_MEAN, 0, 0, -1 },
	{ "goodput", "goodput", "share", COMPARE_SHARE, 0, 0, 1 },
	{ "goodput_rps", "good requests", "1/s", COMPARE_RATE, 0, 0, 1 },
	{ "replicas", "replicas that answer", "1", COMPARE_MEAN, 0, 0, 0 },
	{ "gpus", "GPUs", "1", COMPARE_MEAN, 0, 0, 0 },
	{ "tokens_per_gpu_s", "tokens per GPU-second", "1", COMPARE_RATE, 0, 0, 1 },
	{ "tokens_per_replica_s", "tokens per replica-s", "1", COMPARE_RATE, 0, 0, 1 },
	{ "gpu_hours_per_mtok", "GPU-h per M tokens", "h", COMPARE_MEAN, 0, 0, -1 },
	{ "replica_hours_per_mtok", "rep.-h per M tokens", "h", COMPARE_MEAN, 0, 0, -1 },
	{ "gpu_hours_per_1000_good", "GPU-h per 1,000 good", "h", COMPARE_MEAN, 0, 0, -1 },
	{ "replica_hours_per_1000_good", "rep.-h per 1,000 good", "h", COMPARE_MEAN, 0, 0, -1 },
	{ "cost_per_hour", "cost of an hour", "1", COMPARE_MEAN, 0, 0, -1 },
	{ "cost_per_mtok", "cost of M tokens", "1", COMPARE_MEAN, 0, 0, -1 },
	{ "cost_per_1000_good", "cost of 1,000 good", "1", COMPARE_MEAN, 0, 0, -1 },
	{ 0 },
};

const struct compare_spec *given_spec_find(const char *id)
{
	for (const struct compare_spec *s = given_specs; s->id; s++)
		if (strcmp(s->id, id) == 0)
			return s;
	return NULL;
}

/* Intervals are told at 95 % and wanted at another confidence. */
static double quantile_ratio(double confidence)
{
	return normal_quantile((1 + confidence) / 2) / normal_quantile(0.975);
}

/* Both ends further from the value, as far as chance goes and the figure can be. */
static struct estimate wider(const struct given_figure *f, const struct estimate *e, enum given_ends ends, double confidence)
{
	double factor = quantile_ratio(confidence) * (ends == GIVEN_REQUESTS ? sqrt(GIVEN_DESIGN) : 1);
	struct estimate x = { e->value, e->value - (e->value - e->low) * factor, e->value + (e->high - e->value) * factor, e->count };

	if (ends == GIVEN_BOUNDS)
		return *e;
	x.low = x.low < 0 ? 0 : x.low;
	x.high = f->spec->kind == COMPARE_SHARE && x.high > 1 ? 1 : x.high;
	return x;
}

/* Of bounds, which chance has no part in: between the least and the most that they leave open. */
static struct estimate change_of_bounds(const struct compare_panel *p)
{
	double a_low = isnan(p->a.low) ? p->a.value : p->a.low, a_high = isnan(p->a.high) ? p->a.value : p->a.high;
	double b_low = isnan(p->b.low) ? p->b.value : p->b.low, b_high = isnan(p->b.high) ? p->b.value : p->b.high;
	struct estimate e = { NAN, NAN, NAN, p->a.count < p->b.count ? p->a.count : p->b.count };

	if (p->spec->kind == COMPARE_SHARE)
		return (struct estimate){ NAN, b_low - a_high, b_high - a_low, e.count };
	e.low = a_high > 0 ? b_low / a_high - 1 : NAN;
	e.high = a_low > 0 ? b_high / a_low - 1 : NAN;
	return e;
}

/* A count per 1,000 requests, of which the windows finished so many. */
static void set_counts(struct compare_panel *p, const struct given *g, double confidence)
{
	double finished_a = NAN, finished_b = NAN;

	for (size_t i = 0; i < g->figure_count; i++)
		if (strcmp(g->figures[i].spec->id, "throughput_rps") == 0) {
			finished_a = g->figures[i].a.value * g->seconds_a;
			finished_b = g->figures[i].b.value * g->seconds_b;
		}
	if (finished_a > 0 && finished_b > 0 && !isnan(p->a.value) && !isnan(p->b.value))
		panel_set_counts(p, p->a.value * finished_a / 1000, finished_a, p->b.value * finished_b / 1000, finished_b, confidence);
}

static void add_panel(struct compare_result *r, const struct given *g, const struct given_figure *f, double confidence)
{
	struct compare_panel *p = &r->panels[r->panel_count++];

	*p = (struct compare_panel){ .spec = f->spec,
		.a = wider(f, &f->a, f->ends_a, confidence),
		.b = wider(f, &f->b, f->ends_b, confidence),
		.unknown_a = f->unknown_a,
		.unknown_b = f->unknown_b };
	p->effective_a = (double)f->a.count / GIVEN_DESIGN;
	p->effective_b = (double)f->b.count / GIVEN_DESIGN;
	panel_set_change(p, confidence);
	if (f->spec->kind == COMPARE_COUNT)
		set_counts(p, g, confidence);
	if (f->ends_a != GIVEN_BOUNDS && f->ends_b != GIVEN_BOUNDS)
		return;
	p->change = change_of_bounds(p);
	p->error = NAN; /* more load leaves them where they are */
}

static double mix_distance(const struct given *g, double *by_chance)
{
	double a[GIVEN_CELLS_MAX], b[GIVEN_CELLS_MAX];

	for (size_t i = 0; i < g->cell_count; i++) {
		a[i] = g->cells[i].a;
		b[i] = g->cells[i].b;
	}
	return compare_distance(a, b, g->cell_count, by_chance);
}

double given_distance(const struct given *g)
{
	double by_chance;

	return mix_distance(g, &by_chance);
}

/* On both sides. */
static bool is_known(const struct given_figure *f)
{
	return !f->unknown_a.len && !f->unknown_b.len;
}

/* Who was there is known without a single request. */
static bool any_known(const struct given *g)
{
	for (size_t i = 0; i < g->figure_count; i++)
		if (is_known(&g->figures[i]) && g->figures[i].a.count && g->figures[i].b.count)
			return true;
	return false;
}

/* Has it moved by more than this, and not by chance alone? Of bounds: for certain. */
static bool has_moved(const struct compare_panel *p, double least)
{
	if (!p)
		return false;
	if (isnan(p->change.value))
		return p->change.low > least || p->change.high < -least;
	return fabs(p->change.value) > least && !(p->change.low <= 0 && p->change.high >= 0);
}

static void find_obstacles(struct compare_result *r, const struct given *g)
{
	const struct compare_panel *prompt = compare_panel(r, "prompt_tokens_mean"), *offered = compare_panel(r, "offered_rps");
	const struct compare_panel *finished = compare_panel(r, "throughput_rps");
	double by_chance, apart = mix_distance(g, &by_chance);

	if (apart > 0.1 + 2 * by_chance)
		compare_add_reason(r, COMPARE_MIX, "prompt lengths moved: %.0f %% of requests are of another length%s", apart * 100,
			prompt && prompt->change.value > 0 ? ", and longer" : "");
	if (has_moved(prompt, 0.15))
		compare_add_reason(r, COMPARE_MIX, "prompts are %+.0f %% as long: mean %.0f, then %.0f tokens", prompt->change.value * 100,
			prompt->a.value, prompt->b.value);
	if (fabs(g->hit_rate_a - g->hit_rate_b) > 0.05)
		compare_add_reason(r, COMPARE_CACHED, "the cached share of prompts moved from %.0f to %.0f %%", g->hit_rate_a * 100,
			g->hit_rate_b * 100);
	if (!g->shares_one_load && has_moved(offered, 0.15))
		compare_add_reason(r, COMPARE_CONCURRENCY, "arrivals moved from %.3g to %.3g/s", offered->a.value, offered->b.value);
	if (finished && (finished->a.value * g->seconds_a < FINISHED_LEAST || finished->b.value * g->seconds_b < FINISHED_LEAST))
		compare_add_reason(r, COMPARE_TOO_FEW, "%.0f requests finished, then %.0f: below %d nothing can be told",
			finished->a.value * g->seconds_a, finished->b.value * g->seconds_b, FINISHED_LEAST);
	if (!any_known(g))
		compare_add_reason(r, COMPARE_TOO_FEW, "no figure of requests is known in both windows");
}

void compare_given(const struct given *g, const struct compare_policy *policy, bool any_mix, struct compare_result *r)
{
	size_t live = 0;

	*r = (struct compare_result){ .seconds_a = g->seconds_a, .seconds_b = g->seconds_b };
	for (size_t i = 0; i < policy->item_count; i++)
		for (size_t k = 0; k < g->figure_count; k++)
			live += is_known(&g->figures[k]) && strcmp(policy->items[i].spec->id, g->figures[k].spec->id) == 0;
	double tail = (1 - policy->confidence) / (double)(live ? live : 1);

	/* Once as wide as the verdict wants it, and then as it is shown. */
	for (size_t k = 0; k < g->figure_count; k++)
		if (is_known(&g->figures[k]))
			add_panel(r, g, &g->figures[k], 1 - 2 * tail);
	compare_rule_panels(r, policy, tail);
	r->panel_count = 0;
	for (size_t k = 0; k < g->figure_count; k++)
		add_panel(r, g, &g->figures[k], 0.95);
	find_obstacles(r, g);
	if (r->reason_count && !any_mix) {
		r->verdict = COMPARE_NOT_COMPARABLE;
		r->ruling_count = 0;
	}
}
