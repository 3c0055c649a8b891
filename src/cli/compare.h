/* compare: what the files of `goodput compare` share; not for other commands. */
#ifndef GOODPUT_CLI_COMPARE_H
#define GOODPUT_CLI_COMPARE_H

#include "cli/arguments.h"
#include "cli/page.h"
#include "compare/print.h"

struct compare_arguments {
	struct global_arguments global;
	struct source_arguments source;
	struct option_strings goodput;
	const char *policy, *html, *a, *b, *before, *after, *event, *settle, *length, *gpus, *gpu_price;
	bool anyway;
};

struct opened;

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
	/* of an event: the answer, or the list that was asked for; what it was read from, until compare_event_close */
	const struct event_answer *event;
	struct capacity_log *log;
	struct opened *opened;
};

/* compare_windows.c: fills result, names and `given`. */
bool compare_windows(struct comparison *c, const struct option_strings *operands, struct error *e);

/* compare_render.c */
void compare_page(struct page *p, const struct comparison *c);
void compare_json(const struct comparison *c, struct buf *out);
/* compare_html.c */
void compare_html(const struct comparison *c, struct buf *out);
/* compare_event.c: fills result, names, `given` and `event`, or `log` for --event list. */
bool compare_event(struct comparison *c, const struct option_strings *operands, struct error *e);
void compare_event_close(struct comparison *c);
/* compare_event_page.c: the parts of the page of an event. */
void compare_event_head(struct page *p, const struct event_answer *a);
void compare_event_notes(struct page *p, const struct event_answer *a);
void compare_event_chart(struct page *p, const struct event_answer *a);
void compare_event_list(struct page *p, const struct capacity_log *log);
void compare_event_list_json(struct buf *out, const struct capacity_log *log);

#endif
