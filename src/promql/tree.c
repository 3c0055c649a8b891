#include "promql/tree.h"

#include "base/number.h"
#include "promql/functions.h"
#include "promql/syntax.h"

static const char *type_name(enum promql_type type)
{
	static const char *const names[] = {
		[PROMQL_SCALAR] = "scalar", [PROMQL_STRING] = "string", [PROMQL_VECTOR] = "vector", [PROMQL_MATRIX] = "matrix"
	};

	return names[type];
}

static void add_number(double value, struct buf *out)
{
	char text[NUMBER_TEXT_MAX];

	buf_add_c(out, '"');
	buf_add(out, str_of(text, number_format_plain(value, text)));
	buf_add_c(out, '"');
}

static void add_names(const char *key, const struct str *names, size_t count, struct buf *out)
{
	buf_printf(out, ",\"%s\":[", key);
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_add_c(out, ',');
		buf_add_json(out, names[i]);
	}
	buf_add_c(out, ']');
}

static void add_node(const char *key, const struct promql_node *n, struct buf *out)
{
	buf_printf(out, ",\"%s\":", key);
	if (n)
		promql_print_tree(n, out);
	else
		buf_add_cstr(out, "null");
}

static const char *bool_text(bool b)
{
	return b ? "true" : "false";
}

/* A duration that only a query can resolve is shown as 0, as Prometheus does. */
static int64_t duration_ms(const struct duration *d)
{
	return d->expression ? 0 : d->ms;
}

static void add_shift(const struct shift *s, struct buf *out)
{
	buf_printf(out, ",\"offset\":%lld,\"timestamp\":", (long long)(s->has_offset ? duration_ms(&s->offset) : 0));
	if (s->at == AT_TIME)
		buf_add_i64(out, s->at_ms);
	else
		buf_add_cstr(out, "null");
	buf_printf(out, ",\"startOrEnd\":%s", s->at == AT_START ? "\"start\"" : s->at == AT_END ? "\"end\"" : "null");
}

static void add_matcher(const struct selector_matcher *m, struct buf *out)
{
	static const char *const ops[] = { [MATCH_EQ] = "=", [MATCH_NE] = "!=", [MATCH_RE] = "=~", [MATCH_NRE] = "!~" };

	buf_add_cstr(out, "{\"name\":");
	buf_add_json(out, m->name);
	buf_add_cstr(out, ",\"value\":");
	buf_add_json(out, m->value);
	buf_printf(out, ",\"type\":\"%s\"}", ops[m->op]);
}

/* The name that stands before the braces comes last, as in Prometheus's own list. */
static void add_selector(const struct promql_node *n, struct buf *out)
{
	size_t first = n->selector.name.len ? 1 : 0, count = n->selector.matcher_count;

	buf_add_cstr(out, ",\"name\":");
	buf_add_json(out, n->selector.name.ptr ? n->selector.name : STR(""));
	buf_add_cstr(out, ",\"matchers\":[");
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_add_c(out, ',');
		add_matcher(&n->selector.matchers[(i + first) % count], out);
	}
	buf_add_c(out, ']');
	add_shift(&n->selector.shift, out);
}

static void add_call(const struct promql_node *n, struct buf *out)
{
	const struct function *f = n->call.function;

	buf_printf(out, "\"call\",\"func\":{\"name\":\"%s\",\"argTypes\":[", f->name);
	for (int i = 0; i < f->arg_count; i++)
		buf_printf(out, i ? ",\"%s\"" : "\"%s\"", type_name(f->args[i]));
	buf_printf(out, "],\"variadic\":%d,\"returnType\":\"%s\"},\"args\":[", f->variadic, type_name(f->returns));
	for (size_t i = 0; i < n->call.arg_count; i++) {
		if (i)
			buf_add_c(out, ',');
		promql_print_tree(n->call.args[i], out);
	}
	buf_add_c(out, ']');
}

static void add_aggregate(const struct promql_node *n, struct buf *out)
{
	buf_printf(out, "\"aggregation\",\"op\":\"%s\"", token_text(n->aggregate.op));
	add_node("expr", n->aggregate.expression, out);
	add_node("param", n->aggregate.parameter, out);
	add_names("grouping", n->aggregate.labels, n->aggregate.label_count, out);
	buf_printf(out, ",\"without\":%s", bool_text(n->aggregate.without));
}

static void add_matching(const struct promql_node *n, struct buf *out)
{
	const struct matching *m = &n->binary.matching;
	const char *card = m->side == SIDE_GROUP_LEFT ? "many-to-one" : m->side == SIDE_GROUP_RIGHT ? "one-to-many" : "one-to-one";

	if (n->binary.left->type != PROMQL_VECTOR || n->binary.right->type != PROMQL_VECTOR) {
		buf_add_cstr(out, ",\"matching\":null");
		return;
	}
	if (token_is_set_operator(n->binary.op))
		card = "many-to-many";
	buf_printf(out, ",\"matching\":{\"card\":\"%s\"", card);
	add_names("labels", m->labels, m->label_count, out);
	buf_printf(out, ",\"on\":%s", bool_text(m->is_on));
	add_names("include", m->include, m->include_count, out);
	buf_add_c(out, '}');
}

static void add_binary(const struct promql_node *n, struct buf *out)
{
	buf_printf(out, "\"binaryExpr\",\"op\":\"%s\"", token_text(n->binary.op));
	add_node("lhs", n->binary.left, out);
	add_node("rhs", n->binary.right, out);
	add_matching(n, out);
	buf_printf(out, ",\"bool\":%s", bool_text(n->binary.with_bool));
}

static void add_subquery(const struct promql_node *n, struct buf *out)
{
	buf_add_cstr(out, "\"subquery\"");
	add_node("expr", n->subquery.expression, out);
	buf_printf(out, ",\"range\":%lld,\"step\":%lld", (long long)duration_ms(&n->subquery.range),
		(long long)(n->subquery.has_step ? duration_ms(&n->subquery.step) : 0));
	add_shift(&n->subquery.shift, out);
}

void promql_print_tree(const struct promql_node *n, struct buf *out)
{
	buf_add_cstr(out, "{\"type\":");
	switch (n->kind) {
	case NODE_NUMBER:
		buf_add_cstr(out, "\"numberLiteral\",\"val\":");
		add_number(n->number, out);
		break;
	case NODE_STRING:
		buf_add_cstr(out, "\"stringLiteral\",\"val\":");
		buf_add_json(out, n->text);
		break;
	case NODE_SELECTOR:
		buf_add_cstr(out, "\"vectorSelector\"");
		add_selector(n, out);
		break;
	case NODE_RANGE:
		buf_printf(out, "\"matrixSelector\",\"range\":%lld", (long long)duration_ms(&n->range.range));
		add_selector(n->range.selector, out);
		break;
	case NODE_SUBQUERY: add_subquery(n, out); break;
	case NODE_CALL: add_call(n, out); break;
	case NODE_AGGREGATE: add_aggregate(n, out); break;
	case NODE_BINARY: add_binary(n, out); break;
	case NODE_UNARY:
		buf_printf(out, "\"unaryExpr\",\"op\":\"%s\"", n->unary.minus ? "-" : "+");
		add_node("expr", n->unary.expression, out);
		break;
	case NODE_PAREN:
		buf_add_cstr(out, "\"parenExpr\"");
		add_node("expr", n->inner, out);
		break;
	}
	buf_add_c(out, '}');
}

struct matcher *promql_matchers(struct arena *arena, struct str text, size_t *count, struct error *e)
{
	struct promql_node *n = promql_parse(arena, text, &promql_defaults, e);

	if (!n)
		return NULL;
	if (n->kind != NODE_SELECTOR || n->selector.shift.has_offset || n->selector.shift.at != AT_NONE) {
		syntax_error(text, 0, e, "unexpected expression: only a selector such as up{job=\"vllm\"} is taken here");
		return NULL;
	}
	struct matcher *list = ARENA_ARRAY(arena, struct matcher, n->selector.matcher_count + 1);

	for (*count = 0; *count < n->selector.matcher_count; ++*count) {
		const struct selector_matcher *m = &n->selector.matchers[*count];

		if (matcher_init(&list[*count], m->name, m->op, m->value, e))
			continue;
		while (*count)
			matcher_fini(&list[--*count]);
		return NULL;
	}
	return list;
}
