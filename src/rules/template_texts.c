/* Template functions of texts. */
#include "base/regex.h"
#include "net/http.h"
#include "rules/template_functions.h"

#include <ctype.h>

/* ---- texts ---- */

static bool change_case(struct execution *x, const struct value *args, struct value *result, int mode)
{
	struct buf text;
	bool start = true;

	if (!value_need(x, &args[0], VALUE_TEXT))
		return false;
	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	for (size_t i = 0; i < args[0].text.len; i++) {
		unsigned char c = (unsigned char)args[0].text.ptr[i];

		buf_add_c(&text, (char)(c >= 0x80 ? c : mode < 0 ? tolower(c) : mode > 0 || start ? toupper(c) : c));
		start = !(isalnum(c) || c == '_' || c == '\'' || c >= 0x80);
	}
	return value_give_text(x, &text, result);
}

TEMPLATE_FUNCTION(function_to_upper)
{
	return change_case(x, args, result, 1);
}

TEMPLATE_FUNCTION(function_to_lower)
{
	return change_case(x, args, result, -1);
}

TEMPLATE_FUNCTION(function_title)
{
	return change_case(x, args, result, 0);
}

/* "host:port" without the port; "[::1]:80" → "::1"; what has no port stays. */
TEMPLATE_FUNCTION(function_strip_port)
{
	struct str s = args[0].text;
	ptrdiff_t colon;

	if (!value_need(x, &args[0], VALUE_TEXT))
		return false;
	if (str_starts(s, STR("["))) {
		ptrdiff_t end = str_find(s, ']');

		return value_give(
			result, end > 0 && (size_t)end + 1 < s.len && s.ptr[end + 1] == ':' ? str_of(s.ptr + 1, (size_t)end - 1) : s);
	}
	colon = str_find(s, ':');
	if (colon < 0 || str_find(str_skip(s, (size_t)colon + 1), ':') >= 0)
		return value_give(result, s);
	return value_give(result, str_head(s, (size_t)colon));
}

/* "host.domain:port" without the domain; an address stays. */
TEMPLATE_FUNCTION(function_strip_domain)
{
	struct value host = { 0 };
	struct buf text;
	bool address = true;

	if (!function_strip_port(x, args, count, &host))
		return false;
	for (size_t i = 0; i < host.text.len; i++)
		address &= isdigit((unsigned char)host.text.ptr[i]) || host.text.ptr[i] == '.';
	address |= str_find(host.text, ':') >= 0;
	ptrdiff_t dot = str_find(host.text, '.');

	if (address || dot < 0)
		return value_give(result, args[0].text);
	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	buf_add(&text, str_head(host.text, (size_t)dot));
	buf_add(&text, str_skip(args[0].text, host.text.len));
	return value_give_text(x, &text, result);
}

static struct regex *search_for(struct execution *x, const struct value *pattern)
{
	struct error e = { 0 };
	struct regex *re = regex_search_new(pattern->text, &e);

	if (!re)
		execution_fail(x, "error parsing regexp: %s", e.message);
	return re;
}

TEMPLATE_FUNCTION(function_match)
{
	size_t start, end;

	if (!value_need(x, &args[0], VALUE_TEXT) || !value_need(x, &args[1], VALUE_TEXT))
		return false;
	struct regex *re = search_for(x, &args[0]);

	if (!re)
		return false;
	bool found = regex_find(re, args[1].text, 0, &start, &end);

	regex_free(re);
	return value_give_truth(result, found);
}

/* (pattern, replacement, text) */
TEMPLATE_FUNCTION(function_replace_all)
{
	size_t at = 0, start, end;
	struct str text = count == 3 ? args[2].text : STR_EMPTY;
	struct buf out;

	if (!value_need(x, &args[0], VALUE_TEXT) || !value_need(x, &args[1], VALUE_TEXT) || !value_need(x, &args[2], VALUE_TEXT))
		return false;
	struct regex *re = search_for(x, &args[0]);

	if (!re)
		return false;
	text = text.ptr ? text : STR("");
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
	return value_give_text(x, &out, result);
}

TEMPLATE_FUNCTION(function_url_query)
{
	struct buf text;

	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	for (size_t i = 0; i < count; i++) {
		struct buf one;

		buf_init(&one, TEMPLATE_OUTPUT_MAX);
		bool ok = value_print(x, &args[i], &one);

		http_encode_form(buf_str(&one), &text);
		buf_fini(&one);
		if (!ok) {
			buf_fini(&text);
			return false;
		}
	}
	return value_give_text(x, &text, result);
}

static bool link_to(struct execution *x, const struct value *args, struct value *result, const char *tab)
{
	struct buf text;

	if (!value_need(x, &args[0], VALUE_TEXT))
		return false;
	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	buf_add_cstr(&text, "/graph?g0.expr=");
	http_encode_form(args[0].text, &text);
	buf_printf(&text, "&g0.tab=%s", tab);
	return value_give_text(x, &text, result);
}

TEMPLATE_FUNCTION(function_graph_link)
{
	return link_to(x, args, result, "0");
}

TEMPLATE_FUNCTION(function_table_link)
{
	return link_to(x, args, result, "1");
}

TEMPLATE_FUNCTION(function_external_url)
{
	return value_give(result, x->data->external_url);
}

TEMPLATE_FUNCTION(function_path_prefix)
{
	struct str url = x->data->external_url;
	ptrdiff_t scheme = str_search(url, STR("://"));
	struct str host = str_skip(url, scheme < 0 ? 0 : (size_t)scheme + 3);
	ptrdiff_t path = str_find(host, '/');

	return value_give(result, path < 0 ? STR_EMPTY : str_skip(host, (size_t)path));
}

TEMPLATE_FUNCTION(function_safe_html)
{
	return value_need(x, &args[0], VALUE_TEXT) && value_give(result, args[0].text);
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
		return value_give_text(x, &text, result);
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

TEMPLATE_FUNCTION(function_html)
{
	return escape_with(x, args, count, result, escape_html);
}

TEMPLATE_FUNCTION(function_print_formatted)
{
	struct buf text;

	if (!value_need(x, &args[0], VALUE_TEXT))
		return false;
	buf_init(&text, TEMPLATE_OUTPUT_MAX);
	if (value_printf(x, args, count, &text))
		return value_give_text(x, &text, result);
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
		return value_give_text(x, &text, result);
	buf_fini(&text);
	return false;
}

TEMPLATE_FUNCTION(function_print)
{
	return print_all(x, args, count, result, false);
}

TEMPLATE_FUNCTION(function_print_line)
{
	return print_all(x, args, count, result, true);
}
