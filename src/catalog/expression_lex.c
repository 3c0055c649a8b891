#include "catalog/expression_lex.h"

#include "base/mem.h"
#include "base/number.h"

#include <ctype.h>

const struct primitive_row primitive_rows[] = {
	{ "level", PRIMITIVE_LEVEL, FORM_METRIC, TYPE_GAUGE | TYPE_COUNTER, "a gauge or counter" },
	{ "level_sum", PRIMITIVE_LEVEL_SUM, FORM_METRIC, TYPE_GAUGE | TYPE_COUNTER, "a gauge or counter" },
	{ "level_max", PRIMITIVE_LEVEL_MAX, FORM_METRIC, TYPE_GAUGE | TYPE_COUNTER, "a gauge or counter" },
	{ "level_mean", PRIMITIVE_LEVEL_MEAN, FORM_METRIC, TYPE_GAUGE | TYPE_COUNTER, "a gauge or counter" },
	{ "level_min", PRIMITIVE_LEVEL_MIN, FORM_METRIC, TYPE_GAUGE | TYPE_COUNTER, "a gauge or counter" },
	{ "level_weighted", PRIMITIVE_LEVEL_WEIGHTED, FORM_METRIC_METRIC, TYPE_GAUGE, "a gauge" },
	{ "delta", PRIMITIVE_DELTA, FORM_METRIC, TYPE_GAUGE, "a gauge" },
	{ "age", PRIMITIVE_AGE, FORM_METRIC, TYPE_COUNTER | TYPE_HISTOGRAM, "a counter or histogram" },
	{ "count", PRIMITIVE_COUNT, FORM_METRIC, TYPE_COUNTER | TYPE_HISTOGRAM, "a counter or histogram" },
	{ "rate", PRIMITIVE_RATE, FORM_METRIC, TYPE_COUNTER | TYPE_HISTOGRAM, "a counter or histogram" },
	{ "sum", PRIMITIVE_SUM, FORM_METRIC, TYPE_HISTOGRAM, "a histogram" },
	{ "rate_sum", PRIMITIVE_RATE_SUM, FORM_METRIC, TYPE_HISTOGRAM, "a histogram" },
	{ "mean", PRIMITIVE_MEAN, FORM_METRIC, TYPE_HISTOGRAM, "a histogram" },
	{ "quantile", PRIMITIVE_QUANTILE, FORM_NUMBER_METRIC, TYPE_HISTOGRAM, "a histogram" },
	{ "share_above", PRIMITIVE_SHARE_ABOVE, FORM_METRIC_NUMBER, TYPE_HISTOGRAM, "a histogram" },
	{ "count_above", PRIMITIVE_COUNT_ABOVE, FORM_METRIC_NUMBER, TYPE_HISTOGRAM, "a histogram" },
	{ "share_top", PRIMITIVE_SHARE_TOP, FORM_METRIC, TYPE_HISTOGRAM, "a histogram" },
	{ "cells", PRIMITIVE_CELLS, FORM_METRIC, TYPE_HISTOGRAM, "a histogram" },
	{ "trend", PRIMITIVE_TREND, FORM_METRIC, TYPE_GAUGE | TYPE_COUNTER, "a gauge or counter" },
	{ "info", PRIMITIVE_INFO, FORM_METRIC_LABEL, TYPE_INFO, "an info metric" },
	{ "series", PRIMITIVE_SERIES, FORM_METRIC, TYPE_ANY, "a metric" },
};
const size_t primitive_row_count = ARRAY_LEN(primitive_rows);

const struct function_row function_rows[] = {
	{ "before", EXPRESSION_BEFORE, 1 },
	{ "min", EXPRESSION_MIN, -1 },
	{ "max", EXPRESSION_MAX, -1 },
	{ "floor", EXPRESSION_FLOOR, 1 },
	{ "at_least", EXPRESSION_AT_LEAST, 1 },
	{ "at_most", EXPRESSION_AT_MOST, 1 },
	{ "known", EXPRESSION_KNOWN, 1 },
	{ "first", EXPRESSION_FIRST, -1 },
	{ "alpha", EXPRESSION_ALPHA, 2 },
};
const size_t function_row_count = ARRAY_LEN(function_rows);

const char *function_name(enum expression_kind kind)
{
	for (size_t i = 0; i < function_row_count; i++) {
		if (function_rows[i].kind == kind)
			return function_rows[i].name;
	}
	return NULL;
}

const char *primitive_name(enum primitive p)
{
	for (size_t i = 0; i < primitive_row_count; i++) {
		if (primitive_rows[i].primitive == p)
			return primitive_rows[i].name;
	}
	return "?";
}

static bool is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}
static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static struct token token_name(struct str text, size_t at, size_t *next)
{
	static const struct {
		const char *word;
		enum token_kind kind;
	} words[] = { { "and", TOKEN_AND }, { "or", TOKEN_OR }, { "not", TOKEN_NOT } };
	size_t end = at;

	while (end < text.len && is_name(text.ptr[end]))
		end++;
	struct token token = { TOKEN_NAME, at, str_of(text.ptr + at, end - at), 0, NULL };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (str_is(token.text, words[i].word))
			token.kind = words[i].kind;
	}
	*next = end;
	return token;
}

/* Digits, dot, exponent. What number_parse refuses is a bad token. */
static struct token token_number(struct str text, size_t at, size_t *next)
{
	size_t end = at;

	while (end < text.len) {
		char c = text.ptr[end];
		bool sign = (c == '+' || c == '-') && end > at && (text.ptr[end - 1] == 'e' || text.ptr[end - 1] == 'E');

		if (!isalnum((unsigned char)c) && c != '.' && c != '_' && !sign)
			break;
		end++;
	}
	struct token token = { TOKEN_NUMBER, at, str_of(text.ptr + at, end - at), 0, NULL };

	if (!number_parse(token.text, &token.number)) {
		token.kind = TOKEN_BAD;
		token.complaint = "this is no number (write seconds, bytes and fractions without a unit: 0.5)";
	}
	*next = end;
	return token;
}

static struct token token_string(struct str text, size_t at, size_t *next)
{
	char quote = text.ptr[at];
	size_t end = at + 1;

	while (end < text.len && text.ptr[end] != quote)
		end++;
	if (end == text.len) {
		*next = end;
		return (struct token){ TOKEN_BAD, at, str_skip(text, at), 0, "this text has no closing quote" };
	}
	*next = end + 1;
	return (struct token){ TOKEN_STRING, at, str_of(text.ptr + at + 1, end - at - 1), 0, NULL };
}

static struct token token_symbol(struct str text, size_t at, size_t *next)
{
	static const struct {
		const char *text;
		enum token_kind kind;
	} symbols[] = { /* longer ones first */
		{ "<=", TOKEN_LESS_EQUAL }, { ">=", TOKEN_GREATER_EQUAL }, { "==", TOKEN_EQUAL }, { "!=", TOKEN_NOT_EQUAL },
		{ "<", TOKEN_LESS }, { ">", TOKEN_GREATER }, { "=", TOKEN_ASSIGN }, { "(", TOKEN_LEFT_PAREN }, { ")", TOKEN_RIGHT_PAREN },
		{ "{", TOKEN_LEFT_BRACE }, { "}", TOKEN_RIGHT_BRACE }, { ",", TOKEN_COMMA }, { "+", TOKEN_PLUS }, { "-", TOKEN_MINUS },
		{ "*", TOKEN_STAR }, { "/", TOKEN_SLASH }
	};
	struct str rest = str_skip(text, at);

	for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
		struct str symbol = str_from(symbols[i].text);

		if (str_starts(rest, symbol)) {
			*next = at + symbol.len;
			return (struct token){ symbols[i].kind, at, str_head(rest, symbol.len), 0, NULL };
		}
	}
	*next = at + 1;
	return (struct token){ TOKEN_BAD, at, str_head(rest, 1), 0, "this character means nothing here" };
}

struct token expression_token(struct str text, size_t at, size_t *next)
{
	while (at < text.len && isspace((unsigned char)text.ptr[at]))
		at++;
	if (at == text.len) {
		*next = at;
		return (struct token){ TOKEN_END, at, STR(""), 0, NULL };
	}
	char c = text.ptr[at];

	if (is_name_start(c))
		return token_name(text, at, next);
	if (isdigit((unsigned char)c) || c == '.')
		return token_number(text, at, next);
	if (c == '"' || c == '\'')
		return token_string(text, at, next);
	return token_symbol(text, at, next);
}
