/* The keys of a series in its file. */
#ifndef TELEMETRY_KEY_H
#define TELEMETRY_KEY_H

#include "telemetry/internal.h"

/* Appends the key of the series' cell of this number: for a histogram 0 is the sum, then come the buckets; for a summary count, sum. */
void goodput_key(struct goodput_text *t, const struct goodput_series *s, unsigned cell);

#endif
