#include "net/gunzip.h"

enum { WINDOW_GZIP = 15 + 16, STEP = 32 * 1024 };

void gunzip_init(struct gunzip *g)
{
	*g = (struct gunzip){ .between = true };
}

void gunzip_fini(struct gunzip *g)
{
	if (g->open)
		inflateEnd(&g->z);
	g->open = false;
}

static enum gunzip_status broken(struct gunzip *g, const char *why)
{
	g->error = why;
	return GUNZIP_BROKEN;
}

/* A gzip file may be several members in a row. */
static bool member_begin(struct gunzip *g)
{
	if (g->open && inflateReset(&g->z) != Z_OK)
		return false;
	if (!g->open && inflateInit2(&g->z, WINDOW_GZIP) != Z_OK)
		return false;
	g->open = true;
	g->between = false;
	return true;
}

static enum gunzip_status inflate_step(struct gunzip *g, struct buf *out)
{
	unsigned char step[STEP];
	g->z.next_out = step;
	g->z.avail_out = sizeof step;
	int code = inflate(&g->z, Z_NO_FLUSH);
	if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
		return broken(g, g->z.msg ? g->z.msg : "invalid data");
	buf_add(out, str_of((const char *)step, sizeof step - g->z.avail_out));
	if (out->overflowed)
		return GUNZIP_TOO_LARGE;
	g->between = code == Z_STREAM_END;
	return GUNZIP_OK;
}

enum gunzip_status gunzip_feed(struct gunzip *g, struct str bytes, struct buf *out)
{
	g->z.next_in = (z_const Bytef *)bytes.ptr;
	g->z.avail_in = (unsigned)bytes.len;
	bool more_out = false; /* zlib holds output back when the step was filled */
	while (g->z.avail_in > 0 || more_out) {
		z_const Bytef *in = g->z.next_in;
		unsigned left = g->z.avail_in;
		if (g->between) {
			if (left == 0)
				break;
			if (!member_begin(g))
				return broken(g, "out of memory");
			g->z.next_in = in;
			g->z.avail_in = left;
		}
		enum gunzip_status status = inflate_step(g, out);
		if (status != GUNZIP_OK)
			return status;
		more_out = g->z.avail_out == 0;
	}
	return GUNZIP_OK;
}

bool gunzip_is_whole(const struct gunzip *g)
{
	return g->between;
}
