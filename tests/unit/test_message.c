/* Requests out of bytes: whole, in every split, one after another, refused. */
#include "net/bearer.h"
#include "net/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct message_limits limits = { .head = 1000, .body = 2000 };

static struct message_parser *parser(void)
{
	return message_parser_new(&limits);
}

static void test_whole(void **state)
{
	struct message_parser *p = parser();
	struct str text = STR("POST /v1/x?a=1 HTTP/1.1\r\nHost: h\r\nX-Empty:\r\nX-Two:  b  \r\nContent-Length: 5\r\n\r\nhelloGET / HT");
	const struct message *m = message_of(p);
	size_t used;

	assert_int_equal(message_feed(p, text, &used), MESSAGE_WHOLE);
	assert_int_equal(used, text.len - 8);
	assert_true(str_is(m->method, "POST") && str_is(m->path, "/v1/x") && str_is(m->query, "a=1") && str_is(m->body, "hello"));
	assert_true(m->keep_alive && m->minor == 1);
	assert_true(str_is(message_header(m, "x-two"), "b"));
	assert_true(message_header(m, "x-empty").len == 0 && message_header(m, "x-empty").ptr);
	assert_null(message_header(m, "x-none").ptr);
	message_next(p);
	assert_int_equal(message_feed(p, STR("GET / HTTP/1.0\r\n\r\n"), &used), MESSAGE_WHOLE);
	assert_false(message_of(p)->keep_alive);
	message_parser_free(p);
}

/* However the bytes are cut, the request is the same. */
static void test_every_split(void **state)
{
	struct str text = STR("PUT /a HTTP/1.1\r\nHost: h\r\nName: va lue\r\nTransfer-Encoding: "
			      "chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrail: t\r\n\r\n");

	for (size_t cut = 1; cut < text.len; cut++) {
		struct message_parser *p = parser();
		size_t used, second;

		assert_int_equal(message_feed(p, str_head(text, cut), &used), MESSAGE_PARTIAL);
		assert_int_equal(used, cut);
		assert_int_equal(message_feed(p, str_skip(text, cut), &second), MESSAGE_WHOLE);
		assert_int_equal(used + second, text.len);
		assert_true(str_is(message_of(p)->body, "abcde") && str_is(message_header(message_of(p), "name"), "va lue"));
		assert_null(message_header(message_of(p), "trail").ptr);
		message_parser_free(p);
	}
}

static int refusal(struct str text)
{
	struct message_parser *p = parser();
	const char *why = NULL;
	size_t used;
	int status = 0;

	if (message_feed(p, text, &used) == MESSAGE_REFUSED) {
		status = message_refusal(p, &why);
		assert_non_null(why);
		assert_int_equal(message_feed(p, STR("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), &used), MESSAGE_REFUSED);
	}
	message_parser_free(p);
	return status;
}

static void test_refused(void **state)
{
	char big[4000];
	int len;

	/* forms that two readers could split differently */
	assert_int_equal(refusal(STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n")), 400);
	assert_int_equal(refusal(STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n")), 400);
	assert_int_equal(refusal(STR("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n")), 400);
	assert_int_equal(refusal(STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\n")), 400);
	assert_int_equal(refusal(STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length : 3\r\n\r\n")), 400);
	assert_int_equal(refusal(STR("POST / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\nContent-Length: 3x\r\n\r\n")), 400);
	assert_int_equal(refusal(STR("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")), 400);
	assert_int_equal(refusal(STR("GET / HTTP/1.1\r\n\r\n")), 400);
	assert_int_equal(refusal(STR("GET http://x/ HTTP/1.1\r\nHost: h\r\n\r\n")), 400);
	assert_int_equal(refusal(STR("GET / HTTP/3.0\r\nHost: h\r\n\r\n")), 505);
	assert_int_equal(refusal(STR("GET / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n")), 417);
	assert_int_equal(refusal(STR("\x16\x03\x01\x02\x00")), 400);
	/* limits */
	assert_int_equal(refusal(STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2001\r\n\r\n")), 413);
	len = snprintf(big, sizeof big, "GET /%01500d HTTP/1.1\r\n", 0);
	assert_int_equal(refusal(str_of(big, (size_t)len)), 414);
	len = snprintf(big, sizeof big, "GET / HTTP/1.1\r\nHost: %01500d\r\n\r\n", 0);
	assert_int_equal(refusal(str_of(big, (size_t)len)), 431);
	len = snprintf(big, sizeof big, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nbb8\r\n%03000d\r\n0\r\n\r\n", 0);
	assert_int_equal(refusal(str_of(big, (size_t)len)), 413);
	len = snprintf(big, sizeof big, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: %01500d\r\n\r\n", 0);
	assert_int_equal(refusal(str_of(big, (size_t)len)), 431);
}

/* Chunk extensions are no way round the limits. */
static void test_framing_is_bounded(void **state)
{
	struct message_parser *p = parser();
	enum message_status status;
	size_t used, fed = 0;

	status = message_feed(p, STR("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;"), &used);
	while (status == MESSAGE_PARTIAL && fed < 1 << 20) {
		status = message_feed(p, STR("extension=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx;"), &used);
		fed += used;
	}
	assert_int_equal(status, MESSAGE_REFUSED);
	assert_true(fed < 200000);
	message_parser_free(p);
}

static void test_continue(void **state)
{
	struct message_parser *p = parser();
	size_t used;

	message_feed(p, STR("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"), &used);
	assert_false(message_wants_continue(p));
	message_feed(p, STR("\r\n"), &used);
	assert_true(message_wants_continue(p));
	assert_false(message_wants_continue(p));
	assert_int_equal(message_feed(p, STR("ab"), &used), MESSAGE_WHOLE);
	message_parser_free(p);
}

static void test_bearer(void **state)
{
	assert_true(bearer_matches(STR("Bearer abc"), STR("abc")));
	assert_true(bearer_matches(STR("bearer  abc "), STR("abc")));
	assert_false(bearer_matches(STR("Bearer ab"), STR("abc")));
	assert_false(bearer_matches(STR("Bearer abcabc"), STR("abc")));
	assert_false(bearer_matches(STR("Bearer "), STR("abc")));
	assert_false(bearer_matches(STR("Basic abc"), STR("abc")));
	assert_false(bearer_matches(STR_EMPTY, STR("abc")));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_whole), cmocka_unit_test(test_every_split),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_framing_is_bounded), cmocka_unit_test(test_continue),
		cmocka_unit_test(test_bearer) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
