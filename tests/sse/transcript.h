/* transcript: one recorded answer (NAME.jsonl) with the values that a correct client reports (NAME.json), see the fixtures' README. */
#ifndef GOODPUT_TESTS_TRANSCRIPT_H
#define GOODPUT_TESTS_TRANSCRIPT_H

#include "base/arena.h"
#include "openai/stream.h"

#include <jansson.h>

enum { TRANSCRIPT_CHOICES = 8 };

struct step {
	double t_ms;
	struct str bytes;  /* of a read; ptr NULL: an event */
	const char *event; /* "eof", "reset", "deadline", "refused" */
};

struct transcript {
	json_t *expected;
	struct step *steps;
	size_t count, bytes;
	bool is_http;
	struct buf known; /* the last text whose digest was computed */
	char digest[41];  /* of it */
};

/* False with a message on stderr. */
bool transcript_load(struct transcript *t, struct arena *arena, const char *json_path);
void transcript_fini(struct transcript *t);

/* How the reads are cut. */
struct cutting {
	size_t piece;       /* feed pieces of this many bytes; 0: whole reads */
	size_t step, split; /* cut this read at this byte; split 0: none */
	bool joined;        /* reads of the same moment as one */
};

/* What came of it. */
struct outcome {
	struct timeline timeline;
	struct openai_stream stream;
	struct openai_text texts[TRANSCRIPT_CHOICES];
	char request_id[64];
	bool keep_alive;
};

void outcome_init(struct outcome *o);
void outcome_fini(struct outcome *o);
void transcript_feed(const struct transcript *t, const struct cutting *cutting, struct outcome *o);

/* Compares with every expected value; prints "name: key: expected …, got … (how)" for each difference. Returns their number. */
size_t transcript_compare(struct transcript *t, const struct outcome *o, const char *name, const char *how);

#endif
