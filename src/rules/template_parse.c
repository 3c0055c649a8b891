/* Reading a template: text and actions, by recursive descent. */
#include "rules/template_parse.h"

#include <ctype.h>
#include <stdio.h>

enum { DEPTH_MAX = 50, FIELDS_MAX = 16 };

bool template_fail(struct template_parser *p, size_t offset, const char *format, ...)
{
	char message[200];
	size_t line = 1, column = 1;
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	for (size_t i = 0; i < offset && i < p->text.len; i++) {
		column = p->text.ptr[i] == '\n' ? 1 : column + 1;
		line += p->text.ptr[i] == '\n';
	}
	return error_set(p->error, EXIT_BAD_INPUT, "template: %zu:%zu: %s", line, column, message);
}

static struct str rest_of(const struct template_parser *p)
{
	return str_skip(p->text, p->at);
}

char template_peek(const struct template_parser *p)
{
	return p->at < p->text.len ? p->text.ptr[p->at] : '\0';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool template_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static void skip_blanks(struct template_parser *p)
{
	while (p->at < p->text.len && is_blank(p->text.ptr[p->at]))
		p->at++;
}

static struct str take_word(struct template_parser *p)
{
	size_t start = p->at;

	while (p->at < p->text.len && template_is_word(p->text.ptr[p->at]))
		p->at++;
	return str_of(p->text.ptr + start, p->at - start);
}

/* At "}}" or "-}}"? */
static bool at_close(const struct template_parser *p)
{
	struct str rest = rest_of(p);

	return str_starts(rest, STR("}}")) || (p->at && is_blank(p->text.ptr[p->at - 1]) && str_starts(rest, STR("-}}")));
}

static bool take_close(struct template_parser *p)
{
	skip_blanks(p);
	if (!at_close(p)) {
		if (p->at >= p->text.len)
			return template_fail(p, p->at, "unclosed action: \"}}\" is missing");
		return template_fail(p, p->at, "unexpected \"%c\" in an action", template_peek(p));
	}
	p->trim_next = template_peek(p) == '-';
	p->at += p->trim_next ? 3 : 2;
	return true;
}

/* ---- operands ---- */

static struct pipeline *parse_pipeline(struct template_parser *p, bool in_range);

/* ".a.b" right behind an operand. */
static bool take_fields(struct template_parser *p, struct operand *o)
{
	struct str fields[FIELDS_MAX];

	while (template_peek(p) == '.') {
		p->at++;
		if (!template_is_word(template_peek(p)))
			return template_fail(p, p->at, "a field name is missing after \".\"");
		if (o->field_count == FIELDS_MAX)
			return template_fail(p, p->at, "too many fields in a row");
		fields[o->field_count++] = take_word(p);
	}
	o->fields = ARENA_ARRAY(p->arena, struct str, o->field_count);
	for (size_t i = 0; i < o->field_count; i++)
		o->fields[i] = fields[i];
	return true;
}

static bool parse_variable(struct template_parser *p, struct operand *o)
{
	size_t start = p->at++;

	take_word(p);
	o->kind = OPERAND_VARIABLE;
	o->text = str_of(p->text.ptr + start, p->at - start);
	for (size_t i = 0; i < p->variable_count; i++)
		if (str_eq(p->variables[i], o->text))
			return take_fields(p, o);
	return template_fail(p, start, "undefined variable \"" STR_FMT "\"", STR_ARG(o->text));
}

static bool parse_word(struct template_parser *p, struct operand *o)
{
	size_t start = p->at;
	struct str word = take_word(p);

	if (str_is(word, "true") || str_is(word, "false")) {
		o->kind = OPERAND_BOOL;
		o->integer = str_is(word, "true");
	} else if (str_is(word, "nil")) {
		o->kind = OPERAND_NIL;
	} else {
		o->kind = OPERAND_FUNCTION;
		o->function = template_function_find(word);
		if (!o->function)
			return template_fail(p, start, "function \"" STR_FMT "\" not defined", STR_ARG(word));
	}
	return true;
}

static bool parse_parenthesis(struct template_parser *p, struct operand *o)
{
	size_t start = p->at++;

	o->kind = OPERAND_PIPELINE;
	o->pipeline = parse_pipeline(p, false);
	if (!o->pipeline)
		return false;
	skip_blanks(p);
	if (template_peek(p) != ')')
		return template_fail(p, start, "unclosed left parenthesis");
	p->at++;
	return take_fields(p, o);
}

static bool parse_operand_at(struct template_parser *p, struct operand *o)
{
	char c = template_peek(p), after = p->at + 1 < p->text.len ? p->text.ptr[p->at + 1] : '\0';

	if (c == '"') {
		o->kind = OPERAND_TEXT;
		return template_take_quoted(p, '"', &o->text);
	}
	if (c == '`') {
		o->kind = OPERAND_TEXT;
		return template_take_raw(p, &o->text);
	}
	if (c == '\'')
		return template_take_character(p, o);
	if (c == '$')
		return parse_variable(p, o);
	if (c == '(')
		return parse_parenthesis(p, o);
	if (isdigit((unsigned char)c) || ((c == '.' || c == '-' || c == '+') && isdigit((unsigned char)after)))
		return template_take_number(p, o);
	if (c == '.') {
		o->kind = OPERAND_DOT;
		if (template_is_word(after))
			return take_fields(p, o);
		p->at++;
		return true;
	}
	if (template_is_word(c))
		return parse_word(p, o);
	return p->at >= p->text.len ? template_fail(p, p->at, "unclosed action: \"}}\" is missing")
				    : template_fail(p, p->at, "unexpected \"%c\" in an action", c);
}

static struct operand *parse_operand(struct template_parser *p)
{
	struct operand *o = ARENA_NEW(p->arena, struct operand);

	if (++p->depth > DEPTH_MAX) {
		template_fail(p, p->at, "nested more than %d deep", DEPTH_MAX);
		return NULL;
	}
	bool ok = parse_operand_at(p, o);

	p->depth--;
	return ok ? o : NULL;
}

/* ---- pipelines ---- */

static bool command_ends(const struct template_parser *p)
{
	char c = template_peek(p);

	return p->at >= p->text.len || c == '|' || c == ')' || at_close(p);
}

static struct command *parse_command(struct template_parser *p)
{
	struct command *c = ARENA_NEW(p->arena, struct command);
	struct operand **tail = &c->first;
	size_t start, args = 0;

	for (skip_blanks(p), start = p->at; !command_ends(p); skip_blanks(p)) {
		if (c->first && p->at && !is_blank(p->text.ptr[p->at - 1]) && p->text.ptr[p->at - 1] != ')' && template_peek(p) != '(') {
			template_fail(p, p->at, "a blank is missing between operands");
			return NULL;
		}
		*tail = parse_operand(p);
		if (!*tail)
			return NULL;
		tail = &(*tail)->next;
		args++;
	}
	if (!c->first)
		template_fail(p, start, "missing value for command");
	else if (args > 1 && c->first->kind != OPERAND_FUNCTION)
		template_fail(p, start, "arguments are given to what is no function");
	else
		return c;
	return NULL;
}

/* "$a :=", "$i, $a :=" or "$a =" before a pipeline; nothing is taken when it is none. */
static bool parse_declaration(struct template_parser *p, struct pipeline *pipeline, bool in_range)
{
	size_t start = p->at, count = 0;
	struct str names[2];

	while (template_peek(p) == '$' && count < 2) {
		size_t name = p->at++;

		take_word(p);
		names[count++] = str_of(p->text.ptr + name, p->at - name);
		skip_blanks(p);
		if (!in_range || template_peek(p) != ',')
			break;
		p->at++;
		skip_blanks(p);
	}
	bool declares = str_starts(rest_of(p), STR(":=")), assigns = template_peek(p) == '=';

	if (!count || (!declares && !assigns)) {
		p->at = start;
		return true;
	}
	p->at += declares ? 2 : 1;
	pipeline->assigns = assigns;
	pipeline->declared_count = count;
	for (size_t i = 0; i < count; i++)
		pipeline->declared[i] = names[i];
	for (size_t i = 0; assigns && i < count; i++) {
		size_t known = 0;

		while (known < p->variable_count && !str_eq(p->variables[known], names[i]))
			known++;
		if (known == p->variable_count)
			return template_fail(p, start, "undefined variable \"" STR_FMT "\"", STR_ARG(names[i]));
	}
	return true;
}

static bool declare(struct template_parser *p, const struct pipeline *pipeline)
{
	for (size_t i = 0; !pipeline->assigns && i < pipeline->declared_count; i++) {
		if (p->variable_count == TEMPLATE_VARIABLES_MAX)
			return template_fail(p, p->at, "more than %d variables", TEMPLATE_VARIABLES_MAX);
		p->variables[p->variable_count++] = pipeline->declared[i];
	}
	return true;
}

static struct pipeline *parse_pipeline(struct template_parser *p, bool in_range)
{
	struct pipeline *pipeline = ARENA_NEW(p->arena, struct pipeline);
	struct command **tail = &pipeline->first;

	skip_blanks(p);
	if (!parse_declaration(p, pipeline, in_range))
		return NULL;
	for (;;) {
		size_t start = p->at;

		*tail = parse_command(p);
		if (!*tail)
			return NULL;
		if (tail != &pipeline->first && (*tail)->first->kind != OPERAND_FUNCTION) {
			template_fail(p, start, "what follows \"|\" must be a function");
			return NULL;
		}
		tail = &(*tail)->next;
		skip_blanks(p);
		if (template_peek(p) != '|')
			break;
		p->at++;
	}
	return declare(p, pipeline) ? pipeline : NULL;
}

/* ---- actions and text ---- */

enum list_end { END_OF_TEXT, END_OF_BLOCK, END_AT_ELSE };

static bool parse_list(struct template_parser *p, struct template_node **first, enum list_end *end);

/* Behind "else": "}}", or " if ...", " with ..." that share the end. */
static bool parse_otherwise(struct template_parser *p, struct template_node *n);

static bool parse_block(struct template_parser *p, struct template_node *n)
{
	size_t outer = p->variable_count;
	enum list_end end;

	n->pipeline = parse_pipeline(p, n->kind == TEMPLATE_RANGE);
	if (!n->pipeline || !take_close(p))
		return false;
	p->loops += n->kind == TEMPLATE_RANGE;
	if (!parse_list(p, &n->body, &end))
		return false;
	p->loops -= n->kind == TEMPLATE_RANGE;
	if (end == END_OF_TEXT)
		return template_fail(p, n->offset, "the action is not closed by {{end}}");
	if (end == END_AT_ELSE && !parse_otherwise(p, n))
		return false;
	p->variable_count = outer;
	return true;
}

static bool parse_otherwise(struct template_parser *p, struct template_node *n)
{
	enum list_end end;

	skip_blanks(p);
	if (at_close(p)) {
		if (!take_close(p) || !parse_list(p, &n->otherwise, &end))
			return false;
		return end == END_OF_BLOCK ||
		       template_fail(p, n->offset, end == END_AT_ELSE ? "more than one {{else}}" : "the action is not closed by {{end}}");
	}
	size_t start = p->at;
	struct str word = take_word(p);

	if (!str_is(word, "if") && !str_is(word, "with"))
		return template_fail(p, start, "after else comes \"}}\" or \"if\"");
	n->otherwise = ARENA_NEW(p->arena, struct template_node);
	n->otherwise->kind = str_is(word, "if") ? TEMPLATE_IF : TEMPLATE_WITH;
	n->otherwise->offset = n->offset;
	if (++p->depth > DEPTH_MAX)
		return template_fail(p, start, "nested more than %d deep", DEPTH_MAX);
	bool ok = parse_block(p, n->otherwise);

	p->depth--;
	return ok;
}

static bool skip_comment(struct template_parser *p)
{
	size_t start = p->at;
	ptrdiff_t end = str_search(rest_of(p), STR("*/"));

	if (end < 0)
		return template_fail(p, start, "unclosed comment");
	p->at += (size_t)end + 2;
	return take_close(p);
}

/* An action's keyword, when it is one. */
static bool parse_keyword(struct template_parser *p, struct template_node *n, bool *taken, enum list_end *end, bool *ended)
{
	size_t start = p->at;
	struct str word = take_word(p);

	*taken = true;
	*ended = false;
	if (str_is(word, "if") || str_is(word, "with") || str_is(word, "range")) {
		n->kind = word.ptr[0] == 'i' ? TEMPLATE_IF : word.ptr[0] == 'w' ? TEMPLATE_WITH : TEMPLATE_RANGE;
		if (++p->depth > DEPTH_MAX)
			return template_fail(p, start, "nested more than %d deep", DEPTH_MAX);
		bool ok = parse_block(p, n);

		p->depth--;
		return ok;
	}
	if (str_is(word, "end") || str_is(word, "else")) {
		*ended = true;
		*end = str_is(word, "end") ? END_OF_BLOCK : END_AT_ELSE;
		return *end == END_AT_ELSE || take_close(p);
	}
	if (str_is(word, "break") || str_is(word, "continue")) {
		n->kind = word.ptr[0] == 'b' ? TEMPLATE_BREAK : TEMPLATE_CONTINUE;
		return p->loops ? take_close(p) : template_fail(p, start, "{{" STR_FMT "}} outside {{range}}", STR_ARG(word));
	}
	if (str_is(word, "define") || str_is(word, "template") || str_is(word, "block")) {
		return template_fail(p, start, "{{" STR_FMT "}} is not supported here: write its text out", STR_ARG(word));
	}
	p->at = start;
	*taken = false;
	return true;
}

/* Behind "{{". */
static bool parse_action(struct template_parser *p, struct template_node *n, enum list_end *end, bool *ended)
{
	bool taken;

	*ended = false;
	skip_blanks(p);
	if (str_starts(rest_of(p), STR("/*"))) {
		n->kind = TEMPLATE_TEXT;
		return skip_comment(p);
	}
	if (!parse_keyword(p, n, &taken, end, ended) || taken)
		return p->error->set ? false : true;
	n->kind = TEMPLATE_ACTION;
	n->pipeline = parse_pipeline(p, false);
	return n->pipeline && take_close(p);
}

/* Text up to the next action, without the blanks that trim marks take. */
static struct str take_text(struct template_parser *p, bool *action)
{
	ptrdiff_t found = str_search(rest_of(p), STR("{{"));
	struct str text = str_head(rest_of(p), found < 0 ? SIZE_MAX : (size_t)found);

	p->at += text.len;
	while (p->trim_next && text.len && is_blank(*text.ptr))
		text = str_skip(text, 1);
	p->trim_next = false;
	*action = found >= 0;
	if (!*action)
		return text;
	p->at += 2;
	if (template_peek(p) == '-' && p->at + 1 < p->text.len && is_blank(p->text.ptr[p->at + 1])) {
		p->at += 2;
		while (text.len && is_blank(text.ptr[text.len - 1]))
			text.len--;
	}
	return text;
}

static bool parse_list(struct template_parser *p, struct template_node **tail, enum list_end *end)
{
	size_t outer = p->variable_count;

	for (;;) {
		bool action, ended;
		struct template_node *n = ARENA_NEW(p->arena, struct template_node);
		size_t offset = p->at;

		n->text = take_text(p, &action);
		n->offset = offset;
		if (n->text.len) {
			*tail = n;
			tail = &n->next;
		}
		if (!action) {
			*end = END_OF_TEXT;
			return true;
		}
		n = ARENA_NEW(p->arena, struct template_node);
		n->offset = p->at;
		if (!parse_action(p, n, end, &ended))
			return false;
		if (ended) {
			p->variable_count = outer;
			return true;
		}
		*tail = n;
		tail = &n->next;
	}
}

struct template *template_parse(struct arena *arena, struct str text, struct error *e)
{
	struct error local = { 0 };
	struct template_parser p = { .arena = arena,
		.text = arena_str(arena, text),
		.error = &local,
		.variables = { STR("$"), STR("$labels"), STR("$externalLabels"), STR("$externalURL"), STR("$value") },
		.variable_count = 5 };
	struct template *t = ARENA_NEW(arena, struct template);
	enum list_end end;

	t->text = p.text;
	if (parse_list(&p, &t->first, &end) && end != END_OF_TEXT)
		template_fail(&p, p.at, end == END_OF_BLOCK ? "unexpected {{end}}" : "unexpected {{else}}");
	if (local.set && e)
		*e = local;
	return local.set ? NULL : t;
}
