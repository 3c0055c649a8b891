/* The leaves of expressions: numbers, signals, functions, primitives. */
#include "base/regex.h"
#include "catalog/expression_parser.h"
#include "catalog/load.h"

enum { CONDITION_LIMIT = 8 };

/* ---- metrics and their conditions ---- */

static unsigned type_bit(enum metric_type type)
{
	switch (type) {
	case METRIC_GAUGE: return TYPE_GAUGE;
	case METRIC_COUNTER: return TYPE_COUNTER;
	case METRIC_HISTOGRAM: return TYPE_HISTOGRAM;
	default: return TYPE_INFO;
	}
}

static bool metric_unknown(struct parser *p, const char *function)
{
	struct str id = p->token.text;

	if (map_has(&p->catalog->signal_by_id, id)) {
		expression_parser_fail(p, p->token.offset, "\"" STR_FMT "\" is a signal; %s() takes a metric", STR_ARG(id), function);
		return false;
	}
	expression_parser_fail(p, p->token.offset, "no metric is called \"" STR_FMT "\"", STR_ARG(id));
	struct str near = nearest_metric(p->catalog, id);

	if (near.len)
		expression_parser_hint(p, "did you mean \"" STR_FMT "\"?", STR_ARG(near));
	return false;
}

static bool condition_values(struct parser *p, struct label_condition *condition)
{
	struct error why = { 0 };
	struct token token = p->token;

	if (token.kind != TOKEN_STRING) {
		expression_parser_fail_token(p, "a text in quotes");
		return false;
	}
	struct regex *re = regex_new(token.text, &why);

	if (!re) {
		expression_parser_fail(p, token.offset, "\"" STR_FMT "\" is no regular expression: %s", STR_ARG(token.text), why.message);
		return false;
	}
	VEC_PUSH(&p->catalog->regexes, re);
	condition->re = re;
	condition->values = token.text;
	expression_parser_advance(p);
	return true;
}

static bool parse_conditions(struct parser *p, struct expression *x)
{
	if (p->token.kind != TOKEN_LEFT_BRACE)
		return true;
	x->conditions = ARENA_ARRAY(p->arena, struct label_condition, CONDITION_LIMIT);
	do {
		expression_parser_advance(p);
		if (x->condition_count == CONDITION_LIMIT) {
			expression_parser_fail(p, p->token.offset, "more than %d label conditions", CONDITION_LIMIT);
			return false;
		}
		struct label_condition *condition = &x->conditions[x->condition_count++];

		condition->label = p->token.text;
		if (!expression_parser_expect(p, TOKEN_NAME, "a label name") || !expression_parser_expect(p, TOKEN_ASSIGN, "\"=\"") ||
			!condition_values(p, condition))
			return false;
	} while (p->token.kind == TOKEN_COMMA);
	return expression_parser_expect(p, TOKEN_RIGHT_BRACE, "\",\" or \"}\"");
}

static const struct metric_spec *parse_metric(struct parser *p, const struct primitive_row *row)
{
	const struct metric_spec *metric;

	if (p->token.kind != TOKEN_NAME) {
		expression_parser_fail_token(p, "a metric");
		return NULL;
	}
	metric = map_get(&p->catalog->metric_by_id, p->token.text);
	if (!metric) {
		metric_unknown(p, row->name);
		return NULL;
	}
	if (!(type_bit(metric->type) & row->types)) {
		expression_parser_fail(p, p->token.offset, "%s() takes %s; " STR_FMT " is of type %s", row->name, row->takes,
			STR_ARG(metric->id), metric_type_name(metric->type));
		return NULL;
	}
	expression_parser_advance(p);
	return metric;
}

/* ---- primitives and functions ---- */

static bool parse_number_argument(struct parser *p, struct expression *x)
{
	bool negative = p->token.kind == TOKEN_MINUS;

	if (negative)
		expression_parser_advance(p);
	if (p->token.kind != TOKEN_NUMBER) {
		expression_parser_fail_token(p, "a number");
		return false;
	}
	x->number = negative ? -p->token.number : p->token.number;
	if (x->primitive == PRIMITIVE_QUANTILE && !(x->number >= 0 && x->number <= 1)) {
		expression_parser_fail(p, p->token.offset, "a quantile lies between 0 and 1");
		return false;
	}
	expression_parser_advance(p);
	return true;
}

/* What follows the metric: ", 0.2", ", label", ", w". */
static bool parse_last_argument(struct parser *p, const struct primitive_row *row, struct expression *x)
{
	if (row->form == FORM_METRIC || row->form == FORM_NUMBER_METRIC)
		return true;
	if (!expression_parser_expect(p, TOKEN_COMMA, "\",\""))
		return false;
	if (row->form == FORM_METRIC_NUMBER)
		return parse_number_argument(p, x);
	if (row->form == FORM_METRIC_METRIC)
		return (x->second_metric = parse_metric(p, row)) != NULL;
	x->label = p->token.text;
	return expression_parser_expect(p, TOKEN_NAME, "a label name");
}

static struct expression *parse_primitive(struct parser *p, const struct primitive_row *row, size_t offset)
{
	struct expression *x = expression_parser_node(p, EXPRESSION_PRIMITIVE, offset);

	if (!x)
		return NULL;
	x->primitive = row->primitive;
	if (row->form == FORM_NUMBER_METRIC && (!parse_number_argument(p, x) || !expression_parser_expect(p, TOKEN_COMMA, "\",\"")))
		return NULL;
	x->metric = parse_metric(p, row);
	if (!x->metric || !parse_conditions(p, x) || !parse_last_argument(p, row, x))
		return NULL;
	return expression_parser_expect(p, TOKEN_RIGHT_PAREN, "\")\"") ? x : NULL;
}

/* min(a, b, c) is min(min(a, b), c). */
static struct expression *parse_arguments(struct parser *p, const struct function_row *row, size_t offset)
{
	struct expression *x = expression_parser_must_be(p, expression_parser_parse(p), false);
	int count = 1;

	if (x && row->arguments == 1) {
		size_t at = (size_t)x->offset;

		if (row->kind == EXPRESSION_BEFORE && x->kind != EXPRESSION_SIGNAL)
			return expression_parser_fail(p, at, "before() takes the name of a signal");
		struct expression *whole = expression_parser_pair(p, row->kind, offset, x, NULL);

		if (whole && row->kind == EXPRESSION_BEFORE) {
			whole->signal = x->signal;
			whole->left = NULL;
		}
		return whole;
	}
	while (x && p->token.kind == TOKEN_COMMA && (row->arguments < 0 || count < row->arguments)) {
		expression_parser_advance(p);
		struct expression *right = expression_parser_must_be(p, expression_parser_parse(p), false);

		x = right ? expression_parser_pair(p, row->kind, offset, x, right) : NULL;
		count++;
	}
	if (x && count < 2)
		return expression_parser_fail_token(p, "\",\" and another argument");
	return x;
}

static struct expression *unknown_function(struct parser *p, struct token name)
{
	struct nearest near = nearest_start(name.text);

	for (size_t i = 0; i < primitive_row_count; i++)
		nearest_offer(&near, str_from(primitive_rows[i].name));
	for (size_t i = 0; i < function_row_count; i++)
		nearest_offer(&near, str_from(function_rows[i].name));
	expression_parser_fail(p, name.offset, "no function is called \"" STR_FMT "\"", STR_ARG(name.text));
	return near.best.len ? expression_parser_hint(p, "did you mean \"" STR_FMT "\"?", STR_ARG(near.best)) : NULL;
}

static struct expression *parse_call(struct parser *p, struct token name)
{
	expression_parser_advance(p);
	for (size_t i = 0; i < primitive_row_count; i++) {
		if (str_is(name.text, primitive_rows[i].name))
			return parse_primitive(p, &primitive_rows[i], name.offset);
	}
	for (size_t i = 0; i < function_row_count; i++) {
		if (str_is(name.text, function_rows[i].name)) {
			struct expression *x = parse_arguments(p, &function_rows[i], name.offset);

			return x && expression_parser_expect(p, TOKEN_RIGHT_PAREN, "\")\"") ? x : NULL;
		}
	}
	return unknown_function(p, name);
}

static struct expression *parse_signal(struct parser *p, struct token name)
{
	const struct signal_spec *signal = map_get(&p->catalog->signal_by_id, name.text);

	if (signal) {
		struct expression *x = expression_parser_node(p, EXPRESSION_SIGNAL, name.offset);

		if (x)
			x->signal = signal;
		return x;
	}
	const struct metric_spec *metric = map_get(&p->catalog->metric_by_id, name.text);

	if (metric) {
		expression_parser_fail(p, name.offset, "\"" STR_FMT "\" is a metric, not a signal", STR_ARG(name.text));
		return expression_parser_hint(p, "say what is asked of it, such as %s(" STR_FMT ")",
			metric->type == METRIC_GAUGE ? "level" : "count", STR_ARG(name.text));
	}
	expression_parser_fail(p, name.offset, "no signal is called \"" STR_FMT "\"", STR_ARG(name.text));
	struct str near = catalog_nearest_signal(p->catalog, name.text);

	return near.len ? expression_parser_hint(p, "did you mean \"" STR_FMT "\"?", STR_ARG(near)) : NULL;
}

/* ---- leaves ---- */

struct expression *expression_parser_primary(struct parser *p)
{
	struct token token = p->token;

	if (token.kind == TOKEN_NUMBER) {
		struct expression *x = expression_parser_node(p, EXPRESSION_NUMBER, token.offset);

		if (x)
			x->number = token.number;
		expression_parser_advance(p);
		return x;
	}
	if (token.kind == TOKEN_NAME) {
		expression_parser_advance(p);
		return p->token.kind == TOKEN_LEFT_PAREN ? parse_call(p, token) : parse_signal(p, token);
	}
	if (token.kind == TOKEN_LEFT_PAREN) {
		expression_parser_advance(p);
		struct expression *x = expression_parser_parse(p);

		return x && expression_parser_expect(p, TOKEN_RIGHT_PAREN, "\")\"") ? x : NULL;
	}
	return expression_parser_fail_token(p, "a signal, a function or a number");
}
