#include "base/buf.h"
#include "base/clock.h"
#include "promql/functions.h"
#include "promql/syntax.h"

#include <math.h>

static void print_name(struct str name, struct buf *out)
{
	if (label_name_is_classic(name, false))
		buf_add(out, name);
	else
		syntax_quote(name, out);
}

static void print_names(const char *before, const struct str *names, size_t count, struct buf *out)
{
	buf_printf(out, "%s (", before);
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_add_cstr(out, ", ");
		print_name(names[i], out);
	}
	buf_add_c(out, ')');
}

static void print_milliseconds(int64_t ms, struct buf *out)
{
	char text[64];
	if (ms < 0)
		buf_add_c(out, '-');
	buf_add(out, str_of(text, duration_format(ms < 0 ? -ms : ms, text)));
}

static void print_duration(const struct duration *d, struct buf *out)
{
	if (d->expression)
		promql_print(d->expression, out);
	else
		print_milliseconds(d->ms, out);
}

static void print_shift(const struct shift *shift, struct buf *out)
{
	if (shift->at == AT_TIME)
		buf_printf(out, " @ %.3f", (double)shift->at_ms / 1000);
	else if (shift->at != AT_NONE)
		buf_printf(out, " @ %s()", shift->at == AT_START ? "start" : "end");
	if (shift->has_offset) {
		buf_add_cstr(out, " offset ");
		print_duration(&shift->offset, out);
	}
}

static void print_selector(const struct promql_node *n, struct buf *out)
{
	struct str name = n->selector.name;
	size_t first = name.len ? 1 : 0;
	buf_add(out, name);
	if (n->selector.matcher_count == first && name.len)
		return;
	buf_add_c(out, '{');
	for (size_t i = first; i < n->selector.matcher_count; i++) {
		const struct selector_matcher *m = &n->selector.matchers[i];
		if (i > first)
			buf_add_c(out, ',');
		print_name(m->name, out);
		buf_add_cstr(out, match_op_text(m->op));
		syntax_quote(m->value, out);
	}
	buf_add_c(out, '}');
}

static void print_subquery(const struct promql_node *n, struct buf *out)
{
	promql_print(n->subquery.expression, out);
	buf_add_c(out, '[');
	print_duration(&n->subquery.range, out);
	buf_add_c(out, ':');
	if (n->subquery.has_step)
		print_duration(&n->subquery.step, out);
	buf_add_c(out, ']');
	print_shift(&n->subquery.shift, out);
}

static void print_aggregate(const struct promql_node *n, struct buf *out)
{
	buf_add_cstr(out, token_text(n->aggregate.op));
	if (n->aggregate.grouped && (n->aggregate.without || n->aggregate.label_count)) {
		print_names(n->aggregate.without ? " without" : " by", n->aggregate.labels, n->aggregate.label_count, out);
		buf_add_c(out, ' ');
	}
	buf_add_c(out, '(');
	if (n->aggregate.parameter) {
		promql_print(n->aggregate.parameter, out);
		buf_add_cstr(out, ", ");
	}
	promql_print(n->aggregate.expression, out);
	buf_add_c(out, ')');
}

static void print_binary(const struct promql_node *n, struct buf *out)
{
	const struct matching *m = &n->binary.matching;
	promql_print(n->binary.left, out);
	buf_printf(out, " %s%s", token_text(n->binary.op), n->binary.with_bool ? " bool" : "");
	if (m->given)
		print_names(m->is_on ? " on" : " ignoring", m->labels, m->label_count, out);
	if (m->side != SIDE_ONE_TO_ONE)
		print_names(m->side == SIDE_GROUP_LEFT ? " group_left" : " group_right", m->include, m->include_count, out);
	buf_add_c(out, ' ');
	promql_print(n->binary.right, out);
}

static void print_call(const struct promql_node *n, struct buf *out)
{
	buf_printf(out, "%s(", n->call.function->name);
	for (size_t i = 0; i < n->call.arg_count; i++) {
		if (i)
			buf_add_cstr(out, ", ");
		promql_print(n->call.args[i], out);
	}
	buf_add_c(out, ')');
}

/* A sign would be an operator of its own before ^. */
static void print_number(double value, struct buf *out)
{
	if (value == INFINITY)
		buf_add_cstr(out, "Inf");
	else
		buf_add_double(out, value);
}

void promql_print(const struct promql_node *n, struct buf *out)
{
	switch (n->kind) {
	case NODE_NUMBER: print_number(n->number, out); break;
	case NODE_STRING: syntax_quote(n->text, out); break;
	case NODE_SELECTOR:
		print_selector(n, out);
		print_shift(&n->selector.shift, out);
		break;
	case NODE_RANGE:
		print_selector(n->range.selector, out);
		buf_add_c(out, '[');
		print_duration(&n->range.range, out);
		buf_add_c(out, ']');
		print_shift(&n->range.selector->selector.shift, out);
		break;
	case NODE_SUBQUERY: print_subquery(n, out); break;
	case NODE_CALL: print_call(n, out); break;
	case NODE_AGGREGATE: print_aggregate(n, out); break;
	case NODE_BINARY: print_binary(n, out); break;
	case NODE_UNARY:
		buf_add_c(out, n->unary.minus ? '-' : '+');
		promql_print(n->unary.expression, out);
		break;
	case NODE_PAREN:
		buf_add_c(out, '(');
		promql_print(n->inner, out);
		buf_add_c(out, ')');
		break;
	}
}
