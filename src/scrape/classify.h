/* classify: what an HTTP answer to a scrape is, before any line of it is read as samples. */
#ifndef GOODPUT_SCRAPE_CLASSIFY_H
#define GOODPUT_SCRAPE_CLASSIFY_H

#include "scrape/fleet.h"

struct scrape_class {
	enum scrape_outcome outcome;
	struct str page;  /* what the parser may read: whole lines only; {NULL, 0} when there is nothing for it */
	char detail[400]; /* one line, may be empty */
};
/* The first that applies: no whole answer; status; empty; web page; JSON; cut; a page. What only the parser can tell (an error in the page,
 * comments only) is left to the caller. */
void scrape_classify(const struct http_answer *a, struct scrape_class *c);

#endif
