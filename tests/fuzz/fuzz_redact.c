/* fuzz_redact: redaction of pages. Input: 't' or 'o' (format), then a page.
 *
 * A page that reads without an error still does when redacted, with the same values at the same times. */
#include "base/arena.h"
#include "expo/expo.h"
#include "scrape/redact.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

static void compare(const struct expo_page *page, const struct expo_page *redacted)
{
	REQUIRE(!redacted->error.set);
	REQUIRE(page->sample_count + page->duplicates == redacted->sample_count + redacted->duplicates);
	if (page->sample_count != redacted->sample_count)
		return; /* a name that was there already looked like a pseudonym */
	for (size_t i = 0; i < page->sample_count; i++) {
		REQUIRE(number_bits(page->samples[i].value) == number_bits(redacted->samples[i].value));
		REQUIRE(page->samples[i].t_ms == redacted->samples[i].t_ms);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	enum expo_format format = data[0] == 'o' ? EXPO_OPENMETRICS : EXPO_TEXT;
	char *bytes = malloc(size); /* in its own block, so that reading beyond it is seen */
	struct expo_reader *first = expo_reader_new(), *second = expo_reader_new();
	struct redactor *redactor = redactor_new();
	struct buf out;

	REQUIRE(bytes);
	memcpy(bytes, data, size);
	struct str body = str_of(bytes + 1, size - 1);
	buf_init(&out, 64 << 20);
	redactor_page(redactor, body, &out);
	const struct expo_page *page = expo_read(first, STR("page"), body, format);
	if (!page->error.set)
		compare(page, expo_read(second, STR("redacted"), buf_str(&out), format));
	buf_fini(&out);
	redactor_free(redactor);
	expo_reader_free(first);
	expo_reader_free(second);
	free(bytes);
	return 0;
}
