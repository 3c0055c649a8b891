#include "promql_script.h"
#include "base/clock.h"
#include "base/number.h"
#include "promql/syntax.h"

void script_init(struct script *s, struct arena *arena, struct str file, struct str text)
{
	*s = (struct script){ .arena = arena, .file = file, .rest = text };
}

/* A comment counts as an empty line. */
static bool next_line(struct script *s, struct str *line)
{
	if (!str_split(&s->rest, '\n', line))
		return false;
	s->line++;
	*line = str_trim(*line);
	if (str_starts(*line, STR("#")))
		line->len = 0;
	return true;
}

bool script_block_line(struct script *s, struct str *line)
{
	return next_line(s, line) && line->len;
}

static struct str next_word(struct str *rest)
{
	size_t len = 0;
	while (len < rest->len && rest->ptr[len] != ' ' && rest->ptr[len] != '\t')
		len++;
	struct str word = str_head(*rest, len);
	*rest = str_trim(str_skip(*rest, len));
	return word;
}

static bool next_time(struct str *rest, int64_t *ms)
{
	struct str word = next_word(rest);
	bool negative = str_starts(word, STR("-"));
	if (!duration_parse(negative ? str_skip(word, 1) : word, ms))
		return false;
	*ms = negative ? -*ms : *ms;
	return true;
}

static bool skip_word(struct str *rest, const char *word)
{
	return str_is(next_word(rest), word);
}

static bool eval_head(struct eval_command *c, struct str rest)
{
	struct str mode = next_word(&rest);
	c->range = str_is(mode, "range");
	if (!c->range && !str_is(mode, "instant"))
		return false;
	if (c->range ? !(skip_word(&rest, "from") && next_time(&rest, &c->start_ms) && skip_word(&rest, "to") &&
			       next_time(&rest, &c->end_ms) && skip_word(&rest, "step") && next_time(&rest, &c->step_ms))
		     : !(skip_word(&rest, "at") && next_time(&rest, &c->start_ms)))
		return false;
	c->query = rest;
	return true;
}

/* ---- expectations ---- */

static void expect_text(struct eval_command *c, enum expectation_kind kind, struct str rest)
{
	struct expected_text t = { .kind = kind };
	t.exact = str_starts(rest, STR("msg:"));
	t.pattern = str_starts(rest, STR("regex:"));
	if (t.exact || t.pattern)
		t.text = str_trim(str_skip(rest, t.exact ? 4 : 6));
	VEC_PUSH(&c->texts, t);
	c->fails |= kind == EXPECT_FAIL;
}

static bool expect_matrix(struct eval_command *c, struct str rest)
{
	int64_t end_ms;
	c->is_matrix = true;
	return skip_word(&rest, "vector") && skip_word(&rest, "from") && next_time(&rest, &c->matrix_start_ms) && skip_word(&rest, "to") &&
	       next_time(&rest, &end_ms) && skip_word(&rest, "step") && next_time(&rest, &c->matrix_step_ms);
}

static bool expect_line(struct script *s, struct eval_command *c, struct str rest)
{
	struct str what = next_word(&rest);
	char why[SYNTAX_WHY];
	if (str_is(what, "fail"))
		expect_text(c, EXPECT_FAIL, rest);
	else if (str_is(what, "warn"))
		expect_text(c, EXPECT_WARN, rest);
	else if (str_is(what, "info"))
		expect_text(c, EXPECT_INFO, rest);
	else if (str_is(what, "ordered"))
		c->ordered = true;
	else if (str_is(what, "no_warn"))
		c->no_warn = true;
	else if (str_is(what, "no_info"))
		c->no_info = true;
	else if (str_is(what, "range"))
		return expect_matrix(c, rest);
	else if (str_is(what, "string"))
		return (c->has_string = true) && rest.len >= 2 && syntax_unquote(s->arena, rest, &c->string, why);
	else
		return false;
	return true;
}

static bool eval_line(struct script *s, struct eval_command *c, struct str line, struct error *e)
{
	struct str rest = line, word = next_word(&rest);
	if (str_is(word, "expect"))
		return expect_line(s, c, rest) || error_set(e, EXIT_BAD_INPUT, "bad expectation");
	if (str_is(word, "expected_fail_message") || str_is(word, "expected_fail_regexp")) {
		bool exact = str_is(word, "expected_fail_message");
		VEC_PUSH(&c->texts, (struct expected_text){ EXPECT_FAIL, exact, !exact, rest });
		return true;
	}
	if (number_parse(line, &c->scalar)) {
		c->has_scalar = true;
		return true;
	}
	struct described_series series;
	bool ok = described_series_init(&series, s->arena, line, e);
	c->mentions_native |= series.has_native || str_search(line, STR("{{")) >= 0;
	VEC_PUSH(&c->series, series);
	return ok;
}

static bool eval_read(struct script *s, struct eval_command *c, struct str line, struct error *e)
{
	struct str rest = line, word = next_word(&rest);
	*c = (struct eval_command){ .line = s->line };
	if (!eval_head(c, rest))
		return error_set(e, EXIT_BAD_INPUT, "bad eval command");
	c->ordered = str_is(word, "eval_ordered");
	if (str_is(word, "eval_fail"))
		expect_text(c, EXPECT_FAIL, STR(""));
	if (str_is(word, "eval_warn"))
		expect_text(c, EXPECT_WARN, STR(""));
	if (str_is(word, "eval_info"))
		expect_text(c, EXPECT_INFO, STR(""));
	while (script_block_line(s, &line))
		if (!eval_line(s, c, line, e))
			return false;
	return true;
}

static enum command_kind command_error(struct script *s, struct str line, struct error *e)
{
	if (!e->set)
		error_set(e, EXIT_BAD_INPUT, "unknown command \"" STR_FMT "\"", STR_ARG(str_head(line, 80)));
	error_source(e, s->file);
	e->line = s->line;
	return COMMAND_ERROR;
}

enum command_kind script_next(struct script *s, struct eval_command *eval, int64_t *load_step_ms, bool *with_native, struct error *e)
{
	struct str line;
	while (next_line(s, &line)) {
		if (!line.len)
			continue;
		struct str rest = line, word = next_word(&rest);
		if (str_is(word, "clear"))
			return COMMAND_CLEAR;
		*with_native = str_is(word, "load_with_nhcb");
		if (*with_native || str_is(word, "load"))
			return duration_parse(rest, load_step_ms) ? COMMAND_LOAD : command_error(s, line, e);
		if (str_starts(word, STR("eval")))
			return eval_read(s, eval, line, e) ? COMMAND_EVAL : command_error(s, line, e);
		return command_error(s, line, e);
	}
	return COMMAND_END;
}

void eval_command_fini(struct eval_command *c)
{
	for (size_t i = 0; i < c->series.count; i++)
		described_series_fini(&c->series.items[i]);
	VEC_FREE(&c->series);
	VEC_FREE(&c->texts);
}
