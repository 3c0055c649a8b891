/* gzip: a body as one gzip member. */
#ifndef GOODPUT_WEB_GZIP_H
#define GOODPUT_WEB_GZIP_H

#include "base/buf.h"

/* Appends; false when it did not fit under out's maximum. */
bool gzip_whole(struct str text, struct buf *out);
/* Does an Accept-Encoding header take gzip? */
bool gzip_is_accepted(struct str accept_encoding);

#endif
