/* fuzz_sse: an event stream. Input: one byte that says how the bytes are cut, then bytes.
 *
 * Cut or whole, the same events come out, with the same number of comments, and the reader stops at the same fault. No event is longer than
 * allowed. */
#include "net/sse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

enum { EVENT_MAX = 300 };

/* Every event as "type\0length:data" one behind the other. */
static bool read_all(struct str bytes, size_t step, struct buf *out, uint32_t *comments)
{
	struct sse s;
	struct sse_event event;
	enum sse_status status = SSE_MORE;

	sse_init(&s, EVENT_MAX);
	while (bytes.len && status != SSE_TOO_LONG) {
		struct str piece = str_head(bytes, step);
		char *copy = malloc(piece.len); /* in its own block, so that reading beyond it is seen, and gone before the next piece */
		struct str rest = str_of(copy, piece.len);

		REQUIRE(copy);
		memcpy(copy, piece.ptr, piece.len);
		while ((status = sse_next(&s, &rest, &event)) == SSE_EVENT) {
			REQUIRE(event.data.len <= EVENT_MAX);
			buf_add(out, event.type);
			buf_printf(out, "%c%zu:", 0, event.data.len);
			buf_add(out, event.data);
		}
		REQUIRE(status == SSE_TOO_LONG || !rest.len);
		free(copy);
		bytes = str_skip(bytes, piece.len);
	}
	*comments = s.comments;
	sse_fini(&s);
	return status != SSE_TOO_LONG;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole, cut;
	uint32_t comments, cut_comments;

	if (size < 2)
		return 0;
	struct str bytes = str_of((const char *)data + 1, size - 1);

	buf_init(&whole, 1 << 24);
	buf_init(&cut, 1 << 24);
	bool ok = read_all(bytes, bytes.len, &whole, &comments), cut_ok = read_all(bytes, (size_t)(data[0] % 23) + 1, &cut, &cut_comments);

	/* A line that is too long is seen sooner in pieces than the event it would have ended; what came before it is the same. */
	REQUIRE(ok == cut_ok);
	REQUIRE(str_eq(buf_str(&whole), buf_str(&cut)) && comments == cut_comments);
	buf_fini(&whole);
	buf_fini(&cut);
	return 0;
}
