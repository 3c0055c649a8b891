/* print: a comparison in words and as JSON, for the command line and for the API. */
#ifndef GOODPUT_COMPARE_PRINT_H
#define GOODPUT_COMPARE_PRINT_H

#include "compare/event.h"

/* All that is shown. */
struct compare_document {
	const struct compare_result *result;
	struct str policy, name_a, name_b;
	const struct given *given;        /* of windows; else NULL */
	const struct event_answer *event; /* of an event; else NULL */
};

/* Members of the object that is open: goodput.compare/1 in docs/formats/compare.md. */
void compare_print(struct json *j, const struct compare_document *d);
/* 0 passed, 2 failed, 3 inconclusive or not comparable. */
int compare_exit_status(enum compare_verdict v);

/* One sentence: "fail: TTFT P99 is 12 % worse (5 to 19 %)" */
void compare_sentence(const struct compare_result *r, struct buf *out);
/* "+12 % (+5 to +19)", "-0.4 points", "no bound" where there is none. */
void compare_change_phrase(const struct compare_panel *p, struct buf *out);
/* "412 ms", "at least 60 s", "0.4 to 0.9"; "unknown". */
void compare_value_phrase(const struct estimate *e, const struct compare_spec *spec, struct buf *out);

#endif
