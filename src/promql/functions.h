/* functions: the table of PromQL's functions: how they are called and what computes them. Internal to promql. */
#ifndef GOODPUT_PROMQL_FUNCTIONS_H
#define GOODPUT_PROMQL_FUNCTIONS_H

#include "base/str.h"
#include "promql/value.h"

struct evaluation;
struct grid;
struct frame;
struct promql_node;
struct window;
struct fold_shape;

typedef double math_function(double);
/* One step of one series; false = no result there. */
typedef bool window_function(const struct window *w, double *result);
/* All windows of one series at once, from what it has in them; returns how many have a result. */
typedef size_t fold_function(struct fold_shape *shape, const struct series_fold *s, double *values);
typedef bool frame_function(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out);

enum { FUNCTION_ARGS = 5, VARIADIC_ANY = -1 };

struct function {
	const char *name;
	enum promql_type returns;
	enum promql_type args[FUNCTION_ARGS];
	int arg_count;
	int variadic; /* how often the last argument may be left out or repeated: 1 = optional, VARIADIC_ANY = any number */
	bool experimental;
	bool keeps_name;     /* of a range function */
	math_function *math; /* one of the three is set */
	window_function *window;
	frame_function *frame;
	fold_function *fold; /* beside `window`, where count, first and last sample of a window are enough */
	bool needs_falls;    /* ... with the falls in it */
};

/* NULL when there is none. */
const struct function *function_find(struct str name);
/* Nearest existing name, or NULL. */
const char *function_suggest(struct str name);

#endif
