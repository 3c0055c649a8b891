/* expression: the small language of signals and red lines.
 *
 *   success_rate:  (finish_stop + finish_length) / finished
 *   ttft_p99:      quantile(0.99, ttft)
 *   red line:      waiting > 0 and kv_usage > 0.9
 *
 * Names are signals, or canonical metrics as the argument of a primitive. Metric arguments take label conditions:
 * count(finished{reason="stop|length"}). Evaluated on readings (interval arithmetic, three-valued logic) by signals/; printed as PromQL for
 * a binding by signals/promql_text. Grammar, weakest first: or · and · not · comparison (< <= > >= == !=) · + - · * / · unary - · call,
 * name, number, (…). */
#ifndef GOODPUT_CATALOG_EXPRESSION_H
#define GOODPUT_CATALOG_EXPRESSION_H

#include "base/arena.h"
#include "base/error.h"

struct catalog;
struct regex;
struct metric_spec;
struct signal_spec;

enum expression_kind {
	EXPRESSION_NUMBER,
	EXPRESSION_SIGNAL,
	EXPRESSION_PRIMITIVE,
	EXPRESSION_BEFORE, /* before(signal): its reading in the window compared against */
	EXPRESSION_NEGATE,
	EXPRESSION_ADD,
	EXPRESSION_SUBTRACT,
	EXPRESSION_MULTIPLY,
	EXPRESSION_DIVIDE,
	EXPRESSION_MIN,
	EXPRESSION_MAX,
	EXPRESSION_LESS,
	EXPRESSION_LESS_EQUAL,
	EXPRESSION_GREATER,
	EXPRESSION_GREATER_EQUAL,
	EXPRESSION_EQUAL,
	EXPRESSION_NOT_EQUAL,
	EXPRESSION_AND,
	EXPRESSION_OR,
	EXPRESSION_NOT,
	/* functions of readings; min(a, b) and max(a, b) above are too */
	EXPRESSION_FLOOR,    /* floor(x) */
	EXPRESSION_AT_LEAST, /* at_least(x): only a lower bound is known, x */
	EXPRESSION_AT_MOST,  /* at_most(x) */
	EXPRESSION_KNOWN,    /* known(x): true when x is not unknown */
	EXPRESSION_FIRST,    /* first(a, b): a unless unknown, else b */
	EXPRESSION_ALPHA     /* alpha(length, gamma): solves length = (1 - a^(gamma + 1)) / (1 - a) for a in 0..1 */
};

/* What can be asked of a metric at a scope over a window. Table-driven: name, metric types allowed, extra arguments. */
enum primitive {
	PRIMITIVE_LEVEL,     /* level(m): newest value, merged by the metric's rule */
	PRIMITIVE_LEVEL_SUM, /* level_sum(m), level_max(m), level_mean(m), level_min(m): merged so */
	PRIMITIVE_LEVEL_MAX,
	PRIMITIVE_LEVEL_MEAN,
	PRIMITIVE_LEVEL_MIN,
	PRIMITIVE_LEVEL_WEIGHTED, /* level_weighted(m, w): mean of m weighted by the level of w */
	PRIMITIVE_DELTA,          /* delta(m): level at the window's end minus level at its start */
	PRIMITIVE_AGE,            /* age(m): seconds since the counter (or histogram's count) last moved */
	PRIMITIVE_COUNT,          /* count(m): increase of a counter, or of a histogram's _count */
	PRIMITIVE_RATE,           /* rate(m): count per second really elapsed */
	PRIMITIVE_SUM,            /* sum(h): increase of a histogram's _sum */
	PRIMITIVE_RATE_SUM,       /* rate_sum(h): the same per second really elapsed */
	PRIMITIVE_MEAN,           /* mean(h): sum / count */
	PRIMITIVE_QUANTILE,       /* quantile(0.99, h) */
	PRIMITIVE_SHARE_ABOVE,    /* share_above(h, 0.2): between cells exact, inside a cell bounded */
	PRIMITIVE_COUNT_ABOVE,    /* count_above(h, 0.2) */
	PRIMITIVE_SHARE_TOP,      /* share_top(h): beyond the last finite bound */
	PRIMITIVE_CELLS,          /* cells(h): counts per bucket, not cumulative */
	PRIMITIVE_TREND,          /* trend(m): (last - first) / time between, per second, over the window's samples */
	PRIMITIVE_INFO,           /* info(m, label): the number in a label of an info metric; the smallest and largest when they differ */
	PRIMITIVE_SERIES          /* series(m): how many schedulers export it */
};

struct label_condition {
	struct str label, values; /* canonical label; an anchored regular expression: "stop|length", "4.." */
	const struct regex *re;   /* `values` compiled; the catalogue's */
};

struct expression {
	enum expression_kind kind;
	int offset;    /* byte in the text, for messages */
	double number; /* number; extra numeric argument of a primitive */
	const struct signal_spec *signal;
	enum primitive primitive;
	const struct metric_spec *metric, *second_metric;
	struct str label; /* of info() */
	struct label_condition *conditions;
	size_t condition_count;
	struct expression *left, *right; /* operands */
};

/* Parses; metric and signal names are looked up in the catalogue (signals may be declared later: pass 2 resolves). `source`, `line`,
 * `column` place the text in its file. NULL with an error. */
struct expression *expression_parse(
	struct arena *arena, struct catalog *c, struct str source, int line, int column, struct str text, struct error *e);
/* True for comparisons, and, or, not, known(): what a red line or guard is; the rest are numbers. */
bool expression_is_condition(const struct expression *x);
/* Canonical text again. */
struct buf;
void expression_print(const struct expression *x, struct buf *out);
const char *primitive_name(enum primitive p);

#endif
