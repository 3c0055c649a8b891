/* Durations: "5m", "300", and arithmetic on them: "5m * 2", "step() + 1m", "max_of(step(), 30s)". */
#include "promql/functions.h"
#include "promql/parse.h"

#include <math.h>

static const char expected[] = "number, duration, step(), or range()";

static struct promql_node *parse_sum(struct parser *p, const char *context, int lowest);

static int duration_precedence(enum token_kind op)
{
	switch (op) {
	case TOKEN_ADD:
	case TOKEN_SUB: return 1;
	case TOKEN_MUL:
	case TOKEN_DIV:
	case TOKEN_MOD: return 2;
	case TOKEN_POW: return 4;
	default: return 0;
	}
}
enum { PRECEDENCE_SIGN = 3 };

/* step(), range(), min_of(a, b), max_of(a, b): kept as text and arguments; only a query knows the first two. */
static struct promql_node *parse_duration_call(struct parser *p, const char *context)
{
	static const char *const names[] = { "step", "range", "min_of", "max_of" };
	struct promql_node *n = parser_node(p, NODE_CALL, PROMQL_SCALAR, p->token.start);
	size_t which = 0;
	while (which < 4 && !str_eq_nocase(p->token.text, str_from(names[which])))
		which++;
	if (which == 4) {
		parser_unexpected(p, context, expected);
		return NULL;
	}
	n->call.function = function_find(str_from(names[which]));
	n->call.args = ARENA_ARRAY(p->arena, struct promql_node *, 2);
	parser_advance(p);
	if (!parser_expect(p, TOKEN_LEFT_PAREN, context, "\"(\""))
		return NULL;
	for (n->call.arg_count = 0; which >= 2 && n->call.arg_count < 2; n->call.arg_count++) {
		if (n->call.arg_count && !parser_expect(p, TOKEN_COMMA, context, "\",\""))
			return NULL;
		n->call.args[n->call.arg_count] = parse_sum(p, context, 1);
		if (!n->call.args[n->call.arg_count])
			return NULL;
	}
	if (!parser_expect(p, TOKEN_RIGHT_PAREN, context, "\")\""))
		return NULL;
	return parser_finish(p, n, n->call.args[0], n->call.args[1]);
}

static struct promql_node *parse_duration_paren(struct parser *p, const char *context)
{
	struct promql_node *n = parser_node(p, NODE_PAREN, PROMQL_SCALAR, p->token.start);
	parser_advance(p);
	n->inner = parse_sum(p, context, 1);
	if (!n->inner || !parser_expect(p, TOKEN_RIGHT_PAREN, context, "\")\""))
		return NULL;
	return parser_finish(p, n, n->inner, NULL);
}

static struct promql_node *parse_duration_atom(struct parser *p, const char *context)
{
	struct token t = p->token;
	if (t.kind == TOKEN_LEFT_PAREN)
		return parse_duration_paren(p, context);
	if (t.kind == TOKEN_IDENTIFIER)
		return parse_duration_call(p, context);
	if (t.kind != TOKEN_NUMBER && t.kind != TOKEN_DURATION) {
		parser_unexpected(p, context, expected);
		return NULL;
	}
	struct promql_node *n = parser_node(p, NODE_NUMBER, PROMQL_SCALAR, t.start);
	parser_advance(p);
	return parse_number(p, &t, &n->number) ? parser_finish(p, n, NULL, NULL) : NULL;
}

/* `powers`: a sign binds weaker than ^. After offset it binds to the atom alone. */
static struct promql_node *parse_duration_operand(struct parser *p, const char *context, bool powers)
{
	struct token sign = p->token;
	if (!parser_enter(p))
		return NULL;
	struct promql_node *inner;
	bool is_signed = sign.kind == TOKEN_ADD || sign.kind == TOKEN_SUB;
	if (is_signed) {
		parser_advance(p);
		inner = powers ? parse_sum(p, context, PRECEDENCE_SIGN + 1) : parse_duration_operand(p, context, false);
	} else {
		inner = parse_duration_atom(p, context);
	}
	p->depth--;
	if (!inner || sign.kind != TOKEN_SUB)
		return inner;
	if (inner->kind == NODE_NUMBER) {
		inner->number = -inner->number;
		return inner;
	}
	struct promql_node *n = parser_node(p, NODE_UNARY, PROMQL_SCALAR, sign.start);
	n->unary.minus = true;
	n->unary.expression = inner;
	return parser_finish(p, n, inner, NULL);
}

static struct promql_node *parse_sum(struct parser *p, const char *context, int lowest)
{
	struct promql_node *left = parse_duration_operand(p, context, true);
	while (left && duration_precedence(p->token.kind) >= lowest) {
		struct promql_node *n = parser_node(p, NODE_BINARY, PROMQL_SCALAR, left->start);
		enum token_kind op = n->binary.op = p->token.kind;
		parser_advance(p);
		n->binary.left = left;
		if (!parser_enter(p))
			return NULL;
		n->binary.right = parse_sum(p, context, op == TOKEN_POW ? 4 : duration_precedence(op) + 1);
		p->depth--;
		if (!n->binary.right)
			return NULL;
		left = parser_finish(p, n, left, n->binary.right);
	}
	return left;
}

/* A plain number is settled here, with Prometheus's words. */
static bool duration_settle(struct parser *p, uint32_t start, double seconds, bool in_brackets, struct duration *d)
{
	if (isnan(seconds) || fabs(seconds) > 9223372036.0)
		return parser_fail(p, start, "duration out of range");
	if (in_brackets && seconds <= 0)
		return parser_fail(p, start, "duration must be greater than 0");
	d->ms = llround(seconds * 1e9) / 1000000;
	if (in_brackets && d->ms == 0)
		return parser_fail(p, start, "duration must be greater than 0: the resolution is 1ms");
	return true;
}

bool parse_duration(struct parser *p, bool in_brackets, struct duration *d, const char *context)
{
	*d = (struct duration){ 0 };
	uint32_t start = p->token.start;
	/* After offset only one operand, with signs, so that "foo offset 5m + 2" adds 2 to foo. */
	struct promql_node *n = in_brackets ? parse_sum(p, context, 1) : parse_duration_operand(p, context, false);
	if (!n)
		return false;
	if (n->kind == NODE_NUMBER)
		return duration_settle(p, start, n->number, in_brackets, d);
	d->expression = n;
	return true;
}
