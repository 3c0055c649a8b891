#include "base/yaml.h"

#include "base/buf.h"
#include "base/mem.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>

static struct arena arena;

static int setup(void **state)
{
	arena_init(&arena);
	return 0;
}

static int teardown(void **state)
{
	arena_fini(&arena);
	return 0;
}

static struct yaml *parsed(const char *text)
{
	struct error e = { 0 };
	struct yaml *root = yaml_parse(&arena, STR("f.yaml"), str_from(text), &e);

	if (!root)
		fail_msg("refused: %d:%d: %s", e.line, e.column, e.message);
	return root;
}

static void tree(void **state)
{
	struct yaml *root =
		parsed("# comment\nglobal:\n  interval: 15s\nlist: [a, 'b c', {k: v}]\ntext: |\n  two\n  lines\n\"quoted key\": ''\n");

	assert_int_equal(root->kind, YAML_MAP);
	assert_int_equal(root->count, 4);
	struct yaml *interval = yaml_get(yaml_get(root, "global"), "interval");

	assert_str(interval->text, "15s");
	assert_str(interval->key, "interval");
	assert_int_equal(interval->line, 3);
	assert_int_equal(interval->column, 13);
	assert_int_equal(interval->key_line, 3);
	assert_int_equal(interval->key_column, 3);
	struct yaml *list = yaml_get(root, "list");

	assert_int_equal(list->kind, YAML_LIST);
	assert_int_equal(list->count, 3);
	assert_false(list->first->quoted);
	assert_true(list->first->next->quoted);
	assert_str(list->first->next->text, "b c");
	assert_str(yaml_get(list->first->next->next, "k")->text, "v");
	assert_str(yaml_get(root, "text")->text, "two\nlines\n");
	assert_true(yaml_get(root, "quoted key")->quoted);
	assert_false(yaml_is_null(yaml_get(root, "quoted key")));
	assert_null(yaml_get(root, "absent"));
	assert_null(yaml_get(list, "k"));
	assert_null(yaml_get(NULL, "k"));
}

static void empty_documents(void **state)
{
	static const char *const texts[] = { "", "\n# only a comment\n", "---\n", "--- ~\n", "\xef\xbb\xbf" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct yaml *root = parsed(texts[i]);

		assert_int_equal(root->kind, YAML_MAP);
		assert_int_equal(root->count, 0);
	}
}

static void refused_with_a_position(void **state)
{
	static const struct {
		const char *text;
		int line, column;
		const char *part;
	} cases[] = {
		{ "a: 1\nb: 2\na: 3\n", 3, 1, "\"a\" is given twice; the first is in line 1" },
		{ "x: {a: 1, a: 2}\n", 1, 11, "given twice" },
		{ "a: &anchor 1\n", 1, 4, "anchors" },
		{ "a: *anchor\n", 1, 4, "aliases" },
		{ "&anchor a: 1\n", 1, 1, "anchors" },
		{ "a: !!int 1\n", 1, 4, "tags" },
		{ "a: !x [1]\n", 1, 4, "tags" },
		{ "a: 1\n---\nb: 2\n", 2, 1, "second document" },
		{ "a:\n\tb: 1\n", 2, 1, "cannot start any token" },
		{ "a: [1, 2\nb: 3\n", 2, 2, "expected ',' or ']'" },
		{ "[a]: 1\n", 1, 1, "key must be plain text" },
		{ ": 1\n", 1, 1, "did not find expected key" },
		{ "{'': 1}\n", 1, 2, "key is missing" },
		{ "a: 'open\n", 2, 1, "unexpected end" },
		{ "\xc3\xa9: b: c\n", 1, 6, "mapping values are not allowed" }, /* the column counts bytes */
		{ "a: \xff\n", 1, 4, "UTF-8" },
		{ "a: \x01\n", 1, 4, "control characters" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error e = { 0 };

		assert_null(yaml_parse(&arena, STR("f.yaml"), str_from(cases[i].text), &e));
		if (e.line != cases[i].line || e.column != cases[i].column || !strstr(e.message, cases[i].part))
			fail_msg("case %zu: %d:%d: %s", i, e.line, e.column, e.message);
		assert_string_equal(e.source, "f.yaml");
		assert_int_equal(e.status, EXIT_BAD_INPUT);
	}
}

static void duplicate_among_many(void **state)
{
	struct buf text;
	struct error e = { 0 };

	buf_init(&text, 1 << 20);
	for (int i = 0; i < 1000; i++)
		buf_printf(&text, "key%d: %d\n", i, i);
	struct yaml *root = parsed(buf_cstr(&text));

	assert_int_equal(root->count, 1000);
	assert_str(yaml_get(root, "key999")->text, "999");
	for (int i = 0; i < 1000; i += 9) {
		size_t length = text.len;

		buf_printf(&text, "key%d: again\n", i);
		assert_null(yaml_parse(&arena, STR("f"), buf_str(&text), &e));
		assert_int_equal(e.line, 1001);
		text.len = length;
	}
	buf_fini(&text);
}

static void depth_is_limited(void **state)
{
	struct buf text;
	struct error e = { 0 };

	buf_init(&text, 1 << 20);
	buf_add_repeat(&text, '[', 64);
	buf_add_repeat(&text, ']', 64);
	assert_non_null(yaml_parse(&arena, STR("f"), buf_str(&text), &e));
	buf_reset(&text);
	buf_add_repeat(&text, '[', 65);
	buf_add_repeat(&text, ']', 65);
	assert_null(yaml_parse(&arena, STR("f"), buf_str(&text), &e));
	assert_int_equal(e.column, 65);
	assert_non_null(strstr(e.message, "64 levels"));
	buf_fini(&text);
}

static void typed_members(void **state)
{
	struct yaml *root = parsed(
		"s: text\nd: 1.5\ni: .inf\nn: -.inf\nnan: .nan\nyes: true\nno: off\nnull1:\nnull2: ~\nnull3: null\nq: '5'\nl: [1]\n");
	struct error e = { 0 };
	struct str s = STR("default");
	double d = 7;
	bool b = false;

	assert_true(yaml_get_str(root, "absent", &s, &e) && yaml_get_str(root, "null1", &s, &e) && yaml_get_str(root, "null2", &s, &e));
	assert_str(s, "default");
	assert_true(yaml_get_double(root, "null3", &d, &e) && d == 7);
	assert_true(yaml_get_str(root, "s", &s, &e));
	assert_str(s, "text");
	assert_true(yaml_get_double(root, "d", &d, &e) && d == 1.5);
	assert_true(yaml_get_double(root, "i", &d, &e) && d == INFINITY);
	assert_true(yaml_get_double(root, "n", &d, &e) && d == -INFINITY);
	assert_true(yaml_get_double(root, "nan", &d, &e) && isnan(d));
	assert_true(yaml_get_bool(root, "yes", &b, &e) && b);
	assert_true(yaml_get_bool(root, "no", &b, &e) && !b);
	assert_false(e.set);
	assert_false(yaml_get_double(root, "s", &d, &e));
	assert_string_equal(e.message, "\"s\" must be a number, not text \"text\"");
	assert_int_equal(e.line, 1);
	assert_int_equal(e.column, 4);
	assert_false(yaml_get_double(root, "q", &d, &e));
	assert_string_equal(e.hint, "remove the quotes");
	assert_false(yaml_get_str(root, "l", &s, &e));
	assert_string_equal(e.message, "\"l\" must be text, not a list");
	assert_false(yaml_get_bool(root, "d", &b, &e));
}

static void unknown_keys(void **state)
{
	static const char *const known[] = { "scrape_interval", "timeout", NULL };
	struct error e = { 0 };
	struct yaml *root = parsed("timeout: 1s\nscrape_intervall: 5s\n");

	assert_false(yaml_only(root, known, &e));
	assert_string_equal(e.message, "unknown key \"scrape_intervall\"");
	assert_string_equal(e.hint, "did you mean \"scrape_interval\"?");
	assert_int_equal(e.line, 2);
	assert_int_equal(e.column, 1);
	assert_false(yaml_only(parsed("other: 1\n"), known, &e));
	assert_string_equal(e.hint, "known here: scrape_interval, timeout");
	error_clear(&e);
	assert_true(yaml_only(parsed("timeout: 1s\n"), known, &e));
	assert_false(e.set);
}

/* Cut or changed anywhere, a document is read or refused with a position; never a crash or a leak. */
static void damaged_documents(void **state)
{
	static const char text[] =
		"global: {a: [1, 'x'], b: \"q\\n\"}\nlist:\n  - k: |\n      block\n    l: >-\n      folded\n  - ? complex\n    : v\nz: ~\n";
	static const char damage[] = "&*!|>'\"{}[],:?-\t\n#%@\xff";
	char copy[sizeof text];

	for (size_t at = 0; at < sizeof text - 1; at++) {
		for (size_t i = 0; i < sizeof damage; i++) {
			struct error e = { 0 };
			size_t length = damage[i] ? sizeof text - 1 : at;

			memcpy(copy, text, sizeof text);
			copy[at] = damage[i];
			if (!yaml_parse(&arena, STR("f"), str_of(copy, length), &e))
				assert_true(e.set && e.line >= 1 && e.column >= 1);
		}
		arena_reset(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tree, setup, teardown),
		cmocka_unit_test_setup_teardown(empty_documents, setup, teardown),
		cmocka_unit_test_setup_teardown(refused_with_a_position, setup, teardown),
		cmocka_unit_test_setup_teardown(duplicate_among_many, setup, teardown),
		cmocka_unit_test_setup_teardown(depth_is_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(typed_members, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_documents, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
