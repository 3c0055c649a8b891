/* snappy: the block format (not the framed one), as remote write uses it. Sans-IO. */
#ifndef GOODPUT_EXPO_SNAPPY_H
#define GOODPUT_EXPO_SNAPPY_H

#include "base/buf.h"
#include "base/error.h"

/* Appends the decompressed block to `out`. False when it is not whole and valid, or would be longer than `max` bytes (known before anything
 * is written). */
bool snappy_decode(struct str block, size_t max, struct buf *out, struct error *e);
/* Appends the compressed form of `text`. Finds what repeats within 64 KiB; never longer than the text by more than 1/60 and 10 bytes. */
void snappy_encode(struct str text, struct buf *out);

#endif
