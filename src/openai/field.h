/* field: members of a JSON object with the type that they must have; not for other folders. `null` counts as absent. */
#ifndef GOODPUT_OPENAI_FIELD_H
#define GOODPUT_OPENAI_FIELD_H

#include "openai/error.h"

#include <jansson.h>
#include <stdint.h>

/* NULL when absent or null. */
json_t *field_get(json_t *object, const char *name);
/* Each leaves `*value` alone when the member is absent; false with an error when it has another type or is out of bounds. */
bool field_bool(json_t *object, const char *name, bool *value, struct openai_error *e);
bool field_integer(json_t *object, const char *name, int64_t least, int64_t most, int64_t *value, struct openai_error *e);
bool field_number(json_t *object, const char *name, double *value, struct openai_error *e);
bool field_string(json_t *object, const char *name, struct str *value, struct openai_error *e); /* borrowed from the object */
struct str json_str(const json_t *string);

#endif
