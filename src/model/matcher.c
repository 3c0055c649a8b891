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

bool matchers_match(const struct matcher *list, size_t count, const struct labels *l)
{
	for (size_t i = 0; i < count; i++) {
		if (!matcher_matches(&list[i], labels_get(l, list[i].name)))
			return false;
	}
	return true;
}

static bool is_bare_metric(const struct matcher *m)
{
	return m->op == MATCH_EQ && str_eq(m->name, LABEL_NAME) && label_name_is_classic(m->value, true);
}

void matchers_print(const struct matcher *list, size_t count, struct buf *out)
{
	static const char *const operators[] = { "=", "!=", "=~", "!~" };
	const struct matcher *metric = NULL;
	const char *separator = "";

	for (size_t i = 0; i < count && !metric; i++)
		metric = is_bare_metric(&list[i]) ? &list[i] : NULL;
	if (metric)
		buf_add(out, metric->value);
	if (metric && count == 1)
		return;
	buf_add_c(out, '{');
	for (size_t i = 0; i < count; i++) {
		if (&list[i] == metric)
			continue;
		buf_add_cstr(out, separator);
		label_print_name(list[i].name, out);
		buf_add_cstr(out, operators[list[i].op]);
		label_print_value(list[i].value, out);
		separator = ",";
	}
	buf_add_c(out, '}');
}
