/* first: the newest report as the HTML that the page begins with, so that it is on the screen before any script has come, and without one.
 * The elements are those that web/src/main.tsx and web/src/pages/findings.tsx draw: the script takes them over, and nothing moves. All text
 * is escaped. */
#ifndef GOODPUT_WEB_FIRST_H
#define GOODPUT_WEB_FIRST_H

#include "base/buf.h"
#include "signals/report.h"

/* The bar with the verdict; `t_ms`: when it was judged. NULL: not judged yet, and the word is unknown. */
void first_print_verdict(struct buf *out, const struct report *r, int64_t t_ms);
/* The worst findings with place, onset, first action and evidence. */
void first_print_findings(struct buf *out, const struct report *r);

#endif
