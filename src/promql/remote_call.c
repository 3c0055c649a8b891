/* One request of the HTTP API, and what its failures mean. */
#include "base/clock.h"
#include "base/number.h"
#include "net/web_page.h"
#include "promql/remote_internal.h"

#include <stdlib.h>

void form_add(struct buf *form, const char *name, struct str text)
{
	buf_printf(form, "%s%s=", form->len ? "&" : "", name);
	http_encode(text, form);
}

void form_add_time(struct buf *form, const char *name, int64_t t_ms)
{
	int64_t ms = t_ms % 1000, seconds = t_ms / 1000;
	const char *sign = t_ms < 0 ? "-" : "";
	buf_printf(form, "%s%s=%s%lld.%03lld", form->len ? "&" : "", name, sign, llabs(seconds), llabs(ms));
}

void remote_warning(struct remote *r, struct str text)
{
	bool made;
	map_put(&r->warnings, text, &made);
	if (made && r->stats.warning_count < ARRAY_LEN(r->stats.warnings))
		r->stats.warnings[r->stats.warning_count++] = arena_str(&r->arena, text);
}

static const char *json_field(json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text ? text : "";
}

/* Prometheus puts a query's fault as "1:5: parse error: text": back to a position and a caret. */
static bool query_error(struct error *e, struct str query, const char *text)
{
	const char *at = strstr(text, ": parse error: "), *start = at;
	int line = 0, column = 0;
	while (start && start > text && ((start[-1] >= '0' && start[-1] <= '9') || start[-1] == ':'))
		start--;
	if (!at || sscanf(start, "%d:%d", &line, &column) != 2 || line < 1 || column < 1)
		return false;
	size_t offset = 0;
	column -= line > 1 && column > 1; /* Prometheus counts the line break from the second line on */
	for (struct str rest = query, part; line > 1 && str_split(&rest, '\n', &part); line--)
		offset += part.len + 1;
	offset += (size_t)column - 1;
	error_at(e, STR("query"), query, offset < query.len ? offset : query.len, "%s", at + 2);
	return true;
}

static bool says_limit(const char *text)
{
	static const char *const words[] = { "too many", "exceed", "more than", "limit" };
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasestr(text, words[i]))
			return true;
	return false;
}

static enum call_status error_of_object(const struct http_answer *a, const struct call *c, json_t *root, struct error *e)
{
	const char *text = json_field(root, "error"), *type = json_field(root, "errorType");
	bool ours = a->status == 400 || a->status == 422;
	if (c->query.len && query_error(e, c->query, text))
		return CALL_FAILED;
	error_set(e, ours ? EXIT_BAD_INPUT : EXIT_UNREACHABLE, "%s%s%.250s", type, type[0] ? ": " : "",
		text[0] ? text : "an error without a text");
	if (a->status == 503 || strcmp(type, "timeout") == 0)
		error_hint(e, "the server is overloaded or the query is too heavy: ask for a shorter time or narrow it with matchers");
	return (ours || a->status == 413 || a->status == 503) && says_limit(text) ? CALL_TOO_MUCH : CALL_FAILED;
}

static enum call_status error_of_status(const struct remote *r, const struct http_answer *a, struct error *e)
{
	switch (a->status) {
	case 401:
	case 403:
		error_set(e, EXIT_UNREACHABLE, "the query API wants credentials: HTTP %d", a->status);
		error_hint(e, r->options.bearer_token ? "the bearer token was not accepted; Mimir and Cortex want a tenant too"
						      : "give a bearer token, for Mimir and Cortex also the tenant");
		break;
	case 404:
		error_set(e, EXIT_UNREACHABLE, "no Prometheus API here: HTTP 404 for /api/v1");
		error_hint(
			e, "give the base path too: /prometheus for Mimir and Cortex, /select/0/prometheus for a VictoriaMetrics cluster");
		break;
	case 429:
		error_set(e, EXIT_UNREACHABLE, "the query API limits the rate of requests: HTTP 429");
		error_hint(e, "try again later, or ask for less");
		break;
	case 413: error_set(e, EXIT_UNREACHABLE, "the query is too large for the server: HTTP 413"); return CALL_TOO_MUCH;
	default:
		if (a->status >= 300 && a->status < 400)
			error_set(e, EXIT_UNREACHABLE, "the query API redirects to " STR_FMT "%s%s", STR_ARG(str_head(a->location, 120)),
				a->detail[0] ? ": " : "", a->detail);
		else
			error_set(e, EXIT_UNREACHABLE, "the query API answered HTTP %d: " STR_FMT, a->status,
				STR_ARG(str_head(str_trim(a->body), 160)));
	}
	return CALL_FAILED;
}

static enum call_status error_of_failure(const struct http_answer *a, struct error *e)
{
	error_set(e, EXIT_UNREACHABLE, "the query API cannot be asked: %s", a->detail);
	if (a->failure == HTTP_TLS)
		error_hint(e, "give the CA's file, or http:// instead of https://");
	else if (a->failure == HTTP_TIMEOUT)
		error_hint(e, "allow a longer timeout, ask for a shorter time, or narrow the query with matchers");
	return a->failure == HTTP_TOO_LARGE ? CALL_TOO_MUCH : CALL_FAILED;
}

static enum call_status answer_read(struct remote *r, const struct http_answer *a, struct call *c, struct error *e)
{
	if (a->failure != HTTP_OK)
		return error_of_failure(a, e);
	json_error_t where;
	json_t *root = json_loadb(a->body.ptr ? a->body.ptr : "", a->body.len, 0, &where);
	const char *status = json_field(root, "status");
	enum call_status result = CALL_FAILED;
	if (a->status == 200 && strcmp(status, "success") == 0) {
		c->root = root;
		c->data = json_object_get(root, "data");
		return CALL_OK;
	}
	if (strcmp(status, "error") == 0 && a->status != 401 && a->status != 403) {
		result = error_of_object(a, c, root, e);
	} else if (a->status != 200) {
		result = error_of_status(r, a, e);
	} else if (web_page_is(a->body)) {
		error_set(e, EXIT_UNREACHABLE, "this is a web page, not a Prometheus API");
		error_hint(e, "a login page in front, or the wrong base path: give the address whose /api/v1/query answers");
	} else {
		error_set(e, EXIT_UNREACHABLE, "no answer of a Prometheus API: %s",
			root ? "JSON without \"status\": \"success\"" : where.text);
	}
	json_decref(root);
	return result;
}

static void envelope_warnings(struct remote *r, json_t *root)
{
	size_t i;
	json_t *text;
	json_array_foreach(json_object_get(root, "warnings"), i, text) if (json_is_string(text))
		remote_warning(r, str_of(json_string_value(text), json_string_length(text)));
}

/* What is left of the budget for one more request; 0 with an error when nothing is. */
static int64_t timeout_left(struct remote *r, struct error *e)
{
	int64_t timeout_ms = r->options.timeout_ms, budget_ms = r->options.budget_ms;
	if (budget_ms <= 0)
		return timeout_ms;
	int64_t left_ms = budget_ms - r->stats.elapsed_ms;
	if (left_ms <= 0) {
		error_set(e, EXIT_UNREACHABLE, "the time for all requests together, %g s, is used up after %zu requests",
			(double)budget_ms / 1000, r->stats.requests);
		error_hint(e, "allow more time, ask for a shorter window, or narrow the query with matchers");
		return 0;
	}
	return left_ms < timeout_ms ? left_ms : timeout_ms;
}

static void fetch(struct remote *r, const struct call *c, int64_t timeout_ms, struct arena *scratch, struct http_answer *answer)
{
	bool get = c->only_get || r->use_get;
	struct http_request request = {
		.url = get ? arena_printf(scratch, STR_FMT "/api/v1/%s?" STR_FMT, STR_ARG(r->base), c->path, STR_ARG(c->form)).ptr
			   : arena_printf(scratch, STR_FMT "/api/v1/%s", STR_ARG(r->base), c->path).ptr,
		.headers = r->headers,
		.post = get ? NULL : arena_cstr(scratch, c->form),
		.bearer_token = r->options.bearer_token,
		.ca_file = r->options.ca_file,
		.insecure = r->options.insecure,
		.follow = true,
		.timeout_ms = timeout_ms,
		.max_bytes = c->max_bytes,
	};
	int64_t start_ns = clock_monotonic_ns();
	http_fetch_all(r->client, scratch, &request, answer, 1, 1, r->options.stop);
	r->stats.requests++;
	r->stats.bytes += answer->body.len;
	r->stats.elapsed_ms += (clock_monotonic_ns() - start_ns + 999999) / 1000000;
}

enum call_status remote_call(struct remote *r, struct call *c, struct error *e)
{
	struct arena scratch;
	struct http_answer answer;
	int64_t timeout_ms = timeout_left(r, e);
	if (timeout_ms == 0)
		return CALL_FAILED;
	arena_init(&scratch);
	fetch(r, c, timeout_ms, &scratch, &answer);
	if (!c->only_get && !r->use_get && answer.failure == HTTP_OK && (answer.status == 405 || answer.status == 501)) {
		r->use_get = true; /* a proxy that only lets reading through */
		fetch(r, c, timeout_ms, &scratch, &answer);
	}
	bool stopped = r->options.stop && *r->options.stop && answer.failure != HTTP_OK;
	enum call_status status = CALL_FAILED;
	if (stopped)
		error_set(e, EXIT_INTERRUPTED, "interrupted");
	else
		status = answer_read(r, &answer, c, e);
	if (status == CALL_OK)
		envelope_warnings(r, c->root);
	else if (!stopped && e && !e->source[0])
		error_source(e, r->shown);
	arena_fini(&scratch);
	return status;
}

bool remote_answers(const struct http_answer *answer)
{
	if (answer->failure != HTTP_OK || answer->status != 200)
		return false;
	json_t *root = json_loadb(answer->body.ptr ? answer->body.ptr : "", answer->body.len, 0, NULL);
	bool is = strcmp(json_field(root, "status"), "success") == 0 && json_is_object(json_object_get(root, "data"));
	json_decref(root);
	return is;
}
