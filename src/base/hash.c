#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_bytes(const void *bytes, size_t size)
{
	return XXH3_64bits(bytes, size);
}

uint64_t hash_seeded(const void *bytes, size_t size, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, size, seed);
}
