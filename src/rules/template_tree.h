/* template_tree: a parsed template and its values: what the files of the template language share. Internal to rules. */
#ifndef GOODPUT_RULES_TEMPLATE_TREE_H
#define GOODPUT_RULES_TEMPLATE_TREE_H

#include "rules/template.h"

struct pipeline;
struct template_function;

enum operand_kind {
	OPERAND_TEXT,
	OPERAND_INTEGER,
	OPERAND_NUMBER,
	OPERAND_BOOL,
	OPERAND_NIL,
	OPERAND_DOT,
	OPERAND_VARIABLE,
	OPERAND_FUNCTION,
	OPERAND_PIPELINE
};
struct operand { /* with .Fields behind it: not of literals and functions */
	enum operand_kind kind;
	struct str text; /* of a text; the variable's name with its $ */
	int64_t integer; /* also of a bool */
	double number;
	const struct template_function *function;
	struct pipeline *pipeline;
	struct str *fields;
	size_t field_count;
	struct operand *next;
};
struct command { /* a function with arguments, or one operand */
	struct operand *first;
	struct command *next;
};
struct pipeline {
	struct str declared[2]; /* $a := , $i, $a := range */
	size_t declared_count;
	bool assigns; /* = instead of := */
	struct command *first;
};

enum template_kind { TEMPLATE_TEXT, TEMPLATE_ACTION, TEMPLATE_IF, TEMPLATE_WITH, TEMPLATE_RANGE, TEMPLATE_BREAK, TEMPLATE_CONTINUE };
struct template_node {
	enum template_kind kind;
	size_t offset; /* in the text, for errors */
	struct str text;
	struct pipeline *pipeline;
	struct template_node *body, *otherwise, *next;
};
struct template
{
	struct str text;
	struct template_node *first;
};

/* ---- values ---- */

struct sample { /* of the function query */
	const struct label *labels;
	size_t label_count;
	double value;
};
enum value_kind { VALUE_NIL, VALUE_TEXT, VALUE_INTEGER, VALUE_NUMBER, VALUE_BOOL, VALUE_MAP, VALUE_SAMPLES, VALUE_SAMPLE, VALUE_ROOT };
struct value {
	enum value_kind kind;
	struct str text;
	int64_t integer;
	double number;
	bool truth;
	const struct label *pairs; /* of a map, sorted by name */
	const struct sample *samples;
	size_t count;
};

struct execution {
	const struct template_data *data;
	struct arena *arena;
	struct buf *out;
	struct error *error;
	size_t steps; /* left */
};

struct template_function {
	const char *name;
	int least, most; /* arguments; most -1: any number */
	bool (*call)(struct execution *x, const struct value *args, size_t count, struct value *result);
};
/* NULL when there is none of that name. */
const struct template_function *template_function_find(struct str name);
/* and, or: arguments are evaluated only as far as needed; `call` is NULL. */
bool template_function_is_lazy(const struct template_function *f);

/* "Go: message"; returns false. */
bool execution_fail(struct execution *x, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool value_is_true(const struct value *v);
const char *value_kind_name(const struct value *v); /* as Go calls the type */
/* As %v prints it. */
bool value_print(struct execution *x, const struct value *v, struct buf *out);
/* Go's printf. */
bool value_printf(struct execution *x, const struct value *args, size_t count, struct buf *out);
/* Go's 'e', 'f', 'g' with a precision, or the shortest that reads back (-1). */
void go_float(double v, char verb, int precision, struct buf *out);

#endif
