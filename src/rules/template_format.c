/* Values as text: %v, and Go's printf. */
#include "base/number.h"
#include "rules/template_tree.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH_MAX = 1000, DIGITS_MAX = 1100, GO_EXPONENT_FROM = 6 };

const char *value_kind_name(const struct value *v)
{
	static const char *const names[] = { [VALUE_NIL] = "nil",
		[VALUE_TEXT] = "string",
		[VALUE_INTEGER] = "int",
		[VALUE_NUMBER] = "float64",
		[VALUE_BOOL] = "bool",
		[VALUE_MAP] = "map[string]string",
		[VALUE_SAMPLES] = "template.queryResult",
		[VALUE_SAMPLE] = "*template.sample",
		[VALUE_ROOT] = "template data" };

	return names[v->kind];
}

/* The fewest digits that read back, in C's 'e' form. */
static void shortest(double v, char *text, size_t size)
{
	for (int digits = 0; digits <= 17; digits++) {
		snprintf(text, size, "%.*e", digits, v);
		if (strtod(text, NULL) == v)
			return;
	}
}

/* "d.ddde+xx" without exponent. */
static void plain(const char *scientific, int exponent, struct buf *out)
{
	char digits[32];
	int count = 0;

	for (; *scientific && *scientific != 'e'; scientific++)
		if (isdigit((unsigned char)*scientific))
			digits[count++] = *scientific;
		else if (*scientific == '-')
			buf_add_c(out, '-');
	if (exponent < 0) {
		buf_add_cstr(out, "0.");
		buf_add_repeat(out, '0', (size_t)(-exponent - 1));
		buf_add(out, str_of(digits, (size_t)count));
		return;
	}
	for (int i = 0; i < count || i <= exponent; i++) {
		if (i == exponent + 1)
			buf_add_c(out, '.');
		buf_add_c(out, i < count ? digits[i] : '0');
	}
}

void go_float(double v, char verb, int precision, struct buf *out)
{
	char text[DIGITS_MAX + 400], format[] = "%.*?";

	if (isnan(v) || isinf(v)) {
		buf_add_cstr(out, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
		return;
	}
	if (precision >= 0) {
		format[3] = verb;
		snprintf(text, sizeof text, format, precision > DIGITS_MAX ? DIGITS_MAX : precision, v);
		buf_add_cstr(out, text);
		return;
	}
	shortest(v, text, sizeof text);
	int exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);

	if (verb == 'e' || (verb == 'g' && (exponent < -4 || exponent >= GO_EXPONENT_FROM)))
		buf_add_cstr(out, text);
	else
		plain(text, exponent, out);
}

static void print_map(const struct value *v, struct buf *out)
{
	buf_add_cstr(out, "map[");
	for (size_t i = 0; i < v->count; i++) {
		if (i)
			buf_add_c(out, ' ');
		buf_add(out, v->pairs[i].name);
		buf_add_c(out, ':');
		buf_add(out, v->pairs[i].value);
	}
	buf_add_c(out, ']');
}

bool value_print(struct execution *x, const struct value *v, struct buf *out)
{
	switch (v->kind) {
	case VALUE_NIL: return execution_fail(x, "nil is not a value to print");
	case VALUE_TEXT: buf_add(out, v->text); break;
	case VALUE_INTEGER: buf_add_i64(out, v->integer); break;
	case VALUE_NUMBER: go_float(v->number, 'g', -1, out); break;
	case VALUE_BOOL: buf_add_cstr(out, v->truth ? "true" : "false"); break;
	case VALUE_MAP: print_map(v, out); break;
	case VALUE_SAMPLES:
	case VALUE_SAMPLE:
	case VALUE_ROOT: return execution_fail(x, "a %s is not a value to print: take its .Labels or .Value", value_kind_name(v));
	}
	return true;
}

/* ---- printf ---- */

struct directive {
	bool minus, plus, zero, blank, sharp;
	int width, precision; /* -1: none */
	char verb;
};

static int take_digits(struct str *s)
{
	int value = 0;

	while (s->len && isdigit((unsigned char)*s->ptr)) {
		value = value < WIDTH_MAX ? value * 10 + (*s->ptr - '0') : WIDTH_MAX;
		*s = str_skip(*s, 1);
	}
	return value > WIDTH_MAX ? WIDTH_MAX : value;
}

/* Behind the '%'. */
static struct directive take_directive(struct str *s)
{
	struct directive d = { .width = -1, .precision = -1 };

	for (; s->len && strchr("-+0 #", *s->ptr); *s = str_skip(*s, 1)) {
		d.minus |= *s->ptr == '-';
		d.plus |= *s->ptr == '+';
		d.zero |= *s->ptr == '0';
		d.blank |= *s->ptr == ' ';
		d.sharp |= *s->ptr == '#';
	}
	if (s->len && isdigit((unsigned char)*s->ptr))
		d.width = take_digits(s);
	if (s->len && *s->ptr == '.') {
		*s = str_skip(*s, 1);
		d.precision = take_digits(s);
	}
	if (s->len) {
		d.verb = *s->ptr;
		*s = str_skip(*s, 1);
	}
	return d;
}

static void add_padded(const struct directive *d, struct str text, bool numeric, struct buf *out)
{
	size_t columns = 0, missing;
	uint32_t rune;

	for (struct str s = text; s.len; s = str_skip(s, str_rune(s, &rune)))
		columns++;
	missing = d->width > 0 && (size_t)d->width > columns ? (size_t)d->width - columns : 0;
	if (d->minus) {
		buf_add(out, text);
		buf_add_repeat(out, ' ', missing);
		return;
	}
	if (d->zero && numeric && text.len && (*text.ptr == '-' || *text.ptr == '+')) {
		buf_add_c(out, *text.ptr);
		text = str_skip(text, 1);
	}
	buf_add_repeat(out, d->zero ? '0' : ' ', missing);
	buf_add(out, text);
}

static void format_number(const struct directive *d, double v, struct buf *text)
{
	char verb = d->verb == 'v' ? 'g' : d->verb == 'F' ? 'f' : d->verb;
	int precision = d->precision >= 0 ? d->precision : verb == 'g' ? -1 : 6;

	if (d->plus && !signbit(v) && !isnan(v) && !isinf(v))
		buf_add_c(text, '+');
	else if (d->blank && !signbit(v))
		buf_add_c(text, ' ');
	go_float(v, verb, precision, text);
}

static void format_integer(const struct directive *d, int64_t v, struct buf *text)
{
	uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	if (v < 0)
		buf_add_c(text, '-');
	else if (d->plus)
		buf_add_c(text, '+');
	else if (d->blank)
		buf_add_c(text, ' ');
	buf_printf(text, d->verb == 'x' ? "%lx" : d->verb == 'X' ? "%lX" : d->verb == 'o' ? "%lo" : "%lu", (unsigned long)size);
}

static void format_text(const struct directive *d, struct str s, struct buf *text)
{
	if (d->verb == 'q') {
		label_print_value(s, text);
		return;
	}
	if (d->verb == 'x' || d->verb == 'X') {
		for (size_t i = 0; i < s.len; i++)
			buf_printf(text, d->verb == 'x' ? "%02x" : "%02X", (unsigned char)s.ptr[i]);
		return;
	}
	uint32_t rune;

	for (int runes = 0; s.len && (d->precision < 0 || runes < d->precision); runes++) {
		size_t length = str_rune(s, &rune);

		buf_add(text, str_head(s, length));
		s = str_skip(s, length);
	}
}

/* "%!d(string=x)" */
static bool wrong_verb(struct execution *x, const struct directive *d, const struct value *v, struct buf *out)
{
	buf_printf(out, "%%!%c(%s=", d->verb, value_kind_name(v));
	if (!value_print(x, v, out))
		return false;
	buf_add_c(out, ')');
	return true;
}

static bool format_value(struct execution *x, const struct directive *d, const struct value *v, struct buf *out)
{
	static const char *const verbs[] = {
		[VALUE_TEXT] = "vsqxX", [VALUE_INTEGER] = "vdxXo", [VALUE_NUMBER] = "veEfFgG", [VALUE_BOOL] = "vt", [VALUE_MAP] = "v"
	};
	const char *allowed = v->kind <= VALUE_MAP ? verbs[v->kind] : NULL;
	struct buf text;
	bool ok = true;

	if (v->kind == VALUE_NIL) {
		buf_printf(out, d->verb == 'v' ? "<nil>" : "%%!%c(<nil>)", d->verb);
		return true;
	}
	if (!allowed || !strchr(allowed, d->verb))
		return wrong_verb(x, d, v, out);
	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	if (v->kind == VALUE_NUMBER)
		format_number(d, v->number, &text);
	else if (v->kind == VALUE_INTEGER)
		format_integer(d, v->integer, &text);
	else if (v->kind == VALUE_TEXT)
		format_text(d, v->text, &text);
	else
		ok = value_print(x, v, &text);
	bool numeric = (v->kind == VALUE_NUMBER && isfinite(v->number)) || v->kind == VALUE_INTEGER;
	struct directive padding = *d;

	padding.zero = d->zero && (numeric || v->kind == VALUE_TEXT);
	add_padded(&padding, buf_str(&text), numeric, out);
	buf_fini(&text);
	return ok;
}

bool value_printf(struct execution *x, const struct value *args, size_t count, struct buf *out)
{
	struct str format = args[0].text;
	size_t used = 1;

	while (format.len) {
		ptrdiff_t at = str_find(format, '%');

		buf_add(out, str_head(format, at < 0 ? SIZE_MAX : (size_t)at));
		if (at < 0)
			break;
		format = str_skip(format, (size_t)at + 1);
		struct directive d = take_directive(&format);

		if (!d.verb)
			buf_add_cstr(out, "%!(NOVERB)");
		else if (d.verb == '%')
			buf_add_c(out, '%');
		else if (used == count)
			buf_printf(out, "%%!%c(MISSING)", d.verb);
		else if (!format_value(x, &d, &args[used++], out))
			return false;
	}
	for (size_t i = used; i < count; i++) {
		buf_printf(out, "%s%s=", i == used ? "%!(EXTRA " : ", ", value_kind_name(&args[i]));
		if (!value_print(x, &args[i], out))
			return false;
	}
	if (used < count)
		buf_add_c(out, ')');
	return true;
}
