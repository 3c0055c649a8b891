/* Selectors and what may follow an expression: [range], [range:step], offset, @. */
#include "base/vec.h"
#include "promql/parse.h"

#include <math.h>

/* ---- matchers ---- */

static bool match_op_of(enum token_kind kind, enum match_op *op)
{
	switch (kind) {
	case TOKEN_EQL: *op = MATCH_EQ; return true;
	case TOKEN_NE: *op = MATCH_NE; return true;
	case TOKEN_EQL_REGEX: *op = MATCH_RE; return true;
	case TOKEN_NEQ_REGEX: *op = MATCH_NRE; return true;
	default: return false;
	}
}

static bool matcher_check(struct parser *p, uint32_t start, const struct selector_matcher *m)
{
	struct matcher compiled;
	struct error e = { 0 };
	if (m->op != MATCH_RE && m->op != MATCH_NRE)
		return true;
	if (!matcher_init(&compiled, m->name, m->op, m->value, &e))
		return parser_fail(p, start, "%s", e.message);
	matcher_fini(&compiled);
	return true;
}

/* name="value", or "metric name" alone. */
static bool parse_matcher(struct parser *p, struct selector_matcher *m)
{
	uint32_t start = p->token.start;
	bool quoted = p->token.kind == TOKEN_STRING;
	if (quoted) {
		if (!parse_string(p, &m->name))
			return false;
		if (p->token.kind == TOKEN_COMMA || p->token.kind == TOKEN_RIGHT_BRACE) {
			*m = (struct selector_matcher){ LABEL_NAME, m->name, MATCH_EQ };
			return true;
		}
	} else if (p->token.kind == TOKEN_IDENTIFIER) {
		m->name = p->token.text;
		parser_advance(p);
	} else {
		return parser_unexpected(p, "label matching", "identifier or \"}\"");
	}
	if (!match_op_of(p->token.kind, &m->op))
		return parser_unexpected(p, "label matching", "label matching operator");
	parser_advance(p);
	if (p->token.kind != TOKEN_STRING)
		return parser_unexpected(p, "label matching", "string");
	return parse_string(p, &m->value) && matcher_check(p, start, m);
}

static bool parse_matchers(struct parser *p, struct promql_node *n)
{
	VEC(struct selector_matcher) list = { 0 };
	bool ok = true;
	if (n->selector.name.len)
		VEC_PUSH(&list, (struct selector_matcher){ LABEL_NAME, n->selector.name, MATCH_EQ });
	if (parser_accept(p, TOKEN_LEFT_BRACE)) {
		while (ok && p->token.kind != TOKEN_RIGHT_BRACE) {
			struct selector_matcher m = { 0 };
			ok = parse_matcher(p, &m);
			if (!ok)
				break;
			VEC_PUSH(&list, m);
			if (p->token.kind != TOKEN_RIGHT_BRACE)
				ok = parser_expect(p, TOKEN_COMMA, "label matching", "\",\" or \"}\"");
		}
		if (ok)
			parser_advance(p);
	}
	n->selector.matcher_count = list.count;
	n->selector.matchers = ARENA_ARRAY(p->arena, struct selector_matcher, list.count + 1);
	if (list.count)
		memcpy(n->selector.matchers, list.items, list.count * sizeof *list.items);
	VEC_FREE(&list);
	return ok;
}

struct promql_node *parse_selector(struct parser *p)
{
	struct promql_node *n = parser_node(p, NODE_SELECTOR, PROMQL_VECTOR, p->token.start);
	if (p->token.kind != TOKEN_LEFT_BRACE) {
		n->selector.name = p->token.text;
		parser_advance(p);
	}
	return parse_matchers(p, n) ? parser_finish(p, n, NULL, NULL) : NULL;
}

/* ---- suffixes ---- */

static struct shift *shift_of(struct promql_node *n)
{
	switch (n->kind) {
	case NODE_SELECTOR: return &n->selector.shift;
	case NODE_RANGE: return &n->range.selector->selector.shift;
	case NODE_SUBQUERY: return &n->subquery.shift;
	default: return NULL;
	}
}

static bool parse_offset(struct parser *p, struct promql_node *n)
{
	struct shift *shift = shift_of(n);
	parser_advance(p);
	struct duration offset;
	if (!parse_duration(p, false, &offset, "offset"))
		return false;
	if (!shift)
		return parser_fail(p, n->start,
			"offset modifier must be preceded by an instant vector selector or range vector selector or a subquery");
	if (shift->has_offset)
		return parser_fail(p, n->start, "offset may not be set multiple times");
	shift->has_offset = true;
	shift->offset = offset;
	return true;
}

static bool parse_at_time(struct parser *p, struct shift *shift, uint32_t start)
{
	double sign = 1, seconds;
	if (p->token.kind == TOKEN_SUB || p->token.kind == TOKEN_ADD) {
		sign = p->token.kind == TOKEN_SUB ? -1 : 1;
		parser_advance(p);
	}
	if (p->token.kind != TOKEN_NUMBER && p->token.kind != TOKEN_DURATION)
		return parser_unexpected(p, "@", "timestamp");
	struct token t = p->token;
	parser_advance(p);
	if (!parse_number(p, &t, &seconds))
		return false;
	seconds *= sign;
	if (!isfinite(seconds) || fabs(seconds) >= 4e15)
		return parser_fail(p, start, "timestamp out of bounds for @ modifier: " STR_FMT, STR_ARG(t.text));
	shift->at = AT_TIME;
	shift->at_ms = (int64_t)round(seconds * 1000);
	return true;
}

static bool parse_at(struct parser *p, struct promql_node *n)
{
	struct shift unused = { 0 }, *shift = shift_of(n);
	bool again = shift && shift->at != AT_NONE;
	parser_advance(p);
	if (!shift || again)
		shift = &unused;
	if (p->token.kind == TOKEN_IDENTIFIER && (str_eq_nocase(p->token.text, STR("start")) || str_eq_nocase(p->token.text, STR("end")))) {
		shift->at = p->token.text.len == 5 ? AT_START : AT_END;
		parser_advance(p);
		if (!parser_expect(p, TOKEN_LEFT_PAREN, "@", "timestamp") || !parser_expect(p, TOKEN_RIGHT_PAREN, "@", "timestamp"))
			return false;
	} else if (!parse_at_time(p, shift, n->start)) {
		return false;
	}
	if (again)
		return parser_fail(p, n->start, "@ <timestamp> may not be set multiple times");
	return shift != &unused ||
	       parser_fail(p, n->start, "@ modifier must be preceded by an instant vector selector or range vector selector or a subquery");
}

static struct promql_node *parse_subquery(struct parser *p, struct promql_node *inner, struct duration range)
{
	struct promql_node *n = parser_node(p, NODE_SUBQUERY, PROMQL_MATRIX, inner->start);
	n->subquery.expression = inner;
	n->subquery.range = range;
	parser_advance(p);
	if (p->token.kind != TOKEN_RIGHT_BRACKET) {
		n->subquery.has_step = true;
		if (!parse_duration(p, true, &n->subquery.step, "subquery selector"))
			return NULL;
	}
	if (!parser_expect(p, TOKEN_RIGHT_BRACKET, "subquery selector", "\"]\""))
		return NULL;
	return parser_finish(p, n, inner, NULL);
}

static struct promql_node *parse_brackets(struct parser *p, struct promql_node *inner)
{
	uint32_t bracket = p->token.start;
	struct duration range;
	parser_advance(p);
	if (!parse_duration(p, true, &range, "subquery or range selector"))
		return NULL;
	if (p->token.kind == TOKEN_COLON)
		return parse_subquery(p, inner, range);
	if (!parser_expect(p, TOKEN_RIGHT_BRACKET, "subquery or range", "\":\" or \"]\""))
		return NULL;
	const char *wrong = inner->kind != NODE_SELECTOR          ? "ranges only allowed for vector selectors"
			    : inner->selector.shift.has_offset    ? "no offset modifiers allowed before range"
			    : inner->selector.shift.at != AT_NONE ? "no @ modifiers allowed before range"
								  : NULL;
	if (wrong) {
		parser_fail(p, bracket, "%s", wrong);
		if (inner->kind != NODE_SELECTOR)
			error_hint(p->error, "a range over an expression is a subquery and needs a colon: [5m:]");
		return NULL;
	}
	struct promql_node *n = parser_node(p, NODE_RANGE, PROMQL_MATRIX, inner->start);
	n->range.selector = inner;
	n->range.range = range;
	return parser_finish(p, n, inner, NULL);
}

struct promql_node *parse_suffixes(struct parser *p, struct promql_node *n)
{
	while (n) {
		bool ok = true;
		if (p->token.kind == TOKEN_LEFT_BRACKET)
			n = parse_brackets(p, n);
		else if (p->token.kind == TOKEN_OFFSET)
			ok = parse_offset(p, n);
		else if (p->token.kind == TOKEN_AT)
			ok = parse_at(p, n);
		else
			break;
		if (!ok)
			return NULL;
		if (n)
			n->end = p->last_end;
	}
	return n;
}
