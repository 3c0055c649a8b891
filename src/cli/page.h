/* page: a page of text for people: width, colours where a terminal shows them, plain ASCII where the locale is not UTF-8. */
#ifndef GOODPUT_CLI_PAGE_H
#define GOODPUT_CLI_PAGE_H

#include "base/buf.h"
#include "cli/command.h"

#include <stdio.h>

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_CRITICAL, STYLE_WARNING, STYLE_INFO, STYLE_FINE, STYLE_UNKNOWN };

struct page {
	struct buf out;
	int columns; /* of the terminal, at least 40; 80 when it is not one */
	bool color, unicode;
};

/* For standard output. */
void page_init(struct page *p, enum color_when when);
void page_fini(struct page *p);
/* Text of others (labels, titles) as it is, except control bytes, which could drive a terminal: '?'. */
void page_add(struct page *p, struct str text, enum style style);
void page_print(struct page *p, enum style style, const char *format, ...) __attribute__((format(printf, 3, 4)));
void page_line(struct page *p); /* ends the line */
void page_gap(struct page *p);  /* one empty line, unless there is one */
/* "label     text text", wrapped; lines after the first stand under the text, `indent` from the left. An empty label is fine. */
void page_field(struct page *p, const char *label, enum style style, int indent, struct str text);
/* Writes the page to standard output, in ASCII where the terminal has no UTF-8; returns `status` or EXIT_INTERNAL. */
int page_output(struct page *p, int status);
/* The same for a document, as it is. */
int page_output_document(struct page *p, int status);

#endif
