/* reader: the state of one target's reader, shared by the full and the fast way to read a page. */
#ifndef GOODPUT_EXPO_READER_H
#define GOODPUT_EXPO_READER_H

#include "base/buf.h"
#include "expo/tables.h"

enum { LINE_NUMBER_MAX = 31, LINE_NO_SAMPLE = -1, READ_AHEAD = 64 };

/* One sample line of the last page. Its text is all between the line before and the value: comments, blanks, series. */
struct line {
	uint32_t text, text_len; /* in memory.text */
	uint32_t comment_len;    /* the part of the text in front of the series */
	uint32_t families;       /* mentioned on the page up to here */
	int32_t sample;          /* index in samples; LINE_NO_SAMPLE: left out as a second one */
	bool timed;
	uint8_t number_len;               /* 0: the value is not alone on its line, or longer than fits */
	char number[LINE_NUMBER_MAX + 1]; /* the value's text, then '\n' */
	struct series_record *record;
};

struct memory {
	struct buf text; /* with READ_AHEAD bytes of room behind it */
	VEC(struct line) lines;
	uint32_t tail, tail_len; /* what follows the last sample line */
	enum expo_format format;
	bool usable;
};

struct expo_reader {
	struct expo_page page;
	VEC(struct expo_sample) samples, last_samples;
	VEC(struct expo_exemplar) exemplars;
	struct family_table families;
	struct series_table series;
	struct memory memory;
	struct series_text series_text, exemplar_text;
	struct arena line_arena; /* names of metadata lines */
	struct buf duplicate;
	uint64_t page_number;
};

void reader_add_exemplar(struct expo_reader *r, size_t sample, const struct sample_tail *tail);
/* The remembered lines against a new page: false when any text between the numbers differs, an exemplar appears or vanishes, or a value
 * does not read. Samples are then half changed. Neither allocates nor sets an error. */
bool reader_read_fast(struct expo_reader *r, struct grammar *g);

#endif
