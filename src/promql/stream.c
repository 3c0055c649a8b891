/* Aggregations over a function of a range, as far as a result needs no more of a series than to be added to its group: one pass, in which
 * no series has a column of its own. */
#include "base/vec.h"
#include "promql/aggregate.h"
#include "promql/fold.h"

#include <math.h>

struct total {        /* of a group, by step */
	double *sum;  /* absent where there is none yet */
	double *rest; /* what a compensated sum lost; made for the second series of a group */
};

struct streaming {
	struct fold_taker taker;
	struct evaluation *ev;
	const struct promql_node *n, *call;
	const struct grid *grid;
	struct groups groups;
	VEC(struct total) totals;
	bool keeps_name, noted;
	bool declined; /* names cannot be dropped series by series */
};

static bool streams(enum token_kind op)
{
	return op == TOKEN_SUM || op == TOKEN_MIN || op == TOKEN_MAX || op == TOKEN_COUNT || op == TOKEN_GROUP;
}

/* ---- adding a series to its group ---- */

static void add_sum(struct total *to, const double *values, size_t steps)
{
	for (size_t i = 0; i < steps; i++) {
		if (is_absent(values[i]))
			continue;
		struct kahan k = { to->sum[i], to->rest[i] };
		if (is_absent(k.sum))
			k = (struct kahan){ values[i], 0 };
		else
			kahan_add(&k, values[i]);
		to->sum[i] = k.sum;
		to->rest[i] = k.rest;
	}
}

static void add_extreme(struct total *to, const double *values, size_t steps, bool most)
{
	for (size_t i = 0; i < steps; i++) {
		double x = values[i], *now = &to->sum[i];
		if (!is_absent(x) && (is_absent(*now) || isnan(*now) || (most ? x > *now : x < *now)))
			*now = x;
	}
}

static void add_count(struct total *to, const double *values, size_t steps, bool once)
{
	for (size_t i = 0; i < steps; i++)
		if (!is_absent(values[i]))
			to->sum[i] = once || is_absent(to->sum[i]) ? 1 : to->sum[i] + 1;
}

static bool total_add(struct streaming *s, struct total *to, const double *values)
{
	size_t steps = s->grid->steps;
	switch (s->n->aggregate.op) {
	case TOKEN_MIN:
	case TOKEN_MAX: add_extreme(to, values, steps, s->n->aggregate.op == TOKEN_MAX); return true;
	case TOKEN_COUNT:
	case TOKEN_GROUP: add_count(to, values, steps, s->n->aggregate.op == TOKEN_GROUP); return true;
	default: break;
	}
	if (!to->rest) {
		if (!(to->rest = values_new(s->ev, steps)))
			return false;
		memset(to->rest, 0, steps * sizeof *to->rest);
	}
	add_sum(to, values, steps);
	return true;
}

/* The first series of a group is its sum. */
static bool total_begin(struct streaming *s, struct total *to, const double *values)
{
	*to = (struct total){ .sum = values_new(s->ev, s->grid->steps) };
	if (!to->sum)
		return false;
	if (s->n->aggregate.op == TOKEN_COUNT || s->n->aggregate.op == TOKEN_GROUP)
		return total_add(s, to, values);
	memcpy(to->sum, values, s->grid->steps * sizeof *values);
	return true;
}

static bool series_add(struct fold_taker *taker, const struct labels *labels, const double *values, size_t points)
{
	struct streaming *s = (struct streaming *)taker;
	struct column column = { labels, !s->keeps_name, NULL };
	s->declined = s->declined || (!s->keeps_name && !s->ev->delayed && labels_have_type(labels));
	if (s->declined)
		return true;
	if (!s->noted)
		window_note_counter(s->ev, s->call, labels);
	s->noted = true;
	size_t known = s->groups.count, group = groups_put(&s->groups, &column);
	if (group < known)
		return total_add(s, &s->totals.items[group], values);
	struct column *example = arena_alloc(s->ev->arena, sizeof *example);
	*example = column;
	s->groups.first[group] = example;
	VEC_PUSH(&s->totals, (struct total){ 0 });
	return total_begin(s, &s->totals.items[group], values);
}

/* ---- results ---- */

static bool totals_result(struct streaming *s, struct frame *out)
{
	frame_init_vector(s->ev, out, s->groups.count);
	for (size_t g = 0; g < s->groups.count; g++) {
		struct total *total = &s->totals.items[g];
		const struct labels *labels = groups_labels(&s->groups, s->n, g);
		if (!labels)
			return false;
		for (size_t i = 0; s->n->aggregate.op == TOKEN_SUM && i < s->grid->steps; i++)
			if (!is_absent(total->sum[i]))
				total->sum[i] += total->rest ? total->rest[i] : 0;
		out->columns[out->count++] = (struct column){ labels, !s->keeps_name, total->sum };
	}
	out->one_name = true;
	return true;
}

static enum fold_status stream_end(struct fold_taker *taker, struct frame *out)
{
	struct streaming *s = (struct streaming *)taker;
	enum fold_status status = FOLD_NOT_HERE;
	if (out && !s->declined)
		status = totals_result(s, out) ? FOLD_DONE : FOLD_FAILED;
	VEC_FREE(&s->totals);
	return status;
}

bool stream_suits(const struct promql_node *n)
{
	const struct promql_node *call = node_unwrap(n->aggregate.expression);
	return streams(n->aggregate.op) && fold_suits(call) && range_has_one_name(node_unwrap(call->call.args[0]));
}

struct fold_taker *stream_begin(struct evaluation *ev, const struct promql_node *n, const struct grid *grid)
{
	struct streaming *s = ARENA_NEW(ev->arena, struct streaming);
	*s = (struct streaming){ .taker = { series_add, stream_end }, .ev = ev, .n = n, .grid = grid };
	s->call = node_unwrap(n->aggregate.expression);
	s->keeps_name = s->call->call.function->keeps_name;
	groups_init(&s->groups, ev, n->aggregate.labels, n->aggregate.label_count, !n->aggregate.without, n->aggregate.without);
	return &s->taker;
}
