/* fuzz_openai: a request as it comes from the network. Input: one byte that says where the bytes are cut, then bytes.
 *
 * Cut or whole, the same request comes out, or the same refusal. A body that is accepted has prompts that fit the context, and one that
 * is refused gives an error object that is JSON. */
#include "net/message.h"
#include "openai/request.h"

#include <jansson.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

static void check_body(struct str body, bool chat)
{
	static const struct str names[] = { { "m", 1 } };
	const struct openai_model model = { names, 1, 5000, 16 };
	struct openai_request r;
	struct openai_error e = { 0 };
	struct arena arena;
	struct buf out;

	arena_init(&arena);
	buf_init(&out, 1 << 16);
	if (openai_parse(&arena, chat, body, &model, &r, &e)) {
		REQUIRE(r.prompt_count && r.n);
		for (size_t i = 0; i < r.prompt_count; i++) {
			REQUIRE(r.prompts[i].tokens && r.prompts[i].tokens < 5000);
			REQUIRE((uint64_t)r.prompts[i].id_count * r.prompts[i].block <= r.prompts[i].tokens);
			REQUIRE(openai_room(&r, &r.prompts[i], 5000) >= 1);
		}
	} else {
		json_t *error;

		REQUIRE(e.status >= 400 && e.status < 500);
		openai_error_write(&e, chat, &out);
		error = json_loadb(out.ptr, out.len, 0, NULL);
		REQUIRE(error);
		json_decref(error);
	}
	buf_fini(&out);
	arena_fini(&arena);
}

static enum message_status feed_all(struct message_parser *p, struct str bytes, size_t step, size_t *total)
{
	enum message_status status = MESSAGE_PARTIAL;
	size_t used;

	for (*total = 0; bytes.len && status == MESSAGE_PARTIAL; bytes = str_skip(bytes, used)) {
		status = message_feed(p, str_head(bytes, step), &used);
		REQUIRE(used <= step);
		*total += used;
	}
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct message_limits limits = { .head = 4096, .body = 65536 };

	if (size < 1)
		return 0;
	char *bytes = malloc(size); /* in its own block, so that reading beyond it is seen */
	struct message_parser *whole = message_parser_new(&limits), *cut = message_parser_new(&limits);
	size_t whole_used, cut_used;

	REQUIRE(bytes);
	memcpy(bytes, data, size);
	struct str text = str_of(bytes + 1, size - 1);
	enum message_status status = feed_all(whole, text, text.len, &whole_used);

	REQUIRE(feed_all(cut, text, (size_t)(data[0] % 61) + 1, &cut_used) == status);
	if (status == MESSAGE_WHOLE) {
		const struct message *a = message_of(whole), *b = message_of(cut);

		REQUIRE(whole_used == cut_used && a->header_count == b->header_count);
		REQUIRE(str_eq(a->path, b->path) && str_eq(a->method, b->method) && str_eq(a->body, b->body));
		check_body(a->body, str_search(a->path, STR("chat")) >= 0);
	}
	check_body(text, data[0] & 1);
	message_parser_free(whole);
	message_parser_free(cut);
	free(bytes);
	return 0;
}
