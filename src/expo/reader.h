/* reader: the state of one target's reader, shared by the full and the fast way to read a page. */
#ifndef GOODPUT_EXPO_READER_H
#define GOODPUT_EXPO_READER_H

#include "base/buf.h"
#include "expo/tables.h"

enum { LINE_NUMBER_MAX = 27, LINE_NO_SAMPLE = -1, READ_AHEAD = 64 };

/* One sample line of the last page. Its text is all between the line before and the value: comments, blanks, series. One
 * cache line. */
struct line {
	uint32_t text, text_len; /* in memory.text */
	uint32_t comment_len;    /* the part of the text in front of the series */
	uint32_t blocks;         /* lines up to here, this one included, with such a part */
	int32_t sample;          /* index in samples; LINE_NO_SAMPLE: left out as a second one */
	bool timed;
	uint8_t number_len;               /* 0: the value is not alone on its line, or longer than fits */
	char number[LINE_NUMBER_MAX + 1]; /* the value's text, then '\n' */
	struct series_record *record;
};
_Static_assert(sizeof(struct line) <= 64, "a remembered line is one cache line");

/* What is kept of a page. */
struct memory {
	struct buf text; /* with READ_AHEAD bytes of room behind it */
	VEC(struct line) lines;
	uint32_t tail, tail_len; /* what follows the last sample line */
	enum expo_format format;
	bool usable;
	/* Some series stands under two types on the page, so that what a line means for it depends on the other lines. */
	bool mixed;
};
void memory_init(struct memory *m);
void memory_fini(struct memory *m);

struct expo_reader {
	struct expo_page page;
	VEC(struct expo_sample) samples;
	VEC(struct expo_exemplar) exemplars;
	struct family_table families;
	struct series_table series;
	struct memory memory;
	struct series_text series_text, exemplar_text;
	struct arena line_arena; /* names of metadata lines */
	struct buf duplicate;
	uint64_t page_number;
};

void reader_forget_exemplars(struct expo_reader *r);
void reader_add_exemplar(struct expo_reader *r, size_t sample, const struct sample_tail *tail);

/* fast.c: the remembered lines against a new page. False when any text between the numbers differs, a time appears or vanishes,
 * or a value does not read; samples are then half changed. Allocates nothing unless there are exemplars. */
bool reader_read_fast(struct expo_reader *r, struct grammar *g);
/* full.c: any page. Fills all of r but the pointers in r->page. */
void reader_read_full(struct expo_reader *r, struct grammar *g);

#endif
