#include "expo/grammar.h"

static struct str line_here(const struct grammar *g)
{
	const char *feed = memchr(g->at, '\n', (size_t)(g->end - g->at));

	return str_of(g->at, (size_t)((feed ? feed : g->end) - g->at));
}

static bool type_parse(struct str word, enum expo_format format, enum metric_type *type)
{
	static const struct {
		const char *word;
		enum metric_type type;
		bool text, openmetrics;
	} types[] = {
		{ "counter", METRIC_COUNTER, true, true },
		{ "gauge", METRIC_GAUGE, true, true },
		{ "histogram", METRIC_HISTOGRAM, true, true },
		{ "summary", METRIC_SUMMARY, true, true },
		{ "untyped", METRIC_UNKNOWN, true, false },
		{ "unknown", METRIC_UNKNOWN, false, true },
		{ "gaugehistogram", METRIC_GAUGE_HISTOGRAM, false, true },
		{ "info", METRIC_INFO, false, true },
		{ "stateset", METRIC_STATESET, false, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (str_is(word, types[i].word)) {
			*type = types[i].type;
			return format == EXPO_TEXT ? types[i].text : types[i].openmetrics;
		}
	}
	return false;
}

static bool check_type(struct grammar *g, struct metadata *m)
{
	if (type_parse(m->text, g->format, &m->type))
		return true;
	if (str_ends(m->text, STR("\r")))
		return grammar_fail(g, m->text.ptr + m->text.len - 1, "a carriage return (Windows line end): lines end with \\n alone");
	grammar_fail(g, m->text.ptr, "\"" STR_FMT "\" is no metric type here", STR_ARG(str_head(m->text, 60)));
	if (!g->error->hint[0])
		error_hint(g->error, "%s",
			g->format == EXPO_TEXT ? "counter, gauge, histogram, summary or untyped"
					       : "counter, gauge, histogram, gaugehistogram, summary, info, stateset or unknown");
	return false;
}

static bool check_help(struct grammar *g, const struct metadata *m)
{
	size_t valid = utf8_valid_length(m->text);

	return valid == m->text.len || grammar_fail(g, m->text.ptr + valid, "this HELP text is not valid UTF-8");
}

/* A unit must end the name, behind '_'. */
static bool check_unit(struct grammar *g, const struct metadata *m)
{
	size_t unit = m->text.len, name = m->name.len;

	if (unit && (name <= unit || !str_ends(m->name, m->text) || m->name.ptr[name - unit - 1] != '_'))
		return grammar_fail(
			g, m->text.ptr, "the unit \"" STR_FMT "\" is not the last part of the name", STR_ARG(str_head(m->text, 60)));
	return true;
}

static bool check_metadata(struct grammar *g, struct metadata *m)
{
	switch (m->kind) {
	case METADATA_TYPE: return check_type(g, m);
	case METADATA_HELP: return check_help(g, m);
	case METADATA_UNIT: return check_unit(g, m);
	default: return true;
	}
}

/* From the name on: NAME, one blank, the text up to the end of the line. */
static bool take_name_and_text(struct grammar *g, struct arena *arena, struct metadata *m)
{
	if (!grammar_metadata_name(g, arena, &m->name))
		return false;
	struct str rest = line_here(g);

	if (g->format == EXPO_OPENMETRICS && (!rest.len || rest.ptr[0] != ' '))
		return grammar_fail(g, g->at, "expected one blank and a text after the name");
	if (g->format == EXPO_OPENMETRICS && rest.ptr + rest.len == g->end)
		return grammar_fail(g, g->end, "the page ends inside a line; OpenMetrics ends with a line \"# EOF\"");
	/* The classic text takes whatever ends the name as the blank, as Prometheus does. */
	m->text = str_skip(rest, 1);
	return check_metadata(g, m);
}

static enum metadata_kind keyword_kind(struct str keyword, enum expo_format format)
{
	if (str_is(keyword, "HELP"))
		return METADATA_HELP;
	if (str_is(keyword, "TYPE"))
		return METADATA_TYPE;
	return format == EXPO_OPENMETRICS && str_is(keyword, "UNIT") ? METADATA_UNIT : METADATA_NONE;
}

static void skip_line(struct grammar *g)
{
	struct str line = line_here(g);

	g->at = line.ptr + line.len + (line.ptr + line.len < g->end);
}

static bool take_eof(struct grammar *g, struct metadata *m)
{
	g->at += STR("# EOF").len;
	if (g->at < g->end && *g->at == '\n')
		g->at++;
	if (g->at < g->end)
		return grammar_fail(g, g->at, "there is text after \"# EOF\"");
	m->kind = METADATA_EOF;
	return true;
}

/* '#', blanks, a word and a blank: is the word a keyword? Moves behind the blank if so. */
static enum metadata_kind take_keyword(struct grammar *g)
{
	const char *start = g->at++;

	if (g->format == EXPO_TEXT)
		grammar_skip_blanks(g);
	else if (g->at < g->end && *g->at == ' ')
		g->at++;
	struct str keyword = str_of(g->at, g->end - g->at < 4 ? 0 : 4);
	enum metadata_kind kind = keyword.ptr > start + 1 ? keyword_kind(keyword, g->format) : METADATA_NONE;
	const char *behind = g->at + keyword.len;

	if (kind == METADATA_NONE || behind == g->end || !(*behind == ' ' || (g->format == EXPO_TEXT && *behind == '\t'))) {
		g->at = start;
		return METADATA_NONE;
	}
	g->at = behind + 1;
	if (g->format == EXPO_TEXT)
		grammar_skip_blanks(g);
	return kind;
}

bool grammar_metadata(struct grammar *g, struct arena *arena, struct metadata *m)
{
	*m = (struct metadata){ .quotes_escaped = g->format == EXPO_OPENMETRICS };
	if (g->format == EXPO_OPENMETRICS && str_starts(str_of(g->at, (size_t)(g->end - g->at)), STR("# EOF")))
		return take_eof(g, m);
	m->kind = take_keyword(g);
	if (m->kind == METADATA_NONE && g->format == EXPO_OPENMETRICS)
		return grammar_fail(g, g->at, "OpenMetrics allows no comments: expected # HELP, # TYPE, # UNIT or # EOF");
	if (m->kind != METADATA_NONE && !take_name_and_text(g, arena, m))
		return false;
	skip_line(g);
	return true;
}
