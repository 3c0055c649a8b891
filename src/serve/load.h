/* load: how often an existing Prometheus may be asked: so many requests in any 60 seconds, counted by what they are for. The signals have
 * all of it; rules and clients of the API leave a part to them, so that a busy dashboard does not blind the monitor. Any thread. */
#ifndef GOODPUT_SERVE_LOAD_H
#define GOODPUT_SERVE_LOAD_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum load_purpose { LOAD_SIGNALS, LOAD_RULES, LOAD_API, LOAD_PURPOSES };

struct load;
struct load *load_new(size_t per_minute);
void load_free(struct load *l);
/* One request more. False with an error when there have been enough. */
bool load_take(struct load *l, enum load_purpose purpose, struct error *e);
/* What was taken needed further requests: what comes later pays for them. */
void load_add(struct load *l, enum load_purpose purpose, size_t requests);
/* Requests so far, refused ones not among them. */
uint64_t load_requests(struct load *l);
void load_print(struct load *l, struct buf *out);

#endif
