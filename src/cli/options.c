#include "cli/options.h"

#include "base/clock.h"
#include "base/number.h"

#include <assert.h>
#include <stdio.h>

#define DURATION_MOST_MS (INT64_C(100) * 365 * 86400 * 1000)

struct parser {
	const struct option_table *tables;
	char *arguments;
	const char *who;
	char **argv;
	size_t count, at;
	struct error *e;
};

static void *field_of(const struct parser *p, const struct option_table *table, const struct option_spec *o)
{
	return p->arguments + table->offset + o->offset;
}

static bool size_parse(struct str s, size_t *bytes)
{
	static const char *const suffixes[][3] = { { "k", "kb", "kib" }, { "m", "mb", "mib" }, { "g", "gb", "gib" } };
	size_t digits = 0;
	int64_t value;
	unsigned shift = 0;

	while (digits < s.len && s.ptr[digits] >= '0' && s.ptr[digits] <= '9')
		digits++;
	struct str unit = str_skip(s, digits);

	for (unsigned i = 0; i < ARRAY_LEN(suffixes); i++)
		for (unsigned k = 0; k < 3; k++)
			if (str_eq_nocase(unit, str_from(suffixes[i][k])))
				shift = 10 * (i + 1);
	if (!number_parse_i64(str_head(s, digits), &value) || (unit.len && !shift) || value > (INT64_MAX >> shift))
		return false;
	*bytes = (size_t)value << shift;
	return true;
}

static bool choice_parse(const struct option_spec *o, struct str text, int *index)
{
	for (int i = 0; o->choices[i]; i++)
		if (str_is(text, o->choices[i])) {
			*index = i;
			return true;
		}
	return false;
}

static bool value_refused(const struct parser *p, const struct option_spec *o, const char *text, const char *wanted)
{
	error_set(p->e, EXIT_USAGE, "--%s: \"%s\" is not %s", o->name, text, wanted);
	return false;
}

static bool choice_refused(const struct parser *p, const struct option_spec *o, const char *text)
{
	char list[200] = "";

	for (int i = 0; o->choices[i]; i++) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "one of ", o->choices[i]);
	}
	return value_refused(p, o, text, list);
}

static bool whole_number_set(const struct parser *p, const struct option_spec *o, const char *text, int64_t *value)
{
	char least[64];

	if (o->type == OPTION_INTEGER && !number_parse_i64(str_from(text), value))
		return value_refused(p, o, text, "a whole number");
	if (o->type == OPTION_DURATION && !duration_parse(str_from(text), value))
		return value_refused(p, o, text, "a duration such as 10s, 5m or 1h30m");
	if (o->type == OPTION_DURATION && *value > DURATION_MOST_MS)
		return value_refused(p, o, text, "a duration of at most 100 years");
	if (*value >= o->least)
		return true;
	if (o->type == OPTION_DURATION)
		duration_format(o->least, least);
	else
		snprintf(least, sizeof least, "%lld", (long long)o->least);
	error_set(p->e, EXIT_USAGE, "--%s: %s is too small: at least %s", o->name, text, least);
	return false;
}

static bool value_set(const struct parser *p, const struct option_table *table, const struct option_spec *o, const char *text)
{
	void *field = field_of(p, table, o);

	switch (o->type) {
	case OPTION_FLAG: *(bool *)field = true; return true;
	case OPTION_STRING: *(const char **)field = text; return true;
	case OPTION_STRINGS: VEC_PUSH((struct option_strings *)field, text); return true;
	case OPTION_INTEGER:
	case OPTION_DURATION: return whole_number_set(p, o, text, field);
	case OPTION_SIZE: return size_parse(str_from(text), field) || value_refused(p, o, text, "a size such as 500k or 64MiB");
	case OPTION_CHOICE: return choice_parse(o, str_from(text), field) || choice_refused(p, o, text);
	}
	return false;
}

void options_preset(const struct option_table *tables, void *arguments)
{
	struct error e = { 0 };
	const struct parser p = { .tables = tables, .arguments = arguments, .e = &e };

	OPTIONS_EACH(tables, table, o)
	if (o->preset && !value_set(&p, table, o, o->preset))
		assert(!"a preset of an option table does not parse");
}

void options_free(const struct option_table *tables, void *arguments)
{
	const struct parser p = { .tables = tables, .arguments = arguments };

	OPTIONS_EACH(tables, table, o)
	if (o->type == OPTION_STRINGS)
		VEC_FREE((struct option_strings *)field_of(&p, table, o));
}

const struct option_spec *option_find(const struct option_table *tables, struct str name)
{
	OPTIONS_EACH(tables, table, o)
	if (str_is(name, o->name))
		return o;
	return NULL;
}

/* The option and its table by name or letter. */
static const struct option_spec *option_lookup(const struct parser *p, struct str name, char letter, const struct option_table **in)
{
	OPTIONS_EACH(p->tables, table, o)
	if (name.len ? str_is(name, o->name) : o->letter && o->letter == letter) {
		*in = table;
		return o;
	}
	return NULL;
}

static bool option_unknown(const struct parser *p, struct str name)
{
	const char *nearest = NULL;
	size_t best = name.len > 5 ? 3 : 2;

	OPTIONS_EACH(p->tables, table, o)
	{
		size_t distance = str_distance(name, str_from(o->name), best);

		/* "--mark" is an abbreviation: not accepted, but what was meant is clear. */
		if (distance > best && name.len >= 3 && str_starts(str_from(o->name), name))
			distance = best;
		if (distance <= best) {
			best = distance;
			nearest = o->name;
		}
	}
	error_set(p->e, EXIT_USAGE, "unknown option --" STR_FMT, STR_ARG(name));
	if (nearest)
		error_hint(p->e, "did you mean --%s? All options: %s --help", nearest, p->who);
	else
		error_hint(p->e, "all options: %s --help", p->who);
	return false;
}

static bool value_missing(const struct parser *p, const struct option_spec *o)
{
	error_set(p->e, EXIT_USAGE, "--%s needs a value: --%s %s", o->name, o->name, o->argument);
	return false;
}

/* "--name", "--name=value", "--no-name" */
static bool long_option(struct parser *p, struct str text)
{
	const struct option_table *table;
	ptrdiff_t equals = str_find(text, '=');
	struct str name = equals < 0 ? text : str_head(text, (size_t)equals);
	const char *value = equals < 0 ? NULL : text.ptr + equals + 1;
	const struct option_spec *o = name.len ? option_lookup(p, name, 0, &table) : NULL;

	if (!o && str_starts(name, STR("no-"))) {
		o = name.len > 3 ? option_lookup(p, str_skip(name, 3), 0, &table) : NULL;
		if (o && o->type == OPTION_FLAG && !value) {
			*(bool *)field_of(p, table, o) = false;
			return true;
		}
		o = NULL;
	}
	if (!o)
		return option_unknown(p, name);
	if (o->type == OPTION_FLAG && value)
		return error_set(p->e, EXIT_USAGE, "--%s takes no value: --%s or --no-%s", o->name, o->name, o->name);
	if (o->type != OPTION_FLAG && !value) {
		if (p->at == p->count)
			return value_missing(p, o);
		value = p->argv[p->at++];
	}
	return value_set(p, table, o, value);
}

/* "-q", "-qv", "-wVALUE", "-w VALUE" */
static bool short_options(struct parser *p, const char *text)
{
	for (; *text; text++) {
		const struct option_table *table;
		const struct option_spec *o = option_lookup(p, STR_EMPTY, *text, &table);

		if (!o) {
			error_set(p->e, EXIT_USAGE, "unknown option -%c", *text);
			error_hint(p->e, "all options: %s --help", p->who);
			return false;
		}
		if (o->type == OPTION_FLAG) {
			*(bool *)field_of(p, table, o) = true;
			continue;
		}
		if (text[1])
			return value_set(p, table, o, text + 1);
		return p->at < p->count ? value_set(p, table, o, p->argv[p->at++]) : value_missing(p, o);
	}
	return true;
}

bool options_parse(const struct option_table *tables, void *arguments, const char *who, char **argv, size_t count, bool leading,
	size_t *used, struct option_strings *operands, struct error *e)
{
	struct parser p = { .tables = tables, .arguments = arguments, .who = who, .argv = argv, .count = count, .e = e };
	bool only_operands = false;

	while (p.at < count) {
		const char *text = argv[p.at];

		if (only_operands || text[0] != '-' || !text[1]) {
			if (leading)
				break;
			VEC_PUSH(operands, text);
			p.at++;
			continue;
		}
		p.at++;
		if (strcmp(text, "--") == 0)
			only_operands = true;
		else if (text[1] == '-' ? !long_option(&p, str_from(text + 2)) : !short_options(&p, text + 1))
			return false;
	}
	if (used)
		*used = p.at;
	return true;
}
