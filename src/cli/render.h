/* render: a report as a page for people, a ticket, or a document for programs. Nothing is computed here. */
#ifndef GOODPUT_CLI_RENDER_H
#define GOODPUT_CLI_RENDER_H

#include "cli/page.h"
#include "signals/phrase.h"
#include "watch/watch.h"
#include "web/report.h"

struct render_options {
	bool all; /* nothing shortened */
};

/* goodput.check/1 */
void render_json(const struct watch *w, struct buf *out);
void render_text(struct page *p, const struct watch *w, const struct render_options *o);
void render_markdown(const struct watch *w, const struct render_options *o, struct buf *out);

/* The text with its blanks STICKY. */
void add_sticky(struct buf *out, struct str text);
/* Is the signal's reading at the scope part of the short page? Not when it does not apply to this engine. */
bool reading_is_shown(const struct signal_spec *signal, const struct reading *r);
/* "TTFT P99 1.2 s (n = 4210)", blanks inside kept together when wrapped. The n is printed unless it is *events, the one said last (NAN at
 * first; NULL: never), and remembered there. */
void reading_phrase(
	const struct report *r, const struct signal_spec *signal, const struct reading *reading, double *events, struct buf *out);
/* The reading alone: "1.2 s", "> 60 s", "unknown: one scrape only", with its flags: "stale since ...", "over a restart", "2 of 3 targets".
 */
void reading_value_phrase(
	const struct report *r, const struct signal_spec *signal, const struct reading *reading, double *events, struct buf *out);
/* "2026-01-15 00:00:00Z to 00:05:00Z (5m)" */
void window_phrase(const struct window *window, struct buf *out);

#endif
