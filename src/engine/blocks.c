/* Blocks of a request: prefix hits, growth, contents, release. */
#include "engine/internal.h"

/* Blocks whose content others can have: whole blocks of the described tokens. */
static uint32_t described_blocks(const struct engine *e, const struct request *r)
{
	uint64_t most = (uint64_t)r->ask.content.id_count * r->ask.content.id_tokens;

	if (most > r->ask.content.tokens)
		most = r->ask.content.tokens;
	return (uint32_t)(most / e->config.block_size);
}

static uint64_t shared_hash(struct engine *e, struct request *r, uint32_t index)
{
	while (r->hash_count <= index) {
		uint64_t previous = r->hash_count ? r->hashes[r->hash_count - 1] : 0;
		if (r->hash_count == r->hash_room) {
			r->hash_room = r->hash_room * 2 > index + 1 ? r->hash_room * 2 : index + 1;
			r->hashes = mem_resize(r->hashes, r->hash_room, sizeof *r->hashes);
		}
		r->hashes[r->hash_count] = content_hash(&r->ask.content, previous, r->hash_count, e->config.block_size);
		r->hash_count++;
	}
	return r->hashes[index];
}

static void blocks_room(struct request *r, uint32_t count)
{
	if (count > r->block_room) {
		r->block_room = r->block_room * 2 > count ? r->block_room * 2 : count;
		r->blocks = mem_resize(r->blocks, r->block_room, sizeof *r->blocks);
	}
}

/* The block where content `index` lies now, or KV_NONE. */
static uint32_t locate(struct engine *e, struct request *r, uint32_t index, uint32_t described)
{
	if (index < described)
		return kv_find(&e->pool, shared_hash(e, r, index));
	if (index < r->remembered && e->pool.blocks[r->blocks[index]].hash == content_private_hash(r->serial, index))
		return r->blocks[index];
	return KV_NONE;
}

/* Found blocks are written over the remembered ids, which locate() reads at the same index only. */
struct prefix_hit blocks_find(struct engine *e, struct request *r)
{
	struct prefix_hit hit = { 0 };
	uint32_t most, described = described_blocks(e, r);

	if (!e->config.prefix_caching)
		return hit;
	most = (request_total(r) - 1) / e->config.block_size;
	if (most > described && most > r->remembered)
		most = described > r->remembered ? described : r->remembered;
	blocks_room(r, most);
	for (; hit.blocks < most; hit.blocks++) {
		uint32_t block = locate(e, r, hit.blocks, described);
		if (block == KV_NONE)
			break;
		r->blocks[hit.blocks] = block;
		hit.revived += e->pool.blocks[block].refs == 0;
	}
	if (r->remembered < hit.blocks)
		r->remembered = hit.blocks;
	if (hit.blocks && spec_drops_hit_block(&e->config.spec)) {
		hit.blocks--;
		hit.revived -= e->pool.blocks[r->blocks[hit.blocks]].refs == 0;
	}
	return hit;
}

void blocks_take_hit(struct engine *e, struct request *r, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		kv_share(&e->pool, r->blocks[i]);
	r->block_count = r->published = count;
}

void blocks_extend(struct engine *e, struct request *r, uint32_t tokens, uint32_t full_tokens)
{
	uint32_t want = blocks_for(e, tokens), full = full_tokens / e->config.block_size, described;

	if (want > r->block_count) {
		blocks_room(r, want);
		while (r->block_count < want)
			r->blocks[r->block_count++] = kv_take(&e->pool);
		e->counters.evictions = e->pool.evictions;
	}
	if (!e->config.prefix_caching || r->published >= full)
		return;
	described = described_blocks(e, r);
	for (; r->published < full && r->published < described; r->published++, e->shared_published++)
		kv_publish(&e->pool, r->blocks[r->published], shared_hash(e, r, r->published));
	for (; r->published < full; r->published++)
		kv_publish(&e->pool, r->blocks[r->published], content_private_hash(r->serial, r->published));
}

void blocks_release(struct engine *e, struct request *r)
{
	for (uint32_t i = r->block_count; i > 0; i--)
		kv_release(&e->pool, r->blocks[i - 1]);
	r->remembered = r->block_count;
	r->block_count = r->published = 0;
}
