#include "openai/error.h"

#include <stdarg.h>
#include <stdio.h>

static const char *type_of(int status)
{
	switch (status) {
	case 401: return "AuthenticationError";
	case 404: return "NotFoundError";
	case 405: return "MethodNotAllowedError";
	case 429: return "RateLimitError";
	case 501: return "NotImplementedError";
	default: return status >= 500 ? "InternalServerError" : "BadRequestError";
	}
}

bool openai_refuse(struct openai_error *e, int status, const char *param, const char *format, ...)
{
	va_list args;

	e->status = status;
	e->type = type_of(status);
	e->param = param;
	va_start(args, format);
	vsnprintf(e->message, sizeof e->message, format, args);
	va_end(args);
	return false;
}

bool openai_invalid(struct openai_error *e, const char *kind, const char *field, const char *format, ...)
{
	char what[400];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	e->status = 400;
	e->type = "Bad Request";
	e->param = NULL;
	if (field)
		snprintf(e->message, sizeof e->message, "[{'type': '%s', 'loc': ('body', '%s'), 'msg': '%s'}]", kind, field, what);
	else
		snprintf(e->message, sizeof e->message, "[{'type': '%s', 'loc': ('body',), 'msg': '%s'}]", kind, what);
	return false;
}

void openai_error_write(const struct openai_error *e, bool flat, struct buf *out)
{
	buf_add_cstr(out, flat ? "{\"object\":\"error\",\"message\":" : "{\"error\":{\"message\":");
	buf_add_json(out, str_from(e->message));
	buf_printf(out, ",\"type\":\"%s\",\"param\":", e->type);
	if (e->param)
		buf_add_json(out, str_from(e->param));
	else
		buf_add(out, STR("null"));
	buf_printf(out, ",\"code\":%d%s", e->status, flat ? "}" : "}}");
}
