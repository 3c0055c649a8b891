/* matcher: one condition on a label. An absent label is the empty string. */
#ifndef GOODPUT_MODEL_MATCHER_H
#define GOODPUT_MODEL_MATCHER_H

#include "base/error.h"
#include "base/regex.h"
#include "model/labels.h"

enum match_op { MATCH_EQ, MATCH_NE, MATCH_RE, MATCH_NRE };

struct matcher {
	struct str name, value;
	enum match_op op;
	struct regex *re; /* for the two regex forms; owned by whoever called matcher_init */
};

/* Compiles the regex. The slices are borrowed. */
bool matcher_init(struct matcher *m, struct str name, enum match_op op, struct str value, struct error *e);
void matcher_fini(struct matcher *m);
bool matcher_matches(const struct matcher *m, struct str value);
bool matchers_match(const struct matcher *list, size_t count, const struct labels *l);
/* "=", "!=", "=~", "!~" */
const char *match_op_text(enum match_op op);

#endif
