/* The grid that terminal views are drawn into. */
#include "tui/frame.h"
#include "tui/layout.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect_row(const struct frame *f, int row, const char *want)
{
	struct buf text;
	struct str rest, line = STR_EMPTY;

	buf_init(&text, 65536);
	frame_export(f, &text);
	rest = buf_str(&text);
	for (int i = 0; i <= row; i++)
		assert_true(str_split(&rest, '\n', &line));
	assert_int_equal(line.len, strlen(want));
	assert_memory_equal(line.ptr, want, line.len);
	buf_fini(&text);
}

static void test_text_is_cut(void **state)
{
	struct frame f;

	frame_init(&f, 3, 10);
	assert_int_equal(frame_text(&f, 0, 0, 10, TUI_PLAIN, STR("exactly 10")), 10);
	expect_row(&f, 0, "exactly 10");
	assert_int_equal(frame_text(&f, 1, 4, 10, TUI_PLAIN, STR("too long here")), 6); /* cut by the grid */
	expect_row(&f, 1, "    too l\xe2\x80\xa6");
	assert_int_equal(frame_text(&f, 7, 0, 10, TUI_PLAIN, STR("no such row")), 0);
	assert_int_equal(frame_text(&f, 2, 12, 10, TUI_PLAIN, STR("no such column")), 0);
	expect_row(&f, 2, "");
	frame_fini(&f);
}

static void test_text_of_others(void **state)
{
	struct frame f;

	frame_init(&f, 2, 12);
	frame_text(&f, 0, 0, 12, TUI_PLAIN, STR("a\033[31m\x07z\xff"));
	expect_row(&f, 0, "a?[31m?z?");
	/* A wide character never stands half in its field. */
	assert_int_equal(frame_text(&f, 1, 0, 4, TUI_PLAIN, STR("\xe6\xa8\xa1\xe5\x9e\x8b\xe4\xb8\x80")), 3);
	expect_row(&f, 1, "\xe6\xa8\xa1\xe2\x80\xa6");
	f.ascii = true;
	frame_clear(&f);
	frame_text(&f, 0, 0, 12, TUI_PLAIN, STR("5 \xc2\xb5s \xe2\x89\xa4 \xe6\xa8\xa1"));
	expect_row(&f, 0, "5 us < ?");
	frame_fini(&f);
}

static void test_wrap(void **state)
{
	struct frame f;

	frame_init(&f, 4, 9);
	assert_int_equal(frame_wrap(&f, 0, 0, 9, 4, TUI_PLAIN, STR("one two three four")), 3);
	expect_row(&f, 0, "one two");
	expect_row(&f, 1, "three");
	expect_row(&f, 2, "four");
	frame_clear(&f);
	assert_int_equal(frame_wrap(&f, 0, 0, 9, 2, TUI_PLAIN, STR("one two three four")), 2);
	expect_row(&f, 1, "three fo\xe2\x80\xa6");
	assert_int_equal(frame_wrap(&f, 2, 0, 4, 2, TUI_PLAIN, STR("unbreakable")), 2);
	expect_row(&f, 2, "unbr");
	assert_int_equal(frame_wrap(&f, 0, 0, 9, 2, TUI_PLAIN, STR("  ")), 0);
	frame_fini(&f);
}

static void test_spark(void **state)
{
	const float values[] = { 0, 5, NAN, 10 };
	struct frame f;

	frame_init(&f, 2, 6);
	frame_spark(&f, 0, 0, 6, TUI_PLAIN, values, 4, 1);
	expect_row(&f, 0, "  \xe2\x96\x81\xe2\x96\x85 \xe2\x96\x88"); /* the newest at the right; what is not known is a gap */
	frame_spark(&f, 1, 0, 2, TUI_PLAIN, values, 4, 20);
	expect_row(&f, 1, " \xe2\x96\x85"); /* only what fits; the ceiling holds */
	frame_clear(&f);
	f.graph = GRAPH_PLAIN;
	frame_spark(&f, 0, 0, 4, TUI_PLAIN, values, 4, 1);
	expect_row(&f, 0, "_+ @");
	frame_fini(&f);
}

static void test_layout_fills_every_size(void **state)
{
	for (int rows = 10; rows <= 100; rows++) {
		struct layout l = layout_of(rows, 200);

		assert_true(l.rows >= rows && l.rows >= LAYOUT_ROWS_LEAST);
		assert_int_equal(l.table + l.table_rows, l.keys);
		assert_int_equal(l.keys, l.rows - 1);
		assert_true(l.table_rows >= 8);
		assert_int_equal(l.findings + l.findings_rows, l.table_head);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_text_is_cut), cmocka_unit_test(test_text_of_others),
		cmocka_unit_test(test_wrap), cmocka_unit_test(test_spark), cmocka_unit_test(test_layout_fills_every_size) };

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
