/* expo: the exposition formats of /metrics pages: Prometheus text 0.0.4/1.0.0 and OpenMetrics 1.0.
 *
 * One grammar reads both; the format decides strictness (facts: shared promql.md section 11). The reader is made for the
 * steady state: successive pages of one target differ almost only in numbers, so a reader belongs to one target,
 * remembers the lines of the last page and only reads numbers where the text before them is unchanged.
 * Sans-IO: bytes in, samples out. Nothing here knows about targets, time or stores. */
#ifndef GOODPUT_EXPO_EXPO_H
#define GOODPUT_EXPO_EXPO_H

#include "base/error.h"
#include "base/str.h"
#include "model/series.h"

enum expo_format { EXPO_TEXT, EXPO_OPENMETRICS };

/* By content type; when that is missing or unknown, by content ("# EOF" at the end: OpenMetrics). */
enum expo_format expo_format_of(struct str content_type, struct str body);

#define EXPO_NO_TIME INT64_MIN
enum { EXPO_PAGE_MAX = 1 << 30 }; /* bytes */

/* One series of a target as exposed (without target labels). Lives as long as the reader or until expo_reader_reset. */
struct expo_series {
	struct labels *labels; /* with __name__; le and quantile normalised as Prometheus 3.x does where TYPE allows */
	enum metric_type type; /* of its family */
	struct str family;     /* name on the TYPE line, else the sample's own name */
	void *user;            /* the caller's, NULL at first: the store's series */
	/* Labels written with an empty value, which `labels` leaves out; NULL: none. Of the first writing of this series. */
	const struct str *empty;
	size_t empty_count;
};

struct expo_sample {
	struct expo_series *series;
	double value;
	int64_t t_ms; /* EXPO_NO_TIME when the line has none */
	uint32_t line;
};

struct expo_exemplar {
	uint32_t sample; /* index in samples */
	struct labels *labels;
	double value;
	int64_t t_ms;
};

struct expo_family {
	struct str name, help, unit; /* unescaped */
	enum metric_type type;
};

/* What one page held. Owned by the reader, valid until the next read. */
struct expo_page {
	enum expo_format format;
	const struct expo_sample *samples; /* page order; a second sample of a series without own time is left out and counted */
	size_t sample_count;
	const struct expo_exemplar *exemplars;
	size_t exemplar_count;
	const struct expo_family *families; /* of HELP, TYPE, UNIT lines, in order of first mention */
	size_t family_count;
	size_t series_known;        /* that the reader remembers, from all pages since expo_reader_reset: reset when many are gone */
	size_t duplicates;          /* samples left out as second ones */
	struct str first_duplicate; /* its series text, for the message */
	bool same_shape;            /* every line's series was the same as in the page before: samples[i].series unchanged for all i */
	/* A page with an error: samples hold its whole lines before the error. */
	struct error error;   /* .set; line, column, excerpt of the page */
	size_t dropped_lines; /* non-empty, non-comment lines from the error on */
};

struct expo_reader;
struct expo_reader *expo_reader_new(void);
void expo_reader_free(struct expo_reader *r);
/* Forgets remembered lines (all expo_series die). */
void expo_reader_reset(struct expo_reader *r);
/* Reads a whole page. Always returns the page; page->error tells. `source` is for the message.
 * The body is only read during the call. */
const struct expo_page *expo_read(struct expo_reader *r, struct str source, struct str body, enum expo_format format);
/* The page of the last expo_read, for what changes rarely (families); empty before the first. */
const struct expo_page *expo_reader_page(const struct expo_reader *r);

/* Writer: families in order given; sample lines of a family together. Text or OpenMetrics (with # EOF by expo_write_end).
 * `name` is the name on the TYPE line; in OpenMetrics a counter's loses "_total". A type that the classic text lacks becomes what
 * prometheus_client writes (info and stateset: gauge, gauge histogram: histogram), and it has no UNIT. A help without
 * ptr is no HELP line. The classic text cannot hold a time before 1970 so that Prometheus reads it back. */
struct expo_writer {
	struct buf *out;
	enum expo_format format;
};
void expo_write_family(struct expo_writer *w, struct str name, enum metric_type type, struct str help, struct str unit);
/* `labels` with __name__ as the sample's full name. */
void expo_write_sample(struct expo_writer *w, const struct labels *labels, double value, int64_t t_ms /* or EXPO_NO_TIME */);
void expo_write_end(struct expo_writer *w);

#endif
