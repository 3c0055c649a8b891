/* str, mem, arena, buf, map, hash, error, clock, file. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"

#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void str_parts(void **state)
{
	struct str rest = STR("a,,b"), part;

	assert_true(str_split(&rest, ',', &part));
	assert_str(part, "a");
	assert_true(str_split(&rest, ',', &part));
	assert_str(part, "");
	assert_true(str_split(&rest, ',', &part));
	assert_str(part, "b");
	assert_false(str_split(&rest, ',', &part));
	rest = STR("");
	assert_true(str_split(&rest, ',', &part));
	assert_str(part, "");
	assert_false(str_split(&rest, ',', &part));
	assert_str(str_trim(STR(" \t x y\r\n")), "x y");
	assert_str(str_trim(STR(" \n ")), "");
	assert_int_equal(str_search(STR("abcabd"), STR("abd")), 3);
	assert_int_equal(str_search(STR("abc"), STR("")), 0);
	assert_int_equal(str_search(STR("abc"), STR("abcd")), -1);
	assert_int_equal(str_find(STR("abc"), 'c'), 2);
	assert_int_equal(str_find(STR(""), 'c'), -1);
	assert_null(str_skip(STR_EMPTY, 3).ptr);
	assert_str(str_skip(STR("abc"), 2), "c");
	assert_str(str_skip(STR("abc"), 9), "");
}

static void str_order(void **state)
{
	assert_true(str_cmp(STR("a"), STR("b")) < 0);
	assert_true(str_cmp(STR("a"), STR("aa")) < 0);
	assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
	assert_int_equal(str_cmp(STR_EMPTY, STR("")), 0);
	assert_true(str_eq_nocase(STR("NaN"), STR("nAn")));
	assert_false(str_eq_nocase(STR("[a"), STR("{a")));
}

static void str_utf8(void **state)
{
	static const char *const bad[] = { "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\x80",
		"a\xc3", "\xe2\x82", "\xf0\x9f\x92" };

	assert_true(str_is_utf8(STR("ascii \xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x92\xa1")));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(str_is_utf8(str_from(bad[i])));
	assert_int_equal(str_columns(STR("abc")), 3);
	assert_int_equal(str_columns(STR("\xe6\x97\xa5\xe6\x9c\xac")), 4); /* two wide ones */
	assert_int_equal(str_columns(STR("e\xcc\x81")), 1);                /* a combining accent */
	assert_int_equal(str_columns(STR("\xf0\x9f\x92\xa1")), 2);
	assert_int_equal(str_columns(STR("\xe2\x94\x80\xe2\x96\x88")), 2); /* box drawing is narrow */
	assert_int_equal(str_columns(STR("\xff")), 1);
}

static void str_distances(void **state)
{
	assert_int_equal(str_distance(STR("kitten"), STR("sitting"), 9), 3);
	assert_int_equal(str_distance(STR("kitten"), STR("sitting"), 2), 3);
	assert_int_equal(str_distance(STR("kitten"), STR("sitting"), 1), 2);
	assert_int_equal(str_distance(STR("same"), STR("same"), 0), 0);
	assert_int_equal(str_distance(STR(""), STR("abc"), 5), 3);
}

static void arena_lives(void **state)
{
	struct arena a;

	arena_init(&a);
	for (int round = 0; round < 3; round++) {
		char *first = arena_cstr(&a, STR("first"));

		for (size_t size = 0; size < 3000; size++) {
			char *block = arena_alloc(&a, size);

			assert_int_equal((uintptr_t)block % 16, 0);
			memset(block, 0xaa, size);
		}
		memset(arena_alloc(&a, 5 << 20), 0x55, 5 << 20);
		assert_string_equal(first, "first");
		int *zeros = ARENA_ARRAY(&a, int, 1000);

		for (int i = 0; i < 1000; i++)
			assert_int_equal(zeros[i], 0);
		assert_true(a.total > 5 << 20);
		arena_reset(&a);
		assert_int_equal(a.total, 0);
	}
	char big[1001] = "";

	memset(big, 'x', 1000);
	assert_int_equal(arena_printf(&a, "%s-%d", big, 7).len, 1002);
	assert_string_equal(arena_printf(&a, "%s-%d", "short", 7).ptr, "short-7");
	arena_fini(&a);
}

static void buf_grows_to_its_maximum(void **state)
{
	struct buf b;

	buf_init(&b, 10);
	assert_string_equal(buf_cstr(&b), "");
	buf_add(&b, STR("12345"));
	buf_printf(&b, "%s", "67890");
	assert_string_equal(buf_cstr(&b), "1234567890");
	assert_false(b.overflowed);
	buf_printf(&b, "%d", 1);
	assert_true(b.overflowed);
	assert_int_equal(b.len, 10);
	buf_reset(&b);
	buf_add(&b, STR("12345678901")); /* dropped whole */
	buf_add(&b, STR("1"));           /* and what follows */
	assert_true(b.overflowed);
	assert_int_equal(b.len, 0);
	buf_reset(&b);
	buf_add_i64(&b, -12);
	buf_add_repeat(&b, '=', 3);
	assert_string_equal(buf_cstr(&b), "-12===");
	assert_null(buf_reserve(&b, 5));
	buf_fini(&b);

	buf_init(&b, 1 << 20);
	for (int i = 0; i < 5000; i++)
		buf_printf(&b, "%d,", i);
	assert_true(str_ends(buf_str(&b), STR(",4998,4999,")));
	buf_reset(&b);
	buf_add_i64(&b, INT64_MIN);
	buf_add_c(&b, ' ');
	buf_add_double(&b, 0.1);
	assert_string_equal(buf_cstr(&b), "-9223372036854775808 0.1");
	buf_fini(&b);
}

static void buf_json(void **state)
{
	struct buf b;

	buf_init(&b, 1000);
	buf_add_json(&b, STR("a\"\\\n\t\x01\x7f\0\xc3\xa9\xff/"));
	assert_string_equal(buf_cstr(&b), "\"a\\\"\\\\\\n\\t\\u0001\\u007f\\u0000\xc3\xa9\xef\xbf\xbd/\"");
	buf_fini(&b);
}

static void map_keeps_order(void **state)
{
	struct map m;
	char key[16];
	bool made;

	map_init(&m);
	assert_null(map_get(&m, STR("none")));
	assert_false(map_remove(&m, STR("none")));
	for (intptr_t i = 1; i <= 2000; i++) {
		snprintf(key, sizeof key, "key%d", (int)i);
		map_put(&m, str_from(key), &made)->value = (void *)i;
		assert_true(made);
		if (i % 3 == 0) {
			snprintf(key, sizeof key, "key%d", (int)(i / 3));
			assert_true(map_remove(&m, str_from(key)));
		}
	}
	assert_int_equal(m.live, 2000 - 666);
	intptr_t expected = 667;

	MAP_EACH (&m, entry) {
		snprintf(key, sizeof key, "key%d", (int)expected);
		assert_str(entry->key, key);
		assert_int_equal((intptr_t)entry->value, expected);
		assert_ptr_equal(map_get(&m, entry->key), entry->value);
		expected++;
	}
	assert_int_equal(expected, 2001);
	assert_false(map_has(&m, STR("key1")));
	map_set(&m, STR("key1"), &m);
	assert_ptr_equal(map_get(&m, STR("key1")), &m);
	map_put(&m, STR("key1"), &made);
	assert_false(made);
	map_set(&m, STR(""), &made); /* the empty key is a key */
	assert_true(map_has(&m, STR("")));
	map_clear(&m);
	assert_int_equal(m.live, 0);
	assert_false(map_has(&m, STR("key1")));
	map_fini(&m);
}

/* Putting and removing for ever must not grow the map. */
static void map_reuses_holes(void **state)
{
	struct map m;
	char key[16];

	map_init(&m);
	for (int i = 0; i < 100000; i++) {
		snprintf(key, sizeof key, "%d", i);
		map_set(&m, str_from(key), &m);
		snprintf(key, sizeof key, "%d", i - 10);
		map_remove(&m, str_from(key));
	}
	assert_int_equal(m.live, 10);
	assert_true(m.cap <= 64);
	map_fini(&m);
}

static void hash_spreads(void **state)
{
	assert_int_equal(hash_bytes("abc", 3), hash_bytes("abc", 3));
	assert_int_not_equal(hash_bytes("abc", 3), hash_bytes("abd", 3));
	assert_int_not_equal(hash_seeded("abc", 3, 1), hash_seeded("abc", 3, 2));
}

static void vec_grows(void **state)
{
	VEC(int) v = { 0 };
	int sum = 0;

	for (int i = 0; i < 1000; i++)
		VEC_PUSH(&v, i);
	VEC_EACH (&v, item)
		sum += *item;
	assert_int_equal(sum, 499500);
	VEC_FREE(&v);
}

/* What error_print writes; free it. */
static char *printed(const struct error *e)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	error_print(e, to);
	fclose(to);
	return text;
}

static void assert_printed(const struct error *e, const char *expected)
{
	char *text = printed(e);

	assert_string_equal(text, expected);
	free(text);
}

static void error_points(void **state)
{
	struct error e = { 0 };
	struct str text = STR("first\n\tkey:\tvalue\r\nlast");

	assert_false(error_at(&e, STR("f.yaml"), text, 12, "no %s here", "value"));
	error_hint(&e, "write one");
	assert_int_equal(e.status, EXIT_BAD_INPUT);
	assert_printed(&e, "goodput: f.yaml:2:7: no value here\n  \tkey:\tvalue\n  \t    \t^\n  hint: write one\n");
	error_at(&e, STR("query"), STR("\xe6\x97\xa5\xc3\xa9x"), 5, "here");
	assert_printed(&e, "goodput: query:1:6: here\n  \xe6\x97\xa5\xc3\xa9x\n     ^\n");
	error_at(&e, STR("query"), STR("a"), 99, "at the end");
	assert_printed(&e, "goodput: query:1:2: at the end\n  a\n   ^\n");
	error_at(&e, STR("query"), STR_EMPTY, 0, "nothing given");
	assert_printed(&e, "goodput: query:1:1: nothing given\n");
	error_set(&e, EXIT_UNREACHABLE, "connection refused");
	assert_printed(&e, "goodput: connection refused\n");
	error_source(&e, STR("http://h:1/metrics"));
	assert_printed(&e, "goodput: http://h:1/metrics: connection refused\n");
	assert_false(error_set(NULL, EXIT_USAGE, "nobody asks"));
	assert_false(error_at(NULL, STR(""), STR(""), 0, "nobody asks"));
}

/* What is no text, or drives a terminal, is shown as marks, one a byte: the caret stays where it was. */
static void error_shows_bytes(void **state)
{
	struct error e = { 0 };

	error_at(&e, STR("page"), STR("a\xff\x1b[2J\xc2\x9b\xc3\xa4!"), 8, "bad \xfe");
	assert_string_equal(e.excerpt, "a??[2J??\xc3\xa4!");
	assert_int_equal(e.excerpt_column, 9);
	assert_string_equal(e.message, "bad ?");
}

/* The caret stands under the same byte wherever a long line was cut. */
static void error_cuts_long_lines(void **state)
{
	char line[1000];

	for (size_t i = 0; i < sizeof line; i++)
		line[i] = (char)('a' + i % 26);
	for (size_t at = 0; at < sizeof line; at += 7) {
		struct error e = { 0 };

		error_at(&e, STR("page"), str_of(line, sizeof line), at, "bad");
		assert_true(strlen(e.excerpt) < 160);
		assert_int_equal(e.excerpt[e.excerpt_column - 1], line[at]);
		assert_int_equal(e.column, at + 1);
		assert_int_equal(str_starts(str_from(e.excerpt), STR("...")), at > 90);
	}
}

static void error_is_safe_to_print(void **state)
{
	struct error e = { 0 };

	error_at(&e, STR("page"), STR("a\x1b[2Jb"), 1, "control byte '\x1b'");
	assert_printed(&e, "goodput: page:1:2: control byte '?'\n  a?[2Jb\n   ^\n");
	error_set(&e, EXIT_INTERNAL, "while reading: %s", e.message);
	assert_string_equal(e.message, "while reading: control byte '?'");
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
		const char *printed;
	} good[] = {
		{ "1h30m", 5400000, "1h30m" },
		{ "90s", 90000, "1m30s" },
		{ "500ms", 500, "500ms" },
		{ "1d", 86400000, "1d" },
		{ "10", 10000, "10s" },
		{ "2.5", 2500, "2s500ms" },
		{ "0", 0, "0s" },
		{ "0s", 0, "0s" },
		{ "1w", 604800000, "1w" },
		{ "8d", 691200000, "8d" },
		{ "1y", 31536000000, "1y" },
		{ "1m1ms", 60001, "1m1ms" },
	};
	static const char *const bad[] = { "", "m", "1m1h", "1s1s", "-5m", "1h ", "1.5h", "5x", "99999999999999999999s", "300000000000y",
		"nan", "1e400" };
	char text[64];
	int64_t ms;

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_true(duration_parse(str_from(good[i].text), &ms));
		assert_int_equal(ms, good[i].ms);
		assert_int_equal(duration_format(ms, text), strlen(good[i].printed));
		assert_string_equal(text, good[i].printed);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(duration_parse(str_from(bad[i]), &ms));
	duration_format(-5400000, text);
	assert_string_equal(text, "-1h30m");
	duration_format(INT64_MIN, text);
	assert_true(str_starts(str_from(text), STR("-")));
}

static void times(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} good[] = {
		{ "0", 0 },
		{ "1768435200", 1768435200000 },
		{ "1768435200.25", 1768435200250 },
		{ "2026-01-15T00:00:00Z", 1768435200000 },
		{ "2026-01-15T01:30:00+01:30", 1768435200000 },
		{ "2026-01-14T19:00:00-05:00", 1768435200000 },
		{ "2026-01-15t00:00:00.123456789z", 1768435200123 },
		{ "2026-01-15 00:00:00Z", 1768435200000 },
		{ "2024-02-29T12:00:00Z", 1709208000000 },
		{ "1969-12-31T23:59:59.5Z", -500 },
		{ "now", 1000000 },
		{ "-5m", 700000 },
		{ "-1m30s", 910000 },
	};
	static const char *const bad[] = { "", "-", "yesterday", "2026-01-15", "2026-01-15T00:00:00", "2026-02-29T00:00:00Z",
		"2026-13-01T00:00:00Z", "2026-01-15T24:00:00Z", "2026-01-15T00:00:00.Z", "2026-01-15T00:00:00Zx",
		"2026-01-15T00:00:00+1:00", "5m", "NaN", "1e300", "Inf" };
	int64_t ms, again;
	char text[40];

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_true(time_parse(str_from(good[i].text), 1000000, &ms));
		assert_int_equal(ms, good[i].ms);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(time_parse(str_from(bad[i]), 1000000, &ms));
	assert_int_equal(time_format(1768435200000, text), 20);
	assert_string_equal(text, "2026-01-15 00:00:00Z");
	time_format(-1, text);
	assert_string_equal(text, "1969-12-31 23:59:59.999Z");
	for (int64_t t = -62167219200000; t < 253402300799000; t += 86399999 * 37LL) {
		size_t length = time_format(t, text);

		assert_true(time_parse(str_of(text, length), 0, &again));
		assert_int_equal(again, t);
	}
	assert_true(clock_now_ms() > 1700000000000);
	assert_true(clock_monotonic_ns() > 0 && clock_cpu_ns() > 0);
}

/* What is no file stays what it is: /dev/stdout is not replaced by a report. */
static void file_write_to_a_pipe(void **state)
{
	char folder[] = "/tmp/goodput-test-XXXXXX", text[8];
	struct error e = { 0 };
	struct arena a;
	struct stat st;

	assert_non_null(mkdtemp(folder));
	arena_init(&a);
	const char *pipe = path_join(&a, folder, STR("pipe"));

	assert_int_equal(mkfifo(pipe, 0600), 0);
	int reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	assert_true(file_write(pipe, STR("one"), &e));
	assert_int_equal(read(reader, text, sizeof text), 3);
	assert_memory_equal(text, "one", 3);
	assert_int_equal(lstat(pipe, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	close(reader);
	unlink(pipe);
	rmdir(folder);
	arena_fini(&a);
}

static void files(void **state)
{
	char folder[] = "/tmp/goodput-test-XXXXXX";
	struct arena a;
	struct error e = { 0 };
	struct str text;
	size_t count;

	assert_non_null(mkdtemp(folder));
	arena_init(&a);
	const char *deep = path_join(&a, folder, STR("a/b/c"));

	assert_true(folder_make(deep, &e));
	assert_true(folder_make(deep, &e));
	assert_true(file_is_folder(deep));
	const char *file = path_join(&a, deep, STR("z.txt"));

	assert_false(file_exists(file));
	assert_true(file_write(file, STR("one"), &e));
	assert_true(file_write(file, STR("two\0!"), &e));
	assert_true(file_write(path_join(&a, deep, STR("a.txt")), STR_EMPTY, &e));
	assert_true(file_read(&a, file, 5, &text, &e));
	assert_int_equal(text.len, 5);
	assert_memory_equal(text.ptr, "two\0!", 6);
	assert_false(file_read(&a, file, 4, &text, &e));
	assert_non_null(strstr(e.message, "larger than the 4 bytes"));
	struct str *names = folder_list(&a, deep, &count, &e);

	assert_int_equal(count, 2); /* and no temporary file */
	assert_str(names[0], "a.txt");
	assert_str(names[1], "z.txt");
	assert_false(folder_make(file, &e));
	assert_false(file_read(&a, path_join(&a, folder, STR("absent")), 10, &text, &e));
	assert_non_null(strstr(e.message, "No such file"));
	assert_non_null(strstr(e.source, "absent"));
	assert_false(file_write(path_join(&a, folder, STR("no/such/folder")), STR("x"), &e));
	assert_null(folder_list(&a, file, &count, &e));
	assert_true(unlink(file) == 0 && unlink(path_join(&a, deep, STR("a.txt"))) == 0);
	assert_true(rmdir(deep) == 0 && rmdir(path_join(&a, folder, STR("a/b"))) == 0);
	assert_true(rmdir(path_join(&a, folder, STR("a"))) == 0 && rmdir(folder) == 0);
	arena_fini(&a);
}

/* Runs `speak` with stderr in a file; what it wrote, '\0'-terminated in `text`. */
static void captured(void (*speak)(void), char *text, size_t size)
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);

	assert_true(file && saved >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
	speak();
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
}

static void speak_all(void)
{
	log_error("broken: %d", 1);
	log_warning("odd");
	log_note("by the way");
	log_debug("detail");
	log_progress("%d of %d", 1, 2); /* not a terminal: silent */
	log_progress(NULL);
}

static void log_levels(void **state)
{
	char text[1000];

	captured(speak_all, text, sizeof text);
	assert_string_equal(text, "goodput: error: broken: 1\ngoodput: warning: odd\ngoodput: by the way\n");
	log_set_level(LOG_ERROR);
	captured(speak_all, text, sizeof text);
	assert_string_equal(text, "goodput: error: broken: 1\n");
	log_set_level(LOG_DEBUG);
	captured(speak_all, text, sizeof text);
	assert_true(str_ends(str_from(text), STR("goodput: debug: detail\n")));
	log_set_level(LOG_NOTE);
}

static void columns(void **state)
{
	setenv("COLUMNS", "123", 1);
	assert_int_equal(terminal_columns(stdout), 123);
	setenv("COLUMNS", "rubbish", 1);
	assert_true(terminal_columns(stdout) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(str_parts),
		cmocka_unit_test(str_order),
		cmocka_unit_test(str_utf8),
		cmocka_unit_test(str_distances),
		cmocka_unit_test(arena_lives),
		cmocka_unit_test(buf_grows_to_its_maximum),
		cmocka_unit_test(buf_json),
		cmocka_unit_test(map_keeps_order),
		cmocka_unit_test(map_reuses_holes),
		cmocka_unit_test(hash_spreads),
		cmocka_unit_test(vec_grows),
		cmocka_unit_test(error_points),
		cmocka_unit_test(error_shows_bytes),
		cmocka_unit_test(error_cuts_long_lines),
		cmocka_unit_test(error_is_safe_to_print),
		cmocka_unit_test(durations),
		cmocka_unit_test(times),
		cmocka_unit_test(file_write_to_a_pipe),
		cmocka_unit_test(files),
		cmocka_unit_test(log_levels),
		cmocka_unit_test(columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
