/* Evaluation sets: what is read, what is refused, and what counts as right. */
#include "load/evaluation.h"

#include "../unit/unit.h"

static bool judge(const char *check, const char *answer)
{
	struct evaluation_set set;
	struct error e = { 0 };
	char text[1000];
	bool right;

	snprintf(text, sizeof text, "{\"prompt\": \"p\", \"check\": %s}", check);
	if (!evaluation_parse(&set, STR("test"), str_from(text), &e))
		fail_msg("%s: %s", check, e.message);
	right = evaluation_judge(&set.items.items[0], str_from(answer));
	evaluation_free(&set);
	return right;
}

static void test_exact(void **state)
{
	assert_true(judge("{\"exact\": \"42\"}", " 42\n"));
	assert_false(judge("{\"exact\": \"42\"}", "42."));
	assert_false(judge("{\"exact\": \"42\"}", ""));
}

static void test_contains(void **state)
{
	assert_true(judge("{\"contains\": \"Paris\"}", "It is PARIS, of course"));
	assert_true(judge("{\"contains\": [\"a\", \"b\"]}", "b then A"));
	assert_false(judge("{\"contains\": [\"a\", \"b\"]}", "only a"));
	assert_false(judge("{\"contains\": \"longer than that\"}", "short"));
}

static void test_regex(void **state)
{
	assert_true(judge("{\"regex\": \"4[12]\"}", "about 42 or so"));
	assert_true(judge("{\"regex\": \"^yes\"}", "yes, indeed"));
	assert_false(judge("{\"regex\": \"^yes$\"}", "yes, indeed"));
}

static void test_json(void **state)
{
	assert_true(judge("{\"json\": \"city.name\", \"equals\": \"Oslo\"}", "{\"city\": {\"name\": \"Oslo\"}}"));
	assert_true(judge("{\"json\": \"n\", \"equals\": 3}", "Sure:\n```json\n{\"n\": 3.0}\n```\nDone {not json}"));
	assert_true(judge("{\"json\": \"a.1\", \"equals\": [1]}", "here: {\"a\": [0, [1]]} as asked"));
	assert_true(judge("{\"json\": \"a\"}", "{\"a\": null}"));
	assert_false(judge("{\"json\": \"b\"}", "{\"a\": 1}"));
	assert_false(judge("{\"json\": \"a\", \"equals\": 1}", "{\"a\": \"1\"}"));
	assert_false(judge("{\"json\": \"a\", \"equals\": 1}", "a is 1"));
}

static void test_choice(void **state)
{
	assert_true(judge("{\"choice\": \"B\"}", "B"));
	assert_true(judge("{\"choice\": \"B\"}", "b)"));
	assert_true(judge("{\"choice\": \"B\"}", "(B) because A is wrong"));
	assert_true(judge("{\"choice\": \"B\"}", "A looks right, but the answer is B."));
	assert_false(judge("{\"choice\": \"B\"}", "The answer is C, not B"));
	assert_true(judge("{\"choice\": \"B\"}", "B is the answer."));
	assert_true(judge("{\"choice\": \"B\"}", "I would choose B."));
	assert_true(judge("{\"choice\": \"I\"}", "Option I."));
	assert_false(judge("{\"choice\": \"B\"}", "Because"));
	assert_false(judge("{\"choice\": \"B\"}", ""));
}

static void refused(const char *text, int line, const char *words)
{
	struct evaluation_set set;
	struct error e = { 0 };

	assert_false(evaluation_parse(&set, STR("test"), str_from(text), &e));
	evaluation_free(&set);
	assert_int_equal(e.status, EXIT_BAD_INPUT);
	assert_int_equal(e.line, line);
	if (!strstr(e.message, words))
		fail_msg("\"%s\" is not in \"%s\"", words, e.message);
}

static void test_refused(void **state)
{
	static const char good[] = "{\"prompt\": \"p\", \"check\": {\"exact\": \"1\"}}\n";
	char text[400];

	refused("", 1, "no items");
	refused("{\"prompt\": \"p\"}", 1, "exactly one");
	refused("{\"prompt\": \"p\", \"check\": {\"exact\": \"1\", \"regex\": \"1\"}}", 1, "exactly one");
	refused("{\"prompt\": \"p\", \"check\": {\"exact\": 1}}", 1, "is a text");
	refused("{\"prompt\": \"p\", \"check\": {\"regex\": \"(\"}}", 1, "regex");
	refused("{\"prompt\": \"p\", \"check\": {\"choice\": \"AB\"}}", 1, "one letter");
	refused("{\"check\": {\"exact\": \"1\"}}", 1, "prompt");
	refused("{\"prompt\": \"p\", \"promt\": 1, \"check\": {\"exact\": \"1\"}}", 1, "promt");
	refused("{\"prompt\": \"p\", \"max_tokens\": 0, \"check\": {\"exact\": \"1\"}}", 1, "max_tokens");
	refused("[{\"prompt\": \"p\"", 1, "not JSON");
	snprintf(text, sizeof text, "%s\n%snonsense\n", good, good);
	refused(text, 4, "not JSON");
}

static void test_forms(void **state)
{
	struct evaluation_set set;
	struct error e = { 0 };
	struct str list = STR(
		"[{\"id\": \"a\", \"messages\": [{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", \"content\": \"q\\n\"}],"
		" \"check\": {\"exact\": \"1\"}, \"max_tokens\": 7}, {\"prompt\": \"p\", \"check\": {\"exact\": \"2\"}}]");

	assert_true(evaluation_parse(&set, STR("test"), list, &e));
	assert_int_equal(set.items.count, 2);
	assert_str(set.items.items[0].id, "a");
	assert_str(set.items.items[0].prompt, "q\n");
	assert_int_equal(set.items.items[0].max_tokens, 7);
	assert_str(set.items.items[0].messages, "[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"q\\n\"}]");
	assert_str(set.items.items[1].messages, "[{\"role\":\"user\",\"content\":\"p\"}]");
	evaluation_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_exact), cmocka_unit_test(test_contains), cmocka_unit_test(test_regex),
		cmocka_unit_test(test_json), cmocka_unit_test(test_choice), cmocka_unit_test(test_refused), cmocka_unit_test(test_forms) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
