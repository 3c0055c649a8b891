/* goodput bench: before the load. Which model there is, whether the endpoint answers, and whether as it is asked to. */
#include "cli/bench.h"

#include "base/clock.h"
#include "base/log.h"
#include "net/http.h"
#include "net/web_page.h"

#include <jansson.h>
#include <stdio.h>
#include <time.h>

static enum exit_status status_of_failure(enum http_failure failure)
{
	return failure == HTTP_BAD_URL ? EXIT_USAGE : failure == HTTP_NOT_HTTP ? EXIT_BAD_INPUT : EXIT_UNREACHABLE;
}

/* A page for browsers: what the address leads to is something else. */
static bool model_is_page(const struct bench *b, const struct http_answer *answer, struct error *e)
{
	struct buf page;

	buf_init(&page, 4096);
	web_page_phrase(answer->body, &page);
	error_set(e, EXIT_BAD_INPUT, "/v1/models answers with %s (HTML, status %d): is this the server, or something in front of it?",
		buf_cstr(&page), answer->status);
	error_source(e, b->url);
	error_hint(e, "the URL is what stands before /v1; --model NAME does without /v1/models");
	buf_fini(&page);
	return false;
}

static bool model_refused(const struct bench *b, const struct http_answer *answer, struct error *e)
{
	if (answer->failure == HTTP_OK && answer->status != 401 && answer->status != 403 && web_page_is(answer->body))
		return model_is_page(b, answer, e);
	if (answer->failure != HTTP_OK)
		error_set(e, status_of_failure(answer->failure), "%s", answer->detail);
	else if (answer->status == 401 || answer->status == 403)
		error_set(e, EXIT_BAD_INPUT, "the server wants to know who asks (%d)", answer->status);
	else if (answer->status != 200)
		error_set(e, EXIT_BAD_INPUT, "/v1/models answers %d: name the model", answer->status);
	else
		error_set(e, EXIT_BAD_INPUT, "/v1/models is no list of models: name the model");
	error_source(e, b->url);
	error_hint(e, "%s",
		answer->failure == HTTP_TLS  ? "is it https? --ca-file FILE trusts a certificate, --insecure all"
		: answer->failure != HTTP_OK ? "is the server up, and is this its address? --ready-check-timeout-sec N waits for it"
		: answer->status == 401 || answer->status == 403 ? "--bearer-token-file FILE, or OPENAI_API_KEY"
								 : "--model NAME");
	return false;
}

static struct str first_model(struct bench *b, struct str body)
{
	json_t *root = json_loadb(body.ptr, body.len, 0, NULL);
	json_t *id = json_object_get(json_array_get(json_object_get(root, "data"), 0), "id");
	struct str name = json_is_string(id) ? arena_str(&b->arena, str_from(json_string_value(id))) : STR_EMPTY;

	json_decref(root);
	return name;
}

bool bench_get(struct bench *b, const char *path, int64_t timeout_ms, struct http_answer *answer)
{
	struct http_client *client = http_client_new();
	struct http_request request = {
		.bearer_token = b->token, .ca_file = b->a->ca_file, .insecure = b->a->insecure, .timeout_ms = timeout_ms
	};
	const char *scheme = str_search(b->url, STR("://")) >= 0 ? "" : "http://";
	struct str url = b->url;

	while (str_ends(url, STR("/")))
		url.len--;
	request.url = arena_printf(&b->arena, "%s" STR_FMT "%s", scheme, STR_ARG(url), path).ptr;
	http_fetch_all(client, &b->arena, &request, answer, 1, 1, &command_stop);
	http_client_free(client);
	return !command_stop && answer->failure == HTTP_OK && answer->status == 200;
}

static bool model_find(struct bench *b, struct error *e)
{
	struct http_answer answer = { 0 };

	if (b->load.model.len)
		return true;
	if (bench_get(b, "/v1/models", 0, &answer))
		b->load.model = first_model(b, answer.body);
	if (command_stop)
		return error_set(e, EXIT_INTERRUPTED, "interrupted");
	return b->load.model.len || model_refused(b, &answer, e);
}

static bool probe_refused(const struct bench *b, const struct timeline *t, struct error *e)
{
	bool answered = t->http_status || t->error == TIMELINE_PROTOCOL;
	char status[24] = "";

	if (t->http_status)
		snprintf(status, sizeof status, ", status %u", t->http_status);
	error_set(e, answered ? EXIT_BAD_INPUT : EXIT_UNREACHABLE, "the first request failed (%s%s): %s", timeline_error_name(t->error),
		status, *t->message ? t->message : "no words given");
	error_source(e, b->url);
	error_hint(e, "%s", timeline_error_hint(t->error, t->http_status));
	return false;
}

/* Strict servers refuse the members that only vLLM knows: then with less. */
static bool probe_with_less(struct bench *b, const struct timeline *t)
{
	if ((t->http_status != 400 && t->http_status != 422) || b->load.usage == LOAD_USAGE_NONE || !b->load.streams)
		return false;
	if (str_search(str_from(t->message), STR("stream_options")) < 0 && str_search(str_from(t->message), STR("continuous_usage")) < 0)
		return false;
	b->load.usage++;
	log_note("the server refuses to count tokens %s: asking %s", b->load.usage == LOAD_USAGE_LAST ? "with each event" : "at the end",
		b->load.usage == LOAD_USAGE_LAST ? "for the end's count" : "for none");
	return true;
}

static bool is_not_ready(const struct timeline *t)
{
	return t->error == TIMELINE_CONNECT || t->error == TIMELINE_DNS || t->error == TIMELINE_RESET || t->http_status == 503;
}

static bool probe_once(struct bench *b, int64_t until_ns, bool *again, struct error *e)
{
	struct timeline t;
	bool ok;

	timeline_init(&t);
	ok = load_probe(&b->load, &t, e);
	*again = false;
	if (ok && t.outcome == TIMELINE_CANCELLED)
		ok = error_set(e, EXIT_INTERRUPTED, "interrupted before any load was sent");
	else if (ok && !timeline_is_complete(&t)) {
		bool waits = is_not_ready(&t) && clock_monotonic_ns() < until_ns;

		*again = waits || probe_with_less(b, &t);
		ok = false;
		if (!*again)
			probe_refused(b, &t, e);
		else if (waits)
			nanosleep(&(struct timespec){ 0, 500000000 }, NULL);
	}
	timeline_fini(&t);
	return ok;
}

bool bench_probe(struct bench *b, struct error *e)
{
	int64_t until_ns = clock_monotonic_ns() + b->a->ready_s * 1000000000;
	bool again = false;

	while (!model_find(b, e)) {
		if (e->status != EXIT_UNREACHABLE || clock_monotonic_ns() >= until_ns || command_stop)
			return false;
		error_clear(e);
		nanosleep(&(struct timespec){ 0, 500000000 }, NULL);
	}
	if (!b->a->probe)
		return true;
	while (!probe_once(b, until_ns, &again, e)) {
		if (command_stop && !e->set)
			error_set(e, EXIT_INTERRUPTED, "interrupted while waiting for the server");
		if (!again || command_stop)
			return false;
	}
	return true;
}
