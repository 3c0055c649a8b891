#include "web/gzip.h"

#define ZLIB_CONST
#include <zlib.h>

enum { LEVEL = 4, WINDOW_GZIP = 15 + 16, MEMORY = 8 };

bool gzip_whole(struct str text, struct buf *out)
{
	z_stream z = { .next_in = (const Bytef *)text.ptr, .avail_in = (uInt)text.len };
	char *room;

	if (text.len > UINT32_MAX / 2 || deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW_GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	size_t bound = deflateBound(&z, (uLong)text.len);
	bool ok = (room = buf_reserve(out, bound)) != NULL;

	if (ok) {
		z.next_out = (Bytef *)room;
		z.avail_out = (uInt)bound;
		ok = deflate(&z, Z_FINISH) == Z_STREAM_END;
		out->len += ok ? z.total_out : 0;
	}
	deflateEnd(&z);
	return ok;
}

bool gzip_is_accepted(struct str header)
{
	struct str part;

	while (header.len && str_split(&header, ',', &part)) {
		ptrdiff_t semicolon = str_find(part, ';');
		struct str coding = str_trim(semicolon < 0 ? part : str_head(part, (size_t)semicolon));
		struct str quality = semicolon < 0 ? STR_EMPTY : str_trim(str_skip(part, (size_t)semicolon + 1));

		if (str_eq_nocase(coding, STR("gzip")))
			return !str_is(quality, "q=0") && !str_is(quality, "q=0.0");
	}
	return false;
}
