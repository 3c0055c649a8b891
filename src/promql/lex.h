/* lex: PromQL text into tokens, one at a time, so that the first error in the text is the one reported. Internal to promql. */
#ifndef GOODPUT_PROMQL_LEX_H
#define GOODPUT_PROMQL_LEX_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum token_kind {
	TOKEN_ERROR, /* lexer.error says what */
	TOKEN_END,
	TOKEN_IDENTIFIER,
	TOKEN_METRIC_IDENTIFIER, /* holds a colon */
	TOKEN_NUMBER,
	TOKEN_DURATION,
	TOKEN_STRING, /* with its quotes */
	TOKEN_LEFT_PAREN,
	TOKEN_RIGHT_PAREN,
	TOKEN_LEFT_BRACE,
	TOKEN_RIGHT_BRACE,
	TOKEN_LEFT_BRACKET,
	TOKEN_RIGHT_BRACKET,
	TOKEN_COMMA,
	TOKEN_COLON,
	TOKEN_AT,
	TOKEN_EQL, /* = in a matcher */
	TOKEN_EQL_REGEX,
	TOKEN_NEQ_REGEX,
	/* operators; the order is relied on by token_is_operator */
	TOKEN_ADD,
	TOKEN_SUB,
	TOKEN_MUL,
	TOKEN_DIV,
	TOKEN_MOD,
	TOKEN_POW,
	TOKEN_EQ,
	TOKEN_NE, /* != of an expression and of a matcher */
	TOKEN_GT,
	TOKEN_LT,
	TOKEN_GE,
	TOKEN_LE,
	TOKEN_ATAN2,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_UNLESS,
	/* aggregations */
	TOKEN_SUM,
	TOKEN_AVG,
	TOKEN_COUNT,
	TOKEN_MIN,
	TOKEN_MAX,
	TOKEN_GROUP,
	TOKEN_STDDEV,
	TOKEN_STDVAR,
	TOKEN_TOPK,
	TOKEN_BOTTOMK,
	TOKEN_LIMITK,
	TOKEN_LIMIT_RATIO,
	TOKEN_QUANTILE,
	TOKEN_COUNT_VALUES,
	/* keywords */
	TOKEN_BY,
	TOKEN_WITHOUT,
	TOKEN_ON,
	TOKEN_IGNORING,
	TOKEN_GROUP_LEFT,
	TOKEN_GROUP_RIGHT,
	TOKEN_BOOL,
	TOKEN_OFFSET,
	TOKEN_KINDS
};

struct token {
	enum token_kind kind;
	struct str text;
	uint32_t start, end; /* bytes in the query */
};

struct lexer {
	struct str input;
	size_t at;
	int open_parens;
	bool in_braces, in_brackets, had_colon;
	char error[120];
};

void lexer_init(struct lexer *x, struct str input);
struct token lexer_next(struct lexer *x);

static inline bool token_is_operator(enum token_kind k)
{
	return k >= TOKEN_ADD && k <= TOKEN_UNLESS;
}
static inline bool token_is_comparison(enum token_kind k)
{
	return k >= TOKEN_EQ && k <= TOKEN_LE;
}
static inline bool token_is_set_operator(enum token_kind k)
{
	return k >= TOKEN_AND && k <= TOKEN_UNLESS;
}
static inline bool token_is_aggregation(enum token_kind k)
{
	return k >= TOKEN_SUM && k <= TOKEN_COUNT_VALUES;
}
static inline bool token_is_word(enum token_kind k)
{
	return k == TOKEN_IDENTIFIER || k == TOKEN_METRIC_IDENTIFIER || k >= TOKEN_ATAN2;
}
/* The canonical spelling of an operator, aggregation or keyword. */
const char *token_text(enum token_kind k);
/* As Prometheus names it in "unexpected ...": identifier "x", <op:+>, "(", end of input. Needs 160 bytes. */
void token_describe(const struct token *t, char *text);

#endif
