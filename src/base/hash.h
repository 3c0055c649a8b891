/* hash: XXH3, 64 bits. Not for anything that an attacker gains from predicting across processes. */
#ifndef GOODPUT_BASE_HASH_H
#define GOODPUT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t size);
uint64_t hash_seeded(const void *bytes, size_t size, uint64_t seed);

#endif
