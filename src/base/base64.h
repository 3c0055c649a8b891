/* base64: RFC 4648, section 4, with padding. */
#ifndef GOODPUT_BASE_BASE64_H
#define GOODPUT_BASE_BASE64_H

#include "base/buf.h"

#include <stdbool.h>

void base64_add(struct buf *out, struct str bytes);
/* Appends the bytes; false (with a part appended) when the text is not base64 or not whole. */
bool base64_read(struct str text, struct buf *out);

#endif
