/* Filling in a template. */
#include "rules/template_tree.h"

#include <stdio.h>

enum { STEPS_MAX = 200000, VARIABLES_MAX = 64 };

struct variable {
	struct str name;
	struct value value;
};
struct scope { /* the variables; those of a block end with it */
	struct execution *x;
	struct variable variables[VARIABLES_MAX + 8];
	size_t count;
};
enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_FAILED };

bool execution_fail(struct execution *x, const char *format, ...)
{
	char message[240];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	return error_set(x->error, EXIT_BAD_INPUT, "%s", message);
}

bool value_is_true(const struct value *v)
{
	switch (v->kind) {
	case VALUE_NIL: return false;
	case VALUE_TEXT: return v->text.len > 0;
	case VALUE_INTEGER: return v->integer != 0;
	case VALUE_NUMBER: return v->number != 0;
	case VALUE_BOOL: return v->truth;
	case VALUE_MAP:
	case VALUE_SAMPLES: return v->count > 0;
	case VALUE_SAMPLE:
	case VALUE_ROOT: return true;
	}
	return false;
}

/* ---- fields ---- */

static struct value map_of(const struct label *pairs, size_t count)
{
	return (struct value){ .kind = VALUE_MAP, .pairs = pairs, .count = count };
}

static struct value root_labels(const struct template_data *d)
{
	return map_of(d->labels ? d->labels->items : NULL, d->labels ? d->labels->count : 0);
}

/* A label that is not there is the empty text, as Prometheus's missingkey=zero has it. */
static struct value map_get_pair(const struct value *map, struct str name)
{
	for (size_t i = 0; i < map->count; i++)
		if (str_eq(map->pairs[i].name, name))
			return (struct value){ .kind = VALUE_TEXT, .text = map->pairs[i].value };
	return (struct value){ .kind = VALUE_TEXT };
}

static bool field(struct execution *x, struct value *v, struct str name)
{
	if (v->kind == VALUE_MAP) {
		*v = map_get_pair(v, name);
		return true;
	}
	if (v->kind == VALUE_ROOT) {
		const struct template_data *d = x->data;

		if (str_is(name, "Labels"))
			*v = root_labels(d);
		else if (str_is(name, "ExternalLabels"))
			*v = map_of(d->external, d->external_count);
		else if (str_is(name, "ExternalURL"))
			*v = (struct value){ .kind = VALUE_TEXT, .text = d->external_url };
		else if (str_is(name, "Value"))
			*v = (struct value){ .kind = VALUE_NUMBER, .number = d->value };
		else
			return execution_fail(
				x, "can't evaluate field " STR_FMT ": there are Labels, ExternalLabels, ExternalURL, Value", STR_ARG(name));
		return true;
	}
	if (v->kind == VALUE_SAMPLE && str_is(name, "Labels")) {
		*v = map_of(v->samples->labels, v->samples->label_count);
		return true;
	}
	if (v->kind == VALUE_SAMPLE && str_is(name, "Value")) {
		*v = (struct value){ .kind = VALUE_NUMBER, .number = v->samples->value };
		return true;
	}
	return execution_fail(x, "can't evaluate field " STR_FMT " in type %s", STR_ARG(name), value_kind_name(v));
}

/* ---- operands, commands, pipelines ---- */

static bool run_pipeline(struct scope *s, const struct pipeline *pipeline, const struct value *dot, struct value *result);

static bool run_operand(struct scope *s, const struct operand *o, const struct value *dot, struct value *result)
{
	*result = (struct value){ 0 };
	switch (o->kind) {
	case OPERAND_TEXT: *result = (struct value){ .kind = VALUE_TEXT, .text = o->text }; break;
	case OPERAND_INTEGER: *result = (struct value){ .kind = VALUE_INTEGER, .integer = o->integer }; break;
	case OPERAND_NUMBER: *result = (struct value){ .kind = VALUE_NUMBER, .number = o->number }; break;
	case OPERAND_BOOL: *result = (struct value){ .kind = VALUE_BOOL, .truth = o->integer }; break;
	case OPERAND_NIL: break;
	case OPERAND_DOT: *result = *dot; break;
	case OPERAND_VARIABLE:
		for (size_t i = s->count; i--;)
			if (str_eq(s->variables[i].name, o->text)) {
				*result = s->variables[i].value;
				break;
			}
		break;
	case OPERAND_PIPELINE:
		if (!run_pipeline(s, o->pipeline, dot, result))
			return false;
		break;
	case OPERAND_FUNCTION: return execution_fail(s->x, "function %s is called without being the command", o->function->name);
	}
	for (size_t i = 0; i < o->field_count; i++)
		if (!field(s->x, result, o->fields[i]))
			return false;
	return true;
}

static bool run_argument(struct scope *s, const struct operand *o, const struct value *dot, struct value *result);

/* "and", "or": the first argument that decides, or the last. */
static bool run_lazy(struct scope *s, const struct command *c, const struct value *dot, const struct value *piped, struct value *result)
{
	bool is_or = str_is(str_from(c->first->function->name), "or");

	for (const struct operand *o = c->first->next; o; o = o->next) {
		if (!run_argument(s, o, dot, result))
			return false;
		if (value_is_true(result) == is_or)
			return true;
	}
	if (piped)
		*result = *piped;
	return true;
}

static bool run_call(struct scope *s, const struct command *c, const struct value *dot, const struct value *piped, struct value *result)
{
	const struct template_function *f = c->first->function;
	size_t count = piped != NULL, i = 0;

	for (const struct operand *o = c->first->next; o; o = o->next)
		count++;
	if ((f->least >= 0 && count < (size_t)f->least) || (f->most >= 0 && count > (size_t)f->most))
		return execution_fail(s->x, "wrong number of args for %s: want %s%d got %zu", f->name,
			f->least == f->most ? "" : "at least ", f->least, count);
	if (template_function_is_lazy(f))
		return run_lazy(s, c, dot, piped, result);
	struct value *args = ARENA_ARRAY(s->x->arena, struct value, count);

	for (const struct operand *o = c->first->next; o; o = o->next)
		if (!run_argument(s, o, dot, &args[i++]))
			return false;
	if (piped)
		args[i] = *piped;
	*result = (struct value){ 0 };
	return f->call(s->x, args, count, result);
}

/* A function as an argument is called with none of its own. */
static bool run_argument(struct scope *s, const struct operand *o, const struct value *dot, struct value *result)
{
	if (o->kind != OPERAND_FUNCTION)
		return run_operand(s, o, dot, result);
	const struct operand alone = { .kind = OPERAND_FUNCTION, .function = o->function };
	const struct command c = { .first = (struct operand *)&alone };

	return run_call(s, &c, dot, NULL, result);
}

static bool scope_declare(struct scope *s, struct str name, const struct value *v)
{
	if (s->count == sizeof s->variables / sizeof *s->variables)
		return execution_fail(s->x, "too many variables");
	s->variables[s->count++] = (struct variable){ name, *v };
	return true;
}

static bool scope_store(struct scope *s, const struct pipeline *pipeline, size_t which, const struct value *v)
{
	if (!pipeline->assigns)
		return scope_declare(s, pipeline->declared[which], v);
	for (size_t i = s->count; i--;)
		if (str_eq(s->variables[i].name, pipeline->declared[which])) {
			s->variables[i].value = *v;
			return true;
		}
	return execution_fail(s->x, "undefined variable " STR_FMT, STR_ARG(pipeline->declared[which]));
}

static bool run_commands(struct scope *s, const struct pipeline *pipeline, const struct value *dot, struct value *result)
{
	struct value piped;

	if (!s->x->steps)
		return execution_fail(s->x, "takes too many steps");
	s->x->steps--;
	for (const struct command *c = pipeline->first; c; c = c->next) {
		bool first = c == pipeline->first;

		if (c->first->kind == OPERAND_FUNCTION ? !run_call(s, c, dot, first ? NULL : &piped, result)
						       : !run_operand(s, c->first, dot, result))
			return false;
		piped = *result;
	}
	return true;
}

static bool run_pipeline(struct scope *s, const struct pipeline *pipeline, const struct value *dot, struct value *result)
{
	return run_commands(s, pipeline, dot, result) && (!pipeline->declared_count || scope_store(s, pipeline, 0, result));
}

/* ---- actions ---- */

static enum flow run_list(struct scope *s, const struct template_node *n, const struct value *dot);

static enum flow run_block(struct scope *s, const struct template_node *list, const struct value *dot)
{
	size_t outer = s->count;
	enum flow flow = run_list(s, list, dot);

	s->count = outer;
	return flow;
}

static enum flow run_condition(struct scope *s, const struct template_node *n, const struct value *dot)
{
	size_t outer = s->count;
	struct value v;

	if (!run_pipeline(s, n->pipeline, dot, &v))
		return FLOW_FAILED;
	bool truth = value_is_true(&v);
	enum flow flow = run_block(s, truth ? n->body : n->otherwise, truth && n->kind == TEMPLATE_WITH ? &v : dot);

	s->count = outer;
	return flow;
}

/* Element i of what range goes over: its key and value. */
static void element(const struct value *over, size_t i, struct value *key, struct value *value)
{
	*key = (struct value){ .kind = VALUE_INTEGER, .integer = (int64_t)i };
	if (over->kind == VALUE_SAMPLES) {
		*value = (struct value){ .kind = VALUE_SAMPLE, .samples = &over->samples[i] };
	} else if (over->kind == VALUE_MAP) {
		*key = (struct value){ .kind = VALUE_TEXT, .text = over->pairs[i].name };
		*value = (struct value){ .kind = VALUE_TEXT, .text = over->pairs[i].value };
	} else {
		*value = *key;
	}
}

static enum flow run_element(struct scope *s, const struct template_node *n, const struct value *over, size_t i)
{
	struct value key, value;
	const struct pipeline *p = n->pipeline;

	element(over, i, &key, &value);
	if (p->declared_count == 2 && (!scope_store(s, p, 0, &key) || !scope_store(s, p, 1, &value)))
		return FLOW_FAILED;
	if (p->declared_count == 1 && !scope_store(s, p, 0, &value))
		return FLOW_FAILED;
	return run_list(s, n->body, &value);
}

static enum flow run_range(struct scope *s, const struct template_node *n, const struct value *dot)
{
	size_t outer = s->count;
	enum flow flow = FLOW_ON;
	struct value over;

	if (!run_commands(s, n->pipeline, dot, &over))
		return FLOW_FAILED;
	if (over.kind != VALUE_SAMPLES && over.kind != VALUE_MAP && over.kind != VALUE_NIL) {
		execution_fail(s->x, "range can't iterate over %s", value_kind_name(&over));
		return FLOW_FAILED;
	}
	if (!over.count)
		return run_block(s, n->otherwise, dot);
	for (size_t i = 0; i < over.count && (flow == FLOW_ON || flow == FLOW_CONTINUE); i++) {
		flow = run_element(s, n, &over, i);
		s->count = outer;
	}
	return flow == FLOW_FAILED ? FLOW_FAILED : FLOW_ON;
}

static enum flow run_action(struct scope *s, const struct template_node *n, const struct value *dot)
{
	struct value v;

	if (!run_pipeline(s, n->pipeline, dot, &v))
		return FLOW_FAILED;
	return n->pipeline->declared_count || value_print(s->x, &v, s->x->out) ? FLOW_ON : FLOW_FAILED;
}

static enum flow run_list(struct scope *s, const struct template_node *n, const struct value *dot)
{
	enum flow flow = FLOW_ON;

	for (; n && flow == FLOW_ON; n = n->next) {
		switch (n->kind) {
		case TEMPLATE_TEXT: buf_add(s->x->out, n->text); break;
		case TEMPLATE_ACTION: flow = run_action(s, n, dot); break;
		case TEMPLATE_IF:
		case TEMPLATE_WITH: flow = run_condition(s, n, dot); break;
		case TEMPLATE_RANGE: flow = run_range(s, n, dot); break;
		case TEMPLATE_BREAK: return FLOW_BREAK;
		case TEMPLATE_CONTINUE: return FLOW_CONTINUE;
		}
		if (s->x->out->overflowed) {
			execution_fail(s->x, "the text is too long");
			return FLOW_FAILED;
		}
	}
	return flow;
}

bool template_execute(const struct template *t, const struct template_data *data, struct arena *scratch, struct buf *out, struct error *e)
{
	struct error local = { 0 };
	struct execution x = { .data = data, .arena = scratch, .out = out, .error = &local, .steps = STEPS_MAX };
	struct scope s = { .x = &x };
	const struct value root = { .kind = VALUE_ROOT }, labels = root_labels(data),
			   external = map_of(data->external, data->external_count),
			   url = { .kind = VALUE_TEXT, .text = data->external_url },
			   value = { .kind = VALUE_NUMBER, .number = data->value };

	scope_declare(&s, STR("$"), &root);
	scope_declare(&s, STR("$labels"), &labels);
	scope_declare(&s, STR("$externalLabels"), &external);
	scope_declare(&s, STR("$externalURL"), &url);
	scope_declare(&s, STR("$value"), &value);
	bool ok = run_list(&s, t->first, &root) != FLOW_FAILED;

	if (!ok && e)
		*e = local;
	return ok;
}
