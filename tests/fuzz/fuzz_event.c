/* fuzz_event: events of a token stream, one a line; the first byte says how the stream is cut.
 *
 * What the pull reader takes for JSON, jansson does too, and the other way round, but for depth, sizes of numbers and bytes that are no
 * UTF-8. An event that is recognised by the shape of the one before says the same when it is parsed. A stream gives the same timeline
 * whole and in pieces. */
#include "model/records.h"
#include "openai/shape.h"
#include "openai/stream.h"

#include <jansson.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

static bool is_deep(struct str text)
{
	size_t brackets = 0;

	for (size_t i = 0; i < text.len; i++)
		brackets += text.ptr[i] == '{' || text.ptr[i] == '[';
	return brackets >= JSON_DEPTH_MAX;
}

static void check_json(struct str text)
{
	struct json_reader r;
	json_error_t error;
	json_t *value = json_loadb(text.len ? text.ptr : "", text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

	json_reader_init(&r, text);
	json_read_skip(&r);
	bool ours = json_read_end(&r);

	/* jansson takes a NUL behind a number for a blank. */
	if (value && !is_deep(text) && str_find(text, '\0') < 0)
		REQUIRE(ours);
	if (ours && !value)
		REQUIRE(!str_is_utf8(text) || json_error_code(&error) == json_error_numeric_overflow ||
			json_error_code(&error) == json_error_invalid_utf8 || json_error_code(&error) == json_error_invalid_syntax);
	json_decref(value);
}

static void check_shape(struct openai_shape **shape, struct str text)
{
	struct event e;
	struct shape_match match;
	struct event_choice choice;
	struct json_reader r;
	bool matches = shape_match(*shape, text, &match), parses = event_parse(text, &e);

	if (matches) {
		REQUIRE(parses && e.choices.len && !e.error.len);
		json_reader_init(&r, e.choices);
		REQUIRE(event_next_choice(&r, &choice) && !choice.finish.len && !choice.ids && !choice.logprobs && !choice.index);
		REQUIRE(str_eq(match.is_reasoning ? choice.reasoning : choice.text, match.text));
		REQUIRE(e.has_usage == match.has_usage && (!e.has_usage || e.usage.completion == match.completion_tokens));
	} else if (parses) {
		shape_learn(shape, text, &e);
	}
}

static void run_stream(struct str lines, size_t step, enum openai_api api, struct buf *record)
{
	struct openai_stream s = { 0 };
	struct openai_stream_options options = { .api = api };
	struct timeline t;
	struct buf stream;
	int64_t at = 0;

	timeline_init(&t);
	t.submitted_ns = 0;
	buf_init(&stream, 1 << 24);
	for (struct str rest = lines, line; str_split(&rest, '\n', &line);) {
		buf_add_cstr(&stream, "data: ");
		buf_add(&stream, line);
		buf_add_cstr(&stream, "\n\n");
	}
	openai_stream_begin(&s, &options, &t);
	for (struct str rest = buf_str(&stream); rest.len; rest = str_skip(rest, step))
		openai_stream_feed(&s, str_head(rest, step), at);
	openai_stream_end(&s, OPENAI_END_CLOSE, 1000000);
	REQUIRE(t.deliveries.count == 0 || t.last_output_ns != TIMELINE_NEVER);
	REQUIRE((t.outcome == TIMELINE_ERROR) == (t.error != TIMELINE_NO_ERROR));
	records_write(record, &t);
	openai_stream_fini(&s);
	timeline_fini(&t);
	buf_fini(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct openai_shape *shape = NULL;
	struct buf whole, cut;

	if (size < 2)
		return 0;
	char *bytes = malloc(size);

	REQUIRE(bytes);
	memcpy(bytes, data, size);
	struct str lines = str_of(bytes + 1, size - 1), rest = lines, line;

	while (str_split(&rest, '\n', &line)) {
		check_json(line);
		check_shape(&shape, line);
	}
	shape_free(shape);
	buf_init(&whole, 1 << 24);
	buf_init(&cut, 1 << 24);
	run_stream(lines, SIZE_MAX / 2, (enum openai_api)(data[0] % 3), &whole);
	run_stream(lines, (size_t)(data[0] / 3 % 37) + 1, (enum openai_api)(data[0] % 3), &cut);
	REQUIRE(str_eq(buf_str(&whole), buf_str(&cut)));
	buf_fini(&whole);
	buf_fini(&cut);
	free(bytes);
	return 0;
}
