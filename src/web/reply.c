#include "web/web.h"

#include "base/clock.h"
#include "base/number.h"

#include <stdio.h>

void web_reply_init(struct web_reply *r)
{
	*r = (struct web_reply){ .status = 200, .content_type = "application/json" };
	buf_init(&r->body, WEB_BODY_MAX);
}

void web_reply_fini(struct web_reply *r)
{
	buf_fini(&r->body);
}

static const struct {
	const char *name;
	int status;
} errors[] = {
	[WEB_BAD_DATA] = { "bad_data", 400 },
	[WEB_EXECUTION] = { "execution", 422 },
	[WEB_TIMEOUT] = { "timeout", 503 },
	[WEB_CANCELED] = { "canceled", 499 },
	[WEB_INTERNAL] = { "internal", 500 },
	[WEB_NOT_FOUND] = { "not_found", 404 },
	[WEB_UNAVAILABLE] = { "unavailable", 503 },
};

void web_fail(struct web_reply *r, enum web_error type, const char *format, ...)
{
	char text[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	buf_reset(&r->body);
	r->status = errors[type].status;
	r->content_type = "application/json";
	buf_printf(&r->body, "{\"status\":\"error\",\"errorType\":\"%s\",\"error\":", errors[type].name);
	buf_add_json(&r->body, str_from(text));
	buf_add_c(&r->body, '}');
}

void web_fail_execution(struct web_reply *r, const struct error *e)
{
	switch (e->status) {
	case EXIT_UNREACHABLE: web_fail(r, WEB_TIMEOUT, "%s", e->message); break;
	case EXIT_INTERRUPTED: web_fail(r, WEB_CANCELED, "%s", e->message); break;
	default: web_fail(r, WEB_EXECUTION, "%s", e->message); break;
	}
}

void web_open(struct web_reply *r)
{
	buf_add_cstr(&r->body, "{\"status\":\"success\",\"data\":");
}

static void add_texts(struct buf *out, const char *key, const struct str *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		buf_printf(out, i ? "," : ",\"%s\":[", key);
		buf_add_json(out, texts[i]);
	}
	if (count)
		buf_add_c(out, ']');
}

void web_close(struct web_reply *r, const struct str *warnings, size_t warning_count, const struct str *infos, size_t info_count)
{
	add_texts(&r->body, "warnings", warnings, warning_count);
	add_texts(&r->body, "infos", infos, info_count);
	buf_add_c(&r->body, '}');
	if (r->body.overflowed)
		web_fail(r, WEB_EXECUTION, "the answer is above the limit of %d bytes", WEB_BODY_MAX);
}

void web_add_time(struct buf *out, int64_t t_ms)
{
	uint64_t size = t_ms < 0 ? -(uint64_t)t_ms : (uint64_t)t_ms;

	if (t_ms < 0)
		buf_add_c(out, '-');
	buf_add_i64(out, (int64_t)(size / 1000));
	if (size % 1000) {
		char rest[8];

		snprintf(rest, sizeof rest, ".%03u", (unsigned)(size % 1000));
		buf_add_cstr(out, rest);
	}
}

void web_add_labels(struct buf *out, const struct labels *l)
{
	buf_add_c(out, '{');
	for (uint32_t i = 0; l && i < l->count; i++) {
		if (i)
			buf_add_c(out, ',');
		buf_add_json(out, l->items[i].name);
		buf_add_c(out, ':');
		buf_add_json(out, l->items[i].value);
	}
	buf_add_c(out, '}');
}

void web_add_date(struct buf *out, int64_t t_ms)
{
	char text[40];
	size_t len = time_format(t_ms, text);

	if (!t_ms) {
		buf_add_cstr(out, "\"0001-01-01T00:00:00Z\"");
		return;
	}
	for (size_t i = 0; i < len; i++)
		if (text[i] == ' ')
			text[i] = 'T';
	buf_printf(out, "\"%.*s\"", (int)len, text);
}

bool web_time(struct web_request *q, struct web_reply *r, const char *name, int64_t preset_ms, int64_t *ms)
{
	struct str text = form_get(&q->form, name);

	*ms = preset_ms;
	if (!text.len || form_time(text, ms))
		return true;
	web_fail(r, WEB_BAD_DATA,
		"invalid parameter \"%s\": Invalid time value for '%s': cannot parse \"" STR_FMT "\" to a valid timestamp", name, name,
		STR_ARG(str_head(text, 200)));
	return false;
}

bool web_limit(struct web_request *q, struct web_reply *r, const char *name, size_t *limit)
{
	struct str text = form_get(&q->form, name);
	int64_t value = 0;

	if (text.len && !number_parse_i64(text, &value)) {
		web_fail(r, WEB_BAD_DATA, "invalid parameter \"%s\": cannot parse \"" STR_FMT "\" to a valid integer", name,
			STR_ARG(str_head(text, 200)));
		return false;
	}
	if (value < 0) {
		web_fail(r, WEB_BAD_DATA, "invalid parameter \"%s\": limit must be non-negative", name);
		return false;
	}
	*limit = (size_t)value;
	return true;
}
