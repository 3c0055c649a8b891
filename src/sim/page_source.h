/* page_source: figures behind the families of a page; not for other folders. */
#ifndef GOODPUT_SIM_PAGE_SOURCE_H
#define GOODPUT_SIM_PAGE_SOURCE_H

#include "sim/page.h"

/* The value of one series of a gauge or counter: `which` is the index of its own label's value. */
double page_value(const struct page *p, const struct mimic_family *f, size_t engine, size_t which);
/* page_web.c: the http_ families. */
void page_web(const struct page *p, struct buf *out);

#endif
