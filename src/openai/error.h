/* error: the error objects of OpenAI-compatible servers, as vLLM words them. */
#ifndef GOODPUT_OPENAI_ERROR_H
#define GOODPUT_OPENAI_ERROR_H

#include "base/buf.h"

#include <stdbool.h>

struct openai_error {
	int status;        /* of HTTP; also the object's code */
	const char *type;  /* "BadRequestError", "NotFoundError", "Bad Request" (validation), "InternalServerError" */
	const char *param; /* or NULL */
	char message[512];
};

/* Always false, so that `return openai_refuse(...)` reads well. */
bool openai_refuse(struct openai_error *e, int status, const char *param, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* What FastAPI's validation finds: status 400, type "Bad Request", the message a list of one finding. */
bool openai_invalid(struct openai_error *e, const char *kind, const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* {"error": {message, type, param, code}}; with `flat`, as before vLLM 0.10, {"object": "error", message, ...}. */
void openai_error_write(const struct openai_error *e, bool flat, struct buf *out);

#endif
