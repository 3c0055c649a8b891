/* What the server says of itself: its version, and the settings that it shows on its metrics page; facts of the run, which comparisons
 * print. */
#include "cli/bench.h"

#include "net/http.h"

#include <jansson.h>

enum { FACTS_LEFT_FOR_FIGURES = 16 };

/* Series whose labels are settings, as vLLM and SGLang show them. */
static const char *const config_series[] = { "vllm:cache_config_info{", "sglang:server_args_info{" };

static bool get(struct bench *b, const char *path, struct http_answer *answer)
{
	struct http_client *client = http_client_new();
	struct http_request request = {
		.bearer_token = b->token, .ca_file = b->a->ca_file, .insecure = b->a->insecure, .timeout_ms = 2000
	};
	const char *scheme = str_search(b->url, STR("://")) >= 0 ? "" : "http://";
	struct str url = b->url;

	while (str_ends(url, STR("/")))
		url.len--;
	request.url = arena_printf(&b->arena, "%s" STR_FMT "%s", scheme, STR_ARG(url), path).ptr;
	http_fetch(client, &b->arena, &request, answer);
	http_client_free(client);
	return answer->failure == HTTP_OK && answer->status == 200;
}

static void add_version(struct bench *b, struct records_run *run)
{
	struct http_answer answer = { 0 };

	if (!get(b, "/version", &answer))
		return;
	json_t *root = json_loadb(answer.body.ptr, answer.body.len, 0, NULL), *version = json_object_get(root, "version");

	if (json_is_string(version))
		records_fact_add(run, STR("server.version"), arena_str(&b->arena, str_from(json_string_value(version))));
	json_decref(root);
}

/* name="value" pairs up to the closing brace. A setting that is another each time it starts (an engine's index) is none. */
static void add_labels(struct bench *b, struct records_run *run, struct str rest)
{
	while (rest.len && rest.ptr[0] != '}') {
		ptrdiff_t equals = str_find(rest, '=');
		struct str name = equals > 0 ? str_head(rest, (size_t)equals) : STR_EMPTY, value = str_skip(rest, (size_t)(equals + 2));
		size_t len = 0;

		if (!name.len)
			return;
		while (len < value.len && value.ptr[len] != '"')
			len += value.ptr[len] == '\\' ? 2 : 1;
		if (len >= value.len)
			return;
		if (!str_is(name, "engine") && run->fact_count + FACTS_LEFT_FOR_FIGURES < RECORDS_FACTS_MAX)
			records_fact_add(run, arena_printf(&b->arena, "server.flag." STR_FMT, STR_ARG(name)), str_head(value, len));
		rest = str_skip(value, len + 1);
		if (rest.len && rest.ptr[0] == ',')
			rest = str_skip(rest, 1);
	}
}

static void add_settings(struct bench *b, struct records_run *run)
{
	struct http_answer answer = { 0 };

	if (!get(b, "/metrics", &answer))
		return;
	for (size_t i = 0; i < ARRAY_LEN(config_series); i++) {
		ptrdiff_t at = str_search(answer.body, str_from(config_series[i]));

		/* at the start of a line: a comment may name it too */
		if (at > 0 && answer.body.ptr[at - 1] == '\n')
			add_labels(b, run, str_skip(answer.body, (size_t)at + strlen(config_series[i])));
	}
}

void bench_fingerprint(struct bench *b, struct records_run *run)
{
	add_version(b, run);
	if (b->a->scrape)
		add_settings(b, run);
}
