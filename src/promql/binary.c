/* Operators with at least one scalar, and the choice among the others. */
#include "promql/evaluate.h"

#include <math.h>

bool operator_apply(enum token_kind op, double left, double right, double *result)
{
	*result = left;
	switch (op) {
	case TOKEN_ADD: *result = left + right; return true;
	case TOKEN_SUB: *result = left - right; return true;
	case TOKEN_MUL: *result = left * right; return true;
	case TOKEN_DIV: *result = left / right; return true;
	case TOKEN_MOD: *result = fmod(left, right); return true;
	case TOKEN_POW: *result = pow(left, right); return true;
	case TOKEN_ATAN2: *result = atan2(left, right); return true;
	case TOKEN_EQ: return left == right;
	case TOKEN_NE: return left != right;
	case TOKEN_GT: return left > right;
	case TOKEN_LT: return left < right;
	case TOKEN_GE: return left >= right;
	case TOKEN_LE: return left <= right;
	default: return false;
	}
}

static bool evaluate_scalars(const struct promql_node *n, const struct grid *grid, const struct frame *right, struct frame *out)
{
	double *values = out->columns[0].values;
	for (size_t i = 0; i < grid->steps; i++) {
		bool holds = operator_apply(n->binary.op, values[i], scalar_at(right, i), &values[i]);
		if (token_is_comparison(n->binary.op))
			values[i] = holds;
	}
	return true;
}

/* A comparison keeps the vector's value, on whichever side it stands. */
static bool evaluate_mixed(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, const struct frame *scalar,
	bool scalar_left, struct frame *out)
{
	enum token_kind op = n->binary.op;
	size_t kept = 0;
	for (size_t c = 0; c < out->count; c++) {
		double *values = out->columns[c].values;
		for (size_t i = 0; i < grid->steps; i++) {
			double x = values[i], s = scalar_at(scalar, i), result;
			if (is_absent(x))
				continue;
			bool holds = scalar_left ? operator_apply(op, s, x, &result) : operator_apply(op, x, s, &result);
			if (!token_is_comparison(op))
				values[i] = result;
			else if (n->binary.with_bool)
				values[i] = holds;
			else if (!holds)
				values[i] = absent();
		}
		if (column_has_value(&out->columns[c], grid->steps))
			out->columns[kept++] = out->columns[c];
	}
	out->count = kept;
	bool drops = !token_is_comparison(op) || n->binary.with_bool;
	return !drops || frame_drop_names(ev, n, out, grid->steps);
}

bool evaluate_binary(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out)
{
	struct frame left, right;
	if (!evaluate(ev, n->binary.left, grid, &left) || !evaluate(ev, n->binary.right, grid, &right))
		return false;
	if (left.type == PROMQL_SCALAR && right.type == PROMQL_SCALAR) {
		*out = left;
		return evaluate_scalars(n, grid, &right, out);
	}
	if (left.type == PROMQL_SCALAR || right.type == PROMQL_SCALAR) {
		bool scalar_left = left.type == PROMQL_SCALAR;
		*out = scalar_left ? right : left;
		return evaluate_mixed(ev, n, grid, scalar_left ? &left : &right, scalar_left, out);
	}
	if (token_is_set_operator(n->binary.op))
		return evaluate_set(ev, n, grid, &left, &right, out);
	return evaluate_vectors(ev, n, grid, &left, &right, out);
}
