/* The mix of requests: its class, models without output tokens, prompts of two sizes. */
#include "signals/detectors/detect.h"

#include "catalog/expression.h"

/* ---- pooling models ---- */

static double moved(struct evaluation *ev, const struct scope *s, const char *metric)
{
	struct reading r = count_at(ev, s, metric);
	return reading_is_number(&r) ? r.low : NAN;
}

static double summed(struct evaluation *ev, const struct scope *s, const char *metric)
{
	struct expression x = { .kind = EXPRESSION_PRIMITIVE, .primitive = PRIMITIVE_SUM, .metric = catalog_metric(ev->catalog, metric) };
	struct reading r = x.metric ? evaluate_primitive(ev, s, &x) : reading_unknown(UNKNOWN_NOT_APPLICABLE, STR_EMPTY);
	return reading_is_number(&r) ? r.low : NAN;
}

static bool is_positive(double v)
{
	return v > 0;
} /* false for NAN */

/* Requests end and prompts flow, but nothing is generated and every TPOT is 0. */
static void publish_pooling(struct evaluation *ev, const struct scope *s)
{
	double generated = moved(ev, s, "generation_tokens");
	if (isnan(generated))
		return;
	if (generated > 0) {
		evaluation_publish(ev, s, "pooling_by_design", reading_value(0));
		return;
	}
	bool ends = is_positive(moved(ev, s, "finished")) || is_positive(moved(ev, s, "e2e")) || is_positive(moved(ev, s, "http_requests"));
	if (ends && is_positive(moved(ev, s, "prompt_tokens")) && !is_positive(summed(ev, s, "tpot")) &&
		!is_positive(summed(ev, s, "output_length")))
		evaluation_publish(ev, s, "pooling_by_design", reading_value(1));
}

/* ---- class ---- */

static void publish_class(struct evaluation *ev, const struct scope *s)
{
	double pooling, ratio;
	if (number_at(ev, s, "pooling_by_design", &pooling) && pooling == 1)
		evaluation_publish(ev, s, "workload_class", reading_text(STR("pooling")));
	else if (number_at(ev, s, "token_io_ratio", &ratio))
		evaluation_publish(ev, s, "workload_class",
			reading_text(ratio >= 20 ? STR("prefill-heavy")
				     : ratio < 1 ? STR("decode-heavy")
						 : STR("balanced")));
}

void mix_publish(struct evaluation *ev)
{
	for (size_t i = 0; i < ev->scope_count && has_window(ev); i++) {
		const struct scope *s = &ev->scopes[i];
		if (s->kind == SCOPE_GPU)
			continue;
		publish_pooling(ev, s);
		publish_class(ev, s);
	}
}

/* ---- two humps ---- */

enum { MIX_EVENTS = 50 };

static size_t highest(const struct reading_cell *cells, size_t from, size_t to)
{
	size_t best = from;
	for (size_t i = from; i < to; i++)
		if (cells[i].count > cells[best].count)
			best = i;
	return best;
}

/* The lowest cell strictly between two peaks; empty cells are not listed. INFINITY: the peaks are neighbours. */
static double valley(const struct reading_cell *cells, size_t a, size_t b)
{
	double low = INFINITY;
	for (size_t i = a + 1; i < b; i++)
		low = fmin(low, cells[i].count);
	for (size_t i = a; i < b; i++)
		if (cells[i + 1].low > cells[i].high)
			low = 0;
	return low;
}

/* Two peaks of at least 15 % each, four times apart, with a valley of less than a third of the lower one between them. */
static bool find_humps(const struct reading *r, size_t *a, size_t *b)
{
	double n = 0;
	for (size_t i = 0; i < r->cell_count; i++)
		n += r->cells[i].count;
	if (n < MIX_EVENTS)
		return false;
	for (size_t split = 1; split < r->cell_count; split++) {
		*a = highest(r->cells, 0, split);
		*b = highest(r->cells, split, r->cell_count);
		double lower = fmin(r->cells[*a].count, r->cells[*b].count);
		if (lower >= 0.15 * n && r->cells[*b].low >= 4 * r->cells[*a].high && valley(r->cells, *a, *b) < lower / 3)
			return true;
	}
	return false;
}

static void judge_humps(struct evaluation *ev, struct scope *s)
{
	const struct reading *r = evaluation_named(ev, s, "prompt_len_cells");
	size_t a, b;
	if (r->kind != READING_CELLS || !find_humps(r, &a, &b))
		return;
	struct str detail = arena_printf(ev->arena, "%.0f in %.0f..%.0f tokens, %.0f in %.0f..%.0f tokens", r->cells[a].count,
		r->cells[a].low, r->cells[a].high, r->cells[b].count, r->cells[b].low, r->cells[b].high);
	evaluation_raise(ev, "two-humped-mix", s, NULL, 0, s->target_count, detail);
}

void mix_raise(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_POOL)
	{
		judge_humps(ev, s);
	}
}
