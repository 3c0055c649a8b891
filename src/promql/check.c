/* Types, and the rules that the grammar does not say. In Prometheus's words. */
#include "promql/functions.h"
#include "promql/syntax.h"

static bool check(struct promql_node *n, struct str query, struct error *e);

static bool expect_type(struct promql_node *n, enum promql_type wanted, const char *context, struct str query, struct error *e)
{
	if (!check(n, query, e))
		return false;
	return n->type == wanted || syntax_error(query, n->start, e, "expected type %s in %s, got %s", promql_type_text(wanted), context,
					    promql_type_text(n->type));
}

static bool check_aggregate(struct promql_node *n, struct str query, struct error *e)
{
	if (!expect_type(n->aggregate.expression, PROMQL_VECTOR, "aggregation expression", query, e))
		return false;
	if (!n->aggregate.parameter)
		return true;
	enum promql_type wanted = n->aggregate.op == TOKEN_COUNT_VALUES ? PROMQL_STRING : PROMQL_SCALAR;
	return expect_type(n->aggregate.parameter, wanted, "aggregation parameter", query, e);
}

/* The operator's place: the first byte that is no blank after the left side. */
static size_t operator_at(const struct promql_node *n, struct str query)
{
	size_t at = n->binary.left->end;
	while (at < query.len && strchr(" \t\r\n", query.ptr[at]))
		at++;
	return at;
}

static bool check_matching_labels(struct promql_node *n, struct str query, struct error *e)
{
	const struct matching *m = &n->binary.matching;
	for (size_t i = 0; m->is_on && i < m->label_count; i++)
		for (size_t k = 0; k < m->include_count; k++)
			if (str_eq(m->labels[i], m->include[k]))
				return syntax_error(query, operator_at(n, query), e,
					"label \"" STR_FMT "\" must not occur in ON and GROUP clause at once", STR_ARG(m->labels[i]));
	return true;
}

static bool check_operand(struct promql_node *n, struct str query, struct error *e)
{
	if (!check(n, query, e))
		return false;
	return n->type == PROMQL_SCALAR || n->type == PROMQL_VECTOR ||
	       syntax_error(query, n->start, e, "binary expression must contain only scalar and instant vector types");
}

static bool check_binary(struct promql_node *n, struct str query, struct error *e)
{
	enum token_kind op = n->binary.op;
	struct matching *m = &n->binary.matching;
	if (!check_operand(n->binary.left, query, e) || !check_operand(n->binary.right, query, e))
		return false;
	bool left_scalar = n->binary.left->type == PROMQL_SCALAR, right_scalar = n->binary.right->type == PROMQL_SCALAR;
	if (n->binary.with_bool && !token_is_comparison(op))
		return syntax_error(query, operator_at(n, query), e, "bool modifier can only be used on comparison operators");
	if (token_is_comparison(op) && !n->binary.with_bool && left_scalar && right_scalar)
		return syntax_error(query, operator_at(n, query), e, "comparisons between scalars must use BOOL modifier");
	if (!check_matching_labels(n, query, e))
		return false;
	if ((left_scalar || right_scalar) && m->label_count)
		return syntax_error(query, n->start, e, "vector matching only allowed between instant vectors");
	if ((left_scalar || right_scalar) && token_is_set_operator(op))
		return syntax_error(query, n->start, e, "set operator \"%s\" not allowed in binary scalar expression", token_text(op));
	if (token_is_set_operator(op) && m->side != SIDE_ONE_TO_ONE)
		return syntax_error(query, n->start, e, "no grouping allowed for \"%s\" operation", token_text(op));
	return true;
}

static bool check_argument_count(struct promql_node *n, struct str query, struct error *e)
{
	const struct function *f = n->call.function;
	int given = (int)n->call.arg_count, least = f->variadic ? f->arg_count - 1 : f->arg_count;
	if (!f->variadic && given != f->arg_count)
		return syntax_error(query, n->start, e, "expected %d argument(s) in call to \"%s\", got %d", f->arg_count, f->name, given);
	if (given < least)
		return syntax_error(
			query, n->start, e, "expected at least %d argument(s) in call to \"%s\", got %d", least, f->name, given);
	if (f->variadic > 0 && given > least + f->variadic)
		return syntax_error(query, n->start, e, "expected at most %d argument(s) in call to \"%s\", got %d", least + f->variadic,
			f->name, given);
	return true;
}

static bool check_call(struct promql_node *n, struct str query, struct error *e)
{
	const struct function *f = n->call.function;
	if (!check_argument_count(n, query, e))
		return false;
	for (size_t i = 0; i < n->call.arg_count; i++) {
		struct promql_node *arg = n->call.args[i];
		enum promql_type wanted = f->args[(int)i < f->arg_count ? (int)i : f->arg_count - 1];
		if (!check(arg, query, e))
			return false;
		if (arg->type != wanted)
			return syntax_error(query, arg->start, e, "expected type %s in call to function \"%s\", got %s",
				promql_type_text(wanted), f->name, promql_type_text(arg->type));
	}
	return true;
}

static bool check_selector(struct promql_node *n, struct str query, struct error *e)
{
	const struct selector_matcher *list = n->selector.matchers;
	struct str name = n->selector.name;
	for (size_t i = name.len ? 1 : 0; i < n->selector.matcher_count; i++)
		if (name.len && str_eq(list[i].name, LABEL_NAME))
			return syntax_error(query, n->start, e, "metric name must not be set twice: \"" STR_FMT "\" or \"" STR_FMT "\"",
				STR_ARG(name), STR_ARG(list[i].value));
	for (size_t i = 0; i < n->selector.matcher_count; i++) {
		struct matcher m;
		if (!matcher_init(&m, list[i].name, list[i].op, list[i].value, e))
			return false;
		bool accepts_empty = matcher_matches(&m, STR(""));
		matcher_fini(&m);
		if (!accepts_empty)
			return true;
	}
	return syntax_error(query, n->start, e, "vector selector must contain at least one non-empty matcher");
}

static bool check_unary(struct promql_node *n, struct str query, struct error *e)
{
	if (!check(n->unary.expression, query, e))
		return false;
	return n->type == PROMQL_SCALAR || n->type == PROMQL_VECTOR ||
	       syntax_error(query, n->start, e, "unary expression only allowed on expressions of type scalar or instant vector, got \"%s\"",
		       promql_type_text(n->type));
}

static bool check_subquery(struct promql_node *n, struct str query, struct error *e)
{
	struct promql_node *inner = n->subquery.expression;
	if (!check(inner, query, e))
		return false;
	return inner->type == PROMQL_VECTOR ||
	       syntax_error(query, n->start, e, "subquery is only allowed on instant vector, got %s instead",
		       inner->type == PROMQL_MATRIX ? "matrix" : promql_type_text(inner->type));
}

static bool check(struct promql_node *n, struct str query, struct error *e)
{
	switch (n->kind) {
	case NODE_NUMBER:
	case NODE_STRING: return true;
	case NODE_SELECTOR: return check_selector(n, query, e);
	case NODE_RANGE: return check_selector(n->range.selector, query, e);
	case NODE_SUBQUERY: return check_subquery(n, query, e);
	case NODE_CALL: return check_call(n, query, e);
	case NODE_AGGREGATE: return check_aggregate(n, query, e);
	case NODE_BINARY: return check_binary(n, query, e);
	case NODE_UNARY: return check_unary(n, query, e);
	case NODE_PAREN: return check(n->inner, query, e);
	}
	return false;
}

bool syntax_check(struct promql_node *n, struct str query, struct error *e)
{
	return check(n, query, e);
}
