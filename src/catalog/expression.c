/* The parser: one function a level of precedence. */
#include "catalog/expression.h"

#include "base/mem.h"
#include "base/regex.h"
#include "catalog/expression_lex.h"
#include "catalog/load.h"

enum {
	DEPTH_LIMIT = 40, /* of parentheses and signs */
	NODE_LIMIT = 200, /* of one expression: chains of operators make trees as deep as they are long */
	CONDITION_LIMIT = 8
};

struct parser {
	struct arena *arena;
	const struct catalog *catalog;
	struct str source, text;
	int line, column;
	struct token token; /* the next one */
	size_t next;        /* byte behind it */
	int depth, nodes;
	struct error *e;
};

static struct expression *parse_or(struct parser *p);

/* ---- errors ---- */

static struct expression *fail(struct parser *p, size_t offset, const char *format, ...) __attribute__((format(printf, 3, 4)));
static struct expression *fail(struct parser *p, size_t offset, const char *format, ...)
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

static struct expression *fail_hint(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static struct expression *fail_hint(struct parser *p, const char *format, ...)
{
	char hint[200];
	va_list args;

	va_start(args, format);
	vsnprintf(hint, sizeof hint, format, args);
	va_end(args);
	error_hint(p->e, "%s", hint);
	return NULL;
}

static struct expression *fail_token(struct parser *p, const char *wanted)
{
	if (p->token.kind == TOKEN_BAD)
		return fail(p, p->token.offset, "%s", p->token.complaint);
	if (p->token.kind == TOKEN_END)
		return fail(p, p->token.offset, "the expression ends where %s is expected", wanted);
	return fail(p, p->token.offset, "expected %s, found \"" STR_FMT "\"", wanted, STR_ARG(p->token.text));
}

/* ---- tokens and nodes ---- */

static void advance(struct parser *p)
{
	p->token = expression_token(p->text, p->next, &p->next);
}

static bool expect(struct parser *p, enum token_kind kind, const char *wanted)
{
	if (p->token.kind != kind) {
		fail_token(p, wanted);
		return false;
	}
	advance(p);
	return true;
}

static struct expression *node_new(struct parser *p, enum expression_kind kind, size_t offset)
{
	if (++p->nodes > NODE_LIMIT)
		return fail(p, offset, "the expression has more than %d parts: split it into signals", NODE_LIMIT);
	struct expression *x = ARENA_NEW(p->arena, struct expression);

	x->kind = kind;
	x->offset = (int)offset;
	return x;
}

static struct expression *node_pair(
	struct parser *p, enum expression_kind kind, size_t offset, struct expression *left, struct expression *right)
{
	struct expression *x = node_new(p, kind, offset);

	if (x) {
		x->left = left;
		x->right = right;
	}
	return x;
}

static struct expression *must_be(struct parser *p, struct expression *x, bool condition)
{
	if (x && expression_is_condition(x) != condition)
		return fail(p, (size_t)x->offset,
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

/* ---- metrics and their conditions ---- */

static unsigned type_bit(enum metric_type type)
{
	switch (type) {
	case METRIC_GAUGE: return TYPE_GAUGE;
	case METRIC_COUNTER: return TYPE_COUNTER;
	case METRIC_HISTOGRAM: return TYPE_HISTOGRAM;
	default: return TYPE_INFO;
	}
}

static bool metric_unknown(struct parser *p, const char *function)
{
	struct str id = p->token.text;

	if (map_has(&p->catalog->signal_by_id, id)) {
		fail(p, p->token.offset, "\"" STR_FMT "\" is a signal; %s() takes a metric", STR_ARG(id), function);
		return false;
	}
	fail(p, p->token.offset, "no metric is called \"" STR_FMT "\"", STR_ARG(id));
	struct str near = nearest_metric(p->catalog, id);

	if (near.len)
		fail_hint(p, "did you mean \"" STR_FMT "\"?", STR_ARG(near));
	return false;
}

static bool condition_values(struct parser *p, struct label_condition *condition)
{
	struct error why = { 0 };
	struct token token = p->token;

	if (token.kind != TOKEN_STRING) {
		fail_token(p, "a text in quotes");
		return false;
	}
	struct regex *re = regex_new(token.text, &why);

	if (!re) {
		fail(p, token.offset, "\"" STR_FMT "\" is no regular expression: %s", STR_ARG(token.text), why.message);
		return false;
	}
	regex_free(re);
	condition->values = token.text;
	advance(p);
	return true;
}

static bool parse_conditions(struct parser *p, struct expression *x)
{
	if (p->token.kind != TOKEN_LEFT_BRACE)
		return true;
	x->conditions = ARENA_ARRAY(p->arena, struct label_condition, CONDITION_LIMIT);
	do {
		advance(p);
		if (x->condition_count == CONDITION_LIMIT) {
			fail(p, p->token.offset, "more than %d label conditions", CONDITION_LIMIT);
			return false;
		}
		struct label_condition *condition = &x->conditions[x->condition_count++];

		condition->label = p->token.text;
		if (!expect(p, TOKEN_NAME, "a label name") || !expect(p, TOKEN_ASSIGN, "\"=\"") || !condition_values(p, condition))
			return false;
	} while (p->token.kind == TOKEN_COMMA);
	return expect(p, TOKEN_RIGHT_BRACE, "\",\" or \"}\"");
}

static const struct metric_spec *parse_metric(struct parser *p, const struct primitive_row *row)
{
	const struct metric_spec *metric;

	if (p->token.kind != TOKEN_NAME) {
		fail_token(p, "a metric");
		return NULL;
	}
	metric = map_get(&p->catalog->metric_by_id, p->token.text);
	if (!metric) {
		metric_unknown(p, row->name);
		return NULL;
	}
	if (!(type_bit(metric->type) & row->types)) {
		fail(p, p->token.offset, "%s() takes %s; " STR_FMT " is of type %s", row->name, row->takes, STR_ARG(metric->id),
			metric_type_name(metric->type));
		return NULL;
	}
	advance(p);
	return metric;
}

/* ---- primitives and functions ---- */

static bool parse_number_argument(struct parser *p, struct expression *x)
{
	bool negative = p->token.kind == TOKEN_MINUS;

	if (negative)
		advance(p);
	if (p->token.kind != TOKEN_NUMBER) {
		fail_token(p, "a number");
		return false;
	}
	x->number = negative ? -p->token.number : p->token.number;
	if (x->primitive == PRIMITIVE_QUANTILE && !(x->number >= 0 && x->number <= 1)) {
		fail(p, p->token.offset, "a quantile lies between 0 and 1");
		return false;
	}
	advance(p);
	return true;
}

/* What follows the metric: ", 0.2", ", label", ", w". */
static bool parse_last_argument(struct parser *p, const struct primitive_row *row, struct expression *x)
{
	if (row->form == FORM_METRIC || row->form == FORM_NUMBER_METRIC)
		return true;
	if (!expect(p, TOKEN_COMMA, "\",\""))
		return false;
	if (row->form == FORM_METRIC_NUMBER)
		return parse_number_argument(p, x);
	if (row->form == FORM_METRIC_METRIC)
		return (x->second_metric = parse_metric(p, row)) != NULL;
	x->label = p->token.text;
	return expect(p, TOKEN_NAME, "a label name");
}

static struct expression *parse_primitive(struct parser *p, const struct primitive_row *row, size_t offset)
{
	struct expression *x = node_new(p, EXPRESSION_PRIMITIVE, offset);

	if (!x)
		return NULL;
	x->primitive = row->primitive;
	if (row->form == FORM_NUMBER_METRIC && (!parse_number_argument(p, x) || !expect(p, TOKEN_COMMA, "\",\"")))
		return NULL;
	x->metric = parse_metric(p, row);
	if (!x->metric || !parse_conditions(p, x) || !parse_last_argument(p, row, x))
		return NULL;
	return expect(p, TOKEN_RIGHT_PAREN, "\")\"") ? x : NULL;
}

/* min(a, b, c) is min(min(a, b), c). */
static struct expression *parse_arguments(struct parser *p, const struct function_row *row, size_t offset)
{
	struct expression *x = must_be(p, parse_or(p), false);
	int count = 1;

	if (x && row->arguments == 1) {
		size_t at = (size_t)x->offset;

		if (row->kind == EXPRESSION_BEFORE && x->kind != EXPRESSION_SIGNAL)
			return fail(p, at, "before() takes the name of a signal");
		struct expression *whole = node_pair(p, row->kind, offset, x, NULL);

		if (whole && row->kind == EXPRESSION_BEFORE) {
			whole->signal = x->signal;
			whole->left = NULL;
		}
		return whole;
	}
	while (x && p->token.kind == TOKEN_COMMA && (row->arguments < 0 || count < row->arguments)) {
		advance(p);
		struct expression *right = must_be(p, parse_or(p), false);

		x = right ? node_pair(p, row->kind, offset, x, right) : NULL;
		count++;
	}
	if (x && count < 2)
		return fail_token(p, "\",\" and another argument");
	return x;
}

static struct expression *unknown_function(struct parser *p, struct token name)
{
	struct nearest near = nearest_start(name.text);

	for (size_t i = 0; i < primitive_row_count; i++)
		nearest_offer(&near, str_from(primitive_rows[i].name));
	for (size_t i = 0; i < function_row_count; i++)
		nearest_offer(&near, str_from(function_rows[i].name));
	fail(p, name.offset, "no function is called \"" STR_FMT "\"", STR_ARG(name.text));
	return near.best.len ? fail_hint(p, "did you mean \"" STR_FMT "\"?", STR_ARG(near.best)) : NULL;
}

static struct expression *parse_call(struct parser *p, struct token name)
{
	advance(p);
	for (size_t i = 0; i < primitive_row_count; i++) {
		if (str_is(name.text, primitive_rows[i].name))
			return parse_primitive(p, &primitive_rows[i], name.offset);
	}
	for (size_t i = 0; i < function_row_count; i++) {
		if (str_is(name.text, function_rows[i].name)) {
			struct expression *x = parse_arguments(p, &function_rows[i], name.offset);

			return x && expect(p, TOKEN_RIGHT_PAREN, "\")\"") ? x : NULL;
		}
	}
	return unknown_function(p, name);
}

static struct expression *parse_signal(struct parser *p, struct token name)
{
	const struct signal_spec *signal = map_get(&p->catalog->signal_by_id, name.text);

	if (signal) {
		struct expression *x = node_new(p, EXPRESSION_SIGNAL, name.offset);

		if (x)
			x->signal = signal;
		return x;
	}
	const struct metric_spec *metric = map_get(&p->catalog->metric_by_id, name.text);

	if (metric) {
		fail(p, name.offset, "\"" STR_FMT "\" is a metric, not a signal", STR_ARG(name.text));
		return fail_hint(p, "say what is asked of it, such as %s(" STR_FMT ")", metric->type == METRIC_GAUGE ? "level" : "count",
			STR_ARG(name.text));
	}
	fail(p, name.offset, "no signal is called \"" STR_FMT "\"", STR_ARG(name.text));
	struct str near = catalog_nearest_signal(p->catalog, name.text);

	return near.len ? fail_hint(p, "did you mean \"" STR_FMT "\"?", STR_ARG(near)) : NULL;
}

/* ---- the levels of precedence ---- */

static struct expression *parse_primary(struct parser *p)
{
	struct token token = p->token;

	if (token.kind == TOKEN_NUMBER) {
		struct expression *x = node_new(p, EXPRESSION_NUMBER, token.offset);

		if (x)
			x->number = token.number;
		advance(p);
		return x;
	}
	if (token.kind == TOKEN_NAME) {
		advance(p);
		return p->token.kind == TOKEN_LEFT_PAREN ? parse_call(p, token) : parse_signal(p, token);
	}
	if (token.kind == TOKEN_LEFT_PAREN) {
		advance(p);
		struct expression *x = parse_or(p);

		return x && expect(p, TOKEN_RIGHT_PAREN, "\")\"") ? x : NULL;
	}
	return fail_token(p, "a signal, a function or a number");
}

/* Enters one nesting level; false (with an error) when that is one too many. */
static bool enter(struct parser *p)
{
	if (p->depth++ < DEPTH_LIMIT)
		return true;
	fail(p, p->token.offset, "the expression is nested more than %d deep", DEPTH_LIMIT);
	return false;
}

static struct expression *parse_unary(struct parser *p)
{
	size_t offset = p->token.offset;

	if (p->token.kind != TOKEN_MINUS)
		return parse_primary(p);
	if (!enter(p))
		return NULL;
	advance(p);
	struct expression *x = must_be(p, parse_unary(p), false);

	p->depth--;
	return x ? node_pair(p, EXPRESSION_NEGATE, offset, x, NULL) : NULL;
}

static struct expression *parse_product(struct parser *p)
{
	struct expression *x = parse_unary(p);

	while (x && (p->token.kind == TOKEN_STAR || p->token.kind == TOKEN_SLASH)) {
		struct token op = p->token;

		x = must_be(p, x, false);
		advance(p);
		struct expression *right = x ? must_be(p, parse_unary(p), false) : NULL;

		x = right ? node_pair(p, op.kind == TOKEN_STAR ? EXPRESSION_MULTIPLY : EXPRESSION_DIVIDE, op.offset, x, right) : NULL;
	}
	return x;
}

static struct expression *parse_sum(struct parser *p)
{
	struct expression *x = parse_product(p);

	while (x && (p->token.kind == TOKEN_PLUS || p->token.kind == TOKEN_MINUS)) {
		struct token op = p->token;

		x = must_be(p, x, false);
		advance(p);
		struct expression *right = x ? must_be(p, parse_product(p), false) : NULL;

		x = right ? node_pair(p, op.kind == TOKEN_PLUS ? EXPRESSION_ADD : EXPRESSION_SUBTRACT, op.offset, x, right) : NULL;
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

	x = must_be(p, x, false);
	advance(p);
	struct expression *right = x ? must_be(p, parse_sum(p), false) : NULL;

	if (!right)
		return NULL;
	if (comparison_kind(p->token.kind, &(enum expression_kind){ 0 }))
		return fail(p, p->token.offset, "comparisons do not chain: write a < b and b < c");
	return node_pair(p, kind, op.offset, x, right);
}

static struct expression *parse_not(struct parser *p)
{
	size_t offset = p->token.offset;

	if (p->token.kind != TOKEN_NOT)
		return parse_comparison(p);
	if (!enter(p))
		return NULL;
	advance(p);
	struct expression *x = must_be(p, parse_not(p), true);

	p->depth--;
	return x ? node_pair(p, EXPRESSION_NOT, offset, x, NULL) : NULL;
}

static struct expression *parse_and(struct parser *p)
{
	struct expression *x = parse_not(p);

	while (x && p->token.kind == TOKEN_AND) {
		size_t offset = p->token.offset;

		x = must_be(p, x, true);
		advance(p);
		struct expression *right = x ? must_be(p, parse_not(p), true) : NULL;

		x = right ? node_pair(p, EXPRESSION_AND, offset, x, right) : NULL;
	}
	return x;
}

static struct expression *parse_or(struct parser *p)
{
	if (!enter(p))
		return NULL;
	struct expression *x = parse_and(p);

	while (x && p->token.kind == TOKEN_OR) {
		size_t offset = p->token.offset;

		x = must_be(p, x, true);
		advance(p);
		struct expression *right = x ? must_be(p, parse_and(p), true) : NULL;

		x = right ? node_pair(p, EXPRESSION_OR, offset, x, right) : NULL;
	}
	p->depth--;
	return x;
}

struct expression *expression_parse(
	struct arena *arena, const struct catalog *c, struct str source, int line, int column, struct str text, struct error *e)
{
	/* Names in the tree point into the text, so it is kept. */
	struct parser p = {
		.arena = arena, .catalog = c, .source = source, .text = arena_str(arena, text), .line = line, .column = column, .e = e
	};

	advance(&p);
	struct expression *x = parse_or(&p);

	if (x && p.token.kind != TOKEN_END)
		return fail_token(&p, "an operator");
	return x;
}
