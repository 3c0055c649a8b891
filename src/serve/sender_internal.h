/* Between sender.c and tee.c only. */
#ifndef GOODPUT_SERVE_SENDER_INTERNAL_H
#define GOODPUT_SERVE_SENDER_INTERNAL_H

#include "serve/sender.h"

/* The encoded labels under which a series is sent, in `out`; false: write_relabel_configs drop it. */
bool sender_labels(struct sender *s, const struct labels *labels, struct buf *out);
void sender_add(struct sender *s, struct str labels, int64_t t_ms, double value);

#endif
