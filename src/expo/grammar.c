#include "expo/grammar.h"

#include <stdarg.h>
#include <stdio.h>

void series_text_init(struct series_text *s)
{
	*s = (struct series_text){ 0 };
	arena_init(&s->unescaped);
}

void series_text_fini(struct series_text *s)
{
	VEC_FREE(&s->labels);
	VEC_FREE(&s->places);
	arena_fini(&s->unescaped);
}

/* What kind of page this is, when it is none of ours: the usual wrong answers to a scrape. */
static bool explain_page(struct error *e, struct str body)
{
	struct str start = str_head(str_trim(str_head(body, 64)), 15);

	if (str_starts(start, STR("\x1f\x8b"))) {
		error_hint(e, "the page is gzip data: it must be unpacked first");
	} else if (start.len && start.ptr[0] == '<') {
		error_hint(e, "this is an HTML or XML page, not metrics: check the path, usually /metrics");
	} else if (str_starts(start, STR("{\n")) || str_starts(start, STR("{}")) || (start.len && start.ptr[0] == '[')) {
		error_hint(e, "this looks like JSON, not metrics: check the path, usually /metrics");
	} else {
		return false;
	}
	return true;
}

static bool line_ends_in_cr(struct str body, const char *at)
{
	const char *end = body.ptr + body.len, *feed = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;

	return feed && feed > body.ptr && feed[-1] == '\r';
}

bool grammar_fail(struct grammar *g, const char *at, const char *format, ...)
{
	char message[sizeof g->error->message];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	error_at(g->error, g->source, g->body, (size_t)(at - g->body.ptr), "%s", message);
	if (g->error->line == 1 && explain_page(g->error, g->body))
		return false;
	if (line_ends_in_cr(g->body, at))
		error_hint(g->error, "the line ends in CR LF: the exposition formats end lines with LF alone");
	return false;
}

struct str text_unescape(struct arena *arena, struct str s, bool quotes)
{
	if (!s.len || !memchr(s.ptr, '\\', s.len))
		return s;
	char *out = arena_alloc(arena, s.len + 1);
	size_t length = 0;

	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i], next = i + 1 < s.len ? s.ptr[i + 1] : '\0';

		if (c == '\\' && (next == '\\' || next == 'n' || (quotes && next == '"'))) {
			c = next == 'n' ? '\n' : next;
			i++;
		}
		out[length++] = c;
	}
	out[length] = '\0';
	return str_of(out, length);
}

void grammar_skip_blanks(struct grammar *g)
{
	while (g->at < g->end && is_blank(*g->at))
		g->at++;
}

/* Between the tokens of a series only the classic text has blanks. */
static void skip_inner_blanks(struct grammar *g)
{
	if (g->format == EXPO_TEXT)
		grammar_skip_blanks(g);
}

/* A classic name; empty when there is none. Only a metric's name may hold colons. */
static struct str take_name(struct grammar *g, bool colons)
{
	const char *start = g->at;

	while (g->at < g->end && (is_name_start(*g->at) || (colons && *g->at == ':') || (is_digit(*g->at) && g->at > start)))
		g->at++;
	return str_of(start, (size_t)(g->at - start));
}

size_t utf8_valid_length(struct str s)
{
	size_t at = 0;

	if (str_is_utf8(s))
		return s.len;
	/* Character by character, since a cut inside a character would look invalid too. */
	while (at < s.len) {
		size_t length = 1;

		while (length < 4 && at + length < s.len && ((unsigned char)s.ptr[at + length] & 0xc0) == 0x80)
			length++;
		if (!str_is_utf8(str_of(s.ptr + at, length)))
			break;
		at += length;
	}
	return at;
}

/* A text in double quotes, without them, still escaped. `what` names it in messages. */
static bool take_quoted(struct grammar *g, const char *what, struct str *text)
{
	const char *open = g->at, *at = g->at + 1;
	/* Prometheus takes a bare line feed in the classic text, though the format wants \n. */
	bool feeds = g->format == EXPO_TEXT;

	for (;; at++) {
		if (at >= g->end || (*at == '\n' && !feeds))
			return grammar_fail(g, open, "this %s has no closing quote", what);
		if (*at == '"')
			break;
		/* The second byte of an escape; not even there may a line end. */
		if (*at == '\\' && (++at >= g->end || *at == '\n'))
			return grammar_fail(g, open, "this %s has no closing quote", what);
	}
	*text = str_of(open + 1, (size_t)(at - open - 1));
	size_t valid = utf8_valid_length(*text);

	if (valid < text->len)
		return grammar_fail(g, open + 1 + valid, "this %s is not valid UTF-8", what);
	g->at = at + 1;
	return true;
}

bool grammar_metadata_name(struct grammar *g, struct arena *arena, struct str *name)
{
	const char *start = g->at;

	if (grammar_peek(g) == '"') {
		if (!take_quoted(g, "name", name))
			return false;
		*name = text_unescape(arena, *name, true);
	} else {
		*name = take_name(g, true);
	}
	return name->len || grammar_fail(g, start, "expected a metric's name");
}

static void push_label(struct series_text *s, struct str name, struct str value, const char *place)
{
	VEC_PUSH(&s->labels, (struct label){ name, value });
	VEC_PUSH(&s->places, place);
}

/* "name" alone inside the braces: the metric's name. */
static bool set_quoted_name(struct grammar *g, struct series_text *s, struct str name, const char *place)
{
	if (s->name.ptr)
		return grammar_fail(g, place, "a quoted text without '=' is the metric's name, but this sample has a name already");
	s->name = name;
	if (!name.len)
		return grammar_fail(g, place, "the metric's name is empty");
	s->labels.items[0] = (struct label){ LABEL_NAME, name };
	s->places.items[0] = place;
	return true;
}

static bool take_label_value(struct grammar *g, struct series_text *s, struct str name, const char *place)
{
	struct str value;

	skip_inner_blanks(g);
	if (!grammar_take(g, '='))
		return grammar_fail(g, g->at, "expected '=' after the label's name");
	skip_inner_blanks(g);
	if (grammar_peek(g) != '"')
		return grammar_fail(g, g->at, "expected the label's value in double quotes");
	if (!take_quoted(g, "label value", &value))
		return false;
	push_label(s, name, text_unescape(&s->unescaped, value, true), place);
	return true;
}

/* name="value", or "name"="value", or in a series "metric name". */
static bool take_label(struct grammar *g, struct series_text *s, bool exemplar)
{
	const char *place = g->at;
	struct str name;

	if (grammar_peek(g) == '"') {
		if (!take_quoted(g, "name", &name))
			return false;
		name = text_unescape(&s->unescaped, name, true);
		skip_inner_blanks(g);
		if (!exemplar && (grammar_peek(g) == ',' || grammar_peek(g) == '}'))
			return set_quoted_name(g, s, name, place);
		if (!name.len)
			return grammar_fail(g, place, "the label's name is empty");
	} else {
		name = take_name(g, false);
		if (!name.len)
			return grammar_fail(g, place, "expected a label's name");
	}
	return take_label_value(g, s, name, place);
}

/* From behind '{' to behind '}'. A comma may follow the last label; the classic text forgives a missing one. */
static bool take_labels(struct grammar *g, struct series_text *s, bool exemplar)
{
	const char *multi_line = NULL; /* a label whose value runs over a line's end, where a quote may be missing */

	for (;;) {
		skip_inner_blanks(g);
		if (grammar_take(g, '}'))
			return true;
		const char *place = g->at;

		if (!take_label(g, s, exemplar))
			return multi_line ? grammar_fail(g, multi_line, "this label's value has no closing quote on its line") : false;
		if (s->labels.count > GRAMMAR_LABELS_MAX)
			return grammar_fail(g, place, "more than %d labels", GRAMMAR_LABELS_MAX);
		if (!multi_line && memchr(place, '\n', (size_t)(g->at - place)))
			multi_line = place;
		skip_inner_blanks(g);
		if (!grammar_take(g, ',') && g->format == EXPO_OPENMETRICS && grammar_peek(g) != '}')
			return grammar_fail(g, g->at, "expected ',' or '}' after the label");
	}
}

/* A name given twice is an error, unless one of the values is empty: then the label is absent, as for Prometheus. */
static bool check_repeated(struct grammar *g, struct series_text *s, size_t index)
{
	struct label *label = &s->labels.items[index];

	for (struct label *other = s->labels.items; other < label; other++) {
		if (!str_eq(other->name, label->name))
			continue;
		if (other->value.len && label->value.len)
			return grammar_fail(
				g, s->places.items[index], "the label " STR_FMT " is given twice", STR_ARG(str_head(label->name, 100)));
		other->value = label->value = STR_EMPTY;
	}
	return true;
}

static void series_text_reset(struct series_text *s)
{
	s->labels.count = s->places.count = 0;
	s->name = STR_EMPTY;
	if (s->unescaped.total)
		arena_reset(&s->unescaped);
}

/* Why no sample can begin here. */
static bool fail_start(struct grammar *g)
{
	if (g->format == EXPO_OPENMETRICS && grammar_peek(g) == '\n')
		return grammar_fail(g, g->at, "OpenMetrics allows no blank line");
	if (g->format == EXPO_OPENMETRICS && is_blank(grammar_peek(g)))
		return grammar_fail(g, g->at, "OpenMetrics allows no blank before a sample");
	if ((unsigned char)grammar_peek(g) == 0xef)
		return grammar_fail(g, g->at, "expected a metric's name, not a byte order mark or another character outside ASCII");
	return grammar_fail(g, g->at, "expected a metric's name");
}

bool grammar_series(struct grammar *g, struct series_text *s)
{
	const char *start = g->at;

	series_text_reset(s);
	s->name = take_name(g, true);
	if (!s->name.len && grammar_peek(g) != '{')
		return fail_start(g);
	if (!s->name.len)
		s->name = STR_EMPTY;
	push_label(s, LABEL_NAME, s->name, start);
	const char *after_name = g->at;

	skip_inner_blanks(g);
	if (!grammar_take(g, '{'))
		g->at = after_name;
	else if (!take_labels(g, s, false))
		return false;
	s->raw = str_of(start, (size_t)(g->at - start));
	if (!s->name.ptr)
		return grammar_fail(g, start, "this sample has no metric name");
	for (size_t i = 1; i < s->labels.count; i++) {
		if (!check_repeated(g, s, i))
			return false;
	}
	return true;
}

bool grammar_exemplar_labels(struct grammar *g, struct series_text *s)
{
	const char *start = g->at;

	series_text_reset(s);
	if (!take_labels(g, s, true))
		return false;
	s->raw = str_of(start, (size_t)(g->at - start));
	return true;
}
