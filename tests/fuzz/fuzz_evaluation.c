/* fuzz_evaluation: bytes as a set of questions, then as an answer.
 *
 * - The set is read, or refused with a message.
 * - Every item of what was read judges any answer, twice alike; messages are JSON that begins with a list. */
#include "load/evaluation.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 16384 };

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A zero byte ends the set; what follows is an answer. */
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	struct str set_text = str_of((const char *)data, end ? (size_t)(end - data) : size);
	struct str answer = end ? str_of((const char *)end + 1, size - (size_t)(end - data) - 1) : set_text;
	struct evaluation_set set;
	struct error e = { 0 };

	if (size > INPUT_MAX)
		return 0;
	if (evaluation_parse(&set, STR("fuzz"), set_text, &e))
		VEC_EACH (&set.items, item) {
			REQUIRE(item->messages.len > 1 && item->messages.ptr[0] == '[');
			REQUIRE(evaluation_judge(item, answer) == evaluation_judge(item, answer));
		}
	else
		REQUIRE(e.set && e.message[0]);
	evaluation_free(&set);
	return 0;
}
