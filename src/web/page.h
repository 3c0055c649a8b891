/* page: the files of the web page (web/), packed by the build and embedded. */
#ifndef GOODPUT_WEB_PAGE_H
#define GOODPUT_WEB_PAGE_H

#include "base/buf.h"

#include <stdbool.h>

struct page_file {
	struct str packed; /* gzip; lives as long as the program */
	const char *content_type;
	const char *headers; /* lines: caching, and what the browser may do */
	bool is_shell;       /* a view: with page_fill */
};

/* What the shell begins with, as HTML: see first.h. */
struct page_news {
	struct str verdict, findings;
};

/* "/", the page's views ("/latency" ...) and "/assets/NAME". False: none of them. */
bool page_find(struct str path, struct page_file *file);
/* The path as a route name for counting: "/" for all views, "/assets/:name". */
const char *page_route_name(struct str path);
/* For clients that do not take gzip. False when it does not fit under out's maximum. */
bool page_unpack(const struct page_file *file, struct buf *out);
/* Appends the shell of the view `path` with links, title, and the news where its marks are. False when it does not fit under out's maximum.
 */
bool page_fill(const struct page_file *file, struct str path, const struct page_news *news, struct buf *out);

#endif
