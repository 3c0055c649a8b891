#include "store/compress.h"

#include "base/mem.h"
#include "store/bytes.h"

#include <zlib.h>

/* Blobs are a few kB: a small window and a small hash table cost little to reset. */
enum { WINDOW_BITS = 13, MEMORY_LEVEL = 6, LEVEL = 6, LEVEL_FAST = 1, WORTH_TRYING = 48, WORTH_KEEPING = 8 };
enum { FORM_PLAIN, FORM_DEFLATE };

struct compressor {
	z_stream in, out; /* deflate, inflate */
	struct buf plain;
};

struct compressor *compressor_new(bool fast)
{
	struct compressor *c = NEW(struct compressor);

	buf_init(&c->plain, COMPRESS_MAX);
	if (deflateInit2(&c->in, fast ? LEVEL_FAST : LEVEL, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK ||
		inflateInit2(&c->out, -15) != Z_OK)
		mem_exhausted(1, 1 << WINDOW_BITS);
	return c;
}

void compressor_free(struct compressor *c)
{
	if (!c)
		return;
	deflateEnd(&c->in);
	inflateEnd(&c->out);
	buf_fini(&c->plain);
	mem_free(c);
}

static bool pack_deflated(struct compressor *c, struct str plain, struct buf *out)
{
	uint8_t *start = (uint8_t *)buf_reserve(out, plain.len + 1 + VARINT_MAX);

	if (!start)
		return false;
	uint8_t *at = start;
	*at++ = FORM_DEFLATE;
	at = put_varint(at, plain.len);
	deflateReset(&c->in);
	c->in.next_in = (Bytef *)(uintptr_t)plain.ptr;
	c->in.avail_in = (uInt)plain.len;
	c->in.next_out = at;
	c->in.avail_out = (uInt)(plain.len - WORTH_KEEPING);
	if (deflate(&c->in, Z_FINISH) != Z_STREAM_END)
		return false;
	out->len += (size_t)(c->in.next_out - start);
	return true;
}

void compressor_keep(struct str plain, struct buf *out)
{
	buf_add_c(out, FORM_PLAIN);
	buf_add(out, plain);
}

void compressor_pack(struct compressor *c, struct str plain, struct buf *out)
{
	if (plain.len < WORTH_TRYING || !pack_deflated(c, plain, out))
		compressor_keep(plain, out);
}

bool compressor_unpack(struct compressor *c, struct str packed, struct str *plain)
{
	struct bytes b = bytes_of(packed);
	uint8_t form = get_u8(&b);

	if (b.bad || form > FORM_DEFLATE)
		return false;
	if (form == FORM_PLAIN) {
		*plain = str_skip(packed, 1);
		return true;
	}
	uint64_t size = get_varint(&b);
	/* Deflate shortens a thousandfold at most, so a length beyond that is a lie. */
	if (b.bad || size > COMPRESS_MAX || size / 1100 > bytes_left(&b))
		return false;
	buf_reset(&c->plain);
	char *room = buf_reserve(&c->plain, size + 1);
	inflateReset(&c->out);
	c->out.next_in = (Bytef *)(uintptr_t)b.at;
	c->out.avail_in = (uInt)bytes_left(&b);
	c->out.next_out = (Bytef *)room;
	c->out.avail_out = (uInt)size;
	if (!room || inflate(&c->out, Z_FINISH) != Z_STREAM_END || c->out.avail_out || c->out.avail_in)
		return false;
	*plain = str_of(room, size);
	return true;
}
