/* parse: state shared by the files of the parser. Internal to promql.
 * Recursive descent; every function returns NULL or false after the first error has been reported. */
#ifndef GOODPUT_PROMQL_PARSE_H
#define GOODPUT_PROMQL_PARSE_H

#include "promql/syntax.h"

struct parser {
	struct lexer lexer;
	struct token token; /* the one looked at */
	uint32_t last_end;  /* end of the token before */
	struct arena *arena;
	const struct promql_options *options;
	struct error *error;
	int depth;
};

void parser_advance(struct parser *p);
bool parser_accept(struct parser *p, enum token_kind kind);
/* "unexpected <token> in <context>, expected <expected>" at the current token; context and expected may be NULL. */
bool parser_unexpected(struct parser *p, const char *context, const char *expected);
bool parser_fail(struct parser *p, size_t offset, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool parser_expect(struct parser *p, enum token_kind kind, const char *context, const char *expected);
/* Counts nesting; false with an error when too deep. */
bool parser_enter(struct parser *p);
struct promql_node *parser_node(struct parser *p, enum node_kind kind, enum promql_type type, uint32_t start);
/* Sets the end and the depth (1 + the deepest of two children, which may be NULL). NULL with an error when too deep. */
struct promql_node *parser_finish(struct parser *p, struct promql_node *n, const struct promql_node *a, const struct promql_node *b);

struct promql_node *parse_expression(struct parser *p);
bool parse_number(struct parser *p, const struct token *t, double *value);
bool parse_string(struct parser *p, struct str *value);
/* "(a, b)" of by, without, on, ignoring, group_left. */
bool parse_grouping_labels(struct parser *p, struct str **labels, size_t *count);

/* parse_selector.c */
struct promql_node *parse_selector(struct parser *p);
/* [range], [range:step], offset and @ after an expression. */
struct promql_node *parse_suffixes(struct parser *p, struct promql_node *n);

/* parse_duration.c: after offset, an operator only inside parentheses; in brackets anything. */
bool parse_duration(struct parser *p, bool in_brackets, struct duration *d, const char *context);

#endif
