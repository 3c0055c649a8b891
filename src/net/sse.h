/* sse: the event stream format (WHATWG), sans-IO and incremental.
 *
 * Lines end with LF, CR LF or CR (a CR ends the line at once; an LF right behind it belongs to it); a byte order mark at the start is
 * dropped; one blank after the colon is optional; several data lines are joined with LF; comments are counted; unknown fields, id and
 * retry are skipped. An event counts when its blank line came; one that the end of the stream cuts off is never delivered. */
#ifndef GOODPUT_NET_SSE_H
#define GOODPUT_NET_SSE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct sse_event {
	struct str type; /* of the event: field; empty without one */
	struct str data; /* borrowed from the input or from the reader: valid until the next call */
};

enum sse_status { SSE_EVENT, SSE_MORE, SSE_TOO_LONG };

struct sse {
	struct buf line; /* an unfinished line */
	struct buf data; /* data lines that are not in one piece of the input */
	struct str held; /* the only data line so far, borrowed from the input; moved to `data` when the input ends */
	char type[64];
	uint8_t type_len;
	uint8_t mark; /* bytes of the byte order mark seen; 4: past the start */
	bool after_cr, has_data, in_buf, clear_first, too_long;
	uint32_t comments;
};

/* `max` bounds one line and one event; no memory is taken until an event is cut by the end of a read. */
void sse_init(struct sse *s, size_t max);
void sse_fini(struct sse *s);
/* For the next stream: memory kept. */
void sse_reset(struct sse *s);
/* Takes bytes from the front of *bytes until an event is whole. SSE_EVENT: call again with what is left; SSE_MORE: all taken;
 * SSE_TOO_LONG: a line or event above max (sticky). */
enum sse_status sse_next(struct sse *s, struct str *bytes, struct sse_event *event);
/* Bytes of an event that has begun and is not whole? */
bool sse_is_inside(const struct sse *s);

#endif
