/* json: writing a JSON document straight into a buffer, with the shortest digits that read back (jansson prints 0.1 as
 * 0.10000000000000001). Commas are the writer's business. Inside an object every value has a key; inside an array the key is NULL. */
#ifndef GOODPUT_BASE_JSON_H
#define GOODPUT_BASE_JSON_H

#include "base/buf.h"

#include <stdbool.h>

struct json {
	struct buf *out;
	bool more; /* a value stands before: a comma is needed */
};

void json_open(struct json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket);                 /* '}' or ']' */
void json_text(struct json *j, const char *key, struct str text);
/* Left out when empty. */
void json_text_if(struct json *j, const char *key, struct str text);
/* A list of texts. */
void json_list(struct json *j, const char *key, const struct str *texts, size_t count);
/* Left out when not finite: JSON has no such numbers. */
void json_number(struct json *j, const char *key, double value);
void json_integer(struct json *j, const char *key, int64_t value);
void json_true_if(struct json *j, const char *key, bool value);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
/* Unix seconds of a time in ms; left out when 0. */
void json_time(struct json *j, const char *key, int64_t t_ms);

#endif
