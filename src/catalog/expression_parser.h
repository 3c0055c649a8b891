/* The parser's state and what its two files share. Internal to this folder.
 *
 *   expression.c       errors, tokens, nodes; one function a level of precedence
 *   expression_call.c  what stands at the leaves: numbers, signals, functions, primitives with their metrics */
#ifndef GOODPUT_CATALOG_EXPRESSION_PARSER_H
#define GOODPUT_CATALOG_EXPRESSION_PARSER_H

#include "catalog/catalog.h"
#include "catalog/expression_lex.h"

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

/* An error at a byte of the text; always NULL. */
struct expression *expression_parser_fail(struct parser *p, size_t offset, const char *format, ...) __attribute__((format(printf, 3, 4)));
struct expression *expression_parser_hint(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The next token is not what is wanted. */
struct expression *expression_parser_fail_token(struct parser *p, const char *wanted);

void expression_parser_advance(struct parser *p);
bool expression_parser_expect(struct parser *p, enum token_kind kind, const char *wanted);

/* NULL with an error when the expression has too many nodes. */
struct expression *expression_parser_node(struct parser *p, enum expression_kind kind, size_t offset);
struct expression *expression_parser_pair(
	struct parser *p, enum expression_kind kind, size_t offset, struct expression *left, struct expression *right);
/* x, or NULL with an error when it is of the other type; NULL stays NULL. */
struct expression *expression_parser_must_be(struct parser *p, struct expression *x, bool condition);

struct expression *expression_parser_parse(struct parser *p);   /* a whole expression */
struct expression *expression_parser_primary(struct parser *p); /* a leaf, or an expression in parentheses */

#endif
