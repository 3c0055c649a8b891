/* Pages of one target in a row, and what the writer makes of a page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/vec.h"
#include "expo/expo.h"

#include <malloc.h>
#include <stdlib.h>

struct fixture {
	struct expo_reader *reader;
	struct buf body, out;
};

static int setup(void **state)
{
	struct fixture *f = test_calloc(1, sizeof *f);

	f->reader = expo_reader_new();
	buf_init(&f->body, 1 << 24);
	buf_init(&f->out, 1 << 24);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	expo_reader_free(f->reader);
	buf_fini(&f->body);
	buf_fini(&f->out);
	test_free(f);
	return 0;
}

static void expect_same(const struct expo_page *a, const struct expo_page *b)
{
	assert_int_equal(a->sample_count, b->sample_count);
	assert_int_equal(a->duplicates, b->duplicates);
	assert_int_equal(a->error.set, b->error.set);
	assert_int_equal(a->family_count, b->family_count);
	for (size_t i = 0; i < a->sample_count; i++) {
		const struct expo_sample *x = &a->samples[i], *y = &b->samples[i];

		assert_true(labels_eq(x->series->labels, y->series->labels));
		assert_true(number_bits(x->value) == number_bits(y->value));
		assert_true(x->t_ms == y->t_ms);
		assert_int_equal(x->line, y->line);
		assert_int_equal(x->series->type, y->series->type);
		assert_true(str_eq(x->series->family, y->series->family));
	}
}

/* Reads with the target's reader and with a new one, which must agree. */
static const struct expo_page *read_both(void **state, enum expo_format format, struct str body)
{
	struct fixture *f = *state;
	struct expo_reader *fresh = expo_reader_new();
	const struct expo_page *page = expo_read(f->reader, STR("page"), body, format);

	expect_same(page, expo_read(fresh, STR("page"), body, format));
	expo_reader_free(fresh);
	return page;
}

static const struct expo_page *read_text(void **state, const char *body)
{
	return read_both(state, EXPO_TEXT, str_from(body));
}

static void test_numbers_change(void **state)
{
	const struct expo_page *page = read_text(state, "# TYPE a gauge\na{b=\"1\"} 1\na{b=\"2\"} 2\nc 3\n");
	struct expo_series *first = page->samples[0].series;

	assert_false(page->same_shape);
	first->user = state;
	page = read_text(state, "# TYPE a gauge\na{b=\"1\"} 100.25\na{b=\"2\"} 2\nc NaN\n");
	assert_true(page->same_shape);
	assert_ptr_equal(page->samples[0].series, first);
	assert_ptr_equal(first->user, state);
	assert_true(page->samples[0].value == 100.25);
	page = read_text(state, "# TYPE a gauge\na{b=\"1\"} 1.00000000000000000000000000000000000000001\na{b=\"2\"} 2\nc 3");
	assert_true(page->same_shape);
	assert_true(page->samples[0].value == 1);
	page = read_text(state, "# TYPE a gauge\na{b=\"1\"} 1\na{b=\"2\"} 2e0\nc 3 \n");
	assert_true(page->same_shape);
	/* Only the text is new. */
	page = read_text(state, "# HELP a x\n# TYPE a gauge\na{b=\"1\"} 1\na{b=\"2\"} 2e0\nc 3\n");
	assert_true(page->same_shape);
	assert_ptr_equal(page->samples[0].series, first);
}

static void test_bad_number(void **state)
{
	read_text(state, "a 1\nb 2\n");
	const struct expo_page *page = read_text(state, "a 1\nb x\n");

	assert_true(page->error.set);
	assert_int_equal(page->error.line, 2);
	assert_int_equal(page->sample_count, 1);
	assert_false(page->same_shape);
	page = read_text(state, "a 1\nb 3\n");
	assert_false(page->error.set);
	assert_false(page->same_shape);
	page = read_text(state, "a 1\nb 4\n");
	assert_true(page->same_shape);
}

static void test_lines_come_and_go(void **state)
{
	static const char *const pages[] = {
		"# TYPE a gauge\na{b=\"1\"} 1\na{b=\"2\"} 2\na{b=\"3\"} 3\n# TYPE c gauge\nc 4\n",
		"# TYPE a gauge\na{b=\"1\"} 1\na{b=\"3\"} 3\n# TYPE c gauge\nc 4\n",
		"# TYPE a gauge\na{b=\"0\"} 1\na{b=\"1\"} 1\na{b=\"2\"} 7\na{b=\"3\"} 3\n# TYPE c gauge\nc 4\nd 5\n",
		"# TYPE a gauge\n# TYPE c gauge\nc 4\n",
		"# TYPE a gauge\n# TYPE c gauge\n",
		"# TYPE a gauge\na{b=\"1\"} 1\n# TYPE c gauge\nc 4\n",
		"# TYPE a counter\na{b=\"1\"} 1\n# TYPE c gauge\nc 4\n",
		"a{b=\"1\"} 1\n# TYPE a counter\nc 4\n",
		"# TYPE a gauge\na{b=\"3\"} 1\na{b=\"2\"} 2\na{b=\"1\"} 3\n",
		"# TYPE a gauge\na{b=\"1\"} 1\na{b=\"2\"} 2\na{b=\"3\"} 3\n",
		"",
		"a 1\na 2\n",
		"a 1 5\na 2\n",
		"a 1\na 2 5\na 3\n",
	};

	/* Each page after each other one. */
	for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
		for (size_t k = 0; k < ARRAY_LEN(pages); k++) {
			read_text(state, pages[i]);
			read_text(state, pages[k]);
		}
	}
}

/* With text that the remembered one is only the beginning of. */
static void test_text_goes_on(void **state)
{
	static const char *const pages[] = { "a 1\n", "ab 1\n", "a  1\n", "a {b=\"c\"} 1\n", "a{b=\"c\"} 1\n", "a{b=\"c\"}1\n",
		"a{b=\"c\"}  1\n", "a1 5\n", "a-1\n", "a-1 5\n", "a 1 5\n", "a  ", "a 1\nb 2\n", "a 1\n\n" };

	for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
		for (size_t k = 0; k < ARRAY_LEN(pages); k++) {
			read_text(state, pages[i]);
			read_text(state, pages[k]);
		}
	}
}

static void test_format_changes(void **state)
{
	read_both(state, EXPO_TEXT, STR("a 1\n# EOF\n"));
	read_both(state, EXPO_OPENMETRICS, STR("a 1\n# EOF\n"));
	const struct expo_page *page = read_both(state, EXPO_OPENMETRICS, STR("a 2\n# EOF"));

	assert_false(page->error.set);
	page = read_both(state, EXPO_OPENMETRICS, STR("a 2\n"));
	assert_true(page->error.set);
	page = read_both(state, EXPO_OPENMETRICS, STR("a 2"));
	assert_true(page->error.set);
	read_both(state, EXPO_TEXT, STR("a 2"));
}

static void test_times_and_exemplars(void **state)
{
	read_both(state, EXPO_OPENMETRICS, STR("a_total 1 # {x=\"y\"} 1 1\nb 1 1\n# EOF\n"));
	const struct expo_page *page = read_both(state, EXPO_OPENMETRICS, STR("a_total 2 # {x=\"z\"} 3 2\nb 1 2\n# EOF\n"));

	assert_true(page->same_shape);
	assert_int_equal(page->exemplar_count, 1);
	assert_true(str_is(labels_get(page->exemplars[0].labels, STR("x")), "z"));
	assert_int_equal(page->exemplars[0].t_ms, 2000);
	assert_int_equal(page->samples[1].t_ms, 2000);
	page = read_both(state, EXPO_OPENMETRICS, STR("a_total 2\nb 1\n# EOF\n"));
	assert_int_equal(page->exemplar_count, 0);
	assert_true(page->samples[1].t_ms == EXPO_NO_TIME);
}

static void make_page(struct buf *body, int step, int rows)
{
	buf_reset(body);
	for (int i = 0; i < rows; i++) {
		buf_printf(body, "# HELP family_%d text\n# TYPE family_%d histogram\n", i, i);
		for (int k = 0; k < 10; k++)
			buf_printf(body, "family_%d_bucket{engine=\"0\",le=\"%d.0\"} %d.0\n", i, k, (step * k) % 1013);
		buf_printf(body, "family_%d_sum{engine=\"0\"} %.17g\n", i, step / 3.0);
	}
}

static void test_many_pages(void **state)
{
	struct fixture *f = *state;

	for (int step = 0; step < 30; step++) {
		make_page(&f->body, step * 37, 20);
		const struct expo_page *page = read_both(state, EXPO_TEXT, buf_str(&f->body));

		assert_int_equal(page->sample_count, 220);
		assert_int_equal(page->same_shape, step > 0);
		assert_int_equal(page->series_known, 220);
	}
}

static void test_no_allocation_when_steady(void **state)
{
	struct fixture *f = *state;
	struct mallinfo2 before;

	make_page(&f->body, 1, 20);
	expo_read(f->reader, STR("page"), buf_str(&f->body), EXPO_TEXT);
	make_page(&f->body, 1000000, 20);
	before = mallinfo2();
	const struct expo_page *page = expo_read(f->reader, STR("page"), buf_str(&f->body), EXPO_TEXT);
	struct mallinfo2 after = mallinfo2();

	assert_true(page->same_shape);
	assert_int_equal(before.uordblks, after.uordblks);
	assert_int_equal(before.hblkhd, after.hblkhd);
}

static void test_reset(void **state)
{
	struct fixture *f = *state;
	const struct expo_page *page = read_text(state, "a 1\n");

	page->samples[0].series->user = state;
	expo_reader_reset(f->reader);
	page = read_text(state, "a 1\n");
	assert_null(page->samples[0].series->user);
	assert_false(page->same_shape);
	assert_int_equal(page->series_known, 1);
}

static void expect_written(void **state, enum expo_format format, const char *text)
{
	assert_string_equal(buf_cstr(&((struct fixture *)*state)->out), text);
	buf_reset(&((struct fixture *)*state)->out);
}

static struct labels *labels_two(struct str name, struct str label, struct str value)
{
	struct label pairs[] = { { LABEL_NAME, name }, { label, value } };

	return labels_new(pairs, 2);
}

static void test_writer(void **state)
{
	struct fixture *f = *state;
	struct labels *plain = labels_two(STR("a_total"), STR("b"), STR("\"\\\n\t")),
		      *quoted = labels_two(STR("my.metric"), STR("l m"), STR("x")), *bare = labels_two(STR("a"), STR("b"), STR(""));

	for (enum expo_format format = EXPO_TEXT; format <= EXPO_OPENMETRICS; format++) {
		struct expo_writer w = { .out = &f->out, .format = format };

		expo_write_family(&w, STR("a_total"), METRIC_COUNTER, STR("one \\ \n \" two"), STR_EMPTY);
		expo_write_sample(&w, plain, 1.5, EXPO_NO_TIME);
		expo_write_family(&w, STR("u_seconds"), METRIC_INFO, STR_EMPTY, STR("seconds"));
		expo_write_family(&w, STR("my.metric"), METRIC_UNKNOWN, STR(""), STR("wrong"));
		expo_write_sample(&w, quoted, number_nan(), 1500);
		expo_write_sample(&w, bare, -__builtin_inf(), -1500);
		expo_write_end(&w);
		if (format == EXPO_TEXT)
			expect_written(state, format,
				"# HELP a_total one \\\\ \\n \" two\n# TYPE a_total counter\na_total{b=\"\\\"\\\\\\n\t\"} 1.5\n"
				"# TYPE u_seconds gauge\n# HELP \"my.metric\" \n# TYPE \"my.metric\" untyped\n"
				"{\"my.metric\",\"l m\"=\"x\"} NaN 1500\na -Inf -1500\n");
		else
			expect_written(state, format,
				"# HELP a one \\\\ \\n \\\" two\n# TYPE a counter\na_total{b=\"\\\"\\\\\\n\t\"} 1.5\n"
				"# TYPE u_seconds info\n# UNIT u_seconds seconds\n# HELP \"my.metric\" \n# TYPE \"my.metric\" unknown\n"
				"{\"my.metric\",\"l m\"=\"x\"} NaN 1.500\na -Inf -1.500\n# EOF\n");
	}
	labels_unref(plain);
	labels_unref(quoted);
	labels_unref(bare);
}

/* Each family with its samples, then the samples that belong to none: what a client library would print. */
static void write_page(const struct expo_page *page, struct buf *out)
{
	struct expo_writer w = { .out = out, .format = page->format };
	char *done = test_calloc(page->sample_count + 1, 1);

	buf_reset(out);
	for (size_t i = 0; i <= page->family_count; i++) {
		const struct expo_family *family = i < page->family_count ? &page->families[i] : NULL;

		if (family)
			expo_write_family(&w, family->name, family->type, family->help, family->unit);
		for (size_t k = 0; k < page->sample_count; k++) {
			const struct expo_sample *sample = &page->samples[k];

			if (done[k] || (family && !str_eq(sample->series->family, family->name)))
				continue;
			done[k] = 1;
			expo_write_sample(&w, sample->series->labels, sample->value, sample->t_ms);
		}
	}
	expo_write_end(&w);
	test_free(done);
}

static int sample_order(const void *a, const void *b)
{
	const struct expo_sample *x = a, *y = b;
	int order = labels_cmp(x->series->labels, y->series->labels);

	return order ? order : (x->t_ms > y->t_ms) - (x->t_ms < y->t_ms);
}

static struct expo_sample *sorted_samples(const struct expo_page *page)
{
	struct expo_sample *samples = test_calloc(page->sample_count + 1, sizeof *samples);

	if (page->sample_count)
		memcpy(samples, page->samples, page->sample_count * sizeof *samples);
	qsort(samples, page->sample_count, sizeof *samples, sample_order);
	return samples;
}

/* The same samples; in a family with a TYPE line also the same type. */
static void expect_same_content(const struct expo_page *a, const struct expo_page *b)
{
	struct expo_sample *x = sorted_samples(a), *y = sorted_samples(b);

	assert_int_equal(a->sample_count, b->sample_count);
	assert_int_equal(a->family_count, b->family_count);
	for (size_t i = 0; i < a->sample_count; i++) {
		assert_true(labels_eq(x[i].series->labels, y[i].series->labels));
		assert_true(number_bits(x[i].value) == number_bits(y[i].value));
		assert_true(x[i].t_ms == y[i].t_ms);
		assert_int_equal(x[i].series->type, y[i].series->type);
	}
	for (size_t i = 0; i < a->family_count; i++) {
		assert_true(str_eq(a->families[i].name, b->families[i].name));
		assert_true(str_eq(a->families[i].help, b->families[i].help));
		assert_int_equal(a->families[i].type, b->families[i].type);
	}
	test_free(x);
	test_free(y);
}

static void round_trip(void **state, struct str body, enum expo_format format)
{
	struct fixture *f = *state;
	struct expo_reader *second = expo_reader_new();
	const struct expo_page *page = expo_read(f->reader, STR("dump"), body, format);

	assert_string_equal(page->error.message, "");
	write_page(page, &f->out);
	const struct expo_page *again = expo_read(second, STR("written"), buf_str(&f->out), format);

	assert_string_equal(again->error.message, "");
	expect_same_content(page, again);
	expo_reader_free(second);
}

static void test_round_trip(void **state)
{
	round_trip(state,
		STR("# HELP a x\\n\\\\\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 2\na_sum 0.1\n"
		    "z{b=\"\\n\\\"\"} 1e300 5\n{\"m.n\"} -0\n"),
		EXPO_TEXT);
	round_trip(state, STR("# TYPE a counter\n# UNIT a_s s\na_total 1\na_created 1.5\nz 1 1520879607.789\n# EOF\n"), EXPO_OPENMETRICS);
}

static const char *dumps_folder(void)
{
	static const char *const places[] = { "../shared/fixtures/metrics", "../../shared/fixtures/metrics" };
	const char *given = getenv("GOODPUT_DUMPS");

	for (size_t i = 0; i < ARRAY_LEN(places) && !given; i++)
		given = file_is_folder(places[i]) ? places[i] : NULL;
	return given;
}

static size_t round_trip_folder(void **state, const char *folder)
{
	struct arena arena;
	struct error error = { 0 };
	size_t count, pages = 0;

	arena_init(&arena);
	struct str *names = folder_list(&arena, folder, &count, &error);

	assert_non_null(names);
	for (size_t i = 0; i < count; i++) {
		bool openmetrics = str_ends(names[i], STR(".om"));
		struct str body;

		if (!openmetrics && !str_ends(names[i], STR(".prom")))
			continue;
		assert_true(file_read(&arena, path_join(&arena, folder, names[i]), 1 << 26, &body, &error));
		round_trip(state, body, openmetrics ? EXPO_OPENMETRICS : EXPO_TEXT);
		pages++;
	}
	arena_fini(&arena);
	return pages;
}

static void test_round_trip_of_dumps(void **state)
{
	const char *folder = dumps_folder();
	char generated[400];

	if (!folder)
		skip();
	snprintf(generated, sizeof generated, "%s/generated", folder);
	assert_true(round_trip_folder(state, folder) > 0);
	assert_true(round_trip_folder(state, generated) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_numbers_change),
		TEST(test_bad_number),
		TEST(test_lines_come_and_go),
		TEST(test_text_goes_on),
		TEST(test_format_changes),
		TEST(test_times_and_exemplars),
		TEST(test_many_pages),
		TEST(test_no_allocation_when_steady),
		TEST(test_reset),
		TEST(test_writer),
		TEST(test_round_trip),
		TEST(test_round_trip_of_dumps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
