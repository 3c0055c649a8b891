/* unit: cmocka with what it needs before it, and assertions on slices. */
#ifndef GOODPUT_TESTS_UNIT_H
#define GOODPUT_TESTS_UNIT_H

#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_str(actual, expected)                                                                                                       \
	do {                                                                                                                               \
		struct str actual_ = (actual);                                                                                             \
		assert_int_equal(actual_.len, strlen(expected));                                                                           \
		if (actual_.len)                                                                                                           \
			assert_memory_equal(actual_.ptr, (expected), actual_.len);                                                         \
	} while (0)

#endif
