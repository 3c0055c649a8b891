/* transfer: KV caches on their way from one engine to another: links that several transfers share fairly. */
#ifndef GOODPUT_ENGINE_TRANSFER_H
#define GOODPUT_ENGINE_TRANSFER_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct transfer_link {
	double bandwidth;          /* bytes per second that a lone transfer gets */
	double latency;            /* seconds, once per transfer */
	double descriptor;         /* seconds per piece: NIXL pulls a piece per layer and block, at 2 to 3 us each */
	uint32_t pieces_per_block; /* pieces of one KV block: 2 * layers, or layers where keys and values are contiguous */
	uint32_t block_size;
};

struct transfer {
	uint64_t id;
	double left; /* bytes, pieces that take longer than their bytes counted as more */
};

struct transfers {
	struct transfer_link link;
	VEC(struct transfer) active;
	double now;
	double bytes; /* moved since init */
};

void transfers_init(struct transfers *t, const struct transfer_link *link);
void transfers_fini(struct transfers *t);
/* Time must not go back between calls. */
void transfers_start(struct transfers *t, double now, uint64_t id, double tokens, double bytes_per_token);
/* When the next one ends if nothing starts before; INFINITY when none is active. */
double transfers_next(const struct transfers *t);
/* Takes the one that has ended by `now`; its KV is there at *arrived (>= now: the latency comes last). */
bool transfers_take(struct transfers *t, double now, uint64_t *id, double *arrived);
/* A lone transfer's time. */
double transfer_seconds(const struct transfer_link *link, double tokens, double bytes_per_token);

#endif
