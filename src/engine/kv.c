#include "engine/kv.h"

#include "base/mem.h"

static void list_remove(struct kv_pool *pool, uint32_t index)
{
	struct kv_block *block = &pool->blocks[index];

	if (block->previous == KV_NONE)
		pool->first = block->next;
	else
		pool->blocks[block->previous].next = block->next;
	if (block->next == KV_NONE)
		pool->last = block->previous;
	else
		pool->blocks[block->next].previous = block->previous;
	pool->free--;
}

static void list_push_front(struct kv_pool *pool, uint32_t index)
{
	struct kv_block *block = &pool->blocks[index];

	block->previous = KV_NONE;
	block->next = pool->first;
	if (pool->first == KV_NONE)
		pool->last = index;
	else
		pool->blocks[pool->first].previous = index;
	pool->first = index;
	pool->free++;
}

static void list_push_back(struct kv_pool *pool, uint32_t index)
{
	struct kv_block *block = &pool->blocks[index];

	block->next = KV_NONE;
	block->previous = pool->last;
	if (pool->last == KV_NONE)
		pool->first = index;
	else
		pool->blocks[pool->last].next = index;
	pool->last = index;
	pool->free++;
}

void kv_init(struct kv_pool *pool, uint32_t count)
{
	uint32_t buckets = 16;

	while (buckets < count)
		buckets *= 2;
	*pool = (struct kv_pool){ .count = count, .first = KV_NONE, .last = KV_NONE, .leak_head = KV_NONE, .bucket_mask = buckets - 1 };
	pool->blocks = mem_zalloc(count ? count : 1, sizeof *pool->blocks);
	pool->buckets = mem_zalloc(buckets, sizeof *pool->buckets);
	for (uint32_t i = 0; i < buckets; i++)
		pool->buckets[i] = KV_NONE;
	for (uint32_t i = 0; i < count; i++)
		list_push_back(pool, i);
}

void kv_fini(struct kv_pool *pool)
{
	mem_free(pool->blocks);
	mem_free(pool->buckets);
	*pool = (struct kv_pool){ 0 };
}

static uint32_t *bucket_of(const struct kv_pool *pool, uint64_t hash)
{
	return &pool->buckets[(hash >> 8) & pool->bucket_mask];
}

static void forget(struct kv_pool *pool, uint32_t index)
{
	struct kv_block *block = &pool->blocks[index];

	if (block->hash & KV_SHARED) {
		if (block->back == KV_NONE)
			*bucket_of(pool, block->hash) = block->chain;
		else
			pool->blocks[block->back].chain = block->chain;
		if (block->chain != KV_NONE)
			pool->blocks[block->chain].back = block->back;
	}
	block->hash = 0;
}

uint32_t kv_take(struct kv_pool *pool)
{
	uint32_t index = pool->first;
	struct kv_block *block = &pool->blocks[index];

	if (block->next != KV_NONE)
		__builtin_prefetch(&pool->blocks[block->next]); /* taken next, most likely */
	list_remove(pool, index);
	if (block->hash) {
		forget(pool, index);
		pool->cached_free--;
		pool->evictions++;
	}
	block->refs = 1;
	return index;
}

void kv_share(struct kv_pool *pool, uint32_t index)
{
	if (pool->blocks[index].refs++ == 0) {
		list_remove(pool, index);
		pool->cached_free--;
	}
}

void kv_release(struct kv_pool *pool, uint32_t index)
{
	struct kv_block *block = &pool->blocks[index];

	if (--block->refs)
		return;
	if (block->hash) {
		list_push_back(pool, index);
		pool->cached_free++;
	} else {
		list_push_front(pool, index);
	}
	pool->releases++;
}

void kv_publish(struct kv_pool *pool, uint32_t index, uint64_t hash)
{
	struct kv_block *block = &pool->blocks[index];

	if (block->hash)
		return;
	block->hash = hash;
	if (hash & KV_SHARED) {
		uint32_t *bucket = bucket_of(pool, hash);
		block->chain = *bucket;
		block->back = KV_NONE;
		if (*bucket != KV_NONE)
			pool->blocks[*bucket].back = index;
		*bucket = index;
	}
}

uint32_t kv_find(const struct kv_pool *pool, uint64_t hash)
{
	uint32_t index = *bucket_of(pool, hash);

	while (index != KV_NONE && pool->blocks[index].hash != hash)
		index = pool->blocks[index].chain;
	return index;
}

void kv_forget(struct kv_pool *pool)
{
	for (uint32_t i = 0; i < pool->count; i++)
		if (pool->blocks[i].hash)
			forget(pool, i);
	pool->cached_free = 0;
}

uint32_t kv_leak(struct kv_pool *pool, uint32_t count)
{
	uint32_t taken = 0;

	for (; taken < count && pool->free; taken++) {
		uint32_t index = kv_take(pool);
		pool->blocks[index].next = pool->leak_head;
		pool->leak_head = index;
		pool->leaked++;
	}
	return taken;
}

void kv_unleak(struct kv_pool *pool, uint32_t count)
{
	while (count-- && pool->leaked) {
		uint32_t index = pool->leak_head;
		pool->leak_head = pool->blocks[index].next;
		pool->leaked--;
		kv_release(pool, index);
	}
}

bool kv_check(const struct kv_pool *pool)
{
	uint32_t listed = 0, cached = 0, held = 0, shared = 0, chained = 0;

	for (uint32_t i = pool->first, before = KV_NONE; i != KV_NONE; before = i, i = pool->blocks[i].next) {
		if (pool->blocks[i].refs || pool->blocks[i].previous != before || listed++ > pool->count)
			return false;
		cached += pool->blocks[i].hash != 0;
	}
	for (uint32_t i = 0; i < pool->count; i++) {
		held += pool->blocks[i].refs != 0;
		shared += (pool->blocks[i].hash & KV_SHARED) != 0;
	}
	for (uint32_t b = 0; b <= pool->bucket_mask; b++)
		for (uint32_t i = pool->buckets[b], before = KV_NONE; i != KV_NONE; before = i, i = pool->blocks[i].chain)
			if (bucket_of(pool, pool->blocks[i].hash) != &pool->buckets[b] || pool->blocks[i].back != before ||
				chained++ > pool->count)
				return false;
	return listed == pool->free && cached == pool->cached_free && shared == chained && held + pool->free == pool->count;
}
