/* What the server says of itself: its version, and the settings that it shows on its metrics page; facts of the run, which comparisons
 * print. */
#include "cli/bench.h"

#include "net/http.h"

#include <jansson.h>

enum { FACTS_LEFT_FOR_FIGURES = 16, FACTS_WITHIN_MS = 2000 };

/* Series whose labels are settings, as vLLM and SGLang show them. */
static const char *const config_series[] = { "vllm:cache_config_info{", "sglang:server_args_info{" };

static void add_version(struct bench *b, struct records_run *run)
{
	struct http_answer answer = { 0 };

	if (!bench_get(b, "/version", FACTS_WITHIN_MS, &answer))
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

	if (!bench_get(b, "/metrics", FACTS_WITHIN_MS, &answer))
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
