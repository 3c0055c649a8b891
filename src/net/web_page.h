/* web_page: an answer that is for browsers, where something else was asked for: a login page, a proxy's error, a wrong port. */
#ifndef GOODPUT_NET_WEB_PAGE_H
#define GOODPUT_NET_WEB_PAGE_H

#include "base/buf.h"

/* Begins with a tag: none of the formats that are asked for does. */
bool web_page_is(struct str body);
/* "a web page titled "Log in"". False: "a web page", it has no title. */
bool web_page_phrase(struct str body, struct buf *out);

#endif
