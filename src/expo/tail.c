/* What stands behind a series: value, time, exemplar, the end of the line. */
#include "expo/grammar.h"

#include <math.h>

/* A value or a time: all up to a blank or the end of the line. */
static struct str take_word(struct grammar *g)
{
	const char *start = g->at;
	bool text = g->format == EXPO_TEXT;

	while (g->at < g->end && *g->at != '\n' && *g->at != ' ' && !(text && (*g->at == '\t' || *g->at == '{')))
		g->at++;
	return str_of(start, (size_t)(g->at - start));
}

static bool take_value(struct grammar *g, const char *what, struct str *text, double *value)
{
	*text = take_word(g);
	if (!text->len)
		return grammar_fail(g, g->at, "expected the %s's value", what);
	if (!value_parse(*text, value))
		return grammar_fail(g, text->ptr, "the %s's value \"" STR_FMT "\" is not a number", what, STR_ARG(str_head(*text, 60)));
	return true;
}

#define SECONDS_MAX 9.2e15

/* OpenMetrics: seconds, as a number of any form. */
static bool take_seconds(struct grammar *g, int64_t *t_ms)
{
	struct str text = take_word(g);
	double seconds;

	if (!number_parse(text, &seconds) || !isfinite(seconds))
		return grammar_fail(g, text.ptr, "the time \"" STR_FMT "\" is not a number of seconds", STR_ARG(str_head(text, 60)));
	/* What no clock shows is for the reader's caller to refuse; here it only has to fit. */
	if (fabs(seconds) > SECONDS_MAX)
		seconds = copysign(SECONDS_MAX, seconds);
	/* Cut to milliseconds as Prometheus does, but 1.001 is 1001, not the 1000.999... that the product gives. */
	*t_ms = (int64_t)(seconds * 1000 + copysign(1e-3, seconds));
	return true;
}

/* The classic text: milliseconds, digits only. */
static bool take_milliseconds(struct grammar *g, int64_t *t_ms)
{
	struct str text = take_word(g);

	if (!is_digit(*text.ptr) || !number_parse_i64(text, t_ms))
		return grammar_fail(
			g, text.ptr, "the time \"" STR_FMT "\" is not a whole number of milliseconds", STR_ARG(str_head(text, 60)));
	return true;
}

static bool take_line_end(struct grammar *g)
{
	if (grammar_take(g, '\n'))
		return true;
	if (g->at < g->end)
		return grammar_fail(g, g->at, "expected the end of the line");
	if (g->format == EXPO_OPENMETRICS)
		return grammar_fail(g, g->at, "the page ends inside a line; OpenMetrics ends with a line \"# EOF\"");
	return true;
}

static bool exemplar_here(const struct grammar *g)
{
	return g->format == EXPO_OPENMETRICS && g->end - g->at >= 4 && memcmp(g->at, " # {", 4) == 0;
}

/* From behind " # {". */
static bool take_exemplar(struct grammar *g, struct str name, struct sample_tail *tail, struct series_text *labels)
{
	struct str text;

	if (!str_ends(name, STR("_bucket")) && !str_ends(name, STR("_total")))
		return grammar_fail(g, g->at, "only samples called ..._total or ..._bucket can have an exemplar");
	g->at += 4;
	if (!grammar_exemplar_labels(g, labels))
		return false;
	if (!grammar_take(g, ' '))
		return grammar_fail(g, g->at, "expected one blank and the exemplar's value");
	if (!take_value(g, "exemplar", &text, &tail->exemplar_value))
		return false;
	tail->has_exemplar = true;
	tail->exemplar_t_ms = EXPO_NO_TIME;
	return !grammar_take(g, ' ') || take_seconds(g, &tail->exemplar_t_ms);
}

bool grammar_gap(struct grammar *g)
{
	if (g->format == EXPO_TEXT)
		grammar_skip_blanks(g);
	else if (!grammar_take(g, ' '))
		return grammar_fail(g, g->at, "expected one blank and the sample's value");
	return true;
}

bool grammar_tail(struct grammar *g, struct str name, struct sample_tail *tail, struct series_text *exemplar)
{
	tail->t_ms = EXPO_NO_TIME;
	tail->has_exemplar = false;
	if (!take_value(g, "sample", &tail->number, &tail->value))
		return false;
	tail->plain = g->at == g->end || *g->at == '\n';
	if (g->format == EXPO_TEXT) {
		grammar_skip_blanks(g);
		if (grammar_peek(g) != '\n' && !take_milliseconds(g, &tail->t_ms))
			return false;
		grammar_skip_blanks(g);
		return take_line_end(g);
	}
	if (!exemplar_here(g) && grammar_take(g, ' ') && !take_seconds(g, &tail->t_ms))
		return false;
	if (exemplar_here(g) && !take_exemplar(g, name, tail, exemplar))
		return false;
	return take_line_end(g);
}
