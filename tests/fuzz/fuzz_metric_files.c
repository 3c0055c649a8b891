/* fuzz_metric_files: a file of multi-process metrics. Input: a byte that chooses the file's name, then its bytes.
 *
 * - A file is sound, or it has a reason and no entries.
 * - Every value lies inside the file, aligned.
 * - Merged with itself under another name, and with a sound file of both layouts, it gives pages that our own reader takes whole.
 * - Read again in two steps, as a file that grows, it has the same entries. */
#include "collect/internal.h"
#include "expo/expo.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

static const char *const names[][2] = { { "counter_1.db", "counter_2.db" }, { "gauge_all_1.db", "gauge_all_2.db" },
	{ "gauge_livemin_1.db", "gauge_max_2.db" }, { "gauge_sum_1.db", "gauge_sum_2.db" },
	{ "gauge_mostrecent_1.db", "gauge_livemostrecent_2.db" }, { "histogram_1.db", "histogram_2.db" },
	{ "summary_1.db", "counter_2.db" }, { "untyped_1.db", "histogram_2.db" } };

static void check_file(const struct metric_file *f, size_t size)
{
	REQUIRE(f->state == COLLECT_FILE_OK || (f->entries.count == 0 && (f->state == COLLECT_FILE_NEW || f->why[0])));
	VEC_EACH (&f->entries, e)
		REQUIRE(e->at % 8 == 0 && e->at >= 16 && (size_t)e->at + f->step <= size && e->key > 0);
}

static void check_page(struct plan *p, enum collect_format format)
{
	const struct collect_options options = { .show_unset = true };
	struct buf page;

	buf_init(&page, 64 << 20);
	plan_print(p, format, &options, &page);
	REQUIRE(!page.overflowed && str_is_utf8(buf_str(&page)));
	if (format == COLLECT_TEXT) {
		struct expo_reader *reader = expo_reader_new();
		const struct expo_page *read = expo_read(reader, STR("page"), buf_str(&page), EXPO_TEXT);

		REQUIRE(!read->error.set);
		expo_reader_free(reader);
	}
	buf_fini(&page);
}

static void check_merge(struct reader *r, struct metric_file **files, size_t count)
{
	struct plan plan;

	plan_init(&plan);
	for (int as_016 = 0; as_016 < 2; as_016++) {
		plan_build(&plan, r->keys, files, count, as_016);
		REQUIRE(plan_merge(&plan, files, count, r, 1));
		check_page(&plan, COLLECT_TEXT);
		check_page(&plan, COLLECT_OPENMETRICS);
	}
	plan_fini(&plan);
}

/* The same entries whether a file is read at once or as it grows. */
static void check_growth(const struct metric_file *whole, struct reader *r, struct str bytes)
{
	if (whole->state != COLLECT_FILE_OK || whole->entries.count < 2)
		return;
	char *copy = mem_copy(bytes.ptr, bytes.len);
	int32_t used = (int32_t)(whole->entries.items[whole->entries.count / 2 - 1].at + whole->step);
	struct metric_file *f = metric_file_new(str_from(whole->name_text), 1);

	memcpy(copy, &used, sizeof used);
	metric_file_parse(f, r, str_of(copy, bytes.len));
	REQUIRE(f->state == COLLECT_FILE_OK && f->entries.count == whole->entries.count / 2);
	for (size_t i = 0; i < f->entries.count; i++)
		REQUIRE(f->entries.items[i].at == whole->entries.items[i].at && f->entries.items[i].key == whole->entries.items[i].key);
	metric_file_free(f, r);
	mem_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader reader = { .folder = -1 };
	struct metric_file *files[2];
	struct keys keys;

	if (size < 1)
		return 0;
	const char *const *chosen = names[data[0] % ARRAY_LEN(names)];
	char *bytes = malloc(size); /* in its own block, so that reading beyond it is seen */

	REQUIRE(bytes);
	memcpy(bytes, data + 1, size - 1);
	keys_init(&keys);
	reader.keys = &keys;
	for (int i = 0; i < 2; i++) {
		files[i] = metric_file_new(str_from(chosen[i]), 1);
		metric_file_parse(files[i], &reader, str_of(bytes, size - 1));
		check_file(files[i], size - 1);
	}
	check_merge(&reader, files, 2);
	check_growth(files[0], &reader, str_of(bytes, size - 1));
	for (int i = 0; i < 2; i++)
		metric_file_free(files[i], &reader);
	keys_fini(&keys);
	reader_fini(&reader);
	free(bytes);
	return 0;
}
