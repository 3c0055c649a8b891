/* template_parse: the state of the parser of templates. Internal to the template language. */
#ifndef GOODPUT_RULES_TEMPLATE_PARSE_H
#define GOODPUT_RULES_TEMPLATE_PARSE_H

#include "rules/template_tree.h"

enum { TEMPLATE_VARIABLES_MAX = 64 };

struct template_parser {
	struct arena *arena;
	struct str text;
	size_t at;
	struct error *error;
	struct str variables[TEMPLATE_VARIABLES_MAX];
	size_t variable_count;
	int depth, loops;
	bool trim_next; /* the action before ended with -}} */
};

/* An error at a byte of the text; returns false. */
bool template_fail(struct template_parser *p, size_t offset, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The next byte; '\0' at the end. */
char template_peek(const struct template_parser *p);
bool template_is_word(char c);

/* template_literals.c: each at its first byte. */
bool template_take_quoted(struct template_parser *p, char quote, struct str *value);
bool template_take_raw(struct template_parser *p, struct str *value);
bool template_take_character(struct template_parser *p, struct operand *o);
bool template_take_number(struct template_parser *p, struct operand *o);

#endif
