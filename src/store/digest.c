#include "store/digest.h"

#include "store/bytes.h"
#include "store/section.h"

/* ---- entries ---- */

void digest_head_pack(const struct digest_head *head, struct buf *out)
{
	uint8_t *start = (uint8_t *)buf_reserve(out, (head->count * 5 + 1) * VARINT_MAX), *at = start;
	int64_t before = 0;

	if (!at)
		return;
	at = put_varint(at, head->count);
	for (size_t i = 0; i < head->count; i++) {
		const struct digest_entry *entry = &head->entries[i];
		at = put_varint(at, (uint64_t)entry->chunks << 1 | entry->plain);
		at = put_varint(at, zigzag((int64_t)((uint64_t)entry->t_first - (uint64_t)before)));
		at = put_varint(at, (uint64_t)entry->t_last - (uint64_t)entry->t_first);
		at = put_varint(at, entry->rows);
		before = entry->t_last;
	}
	out->len += (size_t)(at - start);
}

struct digest_head *digest_head_unpack(struct str entries, struct arena *arena)
{
	struct digest_head *head = ARENA_NEW(arena, struct digest_head);
	struct bytes b = bytes_of(entries);
	uint64_t count = get_varint(&b);
	int64_t before = 0;

	if (b.bad || !count || count > DIGEST_ENTRIES_MAX)
		return NULL;
	head->count = count;
	for (size_t i = 0; i < count; i++) {
		struct digest_entry *entry = &head->entries[i];
		uint64_t chunks = get_varint(&b);
		entry->plain = chunks & 1;
		entry->t_first = (int64_t)((uint64_t)before + (uint64_t)unzigzag(get_varint(&b)));
		entry->t_last = (int64_t)((uint64_t)entry->t_first + get_varint(&b));
		uint64_t rows = get_varint(&b);
		if (b.bad || chunks >> 1 > UINT32_MAX || chunks < 2 || !rows || rows > UINT32_MAX || entry->t_last < entry->t_first)
			return NULL;
		entry->chunks = (uint32_t)(chunks >> 1);
		entry->rows = (uint32_t)rows;
		before = entry->t_last;
	}
	return b.at == b.end ? head : NULL;
}

/* ---- sections: packed as if the ends were samples ---- */

static void put_blob(struct buf *out, const struct buf *blob)
{
	uint8_t *at = (uint8_t *)buf_reserve(out, VARINT_MAX);

	if (at)
		out->len += (size_t)(put_varint(at, blob->len) - at);
	buf_add(out, buf_str(blob));
}

void digest_section_pack(const struct digest_section *s, const bool *above, size_t entries, struct buf *out)
{
	struct arena arena;
	struct buf summary, data;
	const struct times_list list = { NULL, (uint32_t)(entries * 2) };

	arena_init(&arena);
	buf_init(&summary, SIZE_MAX);
	buf_init(&data, SIZE_MAX);
	struct column *columns = ARENA_ARRAY(&arena, struct column, s->count);
	uint8_t *at = (uint8_t *)buf_reserve(out, s->count * 2 * VARINT_MAX), *start = at;
	for (size_t i = 0; i < s->count; i++) {
		columns[i] = (struct column){ s->columns[i].ends, 0, above[i] };
		at = at ? put_varint(put_varint(at, s->columns[i].look), s->columns[i].falls) : NULL;
	}
	out->len += at ? (size_t)(at - start) : 0;
	section_pack(columns, s->count, &list, &summary, &data);
	put_blob(out, &summary);
	put_blob(out, &data);
	buf_fini(&summary);
	buf_fini(&data);
	arena_fini(&arena);
}

struct digest_section *digest_section_unpack(struct str data, size_t columns, size_t entries, struct arena *arena)
{
	struct digest_section *s = ARENA_NEW(arena, struct digest_section);
	double **out = arena_alloc(arena, (columns + 1) * sizeof *out);
	const struct times_list list = { NULL, (uint32_t)(entries * 2) };
	struct bytes b = bytes_of(data);
	struct section section;

	s->columns = ARENA_ARRAY(arena, struct digest_column, columns + 1);
	s->count = columns;
	for (size_t i = 0; i < columns; i++) {
		s->columns[i].look = get_varint(&b);
		s->columns[i].falls = get_varint(&b);
		out[i] = s->columns[i].ends = arena_alloc(arena, entries * 2 * sizeof(double));
	}
	struct str summary = get_slice(&b, get_varint(&b)), packed = get_slice(&b, get_varint(&b));
	if (b.bad || b.at != b.end || !section_open(&section, summary, &list, 1, arena) || section.count != columns)
		return NULL;
	for (size_t i = 0; i < columns; i++)
		if (section_list(&section, i) != 0)
			return NULL;
	return section_values(&section, packed, &list, out, arena) ? s : NULL;
}
