/* The table of Prometheus's template functions and those of Go's templates that need no more than these values; collections, queries,
 * logic. */
#include "rules/template_functions.h"
#include "base/number.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

#define FUNCTION(name) static TEMPLATE_FUNCTION(name)

/* ---- arguments and results ---- */

bool value_need(struct execution *x, const struct value *v, enum value_kind kind)
{
	const struct value wanted = { .kind = kind };

	return v->kind == kind ||
	       execution_fail(x, "wrong type for value; expected %s; got %s", value_kind_name(&wanted), value_kind_name(v));
}

/* As Prometheus's convertToFloat. */
bool value_need_number(struct execution *x, const struct value *v, double *number)
{
	switch (v->kind) {
	case VALUE_NUMBER: *number = v->number; return true;
	case VALUE_INTEGER: *number = (double)v->integer; return true;
	case VALUE_TEXT:
		return number_parse(v->text, number) ||
		       execution_fail(x, "parsing \"" STR_FMT "\": not a number", STR_ARG(str_head(v->text, 60)));
	default: return execution_fail(x, "can't convert %s to float", value_kind_name(v));
	}
}

bool value_give_text(struct execution *x, struct buf *text, struct value *result)
{
	bool fits = !text->overflowed;

	*result = (struct value){ .kind = VALUE_TEXT, .text = fits ? arena_str(x->arena, buf_str(text)) : STR_EMPTY };
	buf_fini(text);
	return fits || execution_fail(x, "the text is too long");
}

bool value_give(struct value *result, struct str text)
{
	*result = (struct value){ .kind = VALUE_TEXT, .text = text };
	return true;
}

bool value_give_truth(struct value *result, bool truth)
{
	*result = (struct value){ .kind = VALUE_BOOL, .truth = truth };
	return true;
}

/* ---- queries and collections ---- */

static bool samples_of(struct execution *x, const struct promql_value *v, struct value *result)
{
	size_t count = v->type == PROMQL_SCALAR ? 1 : v->count;
	struct sample *samples = ARENA_ARRAY(x->arena, struct sample, count);

	for (size_t i = 0; i < count; i++) {
		const struct labels *l = v->type == PROMQL_VECTOR ? v->elements[i].labels : NULL;

		samples[i].value = v->type == PROMQL_SCALAR ? v->scalar : v->elements[i].value;
		samples[i].labels = l ? l->items : NULL;
		samples[i].label_count = l ? l->count : 0;
	}
	*result = (struct value){ .kind = VALUE_SAMPLES, .samples = samples, .count = count };
	return true;
}

FUNCTION(query)
{
	struct promql_value v;
	struct error e = { 0 };

	if (!value_need(x, &args[0], VALUE_TEXT))
		return false;
	if (!x->data->backend)
		return execution_fail(x, "query: there is nothing to ask here");
	if (!x->data->backend->ops->query(x->data->backend, x->arena, args[0].text, x->data->t_ms, &v, &e))
		return execution_fail(x, "error calling query: %s", e.message);
	if (v.type != PROMQL_VECTOR && v.type != PROMQL_SCALAR)
		return execution_fail(x, "error calling query: query result is not a vector or scalar");
	return samples_of(x, &v, result);
}

FUNCTION(first)
{
	if (!value_need(x, &args[0], VALUE_SAMPLES))
		return false;
	if (!args[0].count)
		return execution_fail(x, "error calling first: first() called on vector with no elements");
	*result = (struct value){ .kind = VALUE_SAMPLE, .samples = args[0].samples };
	return true;
}

static struct str sample_label(const struct sample *s, struct str name)
{
	for (size_t i = 0; i < s->label_count; i++)
		if (str_eq(s->labels[i].name, name))
			return s->labels[i].value;
	return STR_EMPTY;
}

/* (name, sample) */
FUNCTION(label)
{
	return value_need(x, &args[0], VALUE_TEXT) && value_need(x, &args[1], VALUE_SAMPLE) &&
	       value_give(result, sample_label(args[1].samples, args[0].text));
}

FUNCTION(sample_value)
{
	if (!value_need(x, &args[0], VALUE_SAMPLE))
		return false;
	*result = (struct value){ .kind = VALUE_NUMBER, .number = args[0].samples->value };
	return true;
}

FUNCTION(sample_text)
{
	return value_need(x, &args[0], VALUE_SAMPLE) && value_give(result, sample_label(args[0].samples, STR("__value__")));
}

struct keyed {
	struct str key;
	size_t index; /* keeps the order of equal ones */
};

static int keyed_order(const void *a, const void *b)
{
	const struct keyed *left = a, *right = b;
	int order = str_cmp(left->key, right->key);

	return order ? order : left->index < right->index ? -1 : 1;
}

/* (name, samples) */
FUNCTION(sort_by_label)
{
	if (!value_need(x, &args[0], VALUE_TEXT) || !value_need(x, &args[1], VALUE_SAMPLES))
		return false;
	struct keyed *keys = ARENA_ARRAY(x->arena, struct keyed, args[1].count);
	struct sample *sorted = ARENA_ARRAY(x->arena, struct sample, args[1].count);

	for (size_t i = 0; i < args[1].count; i++)
		keys[i] = (struct keyed){ sample_label(&args[1].samples[i], args[0].text), i };
	if (args[1].count > 1)
		qsort(keys, args[1].count, sizeof *keys, keyed_order);
	for (size_t i = 0; i < args[1].count; i++)
		sorted[i] = args[1].samples[keys[i].index];
	*result = (struct value){ .kind = VALUE_SAMPLES, .samples = sorted, .count = args[1].count };
	return true;
}

FUNCTION(length)
{
	if (args[0].kind != VALUE_TEXT && args[0].kind != VALUE_MAP && args[0].kind != VALUE_SAMPLES)
		return execution_fail(x, "len of type %s", value_kind_name(&args[0]));
	*result = (struct value){ .kind = VALUE_INTEGER,
		.integer = (int64_t)(args[0].kind == VALUE_TEXT ? args[0].text.len : args[0].count) };
	return true;
}

FUNCTION(index_of)
{
	*result = args[0];
	for (size_t i = 1; i < count; i++) {
		struct value from = *result;

		*result = (struct value){ .kind = VALUE_TEXT };
		if (from.kind == VALUE_MAP) {
			if (!value_need(x, &args[i], VALUE_TEXT))
				return false;
			for (size_t k = 0; k < from.count; k++)
				if (str_eq(from.pairs[k].name, args[i].text))
					result->text = from.pairs[k].value;
		} else if (from.kind == VALUE_SAMPLES) {
			if (!value_need(x, &args[i], VALUE_INTEGER))
				return false;
			if (args[i].integer < 0 || (uint64_t)args[i].integer >= from.count)
				return execution_fail(x, "error calling index: index out of range: %ld", (long)args[i].integer);
			*result = (struct value){ .kind = VALUE_SAMPLE, .samples = &from.samples[args[i].integer] };
		} else {
			return execution_fail(x, "error calling index: can't index item of type %s", value_kind_name(&from));
		}
	}
	return true;
}

/* ---- logic ---- */

FUNCTION(negate)
{
	return value_give_truth(result, !value_is_true(&args[0]));
}

/* -1, 0, 1; 2: unordered (NaN). As in Go, an int and a float64 do not compare. */
static bool compare(struct execution *x, const struct value *a, const struct value *b, int *order)
{
	if (a->kind != b->kind)
		return execution_fail(x, "incompatible types for comparison: %s and %s", value_kind_name(a), value_kind_name(b));
	switch (a->kind) {
	case VALUE_TEXT: *order = str_cmp(a->text, b->text); return true;
	case VALUE_INTEGER: *order = a->integer < b->integer ? -1 : a->integer > b->integer; return true;
	case VALUE_NUMBER:
		*order = isnan(a->number) || isnan(b->number) ? 2 : a->number < b->number ? -1 : a->number > b->number;
		return true;
	case VALUE_BOOL: *order = a->truth == b->truth ? 0 : 2; return true;
	default: return execution_fail(x, "invalid type for comparison: %s", value_kind_name(a));
	}
}

FUNCTION(equal)
{
	for (size_t i = 1; i < count; i++) {
		int order;

		if (!compare(x, &args[0], &args[i], &order))
			return false;
		if (order == 0)
			return value_give_truth(result, true);
	}
	return value_give_truth(result, false);
}

FUNCTION(not_equal)
{
	int order;

	return compare(x, &args[0], &args[1], &order) && value_give_truth(result, order != 0);
}

static bool ordered(struct execution *x, const struct value *args, int *order)
{
	if (args[0].kind == VALUE_BOOL)
		return execution_fail(x, "invalid type for comparison: bool");
	return compare(x, &args[0], &args[1], order);
}

FUNCTION(less)
{
	int order;

	return ordered(x, args, &order) && value_give_truth(result, order != 2 && order < 0);
}

FUNCTION(less_or_equal)
{
	int order;

	return ordered(x, args, &order) && value_give_truth(result, order != 2 && order <= 0);
}

/* Go has gt as "not le", so that NaN is greater. */
FUNCTION(greater)
{
	int order;

	return ordered(x, args, &order) && value_give_truth(result, order == 2 || order > 0);
}

FUNCTION(greater_or_equal)
{
	int order;

	return ordered(x, args, &order) && value_give_truth(result, order == 2 || order >= 0);
}

/* ---- the table ---- */

static const struct template_function functions[] = {
	{ "and", 1, -1, NULL },
	{ "or", 1, -1, NULL },
	{ "not", 1, 1, negate },
	{ "eq", 2, -1, equal },
	{ "ne", 2, 2, not_equal },
	{ "lt", 2, 2, less },
	{ "le", 2, 2, less_or_equal },
	{ "gt", 2, 2, greater },
	{ "ge", 2, 2, greater_or_equal },
	{ "len", 1, 1, length },
	{ "index", 1, -1, index_of },
	{ "print", 0, -1, function_print },
	{ "println", 0, -1, function_print_line },
	{ "printf", 1, -1, function_print_formatted },
	{ "urlquery", 0, -1, function_url_query },
	{ "html", 0, -1, function_html },
	{ "query", 1, 1, query },
	{ "first", 1, 1, first },
	{ "label", 2, 2, label },
	{ "value", 1, 1, sample_value },
	{ "strvalue", 1, 1, sample_text },
	{ "sortByLabel", 2, 2, sort_by_label },
	{ "humanize", 1, 1, function_humanize },
	{ "humanize1024", 1, 1, function_humanize_1024 },
	{ "humanizeDuration", 1, 1, function_humanize_duration },
	{ "humanizePercentage", 1, 1, function_humanize_percentage },
	{ "humanizeTimestamp", 1, 1, function_humanize_timestamp },
	{ "parseDuration", 1, 1, function_parse_duration },
	{ "now", 0, 0, function_now },
	{ "toUpper", 1, 1, function_to_upper },
	{ "toLower", 1, 1, function_to_lower },
	{ "title", 1, 1, function_title },
	{ "stripPort", 1, 1, function_strip_port },
	{ "stripDomain", 1, 1, function_strip_domain },
	{ "match", 2, 2, function_match },
	{ "reReplaceAll", 3, 3, function_replace_all },
	{ "safeHtml", 1, 1, function_safe_html },
	{ "graphLink", 1, 1, function_graph_link },
	{ "tableLink", 1, 1, function_table_link },
	{ "externalURL", 0, 0, function_external_url },
	{ "pathPrefix", 0, 0, function_path_prefix },
	{ "urlQueryEscape", 1, 1, function_url_query },
};

const struct template_function *template_function_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		if (str_is(name, functions[i].name))
			return &functions[i];
	return NULL;
}

bool template_function_is_lazy(const struct template_function *f)
{
	return !f->call;
}
