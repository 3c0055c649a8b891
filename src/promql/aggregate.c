/* sum avg min max count group stddev stdvar quantile: one result per group and step. */
#include "promql/aggregate.h"
#include "promql/fold.h"

#include <math.h>

/* ---- groups of columns ---- */

bool partition_init(struct partition *p, struct evaluation *ev, const struct promql_node *n, const struct frame *f)
{
	groups_init(&p->groups, ev, n->aggregate.labels, n->aggregate.label_count, !n->aggregate.without, n->aggregate.without);
	size_t *group_of = arena_alloc(ev->arena, (f->count + 1) * sizeof *group_of);
	for (size_t c = 0; c < f->count; c++)
		group_of[c] = groups_put(&p->groups, &f->columns[c]);
	p->count = p->groups.count;
	p->start = ARENA_ARRAY(ev->arena, size_t, p->count + 2);
	p->members = arena_alloc(ev->arena, (f->count + 1) * sizeof *p->members);
	for (size_t c = 0; c < f->count; c++)
		p->start[group_of[c] + 2]++;
	for (size_t g = 2; g < p->count + 2; g++)
		p->start[g] += p->start[g - 1];
	for (size_t c = 0; c < f->count; c++)
		p->members[p->start[group_of[c] + 1]++] = (uint32_t)c;
	return true;
}

bool partition_by_name(const struct promql_node *n)
{
	for (size_t i = 0; !n->aggregate.without && i < n->aggregate.label_count; i++)
		if (str_eq(n->aggregate.labels[i], LABEL_NAME))
			return true;
	return false;
}

/* ---- accumulators ---- */

struct cell {
	struct kahan k;
	double mean, count;
	struct mean average;
};

static void cell_add(enum token_kind op, struct cell *c, double x)
{
	double delta;
	bool first = c->count++ == 0;
	switch (op) {
	case TOKEN_SUM:
		if (first)
			c->k.sum = x;
		else
			kahan_add(&c->k, x);
		break;
	case TOKEN_AVG: mean_add(&c->average, x); break;
	case TOKEN_MIN:
		if (first || x < c->k.sum || isnan(c->k.sum))
			c->k.sum = x;
		break;
	case TOKEN_MAX:
		if (first || x > c->k.sum || isnan(c->k.sum))
			c->k.sum = x;
		break;
	case TOKEN_STDDEV:
	case TOKEN_STDVAR:
		if (first) {
			c->mean = x;
			c->k.sum = isfinite(x) ? 0 : number_nan();
			break;
		}
		delta = x - c->mean;
		c->mean += delta / c->count;
		c->k.sum += delta * (x - c->mean);
		break;
	default: break; /* count, group: the count is all */
	}
}

static double cell_result(enum token_kind op, const struct cell *c)
{
	switch (op) {
	case TOKEN_SUM: return c->k.sum + c->k.rest;
	case TOKEN_AVG: return mean_result(&c->average);
	case TOKEN_COUNT: return c->count;
	case TOKEN_GROUP: return 1;
	case TOKEN_STDVAR: return c->k.sum / c->count;
	case TOKEN_STDDEV: return sqrt(c->k.sum / c->count);
	default: return c->k.sum;
	}
}

/* ---- evaluation ---- */

struct aggregation {
	struct evaluation *ev;
	const struct promql_node *n;
	const struct grid *grid;
	struct frame input, parameter;
	struct partition partition;
	struct cell *cells; /* one a step */
	double *scratch;
};

static void group_accumulate(struct aggregation *a, const uint32_t *members, size_t count, double *values)
{
	enum token_kind op = a->n->aggregate.op;
	memset(a->cells, 0, a->grid->steps * sizeof *a->cells);
	for (size_t m = 0; m < count; m++) {
		const double *from = a->input.columns[members[m]].values;
		for (size_t i = 0; i < a->grid->steps; i++)
			if (!is_absent(from[i]))
				cell_add(op, &a->cells[i], from[i]);
	}
	for (size_t i = 0; i < a->grid->steps; i++)
		if (a->cells[i].count)
			values[i] = cell_result(op, &a->cells[i]);
}

static void group_quantile(struct aggregation *a, const uint32_t *members, size_t count, double *values)
{
	for (size_t i = 0; i < a->grid->steps; i++) {
		size_t present = 0;
		for (size_t m = 0; m < count; m++) {
			double x = a->input.columns[members[m]].values[i];
			if (!is_absent(x))
				a->scratch[present++] = x;
		}
		if (present)
			values[i] = quantile_of(scalar_at(&a->parameter, i), a->scratch, present);
	}
}

static bool any_nameless(const struct frame *f, const uint32_t *members, size_t count)
{
	for (size_t m = 0; m < count; m++)
		if (f->columns[members[m]].nameless)
			return true;
	return false;
}

static bool group_evaluate(struct aggregation *a, size_t group, struct column *result)
{
	const uint32_t *members = a->partition.members + a->partition.start[group];
	size_t count = a->partition.start[group + 1] - a->partition.start[group];
	*result = (struct column){ groups_labels(&a->partition.groups, a->n, group), any_nameless(&a->input, members, count),
		values_new(a->ev, a->grid->steps) };
	if (!result->labels || !result->values)
		return false;
	if (a->n->aggregate.op == TOKEN_QUANTILE)
		group_quantile(a, members, count, result->values);
	else
		group_accumulate(a, members, count, result->values);
	return true;
}

static void note_quantiles(struct aggregation *a)
{
	for (size_t i = 0; i < a->grid->steps; i++)
		annotate_quantile(a->ev, a->n->aggregate.parameter, scalar_at(&a->parameter, i));
}

bool evaluate_aggregate(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out)
{
	struct aggregation a = { .ev = ev, .n = n, .grid = grid };
	enum fold_status folded = fold_evaluate(ev, n, grid, out);
	if (folded != FOLD_NOT_HERE)
		return folded == FOLD_DONE;
	if (n->aggregate.parameter && !evaluate(ev, n->aggregate.parameter, grid, &a.parameter))
		return false;
	if (!evaluate(ev, n->aggregate.expression, grid, &a.input) || !partition_init(&a.partition, ev, n, &a.input))
		return false;
	if (n->aggregate.op == TOKEN_QUANTILE)
		note_quantiles(&a);
	a.cells = arena_alloc(ev->arena, (grid->steps + 1) * sizeof *a.cells);
	a.scratch = arena_alloc(ev->arena, (a.input.count + 1) * sizeof *a.scratch);
	frame_init_vector(ev, out, a.partition.count);
	for (size_t g = 0; g < a.partition.count; g++)
		if (!group_evaluate(&a, g, &out->columns[out->count++]))
			return false;
	out->one_name = a.input.one_name || !partition_by_name(n);
	return true;
}
