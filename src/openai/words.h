/* words: what a simulated model says. Token `index` of a text is a pure function of the text's seed, so nothing has to be kept.
 * One token is one word with a blank before it (the first has none), or a full stop. */
#ifndef GOODPUT_OPENAI_WORDS_H
#define GOODPUT_OPENAI_WORDS_H

#include "base/buf.h"

#include <stdint.h>

/* Appends tokens [from, to). */
void words_add(struct buf *out, uint64_t seed, uint32_t from, uint32_t to);

/* Where a text of at most `tokens` tokens, of which the first `keep` cannot end it, is ended by one of the stop strings. */
struct words_end {
	uint32_t tokens; /* said until the stop string was whole (or all) */
	size_t bytes;    /* of text that the client gets */
	bool stopped;
};
struct words_end words_find_stop(uint64_t seed, uint32_t tokens, uint32_t keep, const struct str *stops, size_t stop_count, bool include);

#endif
