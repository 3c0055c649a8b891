/* redact: pages without the names of models, hosts, users and paths. A name becomes the same pseudonym wherever it stands ("model-1"), so
 * that what belongs together still does; numbers, metric names and all other labels stay. The mapping is never written. Sans-IO. */
#ifndef GOODPUT_SCRAPE_REDACT_H
#define GOODPUT_SCRAPE_REDACT_H

#include "base/buf.h"
#include "base/str.h"

struct redactor;
struct redactor *redactor_new(void);
void redactor_free(struct redactor *r);
/* Appends the page with names replaced. A line that is no sample, HELP, TYPE, UNIT or EOF line is replaced as a whole by a line that is as
 * broken, since it may hold anything. */
void redactor_page(struct redactor *r, struct str page, struct buf *out);
/* Appends the pseudonym of a target ("gpu-7.example:8000/a" → "host-1:8000/path-1"); loopback names stay. */
void redactor_target(struct redactor *r, struct str name, struct buf *out);
/* "replaced: 2 model names, 4 hosts; labels left as they are: engine, le" */
void redactor_summary(const struct redactor *r, struct buf *out);

#endif
