#include "compare/internal.h"

void compare_sides(const struct compare_side *a, const struct compare_side *b, const struct compare_options *o, struct arena *arena,
	struct compare_result *r)
{
	struct blocks blocks_a, blocks_b;
	struct panel_input in = { .a = a, .b = b, .blocks_a = &blocks_a, .blocks_b = &blocks_b, .slo = o->slo };
	bool matched = compare_is_matched(a, b);
	int64_t length = blocks_length(a, b, matched);

	*r = (struct compare_result){ .matched = matched, .block_s = (double)length / 1e9 };
	blocks_make(&blocks_a, a, length);
	blocks_make(&blocks_b, b, length);
	r->seconds_a = blocks_a.seconds;
	r->seconds_b = blocks_b.seconds;
	in.matched = r->matched && blocks_a.count == blocks_b.count;
	for (const struct compare_spec *s = compare_specs; s->id; s++)
		if (panel_make(&r->panels[r->panel_count], &in, s, 0.95))
			r->panel_count++;
	compare_fingerprint(r, a, b, arena);
	compare_find_obstacles(r, &in);
	compare_find_signatures(r, &in);
	if (!o->policy) {
		struct compare_policy *kept = ARENA_NEW(arena, struct compare_policy); /* rulings point at its items */

		compare_policy_default(kept);
		compare_rule(r, &in, kept);
	} else {
		compare_rule(r, &in, o->policy);
	}
	if (r->reason_count && !o->any_mix) {
		r->verdict = COMPARE_NOT_COMPARABLE;
		r->ruling_count = 0; /* a ruling on two loads says nothing about two servers */
	}
}
