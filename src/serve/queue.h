/* queue: what is to be sent to another engine by remote write, on disk, until it was taken there.
 *
 * A folder holds files of numbered batches, each a whole compressed request with its length and checksum, and the place up to which all was
 * sent. One thread appends, one sends. What was appended before queue_flush returned true is sent, over restarts of either side; at most
 * the batch that was on its way at a crash is sent twice. Above its size limit the queue drops its oldest file, and counts what was in it.
 */
#ifndef GOODPUT_SERVE_QUEUE_H
#define GOODPUT_SERVE_QUEUE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct queue;
struct queue_options {
	uint64_t file_bytes; /* 0: 16 MiB. A new file is begun above it */
	uint64_t most_bytes; /* 0: 4 GiB */
};
/* Makes the folder. What a crash left half written at the end is cut off. */
struct queue *queue_open(const char *folder, const struct queue_options *options, struct error *e);
void queue_close(struct queue *q);
/* Appends a batch of `samples` samples, the oldest of which is of t_ms. False when the disk does not take it: it was not appended. */
bool queue_append(struct queue *q, struct str body, uint32_t samples, int64_t t_ms, struct error *e);

struct queue_batch {
	struct str body; /* in the arena */
	uint32_t samples;
	int64_t t_ms;
	uint64_t file, end; /* where it ends */
};
/* The oldest batch that was not sent. Waits for one at most so long; false when there is none. */
bool queue_next(struct queue *q, struct arena *arena, struct queue_batch *batch, int64_t wait_ms);
/* It was sent, or given up: the place is written down, files that are done are removed. */
void queue_done(struct queue *q, const struct queue_batch *batch);
/* Ends a wait. */
void queue_wake(struct queue *q);

struct queue_stats {
	uint64_t batches, bytes;  /* that wait; bytes of the files */
	uint64_t samples_dropped; /* with files above the size limit */
	uint64_t damaged;         /* places where a file could not be read on: the rest of it was left */
};
void queue_stats(struct queue *q, struct queue_stats *stats);

#endif
