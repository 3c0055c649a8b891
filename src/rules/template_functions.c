/* Prometheus's template functions, and those of Go's templates that need no more than these values. */
#include "base/clock.h"
#include "base/number.h"
#include "base/regex.h"
#include "base/vec.h"
#include "rules/template_tree.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FUNCTION(name) static bool name(struct execution *x, const struct value *args, size_t count, struct value *result)

/* ---- arguments and results ---- */

static bool need(struct execution *x, const struct value *v, enum value_kind kind)
{
	const struct value wanted = { .kind = kind };

	return v->kind == kind ||
	       execution_fail(x, "wrong type for value; expected %s; got %s", value_kind_name(&wanted), value_kind_name(v));
}

/* As Prometheus's convertToFloat. */
static bool need_number(struct execution *x, const struct value *v, double *number)
{
	switch (v->kind) {
	case VALUE_NUMBER: *number = v->number; return true;
	case VALUE_INTEGER: *number = (double)v->integer; return true;
	case VALUE_TEXT:
		return number_parse(v->text, number) ||
		       execution_fail(x, "parsing \"" STR_FMT "\": not a number", STR_ARG(str_head(v->text, 60)));
	default: return execution_fail(x, "can't convert %s to float", value_kind_name(v));
	}
}

static bool give_text(struct execution *x, struct buf *text, struct value *result)
{
	bool fits = !text->overflowed;

	*result = (struct value){ .kind = VALUE_TEXT, .text = fits ? arena_str(x->arena, buf_str(text)) : STR_EMPTY };
	buf_fini(text);
	return fits || execution_fail(x, "the text is too long");
}

static bool give(struct value *result, struct str text)
{
	*result = (struct value){ .kind = VALUE_TEXT, .text = text };
	return true;
}

static bool give_truth(struct value *result, bool truth)
{
	*result = (struct value){ .kind = VALUE_BOOL, .truth = truth };
	return true;
}

static bool give_format(struct execution *x, struct value *result, const char *format, double v, const char *unit)
{
	struct buf text;

	buf_init(&text, 4096);
	if (isnan(v) || isinf(v))
		go_float(v, 'g', 4, &text);
	else
		buf_printf(&text, format, v);
	buf_add_cstr(&text, unit);
	return give_text(x, &text, result);
}

/* ---- numbers for people ---- */

/* Divides by `step` while that leaves 1 or more, or multiplies below 1; the prefix that stands for it. */
static const char *scale_up(double *v, double step, const char *const *prefixes)
{
	const char *prefix = "";

	for (; *prefixes && fabs(*v) >= step; prefixes++) {
		prefix = *prefixes;
		*v /= step;
	}
	return prefix;
}

static const char *scale_down(double *v)
{
	static const char *const prefixes[] = { "m", "u", "n", "p", "f", "a", "z", "y", NULL };
	const char *prefix = "";

	for (const char *const *p = prefixes; *p && fabs(*v) < 1; p++) {
		prefix = *p;
		*v *= 1000;
	}
	return prefix;
}

FUNCTION(humanize)
{
	static const char *const prefixes[] = { "k", "M", "G", "T", "P", "E", "Z", "Y", NULL };
	const char *prefix = "";
	double v;

	if (!need_number(x, &args[0], &v))
		return false;
	if (v != 0 && !isnan(v) && !isinf(v))
		prefix = fabs(v) >= 1 ? scale_up(&v, 1000, prefixes) : scale_down(&v);
	return give_format(x, result, "%.4g", v, prefix);
}

FUNCTION(humanize_1024)
{
	static const char *const prefixes[] = { "ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi", NULL };
	const char *prefix = "";
	double v;

	if (!need_number(x, &args[0], &v))
		return false;
	if (fabs(v) > 1 && !isinf(v))
		prefix = scale_up(&v, 1024, prefixes);
	return give_format(x, result, "%.4g", v, prefix);
}

static void add_long_duration(double v, struct buf *text)
{
	int64_t seconds = (int64_t)fabs(v), minutes = seconds / 60 % 60, hours = seconds / 3600 % 24, days = seconds / 86400;
	const char *sign = v < 0 ? "-" : "";

	if (days)
		buf_printf(text, "%s%ldd %ldh %ldm %lds", sign, (long)days, (long)hours, (long)minutes, (long)(seconds % 60));
	else if (hours)
		buf_printf(text, "%s%ldh %ldm %lds", sign, (long)hours, (long)minutes, (long)(seconds % 60));
	else if (minutes)
		buf_printf(text, "%s%ldm %lds", sign, (long)minutes, (long)(seconds % 60));
	else
		buf_printf(text, "%s%.4gs", sign, fabs(v));
}

FUNCTION(humanize_duration)
{
	struct buf text;
	double v;

	if (!need_number(x, &args[0], &v))
		return false;
	if (isnan(v) || isinf(v))
		return give_format(x, result, "%.4g", v, "");
	buf_init(&text, 4096);
	if (v == 0)
		buf_add_cstr(&text, "0s");
	else if (fabs(v) >= 9e18)
		buf_printf(&text, "%.4gs", v); /* beyond int64 */
	else if (fabs(v) >= 1)
		add_long_duration(v, &text);
	else {
		const char *prefix = scale_down(&v);

		buf_printf(&text, "%.4g%ss", v, prefix);
	}
	return give_text(x, &text, result);
}

FUNCTION(humanize_percentage)
{
	double v;

	return need_number(x, &args[0], &v) && give_format(x, result, "%.4g", v * 100, "%");
}

/* Go prints a time with as many digits of a fraction as it has. */
FUNCTION(humanize_timestamp)
{
	char date[64];
	struct buf text;
	time_t seconds;
	struct tm tm;
	double v;

	if (!need_number(x, &args[0], &v))
		return false;
	if (isnan(v) || isinf(v))
		return give_format(x, result, "%.4g", v, "");
	if (fabs(v * 1e9) >= 9.2233720368547e18) {
		buf_init(&text, 4096);
		go_float(v, 'g', -1, &text);
		execution_fail(x, "%s cannot be represented as a nanoseconds timestamp since it overflows int64", buf_cstr(&text));
		buf_fini(&text);
		return false;
	}
	/* model.Time counts milliseconds. */
	int64_t ms = (int64_t)(v * 1e9) / 1000000, rest = ms % 1000;

	seconds = (time_t)(ms / 1000 - (rest < 0));
	rest += rest < 0 ? 1000 : 0;
	gmtime_r(&seconds, &tm);
	strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm);
	buf_init(&text, 4096);
	buf_add_cstr(&text, date);
	if (rest) {
		char fraction[8];
		int length = snprintf(fraction, sizeof fraction, ".%03d", (int)rest);

		while (fraction[length - 1] == '0')
			length--;
		buf_add(&text, str_of(fraction, (size_t)length));
	}
	buf_add_cstr(&text, " +0000 UTC");
	return give_text(x, &text, result);
}

FUNCTION(parse_duration)
{
	int64_t ms, bare;

	if (!need(x, &args[0], VALUE_TEXT))
		return false;
	if (!duration_parse(args[0].text, &ms) || (number_parse_i64(args[0].text, &bare) && bare))
		return execution_fail(x, "not a valid duration string: \"" STR_FMT "\"", STR_ARG(str_head(args[0].text, 60)));
	*result = (struct value){ .kind = VALUE_NUMBER, .number = (double)ms / 1000 };
	return true;
}

FUNCTION(now)
{
	*result = (struct value){ .kind = VALUE_NUMBER, .number = (double)x->data->t_ms / 1000 };
	return true;
}

/* ---- texts ---- */

static bool change_case(struct execution *x, const struct value *args, struct value *result, int mode)
{
	struct buf text;
	bool start = true;

	if (!need(x, &args[0], VALUE_TEXT))
		return false;
	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	for (size_t i = 0; i < args[0].text.len; i++) {
		unsigned char c = (unsigned char)args[0].text.ptr[i];

		buf_add_c(&text, (char)(c >= 0x80 ? c : mode < 0 ? tolower(c) : mode > 0 || start ? toupper(c) : c));
		start = !(isalnum(c) || c == '_' || c == '\'' || c >= 0x80);
	}
	return give_text(x, &text, result);
}

FUNCTION(to_upper)
{
	return change_case(x, args, result, 1);
}

FUNCTION(to_lower)
{
	return change_case(x, args, result, -1);
}

FUNCTION(title)
{
	return change_case(x, args, result, 0);
}

/* "host:port" without the port; "[::1]:80" → "::1"; what has no port stays. */
FUNCTION(strip_port)
{
	struct str s = args[0].text;
	ptrdiff_t colon;

	if (!need(x, &args[0], VALUE_TEXT))
		return false;
	if (str_starts(s, STR("["))) {
		ptrdiff_t end = str_find(s, ']');

		return give(result, end > 0 && (size_t)end + 1 < s.len && s.ptr[end + 1] == ':' ? str_of(s.ptr + 1, (size_t)end - 1) : s);
	}
	colon = str_find(s, ':');
	if (colon < 0 || str_find(str_skip(s, (size_t)colon + 1), ':') >= 0)
		return give(result, s);
	return give(result, str_head(s, (size_t)colon));
}

/* "host.domain:port" without the domain; an address stays. */
FUNCTION(strip_domain)
{
	struct value host = { 0 };
	struct buf text;
	bool address = true;

	if (!strip_port(x, args, count, &host))
		return false;
	for (size_t i = 0; i < host.text.len; i++)
		address &= isdigit((unsigned char)host.text.ptr[i]) || host.text.ptr[i] == '.';
	address |= str_find(host.text, ':') >= 0;
	ptrdiff_t dot = str_find(host.text, '.');

	if (address || dot < 0)
		return give(result, args[0].text);
	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	buf_add(&text, str_head(host.text, (size_t)dot));
	buf_add(&text, str_skip(args[0].text, host.text.len));
	return give_text(x, &text, result);
}

static struct regex *search_for(struct execution *x, const struct value *pattern)
{
	struct error e = { 0 };
	struct regex *re = regex_search_new(pattern->text, &e);

	if (!re)
		execution_fail(x, "error parsing regexp: %s", e.message);
	return re;
}

FUNCTION(match)
{
	size_t start, end;

	if (!need(x, &args[0], VALUE_TEXT) || !need(x, &args[1], VALUE_TEXT))
		return false;
	struct regex *re = search_for(x, &args[0]);

	if (!re)
		return false;
	bool found = regex_find(re, args[1].text, 0, &start, &end);

	regex_free(re);
	return give_truth(result, found);
}

/* (pattern, replacement, text) */
FUNCTION(replace_all)
{
	size_t at = 0, start, end;
	struct str text = count == 3 ? args[2].text : STR_EMPTY;
	struct buf out;

	if (!need(x, &args[0], VALUE_TEXT) || !need(x, &args[1], VALUE_TEXT) || !need(x, &args[2], VALUE_TEXT))
		return false;
	struct regex *re = search_for(x, &args[0]);

	if (!re)
		return false;
	buf_init(&out, TEMPLATE_OUTPUT_MAX);
	/* As Go: an empty match right behind a match does not count. */
	for (size_t from = 0, last_end = SIZE_MAX; from <= text.len && regex_find(re, text, from, &start, &end);) {
		buf_add(&out, str_of(text.ptr + at, start - at));
		if (end > start || start != last_end)
			regex_expand_found(re, text, args[1].text, &out);
		at = last_end = end;
		from = end;
		if (end == start) {
			uint32_t rune;
			size_t step = end < text.len ? str_rune(str_skip(text, end), &rune) : 1;

			if (end < text.len)
				buf_add(&out, str_of(text.ptr + end, step));
			at += end < text.len ? step : 0;
			from += step;
		}
	}
	buf_add(&out, str_skip(text, at));
	regex_free(re);
	return give_text(x, &out, result);
}

/* Percent-encoding; a blank is "+" in a query (urlquery) and "%20" elsewhere. */
static void add_escaped(struct str s, bool form, struct buf *out)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (isalnum(c) || strchr("-_.~", c))
			buf_add_c(out, (char)c);
		else if (c == ' ' && form)
			buf_add_c(out, '+');
		else
			buf_printf(out, "%%%02X", c);
	}
}

FUNCTION(url_query)
{
	struct buf text;

	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	for (size_t i = 0; i < count; i++) {
		struct buf one;

		buf_init(&one, TEMPLATE_OUTPUT_MAX);
		bool ok = value_print(x, &args[i], &one);

		add_escaped(buf_str(&one), true, &text);
		buf_fini(&one);
		if (!ok) {
			buf_fini(&text);
			return false;
		}
	}
	return give_text(x, &text, result);
}

static bool link_to(struct execution *x, const struct value *args, struct value *result, const char *tab)
{
	struct buf text;

	if (!need(x, &args[0], VALUE_TEXT))
		return false;
	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	buf_add_cstr(&text, "/graph?g0.expr=");
	add_escaped(args[0].text, true, &text);
	buf_printf(&text, "&g0.tab=%s", tab);
	return give_text(x, &text, result);
}

FUNCTION(graph_link)
{
	return link_to(x, args, result, "0");
}

FUNCTION(table_link)
{
	return link_to(x, args, result, "1");
}

FUNCTION(external_url)
{
	return give(result, x->data->external_url);
}

FUNCTION(path_prefix)
{
	struct str url = x->data->external_url;
	ptrdiff_t scheme = str_search(url, STR("://"));
	struct str host = str_skip(url, scheme < 0 ? 0 : (size_t)scheme + 3);
	ptrdiff_t path = str_find(host, '/');

	return give(result, path < 0 ? STR_EMPTY : str_skip(host, (size_t)path));
}

FUNCTION(safe_html)
{
	return need(x, &args[0], VALUE_TEXT) && give(result, args[0].text);
}

static bool escape_with(
	struct execution *x, const struct value *args, size_t count, struct value *result, void (*escape)(unsigned char c, struct buf *out))
{
	struct buf all, text;
	bool ok = true;

	buf_init(&all, TEMPLATE_OUTPUT_MAX);
	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	for (size_t i = 0; i < count && ok; i++)
		ok = value_print(x, &args[i], &all);
	for (size_t i = 0; i < all.len; i++)
		escape((unsigned char)all.ptr[i], &text);
	buf_fini(&all);
	if (ok)
		return give_text(x, &text, result);
	buf_fini(&text);
	return false;
}

static void escape_html(unsigned char c, struct buf *out)
{
	static const char from[] = "<>&'\"";
	static const char *const to[] = { "&lt;", "&gt;", "&amp;", "&#39;", "&#34;" };
	const char *found = c ? strchr(from, c) : NULL;

	if (found)
		buf_add_cstr(out, to[found - from]);
	else
		buf_add_c(out, (char)c);
}

FUNCTION(html)
{
	return escape_with(x, args, count, result, escape_html);
}

FUNCTION(print_formatted)
{
	struct buf text;

	if (!need(x, &args[0], VALUE_TEXT))
		return false;
	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	if (value_printf(x, args, count, &text))
		return give_text(x, &text, result);
	buf_fini(&text);
	return false;
}

/* Go's Sprint puts a blank between operands of which neither is a text, Sprintln always. */
static bool print_all(struct execution *x, const struct value *args, size_t count, struct value *result, bool line)
{
	struct buf text;
	bool ok = true;

	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	for (size_t i = 0; i < count && ok; i++) {
		if (i && (line || (args[i].kind != VALUE_TEXT && args[i - 1].kind != VALUE_TEXT)))
			buf_add_c(&text, ' ');
		ok = value_print(x, &args[i], &text);
	}
	if (line)
		buf_add_c(&text, '\n');
	if (ok)
		return give_text(x, &text, result);
	buf_fini(&text);
	return false;
}

FUNCTION(print)
{
	return print_all(x, args, count, result, false);
}

FUNCTION(print_line)
{
	return print_all(x, args, count, result, true);
}

/* ---- queries and collections ---- */

static bool samples_of(struct execution *x, const struct promql_value *v, struct value *result)
{
	size_t count = v->type == PROMQL_SCALAR ? 1 : v->count;
	struct sample *samples = ARENA_ARRAY(x->arena, struct sample, count);

	for (size_t i = 0; i < count; i++) {
		const struct labels *l = v->type == PROMQL_VECTOR ? v->elements[i].labels : NULL;

		samples[i].value = v->type == PROMQL_SCALAR ? v->scalar : v->elements[i].value;
		samples[i].labels = l ? l->items : NULL;
		samples[i].label_count = l ? l->count : 0;
	}
	*result = (struct value){ .kind = VALUE_SAMPLES, .samples = samples, .count = count };
	return true;
}

FUNCTION(query)
{
	struct promql_value v;
	struct error e = { 0 };

	if (!need(x, &args[0], VALUE_TEXT))
		return false;
	if (!x->data->backend)
		return execution_fail(x, "query: there is nothing to ask here");
	if (!x->data->backend->ops->query(x->data->backend, x->arena, args[0].text, x->data->t_ms, &v, &e))
		return execution_fail(x, "error calling query: %s", e.message);
	if (v.type != PROMQL_VECTOR && v.type != PROMQL_SCALAR)
		return execution_fail(x, "error calling query: query result is not a vector or scalar");
	return samples_of(x, &v, result);
}

FUNCTION(first)
{
	if (!need(x, &args[0], VALUE_SAMPLES))
		return false;
	if (!args[0].count)
		return execution_fail(x, "error calling first: first() called on vector with no elements");
	*result = (struct value){ .kind = VALUE_SAMPLE, .samples = args[0].samples };
	return true;
}

static struct str sample_label(const struct sample *s, struct str name)
{
	for (size_t i = 0; i < s->label_count; i++)
		if (str_eq(s->labels[i].name, name))
			return s->labels[i].value;
	return STR_EMPTY;
}

/* (name, sample) */
FUNCTION(label)
{
	return need(x, &args[0], VALUE_TEXT) && need(x, &args[1], VALUE_SAMPLE) &&
	       give(result, sample_label(args[1].samples, args[0].text));
}

FUNCTION(sample_value)
{
	if (!need(x, &args[0], VALUE_SAMPLE))
		return false;
	*result = (struct value){ .kind = VALUE_NUMBER, .number = args[0].samples->value };
	return true;
}

FUNCTION(sample_text)
{
	return need(x, &args[0], VALUE_SAMPLE) && give(result, sample_label(args[0].samples, STR("__value__")));
}

struct keyed {
	struct str key;
	size_t index; /* keeps the order of equal ones */
};

static int keyed_order(const void *a, const void *b)
{
	const struct keyed *left = a, *right = b;
	int order = str_cmp(left->key, right->key);

	return order ? order : left->index < right->index ? -1 : 1;
}

/* (name, samples) */
FUNCTION(sort_by_label)
{
	if (!need(x, &args[0], VALUE_TEXT) || !need(x, &args[1], VALUE_SAMPLES))
		return false;
	struct keyed *keys = ARENA_ARRAY(x->arena, struct keyed, args[1].count);
	struct sample *sorted = ARENA_ARRAY(x->arena, struct sample, args[1].count);

	for (size_t i = 0; i < args[1].count; i++)
		keys[i] = (struct keyed){ sample_label(&args[1].samples[i], args[0].text), i };
	if (args[1].count > 1)
		qsort(keys, args[1].count, sizeof *keys, keyed_order);
	for (size_t i = 0; i < args[1].count; i++)
		sorted[i] = args[1].samples[keys[i].index];
	*result = (struct value){ .kind = VALUE_SAMPLES, .samples = sorted, .count = args[1].count };
	return true;
}

FUNCTION(length)
{
	if (args[0].kind != VALUE_TEXT && args[0].kind != VALUE_MAP && args[0].kind != VALUE_SAMPLES)
		return execution_fail(x, "len of type %s", value_kind_name(&args[0]));
	*result = (struct value){ .kind = VALUE_INTEGER,
		.integer = (int64_t)(args[0].kind == VALUE_TEXT ? args[0].text.len : args[0].count) };
	return true;
}

FUNCTION(index_of)
{
	*result = args[0];
	for (size_t i = 1; i < count; i++) {
		struct value from = *result;

		*result = (struct value){ .kind = VALUE_TEXT };
		if (from.kind == VALUE_MAP) {
			if (!need(x, &args[i], VALUE_TEXT))
				return false;
			for (size_t k = 0; k < from.count; k++)
				if (str_eq(from.pairs[k].name, args[i].text))
					result->text = from.pairs[k].value;
		} else if (from.kind == VALUE_SAMPLES) {
			if (!need(x, &args[i], VALUE_INTEGER))
				return false;
			if (args[i].integer < 0 || (uint64_t)args[i].integer >= from.count)
				return execution_fail(x, "error calling index: index out of range: %ld", (long)args[i].integer);
			*result = (struct value){ .kind = VALUE_SAMPLE, .samples = &from.samples[args[i].integer] };
		} else {
			return execution_fail(x, "error calling index: can't index item of type %s", value_kind_name(&from));
		}
	}
	return true;
}

/* ---- logic ---- */

FUNCTION(negate)
{
	return give_truth(result, !value_is_true(&args[0]));
}

/* -1, 0, 1; 2: unordered (NaN). As in Go, an int and a float64 do not compare. */
static bool compare(struct execution *x, const struct value *a, const struct value *b, int *order)
{
	if (a->kind != b->kind)
		return execution_fail(x, "incompatible types for comparison: %s and %s", value_kind_name(a), value_kind_name(b));
	switch (a->kind) {
	case VALUE_TEXT: *order = str_cmp(a->text, b->text); return true;
	case VALUE_INTEGER: *order = a->integer < b->integer ? -1 : a->integer > b->integer; return true;
	case VALUE_NUMBER:
		*order = isnan(a->number) || isnan(b->number) ? 2 : a->number < b->number ? -1 : a->number > b->number;
		return true;
	case VALUE_BOOL: *order = a->truth == b->truth ? 0 : 2; return true;
	default: return execution_fail(x, "invalid type for comparison: %s", value_kind_name(a));
	}
}

FUNCTION(equal)
{
	for (size_t i = 1; i < count; i++) {
		int order;

		if (!compare(x, &args[0], &args[i], &order))
			return false;
		if (order == 0)
			return give_truth(result, true);
	}
	return give_truth(result, false);
}

FUNCTION(not_equal)
{
	int order;

	return compare(x, &args[0], &args[1], &order) && give_truth(result, order != 0);
}

static bool ordered(struct execution *x, const struct value *args, int *order)
{
	if (args[0].kind == VALUE_BOOL)
		return execution_fail(x, "invalid type for comparison: bool");
	return compare(x, &args[0], &args[1], order);
}

FUNCTION(less)
{
	int order;

	return ordered(x, args, &order) && give_truth(result, order != 2 && order < 0);
}

FUNCTION(less_or_equal)
{
	int order;

	return ordered(x, args, &order) && give_truth(result, order != 2 && order <= 0);
}

/* Go has gt as "not le", so that NaN is greater. */
FUNCTION(greater)
{
	int order;

	return ordered(x, args, &order) && give_truth(result, order == 2 || order > 0);
}

FUNCTION(greater_or_equal)
{
	int order;

	return ordered(x, args, &order) && give_truth(result, order == 2 || order >= 0);
}

/* ---- the table ---- */

static const struct template_function functions[] = {
	{ "and", 1, -1, NULL },
	{ "or", 1, -1, NULL },
	{ "not", 1, 1, negate },
	{ "eq", 2, -1, equal },
	{ "ne", 2, 2, not_equal },
	{ "lt", 2, 2, less },
	{ "le", 2, 2, less_or_equal },
	{ "gt", 2, 2, greater },
	{ "ge", 2, 2, greater_or_equal },
	{ "len", 1, 1, length },
	{ "index", 1, -1, index_of },
	{ "print", 0, -1, print },
	{ "println", 0, -1, print_line },
	{ "printf", 1, -1, print_formatted },
	{ "urlquery", 0, -1, url_query },
	{ "html", 0, -1, html },
	{ "query", 1, 1, query },
	{ "first", 1, 1, first },
	{ "label", 2, 2, label },
	{ "value", 1, 1, sample_value },
	{ "strvalue", 1, 1, sample_text },
	{ "sortByLabel", 2, 2, sort_by_label },
	{ "humanize", 1, 1, humanize },
	{ "humanize1024", 1, 1, humanize_1024 },
	{ "humanizeDuration", 1, 1, humanize_duration },
	{ "humanizePercentage", 1, 1, humanize_percentage },
	{ "humanizeTimestamp", 1, 1, humanize_timestamp },
	{ "parseDuration", 1, 1, parse_duration },
	{ "now", 0, 0, now },
	{ "toUpper", 1, 1, to_upper },
	{ "toLower", 1, 1, to_lower },
	{ "title", 1, 1, title },
	{ "stripPort", 1, 1, strip_port },
	{ "stripDomain", 1, 1, strip_domain },
	{ "match", 2, 2, match },
	{ "reReplaceAll", 3, 3, replace_all },
	{ "safeHtml", 1, 1, safe_html },
	{ "graphLink", 1, 1, graph_link },
	{ "tableLink", 1, 1, table_link },
	{ "externalURL", 0, 0, external_url },
	{ "pathPrefix", 0, 0, path_prefix },
	{ "urlQueryEscape", 1, 1, url_query },
};

const struct template_function *template_function_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		if (str_is(name, functions[i].name))
			return &functions[i];
	return NULL;
}

bool template_function_is_lazy(const struct template_function *f)
{
	return !f->call;
}
