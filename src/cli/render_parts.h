/* render_parts: pieces of a rendered report, as plain text, that the page and the ticket share. */
#ifndef GOODPUT_CLI_RENDER_PARTS_H
#define GOODPUT_CLI_RENDER_PARTS_H

#include "cli/page.h"
#include "watch/watch.h"

/* render_findings.c */
/* The symptoms of a cause: their ids; with `all`, their sentences. */
void suppressed_phrase(const struct report *r, const struct finding *cause, bool all, struct buf *out);
void undecided_phrase(const struct report *r, struct buf *out);
/* Red lines that the figures of the whole life cross. */
void lifetime_findings_phrase(const struct watch *w, struct buf *out);

/* render_readings.c */
struct group_list {
	struct str names[24];
	size_t count;
};
void groups_of(const struct catalog *c, struct group_list *groups);
/* Does the short page show this scope? The fleet when it has one model; else its pools. */
bool scope_has_readings(const struct report *r, const struct scope *s);
/* Without what is known from `beside` (or NULL). */
void group_phrase(const struct report *r, const struct report *beside, const struct scope *s, struct str group, bool all, struct buf *out);
/* Signals that should be known and are not, by reason. */
void unknowns_phrase(const struct report *r, const struct scope *s, bool all, struct buf *out);
/* One row a target (or engine, where there is one target): all when at most 8 or `all`, else the worst 3. */
void render_table(struct page *p, const struct report *r, bool all);

/* render_coverage.c */
struct silent_group { /* targets that did not answer (whole) in the same way */
	enum scrape_outcome outcome;
	struct str detail;
	bool partial;
	size_t first, count;
	size_t others; /* of the last group: targets that found no room for a group of theirs */
};
size_t silent_groups(const struct report *r, struct silent_group *groups, size_t room);
void silent_phrase(const struct report *r, const struct silent_group *g, size_t most, struct buf *out);
/* The nth kind of engine among the targets; false when there are fewer. */
bool coverage_phrase(const struct report *r, size_t nth, bool all, struct buf *out);
void backend_phrase(const struct watch *w, struct buf *out);

#endif
