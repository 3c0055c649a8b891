/* kv: the pool of KV-cache blocks of one engine: reference counts, the free list in eviction order, and the table of blocks
 * whose content can be found again.
 *
 * A free block keeps its content until it is handed out. Released blocks with content go to the end of the free list, those
 * without to its front; allocation takes from the front: so eviction is least recently used first. vLLM's block 0 (the null
 * block) is not part of the pool: `count` is num_gpu_blocks - 1. */
#ifndef GOODPUT_ENGINE_KV_H
#define GOODPUT_ENGINE_KV_H

#include <stdbool.h>
#include <stdint.h>

#define KV_NONE UINT32_MAX

/* A content hash is odd when other requests can have the same content, even when only its own request can. Only the odd ones
 * are in the table: a request finds its private blocks again by remembering where they were. 0 = no content. */
#define KV_SHARED UINT64_C(1)

struct kv_block {
	uint64_t hash;
	uint32_t refs;
	uint32_t next, previous; /* neighbours in the free list while refs is 0 */
	uint32_t chain, back;    /* neighbours in the same bucket of the table; back is KV_NONE at its head */
};

struct kv_pool {
	struct kv_block *blocks;
	uint32_t count, free, leaked; /* free + leaked + referenced = count */
	uint32_t first, last;         /* free list */
	uint32_t leak_head;
	uint32_t *buckets, bucket_mask;
	uint64_t releases;    /* changes whenever a block becomes free: a failed allocation fails again until then */
	uint64_t evictions;   /* contents lost by reuse */
	uint32_t cached_free; /* free blocks that still have content */
};

void kv_init(struct kv_pool *pool, uint32_t count);
void kv_fini(struct kv_pool *pool);

/* The block at the front of the free list, with one reference and no content. `free` must not be 0. */
uint32_t kv_take(struct kv_pool *pool);
/* One more reference on a block that has content (a prefix hit). */
void kv_share(struct kv_pool *pool, uint32_t block);
void kv_release(struct kv_pool *pool, uint32_t block);
/* Gives a held block its content; nothing happens when it has one already. */
void kv_publish(struct kv_pool *pool, uint32_t block, uint64_t hash);
/* A block with this shared content, or KV_NONE. */
uint32_t kv_find(const struct kv_pool *pool, uint64_t hash);
/* Forgets all contents (reset of the prefix cache). Held blocks keep their references. */
void kv_forget(struct kv_pool *pool);

/* Fault: blocks that nobody holds and nobody gets. At most `count` free ones are taken; returns how many were. */
uint32_t kv_leak(struct kv_pool *pool, uint32_t count);
void kv_unleak(struct kv_pool *pool, uint32_t count);

/* Walks everything: free list against counts, table against contents. False when an invariant is broken (for tests). */
bool kv_check(const struct kv_pool *pool);

static inline uint32_t kv_used(const struct kv_pool *pool)
{
	return pool->count - pool->free;
}

#endif
