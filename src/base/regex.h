/* regex: Prometheus's label regular expressions: RE2's syntax, fully anchored ("^(?s:re)$"), on PCRE2 with a match limit.
 * What RE2 lacks (back references, look-around, possessive, recursion ...) is refused. Plain literals and alternations of literals, the
 * usual case, never reach PCRE2. */
#ifndef GOODPUT_BASE_REGEX_H
#define GOODPUT_BASE_REGEX_H

#include "base/error.h"
#include "base/str.h"

struct regex;

/* NULL with an error (position in the pattern) when invalid. Needs no arena; free it. */
struct regex *regex_new(struct str pattern, struct error *e);
void regex_free(struct regex *re);
/* A regex serves one thread at a time. Text on which PCRE2 hits the match limit does not match; that is logged once. */
bool regex_match(const struct regex *re, struct str text);
/* Has a match ever been given up? Then "no match" was not certain. */
bool regex_gave_up(const struct regex *re);
/* Groups of the last match for label_replace: expands $1, ${1}, $name in `replacement` into `out`. False = no match. */
struct buf;
bool regex_expand(const struct regex *re, struct str text, struct str replacement, struct buf *out);

/* A pattern to be looked for anywhere in a text, as Go's regexp does: not anchored, and '.' takes no newline. For regex_find only. */
struct regex *regex_search_new(struct str pattern, struct error *e);
/* The first match at or after byte `from` (which may be text.len). */
bool regex_find(const struct regex *re, struct str text, size_t from, size_t *start, size_t *end);
/* regex_expand with the groups of the match just found. */
void regex_expand_found(const struct regex *re, struct str text, struct str replacement, struct buf *out);
/* When the pattern is an alternation of plain literals ("a|b", "(a|b)"): their number and texts, sorted and without doubles;
 * 0 otherwise. */
size_t regex_literals(const struct regex *re, const struct str **literals);

#endif
