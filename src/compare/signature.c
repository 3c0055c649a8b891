/* What a change looks like: settings of an engine leave marks on deliveries. Words, never part of the verdict. */
#include "compare/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static void say(struct compare_result *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct compare_result *r, const char *format, ...)
{
	va_list args;

	if (r->signature_count == COMPARE_SIGNATURES_MAX)
		return;
	va_start(args, format);
	vsnprintf(r->signatures[r->signature_count++], sizeof r->signatures[0], format, args);
	va_end(args);
}

/* Of all streams with four deliveries or more: the gap behind the first, the longest of the later ones, and the usual one. */
struct gaps {
	double first_ms, longest_ms, usual_ms;
	size_t count;
};

static bool stream_gaps(const struct timeline *t, struct gaps *g)
{
	struct delivery_cursor cursor = deliveries_begin(&t->deliveries);
	struct delivery d;
	int64_t before = TIMELINE_NEVER, first = TIMELINE_NEVER, longest = 0, start = 0;
	size_t later = 0;

	if (t->deliveries.count < 4)
		return false;
	for (; deliveries_next(&cursor, &d); before = d.t_ns) {
		if (before == TIMELINE_NEVER)
			continue;
		int64_t gap = d.t_ns - before;

		if (first == TIMELINE_NEVER) {
			first = gap;
			start = d.t_ns;
			continue;
		}
		longest = gap > longest ? gap : longest;
		later++;
	}
	g->first_ms += (double)first / 1e6;
	g->longest_ms += (double)longest / 1e6;
	g->usual_ms += (double)(before - start) / 1e6 / (double)later;
	g->count++;
	return true;
}

static struct gaps side_gaps(const struct compare_side *side)
{
	struct gaps g = { 0 };

	for (size_t i = 0; i < side->run_count; i++)
		VEC_EACH (&side->runs[i]->requests, t)
			if (side_takes(side, t) && timeline_is_complete(t))
				stream_gaps(t, &g);
	if (g.count) {
		g.first_ms /= (double)g.count;
		g.longest_ms /= (double)g.count;
		g.usual_ms /= (double)g.count;
	}
	return g;
}

static void find_speculation(struct compare_result *r)
{
	const struct compare_panel *p = compare_panel(r, "tokens_per_event");

	if (!p || !(p->change.low > 0.15 || p->change.high < -0.13))
		return;
	say(r, "speculation %s: an event brings %.2f tokens instead of %.2f; gaps are per step then, so judge TPOT, not gaps",
		p->change.value > 0 ? "on, or accepted more" : "off, or accepted less", p->b.value, p->a.value);
}

/* Prompts computed whole stop all streams for a while; in chunks, or elsewhere, they do not. Elsewhere, the KV has to travel: the gap
 * behind the first token grows. */
static void find_prefill(struct compare_result *r, const struct panel_input *in)
{
	struct gaps a = side_gaps(in->a), b = side_gaps(in->b);
	double first_a = a.first_ms - a.usual_ms, first_b = b.first_ms - b.usual_ms;
	bool calmer = b.longest_ms < 0.7 * a.longest_ms, rougher = a.longest_ms < 0.7 * b.longest_ms;

	if (a.count < 20 || b.count < 20 || (!calmer && !rougher))
		return;
	const struct gaps *calm = calmer ? &b : &a;
	double calm_first = calmer ? first_b : first_a, rough_first = calmer ? first_a : first_b;
	const char *state = calmer ? "on" : "off";

	if (calm_first > rough_first + 0.5 * calm->usual_ms && calm_first > 0.5 * calm->usual_ms)
		say(r,
			"disaggregated prefill %s: longest gaps of %.1f instead of %.1f ms, and the gap behind the first token is %.1f "
			"instead of %.1f ms",
			state, b.longest_ms, a.longest_ms, b.first_ms, a.first_ms);
	else
		say(r, "chunked prefill %s, or %s chunks: longest gaps of %.1f instead of %.1f ms (the usual gap is %.1f ms)", state,
			calmer ? "smaller" : "larger", b.longest_ms, a.longest_ms, calm->usual_ms);
}

void compare_find_signatures(struct compare_result *r, const struct panel_input *in)
{
	find_speculation(r);
	find_prefill(r, in);
}
