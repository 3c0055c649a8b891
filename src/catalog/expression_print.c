/* Canonical text: parentheses only where precedence asks for them. */
#include "base/buf.h"
#include "catalog/catalog.h"
#include "catalog/expression_lex.h"

enum precedence { OF_OR, OF_AND, OF_NOT, OF_COMPARISON, OF_SUM, OF_PRODUCT, OF_UNARY, OF_PRIMARY };

static enum precedence precedence_of(enum expression_kind kind)
{
	switch (kind) {
	case EXPRESSION_OR: return OF_OR;
	case EXPRESSION_AND: return OF_AND;
	case EXPRESSION_NOT: return OF_NOT;
	case EXPRESSION_LESS:
	case EXPRESSION_LESS_EQUAL:
	case EXPRESSION_GREATER:
	case EXPRESSION_GREATER_EQUAL:
	case EXPRESSION_EQUAL:
	case EXPRESSION_NOT_EQUAL: return OF_COMPARISON;
	case EXPRESSION_ADD:
	case EXPRESSION_SUBTRACT: return OF_SUM;
	case EXPRESSION_MULTIPLY:
	case EXPRESSION_DIVIDE: return OF_PRODUCT;
	case EXPRESSION_NEGATE: return OF_UNARY;
	default: return OF_PRIMARY;
	}
}

static const char *operator_text(enum expression_kind kind)
{
	switch (kind) {
	case EXPRESSION_OR: return " or ";
	case EXPRESSION_AND: return " and ";
	case EXPRESSION_LESS: return " < ";
	case EXPRESSION_LESS_EQUAL: return " <= ";
	case EXPRESSION_GREATER: return " > ";
	case EXPRESSION_GREATER_EQUAL: return " >= ";
	case EXPRESSION_EQUAL: return " == ";
	case EXPRESSION_NOT_EQUAL: return " != ";
	case EXPRESSION_ADD: return " + ";
	case EXPRESSION_SUBTRACT: return " - ";
	case EXPRESSION_MULTIPLY: return " * ";
	default: return " / ";
	}
}

static void print_at(const struct expression *x, enum precedence weakest, struct buf *out);

static void print_metric(const struct expression *x, struct buf *out)
{
	buf_add(out, x->metric->id);
	for (size_t i = 0; i < x->condition_count; i++) {
		/* The text had one kind of quote inside at most, as it stood between the other. */
		char quote = str_find(x->conditions[i].values, '"') >= 0 ? '\'' : '"';

		buf_printf(out, "%s" STR_FMT "=%c" STR_FMT "%c", i ? ", " : "{", STR_ARG(x->conditions[i].label), quote,
			STR_ARG(x->conditions[i].values), quote);
	}
	if (x->condition_count)
		buf_add_c(out, '}');
}

static void print_primitive(const struct expression *x, struct buf *out)
{
	bool quantile = x->primitive == PRIMITIVE_QUANTILE;
	bool above = x->primitive == PRIMITIVE_SHARE_ABOVE || x->primitive == PRIMITIVE_COUNT_ABOVE;

	buf_printf(out, "%s(", primitive_name(x->primitive));
	if (quantile) {
		buf_add_double(out, x->number);
		buf_add_cstr(out, ", ");
	}
	print_metric(x, out);
	if (above) {
		buf_add_cstr(out, ", ");
		buf_add_double(out, x->number);
	}
	if (x->second_metric)
		buf_printf(out, ", " STR_FMT, STR_ARG(x->second_metric->id));
	if (x->label.len)
		buf_printf(out, ", " STR_FMT, STR_ARG(x->label));
	buf_add_c(out, ')');
}

static void print_function(const struct expression *x, struct buf *out)
{
	buf_printf(out, "%s(", function_name(x->kind));
	if (x->kind == EXPRESSION_BEFORE)
		buf_add(out, x->signal->id);
	else
		print_at(x->left, OF_OR, out);
	if (x->right) {
		buf_add_cstr(out, ", ");
		print_at(x->right, OF_OR, out);
	}
	buf_add_c(out, ')');
}

static void print_operator(const struct expression *x, struct buf *out)
{
	enum precedence own = precedence_of(x->kind);

	if (x->kind == EXPRESSION_NOT || x->kind == EXPRESSION_NEGATE) {
		buf_add_cstr(out, x->kind == EXPRESSION_NOT ? "not " : "-");
		print_at(x->left, own, out);
		return;
	}
	/* All operators group to the left; comparisons do not chain. */
	print_at(x->left, own == OF_COMPARISON ? own + 1 : own, out);
	buf_add_cstr(out, operator_text(x->kind));
	print_at(x->right, own + 1, out);
}

static void print_bare(const struct expression *x, struct buf *out)
{
	if (x->kind == EXPRESSION_NUMBER)
		buf_add_double(out, x->number);
	else if (x->kind == EXPRESSION_SIGNAL)
		buf_add(out, x->signal->id);
	else if (x->kind == EXPRESSION_PRIMITIVE)
		print_primitive(x, out);
	else if (function_name(x->kind))
		print_function(x, out);
	else
		print_operator(x, out);
}

static void print_at(const struct expression *x, enum precedence weakest, struct buf *out)
{
	bool wrap = precedence_of(x->kind) < weakest;

	if (wrap)
		buf_add_c(out, '(');
	print_bare(x, out);
	if (wrap)
		buf_add_c(out, ')');
}

void expression_print(const struct expression *x, struct buf *out)
{
	print_at(x, OF_OR, out);
}
