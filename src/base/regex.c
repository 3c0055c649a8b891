#include "base/regex.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/regex_syntax.h"
#include "base/vec.h"

#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { MATCH_LIMIT = 100000, HEAP_LIMIT_KIB = 8192, PATTERN_MAX = 32768 };

/* ".*" or ".+" at one end, or neither. */
struct any {
	bool present;
	size_t least;
};

struct regex {
	enum { REGEX_LITERALS, REGEX_AFFIX, REGEX_PCRE2 } kind;
	char *text;           /* what literals point into */
	bool outer_group;     /* "(a|b)": $1 is the whole text */
	struct str *literals; /* sorted; for REGEX_AFFIX the one in the middle */
	size_t literal_count;
	struct any before, after;
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *context;
	struct str pattern; /* in text */
	bool gave_up;
};

static int literal_order(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The pattern without one group around all of it. No escape or class can hide a bracket here, since anything but literals
 * between the brackets fails later. */
static struct str without_outer_group(struct str pattern, bool *capturing)
{
	size_t opening = str_starts(pattern, STR("(?:")) ? 3 : str_starts(pattern, STR("(")) ? 1 : 0;

	*capturing = false;
	if (!opening || !str_ends(pattern, STR(")")) || pattern.len <= opening)
		return pattern;
	*capturing = opening == 1;
	return str_of(pattern.ptr + opening, pattern.len - opening - 1);
}

/* "a|b\.c|d". The characters need no more room than the pattern has. */
static bool regex_init_literals(struct regex *re)
{
	VEC(struct str) found = { 0 };
	struct str rest = without_outer_group(re->pattern, &re->outer_group);
	char *at = re->text + re->pattern.len + 1;

	for (;;) {
		size_t length = regex_take_literal(&rest, at);

		VEC_PUSH(&found, str_of(at, length));
		at += length;
		if (!rest.len || *rest.ptr != '|')
			break;
		rest = str_skip(rest, 1);
	}
	if (rest.len) {
		VEC_FREE(&found);
		return false;
	}
	qsort(found.items, found.count, sizeof *found.items, literal_order);
	re->literals = found.items;
	for (size_t i = 0; i < found.count; i++) {
		if (i == 0 || !str_eq(found.items[i], re->literals[re->literal_count - 1]))
			re->literals[re->literal_count++] = found.items[i];
	}
	re->kind = REGEX_LITERALS;
	return true;
}

static struct any any_take(struct str *rest)
{
	struct any any = { 0 };

	if (str_starts(*rest, STR(".*")) || str_starts(*rest, STR(".+"))) {
		any = (struct any){ .present = true, .least = rest->ptr[1] == '+' };
		*rest = str_skip(*rest, 2);
	}
	return any;
}

/* ".*", "prefix.*", ".+suffix", ".*inside.*" */
static bool regex_init_affix(struct regex *re)
{
	struct str rest = re->pattern;
	char *at = re->text + re->pattern.len + 1;

	re->before = any_take(&rest);
	size_t length = regex_take_literal(&rest, at);

	re->after = any_take(&rest);
	if (rest.len)
		return false;
	re->literals = mem_zalloc(1, sizeof *re->literals);
	re->literals[0] = str_of(at, length);
	re->kind = REGEX_AFFIX;
	return true;
}

static bool affix_matches(const struct regex *re, struct str text)
{
	struct str literal = re->literals[0];

	if (text.len < re->before.least + literal.len + re->after.least)
		return false;
	if (!re->before.present)
		return str_starts(text, literal);
	if (!re->after.present)
		return str_ends(text, literal);
	/* The first occurrence leaves the most behind it. */
	ptrdiff_t found = str_search(str_skip(text, re->before.least), literal);

	return found >= 0 && text.len - re->before.least - (size_t)found - literal.len >= re->after.least;
}

static bool literals_match(const struct regex *re, struct str text)
{
	if (re->literal_count == 1)
		return str_eq(re->literals[0], text);
	return bsearch(&text, re->literals, re->literal_count, sizeof text, literal_order) != NULL;
}

/* As "^(?s:re)$": anchored, '.' takes a newline; or to be found anywhere. '$' is the very end. */
enum { COMPILE_WHOLE = PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOTALL, COMPILE_SEARCH = 0 };

static bool regex_compile(struct regex *re, uint32_t how, struct str translated, struct error *e)
{
	uint32_t options =
		how | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	PCRE2_SIZE offset;
	int code;

	if (!context)
		mem_exhausted(1, sizeof context);
	pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	re->code = pcre2_compile((PCRE2_SPTR)(translated.ptr ? translated.ptr : ""), translated.len, options, &code, &offset, context);
	pcre2_compile_context_free(context);
	if (!re->code) {
		PCRE2_UCHAR message[200];

		pcre2_get_error_message(code, message, sizeof message);
		offset -= offset > 0; /* PCRE2 points behind what it objects to */
		return error_at(e, STR("regular expression"), re->pattern, regex_origin(re->pattern, offset), "%s", (const char *)message);
	}
	/* Where JIT is not to be had, pcre2_match interprets. */
	pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE);
	re->match = pcre2_match_data_create_from_pattern(re->code, NULL);
	re->context = pcre2_match_context_create(NULL);
	if (!re->match || !re->context)
		mem_exhausted(1, sizeof *re);
	pcre2_set_match_limit(re->context, MATCH_LIMIT);
	pcre2_set_heap_limit(re->context, HEAP_LIMIT_KIB);
	re->kind = REGEX_PCRE2;
	return true;
}

static bool regex_init(struct regex *re, bool search, struct error *e)
{
	struct buf translated;

	if (!search && (regex_init_literals(re) || regex_init_affix(re)))
		return true;
	re->outer_group = false;
	buf_init(&translated, SIZE_MAX / 2);
	bool ok = regex_translate(re->pattern, &translated, e) &&
		  regex_compile(re, search ? COMPILE_SEARCH : COMPILE_WHOLE, buf_str(&translated), e);

	buf_fini(&translated);
	return ok;
}

static struct regex *regex_make(struct str pattern, bool search, struct error *e)
{
	if (pattern.len > PATTERN_MAX) {
		error_set(e, EXIT_BAD_INPUT, "the regular expression has %zu bytes; at most %d are allowed", pattern.len, PATTERN_MAX);
		return NULL;
	}
	if (!str_is_utf8(pattern)) {
		error_set(e, EXIT_BAD_INPUT, "the regular expression is not valid UTF-8");
		return NULL;
	}
	struct regex *re = NEW(struct regex);

	/* The pattern, then room for the characters of its literals. */
	re->text = mem_zalloc(2, pattern.len + 1);
	if (pattern.len)
		memcpy(re->text, pattern.ptr, pattern.len);
	re->pattern = str_of(re->text, pattern.len);
	if (!regex_init(re, search, e)) {
		regex_free(re);
		return NULL;
	}
	return re;
}

struct regex *regex_new(struct str pattern, struct error *e)
{
	return regex_make(pattern, false, e);
}

struct regex *regex_search_new(struct str pattern, struct error *e)
{
	return regex_make(pattern, true, e);
}

void regex_free(struct regex *re)
{
	if (!re)
		return;
	pcre2_match_context_free(re->context);
	pcre2_match_data_free(re->match);
	pcre2_code_free(re->code);
	mem_free(re->literals);
	mem_free(re->text);
	mem_free(re);
}

static bool pcre2_matches(const struct regex *re, struct str text, size_t from)
{
	PCRE2_SPTR subject = (PCRE2_SPTR)(text.ptr ? text.ptr : "");
	int result = pcre2_match(re->code, subject, text.len, from, 0, re->match, re->context);

	if (result == PCRE2_ERROR_JIT_STACKLIMIT)
		result = pcre2_match(re->code, subject, text.len, from, PCRE2_NO_JIT, re->match, re->context);
	if (result < 0 && result != PCRE2_ERROR_NOMATCH && !re->gave_up) {
		((struct regex *)re)->gave_up = true;
		log_warning("the regular expression \"" STR_FMT
			    "\" was given up on a text of %zu bytes (limit of steps); taken as no match",
			STR_ARG(re->pattern), text.len);
	}
	return result >= 0;
}

bool regex_match(const struct regex *re, struct str text)
{
	switch (re->kind) {
	case REGEX_LITERALS: return literals_match(re, text);
	case REGEX_AFFIX: return affix_matches(re, text);
	case REGEX_PCRE2: return pcre2_matches(re, text, 0);
	}
	return false;
}

bool regex_gave_up(const struct regex *re)
{
	return re->gave_up;
}

/* Group `name` of the match just made. A group that is not there or took no part is empty. */
static struct str group_text(const struct regex *re, struct str text, struct str name)
{
	char terminated[64];
	int64_t number;

	if (!number_parse_i64(name, &number)) {
		if (re->kind != REGEX_PCRE2 || name.len >= sizeof terminated)
			return STR_EMPTY;
		memcpy(terminated, name.ptr, name.len);
		terminated[name.len] = '\0';
		number = pcre2_substring_number_from_name(re->code, (PCRE2_SPTR)terminated);
	}
	if ((number == 0 && re->kind != REGEX_PCRE2) || (number == 1 && re->kind == REGEX_LITERALS && re->outer_group))
		return text;
	if (number < 0 || re->kind != REGEX_PCRE2 || number >= pcre2_get_ovector_count(re->match))
		return STR_EMPTY;
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(re->match) + 2 * number;

	return ends[0] == PCRE2_UNSET ? STR_EMPTY : str_of(text.ptr + ends[0], ends[1] - ends[0]);
}

static size_t name_length(struct str s)
{
	size_t length = 0;

	while (length < s.len && ((s.ptr[length] >= '0' && s.ptr[length] <= '9') || (s.ptr[length] >= 'a' && s.ptr[length] <= 'z') ||
					 (s.ptr[length] >= 'A' && s.ptr[length] <= 'Z') || s.ptr[length] == '_'))
		length++;
	return length;
}

/* The name behind a '$' ("1", "{name}"), and its length with the braces; 0 when the '$' is just that. As in Go, the longest
 * name counts: "$1x" is the group "1x". */
static size_t reference_length(struct str s, struct str *name)
{
	bool braced = str_starts(s, STR("{"));

	*name = str_skip(s, braced);
	name->len = name_length(*name);
	if (!name->len)
		return 0;
	if (!braced)
		return name->len;
	return name->len + 1 < s.len && s.ptr[name->len + 1] == '}' ? name->len + 2 : 0;
}

bool regex_find(const struct regex *re, struct str text, size_t from, size_t *start, size_t *end)
{
	if (!pcre2_matches(re, text, from))
		return false;
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(re->match);

	*start = ends[0];
	*end = ends[1];
	return true;
}

bool regex_expand(const struct regex *re, struct str text, struct str replacement, struct buf *out)
{
	if (!regex_match(re, text))
		return false;
	regex_expand_found(re, text, replacement, out);
	return true;
}

void regex_expand_found(const struct regex *re, struct str text, struct str replacement, struct buf *out)
{
	for (ptrdiff_t at; (at = str_find(replacement, '$')) >= 0;) {
		struct str name;

		buf_add(out, str_head(replacement, (size_t)at));
		replacement = str_skip(replacement, (size_t)at + 1);
		size_t length = reference_length(replacement, &name);

		if (length) {
			buf_add(out, group_text(re, text, name));
			replacement = str_skip(replacement, length);
		} else {
			buf_add_c(out, '$');
			replacement = str_skip(replacement, str_starts(replacement, STR("$")));
		}
	}
	buf_add(out, replacement);
}

size_t regex_literals(const struct regex *re, const struct str **literals)
{
	if (re->kind != REGEX_LITERALS)
		return 0;
	*literals = re->literals;
	return re->literal_count;
}
