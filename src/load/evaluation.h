/* evaluation: a small set of questions with known answers that is mixed into a load, so that a faster server that answers worse is seen.
 *
 * A file is JSON Lines, or a JSON list, of
 *   {"id": "q1", "prompt": "…" or "messages": [{"role": …, "content": …}…], "max_tokens": 64, "check": {…}}
 * with one of these checks:
 *   {"exact": "42"}                      the answer without blanks at both ends
 *   {"contains": "Paris"}                any case; a list: all of them
 *   {"regex": "^4[12]$"}                 found anywhere in the answer
 *   {"json": "city.name", "equals": …}   the answer (or its first fenced block, or its first {…}) is JSON and has this value there
 *   {"choice": "B"}                      multiple choice: the letter that the answer settles on */
#ifndef GOODPUT_LOAD_EVALUATION_H
#define GOODPUT_LOAD_EVALUATION_H

#include "base/arena.h"
#include "base/error.h"
#include "base/regex.h"
#include "base/vec.h"

enum evaluation_check { EVALUATION_EXACT, EVALUATION_CONTAINS, EVALUATION_REGEX, EVALUATION_JSON, EVALUATION_CHOICE };

struct json_t;

struct evaluation_item {
	struct str id;
	struct str messages; /* JSON list */
	struct str prompt;   /* the last message's text, for completions */
	int64_t max_tokens;
	enum evaluation_check check;
	struct str wanted; /* EXACT, CHOICE (one letter); JSON: the path */
	struct str *parts; /* CONTAINS */
	size_t part_count;
	struct regex *regex;  /* REGEX */
	struct json_t *value; /* JSON; NULL: that it is there is enough */
};

struct evaluation_set {
	struct arena arena;
	VEC(struct evaluation_item) items;
};

/* False with line and reason. The set is initialised and must be freed in both cases. */
bool evaluation_read(struct evaluation_set *set, const char *path, struct error *e);
bool evaluation_parse(struct evaluation_set *set, struct str source, struct str text, struct error *e);
void evaluation_free(struct evaluation_set *set);
bool evaluation_judge(const struct evaluation_item *item, struct str answer);

#endif
