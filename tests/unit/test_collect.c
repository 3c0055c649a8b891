#include "base/mem.h"
#include "collect/internal.h"
#include "collect/lifecycle.h"
#include "metric_bytes.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- numbers ---- */

static void number_is(double value, const char *newest, const char *old)
{
	char text[COLLECT_NUMBER_MAX];

	assert_int_equal(collect_number(value, false, text), strlen(newest));
	assert_string_equal(text, newest);
	assert_int_equal(collect_number(value, true, text), strlen(old));
	assert_string_equal(text, old);
}

/* What floatToGoString of prometheus_client prints. */
static void test_numbers(void **state)
{
	number_is(0, "0.0", "0.0");
	number_is(-0.0, "-0.0", "-0.0");
	number_is(1, "1.0", "1.0");
	number_is(0.1, "0.1", "0.1");
	number_is(1e-4, "0.0001", "0.0001");
	number_is(0.00001234, "1.234e-05", "1.234e-05");
	number_is(5e-324, "5e-324", "5e-324");
	number_is(999999.5, "999999.5", "999999.5");
	number_is(1e6, "1e+06", "1e+06");
	number_is(1234567.25, "1.23456725e+06", "1.23456725e+06");
	number_is(1e10, "1e+10", "1e+010");
	number_is(9007199254740992, "9.007199254740992e+15", "9.007199254740992e+015");
	number_is(1e16, "1e+16", "1e+16");
	number_is(1.7976931348623157e308, "1.7976931348623157e+308", "1.7976931348623157e+308");
	number_is(-1234567, "-1234567.0", "-1234567.0");
	number_is(-1e16, "-1e+16", "-1e+16");
	number_is(NAN, "NaN", "NaN");
	number_is(INFINITY, "+Inf", "+Inf");
	number_is(-INFINITY, "-Inf", "-Inf");
}

/* Numbers of three decimals at most go another way than their negatives, and those beside them. */
static void test_common_numbers(void **state)
{
	char text[COLLECT_NUMBER_MAX], negative[COLLECT_NUMBER_MAX];

	for (uint32_t thousandths = 1; thousandths < 1000000000; thousandths += thousandths < 20000 ? 1 : 99991) {
		double value = thousandths / 1000.0;
		const double beside[] = { nextafter(value, 0), value, nextafter(value, 1e6) };

		for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
			size_t len = collect_number(beside[i], false, text);

			assert_int_equal(len, strlen(text));
			assert_int_equal(collect_number(-beside[i], false, negative), len + 1);
			assert_string_equal(negative + 1, text);
			assert_true(strtod(text, NULL) == beside[i]);
		}
	}
}

/* ---- names ---- */

static void test_names(void **state)
{
	struct file_name n;
	const char *why;

	assert_true(file_name_parse(STR("counter_12.db"), &n, &why));
	assert_true(n.type == TYPE_COUNTER && n.pid == 12 && !n.folded);
	assert_true(file_name_parse(STR("gauge_livesum_12-api.db"), &n, &why));
	assert_true(n.mode == MODE_SUM && n.live && n.pid == 12 && str_is(n.pid_label, "12-api"));
	assert_true(file_name_parse(STR("gauge_all_worker_1.db"), &n, &why));
	assert_true(str_is(n.pid_label, "wor") && n.pid_is_cut);
	assert_true(file_name_parse(STR("gauge_max_folded.db"), &n, &why));
	assert_true(n.folded && n.pid == -1);
	assert_true(file_name_parse(STR("counter_0.db"), &n, &why));
	assert_int_equal(n.pid, -1);
	assert_false(file_name_parse(STR("gauge_1.db"), &n, &why));
	assert_false(file_name_parse(STR("blob_1.db"), &n, &why));
	assert_false(file_name_is_ours(STR(".counter_1.db")));
	assert_false(file_name_is_ours(STR("counter_1.db.bak")));
}

/* ---- folding ---- */

enum { DEAD_PID = 2147483600 /* above any process id */ };

static void folder_make_here(char *path)
{
	/* Where fsync costs nothing, if there is such a place. */
	snprintf(path, 64, "%s/test_collect-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(path));
}

static void folder_remove(const char *path)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", path);
	assert_int_equal(system(command), 0);
}

static void counter_put(const char *folder, const char *name, int pid, const char *family, double value, int layout)
{
	char path[160];

	snprintf(path, sizeof path, "%s/%s_%d.db", folder, name, pid);
	metric_bytes_write(path, family, value, layout);
}

/* The page of the directory; the caller frees. */
static char *page_of(const char *folder)
{
	const struct collect_options options = { 0 };
	struct collector *c = collector_new(folder, &options);
	struct buf page;

	buf_init(&page, 1 << 20);
	collector_scrape(c);
	collector_page(c, COLLECT_TEXT, &page);
	char *text = mem_copy(page.ptr, page.len);

	buf_fini(&page);
	collector_free(c);
	return text;
}

static bool fold_now(const char *folder, struct collect_fold *folded)
{
	const struct collect_options options = { 0 };
	struct collector *c = collector_new(folder, &options);
	struct error e = { 0 };

	collector_scrape(c);
	bool ok = collector_fold(c, true, folded, &e);

	collector_free(c);
	return ok;
}

static int files_in(const char *folder, const char *pattern)
{
	char command[200], text[32] = "";

	snprintf(command, sizeof command, "ls -A %s | grep -c '%s'", folder, pattern);
	FILE *pipe = popen(command, "r");

	assert_non_null(pipe);
	assert_non_null(fgets(text, sizeof text, pipe));
	pclose(pipe);
	return (int)strtol(text, NULL, 10);
}

static void folder_fill(const char *folder)
{
	for (int i = 0; i < 3; i++) {
		counter_put(folder, "counter", DEAD_PID + i, "a_total", 0.1 * (i + 1), 8);
		counter_put(folder, "summary", DEAD_PID + i, "s_sum", 1.5 * i, 8);
		counter_put(folder, "gauge_max", DEAD_PID + i, "m", 7.0 - i, 16);
	}
}

/* Folds so many files; the page says the same before and after. */
static void assert_fold_keeps_page(const char *folder, size_t files)
{
	struct collect_fold folded;
	char *before = page_of(folder);

	assert_true(fold_now(folder, &folded));
	assert_int_equal(folded.files, files);
	char *after = page_of(folder);

	assert_string_equal(before, after);
	mem_free(before);
	mem_free(after);
}

static void test_fold_keeps_the_page(void **state)
{
	char folder[64];

	folder_make_here(folder);
	folder_fill(folder);
	for (int round = 0; round < 2; round++) { /* the second time into archives that are there */
		assert_fold_keeps_page(folder, round ? 1 : 9);
		assert_int_equal(files_in(folder, "db$"), 3);
		counter_put(folder, "counter", DEAD_PID + 9, "a_total", 4, 8);
	}
	folder_remove(folder);
}

/* A fold that is killed before any of its steps: the page stays what it was, for who may write (and finishes it) and for who may not. */
static void test_fold_killed(void **state)
{
	int killed = 0;

	for (int at = 1; at < 40; at++) {
		struct collect_fold folded;
		char folder[64];
		int status;

		folder_make_here(folder);
		folder_fill(folder);
		char *before = page_of(folder);
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0) {
			collect_fold_killed_at = at;
			fold_now(folder, &folded);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		killed += WEXITSTATUS(status) == 9;
		/* Who may only read. Root may write whatever the mode says, so it becomes somebody else. */
		chmod(folder, 0755);
		child = fork();
		if (child == 0) {
			if (geteuid() == 0 && (setegid(65534) != 0 || seteuid(65534) != 0))
				_exit(1);
			char *page = page_of(folder);

			_exit(strcmp(before, page) ? 2 : 0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(WEXITSTATUS(status), 0);
		for (int i = 0; i < 2; i++) {
			char *after = page_of(folder);

			assert_string_equal(before, after);
			mem_free(after);
		}
		assert_int_equal(files_in(folder, "^.goodput-fold$"), 0);
		mem_free(before);
		folder_remove(folder);
	}
	assert_in_range(killed, 15, 39);
}

/* A name with a line end cannot stand in a journal: such a file stays, and is counted once. */
static void test_fold_of_a_name_of_two_lines(void **state)
{
	char folder[64];

	folder_make_here(folder);
	folder_fill(folder);
	counter_put(folder, "counter_a\nb", DEAD_PID + 5, "a_total", 3, 8);
	assert_fold_keeps_page(folder, 9);
	folder_remove(folder);
}

/* Only what a fold made is an archive: these are other programs' files, counted once whatever is folded. */
static void test_fold_beside_names_like_archives(void **state)
{
	char folder[64], path[160];

	folder_make_here(folder);
	folder_fill(folder);
	snprintf(path, sizeof path, "%s/counter_my_folded.db", folder);
	metric_bytes_write(path, "a_total", 7, 8);
	snprintf(path, sizeof path, "%s/gauge_livemax_folded.db", folder);
	metric_bytes_write(path, "m", 70, 16);
	counter_put(folder, "untyped", DEAD_PID, "u", 1, 8);
	snprintf(path, sizeof path, "%s/untyped_folded.db", folder);
	metric_bytes_write(path, "u", 3, 8);
	assert_fold_keeps_page(folder, 10);
	folder_remove(folder);
}

/* Somebody else's fold was killed after this collector's scrape: what it had committed stays, whatever this one does. */
static void test_fold_after_a_killed_one(void **state)
{
	for (int at = 1; at < 25; at++) {
		const struct collect_options options = { 0 };
		struct collect_fold folded;
		struct error e = { 0 };
		char folder[64];

		folder_make_here(folder);
		folder_fill(folder);
		char *before = page_of(folder);
		struct collector *c = collector_new(folder, &options);

		collector_scrape(c);
		pid_t child = fork();

		if (child == 0) {
			collect_fold_killed_at = at;
			fold_now(folder, &folded);
			_exit(0);
		}
		assert_int_equal(waitpid(child, NULL, 0), child);
		collector_fold(c, true, &folded, &e);
		char *after = page_of(folder);

		assert_string_equal(before, after);
		assert_int_equal(files_in(folder, "^.goodput-fold$"), 0);
		mem_free(before);
		mem_free(after);
		collector_free(c);
		folder_remove(folder);
	}
}

/* In a directory like /tmp nobody takes away what is another user's: neither a dead writer's file nor an archive. */
static void test_fold_in_a_sticky_directory(void **state)
{
	enum { NOBODY = 65534 };

	if (geteuid() != 0)
		skip();
	for (int others = 0; others < 2; others++) {
		char folder[64], path[160];
		int status;

		folder_make_here(folder);
		folder_fill(folder);
		for (int i = 0; i < 3 && others; i++) {
			snprintf(path, sizeof path, "%s/counter_%d.db", folder, DEAD_PID + i);
			assert_int_equal(chown(path, NOBODY, NOBODY), 0);
		}
		if (others) {
			snprintf(path, sizeof path, "%s/counter_folded.db", folder);
			metric_bytes_write(path, "a_total", 5, 8);
		}
		chmod(folder, 01777);
		char *before = page_of(folder);
		pid_t child = fork();

		if (child == 0) {
			struct collect_fold folded = { 0 };

			if (setegid(NOBODY) != 0 || seteuid(NOBODY) != 0)
				_exit(1);
			bool ok = fold_now(folder, &folded);

			_exit(folded.files == 0 && ok == !others ? 0 : 2);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		char *after = page_of(folder);

		assert_string_equal(before, after);
		assert_int_equal(WEXITSTATUS(status), 0);
		mem_free(before);
		mem_free(after);
		folder_remove(folder);
	}
}

/* (((0.1 + 0.2) + 0.3) + live) and ((0.1 + 0.2 + 0.3) + live) in other brackets may be a bit less: it must not be. */
static void test_fold_never_lowers(void **state)
{
	srand(7);
	for (int round = 0; round < 60; round++) {
		struct collect_fold folded;
		char folder[64], *end_before, *end_after;

		folder_make_here(folder);
		for (int i = 0; i < 6; i++)
			counter_put(
				folder, "summary", i % 2 ? DEAD_PID + i : 1 /* lives */, "s_sum", rand() / 1e4 / (1 + rand() % 1000), 8);
		counter_put(folder, "summary", DEAD_PID + 20, "s_sum", rand() / 3e3, 8);
		char *before = page_of(folder);

		assert_true(fold_now(folder, &folded));
		assert_int_equal(folded.files, 4);
		char *after = page_of(folder);
		double was = strtod(strrchr(before, ' '), &end_before), is = strtod(strrchr(after, ' '), &end_after);

		assert_true(is >= was && is - was <= fabs(was) * 1e-15);
		mem_free(before);
		mem_free(after);
		folder_remove(folder);
	}
}

/* ---- reading on ---- */

static void test_warm_reading_follows_the_file(void **state)
{
	const struct collect_options options = { 0 };
	char folder[64], path[160];
	struct buf page;

	folder_make_here(folder);
	snprintf(path, sizeof path, "%s/counter_77.db", folder);
	metric_bytes_write(path, "a_total", 1, 16);
	struct collector *c = collector_new(folder, &options);

	buf_init(&page, 1 << 20);
	for (int i = 0; i < 6; i++) {
		metric_bytes_set(path, i + 0.5);
		buf_reset(&page);
		collector_scrape(c);
		collector_page(c, COLLECT_TEXT, &page);
		assert_true(strtod(strrchr(buf_cstr(&page), ' '), NULL) == i + 0.5);
	}
	metric_bytes_append(path, "b_total", 9, 16);
	buf_reset(&page);
	assert_int_equal(collector_scrape(c)->entries, 2);
	collector_page(c, COLLECT_TEXT, &page);
	assert_non_null(strstr(buf_cstr(&page), "\nb_total 9.0\n"));
	buf_fini(&page);
	collector_free(c);
	folder_remove(folder);
}

/* A program whose series are others after each start: what is known of the old ones goes, what is read stays right. */
static void test_old_keys_are_forgotten(void **state)
{
	enum { SERIES = 4200, ROUNDS = 4 };
	const struct collect_options options = { 0 };
	char folder[64], path[160], name[64];
	struct buf page;

	folder_make_here(folder);
	struct collector *c = collector_new(folder, &options);

	buf_init(&page, 1 << 24);
	for (int round = 0; round < ROUNDS; round++) {
		snprintf(path, sizeof path, "%s/counter_%d.db", folder, 77 + round);
		metric_bytes_write(path, "a_total", round, 16);
		for (int i = 1; i < SERIES; i++) {
			snprintf(name, sizeof name, "round%d_series%d", round, i);
			metric_bytes_append(path, name, i, 16);
		}
		for (int i = 0; i < 3; i++)
			assert_int_equal(collector_scrape(c)->entries, SERIES);
		buf_reset(&page);
		collector_page(c, COLLECT_TEXT, &page);
		snprintf(name, sizeof name, "\nround%d_series%d %d.0\n", round, SERIES - 1, SERIES - 1);
		assert_non_null(strstr(buf_cstr(&page), name));
		assert_true(c->keys.items.count < 3 * SERIES);
		unlink(path);
	}
	buf_fini(&page);
	collector_free(c);
	folder_remove(folder);
}

/* Files of equal entries share their places, but not where the process is in a place: gauges of a family that began as a counter. */
static void test_equal_files_of_other_processes(void **state)
{
	char folder[64];

	folder_make_here(folder);
	counter_put(folder, "counter", 5, "a_total", 1, 16);
	counter_put(folder, "counter", 6, "a_total", 1, 16);
	counter_put(folder, "gauge_all", 7, "a_total", 2, 16);
	counter_put(folder, "gauge_all", 8, "a_total", 3, 16);
	counter_put(folder, "gauge_max", 7, "m", 4, 16);
	counter_put(folder, "gauge_max", 8, "m", 6, 16);
	counter_put(folder, "gauge_max", 9, "m", 5, 16);
	char *page = page_of(folder);

	assert_non_null(strstr(page, "\na_total 2.0\n"));
	assert_non_null(strstr(page, "\na_total{pid=\"7\"} 2.0\n"));
	assert_non_null(strstr(page, "\na_total{pid=\"8\"} 3.0\n"));
	assert_non_null(strstr(page, "\nm 6.0\n"));
	mem_free(page);
	folder_remove(folder);
}

/* Files come, go, grow and are put in another's place: a collector that was there all the time shows what a new one shows. */
static void file_change(const char *folder, int *alive)
{
	static const char *const kinds[] = { "counter", "summary", "gauge_livesum", "gauge_max", "gauge_all", "gauge_mostrecent",
		"histogram_of_a_long_name", "gauge_liveall_of" };
	static const char *const families[] = { "a_total", "b", "c_sum" };
	const char *family = families[rand() % 3];
	int pid = DEAD_PID + rand() % 4;
	char path[160];

	snprintf(path, sizeof path, "%s/%s_%d.db", folder, kinds[rand() % 8], pid);
	bool there = access(path, F_OK) == 0;

	if (there && rand() % 3 == 0) {
		unlink(path);
		--*alive;
	} else if (there && rand() % 2) {
		metric_bytes_append(path, family, rand() % 100, 16);
	} else if (there && rand() % 2) {
		metric_bytes_set(path, rand() % 100);
	} else {
		*alive += !there;
		unlink(path);
		metric_bytes_write(path, family, rand() % 100, 16);
	}
}

static void test_warm_is_as_cold(void **state)
{
	const struct collect_options options = { 0 };
	char folder[64];
	struct buf page;
	int alive = 0;

	folder_make_here(folder);
	struct collector *c = collector_new(folder, &options);

	buf_init(&page, 1 << 20);
	srand(3);
	for (int round = 0; round < 600; round++) {
		for (int i = rand() % 3; i > 0; i--)
			file_change(folder, &alive);
		collector_scrape(c);
		buf_reset(&page);
		collector_page(c, COLLECT_TEXT, &page);
		char *fresh = page_of(folder);

		assert_int_equal(c->folder.files.count, alive);
		assert_string_equal(buf_cstr(&page), fresh);
		mem_free(fresh);
	}
	buf_fini(&page);
	collector_free(c);
	folder_remove(folder);
}

/* A damaged file is looked at again at each scrape; what was no key then is not kept. */
static void test_damage_takes_no_memory(void **state)
{
	enum { LENGTH = 300004 /* of a key; a multiple of 8 with its own 4 bytes */, SCRAPES = 60 };
	const struct collect_options options = { 0 };
	const int32_t header[3] = { 8 + 4 + LENGTH + 8 + 8, 0, LENGTH };
	char folder[64], path[160], *bytes = mem_zalloc(1, header[0]);

	folder_make_here(folder);
	counter_put(folder, "counter", 5, "a_total", 1, 8);
	snprintf(path, sizeof path, "%s/counter_6.db", folder);
	memset(bytes, '[', header[0]);
	memcpy(bytes, header, sizeof header);
	metric_bytes_io(path, "w+b", 0, bytes, header[0]);
	mem_free(bytes);
	struct collector *c = collector_new(folder, &options);

	for (int i = 0; i < SCRAPES; i++) {
		const struct collect_report *r = collector_scrape(c);

		assert_int_equal(r->files[COLLECT_FILE_CORRUPT], 1);
		assert_int_equal(r->entries, 1);
		assert_in_range(c->keys.arena.total, 1, SCRAPES * LENGTH / 2);
	}
	collector_free(c);
	folder_remove(folder);
}

/* A header promises two gigabytes, in a file of 64 KB and in one with a hole of that size: neither is read into memory. */
static void test_promises_take_no_memory(void **state)
{
	enum { PROMISE = INT32_MAX - 7, MEMORY = 48 << 20 };
	const struct collect_options options = { 0 };
	char folder[64], path[160], *bytes = mem_zalloc(1, 65536);
	int32_t used = PROMISE;

	folder_make_here(folder);
	counter_put(folder, "counter", 5, "a_total", 1, 8);
	memcpy(bytes, &used, sizeof used);
	for (int pid = 6; pid < 8; pid++) {
		snprintf(path, sizeof path, "%s/counter_%d.db", folder, pid);
		metric_bytes_io(path, "w+b", 0, bytes, 65536);
	}
	assert_int_equal(truncate(path, PROMISE), 0);
	mem_free(bytes);
	struct collector *c = collector_new(folder, &options);

	for (int i = 0; i < 3; i++) {
		const struct collect_report *r = collector_scrape(c);

		assert_int_equal(r->entries, 1);
		assert_int_equal(r->files[COLLECT_FILE_TRUNCATED], 1);
		assert_int_equal(r->files[COLLECT_FILE_CORRUPT], 1);
		assert_in_range(c->reader.buffer.size, 1, MEMORY);
	}
	assert_non_null(strstr(c->report.faults[0].text, "2147483640 bytes are in use, but the file has 65536"));
	collector_free(c);
	folder_remove(folder);
}

/* A large file is mapped at the first look, and folded all the same. */
static void test_large_file(void **state)
{
	enum { KEY = 250, ENTRIES = 140000 /* of 264 bytes: above 32 MB */ };
	char folder[] = "/tmp/test_collect-XXXXXX" /* a tmpfs may be small */, path[160], name[KEY];
	struct collect_fold folded;
	const char *key = "[\"a_total\", \"a_total\", {}, \"Help.\"]";
	int32_t header[2] = { 8 }, length = KEY;
	double value = 2;

	assert_non_null(mkdtemp(folder));
	counter_put(folder, "counter", DEAD_PID, "a_total", 1, 8);
	snprintf(path, sizeof path, "%s/counter_%d.db", folder, DEAD_PID + 1);
	FILE *file = fopen(path, "w+b");

	assert_non_null(file);
	fwrite(header, 8, 1, file);
	for (int i = 0; i < ENTRIES; i++) {
		memset(name, ' ', sizeof name);
		memcpy(name, key, strlen(key));
		fwrite(&length, 4, 1, file);
		fwrite(name, 1, KEY, file);
		fwrite("  ", 1, 2, file);
		fwrite(&value, 8, 1, file);
		header[0] += 4 + KEY + 2 + 8;
	}
	rewind(file);
	fwrite(header, 4, 1, file);
	fclose(file);
	for (int i = 0; i < 2; i++) {
		char *page = page_of(folder);

		assert_non_null(strstr(page, "\na_total 280001.0\n"));
		mem_free(page);
		assert_true(fold_now(folder, &folded));
		assert_int_equal(folded.files, i ? 0 : 2);
	}
	folder_remove(folder);
}

/* Two damaged files whose names no label can hold are one series, or the page would be refused. */
static void test_names_that_are_no_text(void **state)
{
	const struct collect_options options = { 0 };
	const char *series = "goodput_collect_fault{file=\"(not UTF-8)\",kind=\"corrupt\"} 1.0\n";
	char folder[64], path[160], bytes[64] = { 60, 0, 0, 0, 0, 0, 0, 0, 120 };
	struct buf page;

	folder_make_here(folder);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/counter_\xff%d.db", folder, i);
		metric_bytes_io(path, "w+b", 0, bytes, sizeof bytes);
	}
	struct collector *c = collector_new(folder, &options);

	buf_init(&page, 1 << 20);
	assert_int_equal(collector_scrape(c)->files[COLLECT_FILE_CORRUPT], 2);
	collector_own_page(c, &page);
	const char *first = strstr(buf_cstr(&page), series);

	assert_non_null(first);
	assert_null(strstr(first + 1, series));
	buf_fini(&page);
	collector_free(c);
	folder_remove(folder);
}

/* Among more files than a look examines, and with mappings that we may not see, a living writer is not taken for a stranger. */
static void test_writers_of_many_files(void **state)
{
	enum { FILES = 300, NOBODY = 65534 };
	const struct collect_options options = { 0 };
	char folder[64], path[160];
	int status;

	if (geteuid() != 0)
		skip();
	folder_make_here(folder);
	chmod(folder, 0755);
	counter_put(folder, "counter", getpid(), "a_total", 1, 8);
	snprintf(path, sizeof path, "%s/counter_%d.db", folder, getpid());
	for (int i = 0; i < FILES; i++)
		counter_put(folder, "gauge_max", DEAD_PID - i, "m", 1, 8);
	counter_put(folder, "summary", 1, "s_sum", 1, 8);
	int ready[2], moved[2];
	char byte = 0;

	assert_int_equal(pipe(ready) | pipe(moved), 0);
	pid_t child = fork();

	if (child == 0) {
		if (setegid(NOBODY) != 0 || seteuid(NOBODY) != 0)
			_exit(1);
		struct collector *c = collector_new(folder, &options);

		collector_scrape(c);
		if (write(ready[1], &byte, 1) != 1 || read(moved[0], &byte, 1) != 1)
			_exit(1);
		c->health.looked_ms = 0;
		const struct collect_report *r = collector_scrape(c);

		_exit(r->writers[COLLECT_ALIVE] == 1 && r->writers[COLLECT_UNKNOWN] == 1 && r->writers[COLLECT_REUSED] == 0 ? 0 : 2);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	metric_bytes_set(path, 5);
	assert_int_equal(write(moved[1], &byte, 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 0);
	folder_remove(folder);
}

/* What a key says does not depend on the two keys read before it, though what is written alike in both is not read again. */
static void parts_are(struct keys *k, uint32_t index, struct keys *alone_in, uint32_t alone_index)
{
	assert_true((index != 0) == (alone_index != 0));
	if (!index)
		return;
	const struct key *key = k->items.items[index], *alone = alone_in->items.items[alone_index];

	assert_true(str_eq(key->family->name, alone->family->name));
	assert_true(str_eq(key->sample, alone->sample));
	assert_true(str_eq(key->help, alone->help));
	assert_int_equal(key->plain, alone->plain);
	assert_int_equal(key->has_edge, alone->has_edge);
	assert_true(key->edge == alone->edge || (isnan(key->edge) && isnan(alone->edge)));
	assert_int_equal(key->label_count, alone->label_count);
	for (uint32_t i = 0; i < key->label_count; i++) {
		assert_true(str_eq(key->labels[i].name, alone->labels[i].name));
		assert_true(str_eq(key->labels[i].value, alone->labels[i].value));
	}
}

static void test_keys_stand_alone(void **state)
{
	static const char *const texts[] = {
		"[\"f\", \"f_total\", {\"a\": \"1\", \"b\": \"2\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\", \"b\": \"2\"}, \"Help. More.\"]",
		"[\"f\", \"f_sum\", {\"a\": \"1\", \"b\": \"2\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\", \"b\": \"22\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\\n1\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"7\", \"b\": \"2\"}, \"He\\\"lp.\"]",
		"[\"f\", \"f_sum\", {\"a\": \"1\\n1\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"\xff\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\" }, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\", }, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\"}, \"b\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\", \"b\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"\xc3\xbc\", \"b\": \"2\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"}, \"}, \"Help.\"]",
		"[\"f\", \"f_total\", {}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\", \"b\": \"2\", \"a\": \"9\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\", \"a\": \"22\", \"b\": \"2\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"b\": \"2\", \"a\": \"1\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\":\"1\",\"b\" :\"2\"}, \"Help.\"]",
		"[\"f\",\"f_total\",{\"a\": \"1\",\"b\": \"2\"},\"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"\\\"1\", \"b\": \"2\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\", \"b\": \"2\"}, \"He\\\"lp.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\", \"b\": \"2\"}, \"He\"]",
		"[\"f\", \"f_total\", {\"a-b\": \"1\", \"b\": \"2\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a_b\": \"1\", \"b\": \"2\"}, \"Help.\"]",
		"[\"f-g\", \"f-g_total\", {\"\": \"1\", \"b\": \"2\"}, \"Help.\"]",
		"[\"f_g\", \"f_g_total\", {\"\": \"1\", \"b\": \"2\"}, \"\"]",
		"[\"f\", \"f_bucket\", {\"a\": \"1\", \"le\": \"0.5\", \"z\": \"\"}, \"Help.\"]",
		"[\"f\", \"f_bucket\", {\"a\": \"1\", \"le\": \"+Inf\", \"z\": \"\"}, \"Help.\"]",
		"[\"f\", \"f_bucket\", {\"a\": \"1\", \"le\": \"high\", \"z\": \"\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\", \"b\": \"\xc3\xa4\"}, \"Help.\"]",
		"[\"f\", \"f_total\", {\"a\": \"1\", \"b\": \"2\"",
		"[\"f\", \"f_total\", {\"a\": \"1\", \"b\": \"2\"}]",
		"[\"name_of_more_than_16_bytes\", \"name_of_more_than_16_bytes_total\", {\"label_of_more_than_16_bytes\": \"1\"}, "
		"\"Help.\"]",
		"[\"name_of_more_than_16.bytes\", \"name_of_more_than_16_bytes.total\", {\"label_of_more_than_16_byte+\": \"1\"}, "
		"\"Help.\"]",
	};
	const char *why;
	bool foreign;

	struct keys alone[ARRAY_LEN(texts)];
	uint32_t indices[ARRAY_LEN(texts)];

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		keys_init(&alone[i]);
		indices[i] = keys_find(&alone[i], str_from(texts[i]), &why, &foreign);
	}
	for (size_t i = 0; i < ARRAY_LEN(texts) * ARRAY_LEN(texts) * ARRAY_LEN(texts); i++) {
		size_t last = i % ARRAY_LEN(texts);
		struct keys k;

		keys_init(&k);
		uint32_t first = keys_find(&k, str_from(texts[i / ARRAY_LEN(texts) / ARRAY_LEN(texts)]), &why, &foreign);
		uint32_t second = keys_find(&k, str_from(texts[i / ARRAY_LEN(texts) % ARRAY_LEN(texts)]), &why, &foreign);

		if (second)
			k.items.items[second]->next = first; /* as if files had them in turn */
		parts_are(&k, keys_find(&k, str_from(texts[last]), &why, &foreign), &alone[last], indices[last]);
		keys_fini(&k);
	}
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		keys_fini(&alone[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_common_numbers),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_fold_keeps_the_page),
		cmocka_unit_test(test_fold_killed),
		cmocka_unit_test(test_fold_of_a_name_of_two_lines),
		cmocka_unit_test(test_fold_beside_names_like_archives),
		cmocka_unit_test(test_fold_after_a_killed_one),
		cmocka_unit_test(test_fold_in_a_sticky_directory),
		cmocka_unit_test(test_fold_never_lowers),
		cmocka_unit_test(test_warm_reading_follows_the_file),
		cmocka_unit_test(test_old_keys_are_forgotten),
		cmocka_unit_test(test_equal_files_of_other_processes),
		cmocka_unit_test(test_warm_is_as_cold),
		cmocka_unit_test(test_damage_takes_no_memory),
		cmocka_unit_test(test_promises_take_no_memory),
		cmocka_unit_test(test_large_file),
		cmocka_unit_test(test_names_that_are_no_text),
		cmocka_unit_test(test_writers_of_many_files),
		cmocka_unit_test(test_keys_stand_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
