#include "model/matcher.h"

bool matcher_init(struct matcher *m, struct str name, enum match_op op, struct str value, struct error *e)
{
	*m = (struct matcher){ .name = name, .value = value, .op = op };
	if (op == MATCH_EQ || op == MATCH_NE)
		return true;
	m->re = regex_new(value, e);
	return m->re != NULL;
}

void matcher_fini(struct matcher *m)
{
	regex_free(m->re);
	m->re = NULL;
}

bool matcher_matches(const struct matcher *m, struct str value)
{
	switch (m->op) {
	case MATCH_EQ: return str_eq(m->value, value);
	case MATCH_NE: return !str_eq(m->value, value);
	case MATCH_RE: return regex_match(m->re, value);
	case MATCH_NRE: return !regex_match(m->re, value);
	}
	return false;
}

const char *match_op_text(enum match_op op)
{
	static const char *const texts[] = { [MATCH_EQ] = "=", [MATCH_NE] = "!=", [MATCH_RE] = "=~", [MATCH_NRE] = "!~" };

	return texts[op];
}

bool matchers_match(const struct matcher *list, size_t count, const struct labels *l)
{
	for (size_t i = 0; i < count; i++)
		if (!matcher_matches(&list[i], labels_get(l, list[i].name)))
			return false;
	return true;
}
