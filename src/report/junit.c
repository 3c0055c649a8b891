#include "report/junit.h"

#include "base/mem.h"
#include "base/number.h"
#include "report/html.h"

#include <math.h>
#include <time.h>

/* What HTML needs escaped, XML does too; the same bytes are refused. */
static void attribute(struct buf *out, const char *name, struct str value)
{
	buf_printf(out, " %s=\"", name);
	html_text(out, value);
	buf_add_c(out, '"');
}

static void seconds_attribute(struct buf *out, double seconds)
{
	if (isfinite(seconds))
		buf_printf(out, " time=\"%.3f\"", seconds);
}

static size_t count_of(const struct junit_case *cases, size_t count, enum junit_result result)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += cases[i].result == result;
	return found;
}

static void write_case(struct buf *out, const struct junit_case *c)
{
	static const char *const elements[] = { [JUNIT_FAILED] = "failure", [JUNIT_ERROR] = "error", [JUNIT_SKIPPED] = "skipped" };

	buf_add_cstr(out, "    <testcase");
	attribute(out, "name", c->name);
	attribute(out, "classname", c->class_name);
	seconds_attribute(out, c->seconds);
	if (c->result == JUNIT_PASSED) {
		buf_add_cstr(out, "/>\n");
		return;
	}
	buf_printf(out, ">\n      <%s", elements[c->result]);
	attribute(out, "message", c->message);
	if (c->details.len) {
		buf_add_c(out, '>');
		html_text(out, c->details);
		buf_printf(out, "</%s>\n    </testcase>\n", elements[c->result]);
	} else {
		buf_add_cstr(out, "/>\n    </testcase>\n");
	}
}

static void timestamp(struct buf *out, double unix_seconds)
{
	time_t seconds = (time_t)unix_seconds;
	char text[40];
	struct tm tm;

	if (!isfinite(unix_seconds) || !gmtime_r(&seconds, &tm))
		return;
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	buf_printf(out, " timestamp=\"%s\"", text);
}

void junit_write(struct buf *out, struct str suite, double started_unix, double seconds, const struct junit_case *cases, size_t count)
{
	size_t failed = count_of(cases, count, JUNIT_FAILED), errors = count_of(cases, count, JUNIT_ERROR),
	       skipped = count_of(cases, count, JUNIT_SKIPPED);

	buf_printf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n  "
		"<testsuite",
		count, failed, errors, skipped);
	attribute(out, "name", suite);
	buf_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"", count, failed, errors, skipped);
	seconds_attribute(out, seconds);
	timestamp(out, started_unix);
	buf_add_cstr(out, ">\n");
	for (size_t i = 0; i < count; i++)
		write_case(out, &cases[i]);
	buf_add_cstr(out, "  </testsuite>\n</testsuites>\n");
}
