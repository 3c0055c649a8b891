/* deliveries: when each output event of a stream came and how many tokens it brought, in 1 to 3 bytes each at the usual paces.
 *
 * One delivery is one varint: (step << 1 | several), where `step` is the time since the delivery before (the first: since `start_ns`) in
 * units of 10 us; with `several` a second varint holds the number of tokens, without it there is one. Rounding does not add up: steps are
 * differences of rounded times. 2 bytes reach 81 ms, 3 bytes 10 s for one token; several tokens (below 128) cost one byte more.
 * 0 tokens: the stream did not tell, or text came without a token of its own. */
#ifndef GOODPUT_MODEL_DELIVERIES_H
#define GOODPUT_MODEL_DELIVERIES_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { DELIVERY_UNIT_NS = 10000, DELIVERY_BYTES_MAX = 15 };

struct deliveries {
	uint8_t *bytes;
	uint32_t len, cap;
	uint32_t count;
	int64_t start_ns, last_unit; /* last_unit: of the newest delivery, in units since start_ns */
};

struct delivery {
	int64_t t_ns; /* on the clock of start_ns */
	uint32_t tokens;
};

/* Empty, memory kept; the first step is counted from start_ns. {0} is a valid empty object. */
void deliveries_reset(struct deliveries *d, int64_t start_ns);
void deliveries_fini(struct deliveries *d);
/* Times must not fall; an earlier one counts as equal to the one before. */
void deliveries_add(struct deliveries *d, int64_t t_ns, uint32_t tokens);
/* Takes over bytes from a record; false when they are no whole varints, beyond 100 years or more than 2^31 tokens. Copies. */
bool deliveries_load(struct deliveries *d, int64_t start_ns, struct str bytes);

/* for (cursor = deliveries_begin(&d); deliveries_next(&cursor, &delivery);) */
struct delivery_cursor {
	const uint8_t *at, *end;
	int64_t start_ns, unit;
};
struct delivery_cursor deliveries_begin(const struct deliveries *d);
bool deliveries_next(struct delivery_cursor *c, struct delivery *out);

#endif
