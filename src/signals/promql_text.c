#include "signals/promql_text.h"

#include "base/number.h"
#include "base/regex.h"
#include "model/labels.h"

#include <math.h>
#include <stdio.h>

struct printer {
	const struct promql_text *text;
	struct buf *out;
	bool shifted; /* inside before(): selectors look one window back */
	bool failed;
	struct str reason; /* static text */
	struct str subject;
	int depth;
};

static void print(struct printer *p, const struct expression *x);

static void fail(struct printer *p, struct str reason, struct str subject)
{
	if (p->failed)
		return;
	p->failed = true;
	p->reason = reason;
	p->subject = subject;
}

static void print_matcher(struct printer *p, const char *separator, struct str label, const char *op, struct str value)
{
	buf_printf(p->out, "%s" STR_FMT "%s", separator, STR_ARG(label), op);
	label_print_value(value, p->out);
}

/* One plain text is asked for by equality, which is the faster matcher. */
static void print_condition(struct printer *p, const char *separator, struct str label, const struct label_condition *condition)
{
	const struct str *literals;
	if (regex_literals(condition->re, &literals) == 1)
		print_matcher(p, separator, label, "=", literals[0]);
	else
		print_matcher(p, separator, label, "=~", condition->values);
}

/* NAME{matchers}[w] offset w */
static void print_selector(
	struct printer *p, const struct bound_metric *b, const struct expression *x, const char *suffix, const char *le, bool range)
{
	const struct name_spec *name = b->name;
	const char *separator = "";
	buf_add(p->out, name->name);
	buf_add_cstr(p->out, suffix);
	if (p->text->matchers.len || x->condition_count || name->where_count || le) {
		buf_add_c(p->out, '{');
		if (p->text->matchers.len) {
			buf_add(p->out, p->text->matchers);
			separator = ",";
		}
		for (size_t i = 0; i < name->where_count; i++, separator = ",")
			print_matcher(p, separator, name->where[i].label, str_find(name->where[i].value, '|') >= 0 ? "=~" : "=",
				name->where[i].value);
		for (size_t i = 0; i < x->condition_count; i++, separator = ",")
			print_condition(p, separator, name_spec_label(name, x->conditions[i].label), &x->conditions[i]);
		if (le)
			buf_printf(p->out, "%sle=~\"%s\"", separator, le);
		buf_add_c(p->out, '}');
	}
	if (range)
		buf_printf(p->out, "[" STR_FMT "]", STR_ARG(p->text->window));
	if (p->shifted)
		buf_printf(p->out, " offset " STR_FMT, STR_ARG(p->text->window));
}

static void print_names(struct printer *p, const struct str *names, size_t count, const char *separator)
{
	for (size_t i = 0; i < count; i++)
		buf_printf(p->out, "%s" STR_FMT, i ? ", " : separator, STR_ARG(names[i]));
}

/* aggregate(selector), with one of duplicate ranks and the largest of several writers taken first. */
static void print_level(struct printer *p, const struct bound_metric *b, const struct expression *x, const char *aggregate)
{
	const struct engine_spec *e = b->engine;
	if (b->name->value_labels[0].len) {
		fail(p, STR("PromQL cannot read the number in a label of"), b->name->name);
		return;
	}
	buf_printf(p->out, "%s(", aggregate);
	bool once = e->duplicate_label_count || e->writer_label_count;
	if (once) {
		buf_add_cstr(p->out, "max without (");
		print_names(p, e->duplicate_labels, e->duplicate_label_count, "");
		print_names(p, e->writer_labels, e->writer_label_count, e->duplicate_label_count ? ", " : "");
		buf_add_cstr(p->out, ") (");
	}
	print_selector(p, b, x, "", NULL, false);
	buf_add_cstr(p->out, once ? "))" : ")");
}

static const char *level_aggregate(const struct expression *x)
{
	switch (x->primitive) {
	case PRIMITIVE_LEVEL_SUM: return "sum";
	case PRIMITIVE_LEVEL_MAX: return "max";
	case PRIMITIVE_LEVEL_MEAN: return "avg";
	case PRIMITIVE_LEVEL_MIN: return "min";
	default: return x->metric->merge == MERGE_SUM ? "sum" : x->metric->merge == MERGE_MAX ? "max" : "avg";
	}
}

static void print_over_window(
	struct printer *p, const struct bound_metric *b, const struct expression *x, const char *function, const char *suffix)
{
	buf_printf(p->out, "sum(%s(", function);
	print_selector(p, b, x, suffix, NULL, true);
	buf_add_cstr(p->out, "))");
}

static void print_share(struct printer *p, const struct bound_metric *b, const struct expression *x, const char *function)
{
	char number[32], le[80];
	int n = (int)number_format(x->number, number);
	bool whole = x->number == floor(x->number); /* clients print 1 or 1.0 */
	snprintf(le, sizeof le, whole ? "%.*s|%.*s.0" : "%.*s", n, number, n, number);
	print_over_window(p, b, x, function, "_count");
	buf_printf(p->out, " - sum(%s(", function);
	print_selector(p, b, x, "_bucket", le, true);
	buf_add_cstr(p->out, "))");
}

static void print_buckets(struct printer *p, const struct bound_metric *b, const struct expression *x, const char *function)
{
	buf_printf(p->out, "sum by (le) (%s(", function);
	print_selector(p, b, x, "_bucket", NULL, true);
	buf_add_cstr(p->out, "))");
}

static void print_delta(struct printer *p, const struct bound_metric *b, const struct expression *x)
{
	print_level(p, b, x, level_aggregate(x));
	buf_add_cstr(p->out, " - ");
	bool shifted = p->shifted;
	p->shifted = true;
	print_level(p, b, x, level_aggregate(x));
	p->shifted = shifted;
}

static void print_bound(struct printer *p, const struct bound_metric *b, const struct expression *x)
{
	bool histogram = x->metric->type == METRIC_HISTOGRAM;
	switch (x->primitive) {
	case PRIMITIVE_LEVEL:
	case PRIMITIVE_LEVEL_SUM:
	case PRIMITIVE_LEVEL_MAX:
	case PRIMITIVE_LEVEL_MEAN:
	case PRIMITIVE_LEVEL_MIN: print_level(p, b, x, level_aggregate(x)); break;
	case PRIMITIVE_DELTA: print_delta(p, b, x); break;
	case PRIMITIVE_COUNT: print_over_window(p, b, x, "increase", histogram ? "_count" : ""); break;
	case PRIMITIVE_RATE: print_over_window(p, b, x, "rate", histogram ? "_count" : ""); break;
	case PRIMITIVE_SUM: print_over_window(p, b, x, "increase", "_sum"); break;
	case PRIMITIVE_RATE_SUM: print_over_window(p, b, x, "rate", "_sum"); break;
	case PRIMITIVE_TREND: print_over_window(p, b, x, "deriv", ""); break;
	case PRIMITIVE_MEAN:
		print_over_window(p, b, x, "rate", "_sum");
		buf_add_cstr(p->out, " / ");
		print_over_window(p, b, x, "rate", "_count");
		break;
	case PRIMITIVE_QUANTILE:
		buf_printf(p->out, "histogram_quantile(%g, ", x->number);
		print_buckets(p, b, x, "rate");
		buf_add_c(p->out, ')');
		break;
	case PRIMITIVE_COUNT_ABOVE: print_share(p, b, x, "increase"); break;
	case PRIMITIVE_SHARE_ABOVE:
		buf_add_c(p->out, '(');
		print_share(p, b, x, "rate");
		buf_add_cstr(p->out, ") / ");
		print_over_window(p, b, x, "rate", "_count");
		break;
	case PRIMITIVE_CELLS: print_buckets(p, b, x, "increase"); break;
	case PRIMITIVE_SERIES:
		buf_add_cstr(p->out, "count(");
		print_selector(p, b, x, "", NULL, false);
		buf_add_c(p->out, ')');
		break;
	case PRIMITIVE_AGE: fail(p, STR("PromQL cannot say how long ago a counter moved:"), x->metric->title); break;
	case PRIMITIVE_INFO: fail(p, STR("PromQL cannot read the number in a label of"), b->name->name); break;
	case PRIMITIVE_LEVEL_WEIGHTED: fail(p, STR("PromQL cannot weigh by the number in a label:"), x->metric->title); break;
	case PRIMITIVE_SHARE_TOP: fail(p, STR("PromQL does not know the last finite bound of"), b->name->name); break;
	}
}

static void print_primitive(struct printer *p, const struct expression *x)
{
	const struct bound_metric *b = &p->text->binding->metrics[x->metric->index];
	if (!b->name) {
		fail(p, STR("not exported here:"), x->metric->title);
		return;
	}
	print_bound(p, b, x);
	double scale = b->name->scale;
	if (scale != 1 && x->primitive != PRIMITIVE_SERIES &&
		(x->metric->type != METRIC_HISTOGRAM || x->primitive == PRIMITIVE_SUM || x->primitive == PRIMITIVE_RATE_SUM ||
			x->primitive == PRIMITIVE_MEAN || x->primitive == PRIMITIVE_QUANTILE))
		buf_printf(p->out, " * %g", scale);
}

static bool is_bound_here(const struct printer *p, const struct expression *x, int depth)
{
	if (!x || depth > 32)
		return true;
	if (x->kind == EXPRESSION_PRIMITIVE)
		return p->text->binding->metrics[x->metric->index].name != NULL;
	if (x->kind == EXPRESSION_SIGNAL || x->kind == EXPRESSION_BEFORE) {
		for (size_t i = 0; i < x->signal->definition_count; i++)
			if (is_bound_here(p, x->signal->definitions[i].expression, depth + 1))
				return true;
		return false;
	}
	return is_bound_here(p, x->left, depth + 1) && is_bound_here(p, x->right, depth + 1);
}

static void print_signal(struct printer *p, const struct signal_spec *signal)
{
	if (!signal->definition_count) {
		fail(p, STR("found by a detector:"), signal->title);
		return;
	}
	const struct expression *x = signal->definitions[0].expression;
	for (size_t i = 0; i < signal->definition_count; i++)
		if (is_bound_here(p, signal->definitions[i].expression, 0)) {
			x = signal->definitions[i].expression;
			break;
		}
	if (++p->depth > 32)
		fail(p, STR("too deep:"), signal->title);
	else
		print(p, x);
	p->depth--;
}

static void print_pair(struct printer *p, const struct expression *x, const char *op)
{
	buf_add_c(p->out, '(');
	print(p, x->left);
	buf_printf(p->out, " %s ", op);
	print(p, x->right);
	buf_add_c(p->out, ')');
}

/* PromQL has no min(a, b) of two vectors: a where it is smaller, else b; against a number there is clamp. */
static void print_extreme(struct printer *p, const struct expression *x, bool largest)
{
	const struct expression *number = x->left->kind == EXPRESSION_NUMBER ? x->left : x->right,
				*other = number == x->left ? x->right : x->left;
	if (number->kind == EXPRESSION_NUMBER) {
		buf_add_cstr(p->out, largest ? "clamp_min(" : "clamp_max(");
		print(p, other);
		buf_add_cstr(p->out, ", ");
		print(p, number);
		buf_add_c(p->out, ')');
		return;
	}
	buf_add_c(p->out, '(');
	print_pair(p, x, largest ? ">=" : "<=");
	buf_add_cstr(p->out, " or ");
	print(p, x->right);
	buf_add_c(p->out, ')');
}

static void print(struct printer *p, const struct expression *x)
{
	static const char *const operators[] = { [EXPRESSION_ADD] = "+",
		[EXPRESSION_SUBTRACT] = "-",
		[EXPRESSION_MULTIPLY] = "*",
		[EXPRESSION_DIVIDE] = "/",
		[EXPRESSION_LESS] = "<",
		[EXPRESSION_LESS_EQUAL] = "<=",
		[EXPRESSION_GREATER] = ">",
		[EXPRESSION_GREATER_EQUAL] = ">=",
		[EXPRESSION_EQUAL] = "==",
		[EXPRESSION_NOT_EQUAL] = "!=",
		[EXPRESSION_AND] = "and",
		[EXPRESSION_OR] = "or",
		[EXPRESSION_FIRST] = "or" };
	bool shifted = p->shifted;
	switch (x->kind) {
	case EXPRESSION_NUMBER: buf_add_double(p->out, x->number); return;
	case EXPRESSION_SIGNAL: print_signal(p, x->signal); return;
	case EXPRESSION_PRIMITIVE: print_primitive(p, x); return;
	case EXPRESSION_BEFORE:
		p->shifted = true;
		print_signal(p, x->signal);
		p->shifted = shifted;
		return;
	case EXPRESSION_NEGATE:
		buf_add_c(p->out, '-');
		print(p, x->left);
		return;
	case EXPRESSION_FLOOR:
		buf_add_cstr(p->out, "floor(");
		print(p, x->left);
		buf_add_c(p->out, ')');
		return;
	case EXPRESSION_MIN:
	case EXPRESSION_MAX: print_extreme(p, x, x->kind == EXPRESSION_MAX); return;
	case EXPRESSION_AT_LEAST:
	case EXPRESSION_AT_MOST: print(p, x->left); return;
	case EXPRESSION_NOT:
	case EXPRESSION_KNOWN: fail(p, STR("PromQL has no truth of a missing series"), STR_EMPTY); return;
	case EXPRESSION_ALPHA: fail(p, STR("PromQL cannot solve for α"), STR_EMPTY); return;
	default: print_pair(p, x, operators[x->kind]); return;
	}
}

bool promql_text_print(const struct promql_text *t, const struct signal_spec *signal, struct buf *out)
{
	struct printer p = { .text = t, .out = out };
	size_t start = out->len;
	print_signal(&p, signal);
	if (!p.failed)
		return true;
	out->len = start;
	buf_printf(out, STR_FMT "%s" STR_FMT, STR_ARG(p.reason), p.subject.len ? " " : "", STR_ARG(p.subject));
	return false;
}
