/* The parser: one function a level of precedence. */
#include "catalog/expression_parser.h"

enum {
	DEPTH_LIMIT = 40, /* of parentheses and signs */
	NODE_LIMIT = 200  /* of one expression: chains of operators make trees as deep as they are long */
};

/* ---- errors ---- */

struct expression *expression_parser_fail(struct parser *p, size_t offset, const char *format, ...)
{
	char message[256];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	error_at(p->e, p->source, p->text, offset, "%s", message);
	if (p->e && p->line > 0) {
		/* In its file: exact for a text on one line; of a folded one the line where it starts is known. */
		p->e->column = p->e->line == 1 ? p->column + (int)offset : 0;
		p->e->line = p->line + p->e->line - 1;
	}
	return NULL;
}

struct expression *expression_parser_hint(struct parser *p, const char *format, ...)
{
	char hint[200];
	va_list args;

	va_start(args, format);
	vsnprintf(hint, sizeof hint, format, args);
	va_end(args);
	error_hint(p->e, "%s", hint);
	return NULL;
}

struct expression *expression_parser_fail_token(struct parser *p, const char *wanted)
{
	if (p->token.kind == TOKEN_BAD)
		return expression_parser_fail(p, p->token.offset, "%s", p->token.complaint);
	if (p->token.kind == TOKEN_END)
		return expression_parser_fail(p, p->token.offset, "the expression ends where %s is expected", wanted);
	return expression_parser_fail(p, p->token.offset, "expected %s, found \"" STR_FMT "\"", wanted, STR_ARG(p->token.text));
}

/* ---- tokens and nodes ---- */

void expression_parser_advance(struct parser *p)
{
	p->token = expression_token(p->text, p->next, &p->next);
}

bool expression_parser_expect(struct parser *p, enum token_kind kind, const char *wanted)
{
	if (p->token.kind != kind) {
		expression_parser_fail_token(p, wanted);
		return false;
	}
	expression_parser_advance(p);
	return true;
}

struct expression *expression_parser_node(struct parser *p, enum expression_kind kind, size_t offset)
{
	if (++p->nodes > NODE_LIMIT)
		return expression_parser_fail(p, offset, "the expression has more than %d parts: split it into signals", NODE_LIMIT);
	struct expression *x = ARENA_NEW(p->arena, struct expression);

	x->kind = kind;
	x->offset = (int)offset;
	return x;
}

struct expression *expression_parser_pair(
	struct parser *p, enum expression_kind kind, size_t offset, struct expression *left, struct expression *right)
{
	struct expression *x = expression_parser_node(p, kind, offset);

	if (x) {
		x->left = left;
		x->right = right;
	}
	return x;
}

struct expression *expression_parser_must_be(struct parser *p, struct expression *x, bool condition)
{
	if (x && expression_is_condition(x) != condition)
		return expression_parser_fail(p, (size_t)x->offset,
			condition ? "expected a condition, such as a comparison; this is a number"
				  : "expected a number; this is a condition");
	return x;
}

bool expression_is_condition(const struct expression *x)
{
	switch (x->kind) {
	case EXPRESSION_LESS:
	case EXPRESSION_LESS_EQUAL:
	case EXPRESSION_GREATER:
	case EXPRESSION_GREATER_EQUAL:
	case EXPRESSION_EQUAL:
	case EXPRESSION_NOT_EQUAL:
	case EXPRESSION_AND:
	case EXPRESSION_OR:
	case EXPRESSION_NOT:
	case EXPRESSION_KNOWN: return true;
	default: return false;
	}
}

/* ---- the levels of precedence ---- */

/* Enters one nesting level; false (with an error) when that is one too many. */
static bool enter(struct parser *p)
{
	if (p->depth++ < DEPTH_LIMIT)
		return true;
	expression_parser_fail(p, p->token.offset, "the expression is nested more than %d deep", DEPTH_LIMIT);
	return false;
}

static struct expression *parse_unary(struct parser *p)
{
	size_t offset = p->token.offset;

	if (p->token.kind != TOKEN_MINUS)
		return expression_parser_primary(p);
	if (!enter(p))
		return NULL;
	expression_parser_advance(p);
	struct expression *x = expression_parser_must_be(p, parse_unary(p), false);

	p->depth--;
	return x ? expression_parser_pair(p, EXPRESSION_NEGATE, offset, x, NULL) : NULL;
}

static struct expression *parse_product(struct parser *p)
{
	struct expression *x = parse_unary(p);

	while (x && (p->token.kind == TOKEN_STAR || p->token.kind == TOKEN_SLASH)) {
		struct token op = p->token;

		x = expression_parser_must_be(p, x, false);
		expression_parser_advance(p);
		struct expression *right = x ? expression_parser_must_be(p, parse_unary(p), false) : NULL;

		x = right ? expression_parser_pair(p, op.kind == TOKEN_STAR ? EXPRESSION_MULTIPLY : EXPRESSION_DIVIDE, op.offset, x, right)
			  : NULL;
	}
	return x;
}

static struct expression *parse_sum(struct parser *p)
{
	struct expression *x = parse_product(p);

	while (x && (p->token.kind == TOKEN_PLUS || p->token.kind == TOKEN_MINUS)) {
		struct token op = p->token;

		x = expression_parser_must_be(p, x, false);
		expression_parser_advance(p);
		struct expression *right = x ? expression_parser_must_be(p, parse_product(p), false) : NULL;

		x = right ? expression_parser_pair(p, op.kind == TOKEN_PLUS ? EXPRESSION_ADD : EXPRESSION_SUBTRACT, op.offset, x, right)
			  : NULL;
	}
	return x;
}

static bool comparison_kind(enum token_kind token, enum expression_kind *kind)
{
	switch (token) {
	case TOKEN_LESS: *kind = EXPRESSION_LESS; return true;
	case TOKEN_LESS_EQUAL: *kind = EXPRESSION_LESS_EQUAL; return true;
	case TOKEN_GREATER: *kind = EXPRESSION_GREATER; return true;
	case TOKEN_GREATER_EQUAL: *kind = EXPRESSION_GREATER_EQUAL; return true;
	case TOKEN_EQUAL: *kind = EXPRESSION_EQUAL; return true;
	case TOKEN_NOT_EQUAL: *kind = EXPRESSION_NOT_EQUAL; return true;
	default: return false;
	}
}

static struct expression *parse_comparison(struct parser *p)
{
	struct expression *x = parse_sum(p);
	enum expression_kind kind;

	if (!x || !comparison_kind(p->token.kind, &kind))
		return x;
	struct token op = p->token;

	x = expression_parser_must_be(p, x, false);
	expression_parser_advance(p);
	struct expression *right = x ? expression_parser_must_be(p, parse_sum(p), false) : NULL;

	if (!right)
		return NULL;
	if (comparison_kind(p->token.kind, &(enum expression_kind){ 0 }))
		return expression_parser_fail(p, p->token.offset, "comparisons do not chain: write a < b and b < c");
	return expression_parser_pair(p, kind, op.offset, x, right);
}

static struct expression *parse_not(struct parser *p)
{
	size_t offset = p->token.offset;

	if (p->token.kind != TOKEN_NOT)
		return parse_comparison(p);
	if (!enter(p))
		return NULL;
	expression_parser_advance(p);
	struct expression *x = expression_parser_must_be(p, parse_not(p), true);

	p->depth--;
	return x ? expression_parser_pair(p, EXPRESSION_NOT, offset, x, NULL) : NULL;
}

static struct expression *parse_and(struct parser *p)
{
	struct expression *x = parse_not(p);

	while (x && p->token.kind == TOKEN_AND) {
		size_t offset = p->token.offset;

		x = expression_parser_must_be(p, x, true);
		expression_parser_advance(p);
		struct expression *right = x ? expression_parser_must_be(p, parse_not(p), true) : NULL;

		x = right ? expression_parser_pair(p, EXPRESSION_AND, offset, x, right) : NULL;
	}
	return x;
}

struct expression *expression_parser_parse(struct parser *p)
{
	if (!enter(p))
		return NULL;
	struct expression *x = parse_and(p);

	while (x && p->token.kind == TOKEN_OR) {
		size_t offset = p->token.offset;

		x = expression_parser_must_be(p, x, true);
		expression_parser_advance(p);
		struct expression *right = x ? expression_parser_must_be(p, parse_and(p), true) : NULL;

		x = right ? expression_parser_pair(p, EXPRESSION_OR, offset, x, right) : NULL;
	}
	p->depth--;
	return x;
}

struct expression *expression_parse(
	struct arena *arena, struct catalog *c, struct str source, int line, int column, struct str text, struct error *e)
{
	/* Names in the tree point into the text, so it is kept. */
	struct parser p = {
		.arena = arena, .catalog = c, .source = source, .text = arena_str(arena, text), .line = line, .column = column, .e = e
	};

	expression_parser_advance(&p);
	struct expression *x = expression_parser_parse(&p);

	if (x && p.token.kind != TOKEN_END)
		return expression_parser_fail_token(&p, "an operator");
	return x;
}
