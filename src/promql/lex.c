#include "promql/lex.h"

#include <stdio.h>

static const struct {
	const char *text;
	enum token_kind kind;
} words[] = {
	{ "and", TOKEN_AND },
	{ "or", TOKEN_OR },
	{ "unless", TOKEN_UNLESS },
	{ "atan2", TOKEN_ATAN2 },
	{ "sum", TOKEN_SUM },
	{ "avg", TOKEN_AVG },
	{ "count", TOKEN_COUNT },
	{ "min", TOKEN_MIN },
	{ "max", TOKEN_MAX },
	{ "group", TOKEN_GROUP },
	{ "stddev", TOKEN_STDDEV },
	{ "stdvar", TOKEN_STDVAR },
	{ "topk", TOKEN_TOPK },
	{ "bottomk", TOKEN_BOTTOMK },
	{ "limitk", TOKEN_LIMITK },
	{ "limit_ratio", TOKEN_LIMIT_RATIO },
	{ "quantile", TOKEN_QUANTILE },
	{ "count_values", TOKEN_COUNT_VALUES },
	{ "by", TOKEN_BY },
	{ "without", TOKEN_WITHOUT },
	{ "on", TOKEN_ON },
	{ "ignoring", TOKEN_IGNORING },
	{ "group_left", TOKEN_GROUP_LEFT },
	{ "group_right", TOKEN_GROUP_RIGHT },
	{ "bool", TOKEN_BOOL },
	{ "offset", TOKEN_OFFSET },
	{ "inf", TOKEN_NUMBER },
	{ "nan", TOKEN_NUMBER },
};
static const char *const signs[TOKEN_KINDS] = {
	[TOKEN_LEFT_PAREN] = "(",
	[TOKEN_RIGHT_PAREN] = ")",
	[TOKEN_LEFT_BRACE] = "{",
	[TOKEN_RIGHT_BRACE] = "}",
	[TOKEN_LEFT_BRACKET] = "[",
	[TOKEN_RIGHT_BRACKET] = "]",
	[TOKEN_COMMA] = ",",
	[TOKEN_COLON] = ":",
	[TOKEN_AT] = "@",
	[TOKEN_EQL] = "=",
	[TOKEN_EQL_REGEX] = "=~",
	[TOKEN_NEQ_REGEX] = "!~",
	[TOKEN_ADD] = "+",
	[TOKEN_SUB] = "-",
	[TOKEN_MUL] = "*",
	[TOKEN_DIV] = "/",
	[TOKEN_MOD] = "%",
	[TOKEN_POW] = "^",
	[TOKEN_EQ] = "==",
	[TOKEN_NE] = "!=",
	[TOKEN_GT] = ">",
	[TOKEN_LT] = "<",
	[TOKEN_GE] = ">=",
	[TOKEN_LE] = "<=",
};

const char *token_text(enum token_kind k)
{
	if (signs[k])
		return signs[k];
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (words[i].kind == k)
			return words[i].text;
	return "";
}

void token_describe(const struct token *t, char *text)
{
	enum { SIZE = 160 };
	const char *shown = t->text.len > 80 ? "..." : "";
	int len = t->text.len > 80 ? 80 : (int)t->text.len;
	const char *ptr = t->text.ptr ? t->text.ptr : "";
	if (t->kind == TOKEN_END)
		snprintf(text, SIZE, "end of input");
	else if (t->kind == TOKEN_IDENTIFIER)
		snprintf(text, SIZE, "identifier \"%.*s\"%s", len, ptr, shown);
	else if (t->kind == TOKEN_METRIC_IDENTIFIER)
		snprintf(text, SIZE, "metric identifier \"%.*s\"%s", len, ptr, shown);
	else if (t->kind == TOKEN_NUMBER || t->kind == TOKEN_DURATION)
		snprintf(text, SIZE, "%s \"%.*s\"%s", t->kind == TOKEN_NUMBER ? "number" : "duration", len, ptr, shown);
	else if (t->kind == TOKEN_STRING)
		snprintf(text, SIZE, "string %.*s%s", len, ptr, shown);
	else if (token_is_operator(t->kind))
		snprintf(text, SIZE, "<op:%.*s>", len, ptr);
	else if (token_is_aggregation(t->kind))
		snprintf(text, SIZE, "<aggr:%.*s>", len, ptr);
	else if (t->kind >= TOKEN_BY)
		snprintf(text, SIZE, "<%.*s>", len, ptr);
	else
		snprintf(text, SIZE, "\"%.*s\"", len, ptr);
}

void lexer_init(struct lexer *x, struct str input)
{
	*x = (struct lexer){ .input = input };
}

static int peek(const struct lexer *x, size_t ahead)
{
	return x->at + ahead < x->input.len ? (unsigned char)x->input.ptr[x->at + ahead] : -1;
}
static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}
static bool is_hex(int c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
static bool is_alpha(int c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static struct token token_from(const struct lexer *x, size_t start, enum token_kind kind)
{
	return (struct token){ kind, str_of(x->input.ptr + start, x->at - start), (uint32_t)start, (uint32_t)x->at };
}

static struct token token_error(struct lexer *x, size_t start, const char *what)
{
	snprintf(x->error, sizeof x->error, "%s", what);
	return (struct token){ TOKEN_ERROR, str_of(x->input.ptr + start, 0), (uint32_t)start, (uint32_t)start };
}

/* The offending character, whole when it is UTF-8. */
static struct token token_bad_character(struct lexer *x, size_t start, const char *where)
{
	size_t len = 1;
	while (start + len < x->input.len && ((unsigned char)x->input.ptr[start + len] & 0xc0) == 0x80 && len < 4)
		len++;
	snprintf(x->error, sizeof x->error, "unexpected character%s: '%.*s'", where, (int)len, x->input.ptr + start);
	return (struct token){ TOKEN_ERROR, str_of(x->input.ptr + start, 0), (uint32_t)start, (uint32_t)start };
}

/* The character at hand makes no operator with the one at `start`, where the error is placed. */
static struct token token_bad_after(struct lexer *x, size_t start, const char *where)
{
	struct token t = token_bad_character(x, x->at, where);
	t.start = t.end = (uint32_t)start;
	return t;
}

static void skip_blanks(struct lexer *x)
{
	for (;;) {
		int c = peek(x, 0);
		if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
			x->at++;
		else if (c == '#')
			while (peek(x, 0) != -1 && peek(x, 0) != '\n')
				x->at++;
		else
			return;
	}
}

/* Digits, where '_' may stand between two of them. */
static void skip_digits(struct lexer *x, bool (*is)(int))
{
	while (is(peek(x, 0)) || (peek(x, 0) == '_' && is(peek(x, 1))))
		x->at++;
}

static bool scan_number(struct lexer *x)
{
	if (peek(x, 0) == '0' && (peek(x, 1) | 0x20) == 'x') {
		x->at += 2;
		skip_digits(x, is_hex);
	} else {
		skip_digits(x, is_digit);
		if (peek(x, 0) == '.') {
			x->at++;
			skip_digits(x, is_digit);
		}
		bool is_signed = peek(x, 1) == '+' || peek(x, 1) == '-';
		if ((peek(x, 0) | 0x20) == 'e' && is_digit(peek(x, is_signed ? 2 : 1))) {
			x->at += is_signed ? 2 : 1;
			skip_digits(x, is_digit);
		}
	}
	return !is_alpha(peek(x, 0)) && !is_digit(peek(x, 0));
}

static bool scan_duration(struct lexer *x)
{
	bool any = false;
	while (is_digit(peek(x, 0))) {
		size_t digits = x->at;
		while (is_digit(peek(x, 0)))
			x->at++;
		int unit = peek(x, 0);
		if (unit == 'm' && peek(x, 1) == 's')
			x->at += 2;
		else if (unit == 's' || unit == 'm' || unit == 'h' || unit == 'd' || unit == 'w' || unit == 'y')
			x->at++;
		else {
			x->at = digits;
			break;
		}
		any = true;
	}
	return any && !is_alpha(peek(x, 0)) && !is_digit(peek(x, 0));
}

static struct token lex_number(struct lexer *x)
{
	size_t start = x->at;
	if (scan_number(x))
		return token_from(x, start, TOKEN_NUMBER);
	size_t number_end = x->at;
	x->at = start;
	if (scan_duration(x))
		return token_from(x, start, TOKEN_DURATION);
	if (str_find(str_of(x->input.ptr + start, number_end - start), '.') >= 0) { /* "1.5h": refused as a duration, with a reason */
		x->at = number_end;
		while (is_alpha(peek(x, 0)) || is_digit(peek(x, 0)))
			x->at++;
		return token_from(x, start, TOKEN_DURATION);
	}
	if (x->at == start)
		while (is_digit(peek(x, 0)))
			x->at++;
	size_t end = x->at < x->input.len ? x->at + 1 : x->at;
	snprintf(x->error, sizeof x->error, "bad number or duration syntax: \"%.*s\"", (int)(end - start > 60 ? 60 : end - start),
		x->input.ptr + start);
	x->at = start;
	return token_from(x, start, TOKEN_ERROR);
}

static struct token lex_string(struct lexer *x)
{
	size_t start = x->at;
	char quote = x->input.ptr[x->at++];
	for (;;) {
		int c = peek(x, 0);
		if (c == -1 || (c == '\n' && quote != '`'))
			return token_error(x, start, quote == '`' ? "unterminated raw string" : "unterminated quoted string");
		x->at++;
		if (c == '\\' && quote != '`') {
			if (peek(x, 0) == -1)
				return token_error(x, start, "escape sequence not terminated");
			x->at++;
		} else if (c == quote) {
			return token_from(x, start, TOKEN_STRING);
		}
	}
}

static struct token lex_word(struct lexer *x)
{
	size_t start = x->at;
	bool colon = false;
	while (is_alpha(peek(x, 0)) || is_digit(peek(x, 0)) || (peek(x, 0) == ':' && !x->in_brackets))
		colon |= x->input.ptr[x->at++] == ':';
	if (colon)
		return token_from(x, start, TOKEN_METRIC_IDENTIFIER);
	struct token t = token_from(x, start, TOKEN_IDENTIFIER);
	for (size_t i = 0; i < sizeof words / sizeof *words && t.kind == TOKEN_IDENTIFIER; i++)
		if (strlen(words[i].text) == t.text.len && strncasecmp(words[i].text, t.text.ptr, t.text.len) == 0)
			t.kind = words[i].kind;
	return t;
}

static struct token lex_braces(struct lexer *x, size_t start, int c)
{
	if (is_alpha(c)) {
		while (is_alpha(peek(x, 0)) || is_digit(peek(x, 0)))
			x->at++;
		return token_from(x, start, TOKEN_IDENTIFIER);
	}
	if (c == '"' || c == '\'' || c == '`')
		return lex_string(x);
	x->at++;
	switch (c) {
	case ',': return token_from(x, start, TOKEN_COMMA);
	case '=':
		if (peek(x, 0) != '~')
			return token_from(x, start, TOKEN_EQL);
		x->at++;
		return token_from(x, start, TOKEN_EQL_REGEX);
	case '!':
		if (peek(x, 0) != '~' && peek(x, 0) != '=') {
			if (peek(x, 0) == -1)
				return token_error(x, x->at, "unexpected end of input inside braces");
			return token_bad_after(x, start, " after '!' inside braces");
		}
		return token_from(x, start, x->input.ptr[x->at++] == '~' ? TOKEN_NEQ_REGEX : TOKEN_NE);
	case '{': return token_error(x, start, "unexpected left brace '{'");
	case '}': x->in_braces = false; return token_from(x, start, TOKEN_RIGHT_BRACE);
	case -1: return token_error(x, start, "unexpected end of input inside braces");
	default: return token_bad_character(x, start, " inside braces");
	}
}

/* =, !, < and >, which may be the first half of an operator. */
static struct token lex_relation(struct lexer *x, size_t start, int c)
{
	int next = peek(x, 0);
	if (next == '=') {
		x->at++;
		return token_from(x, start, c == '=' ? TOKEN_EQ : c == '!' ? TOKEN_NE : c == '<' ? TOKEN_LE : TOKEN_GE);
	}
	if ((c == '<' || c == '>') && next == '/')
		return token_error(
			x, start, "the histogram trim operators </ and >/ work on native histograms only, which are not supported");
	if (c == '<' || c == '>')
		return token_from(x, start, c == '<' ? TOKEN_LT : TOKEN_GT);
	if (next == '~')
		return token_bad_after(x, start, c == '=' ? " after '='" : " after '!'");
	return c == '=' ? token_from(x, start, TOKEN_EQL) : token_bad_character(x, start, "");
}

static struct token lex_bracket_or_colon(struct lexer *x, size_t start, int c)
{
	if (c == '[') {
		if (x->in_brackets)
			return token_error(x, start, "unexpected left bracket '['");
		x->in_brackets = true;
		x->had_colon = false;
		return token_from(x, start, TOKEN_LEFT_BRACKET);
	}
	if (c == ']') {
		if (!x->in_brackets)
			return token_error(x, start, "unexpected right bracket ']'");
		x->in_brackets = false;
		return token_from(x, start, TOKEN_RIGHT_BRACKET);
	}
	if (x->had_colon)
		return token_error(x, start, "unexpected colon ':'");
	x->had_colon = true;
	return token_from(x, start, TOKEN_COLON);
}

static struct token lex_sign(struct lexer *x, size_t start, int c)
{
	x->at++;
	switch (c) {
	case ',': return token_from(x, start, TOKEN_COMMA);
	case '+': return token_from(x, start, TOKEN_ADD);
	case '-': return token_from(x, start, TOKEN_SUB);
	case '*': return token_from(x, start, TOKEN_MUL);
	case '/': return token_from(x, start, TOKEN_DIV);
	case '%': return token_from(x, start, TOKEN_MOD);
	case '^': return token_from(x, start, TOKEN_POW);
	case '@': return token_from(x, start, TOKEN_AT);
	case '=':
	case '!':
	case '<':
	case '>': return lex_relation(x, start, c);
	case '(': x->open_parens++; return token_from(x, start, TOKEN_LEFT_PAREN);
	case ')':
		if (--x->open_parens < 0)
			return token_error(x, x->at, "unexpected right parenthesis ')'");
		return token_from(x, start, TOKEN_RIGHT_PAREN);
	case '{': x->in_braces = true; return token_from(x, start, TOKEN_LEFT_BRACE);
	case '[':
	case ']':
	case ':': return lex_bracket_or_colon(x, start, c);
	default: return token_bad_character(x, start, "");
	}
}

struct token lexer_next(struct lexer *x)
{
	skip_blanks(x);
	size_t start = x->at;
	int c = peek(x, 0);
	if (x->in_braces)
		return lex_braces(x, start, c);
	if (c == -1) {
		if (x->in_brackets)
			return token_error(x, start, "unclosed left bracket");
		if (x->open_parens > 0)
			return token_error(x, start, "unclosed left parenthesis");
		return token_from(x, start, TOKEN_END);
	}
	if (is_digit(c) || (c == '.' && is_digit(peek(x, 1))))
		return lex_number(x);
	if (c == '"' || c == '\'' || c == '`')
		return lex_string(x);
	if (is_alpha(c) || (c == ':' && !x->in_brackets))
		return lex_word(x);
	return lex_sign(x, start, c);
}
