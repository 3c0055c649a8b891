/* What is read off a tally. */
#include "slo/tally.h"

#include <math.h>

static const struct {
	const char *name, *unit;
} figures[TALLY_FIGURES] = {
	[TALLY_TTFT] = { "ttft", "ms" },
	[TALLY_TTFT_CONTENT] = { "ttft_content", "ms" },
	[TALLY_TPOT] = { "tpot", "ms" },
	[TALLY_TPOT_AFTER_FIRST] = { "tpot_after_first", "ms" },
	[TALLY_E2E] = { "e2e", "ms" },
	[TALLY_TTFT_DUE] = { "ttft_due", "ms" },
	[TALLY_E2E_DUE] = { "e2e_due", "ms" },
	[TALLY_TTFT_LAST] = { "ttft_last_attempt", "ms" },
	[TALLY_E2E_LAST] = { "e2e_last_attempt", "ms" },
	[TALLY_GAP] = { "gap", "ms" },
	[TALLY_MAX_GAP] = { "max_gap", "ms" },
	[TALLY_TAIL] = { "tail", "ms" },
	[TALLY_DELAY] = { "schedule_delay", "ms" },
	[TALLY_TOKENS_PER_EVENT] = { "tokens_per_event", "tokens" },
	[TALLY_PROMPT_TOKENS] = { "prompt_tokens", "tokens" },
	[TALLY_OUTPUT_TOKENS] = { "output_tokens", "tokens" },
};

const char *tally_figure_name(enum tally_figure f)
{
	return figures[f].name;
}

const char *tally_figure_unit(enum tally_figure f)
{
	return figures[f].unit;
}

static double per_second(const struct tally *t, double count)
{
	return t->window_s > 0 ? count / t->window_s : NAN;
}

double tally_goodput(const struct tally *t)
{
	return per_second(t, (double)t->good);
}

double tally_throughput(const struct tally *t)
{
	return per_second(t, (double)t->complete);
}

double tally_output_rate(const struct tally *t)
{
	return t->output_told ? per_second(t, (double)t->output_tokens) : NAN;
}

struct estimate tally_attainment(const struct tally *t)
{
	return share_estimate(t->good, t->judged, 0.95);
}

struct estimate tally_figure(const struct tally *t, enum tally_figure f, double q, double confidence)
{
	return quantile_estimate(t->figures[f].v.items, t->figures[f].v.count, q, confidence);
}

struct estimate tally_mean(const struct tally *t, enum tally_figure f)
{
	return mean_estimate(t->figures[f].v.items, t->figures[f].v.count, 0.95);
}

double tally_cost_per_1000(const struct tally *t, double price_per_hour)
{
	return t->good && t->window_s > 0 ? price_per_hour * t->window_s / 3600 / (double)t->good * 1000 : NAN;
}

double tally_tokens_per_request(const struct tally *t)
{
	return t->output_told ? (double)t->output_tokens / (double)t->output_told : NAN;
}
