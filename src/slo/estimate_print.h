/* estimate_print: numbers and estimates as text and as JSON, for whoever shows them. */
#ifndef GOODPUT_SLO_ESTIMATE_PRINT_H
#define GOODPUT_SLO_ESTIMATE_PRINT_H

#include "base/json.h"
#include "slo/quantile.h"

/* Members {"value","low","high","n"} of an object that is open, without what is not known. */
void estimate_members(struct json *j, const struct estimate *e);
/* An object of these (only a bound: no value), or null where nothing is known. */
void estimate_json(struct json *j, const char *key, const struct estimate *e);
bool estimate_is_known(const struct estimate *e); /* a value or a bound */
/* "12.3", "0.0123", "1234": as many digits as say something. */
void number_phrase(double value, char text[32]);

#endif
