/* syntax: the tree of an expression, and the table of functions. Internal to promql. */
#ifndef GOODPUT_PROMQL_SYNTAX_H
#define GOODPUT_PROMQL_SYNTAX_H

#include "base/arena.h"
#include "model/matcher.h"
#include "promql/lex.h"
#include "promql/promql.h"

enum node_kind {
	NODE_NUMBER,
	NODE_STRING,
	NODE_SELECTOR, /* name{...} */
	NODE_RANGE,    /* selector[d] */
	NODE_SUBQUERY, /* expr[d:step] */
	NODE_CALL,
	NODE_AGGREGATE,
	NODE_BINARY,
	NODE_UNARY, /* minus or plus */
	NODE_PAREN
};

/* A duration is known when it is parsed, or an expression over step() and range(), which only a query has. */
struct duration {
	int64_t ms;
	struct promql_node *expression; /* or NULL */
};

enum at_kind { AT_NONE, AT_TIME, AT_START, AT_END };
struct shift { /* offset and @ */
	bool has_offset;
	struct duration offset;
	enum at_kind at;
	int64_t at_ms;
};

struct selector_matcher { /* checked when parsed; a regex is compiled again for each query, as nobody frees a tree */
	struct str name, value;
	enum match_op op;
};

enum match_side { SIDE_ONE_TO_ONE, SIDE_GROUP_LEFT, SIDE_GROUP_RIGHT };
struct matching {
	bool is_on; /* else ignoring */
	bool given; /* on or ignoring was written */
	struct str *labels;
	size_t label_count;
	enum match_side side;
	struct str *include; /* of group_left and group_right */
	size_t include_count;
};

struct promql_node {
	enum node_kind kind;
	enum promql_type type;
	uint32_t start, end; /* bytes in the query */
	int depth;           /* of the tree below and with this node */
	struct str query;    /* the whole text; the root's only */
	union {
		double number;
		struct str text;
		struct {
			struct str name;                   /* written before the braces, or empty */
			struct selector_matcher *matchers; /* the name among them */
			size_t matcher_count;
			struct shift shift;
		} selector;
		struct {
			struct promql_node *selector; /* carries the shift */
			struct duration range;
		} range;
		struct {
			struct promql_node *expression;
			struct duration range, step;
			bool has_step;
			struct shift shift;
		} subquery;
		struct {
			const struct function *function;
			struct promql_node **args;
			size_t arg_count;
		} call;
		struct {
			enum token_kind op;
			struct promql_node *expression, *parameter;
			bool without, grouped;
			struct str *labels;
			size_t label_count;
		} aggregate;
		struct {
			enum token_kind op;
			struct promql_node *left, *right;
			bool with_bool;
			struct matching matching;
		} binary;
		struct {
			bool minus;
			struct promql_node *expression;
		} unary;
		struct promql_node *inner; /* NODE_PAREN */
	};
};

enum { SYNTAX_DEPTH_MAX = 400 };

/* "instant vector", as the documentation calls it. */
const char *promql_type_text(enum promql_type type);
/* Without the parentheses around it. */
const struct promql_node *node_unwrap(const struct promql_node *n);

/* The types fit; false with an error positioned in `query`. */
bool syntax_check(struct promql_node *n, struct str query, struct error *e);
/* "parse error: ..." at a byte of the query. Returns false. */
bool syntax_error(struct str query, size_t offset, struct error *e, const char *format, ...) __attribute__((format(printf, 4, 5)));
enum { SYNTAX_WHY = 80 };
/* A quoted token's value. False with a reason (SYNTAX_WHY bytes) when an escape is wrong. */
bool syntax_unquote(struct arena *arena, struct str quoted, struct str *value, char *why);
/* Go's spelling of a string in double quotes. */
void syntax_quote(struct str value, struct buf *out);

#endif
