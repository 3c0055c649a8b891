#include "base/regex_syntax.h"

#include "base/number.h"

/* One pass over the tokens. Nothing is built: RE2's grammar as far as it differs from PCRE2's shows in single tokens and in
 * what a quantifier follows. Go's regexp/syntax, which Prometheus uses, is the reference. */
enum { GROUPS_DEEP_MAX = 200 }; /* PCRE2's own limit is 250 */

struct scan {
	struct str pattern;
	size_t at;
	struct buf *out;
	struct error *error;
	size_t open[GROUPS_DEEP_MAX]; /* where the groups that are open now began */
	size_t open_count;
	enum { AFTER_NOTHING, AFTER_ITEM, AFTER_REPEAT } after; /* may a quantifier come now? */
};

static bool scan_fail(struct scan *s, size_t offset, const char *problem, const char *hint)
{
	error_at(s->error, STR("regular expression"), s->pattern, offset, "%s", problem);
	if (hint)
		error_hint(s->error, "%s", hint);
	return false;
}

static struct str scan_rest(const struct scan *s)
{
	return str_skip(s->pattern, s->at);
}

static void scan_copy(struct scan *s, size_t length)
{
	buf_add(s->out, str_of(s->pattern.ptr + s->at, length));
	s->at += length;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}
static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static bool is_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '_';
}

/* "\101": RE2 reads up to three octal digits, PCRE2 perhaps a back reference. */
static bool scan_octal(struct scan *s)
{
	struct str rest = str_skip(scan_rest(s), 1);
	unsigned value = 0;
	size_t digits = 0;

	if (rest.ptr[0] != '0' && (rest.len < 2 || !is_octal(rest.ptr[1]) || !is_octal(rest.ptr[0])))
		return scan_fail(
			s, s->at, "back references such as \\1 are not supported", "RE2 syntax has none; write the alternatives out");
	for (; digits < 3 && digits < rest.len && is_octal(rest.ptr[digits]); digits++)
		value = value * 8 + (unsigned)(rest.ptr[digits] - '0');
	buf_printf(s->out, "\\x{%x}", value);
	s->at += 1 + digits;
	return true;
}

/* "\Q...\E". RE2 lets the pattern's end close it, but Prometheus appends its anchor, which an open "\Q" would swallow. */
static bool scan_quoted(struct scan *s)
{
	struct str body = str_skip(scan_rest(s), 2);
	ptrdiff_t end = str_search(body, STR("\\E"));

	if (end < 0)
		return scan_fail(s, s->at, "this \\Q is not closed", "add \\E");
	scan_copy(s, (size_t)end + 4);
	if (end > 0)
		s->after = AFTER_ITEM;
	return true;
}

/* PCRE2 repeats no bare assertion, RE2 does. */
static bool scan_assertion(struct scan *s, size_t length)
{
	buf_add(s->out, STR("(?:"));
	scan_copy(s, length);
	buf_add_c(s->out, ')');
	s->after = AFTER_ITEM;
	return true;
}

static bool scan_property(struct scan *s)
{
	struct str rest = scan_rest(s);
	ptrdiff_t end = rest.len > 2 && rest.ptr[2] == '{' ? str_find(rest, '}') : 2;

	if (rest.len < 3 || end < 0 || (end == 2 && !is_letter(rest.ptr[2])))
		return scan_fail(s, s->at, "a class name must follow, as in \\pL or \\p{Greek}", NULL);
	scan_copy(s, (size_t)end + 1);
	return true;
}

static bool is_hex(char c)
{
	return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

static bool scan_hex(struct scan *s)
{
	struct str rest = str_skip(scan_rest(s), 2);
	size_t digits = 0;

	if (rest.len && *rest.ptr == '{') {
		for (digits = 1; digits < rest.len && is_hex(rest.ptr[digits]);)
			digits++;
		if (digits > 1 && digits < rest.len && rest.ptr[digits] == '}') {
			scan_copy(s, 2 + digits + 1);
			return true;
		}
	} else if (rest.len >= 2 && is_hex(rest.ptr[0]) && is_hex(rest.ptr[1])) {
		scan_copy(s, 4);
		return true;
	}
	return scan_fail(s, s->at, "\\x must be followed by two hexadecimal digits or {digits}", NULL);
}

static bool scan_unknown_escape(struct scan *s, char c)
{
	static const struct {
		char letter;
		const char *problem;
	} known[] = {
		{ 'K', "\\K (reset of the match) is not supported" },
		{ 'G', "\\G (anchor at the last match) is not supported" },
		{ 'g', "\\g (back reference or recursion) is not supported" },
		{ 'k', "\\k (named back reference) is not supported" },
		{ 'Z', "\\Z is not supported" },
	};
	char problem[80];

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (known[i].letter == c)
			return scan_fail(
				s, s->at, known[i].problem, c == 'Z' ? "write \\z; matchers are anchored at both ends anyway" : NULL);
	}
	if ((unsigned char)c >= 0x80)
		return scan_fail(s, s->at, "only ASCII punctuation can be escaped with '\\'", "remove the '\\'");
	snprintf(problem, sizeof problem, "unknown escape \\%c", c);
	return scan_fail(s, s->at, problem, "a '\\' itself is written \\\\ (and doubled again inside a PromQL string)");
}

/* "\d" and its like, written out: PCRE2's \s has the vertical tab, and its JIT (10.42) lets \D, \S and \W match no character
 * above ASCII once invalid UTF-8 is allowed. Each form ends in a range or class, so that a '-' behind it stays a '-'. */
static bool scan_perl_class(struct scan *s, char c, bool in_class)
{
	static const struct {
		char letter;
		const char *inside, *outside;
	} classes[] = {
		{ 'd', "0-9", "[0-9]" },
		{ 'D', "[:^digit:]", "[^0-9]" },
		{ 's', " \\t\\n\\f-\\r", "[ \\t\\n\\f-\\r]" },
		{ 'S', "\\x0b[:^space:]", "[^ \\t\\n\\f-\\r]" },
		{ 'w', "_0-9A-Za-z", "[_0-9A-Za-z]" },
		{ 'W', "[:^word:]", "[^_0-9A-Za-z]" },
	};

	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		if (classes[i].letter != c)
			continue;
		buf_add_cstr(s->out, in_class ? classes[i].inside : classes[i].outside);
		s->at += 2;
		return true;
	}
	return false;
}

static bool scan_escape(struct scan *s, bool in_class)
{
	struct str rest = scan_rest(s);

	if (rest.len < 2)
		return scan_fail(s, s->at, "the pattern ends after '\\'", "write \\\\ for the character itself");
	char c = rest.ptr[1];

	if (!in_class)
		s->after = AFTER_ITEM;
	if (is_digit(c))
		return scan_octal(s);
	if (c == 'Q' && !in_class) {
		s->after = AFTER_NOTHING;
		return scan_quoted(s);
	}
	if (c == 'p' || c == 'P')
		return scan_property(s);
	if (c == 'x')
		return scan_hex(s);
	if (c == 'v') { /* PCRE2: any vertical space */
		buf_add(s->out, STR("\\x0b"));
		s->at += 2;
		return true;
	}
	if (scan_perl_class(s, c, in_class))
		return true;
	bool known = c && strchr("afnrt", c);

	if (!in_class && c && strchr("AbBz", c))
		return scan_assertion(s, 2);
	if (!known && (is_letter(c) || (unsigned char)c >= 0x80))
		return scan_unknown_escape(s, c);
	scan_copy(s, 2);
	return true;
}

/* "[:alpha:]" inside a class. */
static bool scan_posix_class(struct scan *s)
{
	struct str rest = scan_rest(s);
	ptrdiff_t end = str_starts(rest, STR("[:")) ? str_search(str_skip(rest, 2), STR(":]")) : -1;

	if (end < 0)
		return false;
	for (ptrdiff_t i = 2; i < end + 2; i++) {
		if (!is_letter(rest.ptr[i]) && rest.ptr[i] != '^')
			return false;
	}
	scan_copy(s, (size_t)end + 4);
	return true;
}

static bool scan_class(struct scan *s)
{
	size_t start = s->at;

	scan_copy(s, 1);
	if (str_starts(scan_rest(s), STR("^")))
		scan_copy(s, 1);
	for (bool first = true; s->at < s->pattern.len; first = false) {
		char c = s->pattern.ptr[s->at];

		if (c == ']' && !first) {
			scan_copy(s, 1);
			s->after = AFTER_ITEM;
			return true;
		}
		if (c == '\\') {
			if (!scan_escape(s, true))
				return false;
		} else if (c == '[') {
			if (scan_posix_class(s))
				continue;
			buf_add_c(s->out, '\\'); /* "[.x.]" and "[=x=]" mean something to PCRE2 */
			scan_copy(s, 1);
		} else {
			scan_copy(s, 1);
		}
	}
	return scan_fail(s, start, "this '[' is not closed", "add ']', or write \\[ for the character itself");
}

/* The length of "{n}", "{n,}" or "{n,m}" at the start of s; 0 when a '{' is just that. */
static size_t repeat_length(struct str s, int64_t *most)
{
	size_t at = 1, low = 0, high = 0;

	while (at + low < s.len && is_digit(s.ptr[at + low]))
		low++;
	*most = INT64_MAX;
	if (!low)
		return 0;
	number_parse_i64(str_of(s.ptr + at, low), most);
	at += low;
	if (at < s.len && s.ptr[at] == ',') {
		at++;
		while (at + high < s.len && is_digit(s.ptr[at + high]))
			high++;
		int64_t upper = *most;

		if (high && !number_parse_i64(str_of(s.ptr + at, high), &upper))
			upper = INT64_MAX;
		if (upper > *most)
			*most = upper;
		at += high;
	}
	return at < s.len && s.ptr[at] == '}' ? at + 1 : 0;
}

static bool scan_repeat(struct scan *s, size_t length)
{
	if (s->after == AFTER_NOTHING)
		return scan_fail(s, s->at, "nothing to repeat before this quantifier", "put '.' before it, or escape it with '\\'");
	if (s->after == AFTER_REPEAT)
		return scan_fail(s, s->at, "a quantifier after a quantifier (possessive or nested) is not supported",
			"RE2 syntax has only the lazy form, with '?'");
	scan_copy(s, length);
	if (str_starts(scan_rest(s), STR("?")))
		scan_copy(s, 1);
	s->after = AFTER_REPEAT;
	return true;
}

static bool scan_brace(struct scan *s)
{
	int64_t most;
	size_t length = repeat_length(scan_rest(s), &most);

	if (!length) {
		buf_add_c(s->out, '\\'); /* newer PCRE2 takes "{,5}" as a quantifier */
		scan_copy(s, 1);
		s->after = AFTER_ITEM;
		return true;
	}
	if (most > 1000)
		return scan_fail(s, s->at, "a repeat count is at most 1000", NULL);
	return scan_repeat(s, length);
}

/* "(?i)", "(?i-s:" ...; s->at is behind "(?". */
static bool scan_flags(struct scan *s, size_t start)
{
	size_t at = s->at;

	while (at < s->pattern.len && s->pattern.ptr[at] && strchr("imsU-", s->pattern.ptr[at]))
		at++;
	bool closed = at < s->pattern.len && (s->pattern.ptr[at] == ':' || s->pattern.ptr[at] == ')');
	struct str flags = str_of(s->pattern.ptr + s->at, at - s->at);
	ptrdiff_t minus = str_find(flags, '-');
	bool lone_minus = minus >= 0 && ((size_t)minus + 1 == flags.len || str_find(str_skip(flags, (size_t)minus + 1), '-') >= 0);

	if (!closed || lone_minus || (flags.len == 0 && s->pattern.ptr[at] == ')'))
		return scan_fail(
			s, start, "unknown kind of group", "RE2 syntax has (...), (?:...), (?P<name>...) and the flags i, m, s, U");
	if (s->pattern.ptr[at] == ')') /* "(?i)" sets flags and opens nothing */
		s->open_count--;
	buf_add(s->out, str_of(s->pattern.ptr + start, at + 1 - start));
	s->at = at + 1;
	s->after = AFTER_NOTHING;
	return true;
}

static bool scan_named_group(struct scan *s, size_t start, size_t name_at)
{
	size_t at = name_at;

	while (at < s->pattern.len && is_word(s->pattern.ptr[at]))
		at++;
	if (at == name_at || at == s->pattern.len || s->pattern.ptr[at] != '>')
		return scan_fail(s, start, "a group's name is letters, digits and '_', closed by '>'", NULL);
	buf_add(s->out, str_of(s->pattern.ptr + start, at + 1 - start));
	s->at = at + 1;
	return true;
}

static bool scan_group_end(struct scan *s)
{
	if (!s->open_count)
		return scan_fail(s, s->at, "this ')' closes nothing", "remove it, or write \\) for the character itself");
	s->open_count--;
	scan_copy(s, 1);
	s->after = AFTER_ITEM;
	return true;
}

static bool scan_group(struct scan *s)
{
	static const struct {
		struct str opening;
		const char *problem;
	} refused[] = {
		{ { "(?=", 3 }, "look-ahead (?=...) is not supported" },
		{ { "(?!", 3 }, "negative look-ahead (?!...) is not supported" },
		{ { "(?<=", 4 }, "look-behind (?<=...) is not supported" },
		{ { "(?<!", 4 }, "negative look-behind (?<!...) is not supported" },
		{ { "(?>", 3 }, "atomic groups (?>...) are not supported" },
		{ { "(?|", 3 }, "branch reset (?|...) is not supported" },
		{ { "(?#", 3 }, "comments (?#...) are not supported" },
		{ { "(?(", 3 }, "conditionals (?(...)...) are not supported" },
		{ { "(?R", 3 }, "recursion (?R) is not supported" },
		{ { "(?&", 3 }, "recursion (?&name) is not supported" },
		{ { "(?P>", 4 }, "recursion (?P>name) is not supported" },
		{ { "(?P=", 4 }, "the back reference (?P=name) is not supported" },
		{ { "(?C", 3 }, "callouts (?C) are not supported" },
		{ { "(*", 2 }, "verbs such as (*ACCEPT) are not supported" },
	};
	struct str rest = scan_rest(s);
	size_t start = s->at;

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		if (str_starts(rest, refused[i].opening))
			return scan_fail(s, start, refused[i].problem,
				str_starts(rest, STR("(?!")) ? "use the matcher !~ instead"
							     : "patterns have RE2's syntax, as in Prometheus");
	}
	if (s->open_count == GROUPS_DEEP_MAX)
		return scan_fail(s, start, "groups are nested deeper than 200", NULL);
	s->open[s->open_count++] = start;
	s->after = AFTER_NOTHING;
	if (str_starts(rest, STR("(?P<")))
		return scan_named_group(s, start, start + 4);
	if (str_starts(rest, STR("(?<")))
		return scan_named_group(s, start, start + 3);
	if (str_starts(rest, STR("(?"))) {
		s->at += 2;
		return scan_flags(s, start);
	}
	scan_copy(s, 1);
	return true;
}

static bool scan_token(struct scan *s)
{
	char c = s->pattern.ptr[s->at];

	switch (c) {
	case '\\': return scan_escape(s, false);
	case '[': return scan_class(s);
	case '(': return scan_group(s);
	case ')': return scan_group_end(s);
	case '^':
	case '$': return scan_assertion(s, 1);
	case '*':
	case '+':
	case '?': return scan_repeat(s, 1);
	case '{': return scan_brace(s);
	case '|':
		scan_copy(s, 1);
		s->after = AFTER_NOTHING;
		return true;
	default:
		scan_copy(s, 1);
		s->after = AFTER_ITEM;
		return true;
	}
}

bool regex_translate(struct str pattern, struct buf *out, struct error *e)
{
	struct scan s = { .pattern = pattern, .out = out, .error = e };

	while (s.at < pattern.len) {
		if (!scan_token(&s))
			return false;
	}
	if (s.open_count)
		return scan_fail(&s, s.open[s.open_count - 1], "this '(' is not closed", "add ')', or write \\( for the character itself");
	return true;
}

size_t regex_origin(struct str pattern, size_t offset)
{
	struct buf out;
	struct scan s = { .pattern = pattern, .out = &out };
	size_t start = 0, written = 0;

	buf_init(&out, SIZE_MAX / 2);
	while (s.at < pattern.len && out.len <= offset) {
		start = s.at;
		written = out.len;
		if (!scan_token(&s))
			break;
	}
	bool beyond = offset >= out.len;

	buf_fini(&out);
	if (beyond)
		return s.at;
	/* Inside a long token (a class), copied byte for byte but for a few escapes. */
	size_t inside = offset - written;

	return start + inside < s.at ? start + inside : start;
}

size_t regex_take_literal(struct str *rest, char *text)
{
	size_t length = 0;

	while (rest->len) {
		char c = *rest->ptr;

		if (c == '\\') {
			if (rest->len < 2 || is_letter(rest->ptr[1]) || is_digit(rest->ptr[1]) || (rest->ptr[1] & 0x80))
				break;
			c = rest->ptr[1];
			*rest = str_skip(*rest, 1);
		} else if (c && strchr(".+*?()|[]{}^$", c)) {
			break;
		}
		text[length++] = c;
		*rest = str_skip(*rest, 1);
	}
	return length;
}
