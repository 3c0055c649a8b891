#include "engine/content.h"

#include "base/rng.h"
#include "engine/kv.h"

/* kv.c takes the bucket from these bits; 39 others are left to tell contents in a bucket apart. */
#define BUCKET_SHIFT 8
#define BUCKET_BITS UINT64_C(0xffffff)
enum { RUN = 16 };

uint64_t content_hash(const struct content *content, uint64_t previous, uint32_t index, uint32_t block_size)
{
	uint64_t first = (uint64_t)index * block_size / content->id_tokens;
	uint64_t last = ((uint64_t)(index + 1) * block_size - 1) / content->id_tokens;
	uint64_t hash = index ? previous : rng_mix(content->salt + 0x9e3779b97f4a7c15ULL);

	/* the index tells apart the blocks inside one id */
	for (uint64_t i = first; i <= last; i++)
		hash = rng_mix(hash ^ (content->ids[i] * 0xd6e8feb86659fd93ULL + index));
	if (index % RUN) /* the table's bits follow on from the block before: a run of blocks lies in one cache line of buckets */
		hash = (hash & ~(BUCKET_BITS << BUCKET_SHIFT)) | (((previous >> BUCKET_SHIFT) + 1) & BUCKET_BITS) << BUCKET_SHIFT;
	return hash | KV_SHARED;
}

uint64_t content_private_hash(uint64_t serial, uint32_t index)
{
	uint64_t hash = rng_mix((serial << 20) ^ index ^ 0xa0761d6478bd642fULL) & ~KV_SHARED;

	return hash ? hash : 2;
}
