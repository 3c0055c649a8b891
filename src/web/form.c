#include "web/form.h"

#include "base/clock.h"
#include "base/number.h"

#include <math.h>

/* Beyond this, sums of times overflow 64 bits. */
#define TIME_MAX_MS INT64_C(4000000000000000000)

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

struct str form_decode(struct arena *arena, struct str text, bool plus)
{
	char *out = arena_alloc(arena, text.len + 1);
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (c == '+' && plus) {
			c = ' ';
		} else if (c == '%') {
			int high = i + 2 < text.len ? hex_digit(text.ptr[i + 1]) : -1, low = high >= 0 ? hex_digit(text.ptr[i + 2]) : -1;

			if (low < 0)
				return STR_EMPTY;
			c = (char)(high << 4 | low);
			i += 2;
		}
		out[len++] = c;
	}
	out[len] = '\0';
	return str_of(out, len);
}

static size_t fields_most(struct str text)
{
	size_t count = 1;

	for (size_t i = 0; i < text.len; i++)
		count += text.ptr[i] == '&';
	return count;
}

static bool fields_add(struct form *f, struct arena *arena, struct str text, const char **why)
{
	struct str part;

	while (text.len && str_split(&text, '&', &part)) {
		ptrdiff_t equals = str_find(part, '=');
		struct form_field field;

		if (!part.len)
			continue;
		field.name = form_decode(arena, equals < 0 ? part : str_head(part, (size_t)equals), true);
		field.value = form_decode(arena, equals < 0 ? STR("") : str_skip(part, (size_t)equals + 1), true);
		if (!field.name.ptr || !field.value.ptr) {
			*why = "invalid URL escape";
			return false;
		}
		f->fields[f->count++] = field;
	}
	return true;
}

bool form_parse(struct form *f, struct arena *arena, struct str body, struct str query, const char **why)
{
	*f = (struct form){ .fields = ARENA_ARRAY(arena, struct form_field, fields_most(body) + fields_most(query)) };
	return fields_add(f, arena, body, why) && fields_add(f, arena, query, why);
}

struct str form_get(const struct form *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (str_is(f->fields[i].name, name))
			return f->fields[i].value;
	return STR_EMPTY;
}

struct str *form_all(const struct form *f, struct arena *arena, const char *name, size_t *count)
{
	struct str *values = ARENA_ARRAY(arena, struct str, f->count + 1);

	*count = 0;
	for (size_t i = 0; i < f->count; i++)
		if (str_is(f->fields[i].name, name))
			values[(*count)++] = f->fields[i].value;
	return values;
}

static bool seconds(struct str text, int64_t *ms)
{
	double value;

	if (!number_parse(text, &value) || !(fabs(value * 1000) < (double)TIME_MAX_MS))
		return false;
	*ms = llround(value * 1000);
	return true;
}

bool form_time(struct str text, int64_t *ms)
{
	if (seconds(text, ms))
		return true;
	/* time_parse knows more (now, ages), which here is an error as it is in Prometheus. */
	return text.len >= 20 && text.ptr[0] >= '0' && text.ptr[0] <= '9' && (text.ptr[10] == 'T' || text.ptr[10] == 't') &&
	       time_parse(text, 0, ms);
}

bool form_duration(struct str text, int64_t *ms)
{
	if (seconds(text, ms))
		return true;
	return text.len && text.ptr[0] >= '0' && text.ptr[0] <= '9' && duration_parse(text, ms) && *ms < TIME_MAX_MS;
}
