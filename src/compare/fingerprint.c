/* What each side was: facts of its runs beside each other, those that differ marked. */
#include "compare/internal.h"

#include <math.h>

static void add_fact(struct compare_result *r, struct str name, struct str a, struct str b)
{
	if (r->fact_count == COMPARE_FACTS_MAX || (!a.len && !b.len))
		return;
	for (size_t i = 0; i < r->fact_count; i++)
		if (str_eq(r->facts[i].name, name))
			return;
	r->facts[r->fact_count++] = (struct compare_fact){ name, a, b, !str_eq(a, b) };
}

static struct str rate_text(const struct records_run *run, struct arena *arena)
{
	if (!isnan(run->rate))
		return arena_printf(arena, "%g/s", run->rate);
	return run->concurrency != TIMELINE_UNKNOWN ? arena_printf(arena, "%u at a time", run->concurrency) : STR_EMPTY;
}

static struct str fact_of(const struct records_run *run, struct str name)
{
	for (size_t i = 0; i < run->fact_count; i++)
		if (str_eq(run->facts[i].name, name))
			return run->facts[i].value;
	return STR_EMPTY;
}

void compare_fingerprint(struct compare_result *r, const struct compare_side *a, const struct compare_side *b, struct arena *arena)
{
	const struct records_run *x = &a->runs[0]->run, *y = &b->runs[0]->run;

	add_fact(r, STR("label"), x->label, y->label);
	add_fact(r, STR("target"), x->target, y->target);
	add_fact(r, STR("workload"), x->workload, y->workload);
	add_fact(r, STR("workload name"), x->workload_name, y->workload_name);
	add_fact(r, STR("load"), rate_text(x, arena), rate_text(y, arena));
	for (size_t i = 0; i < x->fact_count; i++)
		add_fact(r, x->facts[i].name, x->facts[i].value, fact_of(y, x->facts[i].name));
	for (size_t i = 0; i < y->fact_count; i++)
		add_fact(r, y->facts[i].name, fact_of(x, y->facts[i].name), y->facts[i].value);
}
