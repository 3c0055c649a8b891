/* deltas: a run of integers as packed differences. Internal to the store; pure: bytes in, bytes out.
 *
 * y[0] is kept by the caller. What is packed are the differences y[i] - y[i-1], or the differences of those (order 2), modulo 2^64, in one
 * of two forms: tokens for runs that seldom change (deflate shortens them further), blocks of bits for the others. */
#ifndef GOODPUT_STORE_DELTAS_H
#define GOODPUT_STORE_DELTAS_H

#include "store/bytes.h"

enum deltas_form { DELTAS_NONE, DELTAS_TOKENS, DELTAS_BLOCKS }; /* NONE: all differences are 0 */

struct deltas {
	enum deltas_form form;
	bool second; /* order 2 */
};

/* Room that deltas_pack may need for n integers. */
size_t deltas_room(size_t n);
/* Packs y[1..n) at `at`; returns the end. */
uint8_t *deltas_pack(const int64_t *y, size_t n, struct deltas *d, uint8_t *at);
/* Fills y[1..n) from y[0]; false when the bytes are not what deltas_pack writes. */
bool deltas_unpack(struct str packed, struct deltas d, int64_t *y, size_t n);

#endif
