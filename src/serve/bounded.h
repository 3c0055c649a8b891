/* bounded: a Prometheus-compatible backend that is asked only as often as the load allows, opened when it is first needed, and left alone
 * for a moment after it did not answer. Any thread; one call at a time, others wait. */
#ifndef GOODPUT_SERVE_BOUNDED_H
#define GOODPUT_SERVE_BOUNDED_H

#include "promql/remote.h"
#include "serve/load.h"

/* The options' texts must outlive it. */
struct backend *bounded_new(struct load *load, enum load_purpose purpose, const struct remote_options *options);
/* Opens it, if it is not open: to tell wrong options at once. */
bool bounded_open(struct backend *b, struct error *e);
/* Forgets what it knows of label sets. Nothing that came out of it may be in use. */
void bounded_renew(struct backend *b);

#endif
