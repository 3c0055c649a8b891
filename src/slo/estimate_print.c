#include "slo/estimate_print.h"

#include <math.h>
#include <stdio.h>

bool estimate_is_known(const struct estimate *e)
{
	return !isnan(e->value) || !isnan(e->low) || !isnan(e->high);
}

void estimate_members(struct json *j, const struct estimate *e)
{
	json_number(j, "value", e->value);
	json_number(j, "low", e->low);
	json_number(j, "high", e->high);
	json_integer(j, "n", (int64_t)e->count);
}

void estimate_json(struct json *j, const char *key, const struct estimate *e)
{
	if (!estimate_is_known(e)) {
		json_null(j, key);
		return;
	}
	json_open(j, key, '{');
	estimate_members(j, e);
	json_close(j, '}');
}

void number_phrase(double value, char text[32])
{
	if (fabs(value) < 1e-9)
		value = 0; /* what is left of rounding */
	if (isnan(value))
		snprintf(text, 32, "-");
	else if (fabs(value) >= 100)
		snprintf(text, 32, "%.0f", value);
	else if (fabs(value) >= 10)
		snprintf(text, 32, "%.1f", value);
	else if (fabs(value) >= 1 || value == 0)
		snprintf(text, 32, "%.2f", value);
	else
		snprintf(text, 32, "%.3g", value);
}
