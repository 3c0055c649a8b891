/* Request bodies, prompts, words, replies. */
#include "openai/reply.h"
#include "openai/request.h"
#include "openai/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct str names[] = { { "base", 4 }, { "other", 5 } };
static const struct openai_model model = { names, 2, 1000, 16 };

static void test_completions(void **state)
{
	struct arena arena;
	struct openai_request r;
	struct openai_error e;

	arena_init(&arena);
	assert_true(openai_parse(&arena, false, STR("{\"prompt\":\"0123456789\"}"), &model, &r, &e));
	assert_int_equal(r.prompts[0].tokens, 3);
	assert_int_equal(r.max_tokens, 16);
	assert_true(str_is(r.model, "base") && r.n == 1 && r.temperature == 1 && !r.stream && !r.ignore_eos);
	assert_true(openai_parse(&arena, false,
		STR("{\"prompt\":[[1,2,3],[4]],\"model\":\"other\",\"n\":2,\"max_tokens\":7,\"stop\":[\"a\",\"b\"],\"ignore_eos\":true,"
		    "\"min_tokens\":3,"
		    "\"top_k\":-1,\"seed\":5,\"user\":\"u\",\"priority\":-3,\"temperature\":0.5,\"cache_salt\":\"s\",\"logprobs\":null,"
		    "\"tools\":[]}"),
		&model, &r, &e));
	assert_int_equal(r.prompt_count, 2);
	assert_int_equal(r.prompts[0].tokens, 3);
	assert_int_equal(r.prompts[1].tokens, 1);
	assert_true(str_is(r.model, "other") && r.stop_count == 2 && r.min_tokens == 3 && r.priority == -3 && r.salt && r.ignore_eos);
	arena_fini(&arena);
}

static void test_chat(void **state)
{
	struct arena arena;
	struct openai_request r;
	struct openai_error e;

	arena_init(&arena);
	assert_true(openai_parse(&arena, true,
		STR("{\"messages\":[{\"role\":\"system\",\"content\":\"12345678\"},{\"role\":\"user\",\"content\":[{\"type\":\"text\","
		    "\"text\":\"1234\"}]}],"
		    "\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_completion_tokens\":9}"),
		&model, &r, &e));
	/* 12 bytes are 3 tokens, two messages 8, the opening 3 */
	assert_int_equal(r.prompts[0].tokens, 14);
	assert_true(r.stream && r.include_usage && !r.continuous_usage && r.max_tokens == 9);
	assert_true(openai_parse(&arena, true, STR("{\"messages\":[{\"role\":\"user\"}]}"), &model, &r, &e));
	assert_false(r.max_tokens_given);
	assert_int_equal(openai_room(&r, &r.prompts[0], 1000), 1000 - r.prompts[0].tokens);
	arena_fini(&arena);
}

/* Equal beginnings give equal ids, whole blocks only, and never more than the prompt has. */
static void test_shared_blocks(void **state)
{
	char a[400], b[400];
	struct arena arena;
	struct prompt p, q;

	arena_init(&arena);
	for (size_t i = 0; i < sizeof a; i++)
		a[i] = b[i] = (char)('a' + i % 17);
	b[200] = 'Z';
	prompt_from_text(&arena, str_of(a, sizeof a), 16, &p);
	prompt_from_text(&arena, str_of(b, sizeof b), 16, &q);
	assert_int_equal(p.tokens, 100);
	assert_int_equal(p.id_count, 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_true((p.ids[i] == q.ids[i]) == (i != 3));
	assert_true(p.hash != q.hash);
	arena_fini(&arena);
}

static void refused(bool chat, const char *body, int status, const char *words)
{
	struct arena arena;
	struct openai_request r;
	struct openai_error e = { 0 };
	struct buf out;

	arena_init(&arena);
	buf_init(&out, 4096);
	assert_false(openai_parse(&arena, chat, str_from(body), &model, &r, &e));
	assert_int_equal(e.status, status);
	if (!strstr(e.message, words))
		fail_msg("%s: \"%s\" is not in \"%s\"", body, words, e.message);
	openai_error_write(&e, false, &out);
	assert_true(str_starts(buf_str(&out), STR("{\"error\":{\"message\":\"")));
	buf_fini(&out);
	arena_fini(&arena);
}

static void test_refusals(void **state)
{
	refused(false, "", 400, "JSON decode error");
	refused(false, "{\"prompt\":\"x\"", 400, "JSON decode error");
	refused(false, "nul", 400, "JSON decode error");
	refused(false, "3", 400, "JSON decode error");
	refused(false, "[1]", 400, "dictionary");
	refused(false, "{\"prompt\":\"\\ud800\"}", 400, "JSON decode error");
	refused(false, "{\"prompt\":99999999999999999999999}", 400, "JSON decode error");
	refused(false, "{\"prompt\":[]}", 400, "cannot be empty");
	refused(false, "{\"prompt\":[\"a\",3]}", 400, "Input should be");
	refused(false, "{\"prompt\":[1,\"a\"]}", 400, "integers");
	refused(false, "{\"prompt\":\"x\",\"n\":1e99}", 400, "valid integer");
	refused(false, "{\"prompt\":\"x\",\"n\":300}", 400, "at most 256");
	refused(false, "{\"prompt\":\"x\",\"n\":2,\"temperature\":0}", 400, "greedy");
	refused(false, "{\"prompt\":\"x\",\"max_tokens\":1000}", 400, "you requested 1001 tokens");
	refused(false, "{\"prompt\":\"x\",\"stream\":1}", 400, "boolean");
	refused(false, "{\"prompt\":\"x\",\"response_format\":{\"type\":\"json_object\"}}", 400, "guided");
	refused(false, "{\"prompt\":\"x\",\"echo\":true}", 400, "echo");
	refused(true, "{\"messages\":\"x\"}", 400, "Field required");
	refused(true, "{\"messages\":[3]}", 400, "role");
	refused(true, "{\"messages\":[{\"role\":\"user\",\"content\":3}]}", 400, "content");
	refused(true, "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"logprobs\":true}", 400, "log prob");
	refused(true, "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"tools\":[{}]}", 400, "tool calls");
}

static void test_words(void **state)
{
	struct buf all, parts;
	struct words_end end;

	buf_init(&all, 1 << 20);
	buf_init(&parts, 1 << 20);
	words_add(&all, 7, 0, 100);
	for (uint32_t i = 0; i < 100; i += 7)
		words_add(&parts, 7, i, i + 7 < 100 ? i + 7 : 100);
	assert_true(str_eq(buf_str(&all), buf_str(&parts)));
	/* a stop string over the border of two tokens ends the text before it */
	struct str stop = str_of(all.ptr + 50, 12);
	ptrdiff_t first = str_search(buf_str(&all), stop);

	end = words_find_stop(7, 100, 0, &stop, 1, false);
	assert_true(end.stopped && end.bytes == (size_t)first);
	buf_reset(&parts);
	words_add(&parts, 7, 0, end.tokens);
	assert_true(parts.len >= (size_t)first + stop.len);
	buf_reset(&parts);
	words_add(&parts, 7, 0, end.tokens - 1);
	assert_true(parts.len < (size_t)first + stop.len);
	assert_int_equal(words_find_stop(7, 100, 0, &stop, 1, true).bytes, (size_t)first + stop.len);
	stop = STR("never said");
	end = words_find_stop(7, 100, 0, &stop, 1, false);
	assert_true(!end.stopped && end.tokens == 100);
	buf_fini(&all);
	buf_fini(&parts);
}

static void test_reply(void **state)
{
	const struct reply r = { .chat = true, .id = STR("chatcmpl-1"), .model = STR("m\"x"), .created = 17 };
	const struct reply_usage usage = { 3, 4 };
	struct buf opening, out;

	buf_init(&opening, 4096);
	buf_init(&out, 4096);
	reply_opening(&r, &opening);
	reply_text_event(buf_str(&opening), true, 2, STR("a\n"), "stop", &usage, &out);
	assert_string_equal(buf_cstr(&out),
		"data: "
		"{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":17,\"model\":\"m\\\"x\",\"choices\":[{\"index\":2,"
		"\"delta\":{\"content\":\"a\\n\"},\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,"
		"\"total_tokens\":7,\"completion_tokens\":4}}\n\n");
	buf_reset(&out);
	reply_usage_event(buf_str(&opening), &usage, &out);
	assert_true(str_search(buf_str(&out), STR("\"choices\":[],\"usage\":{")) > 0);
	buf_fini(&opening);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_completions), cmocka_unit_test(test_chat),
		cmocka_unit_test(test_shared_blocks), cmocka_unit_test(test_refusals), cmocka_unit_test(test_words),
		cmocka_unit_test(test_reply) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
