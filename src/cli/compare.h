/* compare: what the files of `goodput compare` share; not for other commands. */
#ifndef GOODPUT_CLI_COMPARE_H
#define GOODPUT_CLI_COMPARE_H

#include "cli/arguments.h"
#include "cli/page.h"
#include "compare/given.h"

struct compare_arguments {
	struct global_arguments global;
	struct source_arguments source;
	struct option_strings goodput;
	const char *policy, *html, *a, *b, *before, *after;
	bool anyway;
};

/* All that a comparison is shown from. */
struct comparison {
	const struct compare_arguments *arguments;
	struct arena arena;
	struct compare_policy policy;
	struct slo_set slo;
	struct str name_a, name_b;
	struct compare_result result;
	/* of records: for the charts; else NULL */
	const struct compare_side *side_a, *side_b;
	/* of windows */
	const struct given *given;
};

/* compare_windows.c: fills result, names and `given`. */
bool compare_windows(struct comparison *c, const struct option_strings *operands, struct error *e);

/* compare_render.c */
void compare_page(struct page *p, const struct comparison *c);
void compare_json(const struct comparison *c, struct buf *out);
/* compare_html.c */
void compare_html(const struct comparison *c, struct buf *out);
/* One sentence: "fail: TTFT P99 is 12 % worse (5 to 19 %)" */
void compare_sentence(const struct comparison *c, struct buf *out);
/* "+12 %", "-0.4 points", "+5 to +19 %"; "no bound" where there is none. */
void compare_change_phrase(const struct compare_panel *p, struct buf *out);
void compare_value_phrase(const struct estimate *e, const struct compare_spec *spec, struct buf *out);

#endif
