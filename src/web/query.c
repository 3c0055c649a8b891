/* query, query_range, format_query, parse_query. */
#include "web/value.h"
#include "web/web.h"

enum { POINTS_MAX = 11000 };

/* The error of a parameter as Prometheus words it: position, then cause. */
static void fail_query(struct web_reply *r, const char *parameter, const struct error *e)
{
	if (e->line)
		web_fail(r, WEB_BAD_DATA, "invalid parameter \"%s\": %d:%d: %s", parameter, e->line, e->column, e->message);
	else
		web_fail(r, WEB_BAD_DATA, "invalid parameter \"%s\": %s", parameter, e->message);
}

static struct promql_node *parse(struct web_request *q, struct web_reply *r, const struct promql_options *options)
{
	struct error e = { 0 };
	struct str text = form_get(&q->form, "query");
	struct promql_node *node = promql_parse(q->arena, text.ptr ? text : STR(""), options, &e);

	if (!node)
		fail_query(r, "query", &e);
	return node;
}

static bool duration(struct web_request *q, struct web_reply *r, const char *name, int64_t *ms)
{
	struct str text = form_get(&q->form, name);

	if (!text.len || form_duration(text, ms))
		return true;
	web_fail(r, WEB_BAD_DATA, "invalid parameter \"%s\": cannot parse \"" STR_FMT "\" to a valid duration", name,
		STR_ARG(str_head(text, 200)));
	return false;
}

static bool options_of(struct web_request *q, struct web_reply *r, struct promql_options *o)
{
	int64_t timeout_ms = q->source->limits->timeout_ms;

	*o = *q->source->limits;
	o->cancel = q->cancel;
	if (!duration(q, r, "timeout", &timeout_ms) || !duration(q, r, "lookback_delta", &o->lookback_ms))
		return false;
	if (timeout_ms > 0 && (!o->timeout_ms || timeout_ms < o->timeout_ms))
		o->timeout_ms = timeout_ms;
	return true;
}

static void answer_value(struct web_reply *r, struct promql_value *v, size_t limit)
{
	/* An annotation more when series are left out. */
	struct str warnings[64];
	size_t count = v->warning_count < 63 ? v->warning_count : 63;
	bool listed = v->type == PROMQL_VECTOR || v->type == PROMQL_MATRIX;

	for (size_t i = 0; i < count; i++)
		warnings[i] = v->warnings[i];
	if (limit && listed && v->count > limit) {
		v->count = limit;
		warnings[count++] = STR("results truncated due to limit");
	}
	web_open(r);
	value_print_json(v, &r->body);
	web_close(r, warnings, count, v->infos, v->info_count);
}

/* An existing Prometheus evaluates itself; the embedded store needs the options. */
static bool evaluate(struct web_request *q, const struct promql_node *node, const struct promql_options *o, int64_t start_ms,
	int64_t end_ms, int64_t step_ms, struct promql_value *v, struct error *e)
{
	struct backend *b = q->source->backend;
	struct str text = form_get(&q->form, "query");

	if (!q->source->store)
		return step_ms ? b->ops->query_range(b, q->arena, text, start_ms, end_ms, step_ms, v, e)
			       : b->ops->query(b, q->arena, text, start_ms, v, e);
	return step_ms ? promql_range(b, q->arena, node, o, start_ms, end_ms, step_ms, v, e)
		       : promql_instant(b, q->arena, node, o, start_ms, v, e);
}

void web_query(struct web_request *q, struct web_reply *r)
{
	struct promql_options o;
	struct promql_value v = { 0 };
	struct error e = { 0 };
	int64_t t_ms;
	size_t limit;

	if (!web_limit(q, r, "limit", &limit) || !web_time(q, r, "time", q->now_ms, &t_ms) || !options_of(q, r, &o))
		return;
	struct promql_node *node = parse(q, r, &o);

	if (!node)
		return;
	if (evaluate(q, node, &o, t_ms, t_ms, 0, &v, &e))
		answer_value(r, &v, limit);
	else
		web_fail_execution(r, &e);
}

/* start, end and step, checked in Prometheus's order. */
static bool range_of(struct web_request *q, struct web_reply *r, int64_t *start_ms, int64_t *end_ms, int64_t *step_ms)
{
	static const char *const names[] = { "start", "end" };
	int64_t *times[] = { start_ms, end_ms };

	for (int i = 0; i < 2; i++) {
		struct str text = form_get(&q->form, names[i]);

		if (form_time(text, times[i]))
			continue;
		web_fail(r, WEB_BAD_DATA, "invalid parameter \"%s\": cannot parse \"" STR_FMT "\" to a valid timestamp", names[i],
			STR_ARG(str_head(text, 200)));
		return false;
	}
	if (*end_ms < *start_ms) {
		web_fail(r, WEB_BAD_DATA, "invalid parameter \"end\": end timestamp must not be before start time");
		return false;
	}
	if (!form_get(&q->form, "step").len) {
		web_fail(r, WEB_BAD_DATA, "invalid parameter \"step\": cannot parse \"\" to a valid duration");
		return false;
	}
	if (!duration(q, r, "step", step_ms))
		return false;
	if (*step_ms <= 0) {
		web_fail(r, WEB_BAD_DATA,
			"invalid parameter \"step\": zero or negative query resolution step widths are not accepted. Try a positive "
			"integer");
		return false;
	}
	if ((*end_ms - *start_ms) / *step_ms > POINTS_MAX) {
		web_fail(r, WEB_BAD_DATA,
			"exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)");
		return false;
	}
	return true;
}

void web_query_range(struct web_request *q, struct web_reply *r)
{
	struct promql_options o;
	struct promql_value v = { 0 };
	struct error e = { 0 };
	int64_t start_ms, end_ms, step_ms = 0;
	size_t limit;

	if (!web_limit(q, r, "limit", &limit) || !range_of(q, r, &start_ms, &end_ms, &step_ms) || !options_of(q, r, &o))
		return;
	struct promql_node *node = parse(q, r, &o);

	if (!node)
		return;
	enum promql_type type = promql_node_type(node);

	if (type != PROMQL_SCALAR && type != PROMQL_VECTOR)
		web_fail(r, WEB_BAD_DATA, "invalid expression type \"%s\" for range query, must be Scalar or instant Vector",
			type == PROMQL_MATRIX ? "range vector" : "string");
	else if (evaluate(q, node, &o, start_ms, end_ms, step_ms, &v, &e))
		answer_value(r, &v, limit);
	else
		web_fail_execution(r, &e);
}

void web_format_query(struct web_request *q, struct web_reply *r)
{
	struct promql_node *node = parse(q, r, q->source->limits);
	struct buf text;

	if (!node)
		return;
	buf_init(&text, WEB_BODY_MAX);
	promql_print(node, &text);
	web_open(r);
	buf_add_json(&r->body, buf_str(&text));
	web_close(r, NULL, 0, NULL, 0);
	buf_fini(&text);
}

void web_parse_query(struct web_request *q, struct web_reply *r)
{
	struct promql_node *node = parse(q, r, q->source->limits);

	if (!node)
		return;
	web_open(r);
	promql_print_tree(node, &r->body);
	web_close(r, NULL, 0, NULL, 0);
}

/* Exemplars are not kept: there are none, as in a Prometheus without exemplar storage. */
void web_query_exemplars(struct web_request *q, struct web_reply *r)
{
	int64_t start_ms, end_ms;

	if (!web_time(q, r, "start", 0, &start_ms) || !web_time(q, r, "end", q->now_ms, &end_ms))
		return;
	if (end_ms < start_ms) {
		web_fail(r, WEB_BAD_DATA, "end timestamp must not be before start timestamp");
		return;
	}
	if (!parse(q, r, q->source->limits))
		return;
	web_open(r);
	buf_add_cstr(&r->body, "[]");
	web_close(r, NULL, 0, NULL, 0);
}
