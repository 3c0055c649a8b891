/* junit: test results in the XML that CI systems read. */
#ifndef GOODPUT_REPORT_JUNIT_H
#define GOODPUT_REPORT_JUNIT_H

#include "base/buf.h"

enum junit_result { JUNIT_PASSED, JUNIT_FAILED, JUNIT_ERROR, JUNIT_SKIPPED };

struct junit_case {
	struct str name, class_name; /* "ttft:500", "goodput.bench" */
	double seconds;              /* NaN: left out */
	enum junit_result result;
	struct str message, details; /* of what is not passed; may be empty */
};
/* A whole document with one suite. Text is escaped; bytes that XML cannot have become U+FFFD. `started_unix` NaN: left out. */
void junit_write(struct buf *out, struct str suite, double started_unix, double seconds, const struct junit_case *cases, size_t count);

#endif
