#include "base/regex.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

#include "unit.h"

#include <stdio.h>

static struct regex *compiled(const char *pattern)
{
	struct error e = { 0 };
	struct regex *re = regex_new(str_from(pattern), &e);

	if (!re)
		fail_msg("/%s/ was refused: %s", pattern, e.message);
	return re;
}

static void check(const char *pattern, const char *text, bool expected)
{
	struct regex *re = compiled(pattern);

	if (regex_match(re, str_from(text)) != expected)
		fail_msg("/%s/ on \"%s\" should be %s", pattern, text, expected ? "a match" : "none");
	regex_free(re);
}

static void matches_like_prometheus(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool expected;
	} cases[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "a", "a", true },
		{ "a", "ab", false },
		{ "a", "ba", false },
		{ "a|bc", "bc", true },
		{ "a|bc", "c", false },
		{ "(a|bc)", "bc", true },
		{ "(?:a|bc)", "a", true },
		{ "a|", "", true },
		{ "a\\.b", "a.b", true },
		{ "a\\.b", "axb", false },
		{ "10\\.0\\.0\\.1:8000", "10.0.0.1:8000", true },
		{ ".*", "", true },
		{ ".*", "a\nb", true },
		{ ".+", "", false },
		{ ".+", "\n", true },
		{ "a.*", "a", true },
		{ "a.*", "b", false },
		{ "a.+", "a", false },
		{ ".*a", "ba", true },
		{ ".+a", "a", false },
		{ ".*a.+", "xa", false },
		{ ".*a.+", "xay", true },
		{ ".+a.*", "aa", true },
		{ ".+a.*", "ab", false },
		{ "[0-9]+", "123", true },
		{ "[0-9]+", "12a", false },
		{ "5..", "503", true },
		{ "(?i)ABC", "abc", true },
		{ "a$", "a\n", false },
		{ "a.b", "a\nb", true },
		{ "(?-s)a.b", "a\nb", false },
		{ "^a$", "a", true },
		{ "a|b.", "bx", true },
		{ "a|b.", "ax", false },
		{ "\\101", "A", true },
		{ "\\x41", "A", true },
		{ "\\x{41}", "A", true },
		{ "\\v", "\x0b", true },
		{ "\\v", "\n", false },
		{ "[\\v]", "\n", false },
		{ "a{,5}", "a{,5}", true },
		{ "a{2,3}", "aaa", true },
		{ "a{2,3}", "aaaa", false },
		{ "\\Qa.b\\E+", "a.bb", true },
		{ "[]a]+", "]a", true },
		{ "[[:alpha:]]+", "ab", true },
		{ "[[.a.]]", "a]", true },
		{ "\\pL+", "\xc3\xa9", true },
		{ ".", "\xc3\xa9", true },
		{ "(?P<x>a)+", "aa", true },
		{ "(?<x>a)+", "aa", true },
		{ "a*?", "aaa", true },
		{ "(a|ab)(c|bcd)(d*)", "abcd", true },
		{ "a\\/b", "a/b", true },
		{ "\xc3\xa9|b", "\xc3\xa9", true },
		{ "(?m)^a$\\n^b$", "a\nb", true },
		{ "\\D", "\xc3\xa9", true },
		{ "\\S", "\xc3\xa9", true },
		{ "[^\\W]", "\xc3\xa9", false },
		{ "\\s", "\x0b", false },
		{ "[\\S]", "\x0b", true },
		{ "[\\w-z]+", "a-z", true },
		{ "[\\s-z]", "a", false },
		{ "[^\\D]", "7", true },
		{ "a$?", "a", true },
		{ "\\b{2}a", "a", true },
		{ "x?", "xx", false },
		{ "(|a)b", "ab", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(cases[i].pattern, cases[i].text, cases[i].expected);
}

static void refuses_what_re2_lacks(void **state)
{
	static const struct {
		const char *pattern;
		int column;
		const char *part; /* of the message */
	} cases[] = {
		{ "a(?=b)", 2, "look-ahead" },
		{ "a(?!b)", 2, "negative look-ahead" },
		{ "(?<=a)b", 1, "look-behind" },
		{ "(?<!a)b", 1, "negative look-behind" },
		{ "(a)\\1", 4, "back references" },
		{ "(?P<n>a)(?P=n)", 9, "back reference" },
		{ "(a)\\k<1>", 4, "back reference" },
		{ "(a)\\g1", 4, "back reference" },
		{ "a++", 3, "possessive" },
		{ "a*+", 3, "possessive" },
		{ "a?+", 3, "possessive" },
		{ "a{2}+", 5, "possessive" },
		{ "a**", 3, "nested" },
		{ "a{2}{3}", 5, "nested" },
		{ "a*??", 4, "nested" },
		{ "(?>a)", 1, "atomic" },
		{ "(?R)", 1, "recursion" },
		{ "(?1)", 1, "unknown kind" },
		{ "(?&n)", 1, "recursion" },
		{ "(?(1)a|b)", 1, "conditionals" },
		{ "a\\Kb", 2, "\\K" },
		{ "\\Ga", 1, "\\G" },
		{ "(?C1)a", 1, "callouts" },
		{ "(*ACCEPT)", 1, "verbs" },
		{ "(?|a|b)", 1, "branch reset" },
		{ "(?#x)a", 1, "comments" },
		{ "(?x)a", 1, "unknown kind" },
		{ "(?i", 1, "unknown kind" },
		{ "(?'n'a)", 1, "unknown kind" },
		{ "*a", 1, "nothing to repeat" },
		{ "a|*", 3, "nothing to repeat" },
		{ "(+a)", 2, "nothing to repeat" },
		{ "a{1001}", 2, "at most 1000" },
		{ "\\", 1, "ends after" },
		{ "ab\\e", 3, "unknown escape" },
		{ "\\Z", 1, "\\Z" },
		{ "\\R", 1, "unknown escape" },
		{ "\\C", 1, "unknown escape" },
		{ "\\x4", 1, "hexadecimal" },
		{ "\\x{}", 1, "hexadecimal" },
		{ "\\p", 1, "class name" },
		{ "x[a", 2, "not closed" },
		{ "[\\b]", 2, "unknown escape" },
		{ "x(a", 2, "not closed" },
		{ "\\va)", 4, "closes nothing" },
		{ "\\v[[:foo:]]", 5, "POSIX class" },
		{ "[b-a]", 3, "out of order" },
		{ "\\\xc3\xa9", 1, "ASCII punctuation" },
		{ "(?P<>a)", 1, "name" },
		{ "\\8", 1, "back references" },
		{ "a\\Qb", 2, "not closed" },
		{ "a)", 2, "closes nothing" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error e = { 0 };
		struct regex *re = regex_new(str_from(cases[i].pattern), &e);

		if (re)
			fail_msg("/%s/ was accepted", cases[i].pattern);
		if (!strstr(e.message, cases[i].part) || e.column != cases[i].column)
			fail_msg("/%s/: column %d: %s", cases[i].pattern, e.column, e.message);
	}
	struct error e = { 0 };

	assert_null(regex_new(STR("\xff"), &e));
	assert_non_null(strstr(e.message, "UTF-8"));
	assert_null(regex_new(str_of("a", 100000), NULL));
}

static void literals_are_known(void **state)
{
	const struct str *literals = NULL;
	struct regex *re = compiled("(b|a\\.x|b|)");

	assert_int_equal(regex_literals(re, &literals), 3);
	assert_str(literals[0], "");
	assert_str(literals[1], "a.x");
	assert_str(literals[2], "b");
	regex_free(re);
	static const char *const others[] = { "a.*", "a|b.", "(a)(b)", "(a)|(b)", "a+", "(?i)a|b", "\\d", "[a]" };

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		re = compiled(others[i]);
		assert_int_equal(regex_literals(re, &literals), 0);
		regex_free(re);
	}
}

static void expand(const char *pattern, const char *text, const char *replacement, const char *expected)
{
	struct regex *re = compiled(pattern);
	struct buf out;

	buf_init(&out, 1000);
	assert_true(regex_expand(re, str_from(text), str_from(replacement), &out));
	assert_string_equal(buf_cstr(&out), expected);
	buf_fini(&out);
	regex_free(re);
}

static void expands_groups(void **state)
{
	struct regex *re = compiled("(a)b");
	struct buf out;

	expand("(.*):(.*)", "host:80", "$1-${2}-$0", "host-80-host:80");
	expand("(.*):(.*)", "host:80", "$1x$2", "80"); /* the group "1x" does not exist */
	expand("(?P<h>.*):.*", "host:80", "<$h|${h}>", "<host|host>");
	expand("(.*)", "v", "$$1 $9 $ ${ ${} $1", "$1  $ ${ ${} v");
	expand("(a)|(b)", "b", "[$1$2]", "[b]");
	expand("(a|b)", "b", "$1$0$2", "bb");
	expand("a|b", "b", "$1$0", "b");
	expand(".*", "text", "fixed", "fixed");
	buf_init(&out, 100);
	assert_false(regex_expand(re, STR("c"), STR("$1"), &out));
	assert_int_equal(out.len, 0);
	buf_fini(&out);
	regex_free(re);
}

static void gives_up(void **state)
{
	char text[4000];
	struct regex *re = compiled("(a+)+(a+)+[bc]");

	memset(text, 'a', sizeof text);
	log_set_level(LOG_ERROR);
	assert_false(regex_gave_up(re));
	assert_false(regex_match(re, str_of(text, sizeof text)));
	assert_true(regex_gave_up(re));
	assert_true(regex_match(re, STR("aab")));
	regex_free(re);
	log_set_level(LOG_NOTE);
}

/* Label values are bytes of targets: they need not be UTF-8. */
static void survives_invalid_text(void **state)
{
	check("a[^b]*|x", "\xff\xfe", false);
	check("[a-c]+", "abc\xff", false);
	check("a.*", "a\xff", true);
}

/* Any pattern is either refused or compiled, and its shortcut and PCRE2 (forced by a group) agree. */
static void any_pattern_is_handled(void **state)
{
	static const char alphabet[] = "ab.*+?|()[]{}\\^$1,:-=!<>PQEdwvx0ZsimU&'#";
	uint64_t seed = 88172645463325252;
	int accepted = 0;

	for (int i = 0; i < 200000; i++) {
		char pattern[16], grouped[32];
		size_t length = i % 12;

		for (size_t j = 0; j < length; j++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			/* Half of the characters come from the first few, so that shortcuts are met, too. */
			pattern[j] = alphabet[(seed >> 20) % (seed & 1024 ? 8 : sizeof alphabet - 1)];
		}
		pattern[length] = '\0';
		struct error e = { 0 };
		struct regex *re = regex_new(str_from(pattern), &e);

		if (!re) {
			assert_true(e.set && e.message[0] && e.column >= 1 && (size_t)e.column <= length + 1);
			continue;
		}
		accepted++;
		snprintf(grouped, sizeof grouped, "()(?:%s)", pattern);
		struct regex *slow = regex_new(str_from(grouped), &e);
		static const char *const texts[] = { "", "a", "b", "ab", "ba", "aab", ".", "a.b", "bb", "abab", "\n" };

		for (size_t j = 0; slow && j < ARRAY_LEN(texts); j++) {
			if (regex_match(re, str_from(texts[j])) != regex_match(slow, str_from(texts[j])))
				fail_msg("/%s/ and /%s/ differ on \"%s\"", pattern, grouped, texts[j]);
		}
		regex_free(slow);
		regex_free(re);
	}
	assert_true(accepted > 20000);
}

static void finds_anywhere(void **state)
{
	static const struct {
		const char *pattern, *text;
		size_t from, start, end;
		bool found;
		const char *expanded; /* of "<$0|$1>" */
	} cases[] = {
		{ "b+", "abbc", 0, 1, 3, true, "<bb|>" },
		{ "b+", "abbc", 2, 2, 3, true, "<b|>" },
		{ "(b)c", "abc", 0, 1, 3, true, "<bc|b>" },
		{ "^b", "ab", 1, 0, 0, false, NULL }, /* the text begins at 0, wherever the search does */
		{ "a$", "ab", 0, 0, 0, false, NULL },
		{ "b$", "ab", 0, 1, 2, true, "<b|>" },
		{ "a.b", "a\nb", 0, 0, 0, false, NULL }, /* as in Go: no newline */
		{ "x*", "ab", 2, 2, 2, true, "<|>" },
		{ "plain", "a plain text", 0, 2, 7, true, "<plain|>" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct regex *re = regex_search_new(str_from(cases[i].pattern), NULL);
		struct str text = str_from(cases[i].text);
		size_t start = 0, end = 0;
		struct buf out;

		assert_non_null(re);
		assert_int_equal(regex_find(re, text, cases[i].from, &start, &end), cases[i].found);
		if (cases[i].found) {
			buf_init(&out, 100);
			regex_expand_found(re, text, STR("<$0|$1>"), &out);
			assert_int_equal(start, cases[i].start);
			assert_int_equal(end, cases[i].end);
			assert_string_equal(buf_cstr(&out), cases[i].expanded);
			buf_fini(&out);
		}
		regex_free(re);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_anywhere),
		cmocka_unit_test(matches_like_prometheus),
		cmocka_unit_test(refuses_what_re2_lacks),
		cmocka_unit_test(literals_are_known),
		cmocka_unit_test(expands_groups),
		cmocka_unit_test(gives_up),
		cmocka_unit_test(survives_invalid_text),
		cmocka_unit_test(any_pattern_is_handled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
