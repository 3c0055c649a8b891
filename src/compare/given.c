#include "compare/given.h"

#include "compare/internal.h"

#include <math.h>
#include <stdio.h>

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
	{ 0 },
};

/* Both ends further from the value. */
static struct estimate wider(const struct estimate *e, double factor)
{
	return (struct estimate){ e->value, e->value - (e->value - e->low) * factor, e->value + (e->high - e->value) * factor, e->count };
}

static void add_panel(struct compare_result *r, const struct given_figure *f, double factor)
{
	struct compare_panel *p = &r->panels[r->panel_count++];

	*p = (struct compare_panel){ .spec = f->spec, .a = wider(&f->a, factor), .b = wider(&f->b, factor) };
	p->effective_a = (double)f->a.count / GIVEN_DESIGN;
	p->effective_b = (double)f->b.count / GIVEN_DESIGN;
	panel_set_change(p, 0.95);
}

double given_distance(const struct given *g)
{
	double total_a = 0, total_b = 0, sum = 0;

	for (size_t i = 0; i < g->cell_count; i++) {
		total_a += g->cells[i].a;
		total_b += g->cells[i].b;
	}
	if (!(total_a > 0) || !(total_b > 0))
		return NAN;
	for (size_t i = 0; i < g->cell_count; i++)
		sum += fabs(g->cells[i].a / total_a - g->cells[i].b / total_b) / 2;
	return sum;
}

/* What two samples of one mix differ by through chance. */
static double by_chance(const struct given *g)
{
	double total_a = 0, total_b = 0, sum = 0;

	for (size_t i = 0; i < g->cell_count; i++) {
		total_a += g->cells[i].a;
		total_b += g->cells[i].b;
	}
	for (size_t i = 0; i < g->cell_count; i++) {
		double pooled = (g->cells[i].a + g->cells[i].b) / (total_a + total_b);

		sum += sqrt(pooled * (1 - pooled) * (1 / total_a + 1 / total_b) / (2 * M_PI));
	}
	return sum;
}

static void find_obstacles(struct compare_result *r, const struct given *g)
{
	const struct compare_panel *prompt = compare_panel(r, "prompt_tokens_mean"), *offered = compare_panel(r, "offered_rps");
	double apart = given_distance(g);

	if (apart > 0.1 + 2 * by_chance(g))
		compare_add_reason(r, COMPARE_MIX, "prompt lengths moved: %.0f %% of requests are of another length%s", apart * 100,
			prompt && prompt->change.value > 0 ? ", and longer" : "");
	if (prompt && fabs(prompt->change.value) > 0.15)
		compare_add_reason(r, COMPARE_MIX, "prompts are %+.0f %% as long: mean %.0f, then %.0f tokens", prompt->change.value * 100,
			prompt->a.value, prompt->b.value);
	if (fabs(g->hit_rate_a - g->hit_rate_b) > 0.05)
		compare_add_reason(r, COMPARE_CACHED, "the cached share of prompts moved from %.0f to %.0f %%", g->hit_rate_a * 100,
			g->hit_rate_b * 100);
	if (!g->shares_one_load && offered && fabs(offered->change.value) > 0.15)
		compare_add_reason(r, COMPARE_CONCURRENCY, "arrivals moved from %.3g to %.3g/s", offered->a.value, offered->b.value);
	if (!r->panel_count)
		compare_add_reason(r, COMPARE_TOO_FEW, "no figure is known in both windows");
}

void compare_given(const struct given *g, const struct compare_policy *policy, bool any_mix, struct compare_result *r)
{
	double tail, one = normal_quantile(0.975), wide;
	size_t live = 0;

	*r = (struct compare_result){ .seconds_a = g->seconds_a, .seconds_b = g->seconds_b };
	for (size_t i = 0; i < policy->item_count; i++)
		for (size_t k = 0; k < g->figure_count; k++)
			live += strcmp(policy->items[i].spec->id, g->figures[k].spec->id) == 0;
	tail = (1 - policy->confidence) / (double)(live ? live : 1);
	/* Once as wide as the verdict wants it, and then as it is shown. */
	wide = sqrt(GIVEN_DESIGN) * normal_quantile(1 - tail) / one;
	for (size_t k = 0; k < g->figure_count; k++)
		add_panel(r, &g->figures[k], wide);
	compare_rule_panels(r, policy, tail);
	r->panel_count = 0;
	for (size_t k = 0; k < g->figure_count; k++)
		add_panel(r, &g->figures[k], sqrt(GIVEN_DESIGN));
	find_obstacles(r, g);
	if (r->reason_count && !any_mix) {
		r->verdict = COMPARE_NOT_COMPARABLE;
		r->ruling_count = 0;
	}
}
