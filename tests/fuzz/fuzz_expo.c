/* fuzz_expo: pages of one target in a row. Input: 't' or 'o' (format), then pages separated by byte 0x1e.
 *
 * - A reader that saw the pages before must make the same of a page as one that did not.
 * - What the writer makes of the samples must read back as the same samples. */
#include "base/buf.h"
#include "expo/expo.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

static void compare_samples(const struct expo_page *a, const struct expo_page *b)
{
	REQUIRE(a->sample_count == b->sample_count);
	for (size_t i = 0; i < a->sample_count; i++) {
		const struct expo_sample *x = &a->samples[i], *y = &b->samples[i];

		REQUIRE(labels_eq(x->series->labels, y->series->labels));
		REQUIRE(number_bits(x->value) == number_bits(y->value));
		REQUIRE(x->t_ms == y->t_ms);
	}
}

static void compare_places(const struct expo_page *a, const struct expo_page *b)
{
	for (size_t i = 0; i < a->sample_count; i++) {
		REQUIRE(a->samples[i].line == b->samples[i].line);
		REQUIRE(a->samples[i].series->type == b->samples[i].series->type);
		REQUIRE(str_eq(a->samples[i].series->family, b->samples[i].series->family));
	}
}

static void compare_exemplars(const struct expo_page *a, const struct expo_page *b)
{
	REQUIRE(a->exemplar_count == b->exemplar_count);
	for (size_t i = 0; i < a->exemplar_count; i++) {
		const struct expo_exemplar *x = &a->exemplars[i], *y = &b->exemplars[i];

		REQUIRE(x->sample == y->sample && x->t_ms == y->t_ms);
		REQUIRE(labels_eq(x->labels, y->labels));
		REQUIRE(number_bits(x->value) == number_bits(y->value));
	}
}

static void compare_families(const struct expo_page *a, const struct expo_page *b)
{
	REQUIRE(a->family_count == b->family_count);
	for (size_t i = 0; i < a->family_count; i++) {
		const struct expo_family *x = &a->families[i], *y = &b->families[i];

		REQUIRE(str_eq(x->name, y->name) && x->type == y->type);
		REQUIRE(str_eq(x->help, y->help) && str_eq(x->unit, y->unit));
		REQUIRE(!x->help.ptr == !y->help.ptr && !x->unit.ptr == !y->unit.ptr);
	}
}

static void compare_pages(const struct expo_page *a, const struct expo_page *b)
{
	compare_samples(a, b);
	compare_places(a, b);
	compare_exemplars(a, b);
	compare_families(a, b);
	REQUIRE(a->duplicates == b->duplicates && str_eq(a->first_duplicate, b->first_duplicate));
	REQUIRE(a->error.set == b->error.set && a->dropped_lines == b->dropped_lines);
	REQUIRE(a->error.line == b->error.line && a->error.column == b->error.column);
	REQUIRE(strcmp(a->error.message, b->error.message) == 0);
}

/* Times that seconds in a double cannot hold to the millisecond do not come back. */
static bool times_are_exact(const struct expo_page *page)
{
	for (size_t i = 0; i < page->sample_count; i++) {
		int64_t t_ms = page->samples[i].t_ms;

		if (page->format == EXPO_OPENMETRICS && t_ms != EXPO_NO_TIME && (t_ms > 1LL << 48 || t_ms < -(1LL << 48)))
			return false;
	}
	return true;
}

static void write_and_read(const struct expo_page *page)
{
	struct buf out;
	struct expo_writer writer = { .out = &out, .format = page->format };
	struct expo_reader *reader = expo_reader_new();

	buf_init(&out, 1 << 24);
	for (size_t i = 0; i < page->sample_count; i++)
		expo_write_sample(&writer, page->samples[i].series->labels, page->samples[i].value, page->samples[i].t_ms);
	expo_write_end(&writer);
	const struct expo_page *again = expo_read(reader, STR("written"), buf_str(&out), page->format);

	REQUIRE(!again->error.set);
	compare_samples(page, again);
	buf_fini(&out);
	expo_reader_free(reader);
}

static bool same_shape(struct expo_series *const *last, size_t last_count, const struct expo_page *page)
{
	if (last_count != page->sample_count)
		return false;
	for (size_t i = 0; i < last_count; i++) {
		if (last[i] != page->samples[i].series)
			return false;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = str_of((const char *)data + 1, size - 1), part;
	struct expo_reader *reader;
	struct expo_series **last = NULL;
	size_t last_count = 0;

	if (size < 2)
		return 0;
	reader = expo_reader_new();
	while (str_split(&rest, '\x1e', &part)) {
		/* In its own block, so that reading beyond it is seen. */
		char *body = malloc(part.len + !part.len);
		struct expo_reader *fresh = expo_reader_new();
		enum expo_format format = data[0] == 'o' ? EXPO_OPENMETRICS : EXPO_TEXT;

		REQUIRE(body);
		memcpy(body, part.ptr, part.len);
		const struct expo_page *page = expo_read(reader, STR("page"), str_of(body, part.len), format);

		REQUIRE(page->same_shape == same_shape(last, last_count, page));
		compare_pages(page, expo_read(fresh, STR("page"), str_of(body, part.len), format));
		if (times_are_exact(page))
			write_and_read(page);
		last_count = page->sample_count;
		last = realloc(last, (last_count + 1) * sizeof *last);
		REQUIRE(last);
		for (size_t i = 0; i < last_count; i++)
			last[i] = page->samples[i].series;
		expo_reader_free(fresh);
		free(body);
	}
	expo_reader_free(reader);
	free(last);
	return 0;
}
