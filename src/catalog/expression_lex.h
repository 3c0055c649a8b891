/* Tokens of expressions, and the tables of names. Internal to this folder. */
#ifndef GOODPUT_CATALOG_EXPRESSION_LEX_H
#define GOODPUT_CATALOG_EXPRESSION_LEX_H

#include "base/str.h"
#include "catalog/expression.h"

enum token_kind {
	TOKEN_END,
	TOKEN_BAD,
	TOKEN_NUMBER,
	TOKEN_NAME,
	TOKEN_STRING, /* text without quotes */
	TOKEN_LEFT_PAREN,
	TOKEN_RIGHT_PAREN,
	TOKEN_LEFT_BRACE,
	TOKEN_RIGHT_BRACE,
	TOKEN_COMMA,
	TOKEN_ASSIGN,
	TOKEN_PLUS,
	TOKEN_MINUS,
	TOKEN_STAR,
	TOKEN_SLASH,
	TOKEN_LESS,
	TOKEN_LESS_EQUAL,
	TOKEN_GREATER,
	TOKEN_GREATER_EQUAL,
	TOKEN_EQUAL,
	TOKEN_NOT_EQUAL,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_NOT
};

struct token {
	enum token_kind kind;
	size_t offset;
	struct str text; /* as written; of a string what is between the quotes */
	double number;
	const char *complaint; /* TOKEN_BAD */
};

/* The token at or after byte `at`; `*next` is the byte behind it. */
struct token expression_token(struct str text, size_t at, size_t *next);

/* What stands between the parentheses of a primitive. */
enum primitive_form {
	FORM_METRIC,        /* p(m) */
	FORM_NUMBER_METRIC, /* p(0.99, m) */
	FORM_METRIC_NUMBER, /* p(m, 0.2) */
	FORM_METRIC_LABEL,  /* p(m, label) */
	FORM_METRIC_METRIC  /* p(m, w) */
};
enum { TYPE_GAUGE = 1, TYPE_COUNTER = 2, TYPE_HISTOGRAM = 4, TYPE_INFO = 8, TYPE_ANY = 15 };

struct primitive_row {
	const char *name;
	enum primitive primitive;
	enum primitive_form form;
	unsigned types;    /* of the metric */
	const char *takes; /* "a histogram" */
};
extern const struct primitive_row primitive_rows[];
extern const size_t primitive_row_count;

/* Functions of readings, and before(). */
struct function_row {
	const char *name;
	enum expression_kind kind;
	int arguments; /* -1: two or more */
};
extern const struct function_row function_rows[];
extern const size_t function_row_count;
const char *function_name(enum expression_kind kind); /* NULL: no function */

#endif
