/* grammar: the text of one sample, one metadata line. No state between lines: the caller keeps it.
 *
 * Where Prometheus's lexers differ between the formats, so does this: the classic text takes runs of blanks between
 * tokens and forgives a missing comma between labels; OpenMetrics wants exactly one blank. */
#ifndef GOODPUT_EXPO_GRAMMAR_H
#define GOODPUT_EXPO_GRAMMAR_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "expo/expo.h"

enum { GRAMMAR_LABELS_MAX = 256 }; /* of one sample; they are compared pair by pair */

struct grammar {
	struct str source, body;
	enum expo_format format;
	const char *at, *end; /* the rest of the body */
	struct error *error;
};

/* The series of a sample, or the labels of an exemplar. Slices point into the body, or into `unescaped`. Reused from line to line. */
struct series_text {
	struct str raw;           /* as on the page */
	struct str name;          /* unescaped */
	VEC(struct label) labels; /* a series has __name__ first */
	VEC(const char *) places; /* where on the page labels.items[i] stands */
	struct arena unescaped;
};
void series_text_init(struct series_text *s);
void series_text_fini(struct series_text *s);

/* What follows a series. */
struct sample_tail {
	struct str number; /* the value's text */
	double value;
	int64_t t_ms; /* or EXPO_NO_TIME */
	bool plain;   /* nothing but a value and the end of the line */
	bool has_exemplar;
	double exemplar_value;
	int64_t exemplar_t_ms;
};

enum metadata_kind { METADATA_NONE /* a comment */, METADATA_HELP, METADATA_TYPE, METADATA_UNIT, METADATA_EOF };
struct metadata {
	enum metadata_kind kind;
	struct str name;     /* unescaped, in the arena or on the page */
	struct str text;     /* HELP still escaped */
	bool quotes_escaped; /* in HELP \" stands for ", as OpenMetrics has it */
	enum metric_type type;
};

/* All read from g->at and leave it behind what they read, or return false with g->error set. */
bool grammar_series(struct grammar *g, struct series_text *s);
/* The blanks between series and value. */
bool grammar_gap(struct grammar *g);
/* From the value's first byte to behind the end of the line. The exemplar's labels go into `exemplar`. */
bool grammar_tail(struct grammar *g, struct str name, struct sample_tail *tail, struct series_text *exemplar);
/* A line that begins with '#'. In OpenMetrics anything but metadata is an error, and so is text behind "# EOF". */
bool grammar_metadata(struct grammar *g, struct arena *arena, struct metadata *m);

/* Parts of the above. */
bool grammar_exemplar_labels(struct grammar *g, struct series_text *s); /* from behind '{' to behind '}' */
bool grammar_metadata_name(struct grammar *g, struct arena *arena, struct str *name);
void grammar_skip_blanks(struct grammar *g);

/* The value as Prometheus reads it: number_parse, and a NaN is always the one ordinary NaN. */
static inline bool value_parse(struct str s, double *value)
{
	if (!number_parse(s, value))
		return false;
	if (*value != *value)
		*value = number_nan();
	return true;
}

/* The offset of the first byte that is not valid UTF-8; s.len when all is. */
size_t utf8_valid_length(struct str s);
/* Replaces \\, \" and \n (`quotes` false: not \"); another backslash stays. Copies only when there is one. */
struct str text_unescape(struct arena *arena, struct str s, bool quotes);
/* An error at a byte of the page; false. */
bool grammar_fail(struct grammar *g, const char *at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The next byte; the end of the page looks like the end of a line. */
static inline char grammar_peek(const struct grammar *g)
{
	return g->at < g->end ? *g->at : '\n';
}
static inline bool grammar_take(struct grammar *g, char c)
{
	bool here = g->at < g->end && *g->at == c;

	g->at += here;
	return here;
}

static inline bool is_name_start(char c)
{
	return (c | 0x20) - 'a' < 26u || c == '_';
}
static inline bool is_digit(char c)
{
	return c - '0' < 10u;
}
static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

#endif
