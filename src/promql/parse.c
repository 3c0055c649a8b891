#include "promql/parse.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/vec.h"
#include "promql/functions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- tools ---- */

void parser_advance(struct parser *p)
{
	p->last_end = p->token.end;
	p->token = lexer_next(&p->lexer);
}

bool parser_accept(struct parser *p, enum token_kind kind)
{
	if (p->token.kind != kind)
		return false;
	parser_advance(p);
	return true;
}

bool parser_fail(struct parser *p, size_t offset, const char *format, ...)
{
	char text[300];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return syntax_error(p->lexer.input, offset, p->error, "%s", text);
}

static bool is_unsupported_modifier(const struct token *t)
{
	static const char *const names[] = { "anchored", "smoothed", "fill", "fill_left", "fill_right" };
	for (size_t i = 0; t->kind == TOKEN_IDENTIFIER && i < sizeof names / sizeof *names; i++)
		if (str_is(t->text, names[i]))
			return true;
	return false;
}

bool parser_unexpected(struct parser *p, const char *context, const char *expected)
{
	char what[160];
	if (p->token.kind == TOKEN_ERROR)
		return parser_fail(p, p->token.start, "%s", p->lexer.error);
	token_describe(&p->token, what);
	parser_fail(p, p->token.start, "unexpected %s%s%s%s%s", what, context ? " in " : "", context ? context : "",
		expected ? ", expected " : "", expected ? expected : "");
	if (is_unsupported_modifier(&p->token))
		error_hint(p->error, "the experimental modifiers anchored, smoothed and fill of Prometheus 3.x are not supported");
	return false;
}

bool parser_expect(struct parser *p, enum token_kind kind, const char *context, const char *expected)
{
	return parser_accept(p, kind) || parser_unexpected(p, context, expected);
}

bool parser_enter(struct parser *p)
{
	if (++p->depth <= SYNTAX_DEPTH_MAX)
		return true;
	return parser_fail(p, p->token.start, "expression is nested too deeply (more than %d levels)", SYNTAX_DEPTH_MAX);
}

struct promql_node *parser_node(struct parser *p, enum node_kind kind, enum promql_type type, uint32_t start)
{
	struct promql_node *n = ARENA_NEW(p->arena, struct promql_node);
	n->kind = kind;
	n->type = type;
	n->start = start;
	n->depth = 1;
	return n;
}

struct promql_node *parser_finish(struct parser *p, struct promql_node *n, const struct promql_node *a, const struct promql_node *b)
{
	int below = a ? a->depth : 0;
	if (b && b->depth > below)
		below = b->depth;
	if (below + 1 > n->depth)
		n->depth = below + 1;
	n->end = p->last_end;
	if (n->depth <= SYNTAX_DEPTH_MAX)
		return n;
	parser_fail(p, n->start, "expression is nested too deeply (more than %d levels)", SYNTAX_DEPTH_MAX);
	return NULL;
}

/* ---- literals ---- */

/* Like Go's ParseInt(s, 0, 64), then ParseFloat: a leading 0 means octal when all digits are octal; '_' separates digits. */
bool parse_number(struct parser *p, const struct token *t, double *value)
{
	if (t->kind == TOKEN_DURATION) {
		int64_t ms;
		if (!duration_parse(t->text, &ms)) {
			parser_fail(p, t->start, "not a valid duration string: \"" STR_FMT "\"", STR_ARG(str_head(t->text, 80)));
			error_hint(p->error, "units go from long to short, each once, with whole numbers: 1h30m");
			return false;
		}
		*value = (double)ms / 1000;
		return true;
	}
	char digits[128];
	size_t len = 0;
	for (size_t i = 0; i < t->text.len && len < sizeof digits - 1; i++)
		if (t->text.ptr[i] != '_')
			digits[len++] = t->text.ptr[i];
	digits[len] = '\0';
	char *end;
	bool hex = len > 2 && digits[0] == '0' && (digits[1] | 0x20) == 'x';
	bool octal = !hex && len > 1 && digits[0] == '0' && strspn(digits, "01234567") == len;
	if (len + 1 == sizeof digits || (hex && len > 2 + 16) || (octal && len > 22))
		return parser_fail(p, t->start, "error parsing number: \"" STR_FMT "\" is out of range", STR_ARG(str_head(t->text, 40)));
	if (hex || octal)
		*value = (double)strtoull(digits, &end, 0);
	else if (digits[len - 1] == '.') /* "2." */
		return number_parse(str_of(digits, len - 1), value) || parser_fail(p, t->start, "error parsing number: \"%s\"", digits);
	else if (!number_parse(str_of(digits, len), value))
		return parser_fail(p, t->start, "error parsing number: \"%s\"", digits);
	return true;
}

bool parse_string(struct parser *p, struct str *value)
{
	char why[SYNTAX_WHY];
	if (!syntax_unquote(p->arena, p->token.text, value, why))
		return parser_fail(p, p->token.start, "%s", why);
	if (!str_is_utf8(*value) && p->token.text.ptr[0] == '`')
		return parser_fail(p, p->token.start, "invalid UTF-8 in a raw string");
	parser_advance(p);
	return true;
}

static struct promql_node *parse_literal(struct parser *p)
{
	uint32_t start = p->token.start;
	if (p->token.kind == TOKEN_STRING) {
		struct promql_node *n = parser_node(p, NODE_STRING, PROMQL_STRING, start);
		return parse_string(p, &n->text) ? parser_finish(p, n, NULL, NULL) : NULL;
	}
	struct promql_node *n = parser_node(p, NODE_NUMBER, PROMQL_SCALAR, start);
	struct token t = p->token;
	parser_advance(p);
	return parse_number(p, &t, &n->number) ? parser_finish(p, n, NULL, NULL) : NULL;
}

/* ---- calls and aggregations ---- */

bool parse_grouping_labels(struct parser *p, struct str **labels, size_t *count)
{
	VEC(struct str) list = { 0 };
	bool ok = parser_expect(p, TOKEN_LEFT_PAREN, "grouping opts", "\"(\"");
	while (ok && p->token.kind != TOKEN_RIGHT_PAREN) {
		struct str name = p->token.text;
		if (p->token.kind == TOKEN_STRING) {
			ok = parse_string(p, &name);
			if (ok && (!name.len || !str_is_utf8(name)))
				ok = parser_fail(p, p->last_end, "invalid label name in grouping opts");
		} else if (!token_is_word(p->token.kind) || p->token.kind == TOKEN_METRIC_IDENTIFIER) {
			ok = parser_unexpected(p, "grouping opts", "label");
		} else {
			parser_advance(p);
		}
		if (!ok)
			break;
		VEC_PUSH(&list, name);
		if (p->token.kind != TOKEN_RIGHT_PAREN)
			ok = parser_expect(p, TOKEN_COMMA, "grouping opts", "\",\" or \")\"");
	}
	if (ok)
		parser_advance(p);
	*count = list.count;
	*labels = ARENA_ARRAY(p->arena, struct str, list.count + 1);
	if (list.count)
		memcpy(*labels, list.items, list.count * sizeof *list.items);
	VEC_FREE(&list);
	return ok;
}

/* "(a, b)": nodes in the arena. */
static bool parse_arguments(struct parser *p, struct promql_node ***args, size_t *count, const char *context)
{
	VEC(struct promql_node *) list = { 0 };
	bool ok = parser_expect(p, TOKEN_LEFT_PAREN, context, NULL);
	while (ok && p->token.kind != TOKEN_RIGHT_PAREN) {
		struct promql_node *arg = parse_expression(p);
		ok = arg != NULL;
		if (!ok)
			break;
		VEC_PUSH(&list, arg);
		uint32_t comma = p->token.start;
		if (p->token.kind != TOKEN_RIGHT_PAREN)
			ok = parser_expect(p, TOKEN_COMMA, NULL, NULL);
		if (ok && comma != p->token.start && p->token.kind == TOKEN_RIGHT_PAREN)
			ok = parser_fail(p, comma, "trailing commas not allowed in function call args");
	}
	if (ok)
		parser_advance(p);
	*count = list.count;
	*args = ARENA_ARRAY(p->arena, struct promql_node *, list.count + 1);
	if (list.count)
		memcpy(*args, list.items, list.count * sizeof *list.items);
	VEC_FREE(&list);
	return ok;
}

static struct promql_node *parser_finish_call(struct parser *p, struct promql_node *n, struct promql_node **args, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (args[i]->depth >= n->depth)
			n->depth = args[i]->depth + 1;
	return parser_finish(p, n, NULL, NULL);
}

static bool function_missing(struct parser *p, const struct token *name)
{
	if (str_is(name->text, "info") || str_is(name->text, "start_timestamp"))
		return parser_fail(p, name->start, "function \"" STR_FMT "\" of Prometheus 3.x is not supported", STR_ARG(name->text));
	const char *nearest = function_suggest(name->text);
	parser_fail(p, name->start, "unknown function with name \"" STR_FMT "\"", STR_ARG(str_head(name->text, 80)));
	if (nearest)
		error_hint(p->error, "did you mean %s()?", nearest);
	return false;
}

static struct promql_node *parse_call(struct parser *p, const struct token *name)
{
	struct promql_node *n = parser_node(p, NODE_CALL, PROMQL_VECTOR, name->start);
	n->call.function = function_find(name->text);
	if (!n->call.function) {
		function_missing(p, name);
		return NULL;
	}
	if (n->call.function->experimental && !p->options->experimental) {
		parser_fail(p, name->start, "function \"%s\" is not enabled", n->call.function->name);
		error_hint(p->error, "it is experimental in Prometheus too, behind the flag promql-experimental-functions");
		return NULL;
	}
	n->type = n->call.function->returns;
	if (!parse_arguments(p, &n->call.args, &n->call.arg_count, NULL))
		return NULL;
	return parser_finish_call(p, n, n->call.args, n->call.arg_count);
}

static bool parse_aggregate_modifier(struct parser *p, struct promql_node *n)
{
	if (p->token.kind != TOKEN_BY && p->token.kind != TOKEN_WITHOUT)
		return true;
	n->aggregate.grouped = true;
	n->aggregate.without = p->token.kind == TOKEN_WITHOUT;
	parser_advance(p);
	return parse_grouping_labels(p, &n->aggregate.labels, &n->aggregate.label_count);
}

static bool aggregate_takes_parameter(enum token_kind op)
{
	return op >= TOKEN_TOPK;
}

static struct promql_node *parse_aggregate(struct parser *p, const struct token *op)
{
	struct promql_node *n = parser_node(p, NODE_AGGREGATE, PROMQL_VECTOR, op->start);
	n->aggregate.op = op->kind;
	if ((op->kind == TOKEN_LIMITK || op->kind == TOKEN_LIMIT_RATIO) && !p->options->experimental) {
		parser_fail(p, op->start, "%s() is experimental and must be enabled with --enable-feature=promql-experimental-functions",
			token_text(op->kind));
		return NULL;
	}
	struct promql_node **args;
	size_t count, wanted = aggregate_takes_parameter(op->kind) ? 2 : 1;
	if (!parse_aggregate_modifier(p, n) || !parse_arguments(p, &args, &count, "aggregation"))
		return NULL;
	if (!n->aggregate.grouped && !parse_aggregate_modifier(p, n))
		return NULL;
	if (count == 0) {
		parser_fail(p, n->start, "no arguments for aggregate expression provided");
		return NULL;
	}
	if (count != wanted) {
		parser_fail(
			p, n->start, "wrong number of arguments for aggregate expression provided, expected %zu, got %zu", wanted, count);
		return NULL;
	}
	n->aggregate.parameter = wanted == 2 ? args[0] : NULL;
	n->aggregate.expression = args[wanted - 1];
	return parser_finish_call(p, n, args, count);
}

/* ---- operators ---- */

static int precedence(enum token_kind op)
{
	switch (op) {
	case TOKEN_OR: return 1;
	case TOKEN_AND:
	case TOKEN_UNLESS: return 2;
	case TOKEN_EQ:
	case TOKEN_NE:
	case TOKEN_GT:
	case TOKEN_LT:
	case TOKEN_GE:
	case TOKEN_LE: return 3;
	case TOKEN_ADD:
	case TOKEN_SUB: return 4;
	case TOKEN_MUL:
	case TOKEN_DIV:
	case TOKEN_MOD:
	case TOKEN_ATAN2: return 5;
	case TOKEN_POW: return 6;
	default: return 0;
	}
}
enum { PRECEDENCE_UNARY = 5 };

static bool parse_matching(struct parser *p, struct promql_node *n)
{
	struct matching *m = &n->binary.matching;
	n->binary.with_bool = parser_accept(p, TOKEN_BOOL);
	if (p->token.kind != TOKEN_ON && p->token.kind != TOKEN_IGNORING)
		return true;
	m->given = true;
	m->is_on = p->token.kind == TOKEN_ON;
	parser_advance(p);
	if (!parse_grouping_labels(p, &m->labels, &m->label_count))
		return false;
	if (p->token.kind != TOKEN_GROUP_LEFT && p->token.kind != TOKEN_GROUP_RIGHT)
		return true;
	m->side = p->token.kind == TOKEN_GROUP_LEFT ? SIDE_GROUP_LEFT : SIDE_GROUP_RIGHT;
	parser_advance(p);
	if (p->token.kind != TOKEN_LEFT_PAREN)
		return true;
	return parse_grouping_labels(p, &m->include, &m->include_count);
}

static struct promql_node *parse_operand(struct parser *p);

/* Precedence climbing: operators that bind at least as strongly as `lowest`. */
static struct promql_node *parse_binary(struct parser *p, int lowest)
{
	struct promql_node *left = parse_operand(p);
	while (left && precedence(p->token.kind) >= lowest) {
		struct promql_node *n = parser_node(p, NODE_BINARY, PROMQL_VECTOR, left->start);
		enum token_kind op = n->binary.op = p->token.kind;
		parser_advance(p);
		if (!parse_matching(p, n))
			return NULL;
		n->binary.left = left;
		if (!parser_enter(p))
			return NULL;
		n->binary.right = parse_binary(p, op == TOKEN_POW ? precedence(op) : precedence(op) + 1);
		p->depth--;
		if (!n->binary.right)
			return NULL;
		if (left->type == PROMQL_SCALAR && n->binary.right->type == PROMQL_SCALAR)
			n->type = PROMQL_SCALAR;
		left = parser_finish(p, n, left, n->binary.right);
	}
	return left;
}

struct promql_node *parse_expression(struct parser *p)
{
	if (!parser_enter(p))
		return NULL;
	struct promql_node *n = parse_binary(p, 1);
	p->depth--;
	return n;
}

/* Binds weaker than ^ and stronger than *. A sign before a number is part of it. */
static struct promql_node *parse_unary(struct parser *p)
{
	uint32_t start = p->token.start;
	bool minus = p->token.kind == TOKEN_SUB;
	parser_advance(p);
	if (!parser_enter(p))
		return NULL;
	struct promql_node *inner = parse_binary(p, PRECEDENCE_UNARY + 1);
	p->depth--;
	if (!inner)
		return NULL;
	if (inner->kind == NODE_NUMBER) {
		inner->number = minus ? -inner->number : inner->number;
		inner->start = start;
		return inner;
	}
	struct promql_node *n = parser_node(p, NODE_UNARY, inner->type, start);
	n->unary.minus = minus;
	n->unary.expression = inner;
	return parser_finish(p, n, inner, NULL);
}

static struct promql_node *parse_paren(struct parser *p)
{
	struct promql_node *n = parser_node(p, NODE_PAREN, PROMQL_VECTOR, p->token.start);
	parser_advance(p);
	n->inner = parse_expression(p);
	if (!n->inner || !parser_expect(p, TOKEN_RIGHT_PAREN, NULL, NULL))
		return NULL;
	n->type = n->inner->type;
	return parser_finish(p, n, n->inner, NULL);
}

/* A word: a call or an aggregation when "(" or a grouping follows, else a metric. The lexer is copied to look one token ahead. */
static struct promql_node *parse_word(struct parser *p)
{
	struct token word = p->token;
	struct lexer ahead = p->lexer;
	enum token_kind next = lexer_next(&ahead).kind;
	bool call = next == TOKEN_LEFT_PAREN || next == TOKEN_BY || next == TOKEN_WITHOUT;
	bool operand = next == TOKEN_IDENTIFIER || next == TOKEN_METRIC_IDENTIFIER || next == TOKEN_NUMBER || next == TOKEN_STRING;
	if (token_is_aggregation(word.kind) && (call || operand)) {
		parser_advance(p);
		return parse_aggregate(p, &word);
	}
	if (next == TOKEN_LEFT_PAREN && word.kind == TOKEN_IDENTIFIER) {
		parser_advance(p);
		return parse_call(p, &word);
	}
	return parse_selector(p);
}

static struct promql_node *parse_operand(struct parser *p)
{
	struct promql_node *n = NULL;
	enum token_kind kind = p->token.kind;
	if (kind == TOKEN_ADD || kind == TOKEN_SUB)
		return parse_unary(p);
	if (kind == TOKEN_NUMBER || kind == TOKEN_DURATION || kind == TOKEN_STRING)
		n = parse_literal(p);
	else if (kind == TOKEN_LEFT_PAREN)
		n = parse_paren(p);
	else if (kind == TOKEN_LEFT_BRACE)
		n = parse_selector(p);
	else if (token_is_word(kind) && kind != TOKEN_ON && kind != TOKEN_IGNORING && kind != TOKEN_GROUP_LEFT &&
		 kind != TOKEN_GROUP_RIGHT && kind != TOKEN_BOOL && kind != TOKEN_ATAN2)
		n = parse_word(p);
	else
		parser_unexpected(p, NULL, NULL);
	return n ? parse_suffixes(p, n) : NULL;
}

/* ---- the whole ---- */

struct promql_node *promql_parse(struct arena *arena, struct str query, const struct promql_options *options, struct error *e)
{
	if (query.len > UINT32_MAX / 2) {
		error_set(e, EXIT_BAD_INPUT, "the query is too long");
		return NULL;
	}
	struct parser p = { .arena = arena, .options = options ? options : &promql_defaults, .error = e };
	query = arena_str(arena, query); /* names and texts of the tree are slices of it */
	lexer_init(&p.lexer, query);
	parser_advance(&p);
	if (p.token.kind == TOKEN_END) {
		syntax_error(query, 0, e, "no expression found in input");
		return NULL;
	}
	struct promql_node *root = parse_expression(&p);
	if (!root)
		return NULL;
	if (p.token.kind != TOKEN_END) {
		parser_unexpected(&p, NULL, NULL);
		return NULL;
	}
	root->query = query;
	return syntax_check(root, query, e) ? root : NULL;
}

enum promql_type promql_node_type(const struct promql_node *node)
{
	return node->type;
}
