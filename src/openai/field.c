#include "openai/field.h"

#include <inttypes.h>

json_t *field_get(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	return json_is_null(value) ? NULL : value;
}

struct str json_str(const json_t *string)
{
	return str_of(json_string_value(string), json_string_length(string));
}

bool field_bool(json_t *object, const char *name, bool *value, struct openai_error *e)
{
	json_t *v = field_get(object, name);

	if (!v)
		return true;
	if (!json_is_boolean(v))
		return openai_invalid(e, "bool_type", name, "Input should be a valid boolean");
	*value = json_is_true(v);
	return true;
}

bool field_integer(json_t *object, const char *name, int64_t least, int64_t most, int64_t *value, struct openai_error *e)
{
	json_t *v = field_get(object, name);
	int64_t i;

	if (!v)
		return true;
	if (json_is_real(v) && json_real_value(v) == (double)(int64_t)json_real_value(v) && json_real_value(v) > -9e15 &&
		json_real_value(v) < 9e15)
		i = (int64_t)json_real_value(v);
	else if (json_is_integer(v))
		i = json_integer_value(v);
	else
		return openai_invalid(e, "int_type", name, "Input should be a valid integer");
	if (i < least)
		return openai_refuse(e, 400, name, "%s must be at least %" PRId64 ", got %" PRId64 ".", name, least, i);
	if (i > most)
		return openai_refuse(e, 400, name, "%s must be at most %" PRId64 ", got %" PRId64 ".", name, most, i);
	*value = i;
	return true;
}

bool field_number(json_t *object, const char *name, double *value, struct openai_error *e)
{
	json_t *v = field_get(object, name);

	if (!v)
		return true;
	if (!json_is_number(v))
		return openai_invalid(e, "float_type", name, "Input should be a valid number");
	*value = json_number_value(v);
	return true;
}

bool field_string(json_t *object, const char *name, struct str *value, struct openai_error *e)
{
	json_t *v = field_get(object, name);

	if (!v)
		return true;
	if (!json_is_string(v))
		return openai_invalid(e, "string_type", name, "Input should be a valid string");
	*value = json_str(v);
	return true;
}
