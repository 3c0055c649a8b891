#include "promql/instant.h"

#include <math.h>

/* As Go's math.Min and math.Max: an infinity that decides wins over NaN, NaN over all else. */
static double least_of(double a, double b)
{
	if (a == -INFINITY || b == -INFINITY)
		return -INFINITY;
	return isnan(a) || isnan(b) ? number_nan() : a < b ? a : b;
}

static double most_of(double a, double b)
{
	return -least_of(-a, -b);
}

/* ---- scalars and times ---- */

bool frame_time(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	if (!frame_init_scalar(ev, out, grid->steps))
		return false;
	for (size_t i = 0; i < grid->steps; i++)
		out->columns[0].values[i] = (double)grid_time(grid, i) / 1000;
	return true;
}

bool frame_pi(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	if (!frame_init_scalar(ev, out, grid->steps))
		return false;
	for (size_t i = 0; i < grid->steps; i++)
		out->columns[0].values[i] = M_PI;
	return true;
}

/* start() end() range() step(): of the query, in seconds. */
bool frame_query_time(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct str name = str_from(call->call.function->name);
	int64_t ms = str_is(name, "start")   ? ev->start_ms
		     : str_is(name, "end")   ? ev->end_ms
		     : str_is(name, "range") ? ev->end_ms - ev->start_ms
					     : ev->step_ms;
	if (!frame_init_scalar(ev, out, grid->steps))
		return false;
	for (size_t i = 0; i < grid->steps; i++)
		out->columns[0].values[i] = (double)ms / 1000;
	return true;
}

/* min_of, max_of */
bool frame_extreme_of(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct frame other;
	bool least = str_is(str_from(call->call.function->name), "min_of");
	if (!evaluate(ev, call->call.args[0], grid, out) || !evaluate(ev, call->call.args[1], grid, &other))
		return false;
	for (size_t i = 0; i < grid->steps; i++) {
		double *x = &out->columns[0].values[i], y = scalar_at(&other, i);
		*x = least ? least_of(*x, y) : most_of(*x, y);
	}
	return true;
}

bool frame_scalar(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct frame input;
	if (!evaluate(ev, call->call.args[0], grid, &input) || !frame_init_scalar(ev, out, grid->steps))
		return false;
	for (size_t i = 0; i < grid->steps; i++) {
		size_t found = 0;
		double value = number_nan();
		for (size_t c = 0; c < input.count && found < 2; c++) {
			if (is_absent(input.columns[c].values[i]))
				continue;
			value = found++ ? number_nan() : input.columns[c].values[i];
		}
		out->columns[0].values[i] = value;
	}
	return true;
}

bool frame_vector(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	if (!evaluate(ev, call->call.args[0], grid, out))
		return false;
	out->type = PROMQL_VECTOR;
	out->one_name = true;
	return true;
}

/* Of a bare selector the samples' own times, of anything else the time of evaluation. */
bool frame_timestamp(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	const struct promql_node *arg = node_unwrap(call->call.args[0]);
	if (arg->kind == NODE_SELECTOR)
		return select_vector(ev, arg, grid, true, out) && frame_drop_names(ev, call, out, grid->steps);
	if (!evaluate(ev, arg, grid, out))
		return false;
	for (size_t c = 0; c < out->count; c++)
		for (size_t i = 0; i < grid->steps; i++)
			if (!is_absent(out->columns[c].values[i]))
				out->columns[c].values[i] = (double)grid_time(grid, i) / 1000;
	return frame_drop_names(ev, call, out, grid->steps);
}

/* ---- values with scalar arguments ---- */

bool frame_round(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct frame to;
	bool given = call->call.arg_count > 1;
	if (!evaluate(ev, call->call.args[0], grid, out) || (given && !evaluate(ev, call->call.args[1], grid, &to)))
		return false;
	for (size_t c = 0; c < out->count; c++) {
		double *values = out->columns[c].values;
		for (size_t i = 0; i < grid->steps; i++) {
			double inverse = 1 / (given ? scalar_at(&to, i) : 1);
			if (!is_absent(values[i]))
				values[i] = floor(values[i] * inverse + 0.5) / inverse;
		}
	}
	return frame_drop_names(ev, call, out, grid->steps);
}

static bool clamp(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, const struct frame *low,
	const struct frame *high, struct frame *out)
{
	size_t kept = 0;
	if (!evaluate(ev, call->call.args[0], grid, out))
		return false;
	for (size_t c = 0; c < out->count; c++) {
		double *values = out->columns[c].values;
		for (size_t i = 0; i < grid->steps; i++) {
			double least = low ? scalar_at(low, i) : -INFINITY, most = high ? scalar_at(high, i) : INFINITY;
			if (is_absent(values[i]))
				continue;
			values[i] = most < least ? absent() : most_of(least, least_of(most, values[i]));
		}
		if (column_has_value(&out->columns[c], grid->steps))
			out->columns[kept++] = out->columns[c];
	}
	out->count = kept;
	return frame_drop_names(ev, call, out, grid->steps);
}

bool frame_clamp(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct frame low, high;
	return evaluate(ev, call->call.args[1], grid, &low) && evaluate(ev, call->call.args[2], grid, &high) &&
	       clamp(ev, call, grid, &low, &high, out);
}

bool frame_clamp_min(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct frame low;
	return evaluate(ev, call->call.args[1], grid, &low) && clamp(ev, call, grid, &low, NULL, out);
}

bool frame_clamp_max(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct frame high;
	return evaluate(ev, call->call.args[1], grid, &high) && clamp(ev, call, grid, NULL, &high, out);
}

/* ---- absence ---- */

/* What the selector asks to be equal; a label asked for twice, or otherwise, is left out. */
static const struct labels *labels_asked_for(struct evaluation *ev, const struct promql_node *arg)
{
	const struct promql_node *n = node_unwrap(arg);
	struct labels_builder b;
	labels_builder_init(&b, NULL);
	if (n->kind == NODE_RANGE)
		n = n->range.selector;
	for (size_t i = 0; n->kind == NODE_SELECTOR && i < n->selector.matcher_count; i++) {
		const struct selector_matcher *m = &n->selector.matchers[i];
		bool again = false;
		for (size_t k = 0; k < i; k++)
			again |= n->selector.matchers[k].op == MATCH_EQ && str_eq(n->selector.matchers[k].name, m->name);
		if (str_eq(m->name, LABEL_NAME))
			continue;
		if (m->op == MATCH_EQ && !again)
			labels_builder_set(&b, m->name, m->value);
		else
			labels_builder_remove(&b, m->name);
	}
	return labels_build(ev, arg, &b);
}

static bool absent_column(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	frame_init_vector(ev, out, 1);
	out->one_name = true;
	out->columns[0] = (struct column){ labels_asked_for(ev, call->call.args[0]), false, values_new(ev, grid->steps) };
	out->count = 1;
	if (!out->columns[0].labels || !out->columns[0].values)
		return false;
	for (size_t i = 0; i < grid->steps; i++)
		out->columns[0].values[i] = 1;
	return true;
}

bool frame_absent(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct frame input;
	if (!evaluate(ev, call->call.args[0], grid, &input) || !absent_column(ev, call, grid, out))
		return false;
	double *values = out->columns[0].values;
	for (size_t c = 0; c < input.count; c++)
		for (size_t i = 0; i < grid->steps; i++)
			if (!is_absent(input.columns[c].values[i]))
				values[i] = absent();
	return true;
}

static bool any_in_window(const struct series_view *s, int64_t start_ms, int64_t end_ms)
{
	size_t first = times_after(s->t, s->count, start_ms);
	return first < s->count && s->t[first] <= end_ms;
}

bool frame_absent_over_time(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct range_source source;
	if (!select_range(ev, node_unwrap(call->call.args[0]), grid, &source) || !absent_column(ev, call, grid, out))
		return false;
	for (size_t i = 0; i < grid->steps; i++) {
		int64_t end_ms = range_end(&source, grid, i);
		for (size_t s = 0; s < source.count && !is_absent(out->columns[0].values[i]); s++)
			if (any_in_window(&source.series[s], end_ms - source.range_ms, end_ms))
				out->columns[0].values[i] = absent();
	}
	return true;
}
