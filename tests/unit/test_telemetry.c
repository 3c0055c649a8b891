/* libgoodput: bytes of the files, what is refused, growth. */
#include "metric_folder.h"

#include <math.h>
#include <time.h>

/* ---- bytes ---- */

static void bytes_are_those_of_prometheus_client(void **state)
{
	static const char want[] = "\x38\0\0\0\0\0\0\0"
				   "\x19\0\0\0[\"c\", \"c_total\", {}, \"h\"]   \0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\0";
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	size_t size;
	char *bytes;

	assert_int_equal(goodput_counter_inc(counter_of(r, "c")), GOODPUT_OK);
	bytes = metric_file_read(mine("counter"), &size);
	assert_true(size >= 56 && size % 4096 == 0);
	assert_memory_equal(bytes, want, 56);
	free(bytes);
	goodput_registry_close(r);
}

static void layout_of_0_16_has_no_timestamps(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_16);
	goodput_gauge *g;
	goodput_family *f;
	size_t size;
	char *bytes;

	goodput_counter_add(counter_of(r, "c_total"), 1);
	bytes = metric_file_read(mine("counter"), &size);
	assert_int_equal(bytes[0], 48);
	free(bytes);
	goodput_counter_add(counter_of(r, "d"), 2.5);
	assert_true(metric_file_sum(mine("counter"), 8, "\"d_total\"").sum == 2.5);
	assert_int_equal(goodput_gauge_new(r, "g", "h", GOODPUT_GAUGE_MOSTRECENT, &g), GOODPUT_WRONG_KIND);
	assert_int_equal(goodput_gauge_family(r, "g", "h", NULL, GOODPUT_GAUGE_LIVEMOSTRECENT, &f), GOODPUT_WRONG_KIND);
	goodput_registry_close(r);
}

static void keys_are_json_with_sorted_labels(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	const char *const names[] = { "zone", "kind", "Upper", NULL }, *const values[] = { "a\"b\\c/\n", "\x7f\xc3\xa9\xf0\x9f\x98\x80",
		"" };
	const double bounds[] = { -1, 0, 0.1, 1, 2.5, 1e5, 1e6, 1234567, 1e15, 1e16, 5e-05, 1 };
	const char *const edges[] = { "-1.0", "0.0", "0.1", "1.0", "2.5", "100000.0", "1e+06", "1.234567e+06", "1e+15", "1e+16", "+Inf" };
	goodput_family *f;
	goodput_histogram *h;
	char key[512];

	assert_int_equal(goodput_histogram_family(r, "h:x", "Tab\there.", names, bounds, 12, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_histogram_family(r, "h:x", "Tab\there.", names, bounds, 10, &f), GOODPUT_OK);
	assert_int_equal(goodput_histogram_child(f, values, &h), GOODPUT_OK);
	assert_int_equal(entries("histogram", NULL), 12);
	assert_int_equal(entries("histogram", "[\"h:x\", \"h:x_sum\", {\"Upper\": \"\", \"kind\": \"\\u007f\\u00e9\\ud83d\\ude00\", "
					      "\"zone\": \"a\\\"b\\\\c/\\n\"}, \"Tab\\there.\"]"),
		1);
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
		snprintf(key, sizeof key,
			"\"h:x_bucket\", {\"Upper\": \"\", \"kind\": \"\\u007f\\u00e9\\ud83d\\ude00\", \"le\": \"%s\", \"zone\"", edges[i]);
		assert_int_equal(entries("histogram", key), 1);
	}
	goodput_registry_close(r);
}

static void numbers_do_not_depend_on_size(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	const double bounds[] = { 5e-324, 1.5e-5, 0.0001, 0.3, 999999.5, 1e22 };
	const char *const edges[] = { "5e-324", "1.5e-05", "0.0001", "0.3", "999999.5", "1e+22", "+Inf" };
	goodput_histogram *h;
	char key[64];

	assert_int_equal(goodput_histogram_new(r, "h", "", bounds, 6, &h), GOODPUT_OK);
	for (size_t i = 0; i < 7; i++) {
		snprintf(key, sizeof key, "{\"le\": \"%s\"}", edges[i]);
		assert_int_equal(entries("histogram", key), 1);
	}
	goodput_registry_close(r);
}

static void values_land_where_they_belong(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	const double observed[] = { 0.005, 0.0051, 10, 10.5, INFINITY, -3 };
	goodput_histogram *h;
	goodput_summary *s;

	assert_int_equal(goodput_histogram_new(r, "h", "", NULL, 0, &h), GOODPUT_OK);
	assert_int_equal(goodput_summary_new(r, "s", "", &s), GOODPUT_OK);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(goodput_histogram_observe(h, observed[i]), GOODPUT_OK);
	assert_int_equal(goodput_histogram_observe(h, NAN), GOODPUT_INVALID);
	assert_true(sum("histogram", "{\"le\": \"0.005\"}") == 2);
	assert_true(sum("histogram", "{\"le\": \"0.01\"}") == 1);
	assert_true(sum("histogram", "{\"le\": \"10.0\"}") == 1);
	assert_true(sum("histogram", "{\"le\": \"+Inf\"}") == 2);
	assert_true(sum("histogram", "h_bucket") == 6);
	assert_true(isinf(sum("histogram", "h_sum")));
	goodput_summary_observe(s, 1.5);
	goodput_summary_observe(s, 2);
	assert_true(sum("summary", "s_count") == 2 && sum("summary", "s_sum") == 3.5);
	goodput_registry_close(r);
}

static void buckets_of_any_count(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	double bounds[40];
	char name[16], key[64];

	for (size_t i = 0; i < 40; i++)
		bounds[i] = (double)i;
	for (size_t count = 0; count <= 40; count++) {
		goodput_histogram *h;

		snprintf(name, sizeof name, "h%zu", count);
		assert_int_equal(goodput_histogram_new(r, name, "", bounds, count, &h), GOODPUT_OK);
		for (size_t i = 0; i <= count; i++) {
			assert_int_equal(goodput_histogram_observe(h, (double)i - 0.5), GOODPUT_OK);
			assert_int_equal(goodput_histogram_observe(h, (double)i), GOODPUT_OK);
		}
		for (size_t i = 0; i < count; i++) {
			snprintf(key, sizeof key, "\"h%zu_bucket\", {\"le\": \"%zu.0\"}", count, i);
			assert_true(sum("histogram", key) == 2);
		}
		snprintf(key, sizeof key, "\"h%zu_bucket\", {\"le\": \"+Inf\"}", count);
		assert_true(sum("histogram", key) == 2);
	}
	goodput_registry_close(r);
}

static void each_gauge_mode_has_its_file(void **state)
{
	static const char *const modes[] = { "all", "liveall", "min", "livemin", "max", "livemax", "sum", "livesum", "mostrecent",
		"livemostrecent" };
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	char name[32], type[32];

	for (unsigned i = 0; i < 10; i++) {
		const double before = (double)time(NULL);
		struct metric_sum found;
		goodput_gauge *g;

		snprintf(name, sizeof name, "g%u", i);
		snprintf(type, sizeof type, "gauge_%s", modes[i]);
		assert_int_equal(goodput_gauge_new(r, name, "h", (enum goodput_gauge_mode)i, &g), GOODPUT_OK);
		assert_true(metric_file_sum(mine(type), 16, name).time == 0);
		assert_int_equal(goodput_gauge_set(g, -2.5), GOODPUT_OK);
		assert_int_equal(goodput_gauge_add(g, 1), i < 8 ? GOODPUT_OK : GOODPUT_WRONG_KIND);
		found = metric_file_sum(mine(type), 16, name);
		assert_int_equal(found.entries, 1);
		assert_true(found.sum == (i < 8 ? -1.5 : -2.5));
		assert_true(i < 8 ? found.time == 0 : found.time >= before && found.time < before + 3600);
	}
	goodput_registry_close(r);
	for (unsigned i = 0; i < 10; i++) {
		snprintf(type, sizeof type, "gauge_%s", modes[i]);
		assert_int_equal(access(mine(type), F_OK), i % 2 ? -1 : 0); /* this process lives no more */
	}
}

/* ---- declarations ---- */

static void nonsense_is_refused(void **state)
{
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	const char *const le[] = { "le", NULL }, *const twice[] = { "a", "a", NULL }, *const bad[] = { "\xff" },
			  *const ok[] = { "a", NULL };
	const char *const pid[] = { "pid", NULL }, *const dunder[] = { "__x", NULL }, *const quantile[] = { "quantile", NULL };
	const double falling[] = { 2, 1 }, nan_bound[] = { NAN };
	static char large[70000];
	goodput_family *f, *again;
	goodput_counter *c;
	goodput_gauge *g;

	assert_int_equal(goodput_counter_family(r, "1c", "", NULL, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(r, "", "", NULL, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(r, NULL, "", NULL, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(NULL, "c", "", NULL, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(r, "c", "", twice, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(r, "c", "", dunder, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(r, "c", "\xc0\x80", NULL, &f), GOODPUT_NOT_UTF8);
	assert_int_equal(goodput_histogram_family(r, "h", "", le, NULL, 0, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_histogram_family(r, "h", "", NULL, falling, 2, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_histogram_family(r, "h", "", NULL, nan_bound, 1, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_summary_family(r, "s", "", quantile, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_gauge_family(r, "g", "", pid, GOODPUT_GAUGE_ALL, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_gauge_family(r, "g", "", NULL, (enum goodput_gauge_mode)10, &f), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_family(r, "c", "", ok, &f), GOODPUT_OK);
	assert_int_equal(goodput_counter_family(r, "c_total", "", ok, &again), GOODPUT_OK);
	assert_ptr_equal(f, again);
	assert_int_equal(goodput_counter_family(r, "c", "other", ok, &again), GOODPUT_EXISTS);
	assert_int_equal(goodput_gauge_new(r, "c_total", "", GOODPUT_GAUGE_ALL, &g), GOODPUT_EXISTS);
	memset(large, 'x', sizeof large - 1);
	assert_int_equal(goodput_counter_child(f, (const char *const[]){ large }, &c), GOODPUT_TOO_LARGE);
	assert_int_equal(goodput_counter_family(r, "large", large, NULL, &again), GOODPUT_TOO_LARGE);
	assert_int_equal(goodput_counter_child(f, bad, &c), GOODPUT_NOT_UTF8);
	assert_null(c);
	assert_int_equal(goodput_counter_child(f, NULL, &c), GOODPUT_INVALID);
	assert_int_equal(goodput_gauge_child(f, ok, &g), GOODPUT_WRONG_KIND);
	assert_int_equal(goodput_counter_child(f, ok, &c), GOODPUT_OK);
	assert_int_equal(goodput_counter_add(c, -1), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_add(c, NAN), GOODPUT_INVALID);
	assert_int_equal(goodput_counter_inc(NULL), GOODPUT_INVALID);
	/* Who asks no status has a null handle, not what was there before. */
	goodput_histogram *h = (goodput_histogram *)r;
	goodput_summary *m = (goodput_summary *)r;

	g = (goodput_gauge *)r;
	assert_int_equal(goodput_gauge_new(r, "c_total", "", GOODPUT_GAUGE_ALL, &g), GOODPUT_EXISTS);
	assert_int_equal(goodput_counter_new(NULL, "d", "", &c), GOODPUT_INVALID);
	assert_int_equal(goodput_histogram_new(r, "h", "", falling, 2, &h), GOODPUT_INVALID);
	assert_int_equal(goodput_summary_new(r, "1", "", &m), GOODPUT_INVALID);
	assert_true(!g && !c && !h && !m);
	assert_true(sum("counter", NULL) == 0);
	goodput_registry_close(r);
	goodput_registry_close(NULL);
}

/* A program that was built with a shorter goodput_options: what lies behind it is its own. One with a longer one is told. */
static void options_of_other_releases(void **state)
{
	union {
		goodput_options options;
		unsigned char bytes[2 * sizeof(goodput_options)];
	} program;
	const size_t shorter = offsetof(goodput_options, report);
	goodput_registry *r;

	memset(program.bytes, 0x55, sizeof program.bytes);
	goodput_options_init_sized(&program.options, shorter);
	for (size_t i = shorter; i < sizeof program.bytes; i++)
		assert_int_equal(program.bytes[i], 0x55);
	program.options.directory = directory;
	assert_int_equal(goodput_registry_open(&program.options, &r), GOODPUT_OK);
	goodput_registry_close(r);
	goodput_options_init_sized(&program.options, sizeof program.bytes);
	assert_int_equal(program.options.thread_cells, 8);
	assert_int_equal(goodput_registry_open(&program.options, &r), GOODPUT_INVALID);
}

static void directory_comes_from_the_environment(void **state)
{
	goodput_options o = options();
	goodput_registry *r;
	char nested[128];

	unsetenv("PROMETHEUS_MULTIPROC_DIR");
	assert_int_equal(goodput_registry_open(NULL, &r), GOODPUT_NO_DIRECTORY);
	assert_null(r);
	setenv("PROMETHEUS_MULTIPROC_DIR", directory, 1);
	setenv("GOODPUT_TELEMETRY_LAYOUT", "0.16", 1);
	assert_int_equal(goodput_registry_open(NULL, &r), GOODPUT_OK);
	goodput_counter_inc(counter_of(r, "c"));
	assert_true(metric_file_sum(mine("counter"), 8, NULL).sum == 1);
	goodput_registry_close(r);
	unsetenv("GOODPUT_TELEMETRY_LAYOUT"); /* then as the files are that are there */
	rename(mine("counter"), path_of("counter", 1));
	assert_int_equal(goodput_registry_open(NULL, &r), GOODPUT_OK);
	goodput_counter_inc(counter_of(r, "c"));
	assert_true(metric_file_sum(mine("counter"), 8, NULL).sum == 1);
	goodput_registry_close(r);
	unlink(path_of("counter", 1));
	unlink(mine("counter"));
	setenv("GOODPUT_TELEMETRY_LAYOUT", "0.17x", 1);
	assert_int_equal(goodput_registry_open(NULL, &r), GOODPUT_INVALID);
	unsetenv("GOODPUT_TELEMETRY_LAYOUT");
	unsetenv("PROMETHEUS_MULTIPROC_DIR");
	snprintf(nested, sizeof nested, "%s/a/b", directory);
	o.directory = nested;
	assert_int_equal(goodput_registry_open(&o, &r), GOODPUT_NO_DIRECTORY);
	o.directory = directory;
	o.suffix = "a_b";
	assert_int_equal(goodput_registry_open(&o, &r), GOODPUT_INVALID);
	o.suffix = "c1";
	assert_int_equal(goodput_registry_open(&o, &r), GOODPUT_OK);
	goodput_counter_inc(counter_of(r, "c"));
	snprintf(nested, sizeof nested, "%s/counter_%ld-c1.db", directory, (long)getpid());
	assert_true(metric_file_sum(nested, 16, NULL).sum == 1);
	goodput_registry_close(r);
}

/* ---- growth ---- */

static void growth_leaves_cells_where_they_are(void **state)
{
	enum { SERIES = 6000 };
	goodput_registry *r = open_registry(GOODPUT_LAYOUT_0_18);
	const char *const names[] = { "n", NULL };
	static goodput_counter *c[SERIES];
	goodput_family *f;

	assert_int_equal(goodput_counter_family(r, "grown", "A help text of some length.", names, &f), GOODPUT_OK);
	for (int i = 0; i < SERIES; i++) {
		char text[16];
		const char *const values[] = { text };

		snprintf(text, sizeof text, "%d", i);
		assert_int_equal(goodput_counter_child(f, values, &c[i]), GOODPUT_OK);
		for (int j = 0; j <= i; j += 97)
			assert_int_equal(goodput_counter_inc(c[j]), GOODPUT_OK);
	}
	for (int i = 0; i < SERIES; i += 97) {
		char text[32];
		const char *const values[] = { text };
		goodput_counter *again;

		snprintf(text, sizeof text, "%d", i);
		assert_int_equal(goodput_counter_child(f, values, &again), GOODPUT_OK);
		assert_ptr_equal(again, c[i]);
		snprintf(text, sizeof text, "{\"n\": \"%d\"}", i);
		assert_true(sum("counter", text) == SERIES - i);
	}
	assert_int_equal(entries("counter", NULL), SERIES);
	assert_int_equal(health_of(r).series, SERIES);
	goodput_registry_close(r);
}

/* An argument names the tests that are wanted, with * and ?. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes_are_those_of_prometheus_client),
		TEST(layout_of_0_16_has_no_timestamps),
		TEST(keys_are_json_with_sorted_labels),
		TEST(numbers_do_not_depend_on_size),
		TEST(values_land_where_they_belong),
		TEST(buckets_of_any_count),
		TEST(each_gauge_mode_has_its_file),
		TEST(nonsense_is_refused),
		TEST(options_of_other_releases),
		TEST(directory_comes_from_the_environment),
		TEST(growth_leaves_cells_where_they_are),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("telemetry", tests, NULL, NULL);
}
