/* gunzip: gzip as a stream, sans-IO, with a limit on what comes out, and with an answer to "was that all of it?", which libcurl's own
 * decoder does not give: it takes a gzip body that ends too early for a whole one. */
#ifndef GOODPUT_NET_GUNZIP_H
#define GOODPUT_NET_GUNZIP_H

#include "base/buf.h"

#define ZLIB_CONST
#include <zlib.h>

struct gunzip {
	z_stream z;
	bool open, between; /* between: a member has ended, no other has begun */
	const char *error;  /* zlib's words when BROKEN */
};
enum gunzip_status { GUNZIP_OK, GUNZIP_TOO_LARGE, GUNZIP_BROKEN };

void gunzip_init(struct gunzip *g);
void gunzip_fini(struct gunzip *g);
/* Appends what these bytes decompress to; TOO_LARGE as soon as `out` would pass its maximum. */
enum gunzip_status gunzip_feed(struct gunzip *g, struct str bytes, struct buf *out);
/* At the end of the input: did the stream end too? */
bool gunzip_is_whole(const struct gunzip *g);

#endif
