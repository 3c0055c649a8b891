/* form: the parameters of a request, from its query string and its form body. Sans-IO. */
#ifndef GOODPUT_WEB_FORM_H
#define GOODPUT_WEB_FORM_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct form_field {
	struct str name, value; /* decoded */
};
struct form {
	struct form_field *fields; /* the body's first */
	size_t count;
};

/* Decodes "a=1&b=x%20y" texts; either may be empty. False when an escape is broken; `*why` says so in Go's words. */
bool form_parse(struct form *f, struct arena *arena, struct str body, struct str query, const char **why);
/* The first value; ptr NULL when there is none. */
struct str form_get(const struct form *f, const char *name);
/* All values, in the arena. */
struct str *form_all(const struct form *f, struct arena *arena, const char *name, size_t *count);
/* "%2F" → "/"; with `plus`, "+" → " ". ptr NULL when broken. */
struct str form_decode(struct arena *arena, struct str text, bool plus);

/* The forms that Prometheus's API takes: unix seconds or RFC 3339; seconds or a duration such as 1h30m. */
bool form_time(struct str text, int64_t *ms);
bool form_duration(struct str text, int64_t *ms);

#endif
