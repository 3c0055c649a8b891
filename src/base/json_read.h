/* json_read: a pull reader over a JSON text in memory. Validating, without allocation, fast enough for the event of every token.
 *
 *   json_reader_init(&r, text);
 *   if (json_read_object(&r))
 *   	while (json_read_member(&r, &key))
 *   		if (str_is(key, "n"))
 *   			json_unsigned(&r, &n);
 *   		else
 *   			json_read_skip(&r);
 *   ok = json_read_end(&r);
 *
 * Every value must be read or skipped once. The first fault sticks: all later calls fail at once and json_read_end is false. Strings are
 * borrowed as they stand in the text; their bytes are not checked to be UTF-8 (an event that a reader cuts is still an event). Depth is
 * limited. */
#ifndef GOODPUT_BASE_JSON_READ_H
#define GOODPUT_BASE_JSON_READ_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { JSON_DEPTH_MAX = 128 };

enum json_kind { JSON_KIND_NOTHING, JSON_KIND_NULL, JSON_KIND_BOOL, JSON_KIND_NUMBER, JSON_KIND_STRING, JSON_KIND_OBJECT, JSON_KIND_ARRAY };

struct json_reader {
	const char *at, *end, *start;
	const char *bad; /* where the first fault is; NULL: none */
	const char *why; /* in words, when bad */
	int depth;
	bool fresh; /* a bracket has just been opened: no comma before the next value */
};

void json_reader_init(struct json_reader *r, struct str text);
/* The kind of the value that comes next, by its first byte; NOTHING at the end, at a fault and where no value can begin. */
enum json_kind json_read_peek(struct json_reader *r);
/* Opens the object or array that comes next. False (a fault) when something else comes. */
bool json_read_object(struct json_reader *r);
bool json_read_array(struct json_reader *r);
/* The next member's key (as it stands: escapes unresolved) with the reader before its value, or false when the object is closed. */
bool json_read_member(struct json_reader *r, struct str *key);
/* True with the reader before the next item; false when the array is closed. */
bool json_read_item(struct json_reader *r);
/* `escaped` (may be NULL): there are backslashes, see json_unescape. */
bool json_read_string(struct json_reader *r, struct str *raw, bool *escaped);
bool json_read_double(struct json_reader *r, double *value);
bool json_read_integer(struct json_reader *r, int64_t *value);
bool json_read_bool(struct json_reader *r, bool *value);
/* null: skipped and true; something else: not touched and false. */
bool json_read_null(struct json_reader *r);
/* Skips the value, checking it. Returns its text. */
struct str json_read_skip(struct json_reader *r);
/* Nothing but blanks follows, and there was no fault. */
bool json_read_end(struct json_reader *r);
/* Sets the fault at the present place, for callers that want another type. Returns false. */
bool json_read_fault(struct json_reader *r, const char *why);

/* Appends a raw string with its escapes resolved; a lone surrogate becomes U+FFFD. */
void json_unescape(struct str raw, struct buf *out);

#endif
