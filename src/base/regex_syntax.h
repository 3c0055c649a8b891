/* regex_syntax: RE2's syntax, checked, and written as PCRE2 has it. */
#ifndef GOODPUT_BASE_REGEX_SYNTAX_H
#define GOODPUT_BASE_REGEX_SYNTAX_H

#include "base/buf.h"
#include "base/error.h"

/* Writes the pattern for PCRE2 into `out`. False with a positioned error at what RE2 does not have. */
bool regex_translate(struct str pattern, struct buf *out, struct error *e);
/* Where in `pattern` the token is that wrote byte `offset` of the translation. */
size_t regex_origin(struct str pattern, size_t offset);
/* Takes ordinary characters and escaped punctuation from the start of *rest; the characters meant go to `text` (which has
 * room for rest->len), their number is returned. Stops before the first character with a meaning. */
size_t regex_take_literal(struct str *rest, char *text);

#endif
