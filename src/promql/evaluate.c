#include "promql/evaluate.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>

const struct promql_options promql_defaults = {
	.lookback_ms = 300000,
	.subquery_step_ms = 60000,
	.max_samples = 50000000,
	.timeout_ms = 120000,
};

/* Far from the ends of int64, so that offsets and ranges cannot overflow a time. */
#define TIME_LIMIT_MS INT64_C(4000000000000000000)

/* ---- limits and errors ---- */

bool evaluation_fail(struct evaluation *ev, const struct promql_node *n, const char *format, ...)
{
	char text[320];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return error_at(ev->error, STR("query"), ev->query, n->start, "%s", text);
}

bool evaluation_hold(struct evaluation *ev, size_t values)
{
	ev->samples += values;
	return ev->samples <= ev->options->max_samples ||
	       error_set(ev->error, EXIT_BAD_INPUT, "query processing would load too many samples into memory in query execution");
}

bool evaluation_in_time(struct evaluation *ev)
{
	if (ev->options->cancel && *ev->options->cancel)
		return error_set(ev->error, EXIT_INTERRUPTED, "query was canceled in expression evaluation");
	return !ev->deadline_ns || clock_monotonic_ns() <= ev->deadline_ns ||
	       error_set(ev->error, EXIT_UNREACHABLE, "query timed out in expression evaluation");
}

double scalar_at(const struct frame *scalar, size_t step)
{
	return scalar->columns[0].values[step];
}

/* ---- durations ---- */

/* step() and range() in seconds. */
static double query_seconds(const struct evaluation *ev, const struct function *f)
{
	return (double)(str_is(str_from(f->name), "step") ? ev->step_ms : ev->end_ms - ev->start_ms) / 1000;
}

static double duration_call(struct evaluation *ev, const struct promql_node *n);

static double duration_seconds(struct evaluation *ev, const struct promql_node *n)
{
	double left, right, result;
	switch (n->kind) {
	case NODE_NUMBER: return n->number;
	case NODE_PAREN: return duration_seconds(ev, n->inner);
	case NODE_UNARY: return -duration_seconds(ev, n->unary.expression);
	case NODE_CALL: return duration_call(ev, n);
	case NODE_BINARY:
		left = duration_seconds(ev, n->binary.left);
		right = duration_seconds(ev, n->binary.right);
		operator_apply(n->binary.op, left, right, &result);
		return result; /* a division by zero is caught as out of range */
	default: return NAN;
	}
}

static double duration_call(struct evaluation *ev, const struct promql_node *n)
{
	if (!n->call.arg_count)
		return query_seconds(ev, n->call.function);
	double a = duration_seconds(ev, n->call.args[0]), b = duration_seconds(ev, n->call.args[1]);
	return str_is(str_from(n->call.function->name), "min_of") ? fmin(a, b) : fmax(a, b);
}

bool evaluate_duration(struct evaluation *ev, const struct promql_node *at, const struct duration *d, bool negative_allowed, int64_t *ms)
{
	*ms = d->ms;
	if (!d->expression)
		return true;
	double seconds = duration_seconds(ev, d->expression);
	if (!isfinite(seconds) || fabs(seconds) > 9223372036.0)
		return evaluation_fail(ev, at, "duration is out of range");
	*ms = (int64_t)(seconds * 1000);
	return negative_allowed || *ms > 0 || evaluation_fail(ev, at, "duration must be greater than 0");
}

/* ---- nodes ---- */

static bool evaluate_number(struct evaluation *ev, double value, const struct grid *grid, struct frame *out)
{
	if (!frame_init_scalar(ev, out, grid->steps))
		return false;
	for (size_t i = 0; i < grid->steps; i++)
		out->columns[0].values[i] = value;
	return true;
}

static bool evaluate_unary(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out)
{
	if (!evaluate(ev, n->unary.expression, grid, out))
		return false;
	if (!n->unary.minus)
		return true;
	for (size_t c = 0; c < out->count; c++)
		for (size_t i = 0; i < grid->steps; i++)
			if (!is_absent(out->columns[c].values[i]))
				out->columns[c].values[i] = -out->columns[c].values[i];
	return out->type == PROMQL_SCALAR || frame_drop_names(ev, n, out, grid->steps);
}

/* A function of one value, on every value. */
static bool evaluate_math(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out)
{
	if (!evaluate(ev, n->call.args[0], grid, out))
		return false;
	for (size_t c = 0; c < out->count; c++)
		for (size_t i = 0; i < grid->steps; i++)
			if (!is_absent(out->columns[c].values[i]))
				out->columns[c].values[i] = n->call.function->math(out->columns[c].values[i]);
	return frame_drop_names(ev, n, out, grid->steps);
}

static bool evaluate_call(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out)
{
	if (n->call.function->math)
		return evaluate_math(ev, n, grid, out);
	if (n->call.function->window)
		return evaluate_window_call(ev, n, grid, out);
	return n->call.function->frame(ev, n, grid, out);
}

static bool evaluate_aggregation(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out)
{
	switch (n->aggregate.op) {
	case TOKEN_TOPK:
	case TOKEN_BOTTOMK:
	case TOKEN_LIMITK:
	case TOKEN_LIMIT_RATIO: return evaluate_top(ev, n, grid, out);
	case TOKEN_COUNT_VALUES: return evaluate_count_values(ev, n, grid, out);
	default: return evaluate_aggregate(ev, n, grid, out);
	}
}

static bool evaluate_node(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out)
{
	switch (n->kind) {
	case NODE_NUMBER: return evaluate_number(ev, n->number, grid, out);
	case NODE_STRING: *out = (struct frame){ .type = PROMQL_STRING, .text = n->text }; return true;
	case NODE_PAREN: return evaluate(ev, n->inner, grid, out);
	case NODE_SELECTOR: return select_vector(ev, n, grid, false, out);
	case NODE_CALL: return evaluate_call(ev, n, grid, out);
	case NODE_AGGREGATE: return evaluate_aggregation(ev, n, grid, out);
	case NODE_BINARY: return evaluate_binary(ev, n, grid, out);
	case NODE_UNARY: return evaluate_unary(ev, n, grid, out);
	case NODE_RANGE:
	case NODE_SUBQUERY: return evaluation_fail(ev, n, "a range vector cannot be evaluated here");
	}
	return false;
}

bool evaluate(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out)
{
	size_t held = ev->samples;
	if (!evaluation_in_time(ev) || !evaluate_node(ev, n, grid, out))
		return false;
	ev->samples = held;
	return evaluation_hold(ev, frame_points(out, grid->steps));
}

/* ---- queries ---- */

static void evaluation_init(struct evaluation *ev, struct backend *samples, struct arena *arena, const struct promql_node *node,
	const struct promql_options *options, struct error *e)
{
	*ev = (struct evaluation){ .backend = samples, .arena = arena, .options = options ? options : &promql_defaults, .error = e };
	ev->query = node->query;
	ev->root = node;
	ev->delayed = ev->options->delayed_name_removal;
	if (ev->options->timeout_ms)
		ev->deadline_ns = clock_monotonic_ns() + ev->options->timeout_ms * 1000000;
	ev->no_labels = labels_keep(ev, labels_new(NULL, 0));
}

static bool time_in_bounds(int64_t t_ms, struct error *e)
{
	return (t_ms <= TIME_LIMIT_MS && t_ms >= -TIME_LIMIT_MS) || error_set(e, EXIT_BAD_INPUT, "the time of the query is out of bounds");
}

/* The samples themselves: an instant query of a range vector. */
static bool evaluate_matrix(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct promql_value *value)
{
	struct range_source source;
	if (!select_range(ev, n, grid, &source))
		return false;
	for (size_t i = 0; i < source.count; i++)
		if (!evaluation_hold(ev, source.series[i].count))
			return false;
	result_samples(ev, &source, value);
	return true;
}

bool promql_instant(struct backend *samples, struct arena *arena, const struct promql_node *node, const struct promql_options *options,
	int64_t t_ms, struct promql_value *value, struct error *e)
{
	struct evaluation ev;
	struct frame frame;
	evaluation_init(&ev, samples, arena, node, options, e);
	if (!time_in_bounds(t_ms, e))
		return false;
	ev.start_ms = ev.end_ms = t_ms;
	ev.instant = true;
	struct grid grid = { t_ms, 1, 1 };
	*value = (struct promql_value){ .t_ms = t_ms };
	bool ok = node->type == PROMQL_MATRIX ? evaluate_matrix(&ev, node_unwrap(node), &grid, value)
					      : evaluate(&ev, node, &grid, &frame) && result_instant(&ev, node, &frame, value);
	annotations_result(&ev, value);
	return ok;
}

bool promql_range(struct backend *samples, struct arena *arena, const struct promql_node *node, const struct promql_options *options,
	int64_t start_ms, int64_t end_ms, int64_t step_ms, struct promql_value *value, struct error *e)
{
	struct evaluation ev;
	struct frame frame;
	evaluation_init(&ev, samples, arena, node, options, e);
	if (node->type != PROMQL_SCALAR && node->type != PROMQL_VECTOR)
		return error_set(e, EXIT_BAD_INPUT, "invalid expression type \"%s\" for range query, must be Scalar or instant Vector",
			promql_type_text(node->type));
	if (step_ms <= 0)
		return error_set(
			e, EXIT_BAD_INPUT, "zero or negative query resolution step widths are not accepted. Try a positive integer");
	if (!time_in_bounds(start_ms, e) || !time_in_bounds(end_ms, e))
		return false;
	if (end_ms < start_ms)
		return error_set(e, EXIT_BAD_INPUT, "end timestamp must not be before start time");
	/* Room is made for all steps of a query at once, also where no series matches. */
	if ((uint64_t)(end_ms - start_ms) / (uint64_t)step_ms >= ev.options->max_samples)
		return error_set(e, EXIT_BAD_INPUT, "the query has more than %zu steps: ask for a longer step or a shorter time",
			ev.options->max_samples);
	ev.start_ms = start_ms;
	ev.end_ms = end_ms;
	ev.step_ms = step_ms;
	struct grid grid = { start_ms, step_ms, (size_t)((end_ms - start_ms) / step_ms) + 1 };
	*value = (struct promql_value){ .type = PROMQL_MATRIX, .t_ms = end_ms };
	bool ok = evaluate(&ev, node, &grid, &frame) && result_range(&ev, node, &grid, &frame, value);
	annotations_result(&ev, value);
	return ok;
}
