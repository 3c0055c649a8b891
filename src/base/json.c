#include "base/json.h"

#include <math.h>

static void json_key(struct json *j, const char *key)
{
	if (j->more)
		buf_add_c(j->out, ',');
	j->more = true;
	if (key) {
		buf_add_json(j->out, str_from(key));
		buf_add_c(j->out, ':');
	}
}

void json_open(struct json *j, const char *key, char bracket)
{
	json_key(j, key);
	buf_add_c(j->out, bracket);
	j->more = false;
}

void json_close(struct json *j, char bracket)
{
	buf_add_c(j->out, bracket);
	j->more = true;
}

void json_text(struct json *j, const char *key, struct str text)
{
	json_key(j, key);
	buf_add_json(j->out, text);
}

void json_text_if(struct json *j, const char *key, struct str text)
{
	if (text.len)
		json_text(j, key, text);
}

void json_list(struct json *j, const char *key, const struct str *texts, size_t count)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < count; i++)
		json_text(j, NULL, texts[i]);
	json_close(j, ']');
}

void json_number(struct json *j, const char *key, double value)
{
	if (!isfinite(value))
		return;
	json_key(j, key);
	buf_add_double(j->out, value);
}

void json_integer(struct json *j, const char *key, int64_t value)
{
	json_key(j, key);
	buf_add_i64(j->out, value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	buf_add_cstr(j->out, value ? "true" : "false");
}

void json_true_if(struct json *j, const char *key, bool value)
{
	if (value)
		json_bool(j, key, true);
}

void json_null(struct json *j, const char *key)
{
	json_key(j, key);
	buf_add_cstr(j->out, "null");
}

void json_time(struct json *j, const char *key, int64_t t_ms)
{
	if (t_ms)
		json_number(j, key, (double)t_ms / 1000);
}
